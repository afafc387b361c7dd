#include "engine/scenarios.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "support/json_tree.h"
#include "support/requests.h"

namespace schemafill {
namespace {

using Words = std::vector<std::string>;

const Words& ToolNames() {
  static const Words kNames = {"get_weather", "get_weather_now", "google.mail:send-v2", "name",
                               "get",         "tool_calls",      "send mail",           "\xc3\xa9"};
  return kNames;
}

const Words& FieldNames() {
  static const Words kNames = {"city", "unit", "name",       "arguments", "type", "properties",
                               "days", "a",    "parameters", "a.b",       "q\"x", "tool_calls"};
  return kNames;
}

// What the request says, and values are copied from.
const Words& Facts() {
  static const Words kFacts = {
      "Paris", "London", "S\xc3\xa3o Paulo", "New York",  "5",
      "3.5",   "12",     "2024-05-01",       "bob@x.com", "'Yellow Submarine'",
      "5,000", "20%",    "\xf0\x9f\x98\x80", "C:\\tmp",   "celsius",
      "ab",    "abc",    "http://e.com/p",   "\"a b c\""};
  return kFacts;
}

const Words& Enum() {
  static const Words kEnum = {"ab", "ac", "abc", "celsius", "C:\\tmp", "a\"b", "\n", "Paris"};
  return kEnum;
}

class Maker {
 public:
  explicit Maker(uint64_t seed) : dice_(seed) {}

  Scenario Make(AnswerKind kind) {
    tools_ = Tools();
    Scenario scenario;
    scenario.request = ReadRequest(tools_.dump(), RequestText());
    scenario.text = Answer(kind);
    scenario.answer =
        dice_.OneIn(3) ? OtherTokens(scenario.text) : ScenarioTokenizer()->Encode(scenario.text);
    return scenario;
  }

 private:
  // ---- The request ----

  Json Tools() {
    Json tools = Json::array();
    Words names = ToolNames();
    for (int left = 1 + dice_.Roll(4); left > 0; --left) {
      const size_t at = static_cast<size_t>(dice_.Roll(static_cast<int>(names.size())));
      Json tool = {{"name", names[at]}};
      names.erase(names.begin() + static_cast<std::ptrdiff_t>(at));
      if (!dice_.OneIn(6)) tool["parameters"] = ObjectSchema(2);
      tools.push_back(tool);
    }
    return tools;
  }

  Json ObjectSchema(int depth) {
    Json schema = {{"type", dice_.OneIn(3) ? "dict" : "object"}, {"properties", Json::object()}};
    Json required = Json::array();
    for (int left = dice_.Roll(4); left > 0; --left) {
      const std::string name = dice_.Pick(FieldNames());
      if (schema["properties"].contains(name)) continue;
      schema["properties"][name] = FieldSchema(depth - 1);
      if (!dice_.OneIn(3)) required.push_back(name);
    }
    if (!required.empty()) schema["required"] = required;
    return schema;
  }

  Json FieldSchema(int depth) {
    switch (dice_.Roll(depth > 0 ? 13 : 10)) {
      case 0:
        return {{"type", "integer"}};
      case 1:
        return {{"type", dice_.OneIn(2) ? "float" : "number"}, {"default", 2.5}};
      case 2:
        return {{"type", "boolean"}};
      case 3:
        return {{"enum", Enum()}};
      case 4:
        return {{"type", "string"}, {"enum", {"ab", "ac"}}};
      case 5:
        return {{"type", Json::array({"string", "null"})}};
      case 6:
        return {{"const", 1}};
      case 7:
        return dice_.OneIn(2) ? Json::object() : Json{{"type", "any"}};
      case 10:
        return ObjectSchema(depth);
      case 11:
        return {{"type", dice_.OneIn(2) ? "array" : "tuple"}, {"items", FieldSchema(depth - 1)}};
      case 12:
        return {{"anyOf", Json::array({FieldSchema(0), ObjectSchema(depth)})}};
      default:
        return {{"type", "string"}};
    }
  }

