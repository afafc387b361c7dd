// UTF-8 at byte level: tokens may end in the middle of a character.
// Tested by tests/base/utf8_test.cc.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace schemafill {

// Bytes of `text` that form whole characters; the rest (0 to 3 bytes) is the start of one that is
// not complete yet. Bytes that can't be part of any character count as whole, so that the result
// never stalls.
size_t WholeCharacters(std::string_view text);

// Whether `text` is valid UTF-8 (RFC 3629: no overlong forms, no surrogates).
bool IsValidUtf8(std::string_view text);

// `text` with each byte that is not part of valid UTF-8 replaced by U+FFFD. For messages and logs
// only.
std::string ReplaceInvalidUtf8(std::string_view text);

}  // namespace schemafill
