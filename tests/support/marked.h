// A text in which | stands at the offset that a test row is about.
#pragma once

#include <string>
#include <string_view>

namespace schemafill {

struct Marked {
  explicit Marked(std::string_view marked) : text(marked), at(text.find('|')) {
    if (at != std::string::npos) text.erase(at, 1);
  }
  std::string text;
  size_t at;  // npos: no mark
};

}  // namespace schemafill
