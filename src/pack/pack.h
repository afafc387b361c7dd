// From drafted text to rows: tokens in the tokenizer's own encoding, merged into one tree, cut to
// what pays.
//
// A forced string is not a forced token: text is encoded in the context of what stands before it,
// because the border may merge. A node's probability is that of all the drafted continuations that
// run through it, so a prefix that several alternatives share is worth more than each of them.
// Tested by tests/pack/pack_test.cc.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "draft/expand.h"
#include "kv/arena.h"
#include "model/tokenizer.h"
#include "pack/token_tree.h"
#include "plan/cost.h"

namespace schemafill {

// Nodes come parents first, the likeliest child's branch first, so that the likeliest path lies in
// one piece.
struct Pack {
  std::vector<PackedNode> nodes;
  std::vector<TreeNode> Tree() const;
  std::string Dump(const Tokenizer& tokenizer) const;  // one line a node, indented by depth
};

struct PackLimits {
  int max_nodes = 32;
  int max_leaves = 16;
  CostCurve cost;  // empty: all of max_nodes are filled
  // Extra worth of a node where the target has a choice: for a number of nodes that is fixed, it
  // buys fewer rounds. 0: the most probable nodes, which is what pays where rows cost.
  double choice_weight = 0;
};

// All of the draft's tokens as one tree. `committed` are the tokens so far, prompt included; the
// draft continues their text.
TokenTree DraftTokens(const Draft& draft, std::span<const Token> committed,
                      const Tokenizer& tokenizer);

// The best of them.
Pack PackDraft(const Draft& draft, std::span<const Token> committed, const Tokenizer& tokenizer,
               const PackLimits& limits);

// The same choice from a tree of tokens that is there already: a head's, or several sources merged.
// REQUIRES: parents come first, and no two siblings have the same token.
Pack PackTree(std::span<const PackedNode> nodes, const PackLimits& limits);

}  // namespace schemafill
