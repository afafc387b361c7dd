#include "engine/engine.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/utf8.h"
#include "engine/engine_bench.h"
#include "support/faulty_model.h"

namespace schemafill {
namespace {

using testing::HasSubstr;

// Fails when drafting is broken.
TEST(EngineTest, AnswersFromTheRequestTakeFewForwards) {
  EngineBench bench;
  const Scenario scenario = Weather();
  bench.Script(scenario);
  const Generation plain = bench.Run(scenario, Options(Method::kAr));
  const Generation drafted = bench.Run(scenario, Options(Method::kSchemaFill));
  ExpectSame(drafted, plain);
  EXPECT_EQ(Name(plain.stop), "closed");
  EXPECT_EQ(Calls(plain),
            R"(get_weather{"city": "Paris", "days": 3};get_weather{"city": "London", "days": 5};)");
  EXPECT_LT(drafted.stats.forwards, plain.stats.forwards / 4);
}

TEST(EngineTest, WellFormedAnswersTakeHalfTheForwards) {
  int plain_forwards = 0, drafted_forwards = 0;
  for (const AnswerKind kind : {AnswerKind::kDumps, AnswerKind::kCompact, AnswerKind::kIndented}) {
    EngineBench bench;
    for (uint64_t seed = 300; seed < 305; ++seed) {
      Scenario scenario = MakeScenario(seed, kind);
      scenario.answer = ScenarioTokenizer()->Encode(scenario.text);
      bench.Script(scenario);
      plain_forwards += bench.Run(scenario, Options(Method::kAr)).stats.forwards;
      drafted_forwards += bench.Run(scenario, Options(Method::kSchemaFill)).stats.forwards;
    }
  }
  EXPECT_LT(drafted_forwards, plain_forwards / 2);
}

TEST(EngineTest, DearRowsAreNotDrafted) {
  EngineBench bench(CostCurve{{{1, 10}, {2, 20}}});
  const Scenario scenario = Weather();
  bench.Script(scenario);
  GenerateOptions options = Options(Method::kSchemaFill);
  EXPECT_EQ(bench.Run(scenario, options).stats.nodes, 0);
  options.preset = Preset::kPaper;
  EXPECT_GT(bench.Run(scenario, options).stats.nodes, 0);
}

// Cases list, item 19.
TEST(EngineTest, EveryWidth) {
  EngineBench bench;
  const Scenario scenario = Weather();
  bench.Script(scenario);
  const Generation plain = bench.Run(scenario, Options(Method::kAr));
  int forwards = plain.stats.forwards;
  for (int width = 0; width <= 40; ++width) {
    SCOPED_TRACE(width);
    const Generation drafted = bench.Run(scenario, Options(Method::kSchemaFill, width));
    ExpectSame(drafted, plain);
    EXPECT_LE(drafted.stats.forwards, plain.stats.forwards);
    forwards = std::min(forwards, drafted.stats.forwards);
  }
  EXPECT_LT(forwards, plain.stats.forwards / 4);
}

// A brace ends an answer in calls, never plain chat.
TEST(EngineTest, PlainChatGoesOnBehindABrace) {
  Scenario scenario = Weather();
  scenario.text = R"({"name": "noop", "arguments": {}} is {"a": 1}} how you call it.)";
  scenario.answer = ScenarioTokenizer()->Encode(scenario.text);
  EngineBench bench;
  for (const bool tools : {true, false}) {
    for (const ToolChoice::Kind choice : {ToolChoice::Kind::kAuto, ToolChoice::Kind::kNone}) {
      if (!tools) scenario.request.catalog = {};
      scenario.request.tool_choice.kind = choice;
      bench.Script(scenario);
      const Generation want = bench.Run(scenario, Options(Method::kAr));
      ExpectSame(bench.Run(scenario, Options(Method::kSchemaFill)), want);
      const bool calls = tools && choice == ToolChoice::Kind::kAuto;
      EXPECT_EQ(want.text.size() < scenario.text.size(), calls) << want.text;
      EXPECT_EQ(Calls(want), calls ? "noop{};" : "");
    }
  }
}

// Cases list, item 12.
TEST(EngineTest, NeverATokenMoreThanAsked) {
  const Scenario scenario = Weather();
  EngineBench bench;
  bench.Script(scenario);
  const Generation whole = bench.Run(scenario, Options(Method::kAr));
  ASSERT_GT(whole.stats.tokens, 30);
  for (int most = 1; most <= 80; ++most) {
    SCOPED_TRACE(most);
    const int taken = std::min(most, whole.stats.tokens);
    Scenario limited = scenario;
    GenerateOptions options = Options(Method::kSchemaFill);
    (most % 2 == 0 ? options.max_tokens : limited.request.max_tokens.emplace()) = most;
    const Generation got = bench.Run(limited, options);
    EXPECT_EQ(got.tokens, std::vector<Token>(whole.tokens.begin(), whole.tokens.begin() + taken));
    EXPECT_EQ(Name(got.stop), most < whole.stats.tokens ? "length" : "closed");
  }
}

// A context that ends in the answer ends it at the same token for everybody, parked cells or not.
TEST(EngineTest, TheContextIsFull) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    const Scenario scenario = seed == 0 ? Weather() : MakeScenario(400 + seed, AnswerKind::kDumps);
    const int prompt = static_cast<int>(PromptOf(scenario).tokens.size());
    for (const int room : {1, 2, 3, 5, 9, 17, 30, 50}) {
      SCOPED_TRACE(fmt::format("{}, room for {}", scenario.label, room));
      EngineBench bench({}, {.context_size = prompt + room, .max_sequences = 8});
      bench.Script(scenario);
      const Generation want = bench.Run(scenario, Options(Method::kAr));
      EXPECT_TRUE(want.stats.tokens == room || want.stop == StopReason::kClosed);
      for (const int width : {1, 3, 12, 40})
        ExpectSame(bench.Run(scenario, Options(Method::kSchemaFill, width)), want);
      for (int kind = 0; kind < static_cast<int>(DrafterKind::kCount); ++kind) {
        const auto drafter = static_cast<DrafterKind>(kind);
        SCOPED_TRACE(Name(drafter));
        ExpectSame(
            bench.RunDrafter(drafter, scenario, scenario.answer, Options(Method::kAr, 12), 5),
            want);
      }
    }
  }
}

