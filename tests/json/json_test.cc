#include "json/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <string>
#include <string_view>

#include "base/random.h"

namespace schemafill {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string Respell(std::string_view text) {
  const Result<Json> json = ParseJson(text, "text");
  return json.ok() ? DumpSpaced(*json) : "error: " + json.error().message;
}

// What Python's json.dumps(json.loads(text), ensure_ascii=False) writes, but where a row says so.
TEST(Json, SpelledAsPythonDoes) {
  struct Case {
    std::string_view text;
    std::string_view spelled;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"null", "null"},
      {" [ ] ", "[]"},
      {"{}", "{}"},
      {R"({"b":1,"a":[true,null,{"c":"d"}]})", R"({"b": 1, "a": [true, null, {"c": "d"}]})"},
      {"[[],[[]],{}]", "[[], [[]], {}]"},
      {"230.0", "230.0"},
      {"0.1", "0.1"},
      {"-0.0", "-0.0"},
      {"1e2", "100.0"},
      {"1E15", "1000000000000000.0"},
      {"1e16", "1e+16"},
      {"1e20", "1e+20"},
      {"0.0001", "0.0001"},
      {"0.00001", "1e-05"},
      {"1.5e-7", "1.5e-07"},
      {"5e-324", "5e-324"},
      {"1.7976931348623157e308", "1.7976931348623157e+308"},
      {"3.141592653589793", "3.141592653589793"},
      {"-12", "-12"},
      {"9223372036854775807", "9223372036854775807"},
      {"-9223372036854775808", "-9223372036854775808"},
      {"18446744073709551615", "18446744073709551615"},
      {"18446744073709551616", "1.8446744073709552e+19"},  // Python: the integer; 64 bits here
      {"-0", "0"},
      {R"("http://e.com/p")", R"("http://e.com/p")"},
      {R"("a\/b")", R"("a/b")"},
      {R"("C:\\tmp \"x\" \n\t\b\f\r")", R"("C:\\tmp \"x\" \n\t\b\f\r")"},
      {R"("\u0001\u001f\u007f")", "\"\\u0001\\u001f\x7f\""},
      {R"("\u00e9 \u20ac \ud83d\ude00")", "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80\""},
      {"\"\xc3\xa9\"", "\"\xc3\xa9\""},
      {R"({"a":1,"b":2,"a":3})", R"({"a": 3, "b": 2})"},
      {R"({"":0})", R"({"": 0})"},
  });
  for (const Case& row : kCases) EXPECT_EQ(Respell(row.text), row.spelled) << row.text;
}

TEST(Json, ErrorsSayWhere) {
  struct Case {
    std::string_view label;
    std::string_view text;
    std::string_view message;  // its start
  };
  constexpr auto kCases = std::to_array<Case>({
      {"empty", "", "f: line 1, column 1: syntax error while parsing value - unexpected end"},
      {"cut", R"({"a":)", "f: line 1, column 6: syntax error while parsing value - unexpected end"},
      {"bad literal", R"({"a": tru})", "f: line 1, column 10: "},
      {"second line", "[1,\n 2,, 3]", "f: line 2, column 4: "},
      {"columns are characters", "[\"\xc3\xa9\xe2\x82\xac\", x]", "f: line 1, column 8: "},
      {"text behind", "[1] x", "f: line 1, column 5: "},
      {"comma at the end", "[1,]", "f: line 1, column 4: "},
      {"single quotes", "{'a': 1}", "f: line 1, column 2: "},
      {"comment", "[1] // one", "f: line 1, column 5: "},
      {"no number", "NaN", "f: line 1, column 1: "},
      {"number beyond double", "1e400", "f: line 1, column 5: number overflow parsing '1e400'"},
      {"line break in a string", "\"a\nb\"", "f: line 1, column 3: "},
      {"lone surrogate", R"("\ud83d")", "f: line 1, column 8: "},
      {"not UTF-8", "\"\xff\"", "f: line 1, column 2: "},
  });
  for (const Case& row : kCases) {
    const Result<Json> json = ParseJson(row.text, "f");
    ASSERT_FALSE(json.ok()) << row.label;
    EXPECT_THAT(json.error().message, StartsWith(row.message)) << row.label;
    EXPECT_EQ(json.error().kind, ErrorKind::kBadInput) << row.label;
  }
}

