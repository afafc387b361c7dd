// An engine on the scripted model, for tests that compare what it generates.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "catalog/prompt.h"
#include "draft/encode.h"
#include "engine/drafters.h"
#include "engine/engine.h"
#include "engine/scenarios.h"
#include "engine/schemafill.h"
#include "json/json.h"
#include "support/draft_inputs.h"

namespace schemafill {

inline Prompt PromptOf(const Scenario& scenario) {
  return BuildPrompt(scenario.request, *ScenarioTokenizer());
}

// An engine on a model of its own; every generation's accounts are checked.
class EngineBench {
 public:
  explicit EngineBench(CostCurve cost = {}, const ScriptedOptions& options = {},
                       DraftHead* head = nullptr)
      : model_(ScenarioTokenizer(), options), engine_(model_, std::move(cost), head) {}

  void Script(const Scenario& scenario) {
    model_.Script(PromptOf(scenario).tokens, scenario.answer);
  }

  // What the target writes in SIDE branches that begin at the prompt: the arguments of the
  // answer's calls, in the spelling that nothing has changed yet.
  void ScriptSides(const Scenario& scenario) {
    Answer answer;
    answer.Feed(scenario.text);
    const std::vector<ToolCall> calls = CompleteCalls(answer);
    for (size_t call = 0; call < calls.size(); ++call) {
      JsonCursor arguments;
      arguments.Feed(calls[call].arguments);
      for (const JsonValue& value : arguments.TakeValues()) {
        if (value.depth != 1) continue;
        ScriptSide(scenario, static_cast<int>(call), calls[call].name, value.path,
                   calls[call].arguments.substr(value.begin, value.end - value.begin));
      }
    }
  }
  void ScriptSide(const Scenario& scenario, int call, std::string_view tool, std::string_view key,
                  std::string_view json) {
    constexpr std::string_view kHints[] = {"", "Select the second request.\n",
                                           "Select the third request.\n"};
    if (call >= 3) return;
    std::vector<Token> prompt = PromptOf(scenario).tokens;
    const std::string prefix = fmt::format(
        "{}{{\"tool_calls\": [{{\"name\": \"{}\", \"arguments\": {{\"{}\":", kHints[call],
        EscapeJson(tool), key);
    const std::vector<Token> tokens = EncodeBehind(*ScenarioTokenizer(), prompt, prefix);
    prompt.insert(prompt.end(), tokens.begin(), tokens.end());
    const std::string value = fmt::format(" {}}}}}", json);
    model_.Script(prompt, EncodeBehind(*ScenarioTokenizer(), prompt, value));
  }

  Generation Run(const Scenario& scenario, const GenerateOptions& options) {
    return Checked(options, [&](const TraceSink& trace) {
      return engine_.Generate(scenario.request, options, trace);
    });
  }

  // SchemaFill with options of its own, whatever rows cost.
  Generation RunSchemaFill(const SchemaFillOptions& schemafill, const Scenario& scenario,
                           const GenerateOptions& options) {
    const auto make = [&](const DraftSources& sources, const Tokenizer& tokenizer) {
      return MakeSchemaFill(schemafill, sources, tokenizer);
    };
    return Checked(options, [&](const TraceSink& trace) {
      return engine_.GenerateWith(make, scenario.request, options, trace);
    });
  }

  Generation RunDrafter(DrafterKind kind, const Scenario& scenario, std::vector<Token> truth,
                        const GenerateOptions& options, uint64_t seed, bool with_sides = false) {
    const auto make = [&](const DraftSources&, const Tokenizer& tokenizer) {
      return MakeDrafter(kind, truth, tokenizer, seed, with_sides);
    };
    return Checked(options, [&](const TraceSink& trace) {
      return engine_.GenerateWith(make, scenario.request, options, trace);
    });
  }

  ScriptedModel& model() { return model_; }
  Engine& engine() { return engine_; }
  // Of the last generation.
  const std::vector<RoundTrace>& rounds() const { return rounds_; }

