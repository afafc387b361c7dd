// What is said of repeated measurements and of shares. Tested by tests/measure/statistics_test.cc.
#pragma once

#include <span>

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

// 95 % interval of a share (Wilson 1927), for Figure 2. Without trials: 0 to 1.
Interval WilsonInterval(int successes, int trials);

}  // namespace schemafill
