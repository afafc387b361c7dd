#include "draft/side.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>

#include "pack/side_rows.h"
#include "support/draft_inputs.h"
#include "support/keyed_dice.h"
#include "support/scripted.h"

namespace schemafill {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::StartsWith;

// Active at the start: call 0's city, days and unit, call 1's city and days.
constexpr std::string_view kOneTool = R"([
    {"name": "get_weather", "description": "The weather.", "parameters": {"type": "object",
     "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]},
                    "days": {"type": "integer"}}, "required": ["city", "days"]}}])";
// The forecast is get_weather, noop, get_weather.
constexpr std::string_view kTwoTools = R"([
    {"name": "get_weather", "description": "The weather in a city.", "parameters": {
     "properties": {"city": {"type": "string"}, "unit": {"enum": ["celsius", "fahrenheit"]},
                    "days": {"type": "integer"}}, "required": ["city", "days"]}},
    {"name": "noop"}])";

constexpr SideOptions kHinted{.context = SideContext::kHint};

// One request's branches beside a MAIN that writes what a test says.
class SideBench {
 public:
  explicit SideBench(std::string_view tools = kOneTool, const SideOptions& options = kHinted,
                     std::string_view request = kWeatherText)
      : inputs_(tools, request),
        tokenizer_(JsonTokenizer()),
        schedule_(inputs_.catalog, inputs_.forecast),
        branches_(inputs_.sources(), *tokenizer_, options),
        tokens_(tokenizer_->Encode("prompt: ")),
        prompt_(static_cast<int>(tokens_.size())) {}

  // MAIN goes on with `text`.
  void Main(std::string_view text) {
    for (const Token token : tokenizer_->Encode(text)) tokens_.push_back(token);
    answer_.Feed(text);
    schedule_.Align(answer_);
  }

  std::vector<SideDraft> Propose(int max_rows = 1000, int max_new = 100) {
    return branches_.Propose({&answer_, tokens_, prompt_}, schedule_, branches_.Prepared(schedule_),
                             max_rows, max_new);
  }

  // What the target writes in the branch, from behind its prefix on.
  void Target(int branch, std::string_view text) { targets_[branch] = tokenizer_->Encode(text); }
  void TargetEnds(int branch, std::string_view text) {
    Target(branch, text);
    targets_[branch].push_back(tokenizer_->end_token());
  }

  // The target's verdicts on the drafts, taken in. Branches without a text get blanks.
  std::vector<int> Take(std::span<const SideDraft> drafts) {
    std::vector<SideVerdict> verdicts;
    for (const SideDraft& draft : drafts) {
      std::vector<Token>& rest = targets_[draft.branch];
      while (rest.size() <= draft.draft.size()) rest.push_back(Token{' '});
      const auto refused = std::ranges::mismatch(draft.draft, rest).in1;
      const int accepted = static_cast<int>(refused - draft.draft.begin());
      verdicts.push_back({draft.branch, accepted, rest[static_cast<size_t>(accepted)]});
      rest.erase(rest.begin(), rest.begin() + accepted + 1);
    }
    return branches_.Take(verdicts, drafts);
  }

  // Rounds until the branches that are under way are done; the branches in that order.
  std::vector<int> Finish() {
    std::vector<int> done;
    for (int round = 0; round < 100; ++round) {
      const std::vector<SideDraft> drafts = Propose(1000, 0);
      if (drafts.empty()) return done;
      for (const int branch : Take(drafts)) done.push_back(branch);
    }
    ADD_FAILURE() << "branches without an end";
    return done;
  }

  std::vector<int> Retire() { return branches_.Retire(schedule_); }

  std::string Text(std::span<const Token> tokens) const {
    return tokenizer_->Decode({tokens.begin(), tokens.end()});
  }
  // MAIN's text that the branch continues, then a bar and its own prefix.
  std::string Prefix(const SideDraft& draft) const {
    return Text(std::span(tokens_)
                    .first(static_cast<size_t>(draft.fork))
                    .subspan(static_cast<size_t>(prompt_))) +
           "|" + Text(draft.context);
  }

  // `0 city "Paris", 1 days 5...`: call, field, and the value with dots if it isn't complete.
  std::string Prepared() const {
    std::string out;
    for (const PreparedValue& value : branches_.Prepared(schedule_)) {
      EXPECT_EQ(inputs_.catalog.tools[static_cast<size_t>(value.tool)].name, "get_weather");
      out += fmt::format("{}{} {} {}{}", out.empty() ? "" : ", ", value.call, value.field,
                         value.json, value.complete ? "" : "...");
    }
    return out;
  }

