#include "draft/recall.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "draft/expand.h"
#include "support/draft_inputs.h"
#include "support/keyed_dice.h"

namespace schemafill {
namespace {

using testing::HasSubstr;
using testing::Not;

Answer Read(std::string_view text) {
  Answer answer;
  answer.Feed(text);
  return answer;
}

Recall Of(const std::vector<std::string_view>& answers) {
  Recall recall;
  for (const std::string_view answer : answers) recall.Add(Read(answer));
  return recall;
}

// `f(x = 1, y = 2)` with the arguments' text in between.
std::string Call(std::string_view tool, std::string_view arguments) {
  return fmt::format(R"({{"name": "{}", "arguments": {{{}}}}})", tool, arguments);
}

TEST(Recall, ValuesOfASlotTheLikeliestFirst) {
  const std::string paris = Call("f", R"("city": "Paris", "unit": "C", "days": 3)");
  const std::string rome = Call("f", R"("city": "Rome", "unit": "F", "days": 5)");
  const std::string number = Call("f", R"("x":1e20)");
  const std::string list =
      Call("f", R"("to": ["a", "b", "c"], "deep": {"x": [{"y": 1}, {"y": 2}]})");
  struct Case {
    std::string_view label;
    std::vector<std::string_view> answers;  // the oldest first
    std::string_view text;                  // the answer up to the slot
    std::string_view path;
    std::string_view values;
  };
  const auto kCases = std::to_array<Case>({
      {"nothing", {}, R"({"name": "f", "arguments": {)", "city", ""},
      {"the newest first",
       {paris, rome},
       R"({"name": "f", "arguments": {)",
       "city",
       R"("Rome" "Paris")"},
      {"the more frequent first",
       {paris, paris, rome},
       R"({"name": "f", "arguments": {)",
       "city",
       R"("Paris" "Rome")"},
      {"of calls that agree so far",
       {paris, rome},
       R"({"name": "f", "arguments": {"city": "Paris", )",
       "unit",
       R"("C" "F")"},
      {"and so on to the call's end",
       {paris, rome},
       R"({"name": "f", "arguments": {"city": "Paris", "unit": "C", )",
       "days",
       "3 5"},
      {"only fields right in front of it count",
       {rome, paris},
       R"({"name": "f", "arguments": {"city": "Rome", "unit": "C", )",
       "days",
       "3 5"},
      {"another tool", {paris}, R"({"name": "g", "arguments": {)", "city", ""},
      {"another field", {paris}, R"({"name": "f", "arguments": {)", "town", ""},
      {"an element behind the one before",
       {list},
       R"({"name": "f", "arguments": {"to": ["a", )",
       "to[]",
       R"("b" "a" "c")"},
      {"a field far down",
       {list},
       R"({"name": "f", "arguments": {"deep": {"x": [)",
       "deep.x[].y",
       "1 2"},
      {"a call that is not complete",
       {R"([{"name": "f", "arguments": {"city": "Oslo", )"},
       R"({"name": "f", "arguments": {)",
       "city",
       ""},
      {"prose", {"The city is Paris."}, R"({"name": "f", "arguments": {)", "city", ""},
      {"spelled as it was", {number}, R"({"name": "f", "arguments": {)", "x", "1e20"},
      {"a call without a name", {paris}, R"({"arguments": {)", "city", ""},
  });
  for (const Case& row : kCases) {
    const Recall recall = Of(row.answers);
    std::string values;
    double sum = 0;
    for (const RecalledValue& value : recall.Values(Read(row.text).calls().back(), row.path)) {
      values += (values.empty() ? "" : " ") + value.json;
      sum += value.weight;
    }
    EXPECT_EQ(values, row.values) << row.label;
    EXPECT_LE(sum, 1 + 1e-9) << row.label;
  }
}

TEST(Recall, LastCall) {
  const std::string one = Call("f", R"("x": 1)"), two = Call("f", R"("x": 2)");
  const Recall recall = Of({one, two});
  ASSERT_NE(recall.LastCall("f"), nullptr);
  EXPECT_EQ(recall.LastCall("f")->fields[0].raw, "2");
  EXPECT_EQ(recall.LastCall("g"), nullptr);
}

TEST(Recall, TheOldestGoFirst) {
  const std::string big(300, 'x');
  Recall recall(2000);
  for (int i = 0; i < 20; ++i) {
    recall.Add(Read(Call(i % 2 == 0 ? "even" : "odd", fmt::format(R"("x": "{}{}")", i, big))));
    EXPECT_LE(recall.bytes(), 2000u);
  }
  EXPECT_GT(recall.calls(), 1u);
  EXPECT_LT(recall.calls(), 10u);
  EXPECT_THAT(recall.LastCall("odd")->fields[0].raw, testing::StartsWith("\"19x"));
  const Answer even = Read(R"({"name": "even", "arguments": {)");
  for (const RecalledValue& value : recall.Values(even.calls()[0], "x"))
    EXPECT_THAT(value.json, Not(testing::StartsWith("\"0x")));
}

TEST(Recall, ACallThatIsTooBigIsNotKept) {
  Recall recall(1000);
  recall.Add(Read(Call("f", R"("x": 1)")));
  recall.Add(Read(Call("f", fmt::format(R"("x": "{}")", std::string(2000, 'x')))));
  EXPECT_EQ(recall.calls(), 1u);
  EXPECT_EQ(recall.LastCall("f")->fields[0].raw, "1");
}

// Whatever is in it, the books are right and lookups find nothing that is gone.
TEST(Recall, OfAnyAnswers) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    KeyedDice dice(seed);
    Recall recall(static_cast<size_t>(dice.Roll(3000)));
    for (int left = dice.Roll(60); left > 0; --left) {
      const std::string tool(1, static_cast<char>('f' + dice.Roll(3)));
      const std::string value(static_cast<size_t>(1 + dice.Roll(200)), '7');
      recall.Add(Read(Call(tool, fmt::format(R"("x": {})", value))));
      size_t calls = 0;
      for (const char* name : {"f", "g", "h"}) calls += recall.LastCall(name) != nullptr ? 1 : 0;
      ASSERT_LE(calls, recall.calls()) << seed;
      ASSERT_EQ(recall.calls() == 0, recall.bytes() == 0) << seed;
      ASSERT_LE(recall.bytes(), 3000u) << seed;
    }
  }
}

