// SIDE branches in the loop: when they run, when MAIN gets what they have, and that no answer
// changes.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "engine/engine_bench.h"
#include "support/keyed_dice.h"

namespace schemafill {
namespace {

using testing::HasSubstr;

// Values that no one can copy from the request. MAIN takes its time for the first one.
Scenario Unguessable() {
  return ScenarioOf(
      R"([{"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"},
          "unit": {"type": "string"}}, "required": ["city", "unit"]}}])",
      "Get it all.",
      R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Longyearbyen", "unit": "mm"}}, )"
      R"({"name": "get_weather", "arguments": {"city": "Nairobi", "unit": "cd"}}]})");
}

GenerateOptions Paper(MethodSpec method, int max_nodes = 32) {
  GenerateOptions options = Options(method, max_nodes);
  options.preset = Preset::kPaper;
  return options;
}

constexpr MethodSpec kStageB{Method::kSchemaFill, Stage::kB};
// With the paper's prefixes: EngineBench::ScriptSides knows what the target says behind those.
constexpr MethodSpec kStageC{Method::kSchemaFill, Stage::kC, Fault::kNone, SideContext::kHint};
constexpr MethodSpec kStageD{Method::kSchemaFill, Stage::kD, Fault::kNone, SideContext::kHint};
constexpr MethodSpec kLying{Method::kSchemaFill, Stage::kD, Fault::kLyingSides, SideContext::kHint};
constexpr MethodSpec kGuessing{Method::kSchemaFill};

// Fails when SIDE branches or the packing of what they have is broken.
TEST(EngineSideTest, WhatIsPreparedSavesForwards) {
  const Scenario scenario = Unguessable();
  EngineBench bench;
  bench.Script(scenario);
  bench.ScriptSides(scenario);
  const Generation plain = bench.Run(scenario, Options(Method::kAr));
  ASSERT_EQ(plain.text, scenario.text);
  std::map<char, GenerateStats> stats;
  for (const auto& [name, spec] : {std::pair('b', kStageB), std::pair('c', kStageC),
                                   std::pair('d', kStageD), std::pair('l', kLying)}) {
    const Generation got = bench.Run(scenario, Paper(spec));
    ExpectSame(got, plain);
    stats[name] = got.stats;
    int prepared = 0;  // accepted nodes that came from a branch
    for (const RoundTrace& round : bench.rounds()) {
      for (const int node : round.verdict.path) {
        const PieceKind kind = round.proposal.pack.nodes[static_cast<size_t>(node)].kind;
        prepared += kind == PieceKind::kPrepared ? 1 : 0;
      }
    }
    EXPECT_EQ(prepared > 5, name == 'c' || name == 'd') << name;
  }
  EXPECT_LT(stats['c'].forwards, stats['b'].forwards);
  EXPECT_LE(stats['d'].forwards, stats['c'].forwards);
  EXPECT_GT(stats['l'].forwards, stats['d'].forwards);
  EXPECT_EQ(stats['b'].side_rows, 0);
  EXPECT_GT(stats['c'].side_rows, 20);
  EXPECT_GT(stats['d'].kept_bytes, stats['b'].kept_bytes);
}

// Whether a tree of these rounds goes on from the call that it starts in to the next one.
bool PacksAcrossCalls(const std::vector<RoundTrace>& rounds, const Tokenizer& tokenizer) {
  Answer answer;
  for (const RoundTrace& round : rounds) {
    const bool in_call = answer.place() == Place::kCall || answer.place() == Place::kArguments;
    const size_t last_call = answer.calls().size() + (in_call ? 0 : 1);
    std::vector<Answer> paths;  // the answer behind each node
    for (const PackedNode& node : round.proposal.pack.nodes) {
      const int parent = node.node.parent;
      paths.push_back(parent < 0 ? answer : paths[static_cast<size_t>(parent)]);
      paths.back().Feed(tokenizer.Piece(node.node.token));
      if (paths.back().calls().size() > last_call) return true;
    }
    answer.Feed(tokenizer.Decode(round.committed));
  }
  return false;
}

