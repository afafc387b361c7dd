#include "measure/html.h"

namespace schemafill {
namespace {

// U+202A to U+202E and U+2066 to U+2069, each of three bytes.
bool TurnsAround(std::string_view text) {
  const auto within = [&](char first, char last) { return text[2] >= first && text[2] <= last; };
  if (text.starts_with("\xE2\x80") && text.size() > 2) return within('\xAA', '\xAE');
  return text.starts_with("\xE2\x81") && text.size() > 2 && within('\xA6', '\xA9');
}

}  // namespace

std::string EscapeHtml(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    switch (text[i]) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        if (TurnsAround(text.substr(i))) {
          out += "\uFFFD";
          i += 2;
        } else {
          out += text[i];
        }
    }
  }
  return out;
}

}  // namespace schemafill
