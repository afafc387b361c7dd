#include "sample/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <string>

#include "base/check.h"

namespace schemafill {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Logits whose softmax at temperature 1 has these chances.
std::vector<float> LogitsOf(const std::vector<double>& chances) {
  std::vector<float> logits;
  for (const double chance : chances) logits.push_back(static_cast<float>(std::log(chance)));
  return logits;
}

std::vector<float> RandomLogits(uint32_t seed, int count) {
  std::mt19937 dice(seed);
  std::vector<float> logits;
  for (int i = 0; i < count; ++i) logits.push_back(static_cast<float>(dice() % 2000) / 100 - 10);
  return logits;
}

// ---- Greedy ----

TEST(SamplerTest, GreedyTakesTheLargestThenTheLowestId) {
  const struct {
    std::string name;
    std::vector<float> logits;
    int token;
  } rows[] = {
      {"one", {3}, 0},
      {"the largest", {1, 5, 2}, 1},
      {"the first of equals", {1, 5, 5, 2, 5}, 1},
      {"all negative", {-3, -1, -2}, 1},
      {"zeros of both signs are equal", {-0.0f, 0.0f}, 0},
      {"NaN in front", {kNan, -1, 2}, 2},
      {"NaN behind", {2, kNan}, 0},
      {"-infinity rather than NaN", {kNan, -kInf}, 1},
      {"infinity", {1, kInf, kInf}, 1},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(ChooseToken(row.logits, {}, 7), Token{row.token}) << row.name;
    EXPECT_EQ(ShapeLogits(row.logits, {}).size(), 1u) << row.name;
  }
}

TEST(SamplerTest, ARowOfNothingButNanIsABug) {
  const std::vector<float> row = {kNan, kNan};
  EXPECT_THROW(ChooseToken(row, {}, 0), InternalError);
  EXPECT_THROW(ChooseToken(row, {.temperature = 1}, 0), InternalError);
  EXPECT_THROW(ChooseToken({}, {}, 0), InternalError);
}

// ---- The distribution ----

struct ShapeRow {
  std::string name;
  std::vector<float> logits;
  SamplingOptions options;
  std::vector<std::pair<int, double>> choices;  // token and chance, in order
};

const std::vector<float> kFour = LogitsOf({0.1, 0.4, 0.2, 0.3});

const ShapeRow kShapes[] = {
    {"plain", kFour, {.temperature = 1}, {{0, 0.1}, {1, 0.4}, {2, 0.2}, {3, 0.3}}},
    {"cold",
     kFour,
     {.temperature = 0.5},
     {{0, 1 / 30.}, {1, 16 / 30.}, {2, 4 / 30.}, {3, 9 / 30.}}},
    {"as hot as it gets",
     kFour,
     {.temperature = std::numeric_limits<double>::infinity()},
     {{0, 0.25}, {1, 0.25}, {2, 0.25}, {3, 0.25}}},
    {"as cold as it gets", kFour, {.temperature = 1e-300}, {{1, 1}}},
    {"top-k", kFour, {.temperature = 1, .top_k = 2}, {{1, 4 / 7.}, {3, 3 / 7.}}},
    {"top-k of one", kFour, {.temperature = 1, .top_k = 1}, {{1, 1}}},
    {"top-k beyond the vocabulary",
     kFour,
     {.temperature = 1, .top_k = 9},
     {{1, 0.4}, {3, 0.3}, {2, 0.2}, {0, 0.1}}},
    {"top-p reached within", kFour, {.temperature = 1, .top_p = 0.65}, {{1, 4 / 7.}, {3, 3 / 7.}}},
    {"top-p just beyond a border",
     kFour,
     {.temperature = 1, .top_p = 0.71},
     {{1, 4 / 9.}, {3, 3 / 9.}, {2, 2 / 9.}}},
    {"top-p of nothing keeps one", kFour, {.temperature = 1, .top_p = 0}, {{1, 1}}},
    {"min-p", kFour, {.temperature = 1, .min_p = 0.6}, {{1, 4 / 7.}, {3, 3 / 7.}}},
    {"min-p above all keeps one", kFour, {.temperature = 1, .min_p = 2}, {{1, 1}}},
    {"min-p sees the tempered chances", kFour, {.temperature = 0.5, .min_p = 0.6}, {{1, 1}}},
    {"top-p sees what top-k left: 3/7 is not yet half",
     kFour,
     {.temperature = 1, .top_k = 2, .top_p = 0.5},
     {{1, 1}}},
    {"all three",
     kFour,
     {.temperature = 1, .top_k = 3, .top_p = 0.9, .min_p = 0.45},
     {{1, 4 / 9.}, {3, 3 / 9.}, {2, 2 / 9.}}},
    {"ties go to the lower id", {0, 0, 0}, {.temperature = 1, .top_k = 2}, {{0, 0.5}, {1, 0.5}}},
    {"-infinity and NaN are never drawn",
     {-kInf, 0, kNan, 0},
     {.temperature = 1},
     {{1, 0.5}, {3, 0.5}}},
    {"infinity takes all", {kInf, 0, kInf}, {.temperature = 1}, {{0, 0.5}, {2, 0.5}}},
    {"nothing but -infinity", {-kInf, kNan, -kInf}, {.temperature = 1}, {{0, 0.5}, {2, 0.5}}},
};

TEST(SamplerTest, ShapesExactly) {
  for (const ShapeRow& row : kShapes) {
    SCOPED_TRACE(row.name);
    const std::vector<TokenChance> choices = ShapeLogits(row.logits, row.options);
    ASSERT_EQ(choices.size(), row.choices.size());
    for (size_t i = 0; i < choices.size(); ++i) {
      EXPECT_EQ(choices[i].token, Token{row.choices[i].first});
      EXPECT_NEAR(choices[i].chance, row.choices[i].second, 1e-7);
    }
  }
}

// The definition, without care for time: sort everything, cut, cut, cut.
std::vector<TokenChance> ShapeSlowly(const std::vector<float>& logits,
                                     const SamplingOptions& options) {
  std::vector<TokenChance> all;
  for (int i = 0; i < static_cast<int>(logits.size()); ++i) {
    all.push_back({.token = Token{i}, .chance = std::exp(logits[i] / options.temperature)});
  }
  std::ranges::stable_sort(all, std::greater<>(), &TokenChance::chance);
  if (options.top_k > 0 && options.top_k < static_cast<int>(all.size())) all.resize(options.top_k);
  double total = 0;
  for (const TokenChance& choice : all) total += choice.chance;
  double sum = 0;
  size_t kept = 0;
  while (kept < all.size() && (kept == 0 || sum < options.top_p * total)) sum += all[kept++].chance;
  if (options.top_p < 1) all.resize(kept);
  const double least = options.min_p * all.front().chance;
  std::erase_if(all, [&](const TokenChance& choice) { return choice.chance < least; });
  total = 0;
  for (const TokenChance& choice : all) total += choice.chance;
  for (TokenChance& choice : all) choice.chance /= total;
  return all;
}

TEST(SamplerTest, ShapesAsTheDefinitionSays) {
  const SamplingOptions shapes[] = {
      {.temperature = 1},
      {.temperature = 3, .top_p = 0.3},
      {.temperature = 3, .top_p = 0.99},
      {.temperature = 50, .top_p = 0.9},  // a nucleus of hundreds
      {.temperature = 0.7, .top_k = 40, .top_p = 0.95, .min_p = 0.05},
      {.temperature = 2, .top_k = 300, .top_p = 0.9},
      {.temperature = 2, .min_p = 0.1},
  };
  for (uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<float> logits = RandomLogits(seed, 1 + static_cast<int>(seed) * 97);
    for (const SamplingOptions& options : shapes) {
      std::vector<TokenChance> got = ShapeLogits(logits, options);
      std::ranges::sort(got, {}, &TokenChance::token);
      std::vector<TokenChance> want = ShapeSlowly(logits, options);
      std::ranges::sort(want, {}, &TokenChance::token);
      ASSERT_EQ(got.size(), want.size()) << seed;
      for (size_t i = 0; i < got.size(); ++i) {
        ASSERT_EQ(got[i].token, want[i].token) << seed;
        ASSERT_NEAR(got[i].chance, want[i].chance, 1e-12) << seed;
      }
    }
  }
}

// ---- The draw ----

TEST(SamplerTest, EachChoiceHasAStretchAsLongAsItsChance) {
  const std::vector<TokenChance> choices = {{Token{7}, 0.25}, {Token{3}, 0.5}, {Token{5}, 0.25}};
  const std::pair<double, int> kRows[] = {{0, 7},    {0.2499, 7}, {0.25, 3},
                                          {0.74, 3}, {0.75, 5},   {1 - 0x1.0p-53, 5}};
  for (const auto& [coin, token] : kRows) EXPECT_EQ(PickToken(choices, coin), Token{token}) << coin;
  // Chances that fall short of 1 by rounding.
  EXPECT_EQ(PickToken(std::vector<TokenChance>{{Token{4}, 0.3}, {Token{2}, 0.6}}, 0.95), Token{2});
}

TEST(SamplerTest, TheCoinIsTheSeedsAndThePositions) {
  const std::vector<float> logits = RandomLogits(8, 300);
  for (int i = 0; i < 100; ++i) {
    const SamplingOptions options{.temperature = 3, .seed = static_cast<uint64_t>(i % 7)};
    EXPECT_EQ(ChooseToken(logits, options, i),
              PickToken(ShapeLogits(logits, options), TokenCoin(options.seed, i)));
  }
}

// Pearson's statistic of `draws` draws against the distribution.
double ChiSquare(const std::vector<TokenChance>& choices, int draws,
                 const std::function<Token(int)>& draw) {
  std::map<Token, int> seen;
  for (int i = 0; i < draws; ++i) ++seen[draw(i)];
  double statistic = 0;
  int counted = 0;
  for (const TokenChance& choice : choices) {
    const double expected = choice.chance * draws;
    statistic += (seen[choice.token] - expected) * (seen[choice.token] - expected) / expected;
    counted += seen[choice.token];
  }
  EXPECT_EQ(counted, draws) << "a token was drawn that has no chance";
  return statistic;
}

TEST(SamplerTest, DrawsFollowTheDistribution) {
  const std::vector<float> eight = LogitsOf({0.01, 0.3, 0.02, 0.12, 0.25, 0.2, 0.07, 0.03});
  const SamplingOptions shapes[] = {{.temperature = 1, .seed = 1},
                                    {.temperature = 0.6, .seed = 2},
                                    {.temperature = 2, .seed = 3},
                                    {.temperature = 1, .top_k = 5, .seed = 4},
                                    {.temperature = 1, .top_p = 0.8, .seed = 5},
                                    {.temperature = 1, .min_p = 0.2, .seed = 6}};
  // Of a true chi-square with 7 degrees of freedom, 1 in 1,000 is above this; with fewer, less.
  constexpr double kCritical = 24.32;
  for (SamplingOptions options : shapes) {
    const std::vector<TokenChance> choices = ShapeLogits(eight, options);
    const auto over_positions = [&](int i) { return ChooseToken(eight, options, i); };
    EXPECT_LT(ChiSquare(choices, 20000, over_positions), kCritical) << options.seed;
    const auto over_seeds = [&](int i) {
      options.seed = static_cast<uint64_t>(i);
      return ChooseToken(eight, options, 3);
    };
    EXPECT_LT(ChiSquare(choices, 20000, over_seeds), kCritical);
  }
}

TEST(SamplerTest, NeighboursAreIndependent) {
  // Pairs of draws at positions 2i and 2i + 1 of two fair coins: four cells, 3 degrees of freedom.
  const std::vector<float> fair = {0, 0};
  const SamplingOptions options{.temperature = 1, .seed = 11};
  const std::vector<TokenChance> pairs = {
      {Token{0}, 0.25}, {Token{1}, 0.25}, {Token{2}, 0.25}, {Token{3}, 0.25}};
  const auto draw = [&](int i) {
    const int first = Index(ChooseToken(fair, options, 2 * i));
    return Token{2 * first + Index(ChooseToken(fair, options, 2 * i + 1))};
  };
  EXPECT_LT(ChiSquare(pairs, 20000, draw), 16.27);
}

TEST(SamplerTest, NothingButLogitsOptionsAndPositionCounts) {
  const std::vector<float> logits = RandomLogits(5, 500);
  const SamplingOptions options{.temperature = 4, .top_p = 0.9, .seed = 9};
  std::vector<Token> forward, backward;
  for (int i = 0; i < 200; ++i) forward.push_back(ChooseToken(logits, options, i));
  for (int i = 199; i >= 0; --i) {
    const std::vector<float> copy = logits;  // at another address
    backward.push_back(ChooseToken(copy, options, i));
  }
  std::ranges::reverse(backward);
  EXPECT_EQ(forward, backward);
  SamplingOptions other = options;
  other.seed = 10;
  std::vector<Token> reseeded;
  for (int i = 0; i < 200; ++i) reseeded.push_back(ChooseToken(logits, other, i));
  EXPECT_NE(forward, reseeded);
}

// Chosen once and kept: a change of the coin or of the order of the draw changes users' outputs.
TEST(SamplerTest, DrawsStayWhatTheyAre) {
  const std::vector<float> logits = LogitsOf({0.1, 0.4, 0.2, 0.3});
  std::string drawn, cut;
  for (int i = 0; i < 24; ++i) {
    drawn += std::to_string(Index(ChooseToken(logits, {.temperature = 1, .seed = 42}, i)));
    cut +=
        std::to_string(Index(ChooseToken(logits, {.temperature = 1, .top_p = 0.7, .seed = 42}, i)));
  }
  EXPECT_EQ(drawn, "213223310121030332132212");
  EXPECT_EQ(cut, "313333311131131331133313");
}

}  // namespace
}  // namespace schemafill
