#include "forecast/forecast.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <string>
#include <string_view>

#include "base/random.h"

namespace schemafill {
namespace {

using testing::ElementsAre;

// A catalog of tools that are nothing but names, or whole entries where one starts with '{'.
Catalog Read(std::initializer_list<std::string_view> tools) {
  Json entries = Json::array();
  for (const std::string_view tool : tools) {
    entries.push_back(tool.starts_with('{') ? ParseJson(tool, "tool").value()
                                            : Json{{"name", tool}});
  }
  return ParseCatalog(entries).value();
}

std::vector<int> Order(const Forecast& forecast) {
  std::vector<int> order;
  for (const RankedTool& ranked : forecast.ranking) order.push_back(ranked.tool);
  return order;
}

std::vector<int> Calls(const Forecast& forecast) {
  std::vector<int> tools;
  for (const CallGroup& group : forecast.groups) tools.push_back(group.tool);
  return tools;
}

// The tool that comes first for a query; -1 where none has a word of it.
int Best(const Catalog& catalog, std::string_view query) {
  const RankedTool best = MakeForecast(catalog, query, {}).ranking[0];
  return best.score > 0 ? best.tool : -1;
}

TEST(Forecast, Dump) {
  const Catalog catalog = Read({R"({"name":"send_mail"})",
                                R"({"name":"weather.get","parameters":{"properties":
                                   {"city":{"type":"string"},"unit":{}},"required":["city"]}})"});
  // weather: idf ln(1 + 1.5/1.5), count 1, 4 words where the mean is 3:
  // 0.6931 * 2.2 / (1 + 1.2 * (0.25 + 0.75 * 4/3)) = 0.61.
  EXPECT_EQ(MakeForecast(catalog, "Weather in Rome?", {}).Dump(),
            "rank: 1 (0.61), 0 (0.00)\n"
            "call 0: tool 1: city unit?\n"
            "call 1: tool 0:\n"
            "call 2: tool 1: city unit?\n");
}

TEST(Forecast, CyclesTheRankingToTheBudget) {
  const Catalog catalog = Read({"red", "green", "blue"});
  EXPECT_THAT(Calls(MakeForecast(catalog, "blue", {.budget = 5})), ElementsAre(2, 0, 1, 2, 0));
  EXPECT_THAT(Calls(MakeForecast(catalog, "blue", {.budget = 2})), ElementsAre(2, 0));
  EXPECT_THAT(Calls(MakeForecast(catalog, "blue", {.budget = 0})), ElementsAre());
  const Forecast forecast = MakeForecast(catalog, "blue", {});
  ASSERT_EQ(forecast.groups.size(), 3u);
  for (int call = 0; call < 3; ++call)
    EXPECT_EQ(forecast.groups[static_cast<size_t>(call)].call, call);
}

TEST(Forecast, OneToolNeedsNoRanking) {
  const Forecast forecast = MakeForecast(Read({"weather"}), "weather", {});
  EXPECT_THAT(Order(forecast), ElementsAre(0));
  EXPECT_EQ(forecast.ranking[0].score, 0);
  EXPECT_THAT(Calls(forecast), ElementsAre(0, 0, 0));
}

TEST(Forecast, NoToolsNoForecast) {
  const Forecast forecast = MakeForecast(Catalog(), "weather", {});
  EXPECT_TRUE(forecast.ranking.empty());
  EXPECT_TRUE(forecast.groups.empty());
}

TEST(Forecast, EqualScoresKeepCatalogOrder) {
  const Catalog catalog = Read({"a_stop", "b_stop", "c_go", "d_stop", "e_go"});
  EXPECT_THAT(Order(MakeForecast(catalog, "", {})), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Order(MakeForecast(catalog, "nothing known", {})), ElementsAre(0, 1, 2, 3, 4));
  EXPECT_THAT(Order(MakeForecast(catalog, "go", {})), ElementsAre(2, 4, 0, 1, 3));
  EXPECT_THAT(Order(MakeForecast(Read({"same", "same", "same"}), "same", {})),
              ElementsAre(0, 1, 2));
}

TEST(Forecast, WordsMeet) {
  struct Case {
    std::string_view label;
    std::string_view tool;
    std::string_view query;
    bool meets;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"case", "Weather", "WEATHER", true},
      {"snake_case", "get_weather", "weather", true},
      {"dots, colons, dashes", "google.mail:send-v2", "mail", true},
      {"camelCase", "getWeatherNow", "weather", true},
      {"acronym in camelCase", "getHTTPStatus", "http", true},
      {"behind an acronym", "getHTTPStatus", "status", true},
      {"acronym in the query", "get_url", "the URL", true},
      {"digits stay with their word", "top10_list", "top10", true},
      {"plural in the query", "song.play", "songs", true},
      {"plural in the tool", "play_songs", "song", true},
      {"ss is no plural", "clas_x", "class", false},
      {"short words keep their s", "ga_x", "gas", false},
      {"part of a word", "weatherman", "weather", false},
      {"function words", "what_is_the_x", "What is the time?", false},
      {"accents",
       "cr\xc3\xa9"
       "er",
       "cr\xc3\xa9"
       "er",
       true},
      {"accents are not folded", "creer",
       "cr\xc3\xa9"
       "er",
       false},
      {"scripts without spaces", "\xe5\xa4\xa9\xe6\xb0\x94", "\xe4\xbb\x8a\xe5\xa4\xa9\xef\xbc\x9f",
       true},
      {"punctuation is no word", "a\xe2\x80\x99x", "b\xe2\x80\x99y", false},
      {"ideographic full stop", "a\xe3\x80\x82", "b\xe3\x80\x82", false},
      {"broken UTF-8", "x_\xff", "\xff\x80", false},
  });
  for (const Case& row : kCases) {
    const Catalog catalog = Catalog{
        .tools = {Tool{.name = "zzz", .description = "", .parameters = SchemaId{0}, .rendered = ""},
                  Tool{.name = std::string(row.tool),
                       .description = "",
                       .parameters = SchemaId{0},
                       .rendered = ""}},
        .nodes = {SchemaNode()}};
    EXPECT_EQ(Best(catalog, row.query) == 1, row.meets) << row.label;
  }
}

