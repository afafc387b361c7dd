// Before and beside drafting: forecast, slots, the source of copies, the answer as it grows.
#include "benchmarks/inputs.h"
#include "catalog/answer.h"
#include "draft/recall.h"
#include "draft/source.h"
#include "forecast/forecast.h"
#include "plan/schedule.h"
#include "support/requests.h"

namespace schemafill {
namespace {

void ForecastByTools(benchmark::State& state) {
  const Catalog catalog = ReadCatalog(ToolsJson(static_cast<int>(state.range(0)), 6));
  const std::string text = UserText(400);
  for (auto _ : state) benchmark::DoNotOptimize(MakeForecast(catalog, text, {}));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(ForecastByTools)->Apply(Growing<1, 300>);

void ForecastByText(benchmark::State& state) {
  const Catalog catalog = ReadCatalog(ToolsJson(20, 6));
  const std::string text = UserText(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(MakeForecast(catalog, text, {}));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(ForecastByText)->Apply(Growing<100, 25600>);

void SlotsByFields(benchmark::State& state) {
  const Catalog catalog = ReadCatalog(ToolsJson(1, static_cast<int>(state.range(0))));
  for (auto _ : state) benchmark::DoNotOptimize(ExpandSlots(catalog, 0, 0));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(SlotsByFields)->Apply(Growing<2, kMaxSlotsPerCall>);

// Byte by byte, the whole answer.
void AnswerFeedByOutput(benchmark::State& state) {
  const std::string text = AnswerText(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    Answer answer;
    for (const char& byte : text) answer.Feed(std::string_view(&byte, 1));
    benchmark::DoNotOptimize(answer);
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(AnswerFeedByOutput)->Apply(Growing<100, 25600>);

// The whole answer, in pieces of 20 bytes.
void ScheduleByOutput(benchmark::State& state) {
  const Catalog catalog = ReadCatalog(ToolsJson(4, 6));
  const Forecast forecast = MakeForecast(catalog, UserText(400), {});
  const std::string text = AnswerText(static_cast<int>(state.range(0)));
  for (auto _ : state) {
    Schedule schedule(catalog, forecast);
    Answer answer;
    for (size_t at = 0; at < text.size(); at += 20) {
      answer.Feed(std::string_view(text).substr(at, 20));
      benchmark::DoNotOptimize(schedule.Align(answer));
    }
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(ScheduleByOutput)->Apply(Growing<100, 25600>);

void SourceByText(benchmark::State& state) {
  const std::string text = UserText(static_cast<int>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(SourceText(text));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(SourceByText)->Apply(Growing<100, 25600>);

// The worst case: what is looked for is not there.
void CopyLookupByText(benchmark::State& state) {
  const SourceText source(UserText(static_cast<int>(state.range(0))));
  for (auto _ : state) {
    benchmark::DoNotOptimize(source.Locate("New Town 99", 0));
    benchmark::DoNotOptimize(source.Ends(source.words()[3].begin, source.words()[3].end));
  }
  state.SetComplexityN(state.range(0));
}
BENCHMARK(CopyLookupByText)->Apply(Growing<100, 25600>);

// A slot's values from so many earlier calls.
void RecallByCalls(benchmark::State& state) {
  Recall recall(size_t{64} << 20);
  Answer call;
  call.Feed(R"({"name": "get_0", "arguments": {"field_0": "New Town 3", "field_1": 3}})");
  for (int i = 0; i < state.range(0); ++i) recall.Add(call);
  for (auto _ : state) benchmark::DoNotOptimize(recall.Values(call.calls()[0], "field_1"));
  state.SetComplexityN(state.range(0));
}
BENCHMARK(RecallByCalls)->Apply(Growing<1, 4096>);

}  // namespace
}  // namespace schemafill
