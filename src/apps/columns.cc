#include "apps/columns.h"

#include <fmt/format.h>

#include <algorithm>

namespace schemafill {
namespace {

constexpr size_t kLabelWidth = 10;
constexpr size_t kWidth = 80;

// Characters of UTF-8 text: bytes that begin one.
bool Begins(char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }

}  // namespace

Columns::Columns(std::FILE* out, std::string_view label)
    : out_(out), column_(std::max(kLabelWidth, label.size() + 1)) {
  fmt::print(out_, "{:<{}}", label, column_);
}

Columns::~Columns() { fmt::print(out_, "\n"); }

void Columns::Break() {
  fmt::print(out_, "\n{:{}}", "", kLabelWidth);
  column_ = kLabelWidth;
}

void Columns::Put(std::string_view text, std::string_view colour, std::string_view off) {
  if (text.empty()) return;
  fmt::print(out_, "{}", colour);
  for (const char c : text) {
    if (Begins(c) && column_++ == kWidth) {
      fmt::print(out_, "{}", off);
      Break();
      ++column_;
      fmt::print(out_, "{}", colour);
    }
    std::fputc(c, out_);
  }
  fmt::print(out_, "{}", off);
}

void Columns::PutWords(std::string_view text) {
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const size_t length = static_cast<size_t>(std::count_if(word.begin(), word.end(), Begins));
    if (column_ > kLabelWidth && column_ + length > kWidth) Break();
    Put(word);
    text.remove_prefix(end);
    const size_t blanks = std::min(text.find_first_not_of(' '), text.size());
    if (column_ + blanks < kWidth) Put(text.substr(0, blanks));
    text.remove_prefix(blanks);
  }
}

}  // namespace schemafill
