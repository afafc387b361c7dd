#include "measure/figures.h"

#include <gtest/gtest.h>

#include "measure/sample_maker.h"

namespace schemafill {
namespace {

TEST(FiguresTest, PoolsSums) {
  Figures figures;
  figures.Add(
      SampleMaker{.tokens = 30, .forwards = 10, .decode_ms = 200, .prefill_ms = 100}.Make());
  figures.Add(SampleMaker{.tokens = 10, .forwards = 10, .decode_ms = 50, .prefill_ms = 50}.Make());
  EXPECT_DOUBLE_EQ(figures.al(), 2);
  EXPECT_DOUBLE_EQ(figures.tps(), 100);
  EXPECT_DOUBLE_EQ(figures.decode_tps(), 160);
  EXPECT_DOUBLE_EQ(figures.agreement(), 1);
}

TEST(FiguresTest, FailedRequestsStayInTheSums) {
  Figures figures;
  figures.Add(
      SampleMaker{.tokens = 30, .forwards = 10, .decode_ms = 200, .prefill_ms = 100}.Make());
  Sample failed;
  failed.error = "too long";
  failed.stats.total_ms = 300;
  figures.Add(failed);
  EXPECT_EQ(figures.failed, 1);
  EXPECT_DOUBLE_EQ(figures.tps(), 50);
  EXPECT_DOUBLE_EQ(figures.agreement(), 0.5);
}

TEST(FiguresTest, NothingIsZero) {
  EXPECT_DOUBLE_EQ(Figures().al(), 0);
  EXPECT_DOUBLE_EQ(Figures().tps(), 0);
  EXPECT_TRUE(MethodFiguresOf({}).empty());
}

// A machine that gets slower from launch to launch moves rates, not ratios.
TEST(MethodFiguresTest, RatiosAreWithinALaunch) {
  std::vector<Sample> samples;
  for (int launch = 0; launch < 3; ++launch) {
    const double slower = 1 + launch;
    samples.push_back(
        SampleMaker{.launch = launch, .decode_ms = 200 * slower, .prefill_ms = 100 * slower}
            .Make());
    samples.push_back(SampleMaker{.method = "schemafill",
                                  .launch = launch,
                                  .forwards = 5,
                                  .decode_ms = 50 * slower,
                                  .prefill_ms = 100 * slower}
                          .Make());
    samples.push_back(SampleMaker{.method = "oracle",
                                  .launch = launch,
                                  .forwards = 2,
                                  .decode_ms = 40 * slower,
                                  .prefill_ms = 100 * slower}
                          .Make());
  }
  const std::vector<MethodFigures> all = MethodFiguresOf(samples);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].method, "ar");
  EXPECT_EQ(all[1].launches, 3);
  EXPECT_EQ(all[1].requests, 1);
  EXPECT_DOUBLE_EQ(all[1].speedup.median, 2);
  EXPECT_DOUBLE_EQ(all[1].decode_speedup.median, 4);
  EXPECT_DOUBLE_EQ(all[1].all.al(), 4);
  EXPECT_DOUBLE_EQ(all[1].of_oracle, 0.8);
  EXPECT_GT(all[1].tps.deviation, 0);
  EXPECT_DOUBLE_EQ(MethodFiguresOf(samples, "schemafill")[0].decode_speedup.median, 0.25);
}

// An interrupted run: what only some methods have answered counts for none.
TEST(MethodFiguresTest, ComparesTheSameRequests) {
  const std::vector<Sample> samples = {SampleMaker{.request = "a"}.Make(),
                                       SampleMaker{.request = "a", .method = "eagle3"}.Make(),
                                       SampleMaker{.request = "b", .tokens = 1000}.Make(),
                                       SampleMaker{.dataset = "other", .request = "b"}.Make()};
  const std::vector<MethodFigures> all = MethodFiguresOf(samples);
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].all.tokens, 20);
  EXPECT_EQ(all[0].requests, 1);
  EXPECT_EQ(all[2].dataset, "other");
  EXPECT_DOUBLE_EQ(all[2].of_oracle, 0);
}

}  // namespace
}  // namespace schemafill