  std::string RequestText() {
    static const Words kBetween = {" and ", " in ", " for ", ", ", ". ", "\n", " to "};
    std::string text = "Get";
    for (int left = 1 + dice_.Roll(6); left > 0; --left) {
      text += dice_.Pick(kBetween);
      text += dice_.Pick(Facts());
    }
    return text;
  }

  // ---- The answer ----

  std::string Answer(AnswerKind kind) {
    odd_values_ = kind == AnswerKind::kOddValues;
    other_ = kind == AnswerKind::kOther;
    shuffled_ = kind == AnswerKind::kShuffled;
    const JsonStyle dumps;
    const JsonStyle compact{.colon = ":", .comma = ","};
    switch (kind) {
      case AnswerKind::kCompact:
        return Write(Outer(), compact);
      case AnswerKind::kIndented:
        return Write(Outer(), {.indent = 1 + dice_.Roll(4)});
      case AnswerKind::kOddSpace:
        return Write(Outer(), {.colon = ":", .comma = ",", .odd = &dice_});
      case AnswerKind::kProse:
        return "The weather in " + dice_.Pick(Facts()) + " and there is [fine].";
      case AnswerKind::kProseFirst:
        return "Sure, " + dice_.Pick(Facts()) + ":\n" + Write(Outer(), dumps);
      case AnswerKind::kFenced:
        return "```json\n" + Write(dice_.OneIn(2) ? Outer() : Calls(), dumps) + "\n```";
      case AnswerKind::kBroken:
        return Damaged(dice_, Write(Outer(), dumps), 1 + dice_.Roll(2));
      case AnswerKind::kBareCall:
        return Write(Call(), dumps);
      case AnswerKind::kBareList:
        return Write(Calls(), dice_.OneIn(2) ? dumps : compact);
      case AnswerKind::kEmpty:
        return {};
      case AnswerKind::kTextBehind:
        return Write(Outer(), dumps) + "}}\n{\"tool_calls\": []} Done.";
      case AnswerKind::kUnfinished: {
        const std::string text = Write(Outer(), dumps);
        return text.substr(0, static_cast<size_t>(dice_.Roll(static_cast<int>(text.size()))));
      }
      default:
        return Write(Outer(), dumps);
    }
  }

  JsonTree Outer() { return JsonTree::Object().Add("tool_calls", Calls()); }

  JsonTree Calls() {
    JsonTree calls = JsonTree::Array();
    for (int left = 1 + dice_.Roll(3); left > 0; --left) calls.Add(Call());
    return calls;
  }

  JsonTree Call() {
    const Json& tool = dice_.Pick(tools_);
    std::string name = tool["name"];
    if (other_ && dice_.OneIn(2)) name += "_x";
    JsonTree arguments = JsonTree::Object();
    if (tool.contains("parameters")) arguments = ObjectValue(tool["parameters"]);
    JsonTree call = JsonTree::Object();
    call.Add("name", JsonTree::String(name)).Add("arguments", std::move(arguments));
    if (shuffled_ && dice_.OneIn(3)) std::swap(call.members[0], call.members[1]);
    return call;
  }

  JsonTree ObjectValue(const Json& schema) {
    JsonTree object = JsonTree::Object();
    const Json required = schema.value("required", Json::array());
    for (const auto& [name, field] : schema["properties"].items()) {
      const bool needed = std::find(required.begin(), required.end(), name) != required.end();
      if (!needed && dice_.OneIn(2)) continue;
      object.Add(EscapeJson(name), Value(field));
    }
    if (other_) object.Add("other", RandomTree(dice_, 1));
    if (shuffled_ && !object.members.empty()) {
      if (dice_.OneIn(2)) object.members.push_back(dice_.Pick(object.members));
      std::rotate(object.members.begin(), object.members.begin() + 1, object.members.end());
    }
    return object;
  }