TEST(EngineSideTest, OnlyStageDPacksAcrossCalls) {
  for (const Scenario& scenario : {Weather(), Unguessable()}) {
    EngineBench bench;
    bench.Script(scenario);
    bench.ScriptSides(scenario);
    for (const MethodSpec& spec : {kStageB, kStageC, kStageD}) {
      bench.Run(scenario, Paper(spec));
      EXPECT_EQ(PacksAcrossCalls(bench.rounds(), bench.model().tokenizer()), spec == kStageD)
          << Name(spec);
    }
  }
}

TEST(EngineSideTest, WhereRowsPay) {
  const struct {
    std::string_view label;
    CostCurve cost;
    Preset preset;
    int max_side_rows;
    MethodSpec method;
    bool side;
  } kCases[] = {
      {"rows are free", {}, Preset::kAuto, 160, kStageD, true},
      {"dear", {{{1, 10}, {2, 14}, {8, 45}}}, Preset::kAuto, 160, kStageD, false},
      {"dear, at a fixed budget",
       {{{1, 10}, {2, 14}, {8, 45}}},
       Preset::kPaper,
       160,
       kStageD,
       true},
      {"nearly free", {{{1, 10}, {64, 11}}}, Preset::kAuto, 160, kStageC, true},
      {"another stage", {}, Preset::kPaper, 160, kStageB, false},
      {"another method", {}, Preset::kPaper, 160, Method::kAr, false},
      {"none are wanted", {}, Preset::kPaper, 0, kStageD, false},
      {"too few for a branch", {}, Preset::kPaper, 2, kStageD, false},
  };
  const Scenario scenario = Weather();
  for (const auto& row : kCases) {
    EngineBench bench(row.cost);
    bench.Script(scenario);
    GenerateOptions options = Options(row.method);
    options.preset = row.preset;
    options.max_side_rows = row.max_side_rows;
    const Generation got = bench.Run(scenario, options);
    EXPECT_EQ(got.text, scenario.text) << row.label;
    EXPECT_EQ(got.stats.side_rows > 0, row.side) << row.label;
  }
}

// What MAIN could use in each round is what branches had behind the rounds before it, and no branch
// goes on behind the round in which its field was written or passed.
void ExpectSnapshots(const std::vector<RoundTrace>& rounds) {
  using Key = std::pair<int, std::string>;  // group and field
  std::map<Key, PreparedValue> known;
  std::set<Key> over;  // without a field: all of the group
  for (const RoundTrace& round : rounds) {
    for (const PreparedValue& value : round.proposal.prepared) {
      const bool same = std::ranges::any_of(known, [&](const auto& item) {
        const PreparedValue& seen = item.second;
        return seen.tool == value.tool && seen.field == value.field && seen.json == value.json &&
               seen.complete == value.complete;
      });
      EXPECT_TRUE(same) << "round " << round.round << ": " << value.field << " " << value.json;
    }
    for (const PackedNode& node : round.proposal.pack.nodes)
      EXPECT_TRUE(node.kind != PieceKind::kPrepared || !round.proposal.prepared.empty());
    EXPECT_EQ(round.news.side.size(), round.proposal.side.size());
    for (const SideView& view : round.news.side) {
      known[{view.group, view.value.field}] = view.value;
      EXPECT_FALSE(over.contains({view.group, view.value.field})) << "round " << round.round;
      EXPECT_FALSE(over.contains({view.group, ""})) << "round " << round.round;
    }
    for (const ScheduleEvent& event : round.news.events) {
      const bool goes_on = event.transition == Transition::kBound ||
                           event.transition == Transition::kRebound ||
                           event.transition == Transition::kAdded;
      if (!goes_on) over.insert({event.group, event.field});
    }
  }
}

