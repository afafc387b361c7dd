#include "plan/schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>

#include "support/json_tree.h"
#include "support/requests.h"

namespace schemafill {
namespace {

// Tools in the order of their ranking. `b` has an optional field between required ones.
constexpr std::string_view kTools = R"([
    {"name": "a", "parameters": {"type": "object",
     "properties": {"x": {"type": "object", "properties": {"y": {"type": "string"}}},
                    "y": {"type": "string"}, "z/é": {"type": "string"}}, "required": ["y"]}},
    {"name": "b", "parameters": {"type": "object",
     "properties": {"p": {"type": "string"}, "q": {"type": "integer"}, "r": {"type": "array"}},
     "required": ["p", "r"]}},
    {"name": "none"}])";

// Groups a, b, none, a, ... as many as `budget`.
struct Inputs {
  explicit Inputs(int budget, std::string_view tools = kTools)
      : catalog(ReadCatalog(tools)), forecast(MakeForecast(catalog, "", {.budget = budget})) {}
  Inputs(const Inputs&) = delete;
  Inputs& operator=(const Inputs&) = delete;

  Catalog catalog;
  Forecast forecast;
};

// `0 x?, 0 y`: call and name.
std::string DumpActive(const Schedule& schedule) {
  std::string out;
  for (const ActiveField& active : schedule.Active()) {
    const ScheduledGroup& group = schedule.groups()[static_cast<size_t>(active.group)];
    const ScheduledField& field = group.fields[static_cast<size_t>(active.field)];
    out += fmt::format("{}{} {}{}", out.empty() ? "" : ", ", group.call, field.name,
                       field.required ? "" : "?");
  }
  return out;
}

// A line a group: `0 a bound: x? passed, y written`.
std::string DumpGroups(const Inputs& inputs, const Schedule& schedule) {
  std::string out;
  for (const ScheduledGroup& group : schedule.groups()) {
    out += fmt::format("{} {}{}{}:", group.call,
                       inputs.catalog.tools[static_cast<size_t>(group.tool)].name,
                       group.bound ? " bound" : "", group.retired ? " retired" : "");
    for (const ScheduledField& field : group.fields)
      out += fmt::format(" {}{} {},", field.name, field.required ? "" : "?", Name(field.state));
    out += '\n';
  }
  return out;
}

struct Seen {
  std::vector<std::string> events;
  std::string active;
  std::string groups;

  bool operator==(const Seen&) const = default;
};

// Aligns with the answer as it is behind each of the parts.
Seen Aligned(const Inputs& inputs, const std::vector<std::string_view>& parts) {
  Schedule schedule(inputs.catalog, inputs.forecast);
  Answer answer;
  Seen seen;
  for (const std::string_view part : parts) {
    answer.Feed(part);
    for (const ScheduleEvent& event : schedule.Align(answer))
      seen.events.push_back(event.Dump(inputs.catalog));
  }
  seen.active = DumpActive(schedule);
  seen.groups = DumpGroups(inputs, schedule);
  return seen;
}

using Events = std::vector<std::string>;

