#include "draft/pieces.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

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
    double sum = 0;
    for (const Piece& piece : Pieces(inputs, answer)) {
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
