#include "catalog/api_bank.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace schemafill {
namespace {

constexpr std::string_view kInstruction =
    "\nGenerate an API request in the format of [ApiName(key1='value1')].\nThe current year is "
    "2031.\nInput: \nUser: User's utterence\n\nAPI descriptions:\n"
    R"({"name": "FindShop", "description": "Finds it", "input_parameters": {"city": {"type": "str", "description": "Where"}}, "output_parameters": {}})"
    "\n"
    R"({"name": "Hours", "description": "Tells", "input_parameters": {"shop": {"type": "str"}, "day": {"type": "int"}}})";

Json Record() {
  return {{"file", "Shops-1.jsonl"},
          {"id", 2},
          {"instruction", kInstruction},
          {"input",
           "User: Any shop in Bern?\nAI: Let me see.\n"
           "API-Request: [FindShop(city='Bern')]->[{'name': 'Kern'}]\nAI: Kern.\n"
           "User: When is it open\non Monday?\nGenerate API Request:\n"},
          {"expected_output", "API-Request: [Hours(shop='Kern', day=1)]"}};
}

TEST(ApiBank, TestRecord) {
  const std::vector<DataRequest> requests = ApiBankRequests(Record(), "1").value();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].id, "Shops-1.jsonl#2");
  EXPECT_EQ(requests[0].reference_calls, 1);
  EXPECT_EQ(requests[0].body["tools"][1].dump(),
            R"({"name":"Hours","description":"Tells","parameters":{"type":"object","properties":)"
            R"({"shop":{"type":"str"},"day":{"type":"int"}}}})");
  const Json& messages = requests[0].body["messages"];
  ASSERT_EQ(messages.size(), 7u);
  EXPECT_EQ(messages[0].dump(), R"({"role":"system","content":"The current year is 2031."})");
  EXPECT_EQ(messages[1].dump(), R"({"role":"user","content":"Any shop in Bern?"})");
  EXPECT_EQ(messages[2].dump(), R"({"role":"assistant","content":"Let me see."})");
  EXPECT_EQ(messages[3].dump(),
            R"({"role":"assistant","content":null,"tool_calls":[{"type":"function","function":)"
            R"({"name":"FindShop","arguments":{"city":"Bern"}}}]})");
  EXPECT_EQ(messages[4].dump(),
            R"({"role":"tool","name":"FindShop","content":"[{'name': 'Kern'}]"})");
  EXPECT_EQ(messages[6]["content"], "When is it open\non Monday?");
}

TEST(ApiBank, TrainingRecord) {
  const Json record = {
      {"instruction", "Generate.\nThe current time is {{time}}.\nAPI descriptions:\n"},
      {"input", R"({"apiCode": "Find", "description": "d", "parameters": {"q": {"type": "str"}}})"
                "\nUser: Find tea.\nGenerate API Request: "},
      {"output", "API-Request: [Find(q='tea')]"}};
  const std::vector<DataRequest> requests = ApiBankRequests(record, "12").value();
  ASSERT_EQ(requests.size(), 1u);
  EXPECT_EQ(requests[0].id, "12");
  EXPECT_EQ(requests[0].body["tools"][0]["name"], "Find");
  EXPECT_EQ(requests[0].body["messages"].dump(), R"([{"role":"user","content":"Find tea."}])");
}

TEST(ApiBank, AResponseIsNoDecision) {
  Json record = Record();
  record["input"] = "User: x\nGenerate AI Response:\n";
  record["expected_output"] = "Hello";
  EXPECT_TRUE(ApiBankRequests(record, "1")->empty());
}

TEST(ApiBank, Calls) {
  struct Row {
    std::string_view written;
    std::string_view read;  // empty: an error
  };
  const Row kRows[] = {
      {"[A()]", R"({"name":"A","arguments":{}})"},
      {" [A( x = '1' )]\n", R"({"name":"A","arguments":{"x":"1"}})"},
      {"[A(x='a, b', y=\"c\")]", R"({"name":"A","arguments":{"x":"a, b","y":"c"}})"},
      {"[A(x='it's, so=what', y='')]", R"({"name":"A","arguments":{"x":"it's, so=what","y":""}})"},
      {"[A(x='[{'a': 'b', 'c': 1}]')]", R"({"name":"A","arguments":{"x":"[{'a': 'b', 'c': 1}]"}})"},
      {"[A(x='(5+6)*3')]", R"({"name":"A","arguments":{"x":"(5+6)*3"}})"},
      {"[A(x=1, y=-2.5, z=True, w=None)]",
       R"({"name":"A","arguments":{"x":1,"y":-2.5,"z":true,"w":null}})"},
      {"[A(x=[1, 2], y={'a': 1})]", R"({"name":"A","arguments":{"x":[1,2],"y":"{'a': 1}"}})"},
      {"[A(x=)]", R"({"name":"A","arguments":{"x":""}})"},
      {"[A('x')]", ""},
      {"[A(x='1'", ""},
      {"A(x='1')", ""},
      {"", ""},
  };
  for (const Row& row : kRows) {
    const Result<Json> call = ParseApiCall(row.written);
    EXPECT_EQ(call.ok() ? call->dump() : "", row.read) << row.written;
  }
}

TEST(ApiBank, ErrorsNameTheField) {
  struct Row {
    const char* field;
    Json value;
    std::string_view words;
  };
  const Row kRows[] = {
      {"instruction", 5, "instruction: must be a string"},
      {"instruction", "Generate.", "instruction: has no API descriptions"},
      {"instruction", "{\"name\":", "instruction: API description 1: line 1"},
      {"instruction", "{\"description\": \"d\"}", "instruction: API description 1: must be"},
      {"instruction", "{\"name\": \"A\", \"parameters\": 5}",
       "instruction: API description 1: input_parameters: must be an object"},
      {"input", nullptr, "input: must be a string"},
      {"input", "", "input: must end with Generate API Request:"},
      {"input", "User: x", "input: must end with Generate API Request:"},
      {"input",
       "User: x\nAPI-Request: [A()]\nGenerate API Request:", "input: turn 2: API-Request: has no"},
      {"input", "User: x\nAPI-Request: A)]->1\nGenerate API Request:",
       "input: turn 2: an API call must read"},
      {"expected_output", Json::array(), "expected_output: must be a string"},
      {"expected_output", "API-Request: none", "expected_output: an API call must read"},
  };
  for (const Row& row : kRows) {
    Json record = Record();
    record[row.field] = row.value;
    const Result<std::vector<DataRequest>> requests = ApiBankRequests(record, "1");
    EXPECT_THAT(requests.ok() ? "none" : requests.error().message,
                testing::StartsWith(std::string(row.words)))
        << row.value.dump();
  }
}

}  // namespace
}  // namespace schemafill
