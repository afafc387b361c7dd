// How many rows a forward should have: the plan that commits most tokens per millisecond.
//
// A row is free only on a device that waits for memory anyway. Elsewhere a drafted token must earn
// its place: with cost c(n) of a forward of n rows and acceptance probabilities p_1 >= p_2 >= ...
// of the candidate nodes, a round commits 1 + sum p_i tokens in expectation, and the best n
// maximises (1 + p_1 + ... + p_n) / c(n + 1). Tested by tests/plan/cost_test.cc.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace schemafill {

// Measured cost of a forward by its rows; linear between the points, and beyond the last one at the
// slope of the last two.
struct CostCurve {
  std::vector<std::pair<int, double>>
      points;  // (rows, milliseconds), rows increasing; empty: rows are free

  double Ms(int rows) const;
  std::string Dump() const;
};

// Number of nodes to take from `probabilities` (largest first), at most `most`.
int BestNodeCount(std::span<const double> probabilities, const CostCurve& curve, int most);

}  // namespace schemafill
