// --help in 80 columns.
#pragma once

#include <CLI/CLI.hpp>
#include <sstream>
#include <string>

namespace schemafill {

// CLI11's layout with the descriptions of options broken at blanks. Set it on the program before
// its subcommands are added, which inherit it.
class HelpFormatter final : public CLI::Formatter {
 public:
  std::string make_option_desc(const CLI::Option* option) const override {
    constexpr size_t kColumns = 80;
    const size_t room = kColumns - get_column_width();
    std::istringstream words(option->get_description());
    std::string text, word;
    size_t length = 0;  // of the last line
    while (words >> word) {
      const bool fits = length + 1 + word.size() <= room;
      if (!text.empty()) text += fits ? ' ' : '\n';
      length = text.empty() || !fits ? word.size() : length + 1 + word.size();
      text += word;
    }
    return text;
  }
};

}  // namespace schemafill
