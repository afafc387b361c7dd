#include "draft/literal.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "support/json_tree.h"

namespace schemafill {
namespace {

enum class End { kOpen, kComplete, kBroken };

struct Case {
  std::string_view label;
  std::string_view text;
  std::string_view json;
  End end = End::kComplete;
  std::string_view behind = {};  // of the text: what is left out
};

constexpr auto kCases = std::to_array<Case>({
    {"nothing", "", "", End::kOpen},
    {"white space in front of nothing", " \t\r\n", "", End::kOpen},
    {"a string", R"("Paris")", R"("Paris")"},
    {"a string behind white space", "\n  \"Paris\"", R"("Paris")"},
    {"an empty string", R"("")", R"("")"},
    {"a string that goes on", R"( "Par)", R"("Par)", End::kOpen},
    {"a backslash at the end (cases list, item 11)", R"("a\\", "b")", R"("a\\")", End::kComplete,
     R"(, "b")"},
    {"a quote in a string", R"("a\"", 1)", R"("a\"")", End::kComplete, ", 1"},
    {"a string that ends with an escaped quote goes on", R"("a\")", R"("a\")", End::kOpen},
    {"half an escape", R"("a\)", R"("a\)", End::kOpen},
    {"backslashes and a quote", R"("\\\\\"" )", R"("\\\\\"")", End::kComplete, " "},
    {"a character as an escape", R"("\ud83d\ude00\u0022")", R"("\ud83d\ude00\u0022")"},
    {"half a character as an escape", R"("\u00e)", R"("\u00e)", End::kOpen},
    {"structure in a string", R"("}], {\": ")", R"("}], {\": ")"},
    {"half a UTF-8 character", "\"\xc3", "\"\xc3", End::kOpen},
    {"a number that may go on", "12", "12", End::kOpen},
    {"a number, a comma", "12,", "12", End::kComplete},
    {"a number, a brace", "12}", "12", End::kComplete},
    {"a number, a bracket", "12]", "12", End::kComplete},
    {"a number, a blank", "12 ", "12", End::kComplete},
    {"a number, a line break", " 12\n", "12", End::kComplete},
    {"a number, a tab", "12\t", "12", End::kComplete},
    {"a number, what comes with its end", "12}}, {\"", "12", End::kComplete, "}, {\""},
    {"a sign", "-", "-", End::kOpen},
    {"minus nought", "-0,", "-0", End::kComplete},
    {"a point", "230.0}", "230.0", End::kComplete},
    {"an exponent", "-1.5E+3,", "-1.5E+3", End::kComplete},
    {"half an exponent", "1e", "1e", End::kOpen},
    {"digits that no double holds", "9223372036854775807,", "9223372036854775807"},
    {"true", "true}", "true", End::kComplete},
    {"false", " false,", "false", End::kComplete},
    {"null", "null\n", "null", End::kComplete},
    {"half a word", "nul", "nul", End::kOpen},
    {"an empty list", "[]", "[]"},
    {"an empty object, the call's brackets behind it", "{}}}", "{}", End::kComplete, "}}"},
    {"lists in lists", "[[1, 2], [3]], 4", "[[1, 2], [3]]", End::kComplete, ", 4"},
    {"an inner end is none", "[[1, 2], [3]", "[[1, 2], [3]", End::kOpen},
    {"an object in a list", R"([{"a": [1]}, {"v": "x"}])", R"([{"a": [1]}, {"v": "x"}])"},
    {"a key like the frame's own", R"({"v": 1, "v": 2})", R"({"v": 1, "v": 2})"},
    {"a value behind such a key", R"({"v": 1)", R"({"v": 1)", End::kOpen},
    {"brackets in strings", R"(["]", "}", "a\"]"])", R"(["]", "}", "a\"]"])"},
    {"brackets in keys", R"({"}]": {"\"}": 0}})", R"({"}]": {"\"}": 0}})"},
    {"white space inside stays", "[\n  1,\n\t2 ]\n", "[\n  1,\n\t2 ]", End::kComplete, "\n"},
    {"a brace in front", "}", "}", End::kBroken},
    {"a comma in front", " , 1", ",", End::kBroken, " 1"},
    {"a colon in front", ":", ":", End::kBroken},
    {"a word in a number", "12\"a\"", "12\"", End::kBroken, "a\""},
    {"a list closed by a brace", "[1}, 2]", "[1}", End::kBroken, ", 2]"},
    {"an object closed by a bracket", R"({"a": 1], 2)", R"({"a": 1])", End::kBroken, ", 2"},
    {"values without a comma", "[1 2]", "[1 2", End::kBroken, "]"},
    {"a key without its colon", R"({"a" 1})", R"({"a" 1)", End::kBroken, "}"},
    {"a comma too many", "[1,]", "[1,]", End::kBroken},
});

