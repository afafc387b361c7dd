#include "catalog/prompt.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "model/scripted/scripted_model.h"

namespace schemafill {
namespace {

constexpr std::string_view kInstruction =
    R"(Call the tools that the request needs. Answer with one JSON object: )"
    R"({"tool_calls": [{"name": ..., "arguments": {...}}, ...]}.)";

Request Parse(std::string_view body) {
  return ParseRequest(ParseJson(body, "body").value()).value();
}

// "system| ...\nuser| ...\n"
std::string Show(const std::vector<ChatTurn>& turns) {
  std::string text;
  for (const ChatTurn& turn : turns) text += turn.role + "| " + turn.content + "\n";
  return text;
}

std::string Turns(std::string_view body) { return Show(BuildTurns(Parse(body))); }

// A conversation of these messages about one tool, and its turns behind the system turn.
std::string Dialogue(std::string_view messages) {
  std::vector<ChatTurn> turns =
      BuildTurns(Parse(R"({"tools":[{"name":"f","description":"d","parameters":{}}],"messages":[)" +
                       std::string(messages) + "]}"));
  EXPECT_EQ(turns[0].role, "system");
  turns.erase(turns.begin());
  return Show(turns);
}

constexpr std::string_view kToolLine = R"({"name": "f", "description": "d", "parameters": {}})";

TEST(Prompt, AsTheAdapterWasTrained) {
  const Request request = Parse(R"({"messages":[{"role":"user","content":"Play \"x\"."}],"tools":[
      {"name":"a","description":"A.","parameters":{"type":"dict","properties":{"n":{"type":"float"}}}},
      {"name":"b","description":"B.","parameters":{"type":"dict","properties":{}}}]})");
  const ScriptedTokenizer tokenizer({});
  const Prompt prompt = BuildPrompt(request, tokenizer);
  EXPECT_EQ(
      prompt.text,
      "<|start|>system\n" + std::string(kInstruction) +
          "<|end|>\n"
          "<|start|>user\n"
          "Tools:\n"
          R"({"name": "a", "description": "A.", "parameters": {"type": "dict", )"
          R"("properties": {"n": {"type": "float"}}}})"
          "\n"
          R"({"name": "b", "description": "B.", "parameters": {"type": "dict", "properties": {}}})"
          "\n"
          "Request: Play \"x\".<|end|>\n"
          "<|start|>assistant\n");
  EXPECT_EQ(prompt.tokens, tokenizer.EncodePrompt(prompt.text));
  EXPECT_EQ(prompt.context, "Play \"x\".");
}

TEST(Prompt, SystemMessagesJoinBehindTheInstruction) {
  EXPECT_EQ(Turns(R"({"tools":[{"name":"f","description":"d","parameters":{}}],"messages":[
                {"role":"system","content":"One."},{"role":"system","content":null},{"role":"user","content":"Hi"},
                {"role":"developer","content":"Two."}]})"),
            "system| " + std::string(kInstruction) + "\nOne.\nTwo.\nuser| Tools:\n" +
                std::string(kToolLine) + "\nRequest: Hi\n");
}

TEST(Prompt, GivenOpenings) {
  struct Case {
    std::string_view choice;
    std::string_view opening;
  };
  constexpr auto kCases = std::to_array<Case>({
      {R"("auto")", ""},
      {R"("none")", ""},
      {R"("required")", R"({"tool_calls": [{"name": ")"},
      {R"({"type":"function","function":{"name":"f\""}})",
       R"({"tool_calls": [{"name": "f\"", "arguments":)"},
  });
  const ScriptedTokenizer tokenizer({});
  for (const Case& row : kCases) {
    const Request request =
        Parse(R"({"tools":[{"name":"f\""}],"messages":[{"role":"user","content":"Go"}],)"
              R"("tool_choice":)" +
              std::string(row.choice) + "}");
    const Prompt prompt = BuildPrompt(request, tokenizer);
    EXPECT_EQ(prompt.opening, row.opening);
    EXPECT_TRUE(prompt.text.ends_with("assistant\n" + std::string(row.opening))) << prompt.text;
    EXPECT_EQ(prompt.tokens, tokenizer.EncodePrompt(prompt.text));
  }
}

TEST(Prompt, OneSentenceForEachWish) {
  struct Case {
    std::string_view fields;
    std::string_view added;
  };
  constexpr auto kCases = std::to_array<Case>({
      {R"("tool_choice":"auto","parallel_tool_calls":true)", ""},
      {R"("tool_choice":"required")", " Call at least one tool."},
      {R"("tool_choice":{"type":"function","function":{"name":"f"}})", " Call the tool f."},
      {R"("parallel_tool_calls":false)", " Make only one call."},
      {R"("parallel_tool_calls":false,"tool_choice":"required")",
       " Call at least one tool. Make only one call."},
  });
  for (const Case& row : kCases) {
    const std::vector<ChatTurn> turns =
        BuildTurns(Parse(R"({"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f"}],)" +
                         std::string(row.fields) + "}"));
    EXPECT_EQ(turns[0].content, std::string(kInstruction) + std::string(row.added)) << row.fields;
    EXPECT_EQ(turns.size(), 2u);
  }
}

