#include "measure/chart.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <regex>

namespace schemafill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
constexpr double kEndless = std::numeric_limits<double>::infinity();

int Count(const std::string& text, const std::string& what) {
  int count = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

// Every size and place of a mark is a number in the frame; an axis' text may not be "nan".
void ExpectSound(const std::string& svg) {
  EXPECT_THAT(svg, HasSubstr("role=\"img\""));
  EXPECT_THAT(svg, HasSubstr("aria-label=\""));
  for (const char* bad : {"nan", "inf", "=\"-", " -0.0\""}) EXPECT_THAT(svg, Not(HasSubstr(bad)));
  const std::regex number(R"re( (?:x|width)="([^"]*)")re");
  for (std::sregex_iterator i(svg.begin(), svg.end(), number), end; i != end; ++i) {
    const double value = std::stod((*i)[1]);
    EXPECT_GE(value, 0) << svg;
    EXPECT_LE(value, 360) << svg;
  }
}

TEST(ChartTest, OddValuesAreDrawn) {
  const std::vector<std::vector<double>> cases = {
      {}, {0}, {1}, {0, 0}, {-3, 2}, {kNone}, {kEndless, 1}, {1e-300}, {1e300, 1}, {0.001, 5000}};
  for (const std::vector<double>& values : cases) {
    BarChart bars{.title = "t", .unit = "x", .line = 1};
    StackChart stacks{.title = "t", .unit = " ms", .parts = {"a", "b"}};
    CurveChart curves{.title = "t", .across = "round", .unit = ""};
    for (const double value : values) {
      bars.bars.push_back({"m", value, Interval{value, value}, value});
      stacks.stacks.push_back({"m", {value, 1}, "n"});
    }
    curves.curves.push_back({"c", values, {}, {{1, 3}, {99, 3}}});
    curves.curves.push_back({"d", {}, {}, {}});
    for (const std::string& svg : {DrawBars(bars), DrawStacks(stacks), DrawCurves(curves)})
      ExpectSound(svg);
  }
}

TEST(ChartTest, BarsAreInProportion) {
  const std::string svg =
      DrawBars({.title = "speed-up",
                .unit = "x",
                .bars = {{"ar", 1, {}, 1.0}, {"ours", 2, Interval{1.5, 2.25}}}});
  EXPECT_THAT(svg, HasSubstr("aria-label=\"speed-up: ar 1.00x, paper 1.00x; ours 2.00x (1.50 to "
                             "2.25)\""));
  EXPECT_EQ(Count(svg, "class=\"bar\""), 2);
  EXPECT_EQ(Count(svg, "class=\"paper\""), 1);
  EXPECT_EQ(Count(svg, "class=\"whisker\""), 1);
  // The axis ends at 3 and is 348 units long.
  EXPECT_THAT(svg, HasSubstr("width=\"116.0\""));
  EXPECT_THAT(svg, HasSubstr("width=\"232.0\""));
}

// A sum that rounding puts above the round number.
TEST(ChartTest, AxisEndsAtTheRoundNumber) {
  const std::string svg = DrawStacks(
      {.title = "t", .unit = " %", .parts = {"a", "b"}, .stacks = {{"m", {99.9, 0.1 + 1e-9}}}});
  EXPECT_THAT(svg, HasSubstr(">100 %</text>"));
  EXPECT_THAT(svg, Not(HasSubstr(">150 %</text>")));
}

TEST(ChartTest, StacksSayTheirParts) {
  const std::string svg = DrawStacks({.title = "time",
                                      .unit = " %",
                                      .parts = {"draft", "verify"},
                                      .stacks = {{"ours", {25, 75}, "9 ms"}}});
  EXPECT_THAT(svg, HasSubstr("aria-label=\"time: ours draft 25.0 %, verify 75.0 %\""));
  EXPECT_EQ(Count(svg, ">A<"), 2);  // in the legend and in the bar
}

TEST(ChartTest, CurvesHaveMarksAndCrosses) {
  const std::string svg = DrawCurves(
      {.title = "nodes",
       .across = "round",
       .unit = "",
       .curves = {{"1 call", {20, 10}, {{15, 25}, {5, 15}}, {{1, 61.8}}}, {"2 calls", {40}}}});
  EXPECT_THAT(svg,
              HasSubstr("aria-label=\"nodes: 1 call 20.0, 10.0, paper at 1 61.8; 2 calls 40.0\""));
  EXPECT_THAT(svg, HasSubstr("<title>1 call, round 2: 10.0 (5.0 to 15.0)</title>"));
  EXPECT_EQ(Count(svg, "class=\"mark c0\""), 3);  // one in the legend
  EXPECT_EQ(Count(svg, "class=\"cross\""), 2);
}

TEST(ChartTest, TextIsEscapedAndCut) {
  const std::string svg =
      DrawBars({.title = "<a>\"", .unit = "", .bars = {{std::string(60, '<'), 1}}});
  EXPECT_THAT(svg, HasSubstr("aria-label=\"&lt;a&gt;&quot;: "));
  EXPECT_THAT(svg, Not(HasSubstr("<<")));
  EXPECT_THAT(svg, HasSubstr("&lt;…</text>"));
}

}  // namespace
}  // namespace schemafill
