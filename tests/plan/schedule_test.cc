#include "plan/schedule.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/check.h"
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
      {"nothing yet", "", {}, "0 y, 0 x?, 0 z/é?, 1 p, 1 r"},
      {"a name that is not complete",
       R"({"tool_calls": [{"name": "a)",
       {},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r"},
      {"bound",
       R"({"tool_calls": [{"name": "a")",
       {"bound: a, call 0"},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r"},
      {"rebound",
       R"({"tool_calls": [{"name": "b")",
       {"rebound: b is call 0 now"},
       "0 p, 0 r, 0 q?, 1 y"},
      {"rebound with a group behind the next one",
       R"({"tool_calls": [{"name": "none")",
       {"rebound: none is call 0 now"},
       "1 p, 1 r"},
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
       "1 p, 1 r"},
      {"behind it the row goes on",
       R"({"tool_calls": [{"name": "other", "arguments": {"y": 1}}, {"name": "b")",
       {"other tool: a, call 0", "bound: b, call 1"},
       "1 p, 1 r, 1 q?"},
      {"a key without its colon",
       R"({"tool_calls": [{"name": "a", "arguments": {"x" )",
       {"bound: a, call 0"},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r"},
      {"written",
       R"({"tool_calls": [{"name": "a", "arguments": {"x":)",
       {"bound: a, call 0", "written: a.x, call 0"},
       "0 y, 0 z/é?, 1 p, 1 r"},
      {"omitted",
       R"({"tool_calls": [{"name": "a", "arguments": {"y":)",
       {"bound: a, call 0", "omitted: a.x, call 0", "written: a.y, call 0"},
       "0 z/é?, 1 p, 1 r"},
      {"skipped and omitted, and a key with escapes",
       R"({"tool_calls": [{"name": "a", "arguments": {"z\/\u00e9":)",
       {"bound: a, call 0", "omitted: a.x, call 0", "skipped: a.y, call 0",
        "written: a.z/é, call 0"},
       "1 p, 1 r"},
      {"a field that was passed comes after all",
       R"({"tool_calls": [{"name": "a", "arguments": {"y": 1, "x":)",
       {"bound: a, call 0", "omitted: a.x, call 0", "written: a.y, call 0", "written: a.x, call 0"},
       "0 z/é?, 1 p, 1 r"},
      {"a key twice",
       R"({"tool_calls": [{"name": "a", "arguments": {"x": 1, "x":)",
       {"bound: a, call 0", "written: a.x, call 0"},
       "0 y, 0 z/é?, 1 p, 1 r"},
      {"a key that nobody knows passes nothing",
       R"({"tool_calls": [{"name": "a", "arguments": {"w": 1, "\ud800": 2,)",
       {"bound: a, call 0"},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r"},
      {"a nested key is none of the call's",
       R"({"tool_calls": [{"name": "a", "arguments": {"x": {"y": [{"z/é": 1}], "y":)",
       {"bound: a, call 0", "written: a.x, call 0"},
       "0 y, 0 z/é?, 1 p, 1 r"},
      {"nor is one beside the arguments",
       R"({"tool_calls": [{"name": "a", "y": 1, "other": {"y": 2}, "arguments": [{"y": 3}], "x":)",
       {"bound: a, call 0"},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r"},
      {"a string that looks like keys",
       R"({"tool_calls": [{"name": "a", "arguments": {"x": "}]}\"y\": ", )",
       {"bound: a, call 0", "written: a.x, call 0"},
       "0 y, 0 z/é?, 1 p, 1 r"},
      {"behind the arguments the call goes on",
       R"({"tool_calls": [{"name": "a", "arguments": {"y": 1})",
       {"bound: a, call 0", "omitted: a.x, call 0", "written: a.y, call 0"},
       "0 z/é?, 1 p, 1 r"},
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
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r"},
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
       "1 y"},
      {"an answer without them",
       R"({"text": [{"name": "b", "arguments": {"p": 1}}])",
       {},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r"},
      {"a bare list",
       R"([{"name": "b", "parameters": {"p": "x"}}, {"name": "none"}])",
       {"rebound: b is call 0 now", "written: b.p, call 0", "call closed: b, call 0",
        "rebound: none is call 1 now", "call closed: none, call 1", "added: a, call 3",
        "list ended: a, call 2", "list ended: a, call 3"},
       ""},
      {"a bare call",
       R"({"name": "b", "parameters": {"p": "x")",
       {"rebound: b is call 0 now", "written: b.p, call 0"},
       "0 r, 0 q?, 1 y"},
      {"the end of a bare call",
       R"({"name": "none", "parameters": {}})",
       {"rebound: none is call 0 now", "call closed: none, call 0", "list ended: a, call 2",
        "list ended: b, call 1"},
       ""},
      {"calls in a bare call",
       R"({"name": "a", "tool_calls": [{"name": "b")",
       {"bound: a, call 0", "call closed: a, call 0", "bound: b, call 1"},
       "1 p, 1 r, 1 q?"},
      {"prose", "I call b: [1] \"b\" b(p)", {}, "0 y, 0 x?, 0 z/é?, 1 p, 1 r"},
      {"a list that is prose", "[1]", {}, "0 y, 0 x?, 0 z/é?, 1 p, 1 r"},
      {"broken",
       R"({"tool_calls": [{"name": "a", oops "arguments": {"x": 1}, {"name": "b")",
       {"bound: a, call 0"},
       "0 y, 0 x?, 0 z/é?, 1 p, 1 r"},
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

TEST(Schedule, StatesOfFields) {
  const Inputs inputs(3);
  const Seen seen = Aligned(inputs, {R"({"tool_calls": [{"name": "b", "arguments": {"q": 1}},
      {"name": "b"}, {"name": "a", "arguments": {"y":)"});
  EXPECT_EQ(seen.groups,
            "1 a retired: x? retired, y retired, z/é? retired,\n"
            "0 b bound retired: p retired, q? written, r retired,\n"
            "3 none:\n"
            "1 b bound retired: p retired, q? retired, r retired,\n"
            "2 a bound: x? passed, y written, z/é? open,\n");
}

// Calls without arguments, of the tools whose names are given one after the other.
std::string Calls(std::string_view names) {
  std::string text = R"({"tool_calls": [)";
  for (const char name : names) {
    if (text.back() == '}') text += ", ";
    text += fmt::format(R"({{"name": "{}", "arguments": {{}}}})",
                        name == 'n' ? "none" : std::string(1, name));
  }
  return text;
}

// `0 a, 1 b`: groups that are not retired.
std::string DumpRow(const Inputs& inputs, const Schedule& schedule) {
  std::string out;
  for (int call = 0; call < 100; ++call) {
    const int group = schedule.GroupOf(call);
    if (group < 0) continue;
    const int tool = schedule.groups()[static_cast<size_t>(group)].tool;
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", call,
                       inputs.catalog.tools[static_cast<size_t>(tool)].name);
  }
  return out;
}

TEST(Schedule, WindowSlides) {
  struct Case {
    std::string_view label;
    int budget;
    std::string_view calls;
    std::string_view row;
  };
  const auto kCases = std::to_array<Case>({
      {"the forecast", 3, "", "0 a, 1 b, 2 none"},
      {"the next call has a group", 3, "a", "1 b, 2 none"},
      {"the next one has none", 3, "ab", "2 none, 3 a"},
      {"a fourth call", 3, "abn", "3 a, 4 b"},
      {"a fifth call", 3, "abna", "4 b, 5 none"},
      {"a sixth call in another order", 3, "abnan", "5 b, 6 a"},
      {"of two groups the one that stands in front is taken", 6, "nnb", "3 a, 4 a, 5 b"},
      {"tools that are not the forecast's", 3, "aaaaaa", "6 none, 7 b"},
      {"calls of nobody's tools", 3, "????", "4 b, 5 none"},
      {"nothing is added before a call begins", 1, "", "0 a"},
      {"one group", 1, "b", "1 a, 2 none"},
      {"the last call that gets a group", 3, "aaaaaaaaaaaaaaa", "15 none"},
      {"then there are none", 3, "aaaaaaaaaaaaaaaa", ""},
      {"nor for another tool", 3, "abnabnabnabnabnabnabna", ""},
      {"a forecast that goes further", 18, "aaaaaaaaaaaaaaaaa", "17 none"},
      {"no groups", 0, "", ""},
      {"none are added to them", 0, "ab", ""},
  });
  for (const Case& row : kCases) {
    const Inputs inputs(row.budget);
    Schedule schedule(inputs.catalog, inputs.forecast);
    Answer answer;
    answer.Feed(Calls(row.calls));
    schedule.Align(answer);
    EXPECT_EQ(DumpRow(inputs, schedule), row.row) << row.label;
  }
}

TEST(Schedule, BehindABareCallNothingIsAdded) {
  const Inputs inputs(2);
  const Seen seen = Aligned(inputs, {R"({"name": "a"})"});
  EXPECT_EQ(seen.events,
            (Events{"bound: a, call 0", "call closed: a, call 0", "list ended: b, call 1"}));
}

TEST(Schedule, EndlessListHasAnEnd) {
  const Inputs inputs(3);
  const Seen seen = Aligned(inputs, {Calls(std::string(500, 'b'))});
  EXPECT_LE(std::count(seen.groups.begin(), seen.groups.end(), '\n'), 2 * kMaxScheduledCalls + 1);
  EXPECT_EQ(seen.events.back(), fmt::format("call closed: b, call {}", kMaxScheduledCalls - 1));
}

TEST(Schedule, WithoutAForecastAVerifiedCallHasItsGroup) {
  const Inputs inputs(0);
  const Seen seen = Aligned(inputs, {R"({"tool_calls": [{"name": "b", "arguments": {"p":)"});
  EXPECT_EQ(seen.events, (Events{"added: b, call 0", "written: b.p, call 0"}));
  EXPECT_EQ(seen.active, "0 r, 0 q?");
}

TEST(Schedule, WithoutToolsThereIsNone) {
  const Inputs inputs(3, "[]");
  const Seen seen = Aligned(inputs, {R"({"tool_calls": [{"name": "b", "arguments": {"p": 1}}]})"});
  EXPECT_EQ(seen, Seen{});
}

TEST(Schedule, AnAnswerOnlyGrows) {
  const Inputs inputs(3);
  Schedule schedule(inputs.catalog, inputs.forecast);
  Answer answer;
  answer.Feed("{\"tool_calls\"");
  schedule.Align(answer);
  EXPECT_THROW(schedule.Align(Answer()), InternalError);
}

// A list of calls of any tools with any keys.
JsonTree RandomCalls(KeyedDice& dice) {
  constexpr auto kNames = std::to_array<std::string_view>({"a", "b", "none", "other"});
  constexpr auto kKeys = std::to_array<std::string_view>(
      {"x", "y", "z/é", R"(z\/\u00e9)", "p", "q", "r", R"(\u0070)", "name", "arguments"});
  JsonTree calls = JsonTree::Array();
  for (int left = dice.Roll(20); left > 0; --left) {
    JsonTree arguments = JsonTree::Object();
    for (int keys = dice.Roll(5); keys > 0; --keys) {
      arguments.Add(std::string(dice.Pick(kKeys)), RandomTree(dice, 2));
    }
    const JsonTree name = JsonTree::String(dice.Pick(kNames));
    const bool last = dice.OneIn(4);
    JsonTree call = JsonTree::Object();
    if (!last) call.Add("name", name);
    if (!dice.OneIn(8)) call.Add(dice.OneIn(4) ? "parameters" : "arguments", arguments);
    if (dice.OneIn(8)) call.Add("other", RandomTree(dice, 2));
    if (last) call.Add("name", name);
    calls.Add(std::move(call));
  }
  return calls;
}

std::string RandomAnswer(KeyedDice& dice) {
  const JsonStyle style{.indent = dice.OneIn(4) ? 2 : 0, .odd = dice.OneIn(4) ? &dice : nullptr};
  const JsonTree calls = RandomCalls(dice);
  if (dice.OneIn(4)) return Write(calls, style);
  if (dice.OneIn(4) && !calls.members.empty()) return Write(calls.members[0].second, style);
  JsonTree root = JsonTree::Object();
  if (dice.OneIn(4)) root.Add(dice.Pick(OddKeys()), RandomTree(dice, 3));
  root.Add("tool_calls", calls);
  if (dice.OneIn(4)) root.Add(dice.Pick(OddKeys()), RandomTree(dice, 3));
  return Write(root, style);
}

std::vector<std::string_view> Cut(std::string_view text, KeyedDice& dice, int longest) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    parts.push_back(text.substr(0, static_cast<size_t>(dice.Roll(longest + 1))));
    text.remove_prefix(parts.back().size());
  }
  return parts;
}

TEST(Schedule, TheSameHoweverTheAnswerIsCut) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    KeyedDice dice(seed);
    const Inputs inputs(dice.Roll(5));
    std::string text = RandomAnswer(dice);
    if (dice.OneIn(2)) text = Damaged(dice, std::move(text), 1 + dice.Roll(3));
    if (dice.OneIn(2))
      text.resize(static_cast<size_t>(dice.Roll(static_cast<int>(text.size()) + 1)));
    const Seen whole = Aligned(inputs, {text});
    EXPECT_EQ(Aligned(inputs, Cut(text, dice, 1)), whole) << text;
    EXPECT_EQ(Aligned(inputs, Cut(text, dice, 40)), whole) << text;
  }
}

