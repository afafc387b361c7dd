#include "engine/parallel_fill.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "draft/call_text.h"
#include "draft/literal.h"
#include "engine/engine_bench.h"
#include "support/keyed_dice.h"
#include "support/scripted.h"

namespace schemafill {
namespace {

constexpr std::string_view kTools = R"([{"name": "f", "parameters": {"properties": {
    "a": {"type": "string"}, "b": {"type": "integer"}, "c": {}}}}, {"name": "noop"}])";

Scenario Answering(std::string answer) { return ScenarioOf(kTools, "Do it.", std::move(answer)); }

Generation Fill(EngineBench& bench, const Scenario& scenario,
                GenerateOptions options = Options(Method::kAr)) {
  options.method = Method::kParallelFill;
  const Generation filled = bench.engine().Generate(scenario.request, options).value();
  EXPECT_TRUE(filled.stats.lossy);
  EXPECT_FALSE(filled.stats.acceptance_length().has_value());
  EXPECT_EQ(filled.stats.tokens, static_cast<int>(filled.tokens.size()));
  EXPECT_EQ(filled.text, ScenarioTokenizer()->Decode(filled.tokens));
  EXPECT_EQ(bench.model().violation(), "");
  const ArenaUse& use = filled.stats.cells;
  EXPECT_EQ(bench.model().cells_used(), use.prefix + use.verified + use.side + use.parked);
  return filled;
}

std::vector<FillSlot> SlotsOf(std::string_view text) {
  Answer answer;
  answer.Feed(text);
  return FindSlots(answer);
}

// Prompt and prefix of a slot of this answer.
std::vector<Token> Asked(const Scenario& scenario, std::string_view answer, const FillSlot& slot) {
  JsonCursor cursor;
  cursor.Feed(answer);
  std::vector<Token> tokens = PromptOf(scenario).tokens;
  const std::vector<Token> prefix =
      EncodeBehind(*ScenarioTokenizer(), tokens,
                   CallHint(slot.call) + SlotHeader(slot.tool, slot.key, cursor.spelling()));
  tokens.insert(tokens.end(), prefix.begin(), prefix.end());
  return tokens;
}

// What the target writes behind the prefix of slot `slot`, with what it goes on with.
void ScriptSlot(EngineBench& bench, const Scenario& scenario, size_t slot, std::string_view text) {
  const std::vector<Token> asked = Asked(scenario, scenario.text, SlotsOf(scenario.text)[slot]);
  bench.model().Script(asked, EncodeBehind(*ScenarioTokenizer(), asked, text));
}

// The answer's own text behind all its slots.
void ScriptSlots(EngineBench& bench, const Scenario& scenario) {
  const std::vector<FillSlot> slots = SlotsOf(scenario.text);
  for (size_t i = 0; i < slots.size(); ++i)
    ScriptSlot(bench, scenario, i,
               scenario.text.substr(scenario.text.rfind(':', slots[i].begin) + 1));
}

TEST(FindSlots, ValuesBelowTheArguments) {
  const struct {
    std::string_view answer, slots;  // call.tool.key=value
  } kRows[] = {
      {R"({"tool_calls": [{"name": "f", "arguments": {"a": "x", "b": -1.5e3}}]})",
       R"(0.f.a="x" 0.f.b=-1.5e3)"},
      {R"({"tool_calls": [{"name": "f", "arguments": {"a": {"b": [1, {"c": "}"}]}, "d": null}}, )"
       R"({"name": "noop", "arguments": {}}, {"name": "f", "arguments": {"a": [2]}}]})",
       R"(0.f.a={"b": [1, {"c": "}"}]} 0.f.d=null 2.f.a=[2])"},
      {R"([{"name": "f", "arguments": {"a.b": "\"", "q\"x": 1, "a.b": 2}}])",
       R"(0.f.a.b="\"" 0.f.q"x=1 0.f.a.b=2)"},
      {R"({"name": "f", "arguments": {"a": 1}})", "0.f.a=1"},
      {R"({"tool_calls": [{"name": "f", "arguments": {"a": 1}}, {"name": "f", "arguments": {"a": 2)",
       "0.f.a=1"},
      {R"({"name": "f", "tool_calls": [{"name": "g", "arguments": {"a": 1}}], "arguments": {"b": 2}})",
       "1.g.a=1 0.f.b=2"},
      {R"({"name": "f", "arguments": "{\"a\": 1}"})", ""},
      {R"({"name": "f", "arguments": [{"a": 1}]})", ""},
      {"The weather is {fine}.", ""},
      {"", ""},
  };
  for (const auto& row : kRows) {
    std::string slots;
    for (const FillSlot& slot : SlotsOf(row.answer)) {
      slots += fmt::format("{}{}.{}.{}={}", slots.empty() ? "" : " ", slot.call, slot.tool,
                           slot.key, row.answer.substr(slot.begin, slot.end - slot.begin));
    }
    EXPECT_EQ(slots, row.slots) << row.answer;
  }
}

