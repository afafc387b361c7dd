// One round's draft: text, then tokens.
#include "benchmarks/inputs.h"
#include "draft/expand.h"
#include "pack/pack.h"
#include "support/draft_inputs.h"
#include "support/scripted.h"

namespace schemafill {
namespace {

const PackLimits kLimits{.max_nodes = 64, .max_leaves = 16, .cost = {}};

Answer Read(std::string_view text) {
  Answer answer;
  answer.Feed(text);
  return answer;
}

void DraftByOutput(benchmark::State& state) {
  const DraftInputs inputs(ToolsJson(4, 6), UserText(400));
  const Answer answer = Read(AnswerText(static_cast<int>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(ExpandDraft(inputs.sources(), answer, {}));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(DraftByOutput)->Apply(Growing<100, 25600>);

void DraftByTools(benchmark::State& state) {
  const DraftInputs inputs(ToolsJson(static_cast<int>(state.range(0)), 6), UserText(400));
  for (auto _ : state) benchmark::DoNotOptimize(ExpandDraft(inputs.sources(), Answer(), {}));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(DraftByTools)->Apply(Growing<1, 300>);

void DraftByFields(benchmark::State& state) {
  const DraftInputs inputs(ToolsJson(1, static_cast<int>(state.range(0))), UserText(400));
  for (auto _ : state) benchmark::DoNotOptimize(ExpandDraft(inputs.sources(), Answer(), {}));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(DraftByFields)->Apply(Growing<2, kMaxSlotsPerCall>);

void DraftByText(benchmark::State& state) {
  const DraftInputs inputs(ToolsJson(4, 6), UserText(static_cast<int>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(ExpandDraft(inputs.sources(), Answer(), {}));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(DraftByText)->Apply(Growing<100, 25600>);

void DraftByPieces(benchmark::State& state) {
  const DraftInputs inputs(ToolsJson(4, 6), UserText(400));
  const ExpandLimits limits{.min_probability = 1e-9, .max_nodes = static_cast<int>(state.range(0))};
  for (auto _ : state) benchmark::DoNotOptimize(ExpandDraft(inputs.sources(), Answer(), limits));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(DraftByPieces)->Apply(Growing<4, 1024>);

void PackByPieces(benchmark::State& state) {
  const DraftInputs inputs(ToolsJson(4, 6), UserText(400));
  const auto tokenizer = JsonTokenizer();
  const Draft draft =
      ExpandDraft(inputs.sources(), Answer(),
                  {.min_probability = 1e-9, .max_nodes = static_cast<int>(state.range(0))});
  const std::vector<Token> committed = tokenizer->Encode(UserText(400));
  for (auto _ : state) benchmark::DoNotOptimize(PackDraft(draft, committed, *tokenizer, kLimits));
  state.SetComplexityN(static_cast<int64_t>(draft.nodes.size()));
}
BENCHMARK(PackByPieces)->Apply(Growing<4, 1024>);

// Prompt and answer so far, in bytes.
void PackByContext(benchmark::State& state) {
  const DraftInputs inputs(ToolsJson(4, 6), UserText(400));
  const auto tokenizer = JsonTokenizer();
  const Draft draft = ExpandDraft(inputs.sources(), Answer(), {});
  const std::vector<Token> committed =
      tokenizer->Encode(UserText(static_cast<int>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(PackDraft(draft, committed, *tokenizer, kLimits));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(PackByContext)->Apply(Growing<100, 25600>);

}  // namespace
}  // namespace schemafill
