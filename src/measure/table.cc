#include "measure/table.h"

#include <fmt/format.h>

#include <algorithm>

#include "measure/html.h"

namespace schemafill {
namespace {

constexpr std::string_view kPaper = "paper: ";

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

std::string ToHtml(const Table& table) {
  const std::vector<std::string>& columns = table.columns;
  const auto paper = static_cast<size_t>(
      std::find_if(columns.begin(), columns.end(),
                   [](const std::string& column) { return column.starts_with(kPaper); }) -
      columns.begin());
  std::string out = fmt::format("<table>\n<caption>{}</caption>\n", EscapeHtml(table.title));
  // Headers of both parts, so that "speed-up" is not there twice without saying whose.
  out += "<colgroup><col></colgroup>";
  if (columns.size() > 1 && paper > 1)
    out += fmt::format("<colgroup span=\"{}\"></colgroup>", paper - 1);
  if (paper < columns.size())
    out += fmt::format("<colgroup class=\"paper\" span=\"{}\"></colgroup>", columns.size() - paper);
  out += "\n<thead>\n";
  if (paper < columns.size()) {
    out += fmt::format(
        "<tr><td></td><th scope=\"colgroup\" colspan=\"{}\">measured</th><th scope=\"colgroup\" "
        "colspan=\"{}\">paper</th></tr>\n",
        paper - 1, columns.size() - paper);
  }
  out += "<tr>";
  for (const std::string& column : columns) {
    const std::string_view name = column;
    out += fmt::format("<th scope=\"col\">{}</th>",
                       EscapeHtml(name.starts_with(kPaper) ? name.substr(kPaper.size()) : name));
  }
  out += "</tr>\n</thead>\n<tbody>\n";
  for (const auto& row : table.rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      out += i == 0 ? fmt::format("<tr><th scope=\"row\">{}</th>", EscapeHtml(row[i]))
                    : fmt::format("<td>{}</td>", EscapeHtml(row[i]));
    }
    out += "</tr>\n";
  }
  out += "</tbody>\n</table>\n";
  for (const std::string& note : table.notes)
    out += fmt::format("<p class=\"note\">{}</p>\n", EscapeHtml(note));
  return out;
}

std::string ToMarkdown(const Table& table) {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) {
      text += ' ';
      for (const char c : cell) text += c == '|' ? "\\|" : std::string(1, c);
      text += " |";
    }
    return text + "\n";
  };
  std::vector<std::string> rule(table.columns.size(), "---:");
  rule.front() = "---";
  std::string text = fmt::format("**{}**\n\n{}{}", table.title, line(table.columns), line(rule));
  for (const auto& row : table.rows) text += line(row);
  for (const std::string& note : table.notes)
    text += fmt::format("\n{}{}\n", note.starts_with('*') ? "\\" : "", note);  // no list
  return text;
}

}  // namespace schemafill