TEST(Forecast, DocumentsAreNamesAndDescriptionsAtAnyDepth) {
  const Catalog catalog = Read({
      R"({"name":"a","description":"about whales"})",
      R"({"name":"b","parameters":{"properties":{"harbour":{"type":"string"}}}})",
      R"({"name":"c","parameters":{"properties":{"x":{"description":"of the lighthouse"}}}})",
      R"({"name":"d","parameters":{"properties":{"x":{"items":{"properties":{"anchor":{}}}}}}})",
      R"({"name":"e","parameters":{"properties":{"x":{"anyOf":[{"type":"null"},
          {"properties":{"sail":{}}}]}}}})",
      R"({"name":"f","parameters":{"properties":{"x":{"enum":["keel"]},"next":{"$ref":"#"}}}})",
  });
  EXPECT_EQ(Best(catalog, "whale"), 0);
  EXPECT_EQ(Best(catalog, "harbour"), 1);
  EXPECT_EQ(Best(catalog, "lighthouse"), 2);
  EXPECT_EQ(Best(catalog, "anchor"), 3);
  EXPECT_EQ(Best(catalog, "sail"), 4);
  EXPECT_EQ(Best(catalog, "keel"), -1);  // values are no metadata
}

TEST(Forecast, RareWordsCountMore) {
  const Catalog catalog = Read({"get_user", "get_invoice", "get_order"});
  EXPECT_EQ(Best(catalog, "get get get the order"), 2);
}

TEST(Forecast, LongDocumentsCountLess) {
  const Catalog catalog = Read({R"({"name":"x","description":"order one two three four five six"})",
                                R"({"name":"y","description":"order"})"});
  EXPECT_EQ(Best(catalog, "order"), 1);
}

TEST(Forecast, EachWordOfTheRequestCountsOnce) {
  const Catalog catalog = Read({"alpha_beta", "gamma"});
  const double once = MakeForecast(catalog, "alpha", {}).ranking[0].score;
  EXPECT_EQ(MakeForecast(catalog, "alpha alpha Alphas", {}).ranking[0].score, once);
}

// Scores don't depend on the order of the words, and every tool is ranked exactly once.
TEST(Forecast, RandomRequests) {
  constexpr auto kWords = std::to_array<std::string_view>(
      {"mail", "send", "user", "order", "list", "city", "rain", "play", "song", "zip"});
  for (uint64_t trial = 0; trial < 200; ++trial) {
    const auto draw = [&](uint64_t stream, uint64_t position) {
      return kWords[KeyedBits({.seed = trial, .stream = stream, .position = position}) %
                    kWords.size()];
    };
    Json tools = Json::array();
    for (uint64_t tool = 0; tool < 7; ++tool) {
      tools.push_back({{"name", fmt::format("{}_{}", draw(tool, 0), draw(tool, 1))},
                       {"description", fmt::format("{} {}", draw(tool, 2), draw(tool, 3))}});
    }
    const Catalog catalog = ParseCatalog(tools).value();
    const std::string forth = fmt::format("{} {} {}", draw(99, 0), draw(99, 1), draw(99, 2));
    const std::string back = fmt::format("{} {} {}", draw(99, 2), draw(99, 1), draw(99, 0));
    const Forecast forecast = MakeForecast(catalog, forth, {});
    const Forecast reverse = MakeForecast(catalog, back, {});
    EXPECT_THAT(Order(forecast), testing::UnorderedElementsAre(0, 1, 2, 3, 4, 5, 6));
    for (size_t i = 0; i < 7; ++i) {
      EXPECT_NEAR(forecast.ranking[i].score, reverse.ranking[i].score, 1e-12);
    }
  }
}

}  // namespace
}  // namespace schemafill
