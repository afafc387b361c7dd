// An engine on the scripted model, for tests that compare what it generates.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "catalog/prompt.h"
#include "engine/drafters.h"
#include "engine/engine.h"
#include "engine/scenarios.h"
#include "support/draft_inputs.h"

namespace schemafill {

inline Prompt PromptOf(const Scenario& scenario) {
  return BuildPrompt(scenario.request, *ScenarioTokenizer());
}

// An engine on a model of its own; every generation's accounts are checked.
class EngineBench {
 public:
  explicit EngineBench(CostCurve cost = {}, const ScriptedOptions& options = {})
      : model_(ScenarioTokenizer(), options), engine_(model_, std::move(cost)) {}

  void Script(const Scenario& scenario) {
    model_.Script(PromptOf(scenario).tokens, scenario.answer);
  }

  Generation Run(const Scenario& scenario, const GenerateOptions& options) {
    return Checked(options, [&](const TraceSink& trace) {
      return engine_.Generate(scenario.request, options, trace);
    });
  }

  Generation RunDrafter(DrafterKind kind, const Scenario& scenario, std::vector<Token> truth,
                        const GenerateOptions& options, uint64_t seed) {
    const auto make = [&](const DraftSources&, const Tokenizer& tokenizer) {
      return MakeDrafter(kind, truth, tokenizer, seed);
    };
    return Checked(options, [&](const TraceSink& trace) {
      return engine_.GenerateWith(make, scenario.request, options, trace);
    });
  }

  ScriptedModel& model() { return model_; }
  Engine& engine() { return engine_; }

 private:
  template <typename Generate>
  Generation Checked(const GenerateOptions& options, Generate generate) {
    std::vector<Token> committed;
    int rounds = 0, nodes = 0, forecasts = 0;
    const TraceSink trace{
        .forecast = [&](const Forecast&) { ++forecasts; },
        .round =
            [&](const RoundTrace& round) {
              EXPECT_EQ(round.round, ++rounds);
              const int main_nodes = static_cast<int>(round.proposal.pack.nodes.size());
              EXPECT_LE(main_nodes, options.max_nodes);
              EXPECT_LE(round.side_rows, options.max_side_rows);
              EXPECT_EQ(model_.cells_used(), InUse(round.cells));
              nodes += main_nodes + round.side_rows;
              committed.insert(committed.end(), round.committed.begin(), round.committed.end());
            }};
    const int before = model_.forwards();
    Result<Generation> result = generate(trace);
    EXPECT_TRUE(result.ok()) << result.error().message;
    const Generation& generation = *result;
    const GenerateStats& stats = generation.stats;
    EXPECT_EQ(forecasts, 1);
    EXPECT_EQ(committed, generation.tokens);
    EXPECT_EQ(stats.tokens, static_cast<int>(generation.tokens.size()));
    EXPECT_EQ(stats.forwards, rounds);
    EXPECT_EQ(stats.forwards, model_.forwards() - before);
    EXPECT_EQ(stats.nodes, nodes);
    EXPECT_LE(stats.accepted, stats.nodes);
    EXPECT_LE(stats.tokens - stats.accepted, stats.forwards);
    EXPECT_LE(stats.cells.peak, model_.info().context_size);
    EXPECT_EQ(model_.cells_used(), InUse(stats.cells));
    EXPECT_EQ(model_.violation(), "");
    EXPECT_EQ(generation.text, model_.tokenizer().Decode(generation.tokens));
    return generation;
  }

  static int InUse(const ArenaUse& use) { return use.prefix + use.verified + use.side + use.parked; }

  ScriptedModel model_;
  Engine engine_;
};

inline std::string Calls(const Generation& generation) {
  std::string out;
  for (const ToolCall& call : generation.calls) out += call.name + call.arguments + ";";
  return out;
}

inline void ExpectSame(const Generation& got, const Generation& want) {
  EXPECT_EQ(got.tokens, want.tokens) << got.text << "\nagainst\n" << want.text;
  EXPECT_EQ(got.text, want.text);
  EXPECT_EQ(Name(got.stop), Name(want.stop));
  EXPECT_EQ(Calls(got), Calls(want));
}

inline GenerateOptions Options(MethodSpec method, int max_nodes = 32, double temperature = 0,
                               uint64_t seed = 0) {
  GenerateOptions options;
  options.sampling.temperature = temperature;
  options.sampling.seed = seed;
  options.max_tokens = 110;
  options.method = method;
  options.max_nodes = max_nodes;
  return options;
}

// A request for two calls whose values stand in it, and the answer that makes them.
inline Scenario Weather() {
  Scenario scenario;
  scenario.label = "weather";
  scenario.request = ReadRequest(kWeatherTools, kWeatherText);
  scenario.text =
      R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, )"
      R"({"name": "get_weather", "arguments": {"city": "London", "days": 5}}]})";
  scenario.answer = ScenarioTokenizer()->Encode(scenario.text);
  return scenario;
}

}  // namespace schemafill
