#include "engine/toolspec.h"

#include <algorithm>
#include <array>
#include <optional>
#include <queue>
#include <utility>

#include "draft/encode.h"
#include "draft/expand.h"
#include "pack/token_tree.h"

namespace schemafill {
namespace {

// As SchemaFill's: least probability of a path where rows cost, and where their number is fixed.
constexpr double kWorthARow = 0.05;
constexpr double kWorthANode = 0.01;

// Chance that a recycled token comes next, by its rank.
constexpr std::array<double, 4> kRankChance = {0.5, 0.17, 0.06, 0.02};

// All tools alike, in catalog order.
Forecast Unranked(const Catalog& catalog) {
  Forecast forecast;
  for (size_t i = 0; i < catalog.tools.size(); ++i)
    forecast.ranking.push_back({.tool = static_cast<int>(i)});
  return forecast;
}

// Gives what is left of each node's probability to the tokens that may follow it, the most probable
// node first, until `most` nodes have been looked behind or none is worth a row.
void Recycle(const RecycledTokens& recycled, Token root, double least, int most, TokenTree* tree) {
  std::priority_queue<std::pair<double, int>> open;  // what is left, node
  for (int node = -1; node < tree->size(); ++node) open.push({tree->Rest(node), node});
  for (; !open.empty() && most > 0; --most) {
    const auto [left, node] = open.top();
    open.pop();
    const Token token = node < 0 ? root : tree->node(node).node.token;
    const std::span<const Token> behind = recycled.Behind(token);
    for (size_t rank = 0; rank < std::min(behind.size(), kRankChance.size()); ++rank) {
      const double probability = left * kRankChance[rank];
      if (probability < least) break;
      const int child = tree->Child(node, behind[rank], PieceKind::kRecycled);
      tree->Add(child, probability);
      open.push({probability, child});
    }
  }
}

class ToolSpec final : public Strategy {
 public:
  ToolSpec(const DraftSources& sources, const Tokenizer& tokenizer, Memory* memory)
      : forecast_(Unranked(*sources.catalog)),
        sources_({.catalog = sources.catalog,
                  .forecast = &forecast_,
                  .source = &nothing_,
                  .recall = sources.recall}),
        tokenizer_(tokenizer),
        recycled_(memory != nullptr ? memory->recycled : own_) {}
  ToolSpec(const ToolSpec&) = delete;
  ToolSpec& operator=(const ToolSpec&) = delete;

  Proposal Propose(const RoundState& state) override {
    const double least = state.limits.cost.points.empty() ? kWorthANode : kWorthARow;
    const Draft draft = ExpandDraft(sources_, state.session->answer,
                                    {.min_probability = least, .across_calls = false});
    TokenTree tree = DraftTokens(draft, state.tokens, tokenizer_);
    root_ = state.tokens.back();
    Recycle(recycled_, *root_, least, 2 * state.limits.max_nodes, &tree);
    Proposal proposal;
    proposal.pack = PackTree(tree.nodes(), state.limits);
    nodes_ = proposal.pack.Tree();
    return proposal;
  }

  // Learns from all rows of the forward, those on the accepted path last: where a token stood more
  // than once, they know best.
  RoundNews Observe(const RoundResult& result) override {
    if (!root_) return {};
    for (size_t i = 0; i < nodes_.size(); ++i) Learn(result, static_cast<int>(i));
    recycled_.Learn(*root_, result.logits(0));
    for (const int node : result.path) Learn(result, node);
    root_.reset();
    nodes_.clear();
    return {};
  }

 private:
  void Learn(const RoundResult& result, int node) {
    recycled_.Learn(nodes_[static_cast<size_t>(node)].token, result.logits(node + 1));
  }

  const Forecast forecast_;
  const SourceText nothing_{""};  // to copy from
  const DraftSources sources_;
  const MemoTokenizer tokenizer_;
  RecycledTokens own_;
  RecycledTokens& recycled_;
  std::optional<Token> root_;  // of the last proposal, until it has been observed
  std::vector<TreeNode> nodes_;
};

}  // namespace

std::unique_ptr<Strategy> MakeToolSpec(const DraftSources& sources, const Tokenizer& tokenizer,
                                       Memory* memory) {
  return std::make_unique<ToolSpec>(sources, tokenizer, memory);
}

}  // namespace schemafill
