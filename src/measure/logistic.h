// Logistic regression, for the descriptive model of the paper's C.6. Tested by
// tests/measure/logistic_test.cc.
#pragma once

#include <optional>
#include <vector>

namespace schemafill {

struct Observation {
  std::vector<double> features;  // the same number in each; a constant is added
  bool outcome = false;
};

// Maximum-likelihood coefficients, one a feature, the constant last (Newton's method; a tiny ridge
// keeps separable data finite). None: no observation, or it does not converge.
std::optional<std::vector<double>> FitLogistic(const std::vector<Observation>& observations);

}  // namespace schemafill