// Few sequences: a chain is all that fits.
TEST(EngineTest, TwoSequencesAreEnough) {
  const Scenario scenario = Weather();
  EngineBench bench({}, {.max_sequences = 2});
  bench.Script(scenario);
  const Generation want = bench.Run(scenario, Options(Method::kAr));
  const Generation got = bench.Run(scenario, Options(Method::kSchemaFill));
  ExpectSame(got, want);
  EXPECT_EQ(got.stats.cells.parked, 0);
  EXPECT_GT(got.stats.accepted, 0);
}

// ---- Requests one after the other ----

// Cases list, item 16.
TEST(EngineTest, NothingIsLeftOfEarlierRequests) {
  const Scenario second = MakeScenario(500, AnswerKind::kBareCall);
  Scenario again = Weather();
  again.request.max_tokens = 7;
  const std::vector<Scenario> scenarios = {
      Weather(), second, again, Weather(), Weather(), MakeScenario(501, AnswerKind::kProse),
      second};
  EngineBench bench;
  for (const Scenario& scenario : scenarios) bench.Script(scenario);
  const Scenario* before = nullptr;
  for (const Scenario& scenario : scenarios) {
    EngineBench fresh;
    fresh.Script(scenario);
    const Generation got = bench.Run(scenario, Options(Method::kSchemaFill));
    ExpectSame(got, fresh.Run(scenario, Options(Method::kSchemaFill)));
    const bool same = before != nullptr && before->label == scenario.label;
    EXPECT_EQ(got.stats.reused_tokens == got.stats.prompt_tokens - 1, same) << scenario.label;
    before = &scenario;
  }
}

