#include "serve/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace schemafill {
namespace {

using testing::HasSubstr;

TEST(Metrics, AsPrometheusReadsThem) {
  Metrics metrics(8192);
  metrics.CountResponse(200);
  metrics.CountResponse(200);
  metrics.CountResponse(400);
  metrics.CountCancelled();
  GenerateStats stats;
  stats.prompt_tokens = 30;
  stats.reused_tokens = 10;
  stats.tokens = 12;
  stats.forwards = 4;
  stats.cells = {.prefix = 29, .verified = 11, .side = 2, .parked = 3};
  metrics.CountAnswer(stats, 0.02, 0.5);
  metrics.CountAnswer(stats, 7, 500);
  metrics.CountFirstText(0.05);
  const std::string text = metrics.Text(3, 1);
  for (const std::string line : {"# TYPE schemafill_responses_total counter",
                                 "schemafill_responses_total{status=\"200\"} 2",
                                 "schemafill_responses_total{status=\"400\"} 1",
                                 "schemafill_cancelled_total 1",
                                 "schemafill_prompt_tokens_total 60",
                                 "schemafill_cached_tokens_total 20",
                                 "schemafill_tokens_total 24",
                                 "schemafill_forwards_total 8",
                                 "schemafill_acceptance_length 3",
                                 "schemafill_requests_waiting 3",
                                 "schemafill_requests_running 1",
                                 "schemafill_cells_used 45",
                                 "schemafill_cells 8192",
                                 "# TYPE schemafill_queue_seconds histogram",
                                 "schemafill_queue_seconds_bucket{le=\"0.01\"} 0",
                                 "schemafill_queue_seconds_bucket{le=\"0.05\"} 1",
                                 "schemafill_queue_seconds_bucket{le=\"5\"} 1",
                                 "schemafill_queue_seconds_bucket{le=\"10\"} 2",
                                 "schemafill_queue_seconds_sum 7.02",
                                 "schemafill_request_seconds_bucket{le=\"120\"} 1",
                                 "schemafill_request_seconds_bucket{le=\"+Inf\"} 2",
                                 "schemafill_request_seconds_count 2",
                                 "schemafill_first_text_seconds_bucket{le=\"0.05\"} 1"})
    EXPECT_THAT(text, HasSubstr(line + "\n"));
}

TEST(Metrics, NothingYet) {
  EXPECT_THAT(Metrics(1).Text(0, 0), HasSubstr("schemafill_acceptance_length 0\n"));
}

}  // namespace
}  // namespace schemafill
