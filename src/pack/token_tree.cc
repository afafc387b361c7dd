#include "pack/token_tree.h"

#include <algorithm>

namespace schemafill {

TokenTree::TokenTree(std::span<const PackedNode> merged) : nodes_(merged.begin(), merged.end()) {
  children_.resize(nodes_.size() + 1);
  for (int i = 0; i < size(); ++i)
    children_[static_cast<size_t>(node(i).node.parent + 1)].push_back(i);
}

int TokenTree::Child(int parent, Token token, PieceKind kind) {
  for (const int child : children(parent)) {
    if (node(child).node.token == token) return child;
  }
  const int added = size();
  nodes_.push_back({{token, parent}, 0, kind});
  children_[static_cast<size_t>(parent + 1)].push_back(added);
  children_.emplace_back();
  return added;
}

double TokenTree::Rest(int node) const {
  double rest = node < 0 ? 1 : this->node(node).probability;
  for (const int child : children(node)) rest -= this->node(child).probability;
  return std::max(rest, 0.0);
}

}  // namespace schemafill
