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

// The curve after a forward of `rows` rows took `ms`: the points beside `rows` move a little
// towards what was seen. Points that no forward comes near keep their cost, so once their
// neighbours turn out dearer the plan tries them again. A measurement taken on a busy machine wears
// off in this way.
CostCurve Refined(const CostCurve& curve, int rows, double ms);

// What can't be true of an idle machine is noise: a forward of more rows is not cheaper, and n rows
// don't cost more than n forwards of one row.
CostCurve WithoutNoise(const CostCurve& curve);

// Whether rows cost so little here that SIDE branches may add a tree's worth of them to each
// forward: they save one forward in five to seven at most (paper, Table 2, stages B and C).
bool SideRowsPay(const CostCurve& curve);

// Number of nodes to take from `probabilities` (largest first), at most `most`.
int BestNodeCount(std::span<const double> probabilities, const CostCurve& curve, int most);

}  // namespace schemafill