// Cases list, item 20: whatever a failure leaves behind, the next request knows nothing of it.
TEST(EngineTest, AfterAFailureOfTheModel) {
  const Scenario scenario = Weather();
  ScriptedModel model(ScenarioTokenizer(), {});
  model.Script(PromptOf(scenario).tokens, scenario.answer);
  FaultyModel faulty(model);
  Engine engine(faulty, {});
  const GenerateOptions options = Options(Method::kSchemaFill);
  const Generation want = engine.Generate(scenario.request, options).value();
  int failures = 0;
  for (int countdown = 1; countdown <= 40; countdown += 2) {
    faulty.Arm(countdown);
    try {
      (void)engine.Generate(scenario.request, options);
    } catch (const std::runtime_error&) {
      ++failures;
    }
    faulty.Disarm();
    ExpectSame(engine.Generate(scenario.request, options).value(), want);
  }
  EXPECT_EQ(model.violation(), "");
  EXPECT_GT(failures, 10);
}

// ---- Watching ----

// The texts that a request was told, one behind the other.
std::vector<std::string> Streamed(EngineBench& bench, const Scenario& scenario,
                                  GenerateOptions options, Generation* generation) {
  std::vector<std::string> texts;
  options.on_text = [&](std::string_view text) { texts.emplace_back(text); };
  *generation = bench.Run(scenario, options);
  return texts;
}

std::string Joined(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += text;
  return all;
}

// Cases list, items 10 and 17.
TEST(EngineTest, StreamsTheAnswerInWholeCharacters) {
  for (const AnswerKind kind : AllKinds()) {
    EngineBench bench;
    for (uint64_t seed = 700; seed < 706; ++seed) {
      const Scenario scenario = MakeScenario(seed, kind);
      bench.Script(scenario);
      for (const Method method : {Method::kAr, Method::kSchemaFill}) {
        Generation generation;
        const std::vector<std::string> texts =
            Streamed(bench, scenario, Options(method), &generation);
        const std::string_view text = generation.text;
        EXPECT_EQ(Joined(texts), text.substr(0, WholeCharacters(text)));
        for (const std::string& one : texts) {
          EXPECT_FALSE(one.empty());
          EXPECT_EQ(WholeCharacters(one), one.size());
        }
      }
    }
  }
}

TEST(EngineTest, StreamsNothingOfAStopText) {
  EngineBench bench;
  Scenario scenario = Weather();
  bench.Script(scenario);
  for (const std::string stop : {"days\": 3", "}}", ", {\"name", "5}}]}", "London"}) {
    scenario.request.stop = {"never", stop};
    Generation generation;
    for (const Method method : {Method::kAr, Method::kSchemaFill}) {
      const std::vector<std::string> texts =
          Streamed(bench, scenario, Options(method), &generation);
      EXPECT_EQ(Joined(texts), scenario.text.substr(0, scenario.text.find(stop)));
      EXPECT_EQ(Name(generation.stop), "stop text");
    }
  }
}

TEST(EngineTest, OneCallOnly) {
  EngineBench bench;
  Scenario scenario = Weather();
  scenario.request.parallel_tool_calls = false;
  bench.Script(scenario);
  const Generation plain = bench.Run(scenario, Options(Method::kAr));
  ExpectSame(bench.Run(scenario, Options(Method::kSchemaFill)), plain);
  EXPECT_EQ(Calls(plain), R"(get_weather{"city": "Paris", "days": 3};)");
  EXPECT_EQ(Name(plain.stop), "closed");
}

// tool_choice required and a named function: the answer begins as the request asks, and only the
// rest is the target's.
TEST(EngineTest, GivenOpenings) {
  const std::string whole = Weather().text;
  for (const ToolChoice& choice : {ToolChoice{ToolChoice::Kind::kRequired, ""},
                                   ToolChoice{ToolChoice::Kind::kFunction, "get_weather"}}) {
    Scenario scenario = Weather();
    scenario.request.tool_choice = choice;
    const std::string opening = PromptOf(scenario).opening;
    ASSERT_TRUE(whole.starts_with(opening)) << opening;
    scenario.answer = ScenarioTokenizer()->Encode(whole.substr(opening.size()));
    ScriptedModel model(ScenarioTokenizer(), {});
    model.Script(PromptOf(scenario).tokens, scenario.answer);
    Engine engine(model, {});
    for (const Method method : {Method::kAr, Method::kSchemaFill}) {
      std::string streamed;
      GenerateOptions options = Options(method);
      options.on_text = [&](std::string_view text) { streamed += text; };
      const Generation generation = engine.Generate(scenario.request, options).value();
      EXPECT_EQ(generation.text, whole);
      EXPECT_EQ(streamed, whole);
      EXPECT_EQ(generation.tokens, scenario.answer);
      EXPECT_EQ(
          Calls(generation),
          R"(get_weather{"city": "Paris", "days": 3};get_weather{"city": "London", "days": 5};)");
      if (method == Method::kSchemaFill) {
        EXPECT_LT(generation.stats.forwards, generation.stats.tokens / 4);
      }
    }
    EXPECT_EQ(model.violation(), "");
  }
}

