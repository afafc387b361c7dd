#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "catalog/prompt.h"
#include "draft/source.h"

namespace schemafill {
namespace {

SamplingOptions EffectiveSampling(const Request& request, SamplingOptions sampling) {
  sampling.temperature = request.temperature.value_or(sampling.temperature);
  sampling.top_p = request.top_p.value_or(sampling.top_p);
  sampling.seed = request.seed.value_or(sampling.seed);
  return sampling;
}

Status CheckOptions(const GenerateOptions& options) {
  if (options.max_tokens < 1) return BadInput("max_tokens must be 1 or more");
  if (options.max_nodes < 0) return BadInput("max_nodes must be 0 or more");
  return {};
}

Status CheckLengths(const Prompt& prompt, const ModelInfo& info) {
  const int tokens = static_cast<int>(prompt.tokens.size());
  if (tokens < info.context_size) return {};
  return BadInput(
      fmt::format("the prompt has {} tokens and the context holds {}; send fewer or shorter tools "
                  "and messages, or raise "
                  "--context",
                  tokens, info.context_size));
}

std::vector<Token> Accepted(const Pack& pack, const Verdict& verdict) {
  std::vector<Token> tokens;
  for (const int node : verdict.path)
    tokens.push_back(pack.nodes[static_cast<size_t>(node)].node.token);
  tokens.push_back(verdict.correction);
  return tokens;
}

// A tree beyond its limits may park more cells than are spare.
void CheckLimits(std::span<const TreeNode> tree, const PackLimits& limits) {
  std::vector<bool> has_child(tree.size(), false);
  int leaves = static_cast<int>(tree.size());
  for (size_t i = 0; i < tree.size(); ++i) {
    if (tree[i].parent < 0) continue;
    const size_t parent = static_cast<size_t>(tree[i].parent);
    Check(parent < i, "a strategy's nodes are out of order: parents come first");
    leaves -= has_child[parent] ? 0 : 1;
    has_child[parent] = true;
  }
  Check(
      static_cast<int>(tree.size()) <= limits.max_nodes && leaves <= std::max(1, limits.max_leaves),
      "a strategy drafted more than it may");
}

}  // namespace

PackLimits Engine::Limits(const GenerateOptions& options, const Session& session) const {
  const ArenaUse& use = arena_.use();
  const int rest = session.max_tokens - static_cast<int>(session.tokens.size());
  const int free = model_.info().context_size - use.prefix - use.verified - use.parked;
  PackLimits limits;
  limits.max_nodes = std::max(0, std::min(options.max_nodes, arena_.max_rows() - 1));
  // The root row gives the last token by itself.
  if (rest <= 1) limits.max_nodes = 0;
  limits.max_leaves = arena_.max_leaves();
  // Plain decoding needs a cell for each token of the rest. Refused siblings may stay parked until
  // the end of the request; when there is no room for that, a chain parks nothing.
  if (limits.max_nodes > free - rest) limits.max_leaves = 1;
  if (options.preset == Preset::kAuto) limits.cost = cost_;
  return limits;
}

RoundTrace Engine::Round(Strategy& strategy, const RoundState& state,
                         const SamplingOptions& sampling) {
  RoundTrace round;
  const Stopwatch draft_watch;
  if (state.limits.max_nodes > 0) round.pack = strategy.Propose(state);
  round.draft_ms = draft_watch.ElapsedMs();

  const Stopwatch verify_watch;
  const std::vector<TreeNode> tree = round.pack.Tree();
  CheckLimits(tree, state.limits);
  arena_.Verify(state.tokens.back(), tree);
  round.verdict = VerifyTree(
      tree, [&](int row) { return model_.Logits(row); }, sampling,
      static_cast<int>(state.session->tokens.size()));
  arena_.Accept(round.verdict.path);
  round.verify_ms = verify_watch.ElapsedMs();
  return round;
}

Result<Generation> Engine::Generate(const Request& request, const GenerateOptions& options,
                                    const TraceSink& trace) {
  const auto make = [&](const DraftSources& sources, const Tokenizer& tokenizer) {
    return MakeStrategy(options.method, sources, tokenizer);
  };
  return GenerateWith(make, request, options, trace);
}

Result<Generation> Engine::GenerateWith(const StrategyMaker& make, const Request& request,
                                        const GenerateOptions& options, const TraceSink& trace) {
  const Stopwatch watch;
  if (const Status status = CheckOptions(options); !status) return status.error();
  GenerateStats stats;
  const Tokenizer& tokenizer = model_.tokenizer();
  const Prompt prompt = BuildPrompt(request, tokenizer);
  if (const Status status = CheckLengths(prompt, model_.info()); !status) return status.error();

  const Forecast forecast = MakeForecast(request.catalog, prompt.context, {});
  const SourceText source(prompt.context);
  const auto strategy =
      make({.catalog = &request.catalog, .forecast = &forecast, .source = &source}, tokenizer);
  if (trace.forecast) trace.forecast(forecast);
  stats.prompt_tokens = static_cast<int>(prompt.tokens.size());
  stats.prepare_ms = watch.ElapsedMs();

  stats.reused_tokens = arena_.Begin(prompt.tokens);
  stats.prefill_ms = watch.ElapsedMs() - stats.prepare_ms;

  const SamplingOptions sampling = EffectiveSampling(request, options.sampling);
  Session session;
  session.max_tokens = std::min(request.max_tokens.value_or(options.max_tokens),
                                model_.info().context_size - stats.prompt_tokens);
  session.ends_with_object = UsesTools(request);
  std::vector<Token> tokens = prompt.tokens;  // and the committed output
  while (session.stop == StopReason::kNone) {
    RoundTrace round = Round(
        *strategy, {.tokens = tokens, .session = &session, .limits = Limits(options, session)},
        sampling);
    round.round = ++stats.forwards;
    cost_ = Refined(cost_, static_cast<int>(round.pack.nodes.size()) + 1, round.verify_ms);
    const std::vector<Token> accepted = Accepted(round.pack, round.verdict);
    const int taken = Commit(accepted, tokenizer, &session);
    round.committed.assign(accepted.begin(), accepted.begin() + taken);
    tokens.insert(tokens.end(), round.committed.begin(), round.committed.end());
    stats.nodes += static_cast<int>(round.pack.nodes.size());
    stats.accepted += std::min(taken, static_cast<int>(round.verdict.path.size()));
    stats.draft_ms += round.draft_ms;
    stats.verify_ms += round.verify_ms;
    round.cells = arena_.use();
    if (trace.round) trace.round(round);
  }
  stats.tokens = static_cast<int>(session.tokens.size());
  stats.cells = arena_.use();
  stats.total_ms = watch.ElapsedMs();
  return Generation{
      .tokens = session.tokens,
      .text = session.answer.text(),
      .calls = session.ends_with_object ? CompleteCalls(session.answer) : std::vector<ToolCall>(),
      .stop = session.stop,
      .stats = stats};
}

}  // namespace schemafill
