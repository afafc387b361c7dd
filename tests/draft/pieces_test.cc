#include "draft/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "draft/values.h"
#include "support/draft_inputs.h"
#include "support/json_tree.h"

namespace schemafill {
namespace {

using testing::IsSupersetOf;

// The likeliest first.
std::vector<Piece> Pieces(const DraftInputs& inputs, const Answer& answer) {
  std::vector<Piece> pieces =
      NextPieces(inputs.sources(), answer, ReachedBy(inputs.source, answer.calls()));
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.probability > b.probability; });
  return pieces;
}

std::vector<std::string> Texts(const DraftInputs& inputs, std::string_view text) {
  Answer answer;
  answer.Feed(text);
  std::vector<std::string> texts;
  for (const Piece& piece : Pieces(inputs, answer)) texts.push_back(piece.text);
  return texts;
}

TEST(NextPieces, TheLikeliestAndTheOthers) {
  struct Case {
    std::string_view label;
    std::string_view answer;
    std::vector<std::string> pieces;  // the likeliest first; others may be there too
  };
  const auto kCases = std::to_array<Case>({
      {"the start", "", {"{"}},
      {"behind white space", "\n", {"{"}},
      {"the list of calls", "{", {"\"tool_calls\":"}},
      {"a part of it", "{\"tool_", {"calls\":"}},
      {"an empty list is not proposed", R"({"tool_calls":)", {" ["}},
      {"a call", R"({"tool_calls": [)", {"{"}},
      {"its name", R"({"tool_calls": [{)", {"\"name\":"}},
      {"the tools",
       R"({"tool_calls": [{"name":)",
       {" \"get_weather\"", " \"send-mail:v2\"", " \"noop\""}},
      {"a tool that is no likely one", R"({"tool_calls": [{"name": "s)", {"end-mail:v2\""}},
      {"behind the name", R"({"tool_calls": [{"name": "get_weather")", {","}},
      {"the arguments", R"({"tool_calls": [{"name": "get_weather",)", {" \"arguments\":"}},
      {"their bracket", R"({"tool_calls": [{"name": "get_weather", "arguments":)", {" {"}},
      {"a required key, or an optional one",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {)",
       {"\"city\":"}},
      {"a value",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city":)",
       {" \"Paris\"", " \"London\""}},
      {"a value that is begun",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Lo)",
       {"ndon\""}},
      {"behind a value, where a required key is left",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris")",
       {",", "}"}},
      {"behind a value, where an optional one is left",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3,)",
       {" \"unit\":"}},
      {"behind the comma, a bracket can't come",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"days": 3, "city": "Paris",)",
       {" \"unit\":"}},
      {"an enum",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"unit":)",
       {" \"celsius\"", " \"fahrenheit\""}},
      {"a number", R"({"tool_calls": [{"name": "get_weather", "arguments": {"days":)", {" 3"}},
      {"a number that is complete",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"days": 3)",
       {""}},
      {"all keys are there",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"days": 3, "unit": "celsius", "city": "Paris")",
       {"}"}},
      {"a tool without fields", R"({"tool_calls": [{"name": "noop", "arguments": {)", {"}"}},
      {"behind the arguments", R"({"tool_calls": [{"name": "noop", "arguments": {})", {"}"}},
      {"the request names another city",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}})",
       {"]", ","}},
      {"the same tool again has the same keys",
       R"([{"name": "get_weather", "arguments": {"days": 3, "unit": "celsius"}}, )"
       R"({"name": "get_weather", "arguments": {"days": 5,)",
       {" \"unit\":"}},
      {"the end", R"({"tool_calls": [{"name": "noop", "arguments": {}}])", {"}"}},
      {"a list", R"({"tool_calls": [{"name": "send-mail:v2", "arguments": {"to":)", {" ["}},
      {"its element",
       R"({"tool_calls": [{"name": "send-mail:v2", "arguments": {"to": [)",
       {"\"Paris\"", "]"}},
      {"a nested object",
       R"({"tool_calls": [{"name": "send-mail:v2", "arguments": {"body":)",
       {" {"}},
      {"its keys",
       R"({"tool_calls": [{"name": "send-mail:v2", "arguments": {"body": {)",
       {"\"subject\":"}},
      {"compact", R"({"tool_calls":[{"name":"get_weather","arguments":{"city":)", {"\"Paris\""}},
      {"compact keys",
       R"({"tool_calls":[{"name":"get_weather","arguments":{"city":"Paris",)",
       {"\"days\":", "\"unit\":"}},
      {"indented",
       "{\n  \"tool_calls\": [\n    {\n      \"name\": \"get_weather\",",
       {"\n      \"arguments\":"}},
      {"indented, the end of the arguments",
       "{\n  \"tool_calls\": [\n    {\n      \"name\": \"get_weather\",\n      \"arguments\": {\n"
       "        \"days\": 3,\n        \"city\": \"Paris\"",
       {"\n      }"}},
      {"a bare call", R"({"name":)", {" \"get_weather\""}},
      {"a bare call's arguments",
       R"({"name": "get_weather", "arguments": {"city":)",
       {" \"Paris\""}},
      {"a bare list", R"([{"name": "get_weather", "parameters": {"city":)", {" \"Paris\""}},
      {"a list of an unknown field that repeats itself",
       R"({"other": [10, 20, 30, 40, 10, 20, 30, 4)",
       {"0, 10, 20, 30, 4"}},
      {"broken text that repeats itself", "{oops oops and again and again and", {" again and"}},
      {"prose that copies", "I looked at the weather in", {" Paris for 3 days, and"}},
  });
  const DraftInputs inputs(kWeatherTools, kWeatherText);
  for (const Case& row : kCases) {
    const std::vector<std::string> texts = Texts(inputs, row.answer);
    ASSERT_FALSE(texts.empty()) << row.label;
    EXPECT_EQ(texts[0], row.pieces[0]) << row.label;
    EXPECT_THAT(texts, IsSupersetOf(row.pieces)) << row.label;
  }
}

