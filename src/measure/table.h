// A table of text, for terminals and for Markdown. Tested by tests/measure/tables_test.cc.
#pragma once

#include <string>
#include <vector>

namespace schemafill {

struct Table {
  std::string title;
  std::vector<std::string> columns;  // the first is on the left, the others on the right
  std::vector<std::vector<std::string>> rows = {};  // each of columns.size() cells
  std::vector<std::string> notes = {};              // a line each
};

std::string ToText(const Table& table);
std::string ToMarkdown(const Table& table);

}  // namespace schemafill
