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

CostCurve WithoutNoise(const CostCurve& curve) {
  CostCurve clean = curve;
  if (clean.points.empty()) return clean;
  const double row = clean.points.front().second / clean.points.front().first;
  double floor = 0;
  for (auto& [rows, ms] : clean.points) {
    ms = std::min(std::max(ms, floor), rows * row);
    floor = ms;
  }
  return clean;
}

CostCurve Refined(const CostCurve& curve, int rows, double ms) {
  constexpr double kStep = 0.1;  // share of a surprise that is believed
  constexpr double kSurprise =
      2.0;  // one forward that a busy machine held up says no more than this
  CostCurve refined = curve;
  auto& points = refined.points;
  if (points.empty()) return refined;
  const double move = kStep * (std::clamp(ms / curve.Ms(rows), 1 / kSurprise, kSurprise) - 1);
  // The points beside `rows`, each by how near it is.
  size_t right = 0;
  while (right + 1 < points.size() && points[right].first < rows) ++right;
  const size_t left = right > 0 && points[right].first > rows ? right - 1 : right;
  const int width = points[right].first - points[left].first;
  const double share = width > 0 ? static_cast<double>(rows - points[left].first) / width : 1;
  points[right].second *= 1 + move * share;
  if (left != right) points[left].second *= 1 + move * (1 - share);
  // More rows are not cheaper; what was just seen is right, so the others give way.
  points[left].second = std::min(points[left].second, points[right].second);
  for (size_t i = left; i-- > 0;)
    points[i].second = std::min(points[i].second, points[i + 1].second);
  for (size_t i = right + 1; i < points.size(); ++i)
    points[i].second = std::max(points[i].second, points[i - 1].second);
  return refined;
}

bool SideRowsPay(const CostCurve& curve) {
  constexpr int kMainRows = 16;
  constexpr int kSideRows = 24;
  constexpr double kGain = 1.15;
  return curve.Ms(kMainRows + kSideRows) < kGain * curve.Ms(kMainRows);
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