TEST(Prompt, PlainChat) {
  EXPECT_EQ(Turns(R"({"messages":[{"role":"user","content":"Hi"}]})"), "user| Hi\n");
  EXPECT_EQ(Turns(R"({"messages":[{"role":"user","content":"Hi"}],"tools":[{"name":"f"}],
                      "tool_choice":"none"})"),
            "user| Hi\n");
  EXPECT_EQ(Turns(R"({"messages":[{"role":"user","content":"Hi"}],"tools":[],"tool_choice":"none",
                      "parallel_tool_calls":false})"),
            "user| Hi\n");
  EXPECT_EQ(Turns(R"({"messages":[{"role":"system","content":"Be kind."}]})"),
            "system| Be kind.\n");
}

TEST(Prompt, LaterTurns) {
  struct Case {
    std::string_view label;
    std::string_view messages;
    std::string_view turns;  // $ stands for the catalog
  };
  constexpr auto kCases = std::to_array<Case>({
      {"the catalog stands in front of the first user turn only",
       R"({"role":"user","content":"A"},{"role":"assistant","content":"B"},{"role":"user","content":"C"})",
       "user| $\nRequest: A\nassistant| B\nuser| C\n"},
      {"behind a greeting",
       R"({"role":"assistant","content":"Hello"},{"role":"user","content":"A"})",
       "assistant| Hello\nuser| $\nRequest: A\n"},
      {"no user turn", R"({"role":"system","content":"S"},{"role":"assistant","content":"B"})",
       "user| $\nassistant| B\n"},
      {"calls are written as the answer was",
       R"({"role":"user","content":"A"},{"role":"assistant","content":null,"tool_calls":[)"
       R"({"id":"1","function":{"name":"f","arguments":"{\"x\":  230.0}"}},)"
       R"({"id":"2","function":{"name":"g\"","arguments":{"y":1}}}]},)"
       R"({"role":"tool","tool_call_id":"1","content":"ok"})",
       "user| $\nRequest: A\n"
       R"(assistant| {"tool_calls": [{"name": "f", "arguments": {"x":  230.0}}, )"
       R"({"name": "g\"", "arguments": {"y": 1}}]})"
       "\nuser| Result of f: ok\n"},
      {"words and calls",
       R"({"role":"user","content":"A"},)"
       R"({"role":"assistant","content":"Let me see.","tool_calls":[{"function":{"name":"f"}}]})",
       "user| $\nRequest: A\n"
       R"(assistant| Let me see.)"
       "\n"
       R"({"tool_calls": [{"name": "f", "arguments": {}}]})"
       "\n"},
      {"arguments that are no JSON",
       R"({"role":"user","content":"A"},{"role":"assistant","tool_calls":[)"
       R"({"function":{"name":"f","arguments":"{\"x\": "}},{"function":{"name":"g","arguments":" "}}]})",
       "user| $\nRequest: A\n"
       R"(assistant| {"tool_calls": [{"name": "f", "arguments": "{\"x\": "}, )"
       R"({"name": "g", "arguments": {}}]})"
       "\n"},
      {"result of an unknown call",
       R"({"role":"user","content":"A"},{"role":"tool","content":"r"})",
       "user| $\nRequest: A\nuser| Result: r\n"},
      {"an assistant that says nothing",
       R"({"role":"user","content":"A"},{"role":"assistant","tool_calls":[]})",
       "user| $\nRequest: A\nassistant| \n"},
  });
  for (const Case& row : kCases) {
    std::string expected(row.turns);
    expected.replace(expected.find('$'), 1, "Tools:\n" + std::string(kToolLine));
    EXPECT_EQ(Dialogue(row.messages), expected) << row.label;
  }
}

TEST(Prompt, ContextIsWhatUsersAndToolsSaid) {
  const ScriptedTokenizer tokenizer({});
  const Prompt prompt = BuildPrompt(Parse(R"({"tools":[{"name":"f"}],"messages":[
      {"role":"system","content":"S"},{"role":"user","content":"A"},
      {"role":"assistant","content":"B","tool_calls":[{"id":"1","function":{"name":"f"}}]},
      {"role":"tool","tool_call_id":"1","content":"R"},{"role":"user","content":"C"}]})"),
                                    tokenizer);
  EXPECT_EQ(prompt.context, "A\nR\nC");
}

// The prefix that two requests with the same tools share reaches up to the request.
TEST(Prompt, CatalogIsPartOfTheSharedPrefix) {
  const auto text = [](std::string_view content) {
    return BuildPrompt(Parse(R"({"tools":[{"name":"f"}],"messages":[{"role":"user","content":")" +
                             std::string(content) + R"("}]})"),
                       ScriptedTokenizer({}))
        .text;
  };
  const std::string one = text("one");
  const std::string two = text("two");
  const size_t request = one.find("Request: ") + std::string_view("Request: ").size();
  EXPECT_EQ(one.substr(0, request), two.substr(0, request));
  EXPECT_GT(request, one.find("\"f\""));
}

}  // namespace
}  // namespace schemafill
