#include "json/cursor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>

#include "support/json_tree.h"

namespace schemafill {
namespace {

JsonCursor Fed(std::string_view text) {
  JsonCursor cursor;
  cursor.Feed(text);
  return cursor;
}

// "comma {a}[2] <" 3">": the anchor, a frame for each open container (the current key or the number
// of values begun) and what has been typed since.
std::string State(const JsonCursor& cursor) {
  std::string frames;
  for (const JsonFrame& frame : cursor.frames()) {
    frames +=
        frame.is_object ? fmt::format("{{{}}}", frame.key()) : fmt::format("[{}]", frame.entries);
  }
  return fmt::format("{} {}<{}>", Name(cursor.anchor()), frames, cursor.typed());
}

TEST(JsonCursor, WhereItStands) {
  struct Case {
    std::string_view text;
    std::string_view state;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"", "prose <>"},
      {"Sure: ", "prose <Sure: >"},
      {"Sure: {", "open {}<>"},
      {"{ ", "open {}< >"},
      {"{\"a", "open {}<\"a>"},
      {"{\"a\"", "key {a}<>"},
      {"{\"a\" ", "key {a}< >"},
      {"{\"a\":", "colon {a}<>"},
      {"{\"a\": 12", "colon {a}< 12>"},
      {"{\"a\": 12 ", "value {a}< >"},
      {"{\"a\": 12,", "comma {a}<>"},
      {"{\"a\": \"x\\\"", "colon {a}< \"x\\\">"},
      {"{\"a\": \"x\\\\\"", "value {a}<>"},
      {"{\"a\": [", "open {a}[0]<>"},
      {"{\"a\": [1, tr", "comma {a}[2]< tr>"},
      {"{\"a\": [1, {\"b\": ", "colon {a}[2]{b}< >"},
      {"{\"a\": [1]", "value {a}<>"},
      {"{\"a\": {}", "value {a}<>"},
      {"{\"a\": 1, \"a\": ", "colon {a}< >"},
      {"{}", "closed <>"},
      {"[{\"a\": 1}", "value [1]<>"},
      {"[{}, {}]", "closed <>"},
      {"[]", "closed <>"},
      {" [ \n{", "open [1]{}<>"},
  });
  for (const Case& row : kCases) EXPECT_EQ(State(Fed(row.text)), row.state) << row.text;
}

// What is no JSON has no place, but its end is found.
TEST(JsonCursor, WhatIsNoJson) {
  constexpr auto kCases = std::to_array<std::string_view>({
      "{a",           "{\"a\" 1",    "{\"a\": }",   "{\"a\",",
      "{,",           "{\"a\": 1,,", "{\"a\": 1]",  "{\"a\": 1 2",
      "{\"a\": 1 \"", "{\"a\": x\"", "{\"a\": x{",  "{\"a\": x[",
      "{\"a\": 1:",   "[{}, ]",      "[{},,",       "{\"a\": \"b\" \"c\"",
      "{[",           "{{",          "{\"a\": [1:",
  });
  for (const std::string_view text : kCases) {
    const JsonCursor cursor = Fed(text);
    const bool ended = cursor.closed();  // its last byte may have been the last bracket
    EXPECT_TRUE(ended || cursor.anchor() == Anchor::kBroken) << text << ": " << State(cursor);
  }
}

