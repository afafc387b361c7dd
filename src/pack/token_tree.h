// Candidate tokens of one source or of several as one tree, common prefixes merged.
// Tested by tests/pack/pack_test.cc.
#pragma once

#include <span>
#include <vector>

#include "draft/pieces.h"
#include "kv/arena.h"
#include "model/types.h"

namespace schemafill {

// A candidate token and why it is one.
struct PackedNode {
  TreeNode node;
  double probability = 0;  // that the target's choices reach and take it
  PieceKind kind = PieceKind::kScaffold;
};

class TokenTree {
 public:
  TokenTree() = default;
  // REQUIRES: parents come first, and no two siblings have the same token.
  explicit TokenTree(std::span<const PackedNode> merged);

  // The child of `parent` (-1: the root) with this token; a new one has `kind` and no probability.
  int Child(int parent, Token token, PieceKind kind);
  // A node's probability is to be at least that of its children together.
  void Add(int node, double probability) {
    nodes_[static_cast<size_t>(node)].probability += probability;
  }

  int size() const { return static_cast<int>(nodes_.size()); }
  const std::vector<PackedNode>& nodes() const { return nodes_; }  // parents first
  const PackedNode& node(int i) const { return nodes_[static_cast<size_t>(i)]; }
  const std::vector<int>& children(int parent) const {
    return children_[static_cast<size_t>(parent + 1)];
  }
  // What none of the children has of the node's probability; the root's is 1.
  double Rest(int node) const;

 private:
  std::vector<PackedNode> nodes_;
  std::vector<std::vector<int>> children_ =
      std::vector<std::vector<int>>(1);  // [nodes + 1], the root first
};

}  // namespace schemafill
