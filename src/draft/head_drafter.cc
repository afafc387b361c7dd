#include "draft/head_drafter.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"

namespace schemafill {
namespace {

constexpr SequenceId kCommitted{0};
// A step that gives logits computes them for each of its rows; more rows than these go without.
constexpr int kRowsWithLogits = 8;

struct Candidate {
  Token token{};
  double probability = 0;
};

// The likeliest tokens of a row, by the softmax over the draft vocabulary; the lower id among
// equals.
std::vector<Candidate> Likeliest(std::span<const float> logits, int count) {
  std::vector<Candidate> best;  // with logits in place of probabilities
  for (int token = 0; token < static_cast<int>(logits.size()); ++token) {
    const double logit = logits[static_cast<size_t>(token)];
    if (!std::isfinite(logit)) continue;
    if (std::ssize(best) == count && logit <= best.back().probability) continue;
    if (std::ssize(best) == count) best.pop_back();
    const auto place = std::ranges::find_if(
        best, [&](const Candidate& other) { return other.probability < logit; });
    best.insert(place, {Token{token}, logit});
  }
  if (best.empty()) return best;
  const double top = best.front().probability;
  double sum = 0;
  for (const float logit : logits) sum += std::isfinite(logit) ? std::exp(logit - top) : 0;
  for (Candidate& candidate : best) {
    candidate.probability = std::exp(candidate.probability - top) / sum;
  }
  return best;
}

// Indices of the `count` most probable of `nodes[from..]`, the most probable first.
std::vector<int> MostProbable(const std::vector<HeadNode>& nodes, int from, int count) {
  std::vector<int> order(nodes.size() - static_cast<size_t>(from));
  std::iota(order.begin(), order.end(), from);
  std::ranges::stable_sort(order, std::greater(), [&](int i) { return nodes[i].probability; });
  order.resize(std::min(order.size(), static_cast<size_t>(count)));
  return order;
}

// A child is no more probable than its parent and comes behind it, so the best nodes are a tree.
std::vector<HeadNode> BestNodes(const std::vector<HeadNode>& nodes, int count) {
  std::vector<HeadNode> best;
  std::vector<int> place(nodes.size(), -1);
  for (const int i : MostProbable(nodes, 0, count)) {
    place[i] = static_cast<int>(best.size());
    best.push_back(nodes[i]);
    if (nodes[i].parent >= 0) best.back().parent = place[nodes[i].parent];
  }
  return best;
}

}  // namespace

HeadDrafter::HeadDrafter(DraftHead& head) : head_(head) {
  for (int i = 0; i < head.info().max_sequences; ++i) head_.Drop(SequenceId{i}, 0, -1);
}

size_t HeadDrafter::feature_size() const {
  const HeadInfo& info = head_.info();
  return info.target_layers.size() * static_cast<size_t>(info.target_embedding_size);
}

int HeadDrafter::rows() const { return static_cast<int>(features_.size() / feature_size()); }

void HeadDrafter::Begin(std::span<const Token> prompt, int first, std::span<const float> features) {
  Check(first >= 0 && features.size() % feature_size() == 0, "features of another size");
  head_.Drop(kCommitted, 0, -1);
  tokens_.assign(prompt.begin(), prompt.end());
  first_ = first;
  features_.assign(features.begin(), features.end());
  stepped_ = 0;
}

void HeadDrafter::AddFeatures(std::span<const float> features) {
  Check(features.size() % feature_size() == 0, "features of another size");
  features_.insert(features_.end(), features.begin(), features.end());
}

void HeadDrafter::AddTokens(std::span<const Token> tokens) {
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

// Gives the committed rows their cells; the last one is where the tree begins.
HeadDrafter::Leaf HeadDrafter::StepCommitted() {
  const int count = rows() - stepped_;
  const size_t size = feature_size();
  const size_t width = static_cast<size_t>(head_.info().embedding_size);
  const std::span<const float> fused =
      head_.Fuse(std::span(features_).subspan(static_cast<size_t>(stepped_) * size), count);
  std::vector<HeadRow> rows;
  for (int i = 0; i < count; ++i) {
    const int row = stepped_ + i;
    rows.push_back({{.token = tokens_[static_cast<size_t>(first_ + row + 1)],
                     .position = row,
                     .sequences = {kCommitted},
                     .wants_logits = false},
                    fused.subspan(static_cast<size_t>(i) * width, width)});
  }
  std::span<HeadRow> rest(rows);
  while (std::ssize(rest) > std::min(kRowsWithLogits, head_.info().max_rows)) {
    const int most = std::min(head_.info().max_rows, static_cast<int>(rest.size()) - 1);
    head_.Step(rest.first(static_cast<size_t>(most)));
    rest = rest.subspan(static_cast<size_t>(most));
  }
  for (HeadRow& row : rest) row.row.wants_logits = true;
  head_.Step(rest);
  stepped_ += count;
  const std::span<const float> state = head_.State(static_cast<int>(rest.size()) - 1);
  return {.row = static_cast<int>(rest.size()) - 1,
          .sequence = kCommitted,
          .state = {state.begin(), state.end()}};
}

// One step over the chosen nodes of the last level. Each gets a sequence of its own, which goes on
// from its parent's; two sets of sequences take turns.
std::vector<HeadDrafter::Leaf> HeadDrafter::StepLevel(const std::vector<HeadNode>& nodes,
                                                      std::vector<Leaf> parents,
                                                      std::span<const int> chosen, int level,
                                                      int width) {
  const auto sequence = [&](int set, int i) { return SequenceId{1 + set * width + i}; };
  std::vector<Leaf> leaves;
  std::vector<HeadRow> rows;
  for (const int i : chosen) {
    const HeadNode& node = nodes[i];
    const Leaf& parent = *std::ranges::find(parents, node.parent, &Leaf::node);
    Leaf leaf{.node = i,
              .row = static_cast<int>(leaves.size()),
              .probability = node.probability,
              .sequence = sequence(level % 2, static_cast<int>(leaves.size())),
              .state = {}};
    head_.Share(parent.sequence, leaf.sequence, 0, -1);
    rows.push_back({{.token = node.token,
                     .position = stepped_ + level,
                     .sequences = {leaf.sequence},
                     .wants_logits = true},
                    parent.state});
    leaves.push_back(std::move(leaf));
  }
  head_.Step(rows);
  for (Leaf& leaf : leaves) {
    const std::span<const float> state = head_.State(leaf.row);
    leaf.state.assign(state.begin(), state.end());
  }
  for (int i = 0; i < width; ++i) head_.Drop(sequence((level + 1) % 2, i), 0, -1);
  return leaves;
}

std::vector<HeadNode> HeadDrafter::Draft(const HeadLimits& limits) {
  const int width = std::min(limits.width, (head_.info().max_sequences - 1) / 2);
  const bool complete = first_ + rows() + 1 == static_cast<int>(tokens_.size());
  if (!complete || stepped_ >= rows() || width < 1 || limits.depth < 1) return {};
  std::vector<HeadNode> nodes;
  std::vector<Leaf> leaves;
  leaves.push_back(StepCommitted());
  for (int level = 0; level < limits.depth && !leaves.empty(); ++level) {
    const int from = static_cast<int>(nodes.size());
    for (const Leaf& leaf : leaves) {
      for (const Candidate& candidate : Likeliest(head_.Logits(leaf.row), width)) {
        const double probability = leaf.probability * candidate.probability;
        if (probability < limits.min_probability) break;
        nodes.push_back({candidate.token, leaf.node, probability});
      }
    }
    const std::vector<int> chosen = MostProbable(nodes, from, width);
    if (level + 1 == limits.depth || chosen.empty()) break;
    leaves = StepLevel(nodes, std::move(leaves), chosen, level, width);
  }
  for (int i = 0; i < 2 * width; ++i) head_.Drop(SequenceId{1 + i}, 0, -1);
  return BestNodes(nodes, limits.max_nodes);
}

}  // namespace schemafill