 private:
  template <typename Generate>
  Generation Checked(const GenerateOptions& options, Generate generate) {
    rounds_.clear();
    std::vector<Token> committed;
    int nodes = 0, side_rows = 0, forecasts = 0;
    std::set<int> begun, ended;  // branches
    const TraceSink trace{
        .forecast = [&](const Forecast&) { ++forecasts; },
        .round =
            [&](const RoundTrace& round) {
              rounds_.push_back(round);
              EXPECT_EQ(round.round, static_cast<int>(rounds_.size()));
              const int main_nodes = static_cast<int>(round.proposal.pack.nodes.size());
              EXPECT_LE(main_nodes, options.max_nodes);
              EXPECT_LE(round.side_rows, options.max_side_rows);
              EXPECT_EQ(model_.cells_used(), InUse(round.cells));
              EXPECT_LE(InUse(round.cells), round.cells.peak_kept);
              EXPECT_EQ(round.side_verdicts.size(), round.proposal.side.size());
              ExpectSides(round, &begun, &ended);
              nodes += main_nodes + round.side_rows;
              side_rows += round.side_rows;
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
    EXPECT_EQ(stats.forwards, static_cast<int>(rounds_.size()));
    EXPECT_EQ(stats.forwards, model_.forwards() - before);
    EXPECT_EQ(stats.nodes, nodes);
    EXPECT_EQ(stats.side_rows, side_rows);
    EXPECT_LE(stats.accepted, stats.nodes - stats.side_rows);
    EXPECT_LE(stats.tokens - stats.accepted, stats.forwards);
    EXPECT_LE(stats.cells.peak, model_.info().context_size);
    EXPECT_LE(stats.cells.peak_kept, stats.cells.peak);
    EXPECT_EQ(stats.kept_bytes,
              static_cast<size_t>(stats.cells.peak_kept) * model_.info().cell_bytes);
    EXPECT_EQ(model_.cells_used(), InUse(stats.cells));
    EXPECT_EQ(model_.violation(), "");
    // A stop text, and what its token holds behind it, is in the tokens alone.
    const bool cut = generation.stop == StopReason::kStopText;
    const std::string decoded = model_.tokenizer().Decode(generation.tokens);
    EXPECT_EQ(generation.text, decoded.substr(0, cut ? generation.text.size() : decoded.size()));
    return generation;
  }

  // Branches begin once, in order, and are gone once they are done; a verdict is on its draft.
  static void ExpectSides(const RoundTrace& round, std::set<int>* begun, std::set<int>* ended) {
    for (size_t i = 0; i < round.proposal.side.size(); ++i) {
      const SideDraft& draft = round.proposal.side[i];
      const SideVerdict& verdict = round.side_verdicts[i];
      EXPECT_EQ(begun->insert(draft.branch).second, draft.begins) << draft.branch;
      EXPECT_EQ(ended->count(draft.branch), 0u) << draft.branch;
      EXPECT_EQ(verdict.branch, draft.branch);
      EXPECT_LE(verdict.accepted, static_cast<int>(draft.draft.size()));
      EXPECT_TRUE(verdict.accepted == static_cast<int>(draft.draft.size()) ||
                  draft.draft[static_cast<size_t>(verdict.accepted)] != verdict.correction);
    }
    for (const int branch : round.news.done) EXPECT_TRUE(ended->insert(branch).second) << branch;
    // What is done has given its cells back.
    EXPECT_EQ(round.cells.side > 0, !std::ranges::includes(*ended, *begun));
  }

  static int InUse(const ArenaUse& use) {
    return use.prefix + use.verified + use.side + use.parked;
  }

  ScriptedModel model_;
  Engine engine_;
  std::vector<RoundTrace> rounds_;
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

inline Scenario ScenarioOf(std::string_view tools, std::string_view text, std::string answer) {
  Scenario scenario;
  scenario.label = answer;
  scenario.request = ReadRequest(tools, text);
  scenario.text = std::move(answer);
  scenario.answer = ScenarioTokenizer()->Encode(scenario.text);
  return scenario;
}

// For tests with an AnswerKind as parameter.
inline std::string KindLabel(const testing::TestParamInfo<AnswerKind>& info) {
  std::string name(Name(info.param));
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

inline std::vector<AnswerKind> AllKinds() {
  std::vector<AnswerKind> kinds;
  for (int kind = 0; kind < static_cast<int>(AnswerKind::kCount); ++kind)
    kinds.push_back(static_cast<AnswerKind>(kind));
  return kinds;
}

// A request for two calls whose values stand in it, and the answer that makes them.
inline Scenario Weather() {
  return ScenarioOf(
      kWeatherTools, kWeatherText,
      R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, )"
      R"({"name": "get_weather", "arguments": {"city": "London", "days": 5}}]})");
}

}  // namespace schemafill
