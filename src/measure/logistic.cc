#include "measure/logistic.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace schemafill {
namespace {

constexpr double kRidge = 1e-6;
constexpr int kMostSteps = 100;
constexpr double kPrecision = 1e-9;

using Matrix = std::vector<std::vector<double>>;

// x with a x = b, by elimination with pivots. Empty: a is singular.
std::vector<double> Solve(Matrix a, std::vector<double> b) {
  const size_t n = b.size();
  for (size_t i = 0; i < n; ++i) {
    size_t pivot = i;
    for (size_t j = i + 1; j < n; ++j) {
      if (std::abs(a[j][i]) > std::abs(a[pivot][i])) pivot = j;
    }
    if (std::abs(a[pivot][i]) < 1e-300) return {};
    std::swap(a[i], a[pivot]);
    std::swap(b[i], b[pivot]);
    for (size_t j = i + 1; j < n; ++j) {
      const double factor = a[j][i] / a[i][i];
      for (size_t k = i; k < n; ++k) a[j][k] -= factor * a[i][k];
      b[j] -= factor * b[i];
    }
  }
  for (size_t i = n; i-- > 0;) {
    for (size_t k = i + 1; k < n; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

}  // namespace

std::optional<std::vector<double>> FitLogistic(const std::vector<Observation>& observations) {
  if (observations.empty()) return std::nullopt;
  const size_t n = observations.front().features.size() + 1;
  std::vector<double> weights(n, 0);
  for (int step = 0; step < kMostSteps; ++step) {
    std::vector<double> gradient(n, 0);
    Matrix curvature(n, std::vector<double>(n, 0));
    for (size_t i = 0; i < n; ++i) {
      gradient[i] = -kRidge * weights[i];
      curvature[i][i] = kRidge;
    }
    for (const Observation& observation : observations) {
      std::vector<double> x = observation.features;
      x.push_back(1);
      double sum = 0;
      for (size_t i = 0; i < n; ++i) sum += weights[i] * x[i];
      const double p = 1 / (1 + std::exp(-sum));
      for (size_t i = 0; i < n; ++i) {
        gradient[i] += ((observation.outcome ? 1 : 0) - p) * x[i];
        for (size_t j = 0; j < n; ++j) curvature[i][j] += p * (1 - p) * x[i] * x[j];
      }
    }
    const std::vector<double> move = Solve(std::move(curvature), std::move(gradient));
    if (move.empty()) return std::nullopt;
    double furthest = 0;
    for (size_t i = 0; i < n; ++i) {
      // A step of more than 2 overshoots where nearly all outcomes are the same.
      weights[i] += std::clamp(move[i], -2.0, 2.0);
      furthest = std::max(furthest, std::abs(move[i]));
    }
    if (furthest < kPrecision) return weights;
  }
  return std::nullopt;
}

}  // namespace schemafill