// What the schedule tells of a list of calls, in order: the calls that a group stands for and the
// arguments in them that its tool has, each once.
Events ExpectedEvents(const JsonTree& calls, const Catalog& catalog) {
  Events events;
  for (size_t j = 0; j < calls.members.size() && j < kMaxScheduledCalls; ++j) {
    const Json call = Json::parse(Write(calls.members[j].second));
    const std::string name = call["name"];
    const int tool = catalog.Find(name);
    if (tool < 0) continue;
    const std::vector<Property>& properties =
        catalog.node(catalog.tools[static_cast<size_t>(tool)].parameters).properties;
    for (const auto* key : {"arguments", "parameters"}) {
      if (!call.contains(key)) continue;
      for (const auto& [field, value] : call[key].items()) {
        const auto named = [&](const Property& property) { return property.name == field; };
        if (std::any_of(properties.begin(), properties.end(), named))
          events.push_back(fmt::format("written: {}.{}, call {}", name, field, j));
      }
    }
    events.push_back(fmt::format("call closed: {}, call {}", name, j));
  }
  return events;
}

TEST(Schedule, TellsWhatIsWritten) {
  int told = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    KeyedDice dice(seed);
    const Inputs inputs(dice.Roll(5));
    const JsonTree calls = RandomCalls(dice);
    Events events = Aligned(inputs, {Write(calls, {.odd = &dice})}).events;
    std::erase_if(events, [](std::string_view event) {
      return !event.starts_with("written") && !event.starts_with("call closed");
    });
    EXPECT_EQ(events, ExpectedEvents(calls, inputs.catalog)) << Write(calls);
    told += static_cast<int>(events.size());
  }
  EXPECT_GT(told, 2000);
}

