#include "catalog/answer.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

namespace schemafill {
namespace {

Answer Fed(std::string_view text) {
  Answer answer;
  answer.Feed(text);
  return answer;
}

// name(path=raw, ...) of each call, complete or not, with the arguments' text where it is complete.
std::string Dump(const Answer& answer) {
  std::string out;
  for (const AnswerCall& call : answer.calls()) {
    std::string fields;
    for (const AnswerField& field : call.fields)
      fields += fmt::format("{}{}={}", fields.empty() ? "" : ", ", field.path, field.raw);
    out += fmt::format("{}{}({})", out.empty() ? "" : " ", call.name, fields);
  }
  return out;
}

// name arguments; of each complete call.
std::string Complete(const Answer& answer) {
  std::string out;
  for (const ToolCall& call : CompleteCalls(answer))
    out += fmt::format("{} {}; ", call.name, call.arguments);
  return out;
}

TEST(Answer, CallsWhileTheyGrow) {
  struct Case {
    std::string_view text;
    std::string_view calls;
    std::string_view complete;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"", "", ""},
      {R"({"tool_calls": [)", "", ""},
      {R"({"tool_calls": [{)", "()", ""},
      {R"({"tool_calls": [{"name": "f)", "()", ""},
      {R"({"tool_calls": [{"name": "f")", "f()", ""},
      {R"({"tool_calls": [{"name": "f", "arguments": {"a": 12)", "f()", ""},
      {R"({"tool_calls": [{"name": "f", "arguments": {"a": 12, "b": "x"})", R"(f(a=12, b="x"))",
       R"(f {"a": 12, "b": "x"}; )"},
      {R"({"tool_calls": [{"name": "f", "arguments": {"a": {"b": [1, {"c": null}]}}}, {)",
       "f(a.b[]=1, a.b[].c=null) ()", R"(f {"a": {"b": [1, {"c": null}]}}; )"},
      {R"({"tool_calls": [{"name": "f", "arguments": {}}, {"name": "f", "arguments": {"a": 1}}]})",
       "f() f(a=1)", R"(f {}; f {"a": 1}; )"},
      {R"([{"name": "f", "arguments": {"a": 1}}, {"name": "g", "arguments": {}}])", "f(a=1) g()",
       R"(f {"a": 1}; g {}; )"},
      {R"({"name": "f", "arguments": {"a": 1}})", "f(a=1)", R"(f {"a": 1}; )"},
      {R"(Here: {"name": "f", "parameters": {"a": 1}})", "f(a=1)", R"(f {"a": 1}; )"},
  });
  for (const Case& row : kCases) {
    EXPECT_EQ(Dump(Fed(row.text)), row.calls) << row.text;
    EXPECT_EQ(Complete(Fed(row.text)), row.complete) << row.text;
  }
}

// Cases list, item 8 and what else models write.
TEST(Answer, OddCalls) {
  struct Case {
    std::string_view label;
    std::string_view text;
    std::string_view complete;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"arguments in front of the name",
       R"({"tool_calls": [{"arguments": {"a": 1}, "name": "f"}]})", R"(f {"a": 1}; )"},
      {"the same in a bare call", R"({"arguments": {"a": 1}, "name": "f"})", R"(f {"a": 1}; )"},
      {"a key twice", R"({"tool_calls": [{"name": "f", "arguments": {"a": 1, "a": 2}}]})",
       R"(f {"a": 1, "a": 2}; )"},
      {"arguments twice: the last",
       R"({"tool_calls": [{"name": "f", "arguments": {"a": 1}, "arguments": {"a": 2}}]})",
       R"(f {"a": 2}; )"},
      {"the name twice: the last",
       R"({"tool_calls": [{"name": "f", "arguments": {}, "name": "g"}]})", "g {}; "},
      {"other keys", R"({"id": 1, "tool_calls": [{"id": "x", "name": "f", "arguments": {}}]})",
       "f {}; "},
      {"digits as they are",
       R"({"name": "f", "arguments": {"a":9223372036854775807,"b":1e20,"c":-0,"d": 230.0,"e":0.1}})",
       R"(f {"a":9223372036854775807,"b":1e20,"c":-0,"d": 230.0,"e":0.1}; )"},
      {"escapes as they are", R"({"name": "f", "arguments": {"a": "\ud83d\ude00 \u00e9\/"}})",
       R"(f {"a": "\ud83d\ude00 \u00e9\/"}; )"},
      {"an escaped name", R"({"name": "g\u0065t\"", "arguments": {}})", "get\" {}; "},
      {"a backslash in front of the closing quote", R"({"name": "f", "arguments": {"l": "a\\"}})",
       R"(f {"l": "a\\"}; )"},
      {"arguments as text", R"({"name": "f", "arguments": "{\"a\": 1}"})", R"(f "{\"a\": 1}"; )"},
      {"properties called name and arguments",
       R"({"tool_calls": [{"name": "f", "arguments": {"name": "x", "arguments": {"name": "y"}}}]})",
       R"(f {"name": "x", "arguments": {"name": "y"}}; )"},
      {"no name", R"({"tool_calls": [{"arguments": {}}]})", ""},
      {"no arguments", R"({"tool_calls": [{"name": "f"}]})", ""},
      {"a name that is no text", R"({"name": 5, "arguments": {"a": [1, 2]}})", ""},
      {"a name that is no text, in a list",
       R"({"tool_calls": [{"name": ["f"], "arguments": {"a": [1, 2]}}]})", ""},
      {"a name that can't be read", "{\"name\": \"\xff\", \"arguments\": {}}", ""},
      {"a name with half a pair", R"({"name": "\ud800", "arguments": {}})", ""},
      {"arguments that can't be read", "{\"name\": \"f\", \"arguments\": {\"a\": \"\xff\"}}", ""},
      {"arguments that are no JSON", R"({"name": "f", "arguments": {"a": tru}})", ""},
      {"a name deeper down is not the call's",
       R"({"tool_calls": [{"function": {"name": "f", "arguments": {}}}]})", ""},
      {"a call that is not in the list's first level",
       R"({"tool_calls": [[{"name": "f", "arguments": {}}]]})", ""},
      {"keys that look like paths", R"({"tool_calls[].name": "f", "tool_calls[].arguments": {}})",
       ""},
      {"keys that look like paths, in a call",
       R"({"tool_calls": [{"name": "f", "arguments": {}, "x.name": "g", "arguments.a": 1}]})",
       "f {}; "},
      {"a list and a bare call: the list's calls",
       R"({"tool_calls": [{"name": "f", "arguments": {}}], "name": "g", "arguments": {"a": 1}})",
       "f {}; "},
      {"a list whose call is not complete, and bare arguments",
       R"({"tool_calls": [{"name": "f"}], "arguments": {"a": 1}})", ""},
      {"a bare call and a list: all",
       R"({"name": "g", "tool_calls": [{"name": "f", "arguments": {}}], "arguments": {"a": 1}})",
       R"(g {"a": 1}; f {}; )"},
      {"no JSON behind a complete call",
       R"({"tool_calls": [{"name": "f", "arguments": {}}, oops {"name": "g"}]})", "f {}; "},
      {"text behind the end", R"({"name": "f", "arguments": {}} {"name": "g", "arguments": {}})",
       "f {}; "},
  });
  for (const Case& row : kCases) {
    const Answer answer = Fed(row.text);
    EXPECT_EQ(Complete(answer), row.complete) << row.label;
    EXPECT_EQ(answer.text(), row.text) << row.label;
    Answer bytes;
    for (const char c : row.text) bytes.Feed(std::string_view(&c, 1));
    EXPECT_EQ(Dump(bytes), Dump(answer)) << row.label;
  }
}

