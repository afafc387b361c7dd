#include "pack/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "draft/encode.h"

namespace schemafill {
namespace {

// A path's last token may merge with what comes next, which nobody knows.
constexpr double kBorderShare = 0.8;

// Tokens of all paths, common prefixes merged.
class Trie {
 public:
  int Child(int parent, Token token, PieceKind kind) {
    for (const int child : children(parent)) {
      if (nodes[static_cast<size_t>(child)].node.token == token) return child;
    }
    const int added = static_cast<int>(nodes.size());
    nodes.push_back({{token, parent}, 0, kind});
    children_[static_cast<size_t>(parent + 1)].push_back(added);
    children_.emplace_back();
    return added;
  }
  const std::vector<int>& children(int parent) const {
    return children_[static_cast<size_t>(parent + 1)];
  }

  std::vector<PackedNode> nodes;

 private:
  std::vector<std::vector<int>> children_ =
      std::vector<std::vector<int>>(1);  // [nodes + 1], the root first
};

// Texts of all nodes, from the text so far.
std::vector<std::string> PathTexts(const Draft& draft) {
  std::vector<std::string> texts;
  texts.reserve(draft.nodes.size());
  for (const DraftNode& node : draft.nodes) {
    texts.push_back((node.parent < 0 ? std::string() : texts[static_cast<size_t>(node.parent)]) +
                    node.text);
  }
  return texts;
}

// The kind of the piece on the path to `leaf` that holds byte `offset`.
PieceKind KindAt(const Draft& draft, const std::vector<std::string>& texts, int leaf,
                 size_t offset) {
  PieceKind kind = draft.nodes[static_cast<size_t>(leaf)].kind;
  for (int i = leaf; i >= 0; i = draft.nodes[static_cast<size_t>(i)].parent) {
    if (texts[static_cast<size_t>(i)].size() <= offset) break;
    if (!draft.nodes[static_cast<size_t>(i)].text.empty())
      kind = draft.nodes[static_cast<size_t>(i)].kind;
  }
  return kind;
}

// Adds the leaf's tokens and gives every drafted node on its path that has no mass yet its own: the
// probability that the continuation takes this node and none of its children.
void AddLeaf(const Draft& draft, const std::vector<std::string>& texts, int leaf,
             const std::vector<Token>& tokens, const Tokenizer& tokenizer,
             std::vector<double>* mass, Trie* trie) {
  struct Step {
    int node;
    size_t end;  // bytes of the drafted text up to and with this token
  };
  std::vector<Step> steps;
  size_t end = 0;
  int at = -1;
  for (const Token token : tokens) {
    at = trie->Child(at, token, KindAt(draft, texts, leaf, end));
    end += tokenizer.Piece(token).size();
    steps.push_back({at, end});
  }
  for (int i = leaf; i >= 0; i = draft.nodes[static_cast<size_t>(i)].parent) {
    const double own = std::exchange((*mass)[static_cast<size_t>(i)], 0);
    if (own <= 0) continue;
    const size_t length = texts[static_cast<size_t>(i)].size();
    for (const Step& step : steps) {
      if (step.end > length) break;
      const bool border = step.end == length && i == leaf;
      trie->nodes[static_cast<size_t>(step.node)].probability += own * (border ? kBorderShare : 1);
    }
  }
}

// Indices of the nodes to keep: the most probable ones, as many as pay and fit.
std::vector<bool> Choose(const std::vector<PackedNode>& nodes, const PackLimits& limits) {
  std::vector<int> order(nodes.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int>(i);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return nodes[static_cast<size_t>(a)].probability > nodes[static_cast<size_t>(b)].probability;
  });
  std::vector<double> probabilities;
  for (const int i : order) probabilities.push_back(nodes[static_cast<size_t>(i)].probability);
  const int count = BestNodeCount(probabilities, limits.cost, limits.max_nodes);

  std::vector<bool> keep(nodes.size(), false);
  std::vector<bool> has_child(nodes.size() + 1,
                              false);  // of kept nodes; the last entry is the root
  int leaves = 1;
  for (int k = 0; k < count; ++k) {
    const int i = order[static_cast<size_t>(k)];
    const int parent = nodes[static_cast<size_t>(i)].node.parent;
    if (parent >= 0 && !keep[static_cast<size_t>(parent)]) continue;
    const size_t slot = parent < 0 ? nodes.size() : static_cast<size_t>(parent);
    if (has_child[slot] && leaves == limits.max_leaves) continue;
    leaves += has_child[slot] ? 1 : 0;
    has_child[slot] = true;
    keep[static_cast<size_t>(i)] = true;
  }
  return keep;
}

void AppendBranch(const Trie& trie, const std::vector<bool>& keep, int parent, int new_parent,
                  Pack* pack) {
  std::vector<int> children = trie.children(parent);
  std::erase_if(children, [&](int child) { return !keep[static_cast<size_t>(child)]; });
  std::stable_sort(children.begin(), children.end(), [&](int a, int b) {
    return trie.nodes[static_cast<size_t>(a)].probability >
           trie.nodes[static_cast<size_t>(b)].probability;
  });
  for (const int child : children) {
    pack->nodes.push_back(trie.nodes[static_cast<size_t>(child)]);
    pack->nodes.back().node.parent = new_parent;
    AppendBranch(trie, keep, child, static_cast<int>(pack->nodes.size()) - 1, pack);
  }
}

}  // namespace

Pack PackDraft(const Draft& draft, std::span<const Token> committed, const Tokenizer& tokenizer,
               const PackLimits& limits) {
  const std::vector<std::string> texts = PathTexts(draft);
  std::vector<double> mass;  // of each drafted node: its path ends there
  std::vector<bool> leaf(draft.nodes.size(), true);
  for (const DraftNode& node : draft.nodes) {
    mass.push_back(node.probability);
    if (node.parent < 0) continue;
    mass[static_cast<size_t>(node.parent)] -= node.probability;
    leaf[static_cast<size_t>(node.parent)] = false;
  }
  Trie trie;
  for (size_t i = 0; i < draft.nodes.size(); ++i) {
    if (!leaf[i] || texts[i].empty()) continue;
    const std::vector<Token> tokens = EncodeBehind(tokenizer, committed, texts[i]);
    AddLeaf(draft, texts, static_cast<int>(i), tokens, tokenizer, &mass, &trie);
  }
  Pack pack;
  AppendBranch(trie, Choose(trie.nodes, limits), -1, -1, &pack);
  return pack;
}

std::vector<TreeNode> Pack::Tree() const {
  std::vector<TreeNode> tree;
  tree.reserve(nodes.size());
  for (const PackedNode& node : nodes) tree.push_back(node.node);
  return tree;
}

std::string Pack::Dump(const Tokenizer& tokenizer) const {
  std::vector<int> depths;
  std::string out;
  for (const PackedNode& node : nodes) {
    const int depth = node.node.parent < 0 ? 0 : depths[static_cast<size_t>(node.node.parent)] + 1;
    depths.push_back(depth);
    out += fmt::format("{:{}}{:.2f} {} [{}]\n", "", depth, node.probability, Name(node.kind),
                       tokenizer.Piece(node.node.token));
  }
  return out;
}

}  // namespace schemafill