// ---- What SIDE branches have ready ----

struct PreparedCase {
  std::string_view label;
  PreparedValue prepared;
  std::string_view arguments;  // of the first call, of the tool that the value is for
  std::string_view text;       // of the likeliest piece
  PieceKind kind = PieceKind::kPrepared;
  bool ends_scalar = false;
};

// Of call 0, its tool by index.
PreparedValue Ready(int tool, std::string field, std::string json) {
  return {0, tool, std::move(field), std::move(json), true};
}
PreparedValue Begun(int tool, std::string field, std::string json) {
  return {0, tool, std::move(field), std::move(json), false};
}

std::vector<Piece> PiecesWith(const DraftInputs& inputs, const PreparedValue& prepared,
                              std::string_view text) {
  Answer answer;
  answer.Feed(text);
  DraftSources sources = inputs.sources();
  sources.prepared = std::span(&prepared, 1);
  std::vector<Piece> pieces = NextPieces(sources, answer, ReachedBy(inputs.source, answer.calls()));
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.probability > b.probability; });
  return pieces;
}

TEST(NextPieces, WhatIsPreparedGoesFirst) {
  const auto kCases = std::to_array<PreparedCase>({
      {"a value that nobody guessed", Ready(0, "city", "\"Rome\""), "{\"city\":", " \"Rome\""},
      {"one that the request has as well", Ready(0, "city", "\"London\""),
       "{\"city\":", " \"London\""},
      {"in MAIN's spelling", Ready(0, "city", "\"Rome\""), "{\"days\":5,\"city\":", "\"Rome\""},
      {"a number", Ready(0, "days", "7"), "{\"days\":", " 7", PieceKind::kPrepared, true},
      {"a literal of another type", Ready(0, "city", "null"), "{\"city\":", " null",
       PieceKind::kPrepared, true},
      {"the rest of what MAIN has begun", Ready(0, "city", "\"Rome\""), "{\"city\": \"R", "ome\""},
      {"a number that MAIN has written", Ready(0, "days", "7"), "{\"days\": 7", "",
       PieceKind::kPrepared, true},
      {"a longer number than MAIN's so far", Ready(0, "days", "75"), "{\"days\": 7", "5",
       PieceKind::kPrepared, true},
      {"its begin decides between guesses", Begun(0, "city", "\"Lo"), "{\"city\":", " \"London\"",
       PieceKind::kValue},
      {"a begin that nobody guessed", Begun(0, "city", "\"Ro"), "{\"city\":", " \"Ro"},
      {"a number's begin may go on", Begun(0, "days", "7"), "{\"days\":", " 7"},
      {"a begin that MAIN went on from", Begun(0, "city", "\"Lo"), "{\"city\": \"Lo", "ndon\"",
       PieceKind::kValue},
      {"a list", Ready(1, "to", R"(["a", "b"])"), "{\"to\":", R"( ["a", "b"])"},
      {"inside of a list the rest of it", Ready(1, "to", R"(["a", "b"])"), "{\"to\": [",
       R"("a", "b"])"},
      {"inside of its element", Ready(1, "to", R"(["a", "b"])"), R"({"to": ["a", "b)", "\"]"},
      {"its begin is as good", Begun(1, "to", R"(["a", "b)"), R"({"to": ["a")", R"(, "b)"},
      {"inside of an object", Ready(1, "body", R"({"subject": "x"})"), R"({"body": {"sub)",
       R"(ject": "x"})"},
      {"deeper", Ready(1, "body", R"({"to": [1, {"a": 2}]})"), R"({"body": {"to": [1, {"a)",
       R"(": 2}]})"},
  });
  const DraftInputs inputs(kWeatherTools, kWeatherText);
  for (const PreparedCase& row : kCases) {
    const std::string& tool = inputs.catalog.tools[static_cast<size_t>(row.prepared.tool)].name;
    const std::string_view gap =
        row.arguments.find(": ") == std::string_view::npos && row.text.front() != ' ' ? "" : " ";
    const std::string head = R"({"tool_calls": [{"name": ")" + tool + R"(", "arguments":)" +
                             std::string(gap) + std::string(row.arguments);
    const std::vector<Piece> pieces = PiecesWith(inputs, row.prepared, head);
    ASSERT_FALSE(pieces.empty()) << row.label;
    EXPECT_EQ(pieces[0].text, row.text) << row.label;
    EXPECT_EQ(Name(pieces[0].kind), Name(row.kind)) << row.label;
    EXPECT_EQ(pieces[0].ends_scalar, row.ends_scalar) << row.label;
    EXPECT_GT(pieces[0].probability, 0.5) << row.label;
    for (size_t i = 1; i < pieces.size(); ++i)
      EXPECT_NE(Name(pieces[i].kind), "prepared") << row.label << ": " << pieces[i].text;
  }
}

