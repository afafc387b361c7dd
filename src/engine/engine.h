// The loop: draft, pack, one target forward, verdict, commit (paper, Algorithm 1).
// Tested by tests/engine/engine_test.cc and agree_test.cc (scripted model) and lossless_test.cc
// (real model).
#pragma once

#include <string>
#include <vector>

#include "catalog/request.h"
#include "commit/session.h"
#include "engine/strategy.h"
#include "engine/trace.h"
#include "kv/arena.h"
#include "model/target_model.h"
#include "plan/cost.h"
#include "sample/sampler.h"

namespace schemafill {

struct GenerateOptions {
  // Behaviour.
  SamplingOptions sampling;  // a request's own temperature, top_p and seed come first
  int max_tokens = 1024;     // unless the request says; cut to what the context holds
  // Performance: never changes the output.
  Method method = Method::kSchemaFill;
  Preset preset = Preset::kAuto;
  int max_nodes = 32;  // drafted nodes a forward
};

// Time and work of one request. Model load is outside.
struct GenerateStats {
  int prompt_tokens = 0;
  int reused_tokens = 0;  // of the prompt, from the request before
  int tokens = 0;         // committed output
  int forwards = 0;       // target forwards of the decoding phase
  int nodes = 0;          // drafted rows over all forwards
  int accepted = 0;       // of them
  double prepare_ms = 0;  // prompt, tokens, forecast
  double prefill_ms = 0;
  double draft_ms = 0;
  double verify_ms = 0;  // target forwards and verdicts
  double total_ms = 0;
  ArenaUse cells;

  double decode_ms() const { return total_ms - prepare_ms - prefill_ms; }
  double acceptance_length() const {
    return forwards > 0 ? static_cast<double>(tokens) / forwards : 0;
  }
};

struct Generation {
  std::vector<Token> tokens;
  std::string text;
  std::vector<ToolCall> calls;  // the complete ones; empty for prose and for plain chat
  StopReason stop = StopReason::kNone;
  GenerateStats stats;
};

// Not thread-safe: one request at a time. The model must outlive it.
class Engine {
 public:
  // `cost` is the target's measured cost curve for Preset::kAuto; without points every row counts
  // as free.
  Engine(TargetModel& model, CostCurve cost)
      : model_(model), arena_(model), cost_(std::move(cost)) {}

  // Errors: the prompt is longer than the context (both lengths are named), or an option is out of
  // range.
  Result<Generation> Generate(const Request& request, const GenerateOptions& options,
                              const TraceSink& trace = {});

  // The same with a strategy of the caller's in place of options.method, for tests and experiments.
  Result<Generation> GenerateWith(const StrategyMaker& make, const Request& request,
                                  const GenerateOptions& options, const TraceSink& trace = {});

  const TargetModel& model() const { return model_; }

 private:
  PackLimits Limits(const GenerateOptions& options, const Session& session) const;
  RoundTrace Round(Strategy& strategy, const RoundState& state, const SamplingOptions& sampling);

  TargetModel& model_;
  Arena arena_;
  CostCurve cost_;
};

}  // namespace schemafill
