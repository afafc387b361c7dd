#include "catalog/request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <string>
#include <string_view>

namespace schemafill {
namespace {

constexpr std::string_view kUser = R"("messages":[{"role":"user","content":"hi"}])";
constexpr std::string_view kTools = R"("tools":[{"type":"function","function":{"name":"a"}}])";

Result<Request> Parse(std::string_view body) {
  return ParseRequest(ParseJson(body, "body").value());
}

// A body of one user message and these fields.
Request With(std::string_view fields) {
  return Parse("{" + std::string(kUser) + "," + std::string(fields) + "}").value();
}

// The message of a conversation's only interesting turn.
Message ReadMessage(std::string_view message) {
  return Parse(R"({"messages":[)" + std::string(message) + "]}")->messages[0];
}

TEST(Request, Defaults) {
  const Request request = Parse("{" + std::string(kUser) + "}").value();
  ASSERT_EQ(request.messages.size(), 1u);
  EXPECT_EQ(request.messages[0].role, Message::Role::kUser);
  EXPECT_EQ(request.messages[0].content, "hi");
  EXPECT_TRUE(request.catalog.tools.empty());
  EXPECT_EQ(request.tool_choice.kind, ToolChoice::Kind::kAuto);
  EXPECT_TRUE(request.parallel_tool_calls);
  EXPECT_FALSE(request.max_tokens || request.temperature || request.seed);
  EXPECT_FALSE(request.top_k || request.top_p || request.min_p);
}

TEST(Request, NullIsAbsent) {
  const Request request =
      With(R"("tools":null,"tool_choice":null,"parallel_tool_calls":null,"max_tokens":null,)"
           R"("max_completion_tokens":null,"temperature":null,"top_p":null,"seed":null,"n":null,)"
           R"("top_k":null,"min_p":null)");
  EXPECT_TRUE(request.catalog.tools.empty());
  EXPECT_FALSE(request.max_tokens || request.temperature || request.seed);
  EXPECT_FALSE(request.top_k || request.top_p || request.min_p);
}

TEST(Request, Roles) {
  using Role = Message::Role;
  const auto rows = std::to_array<std::pair<std::string_view, Role>>({
      {"system", Role::kSystem},
      {"developer", Role::kSystem},
      {"user", Role::kUser},
      {"assistant", Role::kAssistant},
      {"tool", Role::kTool},
      {"function", Role::kTool},
  });
  for (const auto& [name, role] : rows) {
    const Message message = ReadMessage(R"({"role":")" + std::string(name) + R"(","content":"x"})");
    EXPECT_EQ(message.role, role) << name;
    EXPECT_EQ(message.content, "x") << name;
  }
}

TEST(Request, Content) {
  struct Case {
    std::string_view message;
    std::string_view content;
  };
  constexpr auto kCases = std::to_array<Case>({
      {R"({"role":"user","content":"C:\\tmp \ud83d\ude00"})", "C:\\tmp \xf0\x9f\x98\x80"},
      {R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]})",
       "ab"},
      {R"({"role":"user","content":[]})", ""},
      {R"({"role":"assistant","content":null})", ""},
      {R"({"role":"assistant"})", ""},
  });
  for (const Case& row : kCases) EXPECT_EQ(ReadMessage(row.message).content, row.content);
}

TEST(Request, AssistantTurnsWithoutCalls) {
  for (const std::string_view turn :
       {R"({"role":"assistant","content":null})", R"({"role":"assistant"})",
        R"({"role":"assistant","content":"","tool_calls":[]})",
        R"({"role":"assistant","content":null,"tool_calls":null})"}) {
    const Message message = ReadMessage(turn);
    EXPECT_TRUE(message.calls.empty()) << turn;
    EXPECT_TRUE(message.content.empty()) << turn;
  }
}

