#include "measure/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "measure/html.h"
#include "measure/plots.h"
#include "measure/sample_maker.h"
#include "measure/tables.h"

namespace schemafill {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

RunRecord RunOf(int table, std::vector<Sample> samples) {
  return {
      {{"type", "bench"}, {"settings", {{"table", table}, {"seed", 7}}}, {"model", "a <model>"}},
      std::move(samples)};
}

std::vector<Sample> TwoLaunches(const std::string& method = "schemafill") {
  std::vector<Sample> samples;
  for (int launch = 0; launch < 2; ++launch) {
    samples.push_back(SampleMaker{.launch = launch}.Make());
    samples.push_back(SampleMaker{
        .method = method, .launch = launch, .forwards = 4, .decode_ms = 50 + 10.0 * launch}
                          .Make());
    samples.back().stats.draft_ms = 10;
    samples.back().stats.verify_ms = 35;
  }
  return samples;
}

std::vector<std::string> TitlesOf(const RunRecord& run) {
  std::vector<std::string> titles;
  for (const Plot& plot : PlotsOf(run)) titles.push_back(plot.title);
  return titles;
}

TEST(HtmlTest, Escapes) {
  EXPECT_EQ(EscapeHtml("<a href=\"x\">&</a>"), "&lt;a href=&quot;x&quot;&gt;&amp;&lt;/a&gt;");
  EXPECT_EQ(EscapeHtml("a\u202Eb\u2066c\u2019\u2065"), "a\uFFFDb\uFFFDc\u2019\u2065");
  EXPECT_EQ(EscapeHtml("\xE2\x80"), "\xE2\x80");
}

TEST(HtmlTest, TablesHaveHeadersOfBothParts) {
  const std::string html = ToHtml({.title = "T<",
                                   .columns = {"method", "AL", "paper: AL", "speed-up"},
                                   .rows = {{"ar", "1", "2", "3"}},
                                   .notes = {"* <n>"}});
  EXPECT_THAT(html, HasSubstr("<caption>T&lt;</caption>"));
  EXPECT_THAT(html, HasSubstr("colspan=\"1\">measured</th>"));
  EXPECT_THAT(html, HasSubstr("colspan=\"2\">paper</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\">AL</th><th scope=\"col\">speed-up</th>"));
  EXPECT_THAT(html, HasSubstr("<th scope=\"row\">ar</th><td>1</td><td>2</td><td>3</td>"));
  EXPECT_THAT(html, HasSubstr("* &lt;n&gt;"));
}

TEST(PlotsTest, OfTwoLaunches) {
  const RunRecord run = RunOf(1, TwoLaunches());
  EXPECT_THAT(TitlesOf(run),
              ::testing::ElementsAre(
                  "bfcl: speed-up over ar, end to end", "bfcl: speed-up over ar, decoding alone",
                  "bfcl: acceptance length", "bfcl: time by phase, without prompt and prefill",
                  "bfcl: time of a request"));
  const std::vector<Plot> plots = PlotsOf(run);
  EXPECT_THAT(plots[0].svg, HasSubstr("schemafill 1.94x (1.87 to 2.00), paper 4.05x"));
  EXPECT_THAT(plots[3].svg, HasSubstr("drafting 18.2 %"));
}

TEST(PlotsTest, LossyAndDisagreeing) {
  std::vector<Sample> samples = TwoLaunches("parallel-fill");
  samples[1].stats.lossy = samples[3].stats.lossy = true;
  samples[1].agrees = false;
  const std::vector<Plot> plots = PlotsOf(RunOf(1, samples));
  EXPECT_THAT(plots[2].svg, Not(HasSubstr("parallel-fill")));  // no AL
  EXPECT_EQ(plots[3].title, "bfcl: answers like ar's, where not all are");
  EXPECT_THAT(plots[3].svg, HasSubstr("parallel-fill* 50.0 %"));
}

TEST(PlotsTest, NodesByRound) {
  std::vector<Sample> samples;
  for (int i = 0; i < 12; ++i) {
    samples.push_back(SampleMaker{.request = std::to_string(i), .method = "schemafill"}.Make());
    samples.back().calls = 4;
    samples.back().stats.nodes_by_forward = {30, 5};
  }
  const std::vector<Plot> plots = PlotsOf(RunOf(3, samples));
  EXPECT_THAT(plots.back().svg, HasSubstr("4 calls 30.0, 5.0, paper at 1 152.0"));
}

TEST(ReportTest, HoldsEachTable) {
  std::vector<ReportedRun> runs;
  for (int table = 0; table <= 6; ++table) runs.push_back({"f.jsonl", RunOf(table, TwoLaunches())});
  const std::string page = ReportPage(runs), markdown = ReportMarkdown(runs);
  for (const ReportedRun& reported : runs) {
    for (const Table& table : TablesOf(reported.run)) {
      if (table.rows.empty()) continue;
      EXPECT_THAT(page, HasSubstr(ToHtml(table)));
      EXPECT_THAT(markdown, HasSubstr(ToMarkdown(table)));
    }
  }
  EXPECT_THAT(page, HasSubstr("seed 7"));
  EXPECT_THAT(page, HasSubstr("a &lt;model&gt;"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

TEST(ReportTest, OfARunWithoutSamples) {
  const std::vector<ReportedRun> runs = {{"f.jsonl", RunOf(1, {})}};
  EXPECT_THAT(ReportPage(runs), HasSubstr("No request"));
  EXPECT_THAT(ReportMarkdown(runs), HasSubstr("## Table 1: f.jsonl"));
}

}  // namespace
}  // namespace schemafill
