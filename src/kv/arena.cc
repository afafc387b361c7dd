#include "kv/arena.h"

#include <algorithm>

#include "base/check.h"

namespace schemafill {
namespace {

constexpr SequenceId kMain{0};

// The sequence of the i-th leaf in node order; leaf 0 is MAIN's own.
constexpr SequenceId LeafSequence(int i) { return SequenceId{i}; }

SequenceId Parking(const TargetModel& model) { return SequenceId{model.info().max_sequences - 1}; }

int CommonPrefix(std::span<const Token> a, std::span<const Token> b) {
  return static_cast<int>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Nodes without children, in node order; -1, the root, when there are no nodes.
std::vector<int> Leaves(std::span<const TreeNode> nodes) {
  std::vector<bool> has_child(nodes.size(), false);
  for (const TreeNode& node : nodes) {
    if (node.parent >= 0) has_child[node.parent] = true;
  }
  std::vector<int> leaves;
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    if (!has_child[i]) leaves.push_back(i);
  }
  if (nodes.empty()) leaves.push_back(-1);
  return leaves;
}

void CheckPath(std::span<const TreeNode> nodes, std::span<const int> path) {
  int parent = -1;
  for (const int node : path) {
    Check(node >= 0 && node < static_cast<int>(nodes.size()),
          "an accepted node that the tree doesn't have");
    Check(nodes[node].parent == parent, "accepted nodes that are not a path from the root");
    parent = node;
  }
}

}  // namespace

Arena::Arena(TargetModel& model) : model_(model) {
  Check(model.info().max_sequences >= 2, "the arena needs a sequence for MAIN and one for parking");
  for (int i = 0; i < model.info().max_sequences; ++i) model_.Drop(SequenceId{i}, 0, -1);
}

int Arena::Begin(std::span<const Token> prompt) {
  Check(!prompt.empty() && static_cast<int>(prompt.size()) <= model_.info().context_size,
        "a prompt that doesn't fit");
  const std::span<const Token> prefix = prompt.first(prompt.size() - 1);
  const int reused =
      model_.info().guarantee == Guarantee::kBitExact ? CommonPrefix(prompt_, prefix) : 0;
  // Nothing is known to be in place until the end of this function: it may throw anywhere.
  prompt_.clear();
  state_ = State::kIdle;
  // Only public cells stay. They lie at the front without holes, so what is stored next lies behind
  // them, in order.
  model_.Drop(kMain, reused, -1);
  for (int i = 1; i <= scratch_; ++i) model_.Drop(LeafSequence(i), 0, -1);
  model_.Drop(Parking(model_), 0, -1);
  scratch_ = 0;
  use_ = {};
  const std::span<const Token> missing = prefix.subspan(reused);
  if (!missing.empty()) model_.Prefill(missing, reused, kMain);
  prompt_.assign(prefix.begin(), prefix.end());
  use_.prefix = use_.peak = static_cast<int>(prefix.size());
  state_ = State::kReady;
  return reused;
}

void Arena::Verify(Token root, std::span<const TreeNode> nodes) {
  Check(state_ == State::kReady, "Verify before Begin, or twice without Accept");
  Check(static_cast<int>(nodes.size()) + 1 <= max_rows(),
        "a tree with more rows than the arena has room for");
  const int first = use_.prefix + use_.verified;
  nodes_.assign(nodes.begin(), nodes.end());
  rows_.clear();
  rows_.push_back({.token = root, .position = first, .sequences = {}});
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    Check(nodes[i].parent >= -1 && nodes[i].parent < i,
          "tree nodes out of order: parents come first");
    rows_.push_back({.token = nodes[i].token,
                     .position = rows_[nodes[i].parent + 1].position + 1,
                     .sequences = {}});
  }
  const std::vector<int> leaves = Leaves(nodes);
  Check(static_cast<int>(leaves.size()) <= max_leaves(),
        "a tree with more leaves than the arena has sequences");
  LabelRows(leaves);

  state_ = State::kIdle;  // until the forward has succeeded
  scratch_ = static_cast<int>(leaves.size()) - 1;
  for (int i = 1; i <= scratch_; ++i) model_.Share(kMain, LeafSequence(i), 0, -1);
  model_.Forward(rows_);
  use_.peak = std::max(use_.peak, first + use_.parked + static_cast<int>(rows_.size()));
  state_ = State::kVerified;
}

// Each row gets the sequences of all leaves behind it, in leaf order.
void Arena::LabelRows(std::span<const int> leaves) {
  for (int i = 0; i < static_cast<int>(leaves.size()); ++i) {
    for (int node = leaves[i]; node >= 0; node = nodes_[node].parent) {
      rows_[node + 1].sequences.push_back(LeafSequence(i));
    }
    rows_.front().sequences.push_back(LeafSequence(i));
  }
}

void Arena::Accept(std::span<const int> path) {
  Check(state_ == State::kVerified, "Accept without Verify");
  CheckPath(nodes_, path);
  state_ = State::kIdle;  // until all labels are in place
  const int last = path.empty() ? 0 : path.back() + 1;
  for (int row = 1, next = 0; row < last; ++row) {
    if (row == path[next] + 1) {
      ++next;
      continue;
    }
    const int position = rows_[row].position;
    model_.Share(rows_[row].sequences.front(), Parking(model_), position, position + 1);
    ++use_.parked;
  }
  MoveMain(path);
  for (int i = 1; i <= scratch_; ++i) model_.Drop(LeafSequence(i), 0, -1);
  scratch_ = 0;
  use_.verified += 1 + static_cast<int>(path.size());
  state_ = State::kReady;
}

// Takes MAIN from its own leaf's path over to the accepted one. Both are the same up to a fork.
void Arena::MoveMain(std::span<const int> path) {
  const auto on_main = [&](int node) { return rows_[node + 1].sequences.front() == kMain; };
  const auto leaving = std::ranges::find_if_not(path, on_main);
  const int fork = rows_.front().position + 1 + static_cast<int>(leaving - path.begin());
  model_.Drop(kMain, fork, -1);
  if (leaving == path.end()) return;
  const Row& end = rows_[path.back() + 1];
  model_.Share(end.sequences.front(), kMain, fork, end.position + 1);
}

int Arena::max_rows() const {
  const int used = use_.prefix + use_.verified + use_.parked;
  return std::min(model_.info().max_rows, model_.info().context_size - used);
}

int Arena::max_leaves() const { return model_.info().max_sequences - 1; }

}  // namespace schemafill