std::string Nested(int depth) {
  return std::string(static_cast<size_t>(depth), '[') +
         std::string(static_cast<size_t>(depth), ']');
}

TEST(Json, DepthHasALimit) {
  const Result<Json> deepest = ParseJson(Nested(kMaxJsonDepth), "f");
  ASSERT_TRUE(deepest.ok());
  EXPECT_EQ(DumpSpaced(Json(*deepest)), Nested(kMaxJsonDepth));
  const Result<Json> deeper = ParseJson("\n " + Nested(kMaxJsonDepth + 1), "f");
  ASSERT_FALSE(deeper.ok());
  EXPECT_EQ(deeper.error().message, "f: line 2, column 502: nested deeper than 500 levels");
  EXPECT_FALSE(ParseJson(std::string(100'000, '['), "f").ok());
  std::string objects;
  for (int i = 0; i < 100'000; ++i) objects += R"({"a":)";
  EXPECT_FALSE(ParseJson(objects, "f").ok());
}

TEST(Json, BracketsInStringsAreNoDepth) {
  const std::string text = R"(["\"\\)" + std::string(1000, '[') + "\"]";
  EXPECT_TRUE(ParseJson(text, "f").ok());
}

// Keys are found one way in small objects and another in large ones.
TEST(Json, BracketedSizeEndsAtTheClosingBracket) {
  struct Row {
    std::string_view text;
    size_t size;
  };
  const Row kRows[] = {{"{} x", 2},
                       {R"({"}\"]": [1, {}]}{)", 17},
                       {"[[1]", std::string::npos},
                       {"{\"a}", std::string::npos},
                       {"", std::string::npos}};
  for (const Row& row : kRows) EXPECT_EQ(BracketedSize(row.text), row.size) << row.text;
}

TEST(Json, KeyGivenTwiceInObjectsOfAnySize) {
  for (const int size : {1, 31, 32, 33, 200}) {
    for (const int again : {0, size / 2, size - 1}) {
      std::string text = "{";
      for (int i = 0; i < size; ++i)
        text += "\"k" + std::to_string(i) + "\":" + std::to_string(i) + ",";
      text += "\"k" + std::to_string(again) + "\":\"last\",\"end\":0}";
      const Json json = ParseJson(text, "f").value();
      ASSERT_EQ(json.size(), static_cast<size_t>(size) + 1) << size << " " << again;
      int index = 0;
      for (const auto& [key, value] : json.items()) {
        if (index == size) break;
        EXPECT_EQ(key, "k" + std::to_string(index));
        EXPECT_EQ(value, index == again ? Json("last") : Json(index));
        ++index;
      }
    }
  }
}

TEST(Json, HugeObjectsTakeLinearTime) {
  std::string text = "{";
  for (int i = 0; i < 100'000; ++i) text += "\"key" + std::to_string(i) + "\":0,";
  text += "\"key0\":1}";
  const Json json = ParseJson(text, "f").value();
  EXPECT_EQ(json.size(), 100'000u);
  EXPECT_EQ(json.front(), 1);
}

TEST(Json, NullIsNotGiven) {
  const Json object = ParseJson(R"({"a":null,"b":0})", "f").value();
  EXPECT_EQ(Given(object, "a"), nullptr);
  EXPECT_EQ(Given(object, "c"), nullptr);
  ASSERT_NE(Given(object, "b"), nullptr);
  EXPECT_EQ(*Given(object, "b"), 0);
}

TEST(Json, EscapesOnlyWhatItMust) {
  EXPECT_EQ(EscapeJson("a/b \"c\" \\ \n \x01 \xc3\xa9"), "a/b \\\"c\\\" \\\\ \\n \\u0001 \xc3\xa9");
  EXPECT_EQ(EscapeJson(std::string_view("\0", 1)), "\\u0000");
}

// A random value: what is drawn depends on (seed, how many draws came before).
class RandomJson {
 public:
  explicit RandomJson(uint64_t seed) : seed_(seed) {}

  Json Value(int depth) {
    switch (Draw(depth > 0 ? 8 : 6)) {
      case 0:
        return nullptr;
      case 1:
        return Draw(2) == 0;
      case 2:
        return static_cast<int64_t>(Bits() >> (1 + Draw(63))) * (Draw(2) == 0 ? 1 : -1);
      case 3:
        return Bits() >> Draw(64);
      case 4:
        return Double();
      case 5:
        return Text();
      case 6:
        return Object(depth);
      default:
        return Array(depth);
    }
  }

 private:
  uint64_t Bits() { return KeyedBits({.seed = seed_, .stream = 0, .position = draws_++}); }
  uint64_t Draw(uint64_t below) { return Bits() % below; }

  double Double() {
    const double mantissa = static_cast<double>(static_cast<int64_t>(Bits() >> 11));
    return std::ldexp(mantissa, static_cast<int>(Draw(200)) - 150);
  }

  std::string Text() {
    constexpr auto kPieces = std::to_array<std::string_view>(
        {"a", "Z", " ", "\"", "\\", "/", "\n", "\x01", "\xc3\xa9", "\xf0\x9f\x98\x80", "\\u0041"});
    std::string text;
    for (uint64_t left = Draw(6); left > 0; --left) text += kPieces[Draw(kPieces.size())];
    return text;
  }

  Json Array(int depth) {
    Json array = Json::array();
    for (uint64_t left = Draw(5); left > 0; --left) array.push_back(Value(depth - 1));
    return array;
  }

  Json Object(int depth) {
    Json object = Json::object();
    for (uint64_t left = Draw(5); left > 0; --left) {
      const std::string key = Text();
      object[key] = Value(depth - 1);
    }
    return object;
  }

  uint64_t seed_;
  uint64_t draws_ = 0;
};

TEST(Json, WhatIsWrittenReadsBackEqual) {
  for (uint64_t seed = 0; seed < 500; ++seed) {
    const Json value = RandomJson(seed).Value(4);
    const std::string text = DumpSpaced(value);
    const Result<Json> again = ParseJson(text, "text");
    ASSERT_TRUE(again.ok()) << text;
    EXPECT_EQ(*again, value) << text;
    EXPECT_EQ(DumpSpaced(*again), text);
    EXPECT_THAT(text, Not(HasSubstr("\n")));
  }
}

TEST(Json, UnescapesWhatEscapeJsonWrites) {
  for (const char* text : {"", "plain", "a \"b\" \\ \n\t", "caf\u00e9 \u65e5"}) {
    EXPECT_EQ(UnescapeJson(EscapeJson(text)), text);
  }
  EXPECT_EQ(UnescapeJson(R"(\u00e9)"), "\u00e9");
  EXPECT_EQ(UnescapeJson(R"(cut \)"), "");
  EXPECT_EQ(UnescapeJson("a\"b"), "");
}

TEST(Json, DumpLineReplacesHalfCharacters) {
  EXPECT_EQ(DumpLine({{"a", {1, "x\n"}}}), R"({"a":[1,"x\n"]})");
  EXPECT_EQ(DumpLine("half \xc3"), "\"half \uFFFD\"");
}

// Any cut or changed byte gives a value or an error, never a crash.
TEST(Json, DamagedTextIsAnError) {
  const std::string text = R"({"a": [1, -2.5e3, "x\u00e9\n"], "b": {"c": null, "d": true}})";
  for (size_t cut = 0; cut < text.size(); ++cut) {
    EXPECT_FALSE(ParseJson(std::string_view(text).substr(0, cut), "text").ok()) << cut;
  }
  for (uint64_t trial = 0; trial < 3000; ++trial) {
    const uint64_t bits = KeyedBits({.seed = 5, .stream = trial, .position = 0});
    std::string changed = text;
    changed[bits % text.size()] = static_cast<char>(bits >> 32);
    const Result<Json> json = ParseJson(changed, "text");
    if (!json.ok()) {
      EXPECT_THAT(json.error().message, StartsWith("text: line "));
    }
  }
}

}  // namespace
}  // namespace schemafill
