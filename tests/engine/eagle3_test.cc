// Drafting with a head: whatever it says, the answer is plain decoding's.
#include "engine/eagle3.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/engine_bench.h"
#include "engine/prompt_features.h"
#include "model/scripted/scripted_head.h"
#include "support/keyed_dice.h"

namespace schemafill {
namespace {

using ::testing::HasSubstr;

ScriptedHeadOptions HeadOptions() { return {.vocab_size = ScenarioTokenizer()->vocab_size()}; }

// A head that knows the answer, as long as it sees the prompt from its first token on.
ScriptedHeadOptions Knowing(const Scenario& scenario) {
  std::vector<Token> all = PromptOf(scenario).tokens;
  all.insert(all.end(), scenario.answer.begin(), scenario.answer.end());
  ScriptedHeadOptions options = HeadOptions();
  options.guess = [all](std::span<const Token> tokens) {
    const size_t next = tokens.size() + 1;
    const bool known =
        next < all.size() && std::ranges::equal(tokens, std::span(all).subspan(1, tokens.size()));
    return known ? all[next] : Token{-1};
  };
  return options;
}

const CostCurve kCosts{{{1, 10}, {2, 14}, {8, 30}, {32, 100}}};

constexpr MethodSpec kWithHead[] = {{Method::kEagle3},
                                    {Method::kSchemaFill, Stage::kB},
                                    {Method::kSchemaFill, Stage::kC},
                                    {Method::kSchemaFill, Stage::kD}};

class HeadAgrees : public ::testing::TestWithParam<AnswerKind> {};

TEST_P(HeadAgrees, WhateverItSays) {
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Scenario scenario = MakeScenario(900 + seed, GetParam());
    SCOPED_TRACE(scenario.label + "\n" + scenario.text);
    const double temperature = seed % 3 == 2 ? 0.6 : 0;
    EngineBench plain;
    plain.Script(scenario);
    const Generation want = plain.Run(scenario, Options(Method::kAr, 32, temperature, seed));
    for (const bool knowing : {false, true}) {
      ScriptedHead head(knowing ? Knowing(scenario) : HeadOptions());
      EngineBench drafted(seed % 2 == 0 ? CostCurve{} : kCosts, {}, &head);
      drafted.Script(scenario);
      drafted.ScriptSides(scenario);
      KeyedDice dice(seed);
      for (const MethodSpec& spec : kWithHead) {
        SCOPED_TRACE(Name(spec));
        GenerateOptions options = Options(spec, 1 + dice.Roll(40), temperature, seed);
        options.preset = dice.OneIn(2) ? Preset::kPaper : Preset::kAuto;
        options.hybrid_prefill = dice.OneIn(4);
        ExpectSame(drafted.Run(scenario, options), want);
        ExpectSame(drafted.Run(scenario, Options(Method::kAr, 32, temperature, seed)), want);
      }
    }
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Answers, HeadAgrees, ::testing::ValuesIn(AllKinds()), KindLabel);

TEST(Eagle3, DraftsWhatTheHeadKnows) {
  const Scenario scenario = MakeScenario(3, AnswerKind::kDumps);
  ScriptedHead head(Knowing(scenario));
  EngineBench bench({}, {}, &head);
  bench.Script(scenario);
  GenerateOptions options = Options(Method::kEagle3);
  options.preset = Preset::kPaper;
  const Generation first = bench.Run(scenario, options);
  // Two levels and the correction.
  EXPECT_NEAR(first.stats.acceptance_length().value(), 3, 0.4);
  for (const RoundTrace& round : bench.rounds()) {
    EXPECT_LE(round.proposal.pack.nodes.size(), 8u);
    for (const PackedNode& node : round.proposal.pack.nodes) EXPECT_EQ(node.kind, PieceKind::kHead);
  }
  // On a prompt whose cells another method made, the head knows as much.
  bench.Run(scenario, Options(Method::kAr));
  const Generation again = bench.Run(scenario, options);
  EXPECT_EQ(again.stats.reused_tokens, again.stats.prompt_tokens - 1);
  EXPECT_EQ(again.stats.forwards, first.stats.forwards);
}

TEST(Eagle3, NeedsAHead) {
  const Scenario scenario = MakeScenario(3, AnswerKind::kDumps);
  ScriptedModel model(ScenarioTokenizer(), {});
  Engine engine(model, {});
  const Result<Generation> result = engine.Generate(scenario.request, Options(Method::kEagle3));
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("--head FILE.gguf"));
}

// Prompts of tokens 0, 1, 2, ..., of which some have their cells already.
TEST(PromptFeatures, AreThoseOfTheLastRows) {
  ScriptedModel model(ScenarioTokenizer(), {});
  const std::vector<int> layers = {0, 2};
  PromptFeatures features(model, layers, /*max_rows=*/6);
  features.SwitchOn();
  const SequenceId main{0};
  std::vector<Token> prompt;
  for (int i = 0; i < 20; ++i) prompt.push_back(Token{97 + i});
  std::vector<std::vector<float>> all;  // of each position
  model.Prefill(prompt, 0, main);
  for (int i = 0; i < 20; ++i) features.Append(i, &all.emplace_back());
  model.Drop(main, 0, -1);
  const auto prefill = [&](int reused, int length) {
    model.Drop(main, reused, -1);
    if (length > reused) {
      const auto rest = std::span(prompt).subspan(static_cast<size_t>(reused),
                                                  static_cast<size_t>(length - reused));
      model.Prefill(rest, reused, main);
    }
    features.Update(reused, length);
  };
  const auto expect = [&](int first, int end) {
    std::vector<float> want;
    for (int i = first; i < end; ++i)
      want.insert(want.end(), all[static_cast<size_t>(i)].begin(),
                  all[static_cast<size_t>(i)].end());
    EXPECT_EQ(features.first(), first);
    EXPECT_EQ(std::vector<float>(features.rows().begin(), features.rows().end()), want);
  };
  prefill(0, 4);
  expect(0, 4);
  prefill(4, 8);  // goes on
  expect(2, 8);
  prefill(8, 8);  // the same prompt again
  expect(2, 8);
  prefill(5, 7);  // another end
  expect(2, 7);
  prefill(1, 4);  // from in front of what is kept: the first rows are gone
  expect(1, 4);
  prefill(3, 20);
  expect(14, 20);
  prefill(0, 5);
  expect(0, 5);
}

}  // namespace
}  // namespace schemafill
