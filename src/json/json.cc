#include "json/json.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <unordered_map>
#include <utility>
#include <vector>

namespace schemafill {
namespace {

// An error at byte `offset` of `text`.
Error ErrorAt(std::string_view text, size_t offset, std::string_view what,
              std::string_view reason) {
  int line = 1;
  int column = 1;
  for (const char c : text.substr(0, offset)) {
    if (c == '\n') {
      ++line;
      column = 1;
    } else if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) {
      ++column;
    }
  }
  return BadInput(fmt::format("{}: line {}, column {}: {}", what, line, column, reason));
}

// Counts open brackets outside of strings.
class BracketDepth {
 public:
  // The depth behind the next byte.
  int After(char c) {
    if (in_string_) {
      if (c == '"' && !escaped_) in_string_ = false;
      escaped_ = c == '\\' && !escaped_;
    } else if (c == '"') {
      in_string_ = true;
    } else if (c == '[' || c == '{') {
      ++depth_;
    } else if (c == ']' || c == '}') {
      --depth_;
    }
    return depth_;
  }

 private:
  int depth_ = 0;
  bool in_string_ = false;
  bool escaped_ = false;
};

// Offset of the first bracket that opens a level beyond kMaxJsonDepth; npos if there is none.
// A scan of its own, because nlohmann's parser doesn't tell its handler where it stands.
size_t FindTooDeep(std::string_view text) {
  BracketDepth depth;
  for (size_t i = 0; i < text.size(); ++i) {
    if (depth.After(text[i]) > kMaxJsonDepth) return i;
  }
  return std::string_view::npos;
}

// "[json.exception.parse_error.101] parse error at line 1, column 2: REASON" -> "REASON".
std::string Reason(std::string_view what) {
  const size_t tag = what.find("] ");
  if (tag != std::string_view::npos) what.remove_prefix(tag + 2);
  if (what.starts_with("parse error")) {
    const size_t colon = what.find(": ");
    if (colon != std::string_view::npos) what.remove_prefix(colon + 2);
  }
  return std::string(what);
}

// Builds the value. Differs from nlohmann's own builder in one thing: keys of a large object are
// found by hash. ordered_json searches them in a row, so 100,000 keys in a request would take
// minutes.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  bool null() override { return Add(nullptr); }
  bool boolean(bool value) override { return Add(value); }
  bool number_integer(int64_t value) override { return Add(value); }
  bool number_unsigned(uint64_t value) override { return Add(value); }
  bool number_float(double value, const std::string&) override { return Add(value); }
  bool string(std::string& value) override { return Add(std::move(value)); }
  bool binary(Json::binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(Json::object()); }
  bool start_array(size_t) override { return Open(Json::array()); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }

  bool key(std::string& name) override {
    Level& level = open_.back();
    auto& object = *level.value->get_ptr<Json::object_t*>();
    const size_t index = level.keys.Find(object, name);
    if (index == object.size()) object.emplace_back(name, nullptr);
    level.next = &object.data()[index].second;
    return true;
  }

  bool parse_error(size_t position, const std::string&,
                   const nlohmann::detail::exception& error) override {
    error_offset_ = position == 0 ? 0 : position - 1;
    error_ = Reason(error.what());
    return false;
  }

  Json root;

  size_t error_offset() const { return error_offset_; }
  const std::string& error() const { return error_; }

 private:
  class KeyIndex {
   public:
    // Index of `name` in `object`, or object.size() where the caller is going to put it.
    size_t Find(const Json::object_t& object, const std::string& name) {
      constexpr size_t kRow = 32;  // up to here a search in a row is faster
      if (object.size() < kRow) {
        size_t i = 0;
        while (i < object.size() && object.data()[i].first != name) ++i;
        return i;
      }
      for (size_t i = by_name_.size(); i < object.size(); ++i) {
        by_name_.emplace(object.data()[i].first, i);
      }
      return by_name_.emplace(name, object.size()).first->second;
    }