// The pieces are those without it.
TEST(NextPieces, WhatIsPreparedIsFoundByItsKeyAsWritten) {
  const DraftInputs inputs(
      R"([{"name": "f", "parameters": {"properties": {"q\"x": {"type": "integer"}}}}])", "Call f.");
  const std::vector<Piece> pieces = PiecesWith(
      inputs, Ready(0, "q\"x", "7"), R"({"tool_calls": [{"name": "f", "arguments": {"q\"x":)");
  ASSERT_FALSE(pieces.empty());
  EXPECT_EQ(pieces[0].text, " 7");
}

TEST(NextPieces, WhatIsPreparedForAnotherPlaceIsNotUsed) {
  struct Case {
    std::string_view label;
    PreparedValue prepared;
    std::string_view answer;
  };
  const std::string call = R"({"tool_calls": [{"name": "get_weather", "arguments": {"city":)";
  const std::string mail = R"({"tool_calls": [{"name": "send-mail:v2", "arguments": {"body": {)";
  const std::string second = R"({"tool_calls": [{"name": "noop", "arguments": {}}, )"
                             R"({"name": "get_weather", "arguments": {"city":)";
  const std::string list = R"({"tool_calls": [{"name": "send-mail:v2", "arguments": {"to": [)";
  const std::string begun = call + " \"Par";
  const std::string unknown = R"({"tool_calls": [{"name": "x", "arguments": {"city":)";
  const std::string subject = mail + "\"subject\":";
  const std::string other = list + "\"x";
  const std::string whole = list + "\"x\"";
  const auto kCases = std::to_array<Case>({
      {"another call", {1, 0, "city", "\"Rome\"", true}, call},
      {"an earlier call", {0, 0, "city", "\"Rome\"", true}, second},
      {"another tool", {0, 1, "city", "\"Rome\"", true}, call},
      {"another field", {0, 0, "days", "7", true}, call},
      {"a tool that nobody knows", {0, 0, "city", "\"Rome\"", true}, unknown},
      {"MAIN went elsewhere", {0, 0, "city", "\"Rome\"", true}, begun},
      {"a begin that MAIN is beyond", {0, 0, "city", "\"Pa", false}, begun},
      {"a begin that MAIN has written", {0, 0, "city", "\"Par", false}, begun},
      {"an inner field of its name", {0, 1, "subject", "\"x\"", true}, subject},
      {"an inner field by its path", {0, 1, "body.subject", "\"x\"", true}, subject},
      {"a list that went elsewhere", {0, 1, "to", R"(["a", "b"])", true}, other},
      {"a list of which MAIN has more", {0, 1, "to", "[\"", false}, other},
      {"a list of which MAIN has as much", {0, 1, "to", "[\"x\"", false}, whole},
      {"in front of a call", {0, 0, "city", "\"Rome\"", true}, "{\"tool_calls\": ["},
      {"in prose", {0, 0, "city", "\"Rome\"", true}, "I looked at the weather in"},
  });
  const DraftInputs inputs(kWeatherTools, kWeatherText);
  for (const Case& row : kCases) {
    Answer answer;
    answer.Feed(row.answer);
    const std::vector<Piece> want = Pieces(inputs, answer);
    const std::vector<Piece> got = PiecesWith(inputs, row.prepared, row.answer);
    ASSERT_EQ(got.size(), want.size()) << row.label;
    for (size_t i = 0; i < got.size(); ++i) {
      EXPECT_EQ(got[i].text, want[i].text) << row.label;
      EXPECT_EQ(Name(got[i].kind), Name(want[i].kind)) << row.label;
      EXPECT_NEAR(got[i].probability, want[i].probability, 1e-9) << row.label;
    }
  }
}