TEST(JsonCursor, TheEndOfTheOuterObject) {
  struct Case {
    std::string_view label;
    std::string_view text;
    std::string_view object;  // "": still open
  };
  constexpr auto kCases = std::to_array<Case>({
      {"nothing", "", ""},
      {"prose", "It is 5 o'clock.", ""},
      {"a plain object", R"({"a": 1})", R"({"a": 1})"},
      {"text behind it", R"({"a": 1}}] {"b": 2})", R"({"a": 1})"},
      {"text in front", "Sure!\n```json\n{\"a\": 1}\n```", R"({"a": 1})"},
      {"a list in front of which nothing stands", "\n [{}, {}] x", "[{}, {}]"},
      {"a list behind prose: its first object", "Calls: [{}, {}]", "{}"},
      {"an empty list", "[] x", "[]"},
      {"a list of words is prose", "[1] says {\"a\": 1}", R"({"a": 1})"},
      {"so is a list of lists", "[[1]]", ""},
      {"and an unclosed one", "[Note", ""},
      {"brackets in strings", R"({"a": "}]", "}": "{"})", R"({"a": "}]", "}": "{"})"},
      {"quotes in strings", R"({"a": "\"}"} )", R"({"a": "\"}"})"},
      {"a backslash in front of the closing quote", R"({"label": "a\\"}x)", R"({"label": "a\\"})"},
      {"an escaped backslash and a quote", R"({"a": "\\\"}"})", R"({"a": "\\\"}"})"},
      {"not closed", R"({"a": {"b": 1})", ""},
      {"not closed: a string", R"({"a": "})", ""},
      {"a number ends at the brace", R"({"a": 12})", R"({"a": 12})"},
      {"no JSON: bare words", "{a: b {c} d} e", "{a: b {c} d}"},
      {"no JSON: brackets in strings still count not", R"({a: "}"} e)", R"({a: "}"})"},
      {"no JSON: brackets in a bare value", R"({"a": f{x}} e)", R"({"a": f{x}})"},
      {"no JSON: a string in a bare value", R"({"a": f"}"} e)", R"({"a": f"}"})"},
      {"no JSON: a comma at the end", R"({"a": 1,} e)", R"({"a": 1,})"},
      {"no JSON: brackets that don't match", R"({"a": [1} ] e)", R"({"a": [1} ])"},
      {"no JSON: a line break in a string", "{\"a\": \"}\n\"} e", "{\"a\": \"}\n\"}"},
      {"no JSON: Python", "{'a': None, 'b': True} e", "{'a': None, 'b': True}"},
      {"no JSON: NUL", std::string_view("{\"a\": \0} e", 10), std::string_view("{\"a\": \0}", 8)},
  });
  for (const Case& row : kCases) {
    const JsonCursor cursor = Fed(row.text);
    EXPECT_EQ(cursor.closed(), !row.object.empty()) << row.label;
    EXPECT_EQ(cursor.size(), row.text.size()) << row.label;
    if (!cursor.closed()) continue;
    const size_t length = cursor.outer_end() - cursor.outer_begin();
    EXPECT_EQ(row.text.substr(cursor.outer_begin(), length), row.object) << row.label;
  }
}

// "path=text" of each value in order of completion; {} for a container, #i in the i-th element.
std::string Values(std::string_view text, std::vector<JsonValue> values) {
  std::string out;
  for (const JsonValue& value : values) {
    const std::string raw(text.substr(value.begin, value.end - value.begin));
    const bool string = raw.size() > 1 && raw.front() == '"';
    EXPECT_EQ(value.is_string, string && !value.is_container) << raw;
    out += fmt::format("{}={} ", value.path, value.is_container ? "{}" : raw);
    if (value.element >= 0) out += fmt::format("#{} ", value.element);
  }
  return out;
}

TEST(JsonCursor, CompleteValues) {
  struct Case {
    std::string_view text;
    std::string_view values;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"{}", "={} "},
      {R"({"a": 1)", ""},
      {R"({"a": 1,)", "a=1 "},
      {R"({"a":1 )", "a=1 "},
      {R"({"a": "x", "b": {"c": [true, "}"]}})",
       R"(a="x" b.c[]=true #0 b.c[]="}" #1 b.c={} b={} ={} )"},
      {R"([{"name": "f"}, {"name": "g"}])",
       R"([].name="f" #0 []={} #0 [].name="g" #1 []={} #1 ={} )"},
      {R"({"a": 1, "a": 2})", "a=1 a=2 ={} "},
      {R"({"a": 1, x "b": 2})", "a=1 "},
      {R"({"n": 9223372036854775807, "m": 1e20, "z": -0, "f": 230.0})",
       "n=9223372036854775807 m=1e20 z=-0 f=230.0 ={} "},
  });
  for (const Case& row : kCases) {
    JsonCursor cursor = Fed(row.text);
    EXPECT_EQ(Values(row.text, cursor.TakeValues()), row.values) << row.text;
    EXPECT_TRUE(cursor.TakeValues().empty()) << row.text;
  }
}