   private:
    std::unordered_map<std::string, size_t> by_name_;
  };

  struct Level {
    Json* value = nullptr;  // the open object or array
    Json* next = nullptr;   // of an object: where the value of the last key goes
    KeyIndex keys;
  };

  Json* Place() {
    if (open_.empty()) return &root;
    Level& level = open_.back();
    if (level.value->is_object()) return level.next;
    auto& array = *level.value->get_ptr<Json::array_t*>();
    return &array.emplace_back();
  }

  template <typename T>
  bool Add(T&& value) {
    *Place() = Json(std::forward<T>(value));
    return true;
  }

  bool Open(Json value) {
    Json* place = Place();
    *place = std::move(value);
    open_.push_back({.value = place, .next = nullptr, .keys = {}});
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  std::vector<Level> open_;
  size_t error_offset_ = 0;
  std::string error_;
};

// Python's repr: the shortest digits that read back as the same double, fixed from 1e-4 to below
// 1e16, and never without a point or an exponent.
void AppendDouble(double value, std::string& out) {
  char buffer[64];
  char* const limit = buffer + sizeof(buffer);
  const auto scientific = std::to_chars(buffer, limit, value, std::chars_format::scientific);
  const std::string_view text(buffer, static_cast<size_t>(scientific.ptr - buffer));
  const size_t mark = text.find('e');
  if (mark == std::string_view::npos) {  // not a number, infinite: JSON has no word for them
    out += "null";
    return;
  }
  const int exponent = std::atoi(std::string(text.substr(mark + 1)).c_str());
  if (exponent < -4 || exponent >= 16) {
    out += text;
    return;
  }
  const auto fixed = std::to_chars(buffer, limit, value, std::chars_format::fixed);
  const std::string_view digits(buffer, static_cast<size_t>(fixed.ptr - buffer));
  out += digits;
  if (digits.find('.') == std::string_view::npos) out += ".0";
}

void AppendString(std::string_view text, std::string& out) {
  out += '"';
  out += EscapeJson(text);
  out += '"';
}

void AppendSpaced(const Json& value, std::string& out) {
  std::string_view separator;
  if (value.is_object()) {
    out += '{';
    for (const auto& [key, member] : value.items()) {
      out += std::exchange(separator, ", ");
      AppendString(key, out);
      out += ": ";
      AppendSpaced(member, out);
    }
    out += '}';
  } else if (value.is_array()) {
    out += '[';
    for (const Json& element : value) {
      out += std::exchange(separator, ", ");
      AppendSpaced(element, out);
    }
    out += ']';
  } else if (value.is_string()) {
    AppendString(value.get_ref<const std::string&>(), out);
  } else if (value.is_number_float()) {
    AppendDouble(value.get<double>(), out);
  } else {
    out += value.dump();
  }
}

}  // namespace

Result<Json> ParseJson(std::string_view text, std::string_view what) {
  const size_t too_deep = FindTooDeep(text);
  if (too_deep != std::string_view::npos) {
    return ErrorAt(text, too_deep, what,
                   fmt::format("nested deeper than {} levels", kMaxJsonDepth));
  }
  Builder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    return ErrorAt(text, builder.error_offset(), what, builder.error());
  }
  return std::move(builder.root);
}

size_t BracketedSize(std::string_view text) {
  BracketDepth depth;
  for (size_t i = 0; i < text.size(); ++i) {
    if (depth.After(text[i]) <= 0) return i + 1;
  }
  return std::string_view::npos;
}

const Json* Given(const Json& object, const char* name) {
  const auto at = object.find(name);
  return at == object.end() || at->is_null() ? nullptr : &*at;
}

std::string DumpSpaced(const Json& value) {
  std::string out;
  AppendSpaced(value, out);
  return out;
}

std::string EscapeJson(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20) {
          out += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string UnescapeJson(std::string_view text) {
  const Json value = Json::parse(fmt::format("\"{}\"", text), nullptr, false);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::string DumpLine(const Json& value) {
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace schemafill