  const Tokenizer& tokenizer() const { return *tokenizer_; }
  const Schedule& schedule() const { return schedule_; }
  const SideBranches& branches() const { return branches_; }
  int prompt() const { return prompt_; }

 private:
  DraftInputs inputs_;
  std::shared_ptr<const ScriptedTokenizer> tokenizer_;
  Schedule schedule_;
  SideBranches branches_;
  Answer answer_;
  std::vector<Token> tokens_;  // prompt and output
  int prompt_;
  std::map<int, std::vector<Token>> targets_;
};

// Rows of the forward that these drafts cost.
int CountRows(std::span<const SideDraft> drafts) {
  std::vector<BranchId> ids;
  for (const SideDraft& draft : drafts) ids.push_back(BranchId{draft.branch});
  return static_cast<int>(PackSide(drafts, ids).rows.size());
}

std::vector<int> Numbers(std::span<const SideDraft> drafts) {
  std::vector<int> numbers;
  for (const SideDraft& draft : drafts) numbers.push_back(draft.branch);
  return numbers;
}

// ---- Where a branch begins ----

// The texts, each behind a bar, with the bar behind what MAIN has of them.
std::vector<std::string> Spine(std::string_view main, std::vector<std::string> texts) {
  for (std::string& text : texts) {
    EXPECT_EQ(text.substr(1, main.size()), main);
    text = std::string(main) + "|" + text.substr(1 + main.size());
  }
  return texts;
}

TEST(SideBranches, BeginForActiveFieldsInOrder) {
  struct Case {
    std::string_view label;
    SideContext context;
    std::string_view tools;
    std::string main;
    std::vector<std::string> prefixes;  // MAIN's text | the branch's own
  };
  const std::string head = R"(|{"tool_calls": [{"name": "get_weather", "arguments": {)";
  const std::string second = "|Select the second request.\n" + head.substr(1);
  const std::string third = "|Select the third request.\n" + head.substr(1);
  const std::string one = R"({"tool_calls": [{"name": "get_weather", "arguments": )";
  const std::string paris = one + R"({"city": "Paris", "days": 3}})";
  const std::string another = R"(|, {"name": "get_weather", "arguments": {)";
  const std::string noop = R"({"tool_calls": [{"name": "noop", "arguments": {}})";
  const std::vector<std::string> from_prompt = {
      head + "\"city\":", head + "\"days\":", head + "\"unit\":", second + "\"city\":",
      second + "\"days\":"};
  // The likeliest values of the slots in front stand in a guess.
  const std::string again = "|" + paris + R"(, {"name": "get_weather", "arguments": {)";
  const std::string city = R"("city":)";
  const std::string days = city + R"( "Paris", "days":)";
  const std::string unit = days + R"( 3, "unit":)";
  const std::string next_city =
      unit + R"( "celsius"}}, {"name": "get_weather", "arguments": {"city":)";
  const std::string next_days = next_city + R"( "Paris", "days":)";
  const auto kCases = std::to_array<Case>({
      {"the start", SideContext::kHint, kOneTool, "", from_prompt},
      {"what MAIN has written is not active",
       SideContext::kHint,
       kOneTool,
       one + R"({"city": "Par)",
       {head + "\"days\":", head + "\"unit\":", second + "\"city\":", second + "\"days\":"}},
      {"the second call",
       SideContext::kHint,
       kOneTool,
       paris,
       {second + "\"city\":", second + "\"days\":", second + "\"unit\":", third + "\"city\":",
        third + "\"days\":"}},
      {"another tool came first",
       SideContext::kHint,
       kTwoTools,
       noop.substr(0, noop.find(", \"arg")),
       {second + "\"city\":", second + "\"days\":"}},
      {"the end", SideContext::kHint, kOneTool, paris + "]", {}},
      {"a guess from the start", SideContext::kGuess, kOneTool, "",
       Spine("", {head + city, head + days, head + unit, head + next_city, head + next_days})},
      {"a guess inside of a value, whose slot is MAIN's", SideContext::kGuess, kOneTool,
       one + R"({"city": "Par)",
       Spine(one + R"({"city": "Par)",
             {head + days, head + unit, head + next_city, head + next_days})},
      {"a guess behind the first call", SideContext::kGuess, kOneTool, paris,
       Spine(paris,
             {again + city, again + days, again + unit, again + next_city, again + next_days})},
      {"a guess in a name", SideContext::kGuess, kOneTool, paris + R"(, {"name": "get_w)",
       Spine(paris + R"(, {"name": "get_w)",
             {again + city, again + days, again + unit, again + next_city, again + next_days})},
      {"no guess behind prose", SideContext::kGuess, kOneTool, "I can't.", {}},
      {"no guess at the end", SideContext::kGuess, kOneTool, paris + "]", {}},
  });
  for (const Case& row : kCases) {
    SideBench bench(row.tools, {.context = row.context});
    bench.Main(row.main);
    std::vector<std::string> prefixes;
    for (const SideDraft& draft : bench.Propose()) {
      EXPECT_EQ(draft.branch, static_cast<int>(prefixes.size())) << row.label;
      EXPECT_TRUE(draft.begins) << row.label;
      EXPECT_TRUE(row.context == SideContext::kGuess || draft.fork == bench.prompt()) << row.label;
      prefixes.push_back(bench.Prefix(draft));
    }
    EXPECT_EQ(prefixes, row.prefixes) << row.label;
    EXPECT_THAT(bench.Propose(), testing::SizeIs(prefixes.size())) << row.label;
  }
}

