// Checks for our own mistakes. A failed one unwinds to the edge of the request, which reports it
// and drops the session.
#pragma once

#include <source_location>
#include <stdexcept>
#include <string>
#include <string_view>

namespace schemafill {

// Thrown when the library finds that it broke one of its own rules. Never thrown for bad input.
class InternalError : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

[[noreturn]] void FailCheck(std::string_view what, const std::source_location& where);

inline void Check(bool condition, std::string_view what,
                  const std::source_location& where = std::source_location::current()) {
  if (!condition) FailCheck(what, where);
}

}  // namespace schemafill
