#include "plan/cost.h"

#include <fmt/format.h>

#include <algorithm>

namespace schemafill {

double CostCurve::Ms(int rows) const {
  if (points.empty()) return 1;
  if (rows <= points.front().first || points.size() == 1) return points.front().second;
  size_t right = 1;
  while (right + 1 < points.size() && points[right].first < rows) ++right;
  const auto& [x0, y0] = points[right - 1];
  const auto& [x1, y1] = points[right];
  return y0 + (y1 - y0) * (rows - x0) / (x1 - x0);
}

std::string CostCurve::Dump() const {
  std::string out;
  for (const auto& [rows, ms] : points)
    out += fmt::format("{}{}: {:.2f} ms", out.empty() ? "" : ", ", rows, ms);
  return out;
}

int BestNodeCount(std::span<const double> probabilities, const CostCurve& curve, int most) {
  const int limit = std::min(most, static_cast<int>(probabilities.size()));
  double tokens = 1;
  double best = tokens / curve.Ms(1);
  int best_count = 0;
  for (int n = 1; n <= limit; ++n) {
    tokens += probabilities[static_cast<size_t>(n - 1)];
    const double rate = tokens / curve.Ms(n + 1);
    if (rate <= best) continue;
    best = rate;
    best_count = n;
  }
  return best_count;
}

}  // namespace schemafill
