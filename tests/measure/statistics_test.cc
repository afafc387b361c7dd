#include "measure/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace schemafill {
namespace {

TEST(SpreadTest, OddEvenOneAndNone) {
  const Spread odd = SpreadOf(std::vector<double>{5, 1, 3});
  EXPECT_EQ(odd.count, 3);
  EXPECT_DOUBLE_EQ(odd.median, 3);
  EXPECT_DOUBLE_EQ(odd.mean, 3);
  EXPECT_DOUBLE_EQ(odd.deviation, 2);
  EXPECT_DOUBLE_EQ(odd.lowest, 1);
  EXPECT_DOUBLE_EQ(odd.highest, 5);
  EXPECT_DOUBLE_EQ(SpreadOf(std::vector<double>{1, 2, 4, 8}).median, 3);
  EXPECT_DOUBLE_EQ(SpreadOf(std::vector<double>{7}).deviation, 0);
  EXPECT_EQ(SpreadOf({}).count, 0);
}

// Values of the textbook formula, worked out by hand for 81 of 263 (Newcombe 1998, Table I).
TEST(WilsonTest, KnownIntervals) {
  const Interval interval = WilsonInterval(81, 263);
  EXPECT_NEAR(interval.low, 0.2553, 5e-5);
  EXPECT_NEAR(interval.high, 0.3662, 5e-5);
  EXPECT_NEAR(WilsonInterval(0, 20).high, 0.1611, 5e-5);
  EXPECT_DOUBLE_EQ(WilsonInterval(0, 20).low, 0);
  EXPECT_DOUBLE_EQ(WilsonInterval(0, 0).high, 1);
}

TEST(RatioOfSumsTest, IntervalHoldsTheRatio) {
  std::vector<RatioTerm> terms;
  for (int i = 0; i < 40; ++i) terms.push_back({20.0 + i % 5, 10});
  const RatioInterval ratio = RatioOfSums(terms, 500, 1);
  EXPECT_DOUBLE_EQ(ratio.ratio, 2.2);
  EXPECT_GT(ratio.interval.low, 2.1);
  EXPECT_LT(ratio.interval.low, 2.2);
  EXPECT_GT(ratio.interval.high, 2.2);
  EXPECT_LT(ratio.interval.high, 2.3);
  EXPECT_EQ(RatioOfSums({}, 10, 1).ratio, 0);
  EXPECT_EQ(RatioOfSums(std::vector<RatioTerm>{{1, 0}}, 10, 1).ratio, 0);
}

}  // namespace
}  // namespace schemafill
