#include "measure/logistic.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/random.h"

namespace schemafill {
namespace {

// With one feature of two values the odds ratio is that of the fourfold table.
TEST(LogisticTest, FourfoldTable) {
  std::vector<Observation> observations;
  const auto add = [&](int count, double x, bool outcome) {
    for (int i = 0; i < count; ++i) observations.push_back({{x}, outcome});
  };
  add(30, 1, true);
  add(10, 1, false);
  add(20, 0, true);
  add(40, 0, false);
  const auto weights = FitLogistic(observations);
  ASSERT_TRUE(weights);
  ASSERT_EQ(weights->size(), 2u);
  EXPECT_NEAR(std::exp((*weights)[0]), (30.0 / 10) / (20.0 / 40), 1e-4);
  EXPECT_NEAR(std::exp((*weights)[1]), 20.0 / 40, 1e-4);
}

TEST(LogisticTest, FindsWhatMadeTheData) {
  std::vector<Observation> observations;
  for (uint64_t i = 0; i < 20000; ++i) {
    const double x = 4 * Coin({1, 0, i}) - 2, z = Coin({1, 1, i}) < 0.5 ? 0 : 1;
    const double p = 1 / (1 + std::exp(-(0.8 * x - 1.5 * z + 0.3)));
    observations.push_back({{x, z}, Coin({1, 2, i}) < p});
  }
  const auto weights = FitLogistic(observations);
  ASSERT_TRUE(weights);
  EXPECT_NEAR((*weights)[0], 0.8, 0.1);
  EXPECT_NEAR((*weights)[1], -1.5, 0.1);
  EXPECT_NEAR((*weights)[2], 0.3, 0.1);
}

TEST(LogisticTest, DataWithoutAnAnswer) {
  EXPECT_FALSE(FitLogistic({}));
  // Separable: finite all the same, or none.
  std::vector<Observation> separable;
  for (int i = 0; i < 20; ++i) separable.push_back({{double(i)}, i >= 10});
  const auto weights = FitLogistic(separable);
  EXPECT_TRUE(!weights || std::isfinite((*weights)[0]));
}

}  // namespace
}  // namespace schemafill
