#include "draft/head_drafter.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "base/check.h"
#include "sample/sampler.h"

namespace schemafill {
namespace {

constexpr SequenceId kCommitted{0};
// A step that gives logits computes them for each of its rows; more rows than these go without.
constexpr int kRowsWithLogits = 8;
// Most candidates of a row.
constexpr int kMostLikeliest = 8;

// The likeliest tokens of a row, by the softmax over the draft vocabulary; the lower id among
// equals.
std::vector<HeadGuess> Likeliest(std::span<const float> logits, int count) {
  std::vector<HeadGuess> likeliest;
  const auto logit = [&](Token token) { return double{logits[static_cast<size_t>(Index(token))]}; };
  const std::vector<Token> largest = LargestLogits(logits, static_cast<size_t>(count));
  if (largest.empty() || !std::isfinite(logit(largest[0]))) return likeliest;
  const double top = logit(largest[0]);
  double sum = 0;
  for (const float other : logits) sum += std::isfinite(other) ? std::exp(other - top) : 0;
  for (const Token token : largest)
    likeliest.push_back({token, std::exp(logit(token) - top) / sum});
  return likeliest;
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
  while (!branches_.empty()) CloseBranch(branches_.begin()->first);
  root_.reset();
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
void HeadDrafter::StepCommitted() {
  const int count = std::min(rows(), static_cast<int>(tokens_.size()) - 1 - first_) - stepped_;
  if (count < 1) return;
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
  const int last = static_cast<int>(rest.size()) - 1;
  const std::span<const float> state = head_.State(last);
  root_ = Leaf{.sequence = kCommitted,
               .state = {state.begin(), state.end()},
               .likeliest = Likeliest(head_.Logits(last), kMostLikeliest)};
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
              .probability = node.probability,
              .sequence = sequence(level % 2, static_cast<int>(leaves.size())),
              .state = {},
              .likeliest = {}};
    head_.Share(parent.sequence, leaf.sequence, 0, -1);
    rows.push_back({{.token = node.token,
                     .position = stepped_ + level,
                     .sequences = {leaf.sequence},
                     .wants_logits = true},
                    parent.state});
    leaves.push_back(std::move(leaf));
  }
  head_.Step(rows);
  for (int i = 0; i < static_cast<int>(leaves.size()); ++i) {
    const std::span<const float> state = head_.State(i);
    leaves[static_cast<size_t>(i)].state.assign(state.begin(), state.end());
    leaves[static_cast<size_t>(i)].likeliest = Likeliest(head_.Logits(i), width);
  }
  for (int i = 0; i < width; ++i) head_.Drop(sequence((level + 1) % 2, i), 0, -1);
  return leaves;
}

std::vector<HeadNode> HeadDrafter::Draft(const HeadLimits& limits) {
  const int width = std::min({limits.width, kMostLikeliest, (head_.info().max_sequences - 1) / 3});
  const bool complete = first_ + rows() + 1 == static_cast<int>(tokens_.size());
  if (!complete || rows() < 1 || width < 1) return {};
  StepCommitted();
  std::vector<HeadNode> nodes;
  std::vector<Leaf> leaves{*root_};
  for (int level = 0; level < limits.depth; ++level) {
    const int from = static_cast<int>(nodes.size());
    for (const Leaf& leaf : leaves) {
      const auto count = std::min(leaf.likeliest.size(), static_cast<size_t>(width));
      for (const HeadGuess& guess : std::span(leaf.likeliest).first(count)) {
        const double probability = leaf.probability * guess.probability;
        if (probability < limits.min_probability) break;
        nodes.push_back({guess.token, leaf.node, probability});
      }
    }
    const std::vector<int> chosen = MostProbable(nodes, from, width);
    if (level + 1 == limits.depth || chosen.empty()) break;
    leaves = StepLevel(nodes, std::move(leaves), chosen, level, width);
  }
  for (int i = 0; i < 2 * width; ++i) head_.Drop(SequenceId{1 + i}, 0, -1);
  return BestNodes(nodes, limits.max_nodes);
}

// A sequence of its own, which begins with the committed rows in front of row `front`.
void HeadDrafter::Open(int front, Branch* branch) {
  if (branch->sequence != kCommitted) return;
  SequenceId sequence{head_.info().max_sequences - 1};
  const auto taken = [&](const auto& other) { return other.second.sequence == sequence; };
  while (std::ranges::any_of(branches_, taken)) sequence = SequenceId{Index(sequence) - 1};
  branch->sequence = sequence;
  head_.Share(kCommitted, sequence, 0, front);
}

// Of the branch's rows without a cell. Its first row pairs its first token with the feature of the
// committed token in front of it.
std::vector<float> HeadDrafter::NewFeatures(int front, const Branch& branch) const {
  const size_t size = feature_size();
  std::vector<float> features;
  if (branch.stepped == 0) {
    const auto first = std::span(features_).subspan(static_cast<size_t>(front) * size, size);
    features.assign(first.begin(), first.end());
  }
  const size_t known = static_cast<size_t>(std::max(0, branch.stepped - 1));
  const auto own = std::span(branch.features).subspan(known * size);
  features.insert(features.end(), own.begin(), own.end());
  return features;
}

std::map<int, HeadGuess> HeadDrafter::DraftBranches(std::span<const HeadBranch> branches) {
  StepCommitted();
  std::vector<float> features;
  std::vector<HeadRow> step;
  std::map<int, int> last_rows;  // of the step, by branch
  for (const HeadBranch& asked : branches) {
    const auto found = branches_.find(asked.branch);
    const int front = asked.fork - 1 - first_;  // row of the committed token in front of it
    if (found == branches_.end() || front < 0 || front >= rows()) continue;
    Branch& branch = found->second;
    const int length = static_cast<int>(asked.tokens.size());
    const bool complete = branch.features.size() / feature_size() + 1 == asked.tokens.size();
    if (!complete || branch.stepped >= length) continue;
    if (static_cast<int>(step.size()) + length - branch.stepped > head_.info().max_rows) break;
    Open(front, &branch);
    const std::vector<float> more = NewFeatures(front, branch);
    features.insert(features.end(), more.begin(), more.end());
    for (; branch.stepped < length; ++branch.stepped) {
      step.push_back({{.token = asked.tokens[static_cast<size_t>(branch.stepped)],
                       .position = front + branch.stepped,
                       .sequences = {branch.sequence}},
                      {}});
    }
    last_rows[asked.branch] = static_cast<int>(step.size()) - 1;
  }
  std::map<int, HeadGuess> guesses;
  if (step.empty()) return guesses;
  const std::span<const float> fused = head_.Fuse(features, static_cast<int>(step.size()));
  const size_t width = static_cast<size_t>(head_.info().embedding_size);
  for (size_t i = 0; i < step.size(); ++i) step[i].feature = fused.subspan(i * width, width);
  head_.Step(step);
  for (const auto& [branch, row] : last_rows) {
    const std::vector<HeadGuess> likeliest = Likeliest(head_.Logits(row), 1);
    if (!likeliest.empty()) guesses[branch] = likeliest.front();
  }
  return guesses;
}

void HeadDrafter::AddBranchFeatures(int branch, std::span<const float> features) {
  Check(features.size() % feature_size() == 0, "features of another size");
  std::vector<float>& own = branches_[branch].features;
  own.insert(own.end(), features.begin(), features.end());
}

void HeadDrafter::CloseBranch(int branch) {
  const auto found = branches_.find(branch);
  if (found == branches_.end()) return;
  if (found->second.sequence != kCommitted) head_.Drop(found->second.sequence, 0, -1);
  branches_.erase(found);
}

}  // namespace schemafill