// ---- In drafts ----

std::string DraftOf(const DraftInputs& inputs, const Recall* recall, std::string_view text) {
  DraftSources sources = inputs.sources();
  sources.recall = recall;
  return ExpandDraft(sources, Read(text), {.min_probability = 0.01}).Dump();
}

TEST(Recall, FillsWhatTheRequestLeavesOpen) {
  const DraftInputs inputs(kWeatherTools, kWeatherText);
  const Recall recall =
      Of({Call("get_weather", R"("city": "Oslo", "days": 9, "unit": "fahrenheit")")});
  const std::string city = R"({"tool_calls": [{"name": "get_weather", "arguments": {"city":)";
  EXPECT_THAT(DraftOf(inputs, &recall, city), HasSubstr(R"(recall  "Oslo")"));
  EXPECT_THAT(DraftOf(inputs, nullptr, city), Not(HasSubstr("Oslo")));
  // The request's own stay the likeliest.
  const std::vector<Piece> pieces = [&] {
    DraftSources sources = inputs.sources();
    sources.recall = &recall;
    return NextPieces(sources, Read(city), 0);
  }();
  double oslo = 0, paris = 0, sum = 0;
  for (const Piece& piece : pieces) {
    sum += piece.probability;
    if (piece.text == R"( "Oslo")") oslo = piece.probability;
    if (piece.text == R"( "Paris")") paris = piece.probability;
  }
  EXPECT_GT(paris, 4 * oslo);
  EXPECT_LE(sum, 1 + 1e-9);
}

TEST(Recall, ATypedValueIsRecalledToItsEnd) {
  const DraftInputs inputs(kWeatherTools, kWeatherText);
  const Recall recall = Of({Call("get_weather", R"("city": "Oslo, Norway", "days": 9)")});
  const std::string typed = R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Os)";
  EXPECT_THAT(DraftOf(inputs, &recall, typed), testing::StartsWith(R"(0.9)"));
  EXPECT_THAT(DraftOf(inputs, &recall, typed), HasSubstr(R"(recall lo, Norway")"));
}

// Habits decide between the schema's literals, and which optional keys come.
TEST(Recall, HabitsOfATool) {
  const DraftInputs inputs(kWeatherTools, kWeatherText);
  const Recall recall =
      Of({Call("get_weather", R"("city": "Oslo", "days": 9, "unit": "fahrenheit")")});
  const auto probability = [&](const Recall* known, std::string_view text, std::string_view piece) {
    DraftSources sources = inputs.sources();
    sources.recall = known;
    for (const Piece& next : NextPieces(sources, Read(text), 0)) {
      if (next.text == piece) return next.probability;
    }
    return 0.0;
  };
  const std::string_view unit = R"([{"name": "get_weather", "arguments": {"unit":)";
  EXPECT_GT(probability(&recall, unit, R"( "fahrenheit")"),
            probability(&recall, unit, R"( "celsius")"));
  EXPECT_LT(probability(nullptr, unit, R"( "fahrenheit")"),
            probability(nullptr, unit, R"( "celsius")"));
  const std::string_view keys =
      R"([{"name": "get_weather", "arguments": {"days": 5, "city": "Rome")";
  const Recall ordered =
      Of({Call("get_weather", R"("days": 9, "city": "Oslo", "unit": "celsius")")});
  EXPECT_GT(probability(&ordered, keys, ","), probability(nullptr, keys, ","));
}

}  // namespace
}  // namespace schemafill
