// How large a tree the head drafts behind MAIN.
#pragma once

#include "draft/head_drafter.h"
#include "pack/pack.h"

namespace schemafill {

// A fixed number of rows takes the paper's tree (k = 3, depth 2, 8 tokens). Where rows cost, a path
// goes deeper while it is likely.
inline HeadLimits LimitsOf(const PackLimits& limits) {
  if (limits.cost.points.empty()) return {.width = 3, .depth = 2, .max_nodes = 8};
  return {.width = 3, .depth = 5, .max_nodes = 16, .min_probability = 0.1};
}

}  // namespace schemafill
