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

constexpr MethodSpec kMethods[] = {{Method::kToolSpec},
                                   {Method::kSchemaFill, Stage::kB},
                                   {Method::kSchemaFill, Stage::kC},
                                   {Method::kSchemaFill, Stage::kD},
                                   {Method::kSchemaFill, Stage::kD, Fault::kLyingSides}};

// What SIDE branches have ready is right where a script says so, and anything elsewhere.
TEST_P(AgreeTest, EveryMethod) {
  // A prompt that is taken in anew each time may come with the first tree.
  EngineBench plain, drafted({}, {.guarantee = Guarantee::kMeasured});
  int side_rows = 0;
  Memory memory;  // of all methods and requests: some of what it says is right, most is not
  for (uint64_t seed = 0; seed < 6; ++seed) {
    const Scenario scenario = MakeScenario(600 + seed, GetParam());
    SCOPED_TRACE(scenario.label + "\n" + scenario.text);
    for (EngineBench* const bench : {&plain, &drafted}) {
      bench->Script(scenario);
      if (seed % 3 != 0) bench->ScriptSides(scenario);
    }
    const double temperature = seed % 2 == 0 ? 0 : 0.6;
    const Generation want = plain.Run(scenario, Options(Method::kAr, 32, temperature, seed));
    for (const MethodSpec& spec : kMethods) {
      SCOPED_TRACE(Name(spec));
      KeyedDice dice(seed);
      GenerateOptions options = Options(spec, 1 + dice.Roll(40), temperature, seed);
      options.max_side_rows = dice.OneIn(2) ? 160 : dice.Roll(60);
      options.preset = dice.OneIn(2) ? Preset::kPaper : Preset::kAuto;
      options.hybrid_prefill = dice.OneIn(3);
      if (seed % 4 < 2) options.memory = &memory;
      const Generation got = drafted.Run(scenario, options);
      ExpectSame(got, want);
      const bool without_sides = spec.method == Method::kToolSpec || spec.stage == Stage::kB;
      EXPECT_TRUE(!without_sides || got.stats.side_rows == 0);
      side_rows += got.stats.side_rows;
    }
    // Few or short branches, behind either prefix.
    KeyedDice dice(seed);
    const SideOptions branches{.max_branches = 1 + dice.Roll(8),
                               .max_draft = dice.Roll(9),
                               .max_value = 1 + dice.Roll(48),
                               .context = dice.OneIn(2) ? SideContext::kHint : SideContext::kGuess};
    GenerateOptions options = Options(Method::kAr, 1 + dice.Roll(40), temperature, seed);
    options.hybrid_prefill = dice.OneIn(2);
    ExpectSame(drafted.RunSchemaFill({.across_calls = dice.OneIn(2), .branches = branches},
                                     scenario, options),
               want);
    if (HasFailure()) return;
  }
  EXPECT_GT(side_rows, 0);
}

// SIDE has little room, or none: the context ends in the answer or soon behind it, and branches
// and leaves share few sequences.
TEST_P(AgreeTest, LittleRoom) {
  Memory memory;
  for (uint64_t seed = 0; seed < 10; ++seed) {
    const Scenario scenario = MakeScenario(700 + seed, GetParam());
    KeyedDice dice(seed);
    const int prompt = static_cast<int>(PromptOf(scenario).tokens.size());
    const int room =
        std::max<int>(1, static_cast<int>(scenario.answer.size()) + dice.Roll(90) - 20);
    const ScriptedOptions small{
        .context_size = prompt + room,
        .max_rows = 8 + dice.Roll(120),
        .max_sequences = 2 + dice.Roll(30),
        .guarantee = dice.OneIn(2) ? Guarantee::kBitExact : Guarantee::kMeasured};
    SCOPED_TRACE(fmt::format("{}, room for {}, {} rows, {} sequences\n{}", scenario.label, room,
                             small.max_rows, small.max_sequences, scenario.text));
    EngineBench bench({}, small);
    bench.Script(scenario);
    bench.ScriptSides(scenario);
    const double temperature = dice.OneIn(2) ? 0 : 0.5;
    const Generation want = bench.Run(scenario, Options(Method::kAr, 32, temperature, seed));
    for (const MethodSpec& spec : kMethods) {
      SCOPED_TRACE(Name(spec));
      GenerateOptions options = Options(spec, dice.Roll(40), temperature, seed);
      options.preset = Preset::kPaper;
      options.hybrid_prefill = dice.OneIn(2);
      if (dice.OneIn(2)) options.memory = &memory;
      ExpectSame(bench.Run(scenario, options), want);
    }
    for (const DrafterKind kind :
         {DrafterKind::kRight, DrafterKind::kForks, DrafterKind::kRandom}) {
      SCOPED_TRACE(Name(kind));
      GenerateOptions options = Options(Method::kAr, dice.Roll(40), temperature, seed);
      options.hybrid_prefill = dice.OneIn(2);
      ExpectSame(bench.RunDrafter(kind, scenario, want.tokens, options, seed, true), want);
    }
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
      const GenerateOptions options = Options(Method::kAr, 12, temperature, seed);
      const Generation got = drafted.RunDrafter(drafter, scenario, truth, options, seed);
      ExpectSame(got, want);
      const Generation beside = drafted.RunDrafter(drafter, scenario, truth, options, seed, true);
      ExpectSame(beside, want);
      EXPECT_TRUE(beside.stats.side_rows > 0 || beside.stats.forwards < 3);
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

INSTANTIATE_TEST_SUITE_P(Answers, AgreeTest, testing::ValuesIn(AllKinds()), KindLabel);

}  // namespace
}  // namespace schemafill
