#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace schemafill {

Spread SpreadOf(std::span<const double> values) {
  Spread spread;
  if (values.empty()) return spread;
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  const size_t count = sorted.size();
  spread.count = static_cast<int>(count);
  spread.lowest = sorted.front();
  spread.highest = sorted.back();
  spread.median = (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
  for (const double value : sorted) spread.mean += value / static_cast<double>(count);
  double squares = 0;
  for (const double value : sorted) squares += (value - spread.mean) * (value - spread.mean);
  if (count > 1) spread.deviation = std::sqrt(squares / static_cast<double>(count - 1));
  return spread;
}

Interval WilsonInterval(int successes, int trials) {
  if (trials <= 0) return {0, 1};
  constexpr double kZ = 1.959963984540054;  // 97.5 % quantile of the normal distribution
  const double n = trials;
  const double share = successes / n;
  const double centre = (share + kZ * kZ / (2 * n)) / (1 + kZ * kZ / n);
  const double half =
      kZ * std::sqrt(share * (1 - share) / n + kZ * kZ / (4 * n * n)) / (1 + kZ * kZ / n);
  return {std::max(0.0, centre - half), std::min(1.0, centre + half)};
}

}  // namespace schemafill
