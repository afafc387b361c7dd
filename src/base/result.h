// Outside input gives a Result; a bug of ours throws (base/check.h). Nothing in the library prints
// or aborts.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace schemafill {

// What a caller can do about a failure. Decides the exit code of the command line and the HTTP
// status of the server.
enum class ErrorKind {
  kBadInput,     // the request, a file or an option is wrong; the message names the field and the
                 // remedy
  kTooLong,      // the prompt doesn't fit the context: send less
  kUnavailable,  // the machine or the model can't do it: too little memory, an unsupported
                 // architecture
};

struct Error {
  ErrorKind kind = ErrorKind::kBadInput;
  std::string message;  // one line, for a person
  std::string field;    // of a request: what is wrong, as the message begins; may be empty
};

inline Error BadInput(std::string message) {
  return {ErrorKind::kBadInput, std::move(message), {}};
}
// `field` as a path from the body: "messages[0].role".
inline Error BadField(std::string field, std::string_view remedy) {
  return {ErrorKind::kBadInput, field + ": " + std::string(remedy), std::move(field)};
}
inline Error Unavailable(std::string message) {
  return {ErrorKind::kUnavailable, std::move(message), {}};
}

// A value or an Error. `value()` on an Error is a bug and throws.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value)
      : state_(std::in_place_index<0>, std::move(value)) {}  // NOLINT: implicit by design
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }

  T& value() & { return Checked(), std::get<0>(state_); }
  const T& value() const& { return Checked(), std::get<0>(state_); }
  T&& value() && { return Checked(), std::get<0>(std::move(state_)); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }

  const Error& error() const { return std::get<1>(state_); }

 private:
  void Checked() const { Check(ok(), "value() of a Result that holds an error"); }

  std::variant<T, Error> state_;
};

// A Result without a value.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)), ok_(false) {}  // NOLINT: implicit by design

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  const Error& error() const { return error_; }

 private:
  Error error_;
  bool ok_ = true;
};

using Status = Result<void>;

}  // namespace schemafill
