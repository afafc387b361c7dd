// All strategies agree: on the scripted model, whose cells notice a wrong mask or a missed
// rollback, every method and every drafter gives plain decoding's tokens.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "engine/engine_bench.h"
#include "support/keyed_dice.h"
#include "support/scripted.h"

namespace schemafill {
namespace {

// What plain decoding gives, as far as the engine goes.
void ExpectPlain(const Generation& plain, const Scenario& scenario,
                 const GenerateOptions& options) {
  ScriptedModel model(ScenarioTokenizer(), {});
  const std::vector<Token> prompt = PromptOf(scenario).tokens;
  model.Script(prompt, scenario.answer);
  EXPECT_EQ(PlainAnswer(model, prompt, plain.stats.tokens, options.sampling), plain.tokens);
  EXPECT_EQ(plain.stats.forwards, plain.stats.tokens);
  EXPECT_EQ(plain.stats.nodes, 0);
  const Token last = plain.tokens.back();
  Answer answer;
  answer.Feed(plain.text);
  EXPECT_EQ(plain.stop == StopReason::kEnd, model.tokenizer().IsEnd(last));
  EXPECT_EQ(plain.stop == StopReason::kClosed, answer.json().closed());
  EXPECT_TRUE(plain.stop != StopReason::kLength || plain.stats.tokens == options.max_tokens);
}

const CostCurve kCheapRows{{{1, 10}, {32, 20}}};
const CostCurve kDearRows{{{1, 10}, {2, 14}, {8, 45}, {32, 160}}};

class AgreeTest : public testing::TestWithParam<AnswerKind> {};

TEST_P(AgreeTest, EveryPresetAndWidth) {
  // Requests come one after the other on each engine.
  EngineBench plain, free, cheap(kCheapRows), dear(kDearRows);
  for (uint64_t seed = 0; seed < 8; ++seed) {
    const Scenario scenario = MakeScenario(seed, GetParam());
    SCOPED_TRACE(scenario.label + "\n" + scenario.text);
    for (EngineBench* const bench : {&plain, &free, &cheap, &dear}) bench->Script(scenario);
    const Generation want = plain.Run(scenario, Options(Method::kAr));
    if (seed % 4 == 0) ExpectPlain(want, scenario, Options(Method::kAr));
    GenerateOptions options = Options(Method::kSchemaFill);
    ExpectSame((seed % 2 == 0 ? cheap : dear).Run(scenario, options), want);
    options.max_nodes = KeyedDice(seed).Roll(41);
    options.preset = seed % 4 < 2 ? Preset::kPaper : Preset::kAuto;
    ExpectSame((seed % 4 < 2 ? dear : free).Run(scenario, options), want);
    if (HasFailure()) return;
  }
}

TEST_P(AgreeTest, Sampled) {
  EngineBench plain, drafted;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    const Scenario scenario = MakeScenario(100 + seed, GetParam());
    SCOPED_TRACE(scenario.label + "\n" + scenario.text);
    plain.Script(scenario);
    drafted.Script(scenario);
    const double temperature = seed % 2 == 0 ? 0.4 : 0.7;
    const GenerateOptions options = Options(Method::kAr, 32, temperature, seed);
    const Generation want = plain.Run(scenario, options);
    ExpectPlain(want, scenario, options);
    ExpectSame(drafted.Run(scenario, Options(Method::kSchemaFill, 32, temperature, seed)), want);
    if (HasFailure()) return;
  }
}

TEST_P(AgreeTest, AnyDrafter) {
  EngineBench plain, drafted;
  for (uint64_t seed = 0; seed < 2; ++seed) {
    const Scenario scenario = MakeScenario(200 + seed, GetParam());
    plain.Script(scenario);
    drafted.Script(scenario);
    const double temperature = seed % 2 == 0 ? 0 : 0.5;
    const Generation want = plain.Run(scenario, Options(Method::kAr, 32, temperature, seed));
    // Behind the end of the answer the drafters go on with the script.
    std::vector<Token> truth = want.tokens;
    if (truth.size() < scenario.answer.size()) {
      truth.insert(truth.end(), scenario.answer.begin() + want.stats.tokens, scenario.answer.end());
    }
    for (int kind = 0; kind < static_cast<int>(DrafterKind::kCount); ++kind) {
      const auto drafter = static_cast<DrafterKind>(kind);
      SCOPED_TRACE(fmt::format("{}, drafter: {}\n{}", scenario.label, Name(drafter), want.text));
      const Generation got = drafted.RunDrafter(drafter, scenario, truth,
                                                Options(Method::kAr, 12, temperature, seed), seed);
      ExpectSame(got, want);
      if (drafter == DrafterKind::kRight) {
        EXPECT_LE(got.stats.forwards, 1 + want.stats.tokens / 13);
      }
      if (drafter == DrafterKind::kWrong || drafter == DrafterKind::kEmpty) {
        EXPECT_EQ(got.stats.accepted, 0);
      }
      if (HasFailure()) return;
    }
  }
}

std::string KindLabel(const testing::TestParamInfo<AnswerKind>& info) {
  std::string name(Name(info.param));
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::vector<AnswerKind> AllKinds() {
  std::vector<AnswerKind> kinds;
  for (int kind = 0; kind < static_cast<int>(AnswerKind::kCount); ++kind)
    kinds.push_back(static_cast<AnswerKind>(kind));
  return kinds;
}

INSTANTIATE_TEST_SUITE_P(Answers, AgreeTest, testing::ValuesIn(AllKinds()), KindLabel);

}  // namespace
}  // namespace schemafill
