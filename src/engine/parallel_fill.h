// Parallel Fill, the paper's baseline after Skeleton-of-Thought (5.2, Table 1; Ning et al. 2024).
// LOSSY: it shows what filling slots apart gains and costs where nothing verifies it.
//
// The skeleton is the plain answer without its values: calls, keys and white space. Each value, a
// whole literal below the arguments' object, is written anew by the target behind a prefix of its
// own, as SIDE branches with SideContext::kHint have it: the prompt, the call-position hint, the
// tool's header and the key. No value sees another one. One forward gives each open slot its next
// token, greedily at any temperature. The values then take their places in the skeleton.
//
// Tested by tests/engine/parallel_fill_test.cc.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "catalog/answer.h"
#include "kv/arena.h"
#include "model/target_model.h"

namespace schemafill {

// A value of the answer that is filled apart.
struct FillSlot {
  int call = 0;  // its position in the answer
  std::string tool;
  std::string key;
  size_t begin = 0;  // offsets of the value in the answer's text
  size_t end = 0;
};

// The values directly below the arguments of complete calls, in order. Arguments that are no object
// have none.
std::vector<FillSlot> FindSlots(const Answer& answer);

struct FillLimits {
  int max_value = 128;  // tokens
};

struct Filled {
  std::string text;
  int forwards = 0;
  int rows = 0;  // over all forwards: prefixes and values
  int unfilled =
      0;  // slots with `null`: the target's value was no JSON, too long, or found no room
};

// As many slots at once as there are sequences and cells for, in order; one that ends makes room
// for the next. Cells that can't be freed while slots are open are taken back when none is.
// REQUIRES: arena.Begin(prompt) on the same model; arena.free_branches() > 0, if there is a slot.
Filled FillInParallel(const Answer& skeleton, std::span<const Token> prompt, TargetModel& model,
                      Arena& arena, const FillLimits& limits);

}  // namespace schemafill
