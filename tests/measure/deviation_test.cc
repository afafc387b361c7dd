#include "measure/deviation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/sample_maker.h"

namespace schemafill {
namespace {

using ::testing::ElementsAre;

constexpr std::string_view kPlain =
    R"({"tool_calls": [{"name": "f", "arguments": {"a": 1, "b": "x"}}, {"name": "g", "arguments": {"c": [1, 2]}}]})";
constexpr std::string_view kFilled =
    R"({"tool_calls": [{"name": "f", "arguments": {"a": 1, "b": "y, z"}}, {"name": "g", "arguments": {"c": [1, 2]}}]})";

std::vector<Sample> Pair(const std::string& request, std::string_view plain,
                         std::string_view filled) {
  Sample ar = SampleMaker{.request = request}.Make();
  ar.text = plain;
  Sample fill = SampleMaker{.request = request, .method = "parallel-fill"}.Make();
  fill.text = filled;
  return {ar, fill};
}

TEST(DeviationTest, ComparesSlotBySlot) {
  RunRecord run;
  run.samples = Pair("parallel_multiple_12", kPlain, kFilled);
  const std::vector<SlotDeviations> all = DeviationsOf(run);
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].source, "parallel_multiple");
  EXPECT_EQ(all[0].calls, 2);
  EXPECT_THAT(all[0].call, ElementsAre(0, 0, 1));
  EXPECT_THAT(all[0].differs, ElementsAre(false, true, false));
}

TEST(DeviationTest, ProseAndMissingAnswersAreNone) {
  RunRecord run;
  run.samples = Pair("a_1", "Hello.", "Hello.");
  run.samples.push_back(Pair("a_2", kPlain, kPlain)[1]);  // `ar` is not there
  EXPECT_TRUE(DeviationsOf(run).empty());
}

// Response i has `slots` slots in calls of two and differs from slot i on.
std::vector<SlotDeviations> Staircase(int slots) {
  std::vector<SlotDeviations> all;
  for (int i = 0; i <= slots; ++i) {
    SlotDeviations response{.source = "a", .calls = (slots + 1) / 2, .call = {}, .differs = {}};
    for (int slot = 0; slot < slots; ++slot) {
      response.call.push_back(slot / 2);
      response.differs.push_back(slot >= i);
    }
    all.push_back(response);
  }
  return all;
}

TEST(DeviationTest, CurvesFollowAFixedCohort) {
  std::vector<SlotDeviations> all = Staircase(4);
  all.push_back({.source = "a", .calls = 1, .call = {0}, .differs = {true}});  // too short
  const DeviationCurve slots = BySlots(all, 4);
  EXPECT_EQ(slots.responses, 5);
  EXPECT_THAT(slots.share, ElementsAre(0.2, 0.4, 0.6, 0.8));
  EXPECT_LT(slots.interval[0].low, 0.2);
  EXPECT_GT(slots.interval[0].high, 0.2);
  EXPECT_THAT(ByCalls(all, 2).share, ElementsAre(0.4, 0.8));
  EXPECT_TRUE(BySlots({}, 8).share.empty());
}

TEST(DeviationTest, OddsGrowWithParameters) {
  std::vector<SlotDeviations> all;
  for (int i = 0; i < 400; ++i) {
    const int slots = 1 + i % 8;
    SlotDeviations response{.source = i % 3 == 0 ? "a" : "b",
                            .calls = 1 + i % 3,
                            .call = std::vector<int>(static_cast<size_t>(slots), 0),
                            .differs = std::vector<bool>(static_cast<size_t>(slots), false)};
    response.differs.back() = (i * 7919) % 97 < 10 * slots;
    all.push_back(response);
  }
  const auto odds = OddsPerParameter(all, 50, 1);
  ASSERT_TRUE(odds);
  EXPECT_GT(odds->ratio, 1.2);
  EXPECT_LT(odds->interval.low, odds->ratio);
  EXPECT_GT(odds->interval.high, odds->ratio);
  EXPECT_FALSE(OddsPerParameter(Staircase(2), 5, 1));
}

}  // namespace
}  // namespace schemafill
