// What is said of repeated measurements and of shares. Tested by tests/measure/statistics_test.cc.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace schemafill {

struct Spread {
  int count = 0;
  double mean = 0;
  double median = 0;
  double deviation = 0;  // of a sample, denominator n - 1 (paper, C.4); 0 for one value
  double lowest = 0;
  double highest = 0;
};

// All zero without values.
Spread SpreadOf(std::span<const double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

// The middle 95 % of the values, for intervals by bootstrap; zero without values.
Interval MiddleOf(std::vector<double> values);

// 95 % interval of a share (Wilson 1927), for Figure 2. Without trials: 0 to 1.
Interval WilsonInterval(int successes, int trials);

// A ratio of sums over requests, with a 95 % interval from bootstrap samples of the requests.
struct RatioTerm {
  double numerator = 0;
  double denominator = 0;
};
struct RatioInterval {
  double ratio = 0;  // 0: nothing to divide by
  Interval interval;
};
RatioInterval RatioOfSums(std::span<const RatioTerm> terms, int resamples, uint64_t seed);

}  // namespace schemafill