// Rounds of the first branch that completes a value: when it does, and when MAIN may first use it.
TEST(EngineSideTest, AValueIsPackedInALaterRound) {
  const Scenario scenario = Unguessable();
  EngineBench bench;
  bench.Script(scenario);
  bench.ScriptSides(scenario);
  bench.Run(scenario, Paper(kStageD));
  ExpectSnapshots(bench.rounds());
  int later = 0;
  for (const std::string json : {"\"Longyearbyen\"", "\"mm\"", "\"Nairobi\"", "\"cd\""}) {
    int finished = 0, offered = 0, packed = 0;  // rounds
    for (const RoundTrace& round : bench.rounds()) {
      for (const SideView& view : round.news.side) {
        if (view.value.json == json && view.value.complete && finished == 0) finished = round.round;
      }
      for (const PreparedValue& value : round.proposal.prepared) {
        if (value.json == json && value.complete && offered == 0) offered = round.round;
      }
      std::string text;
      for (const PackedNode& node : round.proposal.pack.nodes) {
        if (node.kind == PieceKind::kPrepared)
          text += bench.model().tokenizer().Piece(node.node.token);
      }
      if (text.find(json.substr(1)) != std::string::npos && packed == 0) packed = round.round;
    }
    if (finished == 0) continue;  // MAIN was there first
    EXPECT_EQ(offered, finished + 1) << json;
    EXPECT_TRUE(packed == 0 || packed > finished) << json;
    later += packed > 0 ? 1 : 0;
  }
  EXPECT_GE(later, 2);
}

// ---- Cases list ----

constexpr std::string_view kEmptyTools = R"([
    {"name": "noop"}, {"name": "empty", "parameters": {"type": "object", "properties": {}}},
    {"name": "get_weather", "parameters": {"properties": {"city": {"type": "string"},
     "days": {"type": "integer"}, "unit": {"enum": ["ab", "ac", "abc"]}},
     "required": ["city", "days"]}}])";

// Items 5, 8, 17 and 18: the answers are what they are, whatever SIDE branches say.
TEST(EngineSideTest, CasesList) {
  const struct {
    std::string_view label;
    std::string_view answer;
    std::string_view calls;
  } kCases[] = {
      {"5: calls without arguments, then one with",
       R"({"tool_calls": [{"name": "noop", "arguments": {}}, {"name": "empty", "arguments": {}}, )"
       R"({"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]})",
       R"(noop{};empty{};get_weather{"city": "Paris", "days": 3};)"},
      {"5: the other way round",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "London", "days": 5}}, )"
       R"({"name": "empty", "arguments": {}}]})",
       R"(get_weather{"city": "London", "days": 5};empty{};)"},
      {"8: an optional key first",
       R"({"tool_calls": [{"name": "get_weather", "arguments": )"
       R"({"unit": "ac", "days": 3, "city": "Paris"}}]})",
       R"(get_weather{"unit": "ac", "days": 3, "city": "Paris"};)"},
      {"8: a key that the schema doesn't have",
       R"({"tool_calls": [{"name": "get_weather", "arguments": )"
       R"({"country": "France", "city": "Paris", "days": 3}}]})",
       R"(get_weather{"country": "France", "city": "Paris", "days": 3};)"},
      {"8: a key twice",
       R"({"tool_calls": [{"name": "get_weather", "arguments": )"
       R"({"city": "Paris", "days": 3, "city": "London"}}]})",
       R"(get_weather{"city": "Paris", "days": 3, "city": "London"};)"},
      {"8: the same tool twice",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}, )"
       R"({"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]})",
       R"(get_weather{"city": "Paris", "days": 3};get_weather{"city": "Paris", "days": 3};)"},
      {"17: what comes behind the end is not the answer",
       R"({"tool_calls": [{"name": "noop", "arguments": {}}]}}, {"name": "empty", "arguments")",
       "noop{};"},
      {"18: siblings that share a prefix",
       R"({"tool_calls": [{"name": "get_weather", "arguments": )"
       R"({"city": "Paris", "days": 3, "unit": "ac"}}, {"name": "get_weather", "arguments": )"
       R"({"city": "London", "days": 5, "unit": "abc"}}]})",
       R"(get_weather{"city": "Paris", "days": 3, "unit": "ac"};)"
       R"(get_weather{"city": "London", "days": 5, "unit": "abc"};)"},
  };
  for (const auto& row : kCases) {
    SCOPED_TRACE(row.label);
    const Scenario scenario = ScenarioOf(kEmptyTools, kWeatherText, std::string(row.answer));
    EngineBench bench;
    bench.Script(scenario);
    bench.ScriptSides(scenario);
    const Generation want = bench.Run(scenario, Options(Method::kAr));
    EXPECT_EQ(Calls(want), row.calls);
    EXPECT_EQ(Name(want.stop), "closed");
    for (const MethodSpec& spec : {kStageC, kStageD, kLying, kGuessing}) {
      for (const int width : {1, 4, 12, 32}) {
        const Generation got = bench.Run(scenario, Paper(spec, width));
        ExpectSame(got, want);
        EXPECT_GT(got.stats.side_rows, 0);
        if (spec.fault == Fault::kNone) ExpectSnapshots(bench.rounds());
      }
    }
  }
}

