#include "pack/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "draft/encode.h"

namespace schemafill {
namespace {

// A path's last token may merge with what comes next, which nobody knows.
constexpr double kBorderShare = 0.8;

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

// Tokens of the paths down to all nodes. A path goes on from its parent's tokens; the last few of
// those are encoded again with it, because the border may merge.
std::vector<std::vector<Token>> PathTokens(const Draft& draft, std::span<const Token> committed,
                                           const Tokenizer& tokenizer) {
  constexpr size_t kBorderTokens = 3;
  const auto tail = committed.last(std::min(committed.size(), kEncodeContext));
  std::vector<std::vector<Token>> paths;
  paths.reserve(draft.nodes.size());
  for (const DraftNode& node : draft.nodes) {
    std::vector<Token> path;
    if (node.parent >= 0) path = paths[static_cast<size_t>(node.parent)];
    const size_t border = std::min(path.size(), kBorderTokens);
    const std::string text = tokenizer.Decode(std::span(path).last(border)) + node.text;
    path.resize(path.size() - border);
    std::vector<Token> front(tail.begin(), tail.end());
    front.insert(front.end(), path.begin(), path.end());
    const std::vector<Token> behind = EncodeBehind(tokenizer, front, text);
    path.insert(path.end(), behind.begin(), behind.end());
    paths.push_back(std::move(path));
  }
  return paths;
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
             std::vector<double>* mass, TokenTree* tree) {
  struct Step {
    int node;
    size_t end;  // bytes of the drafted text up to and with this token
  };
  std::vector<Step> steps;
  size_t end = 0;
  int at = -1;
  for (const Token token : tokens) {
    at = tree->Child(at, token, KindAt(draft, texts, leaf, end));
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
      tree->Add(step.node, own * (border ? kBorderShare : 1));
    }
  }
}

// What each node is worth: its probability, and more where the target has a choice. Text that is
// nearly sure comes along in a later round as well, but a choice that no node covers ends the
// round.
std::vector<double> Worth(const TokenTree& tree, double choice_weight) {
  std::vector<double> worth(tree.nodes().size(), 0);
  for (int parent = -1; parent < tree.size(); ++parent) {
    const double reached = parent < 0 ? 1 : tree.node(parent).probability;
    double best = 0;
    for (const int child : tree.children(parent))
      best = std::max(best, tree.node(child).probability);
    const double choice = reached > 0 ? std::max(0.0, 1 - best / reached) : 0;
    for (const int child : tree.children(parent)) {
      worth[static_cast<size_t>(child)] =
          tree.node(child).probability * (1 + choice_weight * choice);
    }
  }
  return worth;
}

// Takes nodes path by path, each time the path that is worth most for its length.
class Chooser {
 public:
  Chooser(const TokenTree& tree, const PackLimits& limits)
      : nodes_(tree.nodes()),
        limits_(limits),
        worth_(Worth(tree, limits.choice_weight)),
        taken_(nodes_.size(), false),
        has_child_(nodes_.size() + 1, false) {}

  // Parents before children; at most what fits.
  std::vector<int> Order() {
    std::vector<int> order;
    while (true) {
      const std::vector<int> path = BestPath(limits_.max_nodes - static_cast<int>(order.size()));
      if (path.empty()) return order;
      for (const int node : path) Take(node);
      order.insert(order.end(), path.begin(), path.end());
    }
  }

 private:
  size_t Slot(int parent) const { return parent < 0 ? nodes_.size() : static_cast<size_t>(parent); }
  int Parent(int node) const { return nodes_[static_cast<size_t>(node)].node.parent; }
  // Whether the node would hang on what is taken.
  bool IsTop(int node) const {
    return Parent(node) < 0 || taken_[static_cast<size_t>(Parent(node))];
  }