// Three groups: a, b, none. The events of the whole text, then what is active behind it.
TEST(Schedule, Align) {
  struct Case {
    std::string_view label;
    std::string_view answer;
    Events events;
    std::string_view active;
  };
  const auto kCases = std::to_array<Case>({
      {"nothing yet", "", {}, "0 y, 0 x?, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"a name that is not complete",
       R"({"tool_calls": [{"name": "a)",
       {},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"bound",
       R"({"tool_calls": [{"name": "a")",
       {"bound: a, call 0"},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"rebound",
       R"({"tool_calls": [{"name": "b")",
       {"rebound: b is call 0 now"},
       "0 p, 0 r, 0 q?, 1 y, 1 x?, 1 z/é?"},
      {"rebound with a group behind the next one",
       R"({"tool_calls": [{"name": "none")",
       {"rebound: none is call 0 now"},
       "1 p, 1 r, 1 q?"},
      {"the calls come in another order",
       R"({"tool_calls": [{"name": "b", "arguments": {}}, {"name": "a")",
       {"rebound: b is call 0 now", "call closed: b, call 0", "bound: a, call 1"},
       "1 y, 1 x?, 1 z/é?"},
      {"one that is bound or retired doesn't move",
       R"({"tool_calls": [{"name": "a", "arguments": {}}, {"name": "a")",
       {"bound: a, call 0", "call closed: a, call 0", "other tool: b, call 1", "added: a, call 1"},
       "1 y, 1 x?, 1 z/é?"},
      {"a tool that nobody knows",
       R"({"tool_calls": [{"name": "other", "arguments": {"y": 1)",
       {"other tool: a, call 0"},
       "1 p, 1 r, 1 q?"},
      {"behind it the row goes on",
       R"({"tool_calls": [{"name": "other", "arguments": {"y": 1}}, {"name": "b")",
       {"other tool: a, call 0", "bound: b, call 1"},
       "1 p, 1 r, 1 q?"},
      {"a key without its colon",
       R"({"tool_calls": [{"name": "a", "arguments": {"x")",
       {"bound: a, call 0"},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"written",
       R"({"tool_calls": [{"name": "a", "arguments": {"x":)",
       {"bound: a, call 0", "written: a.x, call 0"},
       "0 y, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"omitted",
       R"({"tool_calls": [{"name": "a", "arguments": {"y":)",
       {"bound: a, call 0", "omitted: a.x, call 0", "written: a.y, call 0"},
       "0 z/é?, 1 p, 1 r, 1 q?"},
      {"skipped and omitted, and a key with escapes",
       R"({"tool_calls": [{"name": "a", "arguments": {"z\/\u00e9":)",
       {"bound: a, call 0", "omitted: a.x, call 0", "skipped: a.y, call 0",
        "written: a.z/é, call 0"},
       "1 p, 1 r, 1 q?"},
      {"a field that was passed comes after all",
       R"({"tool_calls": [{"name": "a", "arguments": {"y": 1, "x":)",
       {"bound: a, call 0", "omitted: a.x, call 0", "written: a.y, call 0", "written: a.x, call 0"},
       "0 z/é?, 1 p, 1 r, 1 q?"},
      {"a key twice",
       R"({"tool_calls": [{"name": "a", "arguments": {"x": 1, "x":)",
       {"bound: a, call 0", "written: a.x, call 0"},
       "0 y, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"a key that nobody knows passes nothing",
       R"({"tool_calls": [{"name": "a", "arguments": {"w": 1, "\ud800": 2,)",
       {"bound: a, call 0"},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"a nested key is none of the call's",
       R"({"tool_calls": [{"name": "a", "arguments": {"x": {"y": [{"z/é": 1}], "y":)",
       {"bound: a, call 0", "written: a.x, call 0"},
       "0 y, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"nor is one beside the arguments",
       R"({"tool_calls": [{"name": "a", "y": 1, "other": {"y": 2}, "arguments": [{"y": 3}], "x":)",
       {"bound: a, call 0"},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"a string that looks like keys",
       R"({"tool_calls": [{"name": "a", "arguments": {"x": "}]}\"y\": ", )",
       {"bound: a, call 0", "written: a.x, call 0"},
       "0 y, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"behind the arguments the call goes on",
       R"({"tool_calls": [{"name": "a", "arguments": {"y": 1})",
       {"bound: a, call 0", "omitted: a.x, call 0", "written: a.y, call 0"},
       "0 z/é?, 1 p, 1 r, 1 q?"},
      {"call closed",
       R"({"tool_calls": [{"name": "a", "arguments": {"y": 1}})",
       {"bound: a, call 0", "omitted: a.x, call 0", "written: a.y, call 0",
        "call closed: a, call 0"},
       "1 p, 1 r, 1 q?"},
      {"a call without arguments",
       R"({"tool_calls": [{"name": "a"})",
       {"bound: a, call 0", "call closed: a, call 0"},
       "1 p, 1 r, 1 q?"},
      {"a call without anything",
       R"({"tool_calls": [{}, {"name":)",
       {"call closed: a, call 0"},
       "1 p, 1 r, 1 q?"},
      {"what is no call",
       R"({"tool_calls": [7, [], [{"name": "b"}], "a", {"name": "a")",
       {"bound: a, call 0"},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"list ended",
       R"({"tool_calls": [{"name": "b", "arguments": {"p": 1}}])",
       {"rebound: b is call 0 now", "written: b.p, call 0", "call closed: b, call 0",
        "list ended: a, call 1", "list ended: none, call 2"},
       ""},
      {"nothing comes behind the end of the list",
       R"({"tool_calls": [], "tool_calls": [{"name": "a"}]})",
       {"list ended: a, call 0", "list ended: b, call 1", "list ended: none, call 2"},
       ""},
      {"the outer object ends without a list",
       R"({"tool_calls": null})",
       {"list ended: a, call 0", "list ended: b, call 1", "list ended: none, call 2"},
       ""},
      {"arguments in front of the name",
       R"({"tool_calls": [{"arguments": {"r": 1, "x": 2, "q": 3}, "name": "b")",
       {"rebound: b is call 0 now", "skipped: b.p, call 0", "omitted: b.q, call 0",
        "written: b.r, call 0", "written: b.q, call 0"},
       "1 y, 1 x?, 1 z/é?"},
      {"an answer without them",
       R"({"text": [{"name": "b", "arguments": {"p": 1}}])",
       {},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"a bare list",
       R"([{"name": "b", "parameters": {"p": "x"}}, {"name": "none"}])",
       {"rebound: b is call 0 now", "written: b.p, call 0", "call closed: b, call 0",
        "rebound: none is call 1 now", "call closed: none, call 1", "added: a, call 3",
        "list ended: a, call 2", "list ended: a, call 3"},
       ""},
      {"a bare call",
       R"({"name": "b", "parameters": {"p": "x")",
       {"rebound: b is call 0 now", "written: b.p, call 0"},
       "0 r, 0 q?, 1 y, 1 x?, 1 z/é?"},
      {"the end of a bare call",
       R"({"name": "none", "parameters": {}})",
       {"rebound: none is call 0 now", "call closed: none, call 0", "list ended: a, call 2",
        "list ended: b, call 1"},
       ""},
      {"prose", "I call b: [1] \"b\" b(p)", {}, "0 y, 0 x?, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"a list that is prose", "[1]", {}, "0 y, 0 x?, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"broken",
       R"({"tool_calls": [{"name": "a", oops "arguments": {"x": 1}, {"name": "b")",
       {"bound: a, call 0"},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r, 1 q?"},
      {"broken to the end",
       R"({"tool_calls": [{"name": "a" oops}]} {"name": "a"})",
       {"bound: a, call 0", "call closed: a, call 0", "list ended: b, call 1",
        "list ended: none, call 2"},
       ""},
  });
  const Inputs inputs(3);
  for (const Case& row : kCases) {
    const Seen seen = Aligned(inputs, {row.answer});
    EXPECT_EQ(seen.events, row.events) << row.label;
    EXPECT_EQ(seen.active, row.active) << row.label;
  }
}

}  // namespace
}  // namespace schemafill
