#include "verify/verify.h"

#include <fmt/format.h>

namespace schemafill {
namespace {

// The child of `parent` that carries `token`; -1 without one. Children come behind their parent.
int Child(std::span<const TreeNode> nodes, int parent, Token token) {
  for (int i = parent + 1; i < static_cast<int>(nodes.size()); ++i) {
    if (nodes[i].parent == parent && nodes[i].token == token) return i;
  }
  return -1;
}

}  // namespace

std::string Verdict::Dump(std::span<const TreeNode> nodes, const Tokenizer& tokenizer) const {
  std::string line;
  for (const int node : path) line += fmt::format("{}= ", tokenizer.Piece(nodes[node].token));
  return line + fmt::format("{}+", tokenizer.Piece(correction));
}

Verdict VerifyTree(std::span<const TreeNode> nodes,
                   const std::function<std::span<const float>(int)>& logits,
                   const SamplingOptions& sampling, int position) {
  const auto choose = [&](int row, int index) { return ChooseToken(logits(row), sampling, index); };
  return VerifyTree(nodes, choose, position);
}

Verdict VerifyTree(std::span<const TreeNode> nodes, const std::function<Token(int, int)>& choose,
                   int position) {
  Verdict verdict;
  int node = -1;  // the root
  while (true) {
    const int index = position + static_cast<int>(verdict.path.size());
    verdict.correction = choose(node + 1, index);
    node = Child(nodes, node, verdict.correction);
    if (node < 0) return verdict;
    verdict.path.push_back(node);
  }
}

Verdict VerifyChain(std::span<const Token> chain,
                    const std::function<std::span<const float>(int)>& logits) {
  std::vector<TreeNode> nodes;
  for (const Token token : chain) nodes.push_back({token, static_cast<int>(nodes.size()) - 1});
  return VerifyTree(nodes, logits, {.temperature = 0}, 0);
}

}  // namespace schemafill