TEST(JsonCursor, FinishScalar) {
  struct Case {
    std::string_view text;
    std::string_view state;
    std::string_view values;
  };
  constexpr auto kCases = std::to_array<Case>({
      {R"({"a": 12)", "value {a}<>", "a=12 "},
      {R"({"a": [1, tr)", "value {a}[2]<>", "a[]=1 #0 a[]=tr #1 "},
      {R"({"a": "x)", "colon {a}< \"x>", ""},
      {R"({"a": )", "colon {a}< >", ""},
      {"prose", "prose <prose>", ""},
      {"{x", "broken {}<x>", ""},
  });
  for (const Case& row : kCases) {
    JsonCursor cursor = Fed(row.text);
    cursor.FinishScalar();
    EXPECT_EQ(State(cursor), row.state);
    EXPECT_EQ(Values(row.text, cursor.TakeValues()), row.values) << row.text;
  }
}

TEST(JsonCursor, Spelling) {
  struct Case {
    std::string_view label;
    std::string_view text;
    std::string_view spelling;  // behind a colon | behind a comma | behind a bracket | indent
  };
  constexpr auto kCases = std::to_array<Case>({
      {"unknown yet: json.dumps'", "{", " | ||0"},
      {"json.dumps", R"({"a": 1, "b": [2, 3]})", " | ||0"},
      {"compact", R"({"a":1,"b":[2,3]})", "|||0"},
      {"padded", R"({ "a" : 1 , "b" : 2 })", " | | |0"},
      {"indent", "{\n  \"a\": [\n    1,\n    2", " | ||2"},
      {"strings are not spelling", R"({"a": ",:  x", "b)", " | ||0"},
  });
  for (const Case& row : kCases) {
    const JsonSpelling spelling = Fed(row.text).spelling();
    EXPECT_EQ(fmt::format("{}|{}|{}|{}", spelling.after_colon, spelling.after_comma,
                          spelling.after_open, spelling.indent),
              row.spelling)
        << row.label;
  }
  EXPECT_EQ(JsonSpelling{}.Break(" ", 2), " ");
  EXPECT_EQ((JsonSpelling{.after_open = "", .indent = 3}).Break(" ", 2), "\n      ");
}

// Feeds in pieces of 1 to 7 bytes, and lets `check` look at each state.
template <typename Check>
JsonCursor FedInPieces(KeyedDice& dice, std::string_view text, Check check) {
  JsonCursor cursor;
  while (cursor.size() < text.size()) {
    cursor.Feed(text.substr(cursor.size(), static_cast<size_t>(1 + dice.Roll(7))));
    check(cursor);
  }
  return cursor;
}

// What nlohmann's parser sees, in the form of Values().
class ValueLog : public nlohmann::json_sax<nlohmann::json> {
 public:
  std::string log;