void ExpectCase(const Literal& literal, const Case& row) {
  EXPECT_EQ(literal.json(), row.json) << row.label;
  EXPECT_EQ(literal.complete(), row.end == End::kComplete) << row.label;
  EXPECT_EQ(literal.broken(), row.end == End::kBroken) << row.label;
}

TEST(Literal, UpToItsBoundary) {
  for (const Case& row : kCases) {
    Literal literal;
    EXPECT_EQ(literal.Feed(row.text), row.text.size() - row.behind.size()) << row.label;
    ExpectCase(literal, row);
    if (row.end == End::kOpen) continue;
    EXPECT_EQ(literal.Feed("1, \"x\"}"), 0u) << row.label;
    ExpectCase(literal, row);
  }
}

TEST(Literal, TheSameWhereverItIsCut) {
  for (const Case& row : kCases) {
    for (size_t cut = 0; cut <= row.text.size(); ++cut) {
      Literal literal;
      const size_t taken = literal.Feed(row.text.substr(0, cut));
      EXPECT_EQ(taken + literal.Feed(row.text.substr(cut)), row.text.size() - row.behind.size())
          << row.label;
      ExpectCase(literal, row);
    }
    Literal bytes;
    for (size_t i = 0; i < row.text.size(); ++i) bytes.Feed(row.text.substr(i, 1));
    ExpectCase(bytes, row);
  }
}

TEST(Literal, CopiesGoOnByThemselves) {
  Literal one;
  one.Feed("\"a");
  Literal other = one;
  other.Feed("b\"");
  one.Feed("c");
  EXPECT_EQ(one.json(), "\"ac");
  EXPECT_FALSE(one.complete());
  EXPECT_EQ(other.json(), "\"ab\"");
  EXPECT_TRUE(other.complete());
}

TEST(Literal, Finish) {
  constexpr auto kFinished = std::to_array<Case>({
      {"a number", " 12", "12", End::kComplete},
      {"a word", "true", "true", End::kComplete},
      {"half of it, as it stands", "tr", "tr", End::kComplete},
      {"nothing", " ", "", End::kOpen},
      {"a string", "\"12", "\"12", End::kOpen},
      {"a list", "[1", "[1", End::kOpen},
      {"an object", "{\"a\": true", "{\"a\": true", End::kOpen},
      {"what is complete", "12,", "12", End::kComplete},
      {"what is broken", "12\"", "12\"", End::kBroken},
  });
  for (const Case& row : kFinished) {
    Literal literal;
    literal.Feed(row.text);
    literal.Finish();
    ExpectCase(literal, row);
    const bool done = row.end != End::kOpen;
    EXPECT_EQ(literal.Feed("]") == 0, done) << row.label;
  }
}

// Any value, with whatever comes behind it.
TEST(Literal, OfAnyValue) {
  const std::vector<std::string> behind = {", \"", "}}", "]", " ", "\n}", "}, {\"name\""};
  for (uint64_t seed = 0; seed < 500; ++seed) {
    KeyedDice dice(seed);
    const JsonTree tree = RandomTree(dice, 3);
    const std::string json = Write(tree, {.odd = dice.OneIn(2) ? &dice : nullptr});
    const std::string text = (dice.OneIn(2) ? " " : "") + json + dice.Pick(behind);
    Literal literal;
    for (size_t at = 0; at < text.size();) {
      const size_t length = static_cast<size_t>(1 + dice.Roll(5));
      const std::string_view part = std::string_view(text).substr(at, length);
      if (literal.Feed(part) < part.size()) break;
      at += length;
    }
    ASSERT_TRUE(literal.complete()) << text;
    ASSERT_FALSE(literal.broken()) << text;
    ASSERT_EQ(literal.json(), json);
  }
}

}  // namespace
}  // namespace schemafill
