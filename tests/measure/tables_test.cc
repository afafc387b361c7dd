#include "measure/tables.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/sample_maker.h"

namespace schemafill {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

RunRecord RunOf(int table, std::vector<Sample> samples) {
  return {{{"type", "bench"}, {"settings", {{"table", table}}}}, std::move(samples)};
}

std::vector<Sample> TwoMethods(const std::string& method) {
  return {SampleMaker{}.Make(),
          SampleMaker{.method = method, .forwards = 4, .decode_ms = 50}.Make()};
}

TEST(TableTest, TextAndMarkdown) {
  const Table table{.title = "T",
                    .columns = {"method", "AL"},
                    .rows = {{"ar", "1.00"}, {"schemafill†", "6.5"}},
                    .notes = {"† some"}};
  EXPECT_EQ(ToText(table),
            "T\n"
            "method         AL\n"
            "ar           1.00\n"
            "schemafill†   6.5\n"
            "† some\n");
  EXPECT_EQ(ToMarkdown(table),
            "**T**\n\n| method | AL |\n| --- | ---: |\n| ar | 1.00 |\n| schemafill† | 6.5 |\n"
            "\n† some\n");
}

TEST(TablesTest, ThePapersFiguresStandBeside) {
  const std::vector<Table> tables = TablesOf(RunOf(1, TwoMethods("schemafill")));
  ASSERT_EQ(tables.size(), 1u);
  EXPECT_THAT(tables[0].title, HasSubstr("Table 1: bfcl"));
  EXPECT_THAT(tables[0].rows[1], ElementsAre("schemafill", "5.00", "133.3", "2.00x", "4.00x",
                                             "100.0 %", "-", "6.42", "4.05x"));
}

TEST(TablesTest, Table2ComparesWithStageA) {
  const std::vector<Table> tables = TablesOf(RunOf(2, TwoMethods("eagle3")));
  EXPECT_EQ(tables[0].rows[0][3], "0.50x");
  EXPECT_EQ(tables[0].rows[1][3], "1.00x");
}

TEST(TablesTest, FailedAndLossyAreMarked) {
  std::vector<Sample> samples = TwoMethods("parallel-fill");
  samples[1].stats.lossy = true;
  samples[1].agrees = false;
  samples[0].error = "no room";
  const Table table = TablesOf(RunOf(0, samples))[0];
  EXPECT_EQ(table.rows[0][0], "ar†");
  EXPECT_EQ(table.rows[1][0], "parallel-fill*");
  EXPECT_EQ(table.rows[1][1], "-");
  EXPECT_EQ(table.rows[1][5], "0.0 %");
  EXPECT_EQ(table.notes.size(), 2u);
}

TEST(TablesTest, OfAnEmptyRun) {
  for (int table = 0; table <= 6; ++table) {
    for (const Table& empty : TablesOf(RunOf(table, {}))) EXPECT_TRUE(empty.rows.empty());
  }
}

TEST(TablesTest, ByCalls) {
  std::vector<Sample> samples;
  for (int i = 0; i < 24; ++i) {
    Sample sample =
        SampleMaker{.request = std::to_string(i), .method = "schemafill", .forwards = 4}.Make();
    sample.calls = i % 2 == 0 ? 1 : 3;
    sample.stats.nodes_by_forward = {10 + i, 2, 2};
    if (i < 12) sample.stats.nodes_by_forward.push_back(1);  // 6 of each: too few to show
    for (const int nodes : sample.stats.nodes_by_forward) sample.stats.nodes += nodes;
    samples.push_back(sample);
  }
  const RunRecord run = RunOf(3, samples);
  const std::vector<NodesByRound> curves = NodesByRoundOf(run);
  ASSERT_EQ(curves.size(), 2u);
  EXPECT_EQ(curves[1].calls, 3);
  EXPECT_THAT(curves[0].mean, ElementsAre(21, 2, 2));
  EXPECT_THAT(curves[0].requests, ElementsAre(12, 12, 12));
  const std::vector<Table> tables = TablesOf(run);
  ASSERT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables[0].rows[0][0], "1");
  EXPECT_EQ(tables[0].rows[1][6], "8.06");
  EXPECT_EQ(tables[1].rows[0], (std::vector<std::string>{"1", "21.0", "22.0"}));
}

TEST(TablesTest, CacheAndPhases) {
  std::vector<Sample> samples = TwoMethods("schemafill");
  samples[0].stats.kept_bytes = 100 << 20;
  samples[1].stats.kept_bytes = 125 << 20;
  samples[1].stats.draft_ms = 10;
  samples[1].stats.verify_ms = 35;
  RunRecord run = RunOf(4, samples);
  run.header["model_bytes"] = 900 << 20;
  EXPECT_THAT(TablesOf(run)[0].rows[1],
              ElementsAre("schemafill", "125.00", "+25.00 %", "+2.50 %", "+24.65 %", "+0.28 %"));
  run.header["settings"]["table"] = 5;
  const Table phases = TablesOf(run)[0];
  EXPECT_EQ(phases.rows[2][3], "70.00 %");
  EXPECT_EQ(phases.rows[3][2], "5.00");
}

TEST(MethodsJsonTest, HasTheContractsFields) {
  const std::vector<Json> lines = MethodsJson(RunOf(1, TwoMethods("schemafill")));
  ASSERT_EQ(lines.size(), 2u);
  for (const char* name : {"method", "requests", "tps", "decode_tps", "speedup", "decode_speedup",
                           "al", "nodes_per_verify", "agreement"})
    EXPECT_TRUE(lines[1].contains(name)) << name;
  EXPECT_EQ(lines[1]["al"], 5);
}

}  // namespace
}  // namespace schemafill
