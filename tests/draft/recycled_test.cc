#include "draft/recycled.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "support/keyed_dice.h"

namespace schemafill {
namespace {

std::vector<int> Behind(const RecycledTokens& recycled, int token) {
  std::vector<int> tokens;
  for (const Token next : recycled.Behind(Token{token})) tokens.push_back(Index(next));
  return tokens;
}

TEST(RecycledTokens, TheLikeliestFirst) {
  constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  struct Case {
    std::string_view label;
    std::vector<float> logits;
    std::vector<int> tokens;
  };
  const auto kCases = std::to_array<Case>({
      {"no logits", {}, {}},
      {"one", {3}, {0}},
      {"fewer than are kept", {1, 3, 2}, {1, 2, 0}},
      {"equal ones: the lower id", {1, 1, 2, 2}, {2, 3, 0, 1}},
      {"more than are kept", {0, 9, 1, 8, 2, 7, 3, 6, 4, 5}, {1, 3, 5, 7, 9, 8, 6, 4}},
      {"not a number", {kNan, 1, kNan}, {1}},
      {"what can't come", {-kInfinite, 1}, {1}},
      {"sure", {1, kInfinite}, {1, 0}},
  });
  for (const Case& row : kCases) {
    RecycledTokens recycled;
    recycled.Learn(Token{0}, row.logits);
    EXPECT_EQ(Behind(recycled, 0), row.tokens) << row.label;
  }
}

TEST(RecycledTokens, TheLastLookCounts) {
  RecycledTokens recycled;
  EXPECT_TRUE(Behind(recycled, 0).empty());
  recycled.Learn(Token{0}, std::vector<float>{1, 2, 3});
  recycled.Learn(Token{1}, std::vector<float>{3, 2, 1});
  recycled.Learn(Token{0}, std::vector<float>{2, 3, 1});
  EXPECT_EQ(Behind(recycled, 0), (std::vector<int>{1, 0, 2}));
  EXPECT_EQ(Behind(recycled, 1), (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(Behind(recycled, 2).empty());
}

TEST(RecycledTokens, TokensThatNoVocabularyHas) {
  RecycledTokens recycled;
  recycled.Learn(Token{7}, std::vector<float>{1, 2, 3});
  recycled.Learn(Token{-1}, std::vector<float>{1, 2, 3});
  for (const int token : {-1, 0, 3, 7, 1000}) EXPECT_TRUE(Behind(recycled, token).empty());
}

// As a full sort says, and no more memory however much is learned.
TEST(RecycledTokens, OfAnyLogits) {
  constexpr int kVocabulary = 50;
  RecycledTokens recycled;
  for (uint64_t seed = 0; seed < 500; ++seed) {
    KeyedDice dice(seed);
    std::vector<float> logits;
    for (int i = 0; i < kVocabulary; ++i) logits.push_back(static_cast<float>(dice.Roll(30)));
    std::vector<int> want(kVocabulary);
    std::iota(want.begin(), want.end(), 0);
    std::stable_sort(want.begin(), want.end(), [&](int a, int b) {
      return logits[static_cast<size_t>(a)] > logits[static_cast<size_t>(b)];
    });
    want.resize(RecycledTokens::kWidth);
    const int token = dice.Roll(kVocabulary);
    recycled.Learn(Token{token}, logits);
    ASSERT_EQ(Behind(recycled, token), want) << seed;
    ASSERT_EQ(recycled.bytes(), kVocabulary * RecycledTokens::kWidth * sizeof(Token)) << seed;
  }
}

}  // namespace
}  // namespace schemafill