TEST(Request, ArgumentsOfEarlierCalls) {
  struct Case {
    std::string_view label;
    std::string_view function;
    std::string_view arguments;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"text stays as it came",
       R"({"name":"f","arguments":"{\"x\":9223372036854775808, \"y\":-0}"})",
       R"({"x":9223372036854775808, "y":-0})"},
      {"text that is no JSON", R"({"name":"f","arguments":"{"})", "{"},
      {"an object", R"({"name":"f","arguments":{"x":[1.0,"a\/b"]}})", R"({"x": [1.0, "a/b"]})"},
      {"none", R"({"name":"f"})", "{}"},
      {"null", R"({"name":"f","arguments":null})", "{}"},
  });
  for (const Case& row : kCases) {
    const Message message = ReadMessage(
        R"({"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":)" +
        std::string(row.function) + "}]}");
    ASSERT_EQ(message.calls.size(), 1u) << row.label;
    EXPECT_EQ(message.calls[0].id, "c1");
    EXPECT_EQ(message.calls[0].name, "f");
    EXPECT_EQ(message.calls[0].arguments, row.arguments) << row.label;
  }
}

TEST(Request, ToolResultsKnowTheirTool) {
  const Request request = Parse(R"({"messages":[
      {"role":"user","content":"?"},
      {"role":"assistant","tool_calls":[{"id":"1","function":{"name":"f"}},
                                        {"id":"2","function":{"name":"g"}}]},
      {"role":"tool","tool_call_id":"2","content":"two"},
      {"role":"tool","tool_call_id":"1","name":"mine","content":"one"},
      {"role":"tool","tool_call_id":"9","content":"nine"},
      {"role":"tool","content":"none"},
      {"role":"assistant","tool_calls":[{"id":"2","function":{"name":"h"}}]},
      {"role":"tool","tool_call_id":"2","content":"again"}]})")
                              .value();
  std::vector<std::string> names;
  for (const Message& message : request.messages) {
    if (message.role == Message::Role::kTool) names.push_back(message.tool_name);
  }
  EXPECT_THAT(names, testing::ElementsAre("g", "mine", "", "", "h"));
  EXPECT_EQ(request.messages[2].tool_call_id, "2");
}

TEST(Request, ToolChoice) {
  using Kind = ToolChoice::Kind;
  struct Case {
    std::string_view choice;
    Kind kind;
    std::string_view function;
  };
  constexpr auto kCases = std::to_array<Case>({
      {R"("auto")", Kind::kAuto, ""},
      {R"("none")", Kind::kNone, ""},
      {R"("required")", Kind::kRequired, ""},
      {R"({"type":"function","function":{"name":"a"}})", Kind::kFunction, "a"},
      {R"({"function":{"name":"a"}})", Kind::kFunction, "a"},
  });
  for (const Case& row : kCases) {
    const Request request =
        With(std::string(kTools) + R"(,"tool_choice":)" + std::string(row.choice));
    EXPECT_EQ(request.tool_choice.kind, row.kind) << row.choice;
    EXPECT_EQ(request.tool_choice.function, row.function) << row.choice;
  }
  EXPECT_EQ(With(R"("tool_choice":"none")").tool_choice.kind, Kind::kNone);
  EXPECT_EQ(With(R"("tool_choice":"auto","tools":[])").tool_choice.kind, Kind::kAuto);
}

