#include "draft/expand.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/draft_inputs.h"

namespace schemafill {
namespace {

using testing::HasSubstr;

Draft Expand(const DraftInputs& inputs, std::string_view text, const ExpandLimits& limits = {}) {
  Answer answer;
  answer.Feed(text);
  return ExpandDraft(inputs.sources(), answer, limits);
}

// From the text so far to the end of node `node`.
std::string PathText(const Draft& draft, int node) {
  if (node < 0) return {};
  const DraftNode& last = draft.nodes[static_cast<size_t>(node)];
  return PathText(draft, last.parent) + last.text;
}

bool HasPath(const Draft& draft, std::string_view text) {
  for (size_t i = 0; i < draft.nodes.size(); ++i) {
    if (PathText(draft, static_cast<int>(i)).starts_with(text)) return true;
  }
  return false;
}

TEST(ExpandDraft, HoldsThePath) {
  struct Case {
    std::string_view label;
    std::string_view answer;
    std::string_view path;
  };
  const Case kCases[] = {
      {"scaffold and the name in one", "",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris")"},
      {"the second call has the second value",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}})",
       R"(, {"name": "get_weather", "arguments": {"city": "London")"},
      {"behind a number that may go on",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3)",
       R"(}})"},
      {"an alternative",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3)",
       R"(, "unit": "celsius")"},
  };
  const DraftInputs inputs(kWeatherTools, kWeatherText);
  for (const Case& row : kCases) {
    const Draft draft = Expand(inputs, row.answer);
    EXPECT_TRUE(HasPath(draft, row.path)) << row.label << "\n" << draft.Dump();
  }
}

// Stage B and C of the paper's ablation: nothing is drafted behind the call.
TEST(ExpandDraft, EndsWithTheCall) {
  struct Case {
    std::string_view label;
    std::string_view answer;
    std::string_view last;  // of the paths that go furthest, one
    std::string_view beyond;
  };
  const Case kCases[] = {
      {"from the start", "",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}})",
       "]"},
      {"from inside of the call",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris",)",
       R"( "days": 3}})", ","},
      {"from its last bracket",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3})", "}",
       ","},
      {"from behind it through the next one",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}})",
       R"(, {"name": "get_weather", "arguments": {"city": "London", "days": 5}})", "]"},
      {"from behind it to the end of the list",
       R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "days": 3}})",
       "]}", ""},
  };
  const DraftInputs inputs(kWeatherTools, kWeatherText);
  for (const Case& row : kCases) {
    const ExpandLimits one_call{.min_probability = 1e-4, .max_nodes = 400, .across_calls = false};
    const Draft draft = Expand(inputs, row.answer, one_call);
    const std::string beyond = std::string(row.last) + std::string(row.beyond);
    EXPECT_TRUE(HasPath(draft, row.last)) << row.label << "\n" << draft.Dump();
    EXPECT_EQ(HasPath(draft, beyond), row.beyond.empty()) << row.label << "\n" << draft.Dump();
    const Draft across = Expand(inputs, row.answer, {.min_probability = 1e-4, .max_nodes = 400});
    EXPECT_TRUE(HasPath(across, beyond)) << row.label << "\n" << across.Dump();
  }
}

TEST(ExpandDraft, NothingBehindTheEnd) {
  const DraftInputs inputs(kWeatherTools, kWeatherText);
  EXPECT_TRUE(Expand(inputs, R"({"tool_calls": []})").nodes.empty());
  const Draft draft = Expand(inputs, R"({"tool_calls": [{"name": "noop", "arguments": {}}])");
  ASSERT_EQ(draft.nodes.size(), 1u);
  EXPECT_EQ(draft.nodes[0].text, "}");
  EXPECT_THAT(draft.Dump(), HasSubstr("scaffold }"));
}

TEST(ExpandDraft, ParentsComeFirstAndAreLikelier) {
  const DraftInputs inputs(kWeatherTools, kWeatherText);
  const std::string answer =
      R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris", "unit": "celsius"}}]})";
  for (size_t cut = 0; cut <= answer.size(); ++cut) {
    const Draft draft = Expand(inputs, std::string_view(answer).substr(0, cut));
    for (size_t i = 0; i < draft.nodes.size(); ++i) {
      const DraftNode& node = draft.nodes[i];
      ASSERT_LT(node.parent, static_cast<int>(i));
      const double above =
          node.parent < 0 ? 1 : draft.nodes[static_cast<size_t>(node.parent)].probability;
      ASSERT_LE(node.probability, above + 1e-9) << answer.substr(0, cut);
    }
  }
}

TEST(ExpandDraft, Limits) {
  const DraftInputs inputs(kWeatherTools, kWeatherText);
  const DraftInputs long_word(kWeatherTools, "weather in " + std::string(10'000, 'X'));
  const size_t all = Expand(inputs, "").nodes.size();
  ASSERT_GT(all, 10u);
  const Draft likely = Expand(inputs, "", {.min_probability = 0.5});
  EXPECT_LT(likely.nodes.size(), all);
  for (const DraftNode& node : likely.nodes) EXPECT_GE(node.probability, 0.5);
  const Draft few = Expand(inputs, "", {.max_nodes = 4});
  EXPECT_GE(few.nodes.size(), 4u);  // a node's alternatives come together
  EXPECT_LT(few.nodes.size(), 12u);
  for (const DraftInputs* const from : {&inputs, &long_word}) {
    const Draft brief =
        Expand(*from, R"({"tool_calls": [{"name": "get_weather", "arguments": {"city":)",
               {.max_characters = 10});
    ASSERT_GT(brief.nodes.size(), 0u);
    for (size_t i = 0; i < brief.nodes.size(); ++i)
      EXPECT_LE(PathText(brief, static_cast<int>(i)).size(), 10u);
  }
}

}  // namespace
}  // namespace schemafill