  bool null() override { return Scalar("null"); }
  bool boolean(bool value) override { return Scalar(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override {
    return Scalar(nlohmann::json(value).dump());
  }
  bool number_unsigned(number_unsigned_t value) override {
    return Scalar(nlohmann::json(value).dump());
  }
  bool number_float(number_float_t value, const string_t&) override {
    return Scalar(nlohmann::json(value).dump());
  }
  bool string(string_t& value) override { return Scalar(nlohmann::json(value).dump()); }
  bool binary(binary_t&) override { return false; }
  bool start_object(size_t) override { return Open(true); }
  bool start_array(size_t) override { return Open(false); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& value) override {
    path_.back() = EscapeJson(value);
    return true;
  }
  bool parse_error(size_t, const std::string&, const nlohmann::detail::exception&) override {
    return false;
  }

 private:
  bool Scalar(const std::string& value) {
    std::string path;
    for (size_t i = 0; i < path_.size(); ++i) {
      if (is_object_[i] && !path.empty()) path += '.';
      path += is_object_[i] ? path_[i] : "[]";
    }
    log += path + "=" + value + "\n";
    return true;
  }
  bool Open(bool object) {
    path_.emplace_back();
    is_object_.push_back(object);
    return true;
  }
  bool Close() {
    path_.pop_back();
    is_object_.pop_back();
    return Scalar("{}");
  }

  std::vector<std::string> path_;
  std::vector<bool> is_object_;
};

std::string SeenByNlohmann(std::string_view text) {
  ValueLog log;
  EXPECT_TRUE(nlohmann::json::sax_parse(text.begin(), text.end(), &log)) << text;
  return log.log;
}

std::string SeenByCursor(std::string_view text, const std::vector<JsonValue>& values) {
  std::string log;
  for (const JsonValue& value : values) {
    const std::string_view raw = text.substr(value.begin, value.end - value.begin);
    log +=
        value.path + "=" + (value.is_container ? "{}" : nlohmann::json::parse(raw).dump()) + "\n";
  }
  return log;
}

// An object, or a list of objects.
std::string RandomOuter(KeyedDice& dice) {
  JsonTree tree = dice.OneIn(4) ? JsonTree::Array() : JsonTree::Object();
  const bool list = tree.kind == JsonTree::Kind::kArray;
  if (list) tree.Add(JsonTree::Object());
  for (int left = dice.Roll(5); left > 0; --left) {
    std::string key = list ? "" : dice.Pick(OddKeys());
    tree.Add(std::move(key), RandomTree(dice, 4));
  }
  const std::vector<JsonStyle> styles = {
      {}, {.colon = ":", .comma = ","}, {.indent = 2}, {.odd = &dice}};
  return Write(tree, dice.Pick(styles));
}

TEST(JsonCursor, SeesWhatNlohmannSees) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    KeyedDice dice(seed);
    const std::string object = RandomOuter(dice);
    const std::string front = dice.OneIn(2) ? "" : "\n ";
    const std::string text = front + object + (dice.OneIn(2) ? "" : "} {\"a\": 1}");
    const size_t end = front.size() + object.size();
    JsonCursor cursor = FedInPieces(dice, text, [&](const JsonCursor& state) {
      ASSERT_EQ(state.closed(), state.size() >= end) << text;
      ASSERT_NE(state.anchor(), Anchor::kBroken) << text;
    });
    ASSERT_EQ(cursor.outer_begin(), front.size()) << text;
    ASSERT_EQ(cursor.outer_end(), end) << text;
    ASSERT_EQ(SeenByCursor(text, cursor.TakeValues()), SeenByNlohmann(object)) << text;
  }
}

// The end of the first object by counting brackets outside of strings; npos if it stays open.
// REQUIRES: no list that nothing stands in front of.
size_t EndByBrackets(std::string_view text) {
  int depth = 0;
  bool string = false;
  for (size_t i = text.find('{'); i < text.size(); ++i) {
    const char c = text[i];
    if (string) {
      if (c == '\\') ++i;
      if (c == '"') string = false;
    } else if (c == '"') {
      string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

TEST(JsonCursor, DamagedTextEndsByItsBrackets) {
  int broken = 0;
  int open = 0;
  for (uint64_t seed = 0; seed < 3000; ++seed) {
    KeyedDice dice(seed);
    const std::string whole = RandomOuter(dice) + "]}]}";
    const std::string text = "x" + Damaged(dice, whole, 1 + dice.Roll(3));
    bool was_broken = false;
    const JsonCursor cursor = FedInPieces(dice, text, [&](const JsonCursor& state) {
      was_broken = was_broken || state.anchor() == Anchor::kBroken;
    });
    const size_t end = EndByBrackets(text);
    ASSERT_EQ(cursor.closed(), end != std::string_view::npos) << text;
    if (cursor.closed()) {
      ASSERT_EQ(cursor.outer_end(), end) << text;
    }
    broken += was_broken ? 1 : 0;
    open += cursor.closed() ? 0 : 1;
  }
  EXPECT_GT(broken, 300);  // both kinds were there
  EXPECT_GT(open, 100);
}

}  // namespace
}  // namespace schemafill