// Cases list, item 20.
TEST(EngineTest, ACancelledRequestLeavesNothingBehind) {
  const Scenario scenario = Weather();
  EngineBench bench;
  bench.Script(scenario);
  const Generation want = bench.Run(scenario, Options(Method::kSchemaFill, 4));
  Memory memory;
  for (int rounds = 0; rounds <= want.stats.forwards; ++rounds) {
    GenerateOptions options = Options(Method::kSchemaFill, 4);
    int asked = 0;
    options.cancelled = [&] { return asked++ == rounds; };
    options.memory = &memory;
    const Generation got = bench.Run(scenario, options);
    EXPECT_EQ(Name(got.stop), rounds < want.stats.forwards ? "cancelled" : "closed");
    EXPECT_EQ(got.stats.forwards, rounds);
    EXPECT_TRUE(want.text.starts_with(got.text));
    ExpectSame(bench.Run(scenario, Options(Method::kSchemaFill, 4)), want);
  }
}

// ---- Chance ----

TEST(EngineTest, AnotherSeedIsAnotherAnswer) {
  EngineBench bench;
  const Scenario scenario = Weather();
  bench.Script(scenario);
  const GenerateOptions first = Options(Method::kSchemaFill, 32, 0.7, 1);
  const Generation one = bench.Run(scenario, first);
  ExpectSame(bench.Run(scenario, first), one);
  bool differs = false;
  for (uint64_t seed = 2; seed < 12; ++seed)
    differs |=
        bench.Run(scenario, Options(Method::kSchemaFill, 32, 0.7, seed)).tokens != one.tokens;
  EXPECT_TRUE(differs);
}

TEST(EngineTest, TheRequestsOwnSamplingComesFirst) {
  EngineBench bench;
  Scenario scenario = Weather();
  bench.Script(scenario);
  const Generation greedy = bench.Run(scenario, Options(Method::kAr));
  const Generation sampled = bench.Run(scenario, Options(Method::kAr, 32, 0.9, 4));
  ASSERT_NE(greedy.tokens, sampled.tokens);
  scenario.request.temperature = 0.9;
  scenario.request.seed = 4;
  ExpectSame(bench.Run(scenario, Options(Method::kAr)), sampled);
  scenario.request.top_p = 0;  // the likeliest token alone
  ExpectSame(bench.Run(scenario, Options(Method::kAr)), greedy);
  scenario.request.top_p.reset();
  scenario.request.top_k = 1;
  ExpectSame(bench.Run(scenario, Options(Method::kAr)), greedy);
  scenario.request.top_k.reset();
  scenario.request.min_p = 1;
  ExpectSame(bench.Run(scenario, Options(Method::kAr)), greedy);
  // What the request doesn't say is the options'.
  scenario.request.min_p.reset();
  GenerateOptions options = Options(Method::kAr);
  for (const SamplingOptions& one :
       {SamplingOptions{.top_k = 1}, SamplingOptions{.top_p = 0}, SamplingOptions{.min_p = 1}}) {
    options.sampling = one;
    ExpectSame(bench.Run(scenario, options), greedy);
  }
  scenario.request.top_k = 0;
  options.sampling = {.top_k = 1};
  ExpectSame(bench.Run(scenario, options), sampled);
  scenario.request.temperature = 0;
  ExpectSame(bench.Run(scenario, Options(Method::kAr, 32, 0.9, 4)), greedy);
}

// ---- Errors ----