// Item 17: two calls close in one step, and an end token lies inside of the accepted block.
TEST(EngineSideTest, TwoCallsInOneStep) {
  const Scenario scenario = ScenarioOf(
      kEmptyTools, "Do nothing, twice.",
      R"({"tool_calls": [{"name": "noop", "arguments": {}}, {"name": "empty", "arguments": {}}]})");
  EngineBench bench;
  bench.Script(scenario);
  const Generation want = bench.Run(scenario, Options(Method::kAr));
  for (const bool with_sides : {false, true}) {
    const Generation got = bench.RunDrafter(DrafterKind::kRight, scenario, scenario.answer,
                                            Paper(Method::kAr, 60), 1, with_sides);
    ExpectSame(got, want);
    EXPECT_LE(got.stats.forwards, 2);
    EXPECT_EQ(Calls(got), "noop{};empty{};");
  }
  Scenario prose = scenario;
  prose.text = "I did.";
  prose.answer = ScenarioTokenizer()->Encode(prose.text);
  bench.Script(prose);
  const Generation said = bench.Run(prose, Options(Method::kAr));
  ASSERT_EQ(Name(said.stop), "end");
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const DrafterKind kind : {DrafterKind::kPastEnd, DrafterKind::kEndsEverywhere}) {
      ExpectSame(bench.RunDrafter(kind, prose, said.tokens, Paper(Method::kAr, 30), seed, true),
                 said);
    }
  }
}

// Item 19.
TEST(EngineSideTest, EveryWidth) {
  const Scenario scenario = Unguessable();
  EngineBench bench;
  bench.Script(scenario);
  bench.ScriptSides(scenario);
  const Generation want = bench.Run(scenario, Options(Method::kAr));
  int forwards = want.stats.forwards;
  for (int width = 0; width <= 40; width += width < 4 ? 1 : 4) {
    for (const int side_rows : {0, 1, 7, 16, 17, 40, 160}) {
      SCOPED_TRACE(fmt::format("{} nodes, {} SIDE rows", width, side_rows));
      GenerateOptions options = Paper(kStageD, width);
      options.max_side_rows = side_rows;
      const Generation got = bench.Run(scenario, options);
      ExpectSame(got, want);
      EXPECT_LE(got.stats.forwards, want.stats.forwards);
      forwards = std::min(forwards, got.stats.forwards);
    }
  }
  EXPECT_LT(forwards, want.stats.forwards / 3);
}

// ---- Prefill with the first tree ----

TEST(EngineSideTest, HybridPrefill) {
  for (const AnswerKind kind : {AnswerKind::kDumps, AnswerKind::kIndented, AnswerKind::kProse,
                                AnswerKind::kBareList, AnswerKind::kBroken}) {
    for (const int max_rows : {16, 512}) {
      const Scenario scenario = MakeScenario(800, kind);
      EngineBench plain, hybrid({}, {.max_rows = max_rows});
      for (EngineBench* const bench : {&plain, &hybrid}) {
        bench->Script(scenario);
        bench->ScriptSides(scenario);
      }
      GenerateOptions options = Paper(kStageD);
      options.hybrid_prefill = true;
      const Generation got = hybrid.Run(scenario, options);
      ExpectSame(got, plain.Run(scenario, Options(Method::kAr)));
      // The prompt's last rows came with the first tree.
      ASSERT_FALSE(hybrid.rounds().empty());
      const ArenaUse& first = hybrid.rounds()[0].cells;
      EXPECT_EQ(first.prefix, got.stats.prompt_tokens - 1);
      // Another request doesn't find them.
      const int apart = std::max(0, got.stats.prompt_tokens - 1 - max_rows / 2);
      EXPECT_EQ(hybrid.Run(scenario, Options(Method::kAr)).stats.reused_tokens, apart);
    }
  }
}