TEST(SideBranches, HintsGoOnBehindTheEighthCall) {
  SideBench bench;
  std::string calls;
  for (int i = 0; i < 8; ++i)
    calls += std::string(i == 0 ? R"({"tool_calls": [)" : ", ") + R"({"name": "x"})";
  bench.Main(calls);
  // The tool of these calls is unknown: behind them the row of forecast calls goes on.
  const std::vector<SideDraft> drafts = bench.Propose();
  ASSERT_FALSE(drafts.empty());
  EXPECT_THAT(bench.Text(drafts.front().context), StartsWith("Select request 9.\n{\"tool"));
}

// A prefix is spelled as MAIN spells its calls.
TEST(SideBranches, SpellingFollowsMain) {
  constexpr auto kHeads = std::to_array<std::string_view>({
      R"({"tool_calls": [{"name": "get_weather", "arguments": {)",
      R"({"tool_calls":[{"name":"get_weather","arguments":{)",
      "{\n  \"tool_calls\": [\n    {\n      \"name\": \"get_weather\",\n      \"arguments\": {\n"
      "        ",
      "{\n \"tool_calls\": [\n  {\n   \"name\": \"get_weather\",\n   \"arguments\": {\n    ",
      R"({ "tool_calls": [ { "name": "get_weather", "arguments": { )",
  });
  for (const std::string_view head : kHeads) {
    SideBench bench;
    bench.Main(std::string(head) + "\"city\"");
    const std::vector<SideDraft> drafts = bench.Propose(1000, 1);
    ASSERT_EQ(drafts.size(), 1u) << head;
    EXPECT_EQ(bench.Text(drafts[0].context), std::string(head) + "\"city\":");
  }
  SideBench compact(kOneTool, {.context = SideContext::kGuess});
  compact.Main(R"({"tool_calls":[{"name":"get_weather","arguments":{"city":"Paris","days":3}})");
  EXPECT_EQ(compact.Text(compact.Propose()[0].context),
            R"(,{"name":"get_weather","arguments":{"city":)");
}

// ---- What it drafts ----

TEST(SideBranches, DraftsItsValueUpToTheBoundary) {
  SideBench bench;
  std::vector<std::string> drafts;
  for (const SideDraft& draft : bench.Propose()) drafts.push_back(bench.Text(draft.draft));
  // A closing quote comes together with what the target goes on with.
  EXPECT_THAT(drafts, ElementsAre(" \"Paris", " 3", " \"celsius", " \"Paris", " 3"));
}

TEST(SideBranches, DraftsNoLongerThanItMay) {
  SideBench bench(kOneTool, {.max_draft = 2, .context = SideContext::kHint});
  for (const SideDraft& draft : bench.Propose()) EXPECT_EQ(draft.draft.size(), 2u);
  SideBench none(kOneTool, {.max_draft = 0, .context = SideContext::kHint});
  for (const SideDraft& draft : none.Propose()) EXPECT_THAT(draft.draft, IsEmpty());
}

TEST(SideBranches, WhatNobodyCanGuessHasNoDraft) {
  SideBench bench(kOneTool, kHinted, "Hello");
  const std::vector<SideDraft> drafts = bench.Propose();
  ASSERT_EQ(drafts.size(), 5u);
  EXPECT_THAT(drafts[1].draft, IsEmpty());  // days
}