  JsonTree Value(const Json& schema) {
    if (odd_values_) return JsonTree::Scalar(dice_.Pick(OddScalars()));
    if (schema.contains("enum"))
      return JsonTree::String(dice_.Pick(schema["enum"]).get<std::string>());
    if (schema.contains("anyOf")) return Value(dice_.Pick(schema["anyOf"]));
    const std::string type = schema.contains("type") && schema["type"].is_string()
                                 ? schema["type"].get<std::string>()
                                 : "";
    if (type == "object" || type == "dict") return ObjectValue(schema);
    if (type == "array" || type == "tuple") return ListValue(schema["items"]);
    if (type == "integer") return JsonTree::Scalar(dice_.OneIn(2) ? "5" : "12");
    if (type == "number" || type == "float")
      return JsonTree::Scalar(dice_.OneIn(2) ? "3.5" : "0.2");
    if (type == "boolean") return JsonTree::Scalar(dice_.OneIn(2) ? "true" : "false");
    std::string text = dice_.Pick(Facts());
    std::erase_if(text, [](char c) { return c == '\'' || c == '"'; });
    return JsonTree::String(text);
  }

  JsonTree ListValue(const Json& items) {
    JsonTree list = JsonTree::Array();
    for (int left = dice_.Roll(3); left > 0; --left) list.Add(Value(items));
    return list;
  }

  // The text in tokens that the tokenizer would not choose, characters cut apart among them.
  std::vector<Token> OtherTokens(std::string_view text) {
    const auto tokenizer = ScenarioTokenizer();
    std::vector<Token> tokens;
    while (!text.empty()) {
      const size_t length = static_cast<size_t>(1 + dice_.Roll(9));
      tokens.push_back(tokenizer->Encode(text.substr(0, length))[0]);
      text.remove_prefix(tokenizer->Piece(tokens.back()).size());
    }
    return tokens;
  }

  KeyedDice dice_;
  Json tools_;
  bool odd_values_ = false;
  bool other_ = false;
  bool shuffled_ = false;
};

}  // namespace

std::shared_ptr<const ScriptedTokenizer> ScenarioTokenizer() {
  static const auto kTokenizer = [] {
    Words words = {"Call the tools that the request needs. Answer with one JSON object: ",
                   "{\"tool_calls\": [{\"name\": ..., \"arguments\": {...}}, ...]}.",
                   "system",
                   "user",
                   "assistant",
                   "Tools:\n",
                   "Request: ",
                   "{\"name\": \"",
                   "\", \"parameters\": {\"type\": \"",
                   "\", \"properties\": {",
                   "\"required\": [",
                   "{\"type\": \"",
                   "{\"enum\": [",
                   "string",
                   "integer",
                   "object",
                   "boolean",
                   "{\"",
                   "\": ",
                   "\": \"",
                   "\", \"",
                   "\"}",
                   "\"}}",
                   "}}",
                   "}, {\"",
                   "[{\"",
                   "]}",
                   "}]}",
                   "\":",
                   ",\"",
                   "tool",
                   "_calls",
                   "arg",
                   "uments",
                   "weather",
                   "get",
                   "_now",
                   "Par",
                   "is",
                   "Lon",
                   "don",
                   " York",
                   "celsius",
                   " and ",
                   " in ",
                   "12",
                   "20",
                   "null"};
    for (const Words* const more : {&FieldNames(), &ToolNames(), &Enum()})
      words.insert(words.end(), more->begin(), more->end());
    std::sort(words.begin(), words.end());
    words.erase(std::unique(words.begin(), words.end()), words.end());
    std::erase_if(words, [](const std::string& word) { return word.size() < 2; });
    return std::make_shared<ScriptedTokenizer>(words);
  }();
  return kTokenizer;
}

std::string_view Name(AnswerKind kind) {
  constexpr auto kNames = std::to_array<std::string_view>(
      {"dumps", "compact", "indented", "odd space", "other", "shuffled", "prose", "prose first",
       "fenced", "broken", "bare call", "bare list", "empty", "text behind", "odd values",
       "unfinished"});
  return kNames[static_cast<size_t>(kind)];
}

Scenario MakeScenario(uint64_t seed, AnswerKind kind) {
  Scenario scenario =
      Maker(KeyedBits({.seed = seed, .stream = static_cast<uint64_t>(kind), .position = 0}))
          .Make(kind);
  scenario.label = fmt::format("seed {}, {}", seed, Name(kind));
  return scenario;
}

}  // namespace schemafill