std::string_view Name(Place place) {
  constexpr std::array<std::string_view, 6> kNames = {"prose", "root",      "calls",
                                                      "call",  "arguments", "elsewhere"};
  return kNames[static_cast<size_t>(place)];
}

TEST(Answer, WhereItStands) {
  struct Case {
    std::string_view text;
    std::string_view place;  // with the path below the arguments, and the current call
  };
  constexpr auto kCases = std::to_array<Case>({
      {"", "prose -1"},
      {"Well, ", "prose -1"},
      {"{", "root -1"},
      {R"({"tool_calls")", "root -1"},
      {R"({"tool_calls": [)", "calls -1"},
      {R"({"tool_calls": [{)", "call 0"},
      {R"({"tool_calls": [{"name": "f", "arguments")", "call 0"},
      {R"({"tool_calls": [{"name": "f", "arguments": {)", "arguments: 0"},
      {R"({"tool_calls": [{"name": "f", "arguments": {"a": )", "arguments:a 0"},
      {R"({"tool_calls": [{"name": "f", "arguments": {"a": [{"b": 1)", "arguments:a[].b 0"},
      {R"({"tool_calls": [{"name": "f", "arguments": {"a": 1}, "x": {)", "elsewhere 0"},
      {R"({"tool_calls": [{"name": "f", "arguments": [)", "elsewhere 0"},
      {R"({"tool_calls": [{"name": "f", "arguments": {"a": 1}})", "calls 0"},
      {R"({"tool_calls": [{"name": "f", "arguments": {}}, {"name": )", "call 1"},
      {R"({"tool_calls": [{"name": "f", "arguments": {}}])", "root 0"},
      {R"({"tool_calls": {)", "elsewhere -1"},
      {R"({"x": [{)", "elsewhere -1"},
      {R"({"name": )", "call 0"},
      {R"({"name": 5, "arguments": {"a": [1, )", "arguments:a[] 0"},
      {R"({"parameters": {"a": )", "arguments:a 0"},
      {R"([{"name": "f", "arguments": {"a": )", "arguments:a 0"},
      {R"([{"name": "f"})", "calls 0"},
      {R"({"tool_calls": []})", "elsewhere -1"},
      {"{oops", "elsewhere -1"},
  });
  for (const Case& row : kCases) {
    const Answer answer = Fed(row.text);
    std::string place(Name(answer.place()));
    if (answer.place() == Place::kArguments) place += ":" + answer.argument_path();
    EXPECT_EQ(fmt::format("{} {}", place, answer.current_call()), row.place) << row.text;
  }
}

TEST(Answer, FinishScalar) {
  Answer answer = Fed(R"({"name": "f", "arguments": {"a": 12)");
  answer.FinishScalar();
  EXPECT_EQ(Dump(answer), "f(a=12)");
  answer.FinishScalar();
  EXPECT_EQ(Dump(answer), "f(a=12)");
  answer.Feed("}}");
  EXPECT_EQ(Complete(answer), R"(f {"a": 12}; )");
}

}  // namespace
}  // namespace schemafill
