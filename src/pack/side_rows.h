// The rows of a round's SIDE drafts. Branches that begin at one place share the rows of their
// prefixes as far as those are the same; a shared row is one node. Tested by
// tests/pack/side_rows_test.cc.
#pragma once

#include <span>
#include <vector>

#include "draft/side.h"
#include "kv/arena.h"

namespace schemafill {

struct SideRows {
  std::vector<SideRow> rows;            // parents first
  std::vector<std::vector<int>> paths;  // of each draft: its rows, context first
};

// `ids[i]` is the arena's branch of drafts[i]. The last row of a context and all draft rows have
// logits.
SideRows PackSide(std::span<const SideDraft> drafts, std::span<const BranchId> ids);

}  // namespace schemafill