// Where the target says the same of each slot alone, the answer is the plain one.
TEST(ParallelFillTest, SameValuesGiveTheSameAnswer) {
  const struct {
    std::string_view label, answer;
    int forwards;  // those of the longest value
  } kRows[] = {
      {"one call, one slot", R"({"tool_calls": [{"name": "f", "arguments": {"b": 1}}]})", 3},
      {"a tool twice",
       R"({"tool_calls": [{"name": "f", "arguments": {"a": "x", "b": 5}}, )"
       R"({"name": "f", "arguments": {"a": "y", "b": 7}}]})",
       4},
      {"escapes", R"({"tool_calls": [{"name": "f", "arguments": {"a": "\"{\\\u00e9\n", "b": 1}}]})",
       -1},
      {"nested values",
       R"({"tool_calls": [{"name": "f", "arguments": {"c": {"x": [1, {"y": "]}"}], "z": {}}}}]})",
       -1},
      {"literals",
       R"({"tool_calls": [{"name": "f", "arguments": {"a": null, "b": -1.5e3, "c": true}}]})", -1},
      {"a compact answer", R"({"tool_calls":[{"name":"f","arguments":{"a":"x","b":1}}]})", -1},
      {"an indented answer",
       "{\n  \"tool_calls\": [\n    {\n      \"name\": \"f\",\n      \"arguments\": {\n"
       "        \"a\": \"x\",\n        \"b\": 1\n      }\n    }\n  ]\n}",
       -1},
      {"a bare list", R"([{"name": "f", "arguments": {"a": "x"}}])", -1},
      {"no slots", R"({"tool_calls": [{"name": "noop", "arguments": {}}]})", 0},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.label);
    const Scenario scenario = Answering(std::string(row.answer));
    EngineBench bench;
    bench.Script(scenario);
    ScriptSlots(bench, scenario);
    const Generation plain = bench.Run(scenario, Options(Method::kAr));
    const Generation filled = Fill(bench, scenario);
    ExpectSame(filled, plain);
    EXPECT_EQ(filled.text, scenario.text);
    EXPECT_TRUE(row.forwards < 0 || filled.stats.forwards == row.forwards) << filled.stats.forwards;
  }
}

// The prefix is the paper's: EngineBench spells it out.
TEST(ParallelFillTest, SlotsStandBehindTheHint) {
  const Scenario scenario = Weather();
  EngineBench bench;
  bench.Script(scenario);
  bench.ScriptSides(scenario);
  const Generation filled = Fill(bench, scenario);
  EXPECT_EQ(filled.text, scenario.text);
  EXPECT_LT(filled.stats.forwards, filled.stats.tokens / 5);
}

// Lossy: what the target says of a slot alone is what the answer holds.
TEST(ParallelFillTest, OtherValuesTakeTheirPlaces) {
  const Scenario scenario = Weather();
  EngineBench bench;
  bench.Script(scenario);
  ScriptSlots(bench, scenario);
  ScriptSlot(bench, scenario, 0, R"( "New \"York\"", "days": 3}})");
  ScriptSlot(bench, scenario, 3, " [4, {}]}");
  const Generation filled = Fill(bench, scenario);
  EXPECT_EQ(filled.text,
            R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "New \"York\"", )"
            R"("days": 3}}, {"name": "get_weather", "arguments": {"city": "London", )"
            R"("days": [4, {}]}}]})");
  EXPECT_EQ(filled.tokens, ScenarioTokenizer()->Encode(filled.text));
  EXPECT_EQ(Calls(filled), R"(get_weather{"city": "New \"York\"", "days": 3};)"
                           R"(get_weather{"city": "London", "days": [4, {}]};)");
}

TEST(ParallelFillTest, WhatIsNoValueIsNull) {
  const Scenario scenario =
      Answering(R"({"tool_calls": [{"name": "f", "arguments": {"a": "x", "b": 1, "c": 2}}]})");
  const struct {
    std::string_view label;
    std::string text;
    std::string_view value;
  } kRows[] = {
      {"a number that the end of the turn ends", " 12", "12"},
      {"text that the end of the turn cuts", " \"abc", "null"},
      {"nothing", "", "null"},
      {"a closing brace", " }}", "null"},
      {"no end", " \"" + std::string(400, '~') + "\"", "null"},
  };
  for (const auto& row : kRows) {
    SCOPED_TRACE(row.label);
    EngineBench bench;
    bench.Script(scenario);
    ScriptSlots(bench, scenario);
    ScriptSlot(bench, scenario, 1, row.text);
    EXPECT_EQ(Fill(bench, scenario).text,
              fmt::format(R"({{"tool_calls": [{{"name": "f", "arguments": {{"a": "x", "b": {}, )"
                          R"("c": 2}}}}]}})",
                          row.value));
  }
}

TEST(ParallelFillTest, AnAnswerWithoutCallsStaysAsItIs) {
  Scenario chat = Answering(R"({"name": "f", "arguments": {"a": 1}} is how you call it.)");
  chat.request.catalog = {};
  for (const Scenario& scenario :
       {MakeScenario(40, AnswerKind::kProse), MakeScenario(40, AnswerKind::kEmpty), chat}) {
    EngineBench bench;
    bench.Script(scenario);
    const Generation plain = bench.Run(scenario, Options(Method::kAr));
    const Generation filled = Fill(bench, scenario);
    ExpectSame(filled, plain);
    EXPECT_EQ(filled.stats.forwards, plain.stats.forwards);
  }
}

