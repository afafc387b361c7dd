#include "base/utf8.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "base/random.h"

namespace schemafill {
namespace {

struct Case {
  std::string_view label;
  std::string_view text;
  bool valid;
  size_t whole;  // bytes of whole characters
};

constexpr std::array kCases = std::to_array<Case>({
    {"nothing", "", true, 0},
    {"ASCII", "abc", true, 3},
    {"two bytes", "\xc3\xa9", true, 2},
    {"three bytes", "\xe2\x82\xac", true, 3},
    {"four bytes", "\xf0\x9f\x98\x80", true, 4},
    {"largest code point", "\xf4\x8f\xbf\xbf", true, 4},
    {"first byte of two", "a\xc3", false, 1},
    {"first byte of four", "a\xf0", false, 1},
    {"two of four", "a\xf0\x9f", false, 1},
    {"three of four", "a\xf0\x9f\x98", false, 1},
    {"two of three", "\xe2\x82", false, 0},
    {"whole, then a first byte", "\xc3\xa9\xc3", false, 2},
    {"lone continuation", "\x80", false, 1},
    {"many continuations", "\x80\x80\x80\x80\x80", false, 5},
    {"overlong slash", "\xc0\xaf", false, 2},
    {"overlong, three bytes", "\xe0\x80\xaf", false, 3},
    {"overlong, four bytes", "\xf0\x80\x80\xaf", false, 4},
    {"surrogate", "\xed\xa0\x80", false, 3},
    {"beyond the last code point", "\xf4\x90\x80\x80", false, 4},
    {"byte that starts nothing", "\xff", false, 1},
    {"broken in the middle", "a\xe2\x28z", false, 4},
});

TEST(Utf8, Validity) {
  for (const Case& row : kCases) EXPECT_EQ(IsValidUtf8(row.text), row.valid) << row.label;
}

TEST(Utf8, WholeCharacters) {
  for (const Case& row : kCases) EXPECT_EQ(WholeCharacters(row.text), row.whole) << row.label;
}

TEST(Utf8, ReplacementIsValidAndLeavesValidTextAlone) {
  for (const Case& row : kCases) {
    const std::string replaced = ReplaceInvalidUtf8(row.text);
    EXPECT_TRUE(IsValidUtf8(replaced)) << row.label;
    EXPECT_EQ(replaced == row.text, row.valid) << row.label;
  }
  EXPECT_EQ(ReplaceInvalidUtf8("a\xff\xc3\xa9"), "a\xef\xbf\xbd\xc3\xa9");
}

// Cut anywhere, valid text gives valid whole characters, and what is held back completes them.
TEST(Utf8, AnyCutOfValidTextHoldsBackLessThanACharacter) {
  const std::string text = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80 z\xe6\x97\xa5\xf0\x9f\x87\xa9";
  for (size_t cut = 0; cut <= text.size(); ++cut) {
    const std::string_view front = std::string_view(text).substr(0, cut);
    const size_t whole = WholeCharacters(front);
    EXPECT_TRUE(IsValidUtf8(front.substr(0, whole))) << cut;
    EXPECT_LE(cut - whole, 3u) << cut;
    EXPECT_TRUE(IsValidUtf8(std::string_view(text).substr(whole))) << cut;
  }
}

TEST(Utf8, RandomBytes) {
  for (uint64_t trial = 0; trial < 2000; ++trial) {
    std::string bytes;
    const uint64_t length = KeyedBits({.seed = 1, .stream = trial, .position = 0}) % 12;
    for (uint64_t i = 1; i <= length; ++i) {
      bytes += static_cast<char>(KeyedBits({.seed = 1, .stream = trial, .position = i}));
    }
    EXPECT_TRUE(IsValidUtf8(ReplaceInvalidUtf8(bytes)));
    EXPECT_LE(bytes.size() - WholeCharacters(bytes), 3u);
    if (IsValidUtf8(bytes)) {
      EXPECT_EQ(WholeCharacters(bytes), bytes.size());
    }
  }
}

}  // namespace
}  // namespace schemafill