// Each step on its own: one group a call, and what is retired stays so.
TEST(Schedule, KeepsItsRow) {
  for (uint64_t seed = 0; seed < 100; ++seed) {
    KeyedDice dice(seed);
    const Inputs inputs(dice.Roll(5));
    const std::string text = Damaged(dice, RandomAnswer(dice), dice.Roll(3));
    Schedule schedule(inputs.catalog, inputs.forecast);
    Answer answer;
    std::vector<ScheduledGroup> before = schedule.groups();
    for (const char c : text) {
      answer.Feed(std::string_view(&c, 1));
      schedule.Align(answer);
      const std::vector<ScheduledGroup>& groups = schedule.groups();
      std::set<int> calls;
      for (size_t i = 0; i < groups.size(); ++i) {
        if (i < before.size()) {
          EXPECT_EQ(groups[i].tool, before[i].tool) << text;
          EXPECT_GE(groups[i].bound, before[i].bound) << text;
          EXPECT_GE(groups[i].retired, before[i].retired) << text;
        }
        if (groups[i].retired) continue;
        EXPECT_TRUE(calls.insert(groups[i].call).second) << text;
        EXPECT_EQ(schedule.GroupOf(groups[i].call), static_cast<int>(i)) << text;
      }
      for (const ActiveField& active : schedule.Active())
        EXPECT_FALSE(groups[static_cast<size_t>(active.group)].retired) << text;
      before = groups;
    }
  }
}

}  // namespace
}  // namespace schemafill