TEST(Request, Decoding) {
  EXPECT_EQ(With(R"("max_tokens":1)").max_tokens, 1);
  EXPECT_EQ(With(R"("max_completion_tokens":7,"max_tokens":5)").max_tokens, 7);
  EXPECT_EQ(With(R"("max_tokens":99999999999)").max_tokens, std::numeric_limits<int>::max());
  EXPECT_EQ(With(R"("temperature":0)").temperature, 0.0);
  EXPECT_EQ(With(R"("temperature":2)").temperature, 2.0);
  EXPECT_EQ(With(R"("top_p":0.9)").top_p, 0.9);
  EXPECT_EQ(With(R"("min_p":0.05)").min_p, 0.05);
  EXPECT_EQ(With(R"("top_k":40)").top_k, 40);
  EXPECT_EQ(With(R"("top_k":0)").top_k, 0);
  EXPECT_EQ(With(R"("top_k":-1)").top_k, 0);
  EXPECT_EQ(With(R"("top_k":99999999999)").top_k, std::numeric_limits<int>::max());
  EXPECT_EQ(With(R"("seed":5)").seed, 5u);
  EXPECT_EQ(With(R"("seed":-1)").seed, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(With(R"("seed":18446744073709551615)").seed, std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(With(R"("stop":"x")").stop, std::vector<std::string>{"x"});
  EXPECT_EQ(With(R"("stop":["x","yz"])").stop, (std::vector<std::string>{"x", "yz"}));
  EXPECT_TRUE(With(R"("stop":null)").stop.empty());
  EXPECT_FALSE(With(R"("parallel_tool_calls":false)").parallel_tool_calls);
  EXPECT_EQ(With(R"("n":1,"stream":true,"stop":["x"],"user":"me","logit_bias":{})").messages.size(),
            1u);
}

struct BadCase {
  std::string_view text;
  std::string_view message;
};

TEST(Request, ErrorsInMessages) {
  constexpr auto kCases = std::to_array<BadCase>({
      {R"("x")", "messages[0]: must be an object with role and content"},
      {"{}", "messages[0].role: must be a string: system, developer, user, assistant or tool"},
      {R"({"role":7})",
       "messages[0].role: must be a string: system, developer, user, assistant or tool"},
      {R"({"role":"bot\n"})",
       R"(messages[0].role: "bot\n" is not a role; use system, developer, user, assistant or tool)"},
      {R"({"role":"user","content":5})",
       "messages[0].content: must be a string, null or a list of text parts"},
      {R"({"role":"user","content":{"type":"text"}})",
       "messages[0].content: must be a string, null or a list of text parts"},
      {R"({"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url"}]})",
       R"(messages[0].content[1]: "image_url" is not a text part; this server reads text only: )"
       R"({"type": "text", "text": "..."})"},
      {R"({"role":"user","content":["a"]})",
       R"(messages[0].content[0]: it is not a text part; this server reads text only: )"
       R"({"type": "text", "text": "..."})"},
      {R"({"role":"user","content":[{"type":"text","text":3}]})",
       "messages[0].content[0].text: must be a string"},
      {R"({"role":"assistant","tool_calls":{}})",
       "messages[0].tool_calls: must be a list of calls"},
      {R"({"role":"assistant","tool_calls":[1]})",
       "messages[0].tool_calls[0]: must be an object with id, type and function"},
      {R"({"role":"assistant","tool_calls":[{"id":"1"}]})",
       "messages[0].tool_calls[0].function: must be an object with name and arguments"},
      {R"({"role":"assistant","tool_calls":[{"id":1,"function":{"name":"f"}}]})",
       "messages[0].tool_calls[0].id: must be a string"},
      {R"({"role":"assistant","tool_calls":[{"function":{"arguments":"{}"}}]})",
       "messages[0].tool_calls[0].function.name: must be a string that is not empty"},
      {R"({"role":"assistant","tool_calls":[{"function":{"name":"f","arguments":[1]}}]})",
       "messages[0].tool_calls[0].function.arguments: must be JSON text in a string, or an object"},
      {R"({"role":"tool","tool_call_id":7})", "messages[0].tool_call_id: must be a string"},
  });
  for (const BadCase& row : kCases) {
    const Result<Request> request = Parse(R"({"messages":[)" + std::string(row.text) + "]}");
    ASSERT_FALSE(request.ok()) << row.text;
    EXPECT_EQ(request.error().message, row.message);
    EXPECT_EQ(request.error().kind, ErrorKind::kBadInput);
  }
}

TEST(Request, ErrorsInOtherFields) {
  constexpr std::string_view kChoice = R"(tool_choice: must be "auto", "none", "required" or )"
                                       R"({"type": "function", "function": {"name": "..."}})";
  constexpr std::string_view kStop =
      "stop: must be a string, or a list of at most 4; none of them empty";
  constexpr auto kCases = std::to_array<BadCase>({
      {R"("tools":{})", "tools: must be a list"},
      {R"("tools":[{"type":"function"}])", "tools[0].name: must be a string that is not empty"},
      {R"("tool_choice":"any")", kChoice},
      {R"("tool_choice":1)", kChoice},
      {R"("tool_choice":{"type":"function"})", kChoice},
      {R"("tool_choice":"required")", R"(tool_choice: "required" needs a tool in tools)"},
      {R"("tools":[{"name":"a"}],"tool_choice":{"type":"function","function":{"name":"b"}})",
       R"(tool_choice.function.name: "b" is not in tools; name one of them)"},
      {R"("parallel_tool_calls":"no")", "parallel_tool_calls: must be true or false"},
      {R"("max_tokens":0)", "max_tokens: must be an integer from 1"},
      {R"("max_tokens":-1)", "max_tokens: must be an integer from 1"},
      {R"("max_tokens":1.5)", "max_tokens: must be an integer from 1"},
      {R"("max_completion_tokens":"9")", "max_completion_tokens: must be an integer from 1"},
      {R"("temperature":-0.1)", "temperature: must be a number from 0 to 2"},
      {R"("temperature":2.1)", "temperature: must be a number from 0 to 2"},
      {R"("temperature":"hot")", "temperature: must be a number from 0 to 2"},
      {R"("top_p":1.5)", "top_p: must be a number from 0 to 1"},
      {R"("min_p":-0.5)", "min_p: must be a number from 0 to 1"},
      {R"("min_p":"x")", "min_p: must be a number from 0 to 1"},
      {R"("top_k":-2)", "top_k: must be an integer from 0; 0: off"},
      {R"("top_k":2.5)", "top_k: must be an integer from 0; 0: off"},
      {R"("top_k":"40")", "top_k: must be an integer from 0; 0: off"},
      {R"("seed":1.0)", "seed: must be an integer"},
      {R"("seed":"x")", "seed: must be an integer"},
      {R"("stop":"")", kStop},
      {R"("stop":["a",1])", kStop},
      {R"("stop":["a","b","c","d","e"])", kStop},
      {R"("stop":{"a":"b"})", kStop},
      {R"("n":2)", "n: only 1 answer a request is supported; send the request several times"},
  });
  for (const BadCase& row : kCases) {
    const Result<Request> request =
        Parse("{" + std::string(kUser) + "," + std::string(row.text) + "}");
    ASSERT_FALSE(request.ok()) << row.text;
    EXPECT_EQ(request.error().message, row.message);
    EXPECT_EQ(request.error().field, row.message.substr(0, row.message.find(": ")));
  }
}

TEST(Request, ErrorsOfTheWholeBody) {
  constexpr auto kCases = std::to_array<BadCase>({
      {"[]", "the request must be a JSON object with messages"},
      {"{}", "messages: must be a list of at least one message, each with role and content"},
      {R"({"messages":[]})",
       "messages: must be a list of at least one message, each with role and content"},
      {R"({"messages":"hi"})",
       "messages: must be a list of at least one message, each with role and content"},
  });
  for (const BadCase& row : kCases) {
    const Result<Request> request = Parse(row.text);
    ASSERT_FALSE(request.ok()) << row.text;
    EXPECT_EQ(request.error().message, row.message);
  }
}

TEST(Request, LongWordsOfTheClientAreCut) {
  const std::string role = std::string(59, 'x') + "\xc3\xa9" + std::string(10'000, 'y');
  const Result<Request> request = Parse(R"({"messages":[{"role":")" + role + R"("}]})");
  ASSERT_FALSE(request.ok());
  EXPECT_THAT(request.error().message,
              testing::StartsWith("messages[0].role: \"" + std::string(59, 'x') + "...\" is not"));
}

}  // namespace
}  // namespace schemafill