// What nobody can guess gets no piece.
TEST(NextPieces, None) {
  constexpr auto kCases = std::to_array<std::string_view>({
      "I can't do that",
      "{oops",
      R"({"tool_calls": []})",
      R"({"other":)",
      R"({"other": {)",
      R"({"tool_calls": [{"x":)",
      R"({"tool_calls": [{"name": "F)",
      R"({"tool_calls": [{"name": "nobody", "arguments": {)",
      R"({"tool_calls": [{"name": "get_weather", "arguments": [)",
  });
  const DraftInputs inputs(kWeatherTools, kWeatherText);
  for (const std::string_view text : kCases)
    EXPECT_THAT(Texts(inputs, text), testing::IsEmpty()) << text;
  EXPECT_THAT(Texts(DraftInputs("[]", kWeatherText), ""), testing::IsEmpty());
}

// The likeliest piece after the likeliest piece.
TEST(NextPieces, Chained) {
  const DraftInputs inputs(kWeatherTools, "What is the weather in Paris for 3 days?");
  Answer answer;
  std::string chain;
  while (!answer.json().closed() && chain.size() < 400) {
    const std::vector<Piece> pieces = Pieces(inputs, answer);
    ASSERT_FALSE(pieces.empty()) << chain;
    answer.Feed(pieces[0].text);
    if (pieces[0].ends_scalar) answer.FinishScalar();
    chain += pieces[0].text;
  }
  EXPECT_EQ(
      chain,
      R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}}]})");
}

// Whatever stands in an answer, its pieces are a distribution and keep it what it is.
TEST(NextPieces, OfAnyAnswer) {
  const DraftInputs inputs(
      R"([{"name": "a.b", "parameters": {"properties": {"name": {}, "a\"b": {"type": "string"},
           "tree": {"type": "object", "properties": {"tree": {"$ref": "#/properties/tree"}, "v": {"enum": ["x", "y"]}}},
           "l": {"type": "array", "items": {"type": "array", "items": {"type": "integer"}}}}}},
          {"name": "tool_calls"}])",
      "Take 5 and \"x\\y\" and 7%.");
  const std::vector<std::string> names = {R"("a.b")", R"("tool_calls")", R"("x")", "5", "[]"};
  for (uint64_t seed = 0; seed < 1500; ++seed) {
    KeyedDice dice(seed);
    JsonTree call = JsonTree::Object();
    call.Add("name", JsonTree::Scalar(dice.Pick(names)));
    call.Add(dice.OneIn(4) ? "parameters" : "arguments", RandomTree(dice, 4));
    JsonTree outer = call;
    if (!dice.OneIn(4)) {
      JsonTree list = JsonTree::Array();
      list.Add(call).Add(call);
      outer = dice.OneIn(4) ? list : JsonTree::Object().Add("tool_calls", list);
    }
    std::string text =
        Write(outer, {.indent = dice.Roll(3), .odd = dice.OneIn(2) ? &dice : nullptr});
    text.resize(static_cast<size_t>(dice.Roll(static_cast<int>(text.size()) + 1)));
    if (dice.OneIn(4) && !text.empty()) {
      text[static_cast<size_t>(dice.Roll(static_cast<int>(text.size())))] =
          static_cast<char>(dice.Roll(256));
    }
    Answer answer;
    answer.Feed(text);
    std::string ready = Write(RandomTree(dice, 2));
    const bool complete = dice.OneIn(2);
    if (!complete) ready.resize(1 + static_cast<size_t>(dice.Roll(static_cast<int>(ready.size()))));
    const PreparedValue prepared{dice.Roll(2), dice.Roll(2), dice.Pick(OddKeys()), ready, complete};
    double sum = 0;
    for (const Piece& piece : PiecesWith(inputs, prepared, text)) {
      sum += piece.probability;
      ASSERT_TRUE(!piece.text.empty() || piece.ends_scalar) << text;
      Answer next = answer;
      next.Feed(piece.text);
      if (answer.json().anchor() == Anchor::kBroken) continue;  // what follows is only repeated
      ASSERT_NE(next.json().anchor(), Anchor::kBroken) << text << " --- " << piece.text;
    }
    ASSERT_LE(sum, 1 + 1e-9) << text;
  }
}

}  // namespace
}  // namespace schemafill
