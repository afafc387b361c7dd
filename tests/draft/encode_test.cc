#include "draft/encode.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "support/keyed_dice.h"
#include "support/scripted.h"

namespace schemafill {
namespace {

TEST(EncodeBehind, AsTheTokenizerWritesItThere) {
  struct Case {
    std::string_view label;
    std::string_view committed;
    std::string_view text;
    std::string_view tokens;  // pieces with | between
  };
  constexpr auto kCases = std::to_array<Case>({
      {"nothing in front", "", "{\"name", "{\"|name"},
      {"a border", "x", "{\"name", "{\"|name"},
      {"the border merges: text's own tokens", "\"", ": \"a", ":| |\"|a"},
      {"the border merges behind a longer context", "{\"name\"", ": 5", ":| |5"},
      {"no text", "x", "", ""},
      {"half a character in front", "\xc3", "\xa3o", "\xa3|o"},
  });
  const auto tokenizer = JsonTokenizer();
  for (const Case& row : kCases) {
    std::string pieces;
    for (const Token token : EncodeBehind(*tokenizer, tokenizer->Encode(row.committed), row.text)) {
      pieces += (pieces.empty() ? "" : "|") + std::string(tokenizer->Piece(token));
    }
    EXPECT_EQ(pieces, row.tokens) << row.label;
  }
}

// Whatever stands in front, the tokens spell the text, and only a few of those in front matter.
TEST(EncodeBehind, SpellsTheText) {
  const auto tokenizer = JsonTokenizer();
  const std::vector<std::string> parts = {"{\"", "name", "\": ", "\"",  "a",    "\xc3", "\xa3",
                                          "}}",  ", ",   "10",   "the", "tool", "_we",  "ather"};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    KeyedDice dice(seed);
    std::string front, text;
    for (int left = dice.Roll(30); left > 0; --left) front += dice.Pick(parts);
    for (int left = dice.Roll(6); left > 0; --left) text += dice.Pick(parts);
    const std::vector<Token> before = tokenizer->Encode(front);
    const std::vector<Token> tokens = EncodeBehind(*tokenizer, before, text);
    ASSERT_EQ(tokenizer->Decode(tokens), text) << front;
    const size_t far = before.size() - std::min<size_t>(before.size(), 6);
    ASSERT_EQ(EncodeBehind(*tokenizer, std::span(before).subspan(far), text), tokens) << front;
  }
}

}  // namespace
}  // namespace schemafill
