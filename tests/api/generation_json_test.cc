#include "api/generation_json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

namespace schemafill {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

TEST(CallsJson, ArgumentsAsTheModelWroteThem) {
  struct Case {
    std::string_view label;
    std::vector<ToolCall> calls;
    std::string_view json;
  };
  const auto kCases = std::to_array<Case>({
      {"none", {}, "[]"},
      {"two",
       {{"f", "{}"}, {"g", R"({"a": 1})"}},
       R"([{"name": "f", "arguments": {}}, {"name": "g", "arguments": {"a": 1}}])"},
      {"digits",
       {{"f", R"({"a":9223372036854775807,"b":1e20,"c":-0,"d": 230.0,"e":0.1})"}},
       R"([{"name": "f", "arguments": {"a":9223372036854775807,"b":1e20,"c":-0,"d": 230.0,"e":0.1}}])"},
      {"escapes and key order",
       {{"f", R"({"b": "\ud83d\ude00\u00e9\/", "a": "x  y", "b": 2})"}},
       R"([{"name": "f", "arguments": {"b": "\ud83d\ude00\u00e9\/", "a": "x  y", "b": 2}}])"},
      {"an odd name", {{"a\"b\\c:d.e-f", "{}"}}, R"([{"name": "a\"b\\c:d.e-f", "arguments": {}}])"},
      {"line breaks between tokens become blanks",
       {{"f", "{\n  \"a\": [\r\n\t1,\n2\n  ],\t\"b\":  \"\\n\"\n}\n"}},
       R"([{"name": "f", "arguments": { "a": [ 1, 2 ],)"
       "\t"
       R"("b":  "\n" } }])"},
      {"arguments as text", {{"f", R"("{}")"}}, R"([{"name": "f", "arguments": "{}"}])"},
  });
  for (const Case& row : kCases) EXPECT_EQ(CallsJson(row.calls), row.json) << row.label;
}

Generation SomeGeneration() {
  Generation generation;
  generation.text = "{\"name\":\n\"f\"}\xf0\x9f\x98";
  generation.calls = {{"f", "{\n}"}};
  generation.stop = StopReason::kLength;
  generation.stats.tokens = 10;
  generation.stats.forwards = 4;
  generation.stats.prepare_ms = 1;
  generation.stats.prefill_ms = 2;
  generation.stats.total_ms = 8.00049;
  generation.stats.cells.peak = 77;
  return generation;
}

TEST(GenerationJson, OneLineOfJson) {
  const std::string line = GenerationJson(SomeGeneration(), "schemafill");
  EXPECT_THAT(line, StartsWith(R"({"tool_calls": [{"name": "f", "arguments": { }}], "text": ")"));
  EXPECT_THAT(line, testing::Not(HasSubstr("\n")));
  const Json json = ParseJson(line, "line").value();
  EXPECT_EQ(json["text"], "{\"name\":\n\"f\"}\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
  EXPECT_EQ(json["stats"]["method"], "schemafill");
  EXPECT_EQ(json["stats"]["stop"], "length");
}

TEST(StatsJson, Measures) {
  const Json json = StatsJson(SomeGeneration().stats);
  EXPECT_EQ(json["tokens"], 10);
  EXPECT_EQ(json["forwards"], 4);
  EXPECT_EQ(json["al"], 2.5);
  EXPECT_EQ(json["total_ms"], 8.0);
  EXPECT_EQ(json["decode_ms"], 5.0);
  EXPECT_EQ(json["peak_cells"], 77);
  EXPECT_NEAR(json["tps"].get<double>(), 1250, 1);
  EXPECT_NEAR(json["decode_tps"].get<double>(), 2000, 1);
  EXPECT_EQ(json["lossy"], false);
  Generation filled = SomeGeneration();
  filled.stats.lossy = true;
  const Json lossy = StatsJson(filled.stats);
  EXPECT_EQ(lossy["lossy"], true);
  EXPECT_TRUE(lossy["al"].is_null());
  const Json nothing = StatsJson({});
  for (const char* const rate : {"al", "tps", "decode_tps"}) EXPECT_EQ(nothing[rate], 0.0) << rate;
}

}  // namespace
}  // namespace schemafill
