#include "base/utf8.h"

#include <algorithm>
#include <cstdint>

namespace schemafill {
namespace {

// Length of the character that starts with `lead`, 0 if no character starts so.
int CharacterLength(unsigned char lead) {
  if (lead < 0x80) return 1;
  if (lead >= 0xc2 && lead < 0xe0) return 2;
  if (lead >= 0xe0 && lead < 0xf0) return 3;
  if (lead >= 0xf0 && lead < 0xf5) return 4;
  return 0;
}

// Length of the valid character at the start of `text`, 0 if there is none. REQUIRES: text is not
// empty.
int ValidCharacter(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const int length = CharacterLength(byte(0));
  if (length == 0 || text.size() < static_cast<size_t>(length)) return 0;
  for (int i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const bool overlong = (byte(0) == 0xe0 && byte(1) < 0xa0) || (byte(0) == 0xf0 && byte(1) < 0x90);
  const bool surrogate = byte(0) == 0xed && byte(1) >= 0xa0;
  const bool too_large = byte(0) == 0xf4 && byte(1) >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

}  // namespace

size_t WholeCharacters(std::string_view text) {
  const size_t scan = std::min<size_t>(text.size(), 3);
  for (size_t back = 1; back <= scan; ++back) {
    const auto byte = static_cast<unsigned char>(text[text.size() - back]);
    if ((byte & 0xc0) == 0x80) continue;
    const int length = CharacterLength(byte);
    return length > static_cast<int>(back) ? text.size() - back : text.size();
  }
  return text.size();
}

bool IsValidUtf8(std::string_view text) {
  while (!text.empty()) {
    const int length = ValidCharacter(text);
    if (length == 0) return false;
    text.remove_prefix(static_cast<size_t>(length));
  }
  return true;
}

std::string ReplaceInvalidUtf8(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const int length = ValidCharacter(text);
    if (length == 0) {
      out += "\xef\xbf\xbd";
      text.remove_prefix(1);
    } else {
      out += text.substr(0, static_cast<size_t>(length));
      text.remove_prefix(static_cast<size_t>(length));
    }
  }
  return out;
}

}  // namespace schemafill
