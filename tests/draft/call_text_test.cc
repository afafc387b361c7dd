#include "draft/call_text.h"

#include <gtest/gtest.h>

namespace schemafill {
namespace {

TEST(CallHint, OnlyLaterCallsHaveOne) {
  EXPECT_EQ(CallHint(0), "");
  EXPECT_EQ(CallHint(1), "Select the second request.\n");
  EXPECT_EQ(CallHint(7), "Select the eighth request.\n");
  EXPECT_EQ(CallHint(8), "Select request 9.\n");
}

TEST(SlotHeader, InTheSpellingOfTheAnswer) {
  const struct {
    std::string_view begin;  // of an answer
    std::string_view header;
  } kRows[] = {
      {"", R"({"tool_calls": [{"name": "f", "arguments": {"a":)"},
      {R"({"tool_calls":[{"name":"f","arguments":{)",
       R"({"tool_calls":[{"name":"f","arguments":{"a":)"},
      {"{\n  \"tool_calls\": [\n    {\n      \"name\": \"f\",\n",
       "{\n  \"tool_calls\": [\n    {\n      \"name\": \"f\",\n"
       "      \"arguments\": {\n        \"a\":"},
  };
  for (const auto& row : kRows) {
    JsonCursor cursor;
    cursor.Feed(row.begin);
    EXPECT_EQ(SlotHeader("f", "a", cursor.spelling()), row.header) << row.begin;
  }
  EXPECT_EQ(SlotHeader("f\"", "a\nb", {}),
            R"({"tool_calls": [{"name": "f\"", "arguments": {"a\nb":)");
}

}  // namespace
}  // namespace schemafill