TEST(ParallelFillTest, ErrorsAndLimitsAreThoseOfThePlainRun) {
  const Scenario scenario = Weather();
  EngineBench bench;
  bench.Script(scenario);
  GenerateOptions options = Options(Method::kParallelFill);
  options.max_tokens = 0;
  EXPECT_FALSE(bench.engine().Generate(scenario.request, options).ok());
  options.max_tokens = 12;  // in the middle of the first call
  const Generation cut = Fill(bench, scenario, options);
  EXPECT_TRUE(cut.calls.empty());
  EXPECT_EQ(Name(cut.stop), "length");
}

// ---- Little room ----

// Values by plain decoding behind each slot's prefix, one slot after the other.
std::string FilledSerially(ScriptedModel& model, const Scenario& scenario,
                           const Generation& plain) {
  const Tokenizer& tokenizer = model.tokenizer();
  std::string text;
  size_t at = 0;
  for (const FillSlot& slot : SlotsOf(plain.text)) {
    Literal value;
    for (const Token token :
         PlainAnswer(model, Asked(scenario, plain.text, slot), FillLimits{}.max_value)) {
      value.Feed(tokenizer.Piece(token));
      if (tokenizer.IsEnd(token)) value.Finish();
    }
    text += plain.text.substr(at, slot.begin - at);
    text += value.complete() ? value.json() : "null";
    at = slot.end;
  }
  return text + plain.text.substr(at);
}

TEST(ParallelFillTest, AnyAnswerInAnyRoom) {
  int forwards = 0, roomy_forwards = 0, values = 0;
  EngineBench roomy, serial;
  for (uint64_t seed = 0; seed < 4; ++seed) {
    for (int kind = 0; kind < static_cast<int>(AnswerKind::kCount); ++kind) {
      const Scenario scenario = MakeScenario(1700 + seed, static_cast<AnswerKind>(kind));
      KeyedDice dice(seed * 100 + static_cast<uint64_t>(kind));
      const int prompt = static_cast<int>(PromptOf(scenario).tokens.size());
      const ScriptedOptions little{
          .context_size = prompt + 250 + dice.Roll(300),
          .max_rows = 1 + dice.Roll(20),
          .max_sequences = 6 + dice.Roll(4),
          .guarantee = dice.OneIn(2) ? Guarantee::kBitExact : Guarantee::kMeasured};
      SCOPED_TRACE(fmt::format("{}: {} cells, {} rows, {} sequences\n{}", scenario.label,
                               little.context_size - prompt, little.max_rows, little.max_sequences,
                               scenario.text));
      EngineBench bench({}, little);
      const bool right = dice.OneIn(2);  // each slot by itself
      for (EngineBench* const each : {&roomy, &bench, &serial}) {
        each->Script(scenario);
        if (right) ScriptSlots(*each, scenario);
      }
      const Generation plain = roomy.Run(scenario, Options(Method::kAr));
      const Generation all_at_once = Fill(roomy, scenario);
      const Generation got = Fill(bench, scenario);
      if (!plain.calls.empty()) {
        EXPECT_EQ(all_at_once.text, FilledSerially(serial.model(), scenario, plain));
        values += static_cast<int>(SlotsOf(plain.text).size());
      }
      EXPECT_EQ(got.text, all_at_once.text);
      EXPECT_LE(got.stats.cells.peak, little.context_size);
      EXPECT_GE(got.stats.forwards, all_at_once.stats.forwards);
      forwards += got.stats.forwards;
      roomy_forwards += all_at_once.stats.forwards;
      // The next request, also the same one, finds everything in order.
      for (const MethodSpec method : {Method::kSchemaFill, Method::kAr})
        ExpectSame(bench.Run(scenario, Options(method)), plain);
      if (HasFailure()) return;
    }
  }
  EXPECT_GT(values, 60);
  EXPECT_GT(4 * forwards, 5 * roomy_forwards);
}

// A context in which the answer fits, but not the prefix of a slot.
TEST(ParallelFillTest, NoRoomForAPrefix) {
  Scenario scenario = Weather();
  const int prompt = static_cast<int>(PromptOf(scenario).tokens.size());
  const int answer = static_cast<int>(scenario.answer.size());
  EngineBench roomy;
  roomy.Script(scenario);
  ScriptSlots(roomy, scenario);
  for (const int room : {answer, answer + 10, answer + 30}) {
    EngineBench bench({}, {.context_size = prompt + room});
    bench.Script(scenario);
    ScriptSlots(bench, scenario);
    const Generation filled = Fill(bench, scenario);
    for (const ToolCall& call : filled.calls) EXPECT_EQ(call.name, "get_weather");
    EXPECT_EQ(filled.calls.size(), 2u) << filled.text;
    EXPECT_LE(filled.stats.cells.peak, prompt + room);
  }
}

}  // namespace
}  // namespace schemafill
