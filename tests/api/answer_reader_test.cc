#include "api/answer_reader.h"

#include <gtest/gtest.h>

#include <array>

#include "engine/scenarios.h"
#include "support/keyed_dice.h"

namespace schemafill {
namespace {

// `content|name(arguments)|...`; `-` where there is no content.
std::string Dump(const ChatMessage& message) {
  std::string text = message.content.value_or("-");
  for (const ToolCall& call : message.calls) text += "|" + call.name + "(" + call.arguments + ")";
  return text;
}

// The message that deltas sum to. A call's name comes ahead of its arguments, calls in order.
ChatMessage Sum(const std::vector<Delta>& deltas) {
  ChatMessage message;
  for (const Delta& delta : deltas) {
    const int calls = static_cast<int>(message.calls.size());
    if (delta.kind == Delta::Kind::kContent) {
      EXPECT_EQ(calls, 0);
      EXPECT_FALSE(delta.text.empty());
      message.content = message.content.value_or("") + delta.text;
    } else if (delta.kind == Delta::Kind::kCall) {
      EXPECT_EQ(delta.call, calls);
      message.calls.push_back({delta.text, ""});
    } else {
      EXPECT_FALSE(delta.text.empty());
      EXPECT_EQ(delta.call, calls - 1);
      message.calls.back().arguments += delta.text;
    }
  }
  if (!message.content && message.calls.empty()) message.content = "";
  return message;
}

struct Case {
  std::string_view label;
  std::string_view text;
  std::string_view message;
};

constexpr auto kCases = std::to_array<Case>({
    {"nothing", "", ""},
    {"prose", "Hello {there}.\n", "Hello {there}.\n"},
    {"calls",
     R"({"tool_calls": [{"name": "f", "arguments": {"a": 1e20}}, {"name": "g", "arguments": {}}]})",
     R"(-|f({"a": 1e20})|g({}))"},
    {"a bare list", R"([{"name":"f","arguments":{"a":{"b":[{}]}}}])", R"(-|f({"a":{"b":[{}]}}))"},
    {"a bare call", R"({"name": "f", "arguments": {"name": "g"}})", R"(-|f({"name": "g"}))"},
    {"parameters", R"({"name": "f", "parameters": {"a": "}"}})", R"(-|f({"a": "}"}))"},
    {"prose in front", "Sure. \n {\"name\": \"f\", \"arguments\": {}}", "Sure.|f({})"},
    {"white space in front", " \n{\"name\": \"f\", \"arguments\": {}}", "-|f({})"},
    {"text behind", R"([{"name": "f", "arguments": {}}] and so on)", "-|f({})"},
    {"arguments first", R"([{"arguments": {"a": 1}, "name": "f"}])", R"(-|f({"a": 1}))"},
    {"arguments that are no object", R"([{"name": "f", "arguments": [1, {}]}])", "-|f([1, {}])"},
    {"arguments as text", R"([{"name": "f", "arguments": "{}"}])", R"(-|f("{}"))"},
    {"an object that is no call", R"({"name": "Bob", "age": 7})", R"({"name": "Bob", "age": 7})"},
    {"a call without arguments", R"({"tool_calls": [{"name": "f"}]})",
     R"({"tool_calls": [{"name": "f"}]})"},
    {"the second has none", R"([{"name": "f"}, {"name": "g", "arguments": {}}])", "-|g({})"},
    {"no calls", R"({"tool_calls": []} )", R"({"tool_calls": []} )"},
    {"a list in prose", "[1] says {so", "[1] says {so"},
    {"cut in a name", R"({"tool_calls": [{"name": "f)", R"({"tool_calls": [{"name": "f)"},
    {"cut in arguments", R"({"tool_calls": [{"name": "f", "arguments": {"a": "b)",
     R"(-|f({"a": "b))"},
    {"cut in the second", R"([{"name": "f", "arguments": {}}, {"na)", "-|f({})"},
    {"broken in front", R"({"tool_calls": [oops {"name": "f", "arguments": {}}]})",
     R"({"tool_calls": [oops {"name": "f", "arguments": {}}]})"},
    {"broken in arguments", R"([{"name": "f", "arguments": {"a": {]}}])", R"(-|f({"a": {]}}]))"},
    {"odd values",
     R"([{"name": "\u0066\n", "arguments": {"a": "\ud83d\ude00", "b": -0, "b": 0.10}}])",
     "-|f\n({\"a\": \"\\ud83d\\ude00\", \"b\": -0, \"b\": 0.10})"},
    {"keys like ours",
     R"([{"name": "f", "arguments": {"name": "x", "arguments": {"tool_calls": []}}}])",
     R"(-|f({"name": "x", "arguments": {"tool_calls": []}}))"},
});

TEST(AnswerReader, Messages) {
  for (const Case& row : kCases)
    EXPECT_EQ(Dump(ReadMessage(row.text, true, false)), row.message) << row.label;
}

TEST(AnswerReader, WithoutToolsAllIsContent) {
  for (const Case& row : kCases)
    EXPECT_EQ(Dump(ReadMessage(row.text, false, false)), row.text) << row.label;
}

TEST(AnswerReader, OneCall) {
  constexpr std::string_view kTwo =
      R"([{"name": "f", "arguments": {}}, {"name": "g", "arguments": {}}])";
  EXPECT_EQ(Dump(ReadMessage(kTwo, true, true)), "-|f({})");
}

void ExpectEverySplit(std::string_view text, bool one_call, KeyedDice* dice) {
  const std::string want = Dump(ReadMessage(text, true, one_call));
  for (int round = 0; round < 12; ++round) {
    AnswerReader reader(true, one_call);
    std::vector<Delta> deltas;
    const int longest = round == 0 ? 1 : 1 + dice->Roll(40);
    for (size_t at = 0; at < text.size();) {
      const auto size = static_cast<size_t>(1 + dice->Roll(longest));
      for (Delta& delta : reader.Feed(text.substr(at, size))) deltas.push_back(std::move(delta));
      at += size;
    }
    for (Delta& delta : reader.Finish()) deltas.push_back(std::move(delta));
    const ChatMessage message = Sum(deltas);
    EXPECT_EQ(Dump(message), want) << text;
    EXPECT_EQ(reader.has_calls(), !message.calls.empty());
  }
}

TEST(AnswerReader, TheSameForEverySplit) {
  KeyedDice dice(11);
  for (const Case& row : kCases) ExpectEverySplit(row.text, false, &dice);
  for (int kind = 0; kind < static_cast<int>(AnswerKind::kCount); ++kind) {
    for (uint64_t seed = 900; seed < 920; ++seed) {
      const std::string text = MakeScenario(seed, static_cast<AnswerKind>(kind)).text;
      for (const bool one_call : {false, true}) {
        ExpectEverySplit(text, one_call, &dice);
        ExpectEverySplit(
            text.substr(0, static_cast<size_t>(dice.Roll(static_cast<int>(text.size()) + 1))),
            one_call, &dice);
      }
    }
  }
}

// Well-formed answers: the very calls of `generate`.
TEST(AnswerReader, CallsAreThoseOfTheAnswer) {
  for (const AnswerKind kind :
       {AnswerKind::kDumps, AnswerKind::kCompact, AnswerKind::kIndented, AnswerKind::kOddSpace,
        AnswerKind::kOther, AnswerKind::kProseFirst, AnswerKind::kFenced, AnswerKind::kBareCall,
        AnswerKind::kBareList, AnswerKind::kTextBehind, AnswerKind::kOddValues}) {
    for (uint64_t seed = 900; seed < 920; ++seed) {
      const std::string text = MakeScenario(seed, kind).text;
      Answer answer;
      answer.Feed(text);
      const ChatMessage message = ReadMessage(text, true, false);
      EXPECT_EQ(Dump({"", message.calls}), Dump({"", CompleteCalls(answer)})) << text;
    }
  }
}

}  // namespace
}  // namespace schemafill
