// The loop: draft, pack, one target forward, verdict, commit (paper, Algorithm 1).
// Tested by tests/engine/engine_test.cc, engine_side_test.cc and agree_test.cc (scripted model) and
// lossless_test.cc (real model).
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/prompt.h"
#include "catalog/request.h"
#include "commit/session.h"
#include "engine/memory.h"
#include "engine/prompt_features.h"
#include "engine/strategy.h"
#include "engine/trace.h"
#include "kv/arena.h"
#include "model/target_model.h"
#include "pack/side_rows.h"
#include "plan/cost.h"
#include "sample/sampler.h"

namespace schemafill {

struct GenerateOptions {
  // Behaviour.
  SamplingOptions sampling;  // what a request says itself comes first
  int max_tokens = 1024;     // unless the request says; cut to what the context holds
  // Performance: never changes the output, except with a lossy method.
  MethodSpec method = Method::kSchemaFill;
  Preset preset = Preset::kAuto;
  int max_nodes = 32;       // drafted nodes of MAIN a forward
  int max_side_rows = 160;  // rows of SIDE branches a forward, where they pay
  // What drafts may use of earlier requests, and this one goes into; null: each request stands
  // alone. Outlives the request.
  Memory* memory = nullptr;
  int forecast_calls = 3;               // B of Algorithm 1
  std::span<const Token> known_answer;  // what method `oracle` drafts; outlives the request
  // Performance that may change the output: the prompt's last rows go in one forward with the first
  // tree. Not bit-exact on backends whose kernels depend on the number of rows.
  bool hybrid_prefill = false;
  // Watching.
  // Gets the answer's text as it settles: after a round what SettledText gained by it, if anything.
  // Together it is Generation::text, but for half a character at its end.
  std::function<void(std::string_view)> on_text;
  // Asked before each round; true ends the request with StopReason::kCancelled.
  std::function<bool()> cancelled;
};

// Time and work of one request. Model load is outside.
struct GenerateStats {
  int prompt_tokens = 0;
  int reused_tokens = 0;  // of the prompt, from the request before
  int tokens = 0;         // committed output
  int forwards = 0;       // target forwards of the decoding phase
  int nodes = 0;          // drafted rows over all forwards, MAIN's and those of SIDE branches
  int side_rows = 0;      // of them, those of SIDE branches
  int accepted = 0;       // of MAIN's
  std::vector<int> nodes_by_forward;
  double prepare_ms = 0;   // prompt, tokens, forecast
  double forecast_ms = 0;  // of it
  double prefill_ms = 0;
  double draft_ms = 0;
  double verify_ms = 0;  // target forwards and verdicts
  double total_ms = 0;
  ArenaUse cells;
  size_t kept_bytes = 0;  // of the target's cache that the request kept at most (paper, Table 4)
  bool lossy = false;     // by a method that may change the answer; AL is not applicable then

  double decode_ms() const { return total_ms - prepare_ms - prefill_ms; }
  // None for a lossy method.
  std::optional<double> acceptance_length() const {
    if (lossy) return std::nullopt;
    return forwards > 0 ? static_cast<double>(tokens) / forwards : 0;
  }
};

struct Generation {
  std::vector<Token> tokens;
  std::string text;             // the prompt's opening, then the tokens' text up to a stop text
  std::vector<ToolCall> calls;  // the complete ones; empty for prose and for plain chat
  StopReason stop = StopReason::kNone;
  GenerateStats stats;
};

// What every way to answer a request begins and ends with, another program's included.
// Error (kTooLong): the prompt leaves no room for an answer; both lengths are named.
Status CheckLength(int prompt_tokens, const ModelInfo& info);
Session StartSession(const Request& request, const GenerateOptions& options, const Prompt& prompt,
                     const ModelInfo& info);
Generation FinishSession(const Session& session, const GenerateStats& stats);

// Not thread-safe: one request at a time. The model must outlive it.
class Engine {
 public:
  // `cost` is the target's measured cost curve for Preset::kAuto; without points every row counts
  // as free. `head` was loaded for the model, or is null; it must outlive the engine too, whose own
  // it then is.
  Engine(TargetModel& model, CostCurve cost, DraftHead* head = nullptr);

  // Errors: the prompt is longer than the context (both lengths are named), an option is out of
  // range, or the method needs a head and there is none. A lossy method is not watched: neither
  // traced nor streamed.
  Result<Generation> Generate(const Request& request, const GenerateOptions& options,
                              const TraceSink& trace = {});

  // The same with a strategy of the caller's in place of options.method, for tests and experiments.
  Result<Generation> GenerateWith(const StrategyMaker& make, const Request& request,
                                  const GenerateOptions& options, const TraceSink& trace = {});

  const TargetModel& model() const { return model_; }

 private:
  // The running request's branches: of the strategy's numbers, the arena's ids.
  using OpenBranches = std::map<int, BranchId>;

  RoundState State(const GenerateOptions& options, const Session& session,
                   std::span<const Token> tokens) const;
  RoundTrace Round(Strategy& strategy, const RoundState& state, const SamplingOptions& sampling,
                   OpenBranches* branches);
  std::vector<BranchId> OpenNew(std::span<const SideDraft> drafts, OpenBranches* branches);
  Generation Fill(const Request& request, Generation plain);
  void CloseDone(std::span<const int> done, OpenBranches* branches);
  // Takes the prompt in, with its features where the strategy drafts with a head. Returns the
  // number of tokens reused.
  int BeginPrompt(std::span<const Token> prompt, PrefillMode mode, bool with_head);
  // Features of the rows that the round kept, for the head.
  void ShowHead(const RoundTrace& round, const SideRows& side);

  TargetModel& model_;
  Arena arena_;
  CostCurve cost_;
  std::optional<PromptFeatures> features_;  // these two with a head only
  std::optional<HeadDrafter> head_;
};

}  // namespace schemafill