// Values that other branches have ready move it on in the request.
TEST(SideBranches, TheNextCallHasTheNextValue) {
  SideBench bench;
  const std::vector<SideDraft> first = bench.Propose(1000, 3);
  bench.Target(0, " \"Paris\", \"");
  bench.Target(1, " 3, ");
  bench.Target(2, " \"celsius\"}}");
  EXPECT_THAT(bench.Take(first), ElementsAre(0, 1, 2));
  EXPECT_EQ(bench.Prepared(), R"(0 city "Paris", 0 days 3, 0 unit "celsius")");
  const std::vector<SideDraft> next = bench.Propose();
  ASSERT_THAT(Numbers(next), ElementsAre(3, 4));
  EXPECT_EQ(bench.Text(next[0].draft), " \"London");
  EXPECT_EQ(bench.Text(next[1].draft), " 5");
}

// ---- What the target says ----

TEST(SideBranches, TakesAcceptedTokensAndTheCorrection) {
  SideBench bench;
  bench.Target(0, " \"Paris is");
  std::vector<SideDraft> drafts = bench.Propose(1000, 1);
  ASSERT_EQ(bench.Text(drafts[0].draft), " \"Paris");
  EXPECT_THAT(bench.Take(drafts), IsEmpty());
  EXPECT_EQ(bench.Prepared(), "0 city \"Paris ...");
  drafts = bench.Propose(1000, 0);
  ASSERT_EQ(drafts.size(), 1u);
  EXPECT_FALSE(drafts[0].begins);
  EXPECT_EQ(bench.Text(drafts[0].context), " ");  // accepted ones have their cells
  bench.Target(0, "\"x");
  EXPECT_THAT(bench.Take(drafts), ElementsAre(0));
  EXPECT_EQ(bench.Prepared(), "0 city \"Paris \"");
  EXPECT_THAT(bench.Propose(1000, 0), IsEmpty());
}

TEST(SideBranches, Ends) {
  struct Case {
    std::string_view label;
    std::string_view target;
    bool end_token;
    std::string_view prepared;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"complete as drafted", " \"Paris\"", false, "0 city \"Paris\""},
      {"complete, with more behind it", " \"Paris\", \"x\"", false, "0 city \"Paris\""},
      {"another value", " \"Rome\"}}", false, "0 city \"Rome\""},
      {"without the blank", "\"Paris\"", false, "0 city \"Paris\""},
      {"a value of another type", " 17}", false, "0 city 17"},
      {"a list", " [1, \"a]\"], ", false, "0 city [1, \"a]\"]"},
      {"longer than it may be", " \"Paris of the of the of the of the", false,
       "0 city \"Paris of the of the of the of..."},
      {"too long from the start", "                        ", false, ""},
      {"no JSON", " :", false, ""},
      {"no value", "}", false, ""},
      {"broken behind its begin", " [1 2", false, ""},
      {"an end token", "", true, ""},
      {"an end token in a string", " \"Paris", true, "0 city \"Paris..."},
      {"an end token behind a number", " 17", true, "0 city 17"},
  });
  for (const Case& row : kCases) {
    SideBench bench(kOneTool, {.max_value = 9, .context = SideContext::kHint});
    row.end_token ? bench.TargetEnds(0, row.target) : bench.Target(0, row.target);
    EXPECT_EQ(bench.Take(bench.Propose(1000, 1)).size() + bench.Finish().size(), 1u) << row.label;
    EXPECT_EQ(bench.Prepared(), row.prepared) << row.label;
  }
}

// Half a character at the end of a value stays out of what is shown and used.
TEST(SideBranches, PreparedHoldsWholeCharacters) {
  SideBench bench;
  bench.Target(0, "\"S\xc3\xa3o\"");
  std::vector<std::string> seen;
  std::vector<SideDraft> drafts = bench.Propose(1000, 1);
  for (int round = 0; round < 20 && !drafts.empty(); ++round) {
    bench.Take(drafts);
    seen.push_back(bench.Prepared());
    drafts = bench.Propose(1000, 0);
  }
  EXPECT_THAT(seen, testing::Contains("0 city \"S..."));
  EXPECT_THAT(seen, testing::Each(testing::Not(testing::EndsWith("\xc3..."))));
  EXPECT_EQ(seen.back(), "0 city \"S\xc3\xa3o\"");
}

// ---- MAIN moves on ----

