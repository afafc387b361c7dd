#include "base/random.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace schemafill {
namespace {

// Fixed for good: a stored seed must give the same answer with every version.
TEST(Random, KnownValues) {
  EXPECT_EQ(MixBits(0), 0xe220a8397b1dcdafu);  // SplitMix64's first output for seed 0
  EXPECT_EQ(MixBits(0x9e3779b97f4a7c15u), 0x6e789e6aa1b965f4u);  // and its second
  static_assert(Coin({}) == Coin({.seed = 0, .stream = 0, .position = 0}));
}

TEST(Random, EveryPartOfTheKeyCounts) {
  std::set<uint64_t> seen;
  for (uint64_t i = 0; i < 100; ++i) {
    seen.insert(KeyedBits({.seed = i + 1, .stream = 0, .position = 0}));
    seen.insert(KeyedBits({.seed = 0, .stream = i + 1, .position = 0}));
    seen.insert(KeyedBits({.seed = 0, .stream = 0, .position = i + 1}));
  }
  EXPECT_EQ(seen.size(), 300u);
}

// Mean, variance and the correlation of neighbours of 100,000 coins, each within five standard
// errors of a uniform number's.
TEST(Random, CoinsAreUniform) {
  constexpr int kCount = 100'000;
  double sum = 0;
  double squares = 0;
  double products = 0;
  double last = 0.5;
  for (int i = 0; i < kCount; ++i) {
    const double coin = Coin({.seed = 7, .stream = 3, .position = static_cast<uint64_t>(i)});
    ASSERT_GE(coin, 0);
    ASSERT_LT(coin, 1);
    sum += coin;
    squares += (coin - 0.5) * (coin - 0.5);
    products += (coin - 0.5) * (last - 0.5);
    last = coin;
  }
  const double root = std::sqrt(kCount);
  EXPECT_NEAR(sum / kCount, 0.5, 5 * std::sqrt(1.0 / 12) / root);
  EXPECT_NEAR(squares / kCount, 1.0 / 12, 5 * std::sqrt(1.0 / 180) / root);
  EXPECT_NEAR(products / kCount, 0, 5 * (1.0 / 12) / root);
}

}  // namespace
}  // namespace schemafill