// ---- Errors ----

// Asks for SIDE rows whatever there is room for.
class Greedy final : public Strategy {
 public:
  Greedy(int branches, int rows) : branches_(branches), rows_(rows) {}
  Proposal Propose(const RoundState& state) override {
    Proposal proposal;
    for (int i = 0; i < branches_; ++i) {
      SideDraft draft{i, state.prompt_tokens, true, {}, {}};
      for (int row = 0; row < rows_; ++row) draft.context.push_back(Token{i + 1});
      proposal.side.push_back(std::move(draft));
    }
    return proposal;
  }

 private:
  const int branches_;
  const int rows_;
};

TEST(EngineSideTest, AStrategyBeyondItsLimitsFailsACheck) {
  const Scenario scenario = Weather();
  EngineBench bench({}, {.max_sequences = 12});
  bench.Script(scenario);
  GenerateOptions options = Options(Method::kAr, 3);
  options.max_side_rows = 20;
  const auto run = [&](int branches, int rows) {
    const auto make = [&](const DraftSources&, const Tokenizer&) {
      return std::make_unique<Greedy>(branches, rows);
    };
    return bench.engine().GenerateWith(make, scenario.request, options);
  };
  EXPECT_THROW((void)run(1, 21), InternalError);  // rows
  EXPECT_EQ(bench.Run(scenario, Options(Method::kAr)).text, scenario.text);
  EXPECT_THROW((void)run(5, 1), InternalError);  // branches
  EXPECT_EQ(bench.Run(scenario, Paper(kStageD)).text, scenario.text);

  options.max_side_rows = -1;
  EXPECT_THAT(bench.engine().Generate(scenario.request, options).error().message,
              HasSubstr("max_side_rows"));
}

// ---- Any schema, any answer ----

TEST(EngineSideTest, AnyRequest) {
  int side_rows = 0, prepared = 0;
  for (uint64_t seed = 0; seed < 90; ++seed) {
    EngineBench plain, drafted;
    for (int kind = 0; kind < static_cast<int>(AnswerKind::kCount); ++kind) {
      const Scenario scenario = MakeScenario(1000 + seed, static_cast<AnswerKind>(kind));
      KeyedDice dice(seed * 100 + static_cast<uint64_t>(kind));
      for (EngineBench* const bench : {&plain, &drafted}) {
        bench->Script(scenario);
        bench->ScriptSides(scenario);
      }
      const double temperature = dice.OneIn(3) ? 0.5 : 0;
      GenerateOptions options = Options(Method::kAr, 1 + dice.Roll(32), temperature, seed);
      options.max_tokens = 40 + dice.Roll(60);
      options.max_side_rows = dice.OneIn(2) ? 160 : 10 + dice.Roll(60);
      const Generation want = plain.Run(scenario, options);
      options.method = dice.OneIn(4)   ? kLying
                       : dice.OneIn(2) ? kStageC
                       : dice.OneIn(2) ? kStageD
                                       : kGuessing;
      SCOPED_TRACE(fmt::format("{}, {}\n{}", scenario.label, Name(options.method), scenario.text));
      const Generation got = drafted.Run(scenario, options);
      ExpectSame(got, want);
      if (options.method.fault == Fault::kNone) ExpectSnapshots(drafted.rounds());
      side_rows += got.stats.side_rows;
      for (const RoundTrace& round : drafted.rounds()) {
        for (const int node : round.verdict.path) {
          const PieceKind piece = round.proposal.pack.nodes[static_cast<size_t>(node)].kind;
          prepared += piece == PieceKind::kPrepared ? 1 : 0;
        }
      }
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(side_rows, 50'000);
  EXPECT_GT(prepared, 700);
}

}  // namespace
}  // namespace schemafill
