#include "catalog/glaive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace schemafill {
namespace {

using testing::HasSubstr;

constexpr std::string_view kSystem =
    "SYSTEM: You are a helpful assistant with access to the following functions. Use them if "
    "required -\n{\n  \"name\": \"find_shop\",\n  \"description\": \"Finds {shops}\",\n"
    "  \"parameters\": {\"type\": \"object\", \"properties\": {\"city\": {\"type\": "
    "\"string\"}}}\n}"
    "\n\n{\"name\": \"open_hours\"}\n";

Json Record(std::string_view chat) { return {{"system", kSystem}, {"chat", chat}}; }

// The error of a record, or "none".
std::string ErrorOf(const Json& record) {
  const Result<std::vector<DataRequest>> requests = GlaiveRequests(record, "r");
  return requests.ok() ? "none" : requests.error().message;
}

TEST(Glaive, EachCallIsADecisionWithWhatCameBefore) {
  const std::vector<DataRequest> requests =
      GlaiveRequests(Record("USER: Any shop in Bern?\n\n\n"
                            "ASSISTANT: <functioncall> {\"name\": \"find_shop\", \"arguments\": "
                            "'{\"city\": \"Bern\"}'} <|endoftext|>\n\n\n"
                            "FUNCTION RESPONSE: {\"shop\": \"Kern\"}\n\n\n"
                            "ASSISTANT: Kern. <|endoftext|>\n\n\nUSER: When is it open?\n\n\n"
                            "ASSISTANT: I'll look. <functioncall> {\"name\": \"open_hours\"} "
                            "<functioncall> {\"name\": \"open_hours\", \"arguments\": {\"day\": 1}}"
                            "\n\n\nFUNCTION RESPONSE: 9 to 5"),
                     "7")
          .value();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].id, "7.1");
  EXPECT_EQ(requests[0].reference_calls, 1);
  EXPECT_EQ(requests[0].body["messages"].dump(),
            R"([{"role":"user","content":"Any shop in Bern?"}])");
  EXPECT_EQ(requests[0].body["tools"].size(), 2u);
  EXPECT_EQ(requests[0].body["tools"][0]["description"], "Finds {shops}");
  EXPECT_EQ(requests[1].id, "7.2");
  EXPECT_EQ(requests[1].reference_calls, 2);
  const Json& history = requests[1].body["messages"];
  ASSERT_EQ(history.size(), 5u);
  EXPECT_EQ(history[1].dump(),
            R"({"role":"assistant","content":"","tool_calls":[{"type":"function","function":)"
            R"({"name":"find_shop","arguments":"{\"city\": \"Bern\"}"}}]})");
  EXPECT_EQ(history[2].dump(),
            R"({"role":"tool","name":"find_shop","content":"{\"shop\": \"Kern\"}"})");
  EXPECT_EQ(history[3]["content"], "Kern.");
}

TEST(Glaive, OneLineAndTheFirstVersion) {
  const std::string chat =
      "USER: Go. ASSISTANT: <functioncall> {\"name\": \"open_hours\"} <|endoftext|> "
      "FUNCTION RESPONSE: 9 ASSISTANT: 9. <|endoftext|>";
  const Json first = {{"sample", std::string(kSystem) + chat}};
  for (const Json& record : {Record(chat), first}) {
    const std::vector<DataRequest> requests = GlaiveRequests(record, "r").value();
    ASSERT_EQ(requests.size(), 1u);
    EXPECT_EQ(requests[0].body["messages"][0]["content"], "Go.");
  }
}

TEST(Glaive, ChatsWithoutACallGiveNone) {
  EXPECT_TRUE(GlaiveRequests(Record("USER: Hi\n\n\nASSISTANT: Hello"), "r")->empty());
  const Json plain = {{"system", "SYSTEM: You have no functions."}, {"chat", "USER: Hi"}};
  EXPECT_TRUE(GlaiveRequests(plain, "r")->empty());
}

