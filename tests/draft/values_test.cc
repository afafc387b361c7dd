#include "draft/values.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "support/keyed_dice.h"
#include "support/marked.h"

namespace schemafill {
namespace {

// What a query is about, as text. `source` is reached up to its |.
struct Slot {
  std::string_view schema;  // "": nothing is known
  std::string_view source;
  std::string_view typed;
  std::string_view answer = R"({"name": "f", "arguments": {)";
  std::string_view path = "x";
};

// The likeliest first.
std::vector<ValueCandidate> Candidates(const Slot& slot) {
  std::vector<SchemaNode> nodes;
  SchemaId root = kNoSchema;
  if (!slot.schema.empty()) root = ReadSchema(ParseJson(slot.schema, "schema").value(), nodes);
  const Marked marked(slot.source);
  Answer answer;
  answer.Feed(slot.answer);
  std::vector<ValueCandidate> candidates =
      ValueCandidates(SourceText(marked.text),
                      {.schema = root == kNoSchema ? nullptr : &nodes[static_cast<size_t>(root)],
                       .path = slot.path,
                       .calls = answer.calls(),
                       .reached = marked.at == std::string::npos ? 0 : marked.at,
                       .typed = slot.typed});
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const auto& a, const auto& b) { return a.probability > b.probability; });
  return candidates;
}

