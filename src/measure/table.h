// A table of text, for terminals, Markdown and pages. Tested by tests/measure/tables_test.cc.
#pragma once

#include <string>
#include <vector>

namespace schemafill {

struct Table {
  std::string title;
  // The first is on the left, the others on the right. From one that begins with "paper: " on they
  // are the paper's.
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows = {};  // each of columns.size() cells
  std::vector<std::string> notes = {};              // a line each
};

std::string ToText(const Table& table);
std::string ToMarkdown(const Table& table);
std::string ToHtml(const Table& table);

}  // namespace schemafill