TEST(Glaive, Arguments) {
  struct Row {
    std::string_view written;
    std::string_view read;  // empty: an error
  };
  const Row kRows[] = {
      {R"('{"a": "it\'s"}')", R"({"a": "it's"})"},
      {R"('{"a": "it's"}')", R"({"a": "it's"})"},
      {R"('{"a": "say \"hi\""}')", R"({"a": "say \"hi\""})"},
      {R"('{"a": "say \\"hi\\" it\'s"}')", R"({"a": "say \"hi\" it's"})"},
      {R"('{"a": "C:\\dir"}')", R"({"a": "C:\\dir"})"},
      {"'{\n  \"a\": 1\n}'", "{\n  \"a\": 1\n}"},
      {R"('{"a": "é, \u00e9"}')", R"({"a": "é, \u00e9"})"},
      {R"('{"a": 9223372036854775808123}')", R"({"a": 9223372036854775808123})"},
      {"'{}'", "{}"},
      {"{\"a\": [1.50]}", "{\"a\": [1.5]}"},
      {R"("{\"a\": 1}")", R"({"a": 1})"},
      {"null", "{}"},
      {"5", ""},
      {"''", ""},
      {"'[1]'", ""},
      {"'{\"a\": }'", ""},
      {"'{\"a\": 1}", ""},
      {"{\"a\": 1", ""},
  };
  for (const Row& row : kRows) {
    const std::string call =
        "ASSISTANT: <functioncall> {\"name\": \"open_hours\", \"arguments\": " +
        std::string(row.written) + "}";
    // The second call's history holds the first.
    const Result<std::vector<DataRequest>> requests =
        GlaiveRequests(Record("USER: x\n" + call + "\nUSER: y\n" + call), "r");
    if (row.read.empty()) {
      EXPECT_THAT(requests.ok() ? "none" : requests.error().message, HasSubstr("chat: turn 2: "))
          << row.written;
      continue;
    }
    ASSERT_TRUE(requests.ok()) << row.written << ": " << requests.error().message;
    EXPECT_EQ((*requests)[1].body["messages"][1]["tool_calls"][0]["function"]["arguments"],
              row.read);
  }
}

TEST(Glaive, ErrorsNameTheField) {
  const std::string no_calls = "USER: x";
  const auto call = [](std::string_view text) {
    return Record("USER: x\nASSISTANT: <functioncall> " + std::string(text));
  };
  struct Row {
    Json record;
    std::string_view words;
  };
  const Row kRows[] = {
      {{{"chat", no_calls}}, "system: must be a string"},
      {{{"system", 5}, {"chat", no_calls}}, "system: must be a string"},
      {{{"system", kSystem}}, "chat: must be a string"},
      {{{"system", kSystem}, {"chat", Json::array()}}, "chat: must be a string"},
      {{{"sample", nullptr}}, "sample: must be a string"},
      {{{"system", "SYSTEM: - {\"name\": }"}, {"chat", no_calls}}, "system: function 1: line 1"},
      {{{"system", "SYSTEM: - {} {\"name\": "}, {"chat", no_calls}}, "system: function 2: line 1"},
      {{{"system", "SYSTEM: - {} more"}, {"chat", no_calls}},
       "system: must end with the functions"},
      {Record(""), "chat: turns must begin with USER:"},
      {Record("Hello\nUSER: x"), "chat: turns must begin with USER:"},
      {call(""), "chat: turn 2: call: line 1"},
      {call("[1]"), "chat: turn 2: call: must be an object"},
      {call("{\"arguments\": {}}"), "chat: turn 2: name: must be a string"},
      {call("{\"name\": 5}"), "chat: turn 2: name: must be a string"},
      {call("{\"name\": \"fly\"}"), "chat: turn 2: name: \"fly\" is none of the functions"},
      {call("{\"name\": \"open_hours\", \"arguments\": 5}"), "chat: turn 2: arguments: must be"},
      {call("{\"name\": \"open_hours\"} and more"), "chat: turn 2: call: line 1"},
  };
  for (const Row& row : kRows) {
    EXPECT_THAT(ErrorOf(row.record), testing::StartsWith(std::string(row.words)))
        << row.record.dump();
  }
}

}  // namespace
}  // namespace schemafill