TEST(SideBranches, RetireWithTheirFields) {
  SideBench bench;
  bench.Target(0, " \"Pa");
  bench.Target(1, " 3,");
  bench.Target(2, " \"fa");
  bench.Target(3, " \"Lon");
  bench.Target(4, " 5");
  EXPECT_THAT(bench.Take(bench.Propose()), ElementsAre(1));
  EXPECT_THAT(bench.Retire(), IsEmpty());
  const std::string both = bench.Prepared();
  EXPECT_THAT(both, testing::MatchesRegex("0 city \"P.*, 0 days 3, .*"));

  bench.Main(R"({"tool_calls": [{"name": "get_weather", "arguments": {"city":)");
  EXPECT_THAT(bench.Retire(), ElementsAre(0));
  EXPECT_THAT(bench.Retire(), IsEmpty());  // only once
  EXPECT_EQ(bench.Prepared(), both);       // MAIN may copy it while it writes the value
  EXPECT_THAT(Numbers(bench.Propose(1000, 0)), ElementsAre(2, 3, 4));

  bench.Main(R"( "Paris", "days":)");  // done already; and unit is passed, not gone
  EXPECT_THAT(bench.Retire(), ElementsAre(2));
  EXPECT_THAT(bench.Prepared(), testing::HasSubstr("0 unit"));

  bench.Main(" 3}}");
  EXPECT_THAT(bench.Retire(), IsEmpty());
  EXPECT_THAT(Numbers(bench.Propose(1000, 0)), ElementsAre(3, 4));
  bench.Main(", {\"name\": \"other\"");  // its fields can't come any more
  EXPECT_THAT(bench.Retire(), ElementsAre(3, 4));
  EXPECT_THAT(bench.Prepared(), testing::Not(testing::HasSubstr("1 ")));
  EXPECT_THAT(bench.Propose(1000, 0), IsEmpty());
}

TEST(SideBranches, AFieldHasOneBranch) {
  SideBench bench;
  bench.Target(0, " :");
  EXPECT_THAT(Numbers(bench.Propose(1000, 1)), ElementsAre(0));
  EXPECT_THAT(bench.Take(bench.Propose(1000, 0)), ElementsAre(0));  // broken
  // None is begun for it again.
  const std::vector<SideDraft> others = bench.Propose();
  EXPECT_THAT(Numbers(others), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(bench.Text(others[0].context), testing::EndsWith("\"days\":"));
}

TEST(SideBranches, RebindingMovesTheCall) {
  SideBench bench(kTwoTools);
  bench.Target(0, " \"Paris\"");
  const std::vector<SideDraft> drafts = bench.Propose(1000, 1);
  bench.Take(drafts);
  bench.Finish();
  ASSERT_EQ(bench.Prepared(), "0 city \"Paris\"");
  bench.Main(R"({"tool_calls": [{"name": "noop")");
  EXPECT_EQ(bench.Prepared(), "1 city \"Paris\"");
  const SideView view = bench.branches().View(0, bench.schedule());
  EXPECT_EQ(view.group, 0);
  EXPECT_EQ(view.value.call, 1);
  EXPECT_TRUE(view.value.complete);
}

// ---- Room ----

TEST(SideBranches, WithinTheirRows) {
  SideBench whole;
  const std::vector<SideDraft> all = whole.Propose();
  const int rows = CountRows(all);
  ASSERT_GT(rows, 20);
  for (int max_rows = 0; max_rows <= rows; ++max_rows) {
    SideBench bench;
    const std::vector<SideDraft> drafts = bench.Propose(max_rows);
    EXPECT_LE(CountRows(drafts), max_rows);
    EXPECT_EQ(drafts.size() == all.size(), max_rows == rows);
    // The fields in front come first.
    for (size_t i = 0; i < drafts.size(); ++i) EXPECT_EQ(drafts[i].context, all[i].context);
    // What found no room waits.
    EXPECT_EQ(bench.Propose().size(), all.size());
  }
  SideBench bench;
  bench.Take(bench.Propose());
  const std::vector<SideDraft> later = bench.Propose();
  EXPECT_THAT(bench.Propose(0), IsEmpty());
  EXPECT_EQ(Numbers(bench.Propose(CountRows(later) - 1)).size(), later.size() - 1);
  EXPECT_EQ(Numbers(bench.Propose()), Numbers(later));
}

TEST(SideBranches, NoMoreThanMayBegin) {
  for (int max_new = 0; max_new <= 5; ++max_new) {
    SideBench bench;
    EXPECT_EQ(static_cast<int>(bench.Propose(1000, max_new).size()), max_new);
  }
  SideBench bench(kOneTool, {.max_branches = 2, .context = SideContext::kHint});
  bench.Target(0, " \"Paris\"");
  EXPECT_THAT(Numbers(bench.Propose()), ElementsAre(0, 1));
  const std::vector<SideDraft> drafts = bench.Propose();
  EXPECT_THAT(Numbers(drafts), ElementsAre(0, 1));
  EXPECT_THAT(bench.Take(drafts), ElementsAre(0));
  EXPECT_THAT(Numbers(bench.Propose()), ElementsAre(1, 2));  // a place is free
}

// A branch that is under way shares no rows with one that begins, even where their tokens are the
// same.
TEST(SideBranches, RowsOfAnOlderBranchAreItsOwn) {
  constexpr std::string_view kObject = R"([{"name": "f", "parameters": {"properties": {
      "o": {"type": "object"}, "p": {"type": "object"}}, "required": ["o", "p"]}}])";
  for (int max_rows = 0; max_rows < 60; ++max_rows) {
    SideBench bench(kObject);
    std::vector<SideDraft> drafts = bench.Propose(1000, 1);
    ASSERT_EQ(drafts.size(), 1u);
    // Its correction is the first token of the other's prefix.
    bench.Target(0, "{\"");
    bench.Take(drafts);
    drafts = bench.Propose(max_rows, 1);
    EXPECT_LE(CountRows(drafts), max_rows);
  }
}

