// Which nodes of a verified tree survive (paper Eq. 2): from the root, follow the target's own
// choice as long as a child carries it.
// Tested by tests/verify/verify_test.cc and, at temperatures above 0, exact_sampling_test.cc.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "kv/arena.h"
#include "sample/sampler.h"

namespace schemafill {

struct Verdict {
  std::vector<int> path;  // accepted nodes, from the root down
  Token correction{};     // the target's choice behind the last accepted node

  // One line: `{"= name= ":+` accepts two nodes and goes on with a token that the target chose.
  std::string Dump(std::span<const TreeNode> nodes, const Tokenizer& tokenizer) const;
};

// `logits(row)` is [vocab] of row 0 (the root) or i + 1 (nodes[i]); it is asked for the root and
// the accepted nodes only. `position` is the output index of the root's successor. Siblings should
// carry different tokens; of two with the same, the second never survives.
Verdict VerifyTree(std::span<const TreeNode> nodes,
                   const std::function<std::span<const float>(int)>& logits,
                   const SamplingOptions& sampling, int position);

// The same by any rule of choice: `choose(row, position)` is the target's token behind that row.
Verdict VerifyTree(std::span<const TreeNode> nodes, const std::function<Token(int, int)>& choose,
                   int position);

// The same for a chain of tokens behind row 0, greedily: SIDE branches are provisional, so their
// values are the target's likeliest ones at any temperature.
Verdict VerifyChain(std::span<const Token> chain,
                    const std::function<std::span<const float>(int)>& logits);

}  // namespace schemafill