  // At most `room` nodes, from one that hangs on what is taken downwards.
  std::vector<int> BestPath(int room) const {
    std::vector<double> sums(nodes_.size(), 0);
    std::vector<int> lengths(nodes_.size(), 0);
    std::vector<bool> open(nodes_.size(), false);  // reachable within the limits
    double best = 0;
    int end = -1;
    for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
      const size_t node = static_cast<size_t>(i);
      if (taken_[node]) continue;
      const bool top = IsTop(i);
      const size_t parent = static_cast<size_t>(Parent(i));
      open[node] =
          top ? !has_child_[Slot(Parent(i))] || leaves_ < limits_.max_leaves : open[parent];
      if (!open[node]) continue;
      sums[node] = worth_[node] + (top ? 0 : sums[parent]);
      lengths[node] = 1 + (top ? 0 : lengths[parent]);
      if (lengths[node] > room || sums[node] <= best * lengths[node]) continue;
      best = sums[node] / lengths[node];
      end = i;
    }
    std::vector<int> path;
    for (int i = end; i >= 0 && !taken_[static_cast<size_t>(i)]; i = Parent(i)) path.push_back(i);
    std::reverse(path.begin(), path.end());
    return path;
  }

  void Take(int node) {
    const size_t slot = Slot(Parent(node));
    leaves_ += has_child_[slot] ? 1 : 0;
    has_child_[slot] = true;
    taken_[static_cast<size_t>(node)] = true;
  }

  const std::vector<PackedNode>& nodes_;
  const PackLimits& limits_;
  const std::vector<double> worth_;
  std::vector<bool> taken_;
  std::vector<bool> has_child_;  // of taken nodes; the last entry is the root
  int leaves_ = 1;
};

// Which nodes to keep: as many as pay and fit.
std::vector<bool> Choose(const TokenTree& tree, const PackLimits& limits) {
  const std::vector<int> order = Chooser(tree, limits).Order();
  std::vector<double> probabilities;
  for (const int node : order) probabilities.push_back(tree.node(node).probability);
  const int count = BestNodeCount(probabilities, limits.cost, limits.max_nodes);
  std::vector<bool> keep(tree.nodes().size(), false);
  for (int i = 0; i < count; ++i) keep[static_cast<size_t>(order[static_cast<size_t>(i)])] = true;
  return keep;
}

void AppendBranch(const TokenTree& tree, const std::vector<bool>& keep, int parent, int new_parent,
                  Pack* pack) {
  std::vector<int> children = tree.children(parent);
  std::erase_if(children, [&](int child) { return !keep[static_cast<size_t>(child)]; });
  std::stable_sort(children.begin(), children.end(), [&](int a, int b) {
    return tree.node(a).probability > tree.node(b).probability;
  });
  for (const int child : children) {
    pack->nodes.push_back(tree.node(child));
    pack->nodes.back().node.parent = new_parent;
    AppendBranch(tree, keep, child, static_cast<int>(pack->nodes.size()) - 1, pack);
  }
}

Pack Cut(const TokenTree& tree, const PackLimits& limits) {
  Pack pack;
  AppendBranch(tree, Choose(tree, limits), -1, -1, &pack);
  return pack;
}

}  // namespace

TokenTree DraftTokens(const Draft& draft, std::span<const Token> committed,
                      const Tokenizer& tokenizer) {
  const std::vector<std::string> texts = PathTexts(draft);
  std::vector<double> mass;  // of each drafted node: its path ends there
  std::vector<bool> leaf(draft.nodes.size(), true);
  for (const DraftNode& node : draft.nodes) {
    mass.push_back(node.probability);
    if (node.parent < 0) continue;
    mass[static_cast<size_t>(node.parent)] -= node.probability;
    leaf[static_cast<size_t>(node.parent)] = false;
  }
  const std::vector<std::vector<Token>> tokens = PathTokens(draft, committed, tokenizer);
  TokenTree tree;
  for (size_t i = 0; i < draft.nodes.size(); ++i) {
    if (!leaf[i] || texts[i].empty()) continue;
    AddLeaf(draft, texts, static_cast<int>(i), tokens[i], tokenizer, &mass, &tree);
  }
  return tree;
}

Pack PackDraft(const Draft& draft, std::span<const Token> committed, const Tokenizer& tokenizer,
               const PackLimits& limits) {
  return Cut(DraftTokens(draft, committed, tokenizer), limits);
}

Pack PackTree(std::span<const PackedNode> nodes, const PackLimits& limits) {
  return Cut(TokenTree(nodes), limits);
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
