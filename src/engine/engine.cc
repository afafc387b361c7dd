#include "engine/engine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/clock.h"
#include "catalog/prompt.h"
#include "draft/source.h"
#include "engine/oracle.h"
#include "engine/parallel_fill.h"
#include "pack/side_rows.h"

namespace schemafill {
namespace {

// PackLimits::choice_weight for Preset::kPaper. Replaying answers to BFCL training requests, 5 to
// 20 gave 3 % fewer rounds than 0, all the same; by the cost curve of a CPU 0 was best.
constexpr double kFixedBudgetChoiceWeight = 5;

// Of a prompt the last rows that a head sees, unless it was trained to see fewer.
constexpr int kMostPromptRows = 1024;

int PromptRows(const HeadInfo& head) {
  return head.prompt_rows > 0 ? std::min(head.prompt_rows, kMostPromptRows) : kMostPromptRows;
}

SamplingOptions EffectiveSampling(const Request& request, SamplingOptions sampling) {
  sampling.temperature = request.temperature.value_or(sampling.temperature);
  sampling.top_k = request.top_k.value_or(sampling.top_k);
  sampling.top_p = request.top_p.value_or(sampling.top_p);
  sampling.min_p = request.min_p.value_or(sampling.min_p);
  sampling.seed = request.seed.value_or(sampling.seed);
  return sampling;
}

Status CheckOptions(const GenerateOptions& options) {
  if (options.max_tokens < 1) return BadInput("max_tokens must be 1 or more");
  if (options.max_nodes < 0) return BadInput("max_nodes must be 0 or more");
  if (options.max_side_rows < 0) return BadInput("max_side_rows must be 0 or more");
  if (options.forecast_calls < 0) return BadInput("forecast_calls must be 0 or more");
  return {};
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

// `logits(row)` is that of side.rows[row].
std::vector<SideVerdict> VerifySide(std::span<const SideDraft> drafts, const SideRows& side,
                                    const std::function<std::span<const float>(int)>& logits) {
  std::vector<SideVerdict> verdicts;
  for (size_t i = 0; i < drafts.size(); ++i) {
    // The last context row's logits choose the first token of the draft.
    const std::span<const int> rows =
        std::span(side.paths[i]).subspan(drafts[i].context.size() - 1);
    const Verdict verdict = VerifyChain(
        drafts[i].draft, [&](int row) { return logits(rows[static_cast<size_t>(row)]); });
    verdicts.push_back(
        {drafts[i].branch, static_cast<int>(verdict.path.size()), verdict.correction});
  }
  return verdicts;
}

// Rows of a branch whose cells stay: its context and what was accepted of its draft.
size_t KeptLength(const SideDraft& draft, const SideVerdict& verdict) {
  return draft.context.size() + static_cast<size_t>(verdict.accepted);
}

// The SIDE rows whose cells stay.
std::vector<int> KeptRows(std::span<const SideDraft> drafts, std::span<const SideVerdict> verdicts,
                          const SideRows& side) {
  std::vector<bool> kept(side.rows.size(), false);
  for (size_t i = 0; i < drafts.size(); ++i) {
    for (const int row : std::span(side.paths[i]).first(KeptLength(drafts[i], verdicts[i])))
      kept[static_cast<size_t>(row)] = true;
  }
  std::vector<int> rows;
  for (size_t i = 0; i < kept.size(); ++i) {
    if (kept[i]) rows.push_back(static_cast<int>(i));
  }
  return rows;
}

}  // namespace

Status CheckLength(int prompt_tokens, const ModelInfo& info) {
  if (prompt_tokens < info.context_size) return {};
  return Error{
      ErrorKind::kTooLong,
      fmt::format("the prompt has {} tokens and the context holds {}; send fewer or shorter tools "
                  "and messages, or raise "
                  "--context",
                  prompt_tokens, info.context_size),
      "messages"};
}

Session StartSession(const Request& request, const GenerateOptions& options, const Prompt& prompt,
                     const ModelInfo& info) {
  Session session;
  session.max_tokens = std::min(request.max_tokens.value_or(options.max_tokens),
                                info.context_size - static_cast<int>(prompt.tokens.size()));
  session.ends_with_object = UsesTools(request);
  session.one_call = !request.parallel_tool_calls;
  session.stops = request.stop;
  session.answer.Feed(prompt.opening);
  session.opening = prompt.opening.size();
  return session;
}

Generation FinishSession(const Session& session, const GenerateStats& stats) {
  Generation generation{.tokens = session.tokens,
                        .text = std::string(Text(session)),
                        .calls = {},
                        .stop = session.stop,
                        .stats = stats};
  if (!session.ends_with_object) return generation;
  Answer answer;
  answer.Feed(generation.text);
  generation.calls = CompleteCalls(answer);
  // The token that closed the first call may have begun, or held, another one.
  if (session.one_call && generation.calls.size() > 1) generation.calls.resize(1);
  return generation;
}

Engine::Engine(TargetModel& model, CostCurve cost, DraftHead* head)
    : model_(model), arena_(model), cost_(std::move(cost)) {
  if (head == nullptr) return;
  features_.emplace(model, head->info().target_layers, PromptRows(head->info()));
  head_.emplace(*head);
}

int Engine::BeginPrompt(std::span<const Token> prompt, PrefillMode mode, bool with_head) {
  if (!features_) return arena_.Begin(prompt, mode);
  // Also for methods without a head: the next request may go on from these cells with one.
  features_->SwitchOn();
  const int reused = arena_.Begin(prompt, mode);
  features_->Update(reused, arena_.use().prefix);
  if (with_head) {
    head_->Begin(prompt, features_->first(), features_->rows());
  } else {
    features_->SwitchOff();
  }
  return reused;
}

void Engine::ShowHead(const RoundTrace& round, const SideRows& side) {
  const int root = arena_.first_row();
  std::vector<float> features;
  for (int row = 0; row <= root; ++row) features_->Append(row, &features);
  for (const int node : round.verdict.path) features_->Append(root + 1 + node, &features);
  head_->AddFeatures(features);
  const int first_side = root + 1 + static_cast<int>(round.proposal.pack.nodes.size());
  for (size_t i = 0; i < side.paths.size(); ++i) {
    const SideDraft& draft = round.proposal.side[i];
    features.clear();
    for (const int row : std::span(side.paths[i]).first(KeptLength(draft, round.side_verdicts[i])))
      features_->Append(first_side + row, &features);
    head_->AddBranchFeatures(draft.branch, features);
  }
}

RoundState Engine::State(const GenerateOptions& options, const Session& session,
                         std::span<const Token> tokens) const {
  const ArenaUse& use = arena_.use();
  const int rest = session.max_tokens - static_cast<int>(session.tokens.size());
  // Plain decoding needs a cell for each token of the rest. Refused siblings and SIDE rows may stay
  // until the end of the request; where there is no room for that, a chain parks nothing. MAIN has
  // a cell for each token but the last, or gets it with the first tree.
  const int main_cells = static_cast<int>(tokens.size()) - 1;
  const int spare = model_.info().context_size - main_cells - use.side - use.parked - rest;
  RoundState state;
  state.tokens = tokens;
  state.prompt_tokens = static_cast<int>(tokens.size() - session.tokens.size());
  state.session = &session;
  PackLimits& limits = state.limits;
  limits.max_nodes = std::max(0, std::min(options.max_nodes, arena_.max_rows() - 1));
  // The root row gives the last token by itself.
  if (rest <= 1) limits.max_nodes = 0;
  if (options.preset == Preset::kAuto) limits.cost = cost_;
  if (options.preset == Preset::kPaper) limits.choice_weight = kFixedBudgetChoiceWeight;
  const int rows = std::min(spare, arena_.max_rows() - 1) - limits.max_nodes;
  state.side_rows = rest <= 1 ? 0 : std::clamp(rows, 0, options.max_side_rows);
  state.side_branches = state.side_rows > 0 ? arena_.free_branches() : 0;
  // What begins in this round takes sequences of the tree.
  limits.max_leaves = limits.max_nodes > spare ? 1 : arena_.max_leaves(state.side_branches);
  return state;
}

std::vector<BranchId> Engine::OpenNew(std::span<const SideDraft> drafts, OpenBranches* branches) {
  std::vector<BranchId> ids;
  for (const SideDraft& draft : drafts) {
    if (draft.begins) branches->emplace(draft.branch, arena_.Open(draft.fork));
    ids.push_back(branches->at(draft.branch));
  }
  return ids;
}

void Engine::CloseDone(std::span<const int> done, OpenBranches* branches) {
  for (const int branch : done) {
    const auto found = branches->find(branch);
    if (found == branches->end()) continue;
    arena_.Close(found->second);
    if (head_) head_->CloseBranch(branch);
    branches->erase(found);
  }
}

RoundTrace Engine::Round(Strategy& strategy, const RoundState& state,
                         const SamplingOptions& sampling, OpenBranches* branches) {
  RoundTrace round;
  const Stopwatch draft_watch;
  if (state.limits.max_nodes > 0) round.proposal = strategy.Propose(state);
  round.draft_ms = draft_watch.ElapsedMs();

  const Stopwatch verify_watch;
  const std::vector<TreeNode> tree = round.proposal.pack.Tree();
  CheckLimits(tree, state.limits);
  const SideRows side = PackSide(round.proposal.side, OpenNew(round.proposal.side, branches));
  round.side_rows = static_cast<int>(side.rows.size());
  Check(round.side_rows <= state.side_rows, "a strategy drafted more SIDE rows than it may");
  arena_.Verify(state.tokens.back(), tree, side.rows);
  const auto logits = [&](int row) { return model_.Logits(arena_.first_row() + row); };
  round.verdict =
      VerifyTree(tree, logits, sampling, static_cast<int>(state.session->tokens.size()));
  const auto side_logits = [&](int row) { return logits(1 + static_cast<int>(tree.size()) + row); };
  round.side_verdicts = VerifySide(round.proposal.side, side, side_logits);
  arena_.Accept(round.verdict.path, KeptRows(round.proposal.side, round.side_verdicts, side));
  if (state.head != nullptr) ShowHead(round, side);
  round.verify_ms = verify_watch.ElapsedMs();
  return round;
}

Result<Generation> Engine::Generate(const Request& request, const GenerateOptions& options,
                                    const TraceSink& trace) {
  if (options.method.method == Method::kEagle3 && !head_) {
    return BadInput(
        "method eagle3 needs a head: give --head FILE.gguf, or train one for your model with "
        "`schemafill train-head`");
  }
  const auto make = [&](const DraftSources& sources, const Tokenizer& tokenizer) {
    if (options.method.method == Method::kOracle) return MakeOracle(options.known_answer);
    const bool with_side = options.preset == Preset::kPaper || SideRowsPay(cost_);
    return MakeStrategy(options.method, with_side, sources, tokenizer, options.memory);
  };
  if (!IsLossy(options.method)) return GenerateWith(make, request, options, trace);
  GenerateOptions unwatched = options;
  unwatched.on_text = nullptr;
  Result<Generation> plain = GenerateWith(make, request, unwatched, {});
  if (!plain) return plain;
  return Fill(request, std::move(*plain));
}

// Of the plain run, only preparing and taking in the prompt counts, which filling needs as well:
// the skeleton is supplied, as in the paper's Table 1. An answer without calls stays as it is.
Generation Engine::Fill(const Request& request, Generation plain) {
  plain.stats.lossy = true;
  if (plain.calls.empty()) return plain;
  const Prompt prompt = BuildPrompt(request, model_.tokenizer());
  Answer skeleton;
  skeleton.Feed(plain.text);
  arena_.Begin(prompt.tokens);

  const Stopwatch watch;
  const Filled filled = FillInParallel(skeleton, prompt.tokens, model_, arena_, {});
  Answer answer;
  answer.Feed(filled.text);
  Generation generation{
      .tokens = filled.text == plain.text ? plain.tokens : model_.tokenizer().Encode(filled.text),
      .text = filled.text,
      .calls = CompleteCalls(answer),
      .stop = plain.stop,
      .stats = {}};
  GenerateStats& stats = generation.stats;
  stats.lossy = true;
  stats.prompt_tokens = plain.stats.prompt_tokens;
  stats.reused_tokens = plain.stats.reused_tokens;
  stats.prepare_ms = plain.stats.prepare_ms;
  stats.prefill_ms = plain.stats.prefill_ms;
  stats.tokens = static_cast<int>(generation.tokens.size());
  stats.forwards = filled.forwards;
  stats.nodes = stats.side_rows = filled.rows;
  stats.cells = arena_.use();
  stats.kept_bytes = static_cast<size_t>(stats.cells.peak_kept) * model_.info().cell_bytes;
  stats.verify_ms = watch.ElapsedMs();
  stats.total_ms = stats.prepare_ms + stats.prefill_ms + stats.verify_ms;
  return generation;
}

Result<Generation> Engine::GenerateWith(const StrategyMaker& make, const Request& request,
                                        const GenerateOptions& options, const TraceSink& trace) {
  const Stopwatch watch;
  if (const Status status = CheckOptions(options); !status) return status.error();
  GenerateStats stats;
  const Tokenizer& tokenizer = model_.tokenizer();
  const Prompt prompt = BuildPrompt(request, tokenizer);
  stats.prompt_tokens = static_cast<int>(prompt.tokens.size());
  if (const Status status = CheckLength(stats.prompt_tokens, model_.info()); !status)
    return status.error();

  const Stopwatch forecast_watch;
  const Forecast forecast =
      MakeForecast(request.catalog, prompt.context, {.budget = options.forecast_calls});
  stats.forecast_ms = forecast_watch.ElapsedMs();
  const SourceText source(prompt.context);
  const auto strategy =
      make({.catalog = &request.catalog,
            .forecast = &forecast,
            .source = &source,
            .recall = options.memory == nullptr ? nullptr : &options.memory->recall},
           tokenizer);
  if (trace.forecast) trace.forecast(forecast);
  stats.prepare_ms = watch.ElapsedMs();

  const bool with_head = head_.has_value() && strategy->uses_head();
  stats.reused_tokens = BeginPrompt(
      prompt.tokens, options.hybrid_prefill ? PrefillMode::kWithFirstTree : PrefillMode::kApart,
      with_head);
  stats.prefill_ms = watch.ElapsedMs() - stats.prepare_ms;

  const SamplingOptions sampling = EffectiveSampling(request, options.sampling);
  Session session = StartSession(request, options, prompt, model_.info());
  std::vector<Token> tokens = prompt.tokens;  // and the committed output
  OpenBranches branches;
  size_t told = 0;  // bytes of the text that on_text has
  while (session.stop == StopReason::kNone) {
    if (options.cancelled && options.cancelled()) {
      session.stop = StopReason::kCancelled;
      break;
    }
    RoundState state = State(options, session, tokens);
    if (with_head) state.head = &*head_;
    RoundTrace round = Round(*strategy, state, sampling, &branches);
    round.round = ++stats.forwards;
    const int nodes = static_cast<int>(round.proposal.pack.nodes.size()) + round.side_rows;
    cost_ = Refined(cost_, nodes + 1, round.verify_ms);
    const std::vector<Token> accepted = Accepted(round.proposal.pack, round.verdict);
    const int taken = Commit(accepted, tokenizer, &session);
    round.committed.assign(accepted.begin(), accepted.begin() + taken);
    tokens.insert(tokens.end(), round.committed.begin(), round.committed.end());
    if (with_head) head_->AddTokens(round.committed);
    round.news = strategy->Observe(
        {.session = &session,
         .path = round.verdict.path,
         .side_verdicts = round.side_verdicts,
         .logits = [&](int row) { return model_.Logits(arena_.first_row() + row); }});
    CloseDone(round.news.done, &branches);
    stats.nodes += nodes;
    stats.nodes_by_forward.push_back(nodes);
    stats.side_rows += round.side_rows;
    stats.accepted += std::min(taken, static_cast<int>(round.verdict.path.size()));
    stats.draft_ms += round.draft_ms;
    stats.verify_ms += round.verify_ms;
    round.cells = arena_.use();
    if (trace.round) trace.round(round);
    if (!options.on_text) continue;
    const std::string_view settled = SettledText(session);
    if (settled.size() > told) options.on_text(settled.substr(told));
    told = settled.size();
  }
  stats.tokens = static_cast<int>(session.tokens.size());
  stats.cells = arena_.use();
  stats.kept_bytes = static_cast<size_t>(stats.cells.peak_kept) * model_.info().cell_bytes;
  stats.total_ms = watch.ElapsedMs();
  if (options.memory != nullptr && session.stop != StopReason::kCancelled)
    options.memory->recall.Add(session.answer);
  return FinishSession(session, stats);
}

}  // namespace schemafill