TEST(EngineTest, WhatIsOutOfRange) {
  const Scenario scenario = Weather();
  const int prompt = static_cast<int>(PromptOf(scenario).tokens.size());
  EngineBench bench({}, {.context_size = prompt});
  const Result<Generation> long_prompt =
      bench.engine().Generate(scenario.request, Options(Method::kAr));
  ASSERT_FALSE(long_prompt.ok());
  EXPECT_THAT(
      long_prompt.error().message,
      HasSubstr(fmt::format("the prompt has {} tokens and the context holds {}", prompt, prompt)));

  GenerateOptions options = Options(Method::kAr);
  options.max_tokens = 0;
  EXPECT_THAT(bench.engine().Generate(scenario.request, options).error().message,
              HasSubstr("max_tokens"));
  options = Options(Method::kAr, -1);
  EXPECT_THAT(bench.engine().Generate(scenario.request, options).error().message,
              HasSubstr("max_nodes"));
  EXPECT_EQ(bench.model().forwards(), 0);
}

// Proposes the same tree in each round, whatever the limits.
class Stubborn final : public Strategy {
 public:
  explicit Stubborn(std::vector<TreeNode> nodes) {
    for (const TreeNode& node : nodes) pack_.nodes.push_back({node, 1, PieceKind::kCopy});
  }
  Proposal Propose(const RoundState&) override {
    return {.pack = pack_, .side = {}, .prepared = {}};
  }

 private:
  Pack pack_;
};

TEST(EngineTest, AStrategyBeyondItsLimitsFailsACheck) {
  const Scenario scenario = Weather();
  EngineBench bench({}, {.max_sequences = 3});
  bench.Script(scenario);
  const std::vector<std::vector<TreeNode>> trees = {
      {{Token{'a'}, -1}, {Token{'b'}, -1}, {Token{'c'}, -1}},                 // leaves
      {{Token{'a'}, -1}, {Token{'b'}, 0}, {Token{'c'}, 1}, {Token{'d'}, 2}},  // nodes
      {{Token{'a'}, 0}},                                                      // its own parent
      {{Token{'a'}, 7}},                                                      // no parent at all
  };
  for (const std::vector<TreeNode>& tree : trees) {
    const auto make = [&](const DraftSources&, const Tokenizer&) {
      return std::make_unique<Stubborn>(tree);
    };
    EXPECT_THROW((void)bench.engine().GenerateWith(make, scenario.request, Options(Method::kAr, 3)),
                 InternalError);
    EXPECT_EQ(bench.Run(scenario, Options(Method::kAr)).text, scenario.text);
  }
}

TEST(EngineTest, Names) {
  const struct {
    std::string_view name;
    MethodSpec spec;
  } kMethods[] = {
      {"ar", Method::kAr},
      {"eagle3", Method::kEagle3},
      {"toolspec", Method::kToolSpec},
      {"schemafill", Method::kSchemaFill},
      {"schemafill-b", {Method::kSchemaFill, Stage::kB}},
      {"schemafill-c", {Method::kSchemaFill, Stage::kC}},
      {"schemafill-hint", {Method::kSchemaFill, Stage::kD, Fault::kNone, SideContext::kHint}},
      {"schemafill-lying", {Method::kSchemaFill, Stage::kD, Fault::kLyingSides}},
      {"parallel-fill", Method::kParallelFill},
      {"oracle", Method::kOracle},
  };
  for (const auto& [name, spec] : kMethods) {
    ASSERT_TRUE(ParseMethod(name).ok()) << name;
    EXPECT_EQ(*ParseMethod(name), spec) << name;
    EXPECT_EQ(Name(spec), name);
    EXPECT_EQ(IsLossy(spec), name == "parallel-fill");
  }
  EXPECT_EQ(
      ParseMethod("magic").error().message,
      "unknown method 'magic'; this build has: ar, eagle3, toolspec, schemafill, schemafill-b, "
      "schemafill-c, schemafill-hint, schemafill-lying, parallel-fill, oracle");
  EXPECT_TRUE(ParsePreset("auto").ok() && ParsePreset("paper").ok());
  EXPECT_EQ(ParsePreset("slow").error().message, "unknown preset 'slow'; there are: auto, paper");
}

}  // namespace
}  // namespace schemafill
