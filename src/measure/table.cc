#include "measure/table.h"

#include <fmt/format.h>

#include <algorithm>

namespace schemafill {
namespace {

// Columns of a terminal: each character is one.
size_t Width(std::string_view text) {
  return static_cast<size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string Padded(std::string_view text, size_t width, bool left) {
  const std::string blanks(width - std::min(width, Width(text)), ' ');
  return left ? std::string(text) + blanks : blanks + std::string(text);
}

}  // namespace

std::string ToText(const Table& table) {
  std::vector<size_t> widths;
  for (const std::string& column : table.columns) widths.push_back(Width(column));
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text = table.title + "\n";
  const auto add = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (size_t i = 0; i < cells.size(); ++i)
      line += (i == 0 ? "" : "  ") + Padded(cells[i], widths[i], i == 0);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  };
  add(table.columns);
  for (const auto& row : table.rows) add(row);
  for (const std::string& note : table.notes) text += note + "\n";
  return text;
}

std::string ToMarkdown(const Table& table) {
  const auto line = [](const std::vector<std::string>& cells) {
    return fmt::format("| {} |\n", fmt::join(cells, " | "));
  };
  std::vector<std::string> rule(table.columns.size(), "---:");
  rule.front() = "---";
  std::string text = fmt::format("**{}**\n\n{}{}", table.title, line(table.columns), line(rule));
  for (const auto& row : table.rows) text += line(row);
  for (const std::string& note : table.notes) text += "\n" + note + "\n";
  return text;
}

}  // namespace schemafill