TEST(ValueCandidates, TheLikeliest) {
  constexpr std::string_view kTwoCalls =
      R"([{"name": "f", "arguments": {"x": "K"}}, {"name": "f", "arguments": {"x": "K"}}, )"
      R"({"name": "f", "arguments": {)";
  constexpr std::string_view kOtherTool =
      R"([{"name": "g", "arguments": {"x": "K"}}, {"name": "f", "arguments": {)";
  struct Case {
    std::string_view label;
    Slot slot;
    std::string_view json;  // "": none at all
  };
  const auto kCases = std::to_array<Case>({
      {"an enum: the value that the request names",
       {R"({"enum": ["C", "F"]})", "In F, please", ""},
       R"("F")"},
      {"an enum: the first one otherwise", {R"({"enum": ["C", "F"]})", "How warm?", ""}, R"("C")"},
      {"siblings with a shared prefix", {R"({"enum": ["ab", "ac"]})", "", R"("ac)"}, R"("ac")"},
      {"an enum of numbers", {R"({"enum": [1, 2]})", "take 2", ""}, "2"},
      {"an enum with escapes", {R"({"enum": ["C:\\tmp", "a\"b"]})", "", R"("a)"}, R"("a\"b")"},
      {"a slash stays a slash", {R"({"const": "http://e.com/p"})", "", ""}, R"("http://e.com/p")"},
      {"a default", {R"({"type": "integer", "default": 10})", "", ""}, "10"},
      {"a number of the request", {R"({"type": "integer"})", "for 3 days", ""}, "3"},
      {"a number in words", {R"({"type": "integer"})", "for three days", ""}, "3"},
      {"an integer is whole", {R"({"type": "integer"})", "2.5 for 4 days", ""}, "4"},
      {"the next number", {R"({"type": "number"})", "5| and 7", ""}, "7"},
      {"a number without its separators", {R"({"type": "number"})", "$5,000", ""}, "5000"},
      {"a rate", {R"({"type": "number"})", "at 12.5%", ""}, "0.125"},
      {"a percentage", {R"({"type": "integer"})", "at 5%", ""}, "5"},
      {"a boolean", {R"({"type": "boolean"})", "", ""}, "true"},
      {"one that is true by default",
       {R"({"type": "boolean", "default": true})", "", "f"},
       "false"},
      {"a name of the request", {R"({"type": "string"})", "weather in Paris", ""}, R"("Paris")"},
      {"the next name", {R"({"type": "string"})", "weather in Paris| and Rome", ""}, R"("Rome")"},
      {"a quotation", {R"({"type": "string"})", "Play 'x y z' in Paris", ""}, R"("x y z")"},
      {"a backslash is escaped", {R"({"type": "string"})", "open \"C:\\tmp\"", ""}, R"("C:\\tmp")"},
      {"what fits the typed text",
       {R"({"type": "string"})", "from Rome to Oslo", R"("O)"},
       R"("Oslo")"},
      {"typed text that nobody guessed",
       {R"({"type": "string"})", "a b c d e f g h i j k l m n o p and q r s quince", R"("qu)"},
       R"("quince")"},
      {"typed text from nowhere", {R"({"type": "string"})", "from Rome", R"("xyz)"}, ""},
      {"typed text with an escape", {R"({"type": "string"})", "from Rome", R"("R\)"}, ""},
      {"an array", {R"({"type": "array", "items": {"type": "string"}})", "Rome", ""}, "["},
      {"an object", {R"({"type": "object"})", "Rome", ""}, "{"},
      {"a type that nobody knows", {R"({"type": "quark"})", "weather in Paris", ""}, R"("Paris")"},
      {"no schema", {"", "weather in Paris", ""}, R"("Paris")"},
      {"nothing to go by", {"", "", ""}, ""},
      {"what two earlier calls had", {R"({"type": "string"})", "", "", kTwoCalls}, R"("K")"},
      {"another field of theirs", {R"({"type": "string"})", "", "", kTwoCalls, "y"}, "\""},
      {"what another tool had", {R"({"type": "string"})", "", "", kOtherTool}, "\""},
  });
  for (const Case& row : kCases) {
    const std::vector<ValueCandidate> candidates = Candidates(row.slot);
    EXPECT_EQ(candidates.empty() ? "" : candidates[0].json, row.json) << row.label;
    if (candidates.empty()) continue;
    const bool open = row.json == "[" || row.json == "{" || row.json == "\"";
    EXPECT_EQ(candidates[0].open, open) << row.label;
  }
}

TEST(ValueCandidates, NullIsOneWhereItMayBe) {
  const std::vector<ValueCandidate> candidates =
      Candidates({R"({"type": ["string", "null"]})", "weather in Paris", ""});
  EXPECT_TRUE(
      std::any_of(candidates.begin(), candidates.end(),
                  [](const ValueCandidate& candidate) { return candidate.json == "null"; }));
}

// A hint never fails: numbers beyond a double, where a rate is asked for.
TEST(ValueCandidates, HugeNumbers) {
  const std::string huge = std::string(400, '9') + "%";
  EXPECT_EQ(Candidates({R"({"type": "number"})", huge, ""})[0].json, huge.substr(0, 400));
}

TEST(ValueCandidates, FitWhatIsTypedAndAreADistribution) {
  const std::vector<std::string> schemas = {
      "",
      R"({"type": "string"})",
      R"({"type": "integer", "default": 3})",
      R"({"type": "number"})",
      R"({"type": "boolean", "default": true})",
      R"({"enum": ["ab", "ac", 12, null, [1]]})",
      R"({"type": "array", "items": {}})",
      R"({"type": ["string", "null"], "default": "x"})",
      R"({"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "object"}]})",
      "{}"};
  const std::vector<std::string> pieces = {"Paris", " ",     ", ",  "and ", "\"",
                                           "'",     "5,000", ".\n", "3.5%", "S\xc3\xa3o",
                                           "$",     "C:\\",  "-7",  "Two ", "ab"};
  const std::string answer =
      R"([{"name": "f", "arguments": {"x": "Paris"}}, {"name": "f", "arguments": {)";
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    KeyedDice dice(seed);
    std::string source;
    for (int left = dice.Roll(20); left > 0; --left) source += dice.Pick(pieces);
    if (dice.OneIn(2))
      source.insert(static_cast<size_t>(dice.Roll(static_cast<int>(source.size()) + 1)), "|");
    Slot slot{.schema = dice.Pick(schemas), .source = source, .typed = {}, .answer = answer};
    const std::vector<ValueCandidate> open = Candidates(slot);
    std::string typed;
    if (!open.empty() && dice.OneIn(2)) {
      typed = dice.Pick(open).json;
      const int size = static_cast<int>(typed.size());
      typed.resize(static_cast<size_t>(1 + dice.Roll(std::max(1, size - 1))));  // no whole string
      slot.typed = typed;
    }
    double sum = 0;
    for (const ValueCandidate& candidate : Candidates(slot)) {
      ASSERT_TRUE(candidate.json.starts_with(typed)) << candidate.json << " for " << typed;
      ASSERT_TRUE(candidate.open || Json::accept(candidate.json)) << candidate.json;
      ASSERT_GE(candidate.probability, 0);
      sum += candidate.probability;
    }
    ASSERT_LE(sum, 1 + 1e-9) << slot.schema << " " << source << " typed " << typed;
  }
}

TEST(Values, HowFarTheyReach) {
  struct Case {
    std::string_view label;
    std::string_view answer;
    std::string_view source;  // | where the values of the answer end; without: at the start
  };
  constexpr auto kCases = std::to_array<Case>({
      {"none", "", "Paris"},
      {"a value", R"({"name": "f", "arguments": {"a": "Paris"}})", "Paris| and Rome"},
      {"a number", R"({"name": "f", "arguments": {"a": 12}})", "in 12| days"},
      {"in order",
       R"([{"name": "f", "arguments": {"a": "x"}}, {"name": "f", "arguments": {"a": "x"}}])",
       "x and x| and x"},
      {"out of order: back", R"({"name": "f", "arguments": {"a": "y", "b": "x"}})", "x| and y"},
      {"a value from elsewhere changes nothing",
       R"({"name": "f", "arguments": {"a": "x", "b": "z"}})", "x| and y"},
  });
  for (const Case& row : kCases) {
    const Marked marked(row.source);
    Answer answer;
    answer.Feed(row.answer);
    EXPECT_EQ(ReachedBy(SourceText(marked.text), answer.calls()),
              marked.at == std::string::npos ? 0 : marked.at)
        << row.label;
  }
}

}  // namespace
}  // namespace schemafill