// Whatever MAIN and the target write: rows and branches stay within their limits, drafts within
// their values, and what is done stays so.
TEST(SideBranches, WhateverIsWritten) {
  const std::vector<std::string> texts = {" \"Paris\"",
                                          " 3",
                                          "{\"",
                                          "\"",
                                          ", ",
                                          "}",
                                          "]",
                                          " [",
                                          "a",
                                          ":",
                                          " \"celsius\"}}",
                                          "\xc3",
                                          ", \"unit\":",
                                          R"({"name": "get_weather", "arguments": {"city":)",
                                          "null",
                                          "\\"};
  int complete = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    KeyedDice dice(seed);
    const SideOptions options{.max_branches = 1 + dice.Roll(6),
                              .max_draft = dice.Roll(9),
                              .max_value = 1 + dice.Roll(20),
                              .context = dice.OneIn(2) ? SideContext::kHint : SideContext::kGuess};
    SideBench bench(dice.Pick(std::array{kOneTool, kTwoTools, kWeatherTools}), options);
    bench.Main(dice.OneIn(4) ? "" : R"({"tool_calls": [)");
    std::vector<bool> ended;
    for (int round = 0; round < 25; ++round) {
      const int max_rows = dice.Roll(120);
      const int max_new = dice.Roll(5);
      const std::vector<SideDraft> drafts = bench.Propose(max_rows, max_new);
      ASSERT_LE(CountRows(drafts), max_rows) << seed;
      ASSERT_LE(static_cast<int>(drafts.size()), options.max_branches) << seed;
      int begun = 0;
      for (const SideDraft& draft : drafts) {
        begun += draft.begins ? 1 : 0;
        ended.resize(std::max(ended.size(), static_cast<size_t>(draft.branch) + 1), false);
        ASSERT_FALSE(ended[static_cast<size_t>(draft.branch)]) << seed;
        ASSERT_FALSE(draft.context.empty()) << seed;
        ASSERT_LE(static_cast<int>(draft.draft.size()), options.max_draft) << seed;
        std::string text;
        while (text.size() < 40) text += dice.Pick(texts);
        const bool right = dice.OneIn(2);
        bench.Target(draft.branch, right ? bench.Text(draft.draft) + text : text);
      }
      ASSERT_LE(begun, max_new) << seed;
      for (const int branch : bench.Take(drafts)) ended[static_cast<size_t>(branch)] = true;
      if (dice.OneIn(3)) bench.Main(dice.Pick(texts));
      for (const int branch : bench.Retire()) {
        ASSERT_FALSE(ended[static_cast<size_t>(branch)]) << seed;
        ended[static_cast<size_t>(branch)] = true;
      }
      for (const PreparedValue& value : bench.branches().Prepared(bench.schedule())) {
        ASSERT_FALSE(value.json.empty()) << seed;
        complete += value.complete ? 1 : 0;
      }
    }
  }
  EXPECT_GT(complete, 1000);
}

}  // namespace
}  // namespace schemafill
