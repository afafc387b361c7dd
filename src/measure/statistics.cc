#include "measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/random.h"

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

Interval MiddleOf(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const auto quantile = [&](double share) {
    return values[static_cast<size_t>(share * static_cast<double>(values.size() - 1))];
  };
  return {quantile(0.025), quantile(0.975)};
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

RatioInterval RatioOfSums(std::span<const RatioTerm> terms, int resamples, uint64_t seed) {
  const size_t count = terms.size();
  // `index(i)` of the i-th term.
  const auto ratio_of = [&](const auto& index) {
    RatioTerm sum;
    for (size_t i = 0; i < count; ++i) {
      const RatioTerm& term = terms[index(i)];
      sum.numerator += term.numerator;
      sum.denominator += term.denominator;
    }
    return sum.denominator > 0 ? sum.numerator / sum.denominator : 0;
  };
  RatioInterval out{.ratio = ratio_of([](size_t i) { return i; }), .interval = {}};
  if (out.ratio == 0) return out;
  std::vector<double> ratios;
  for (int resample = 0; resample < resamples; ++resample) {
    ratios.push_back(ratio_of([&](size_t i) {
      const double coin =
          Coin({.seed = seed, .stream = static_cast<uint64_t>(resample), .position = i});
      return static_cast<size_t>(coin * static_cast<double>(count));
    }));
  }
  out.interval = MiddleOf(std::move(ratios));
  return out;
}

}  // namespace schemafill
