// The lines of a text, for files of JSON lines.
#pragma once

#include <algorithm>
#include <string_view>

namespace schemafill {

// Goes through the lines that are not blank:
//
//   for (Lines lines(text); lines.Next();) Use(lines.line(), lines.number());
//
// The text must outlive it.
class Lines {
 public:
  explicit Lines(std::string_view text) : rest_(text) {}

  // False at the end.
  bool Next() {
    while (!rest_.empty()) {
      const size_t end = std::min(rest_.find('\n'), rest_.size());
      line_ = rest_.substr(0, end);
      rest_.remove_prefix(std::min(end + 1, rest_.size()));
      ++number_;
      if (line_.find_first_not_of(" \t\r") != std::string_view::npos) return true;
    }
    return false;
  }

  // Without its line break.
  std::string_view line() const { return line_; }
  // From 1; blank lines count. 0: no line yet.
  int number() const { return number_; }

 private:
  std::string_view rest_;
  std::string_view line_;
  int number_ = 0;
};

}  // namespace schemafill
