#include "serve/engine_thread.h"

#include <gtest/gtest.h>

#include <latch>

#include "engine/engine_bench.h"

namespace schemafill {
namespace {

std::shared_ptr<Job> JobOf(
    const Scenario& scenario, std::function<bool()> gone = [] { return false; }) {
  return std::make_shared<Job>(ChatRequest{.request = scenario.request, .model = ""},
                               std::move(gone));
}

// All that a job tells until its end.
std::string Wait(Job& job) {
  std::string all;
  while (const std::optional<std::string> text = job.NextText()) all += *text;
  return all;
}

std::string Code(const Job& job) {
  const auto* error = std::get_if<ApiError>(&job.outcome());
  return error == nullptr ? "" : error->code;
}

class EngineThreadTest : public testing::Test {
 protected:
  EngineThreadTest() { bench_.Script(scenario_); }

  const Scenario scenario_ = Weather();
  EngineBench bench_;
  Metrics metrics_{100};
};

TEST_F(EngineThreadTest, AnswersInOrder) {
  EngineThread thread(bench_.engine(), Options(Method::kSchemaFill), {}, metrics_);
  for (int i = 0; i < 3; ++i) {
    const auto job = JobOf(scenario_);
    EXPECT_FALSE(thread.Submit(job).has_value());
    EXPECT_EQ(Wait(*job), scenario_.text);
    EXPECT_EQ(thread.running(), 0);
    EXPECT_EQ(std::get<Generation>(job->outcome()).text, scenario_.text);
  }
  EXPECT_NE(metrics_.Text(0, 0).find("schemafill_request_seconds_count 3\n"), std::string::npos);
}

TEST_F(EngineThreadTest, AFullQueueAndAStop) {
  EngineThread thread(bench_.engine(), Options(Method::kAr), {.max_waiting = 2}, metrics_);
  std::latch started(1), go(1);
  int asked = 0;
  const auto running = JobOf(scenario_, [&] {
    if (asked++ == 0) started.count_down();
    go.wait();
    return false;
  });
  EXPECT_FALSE(thread.Submit(running).has_value());
  started.wait();
  const std::vector<std::shared_ptr<Job>> waiting = {JobOf(scenario_), JobOf(scenario_)};
  for (const auto& job : waiting) EXPECT_FALSE(thread.Submit(job).has_value());
  EXPECT_EQ(thread.waiting(), 2);
  EXPECT_EQ(thread.running(), 1);
  const std::optional<ApiError> full = thread.Submit(JobOf(scenario_));
  ASSERT_TRUE(full.has_value());
  EXPECT_EQ(full->code, "queue_full");
  EXPECT_EQ(full->status, 503);

  std::thread stopper([&] { thread.Stop(); });
  for (const auto& job : waiting) {
    EXPECT_EQ(Wait(*job), "");
    EXPECT_EQ(Code(*job), "stopping");
  }
  EXPECT_EQ(thread.Submit(JobOf(scenario_))->code, "stopping");
  go.count_down();
  EXPECT_EQ(Wait(*running), scenario_.text);
  EXPECT_EQ(Code(*running), "");
  stopper.join();
}

// Cases list, item 20.
TEST_F(EngineThreadTest, AClientThatGoes) {
  EngineThread thread(bench_.engine(), Options(Method::kAr), {}, metrics_);
  for (const int rounds : {0, 1, 5}) {
    int asked = 0;
    const auto gone = JobOf(scenario_, [&] { return asked++ > rounds; });
    EXPECT_FALSE(thread.Submit(gone).has_value());
    EXPECT_TRUE(scenario_.text.starts_with(Wait(*gone)));
    EXPECT_EQ(Code(*gone), "time_limit");
    const auto next = JobOf(scenario_);
    EXPECT_FALSE(thread.Submit(next).has_value());
    EXPECT_EQ(Wait(*next), scenario_.text);
  }
  EXPECT_NE(metrics_.Text(0, 0).find("schemafill_cancelled_total 3\n"), std::string::npos);
}

TEST_F(EngineThreadTest, OutOfTime) {
  EngineThread thread(bench_.engine(), Options(Method::kAr), {.time_limit_s = 0}, metrics_);
  const auto job = JobOf(scenario_);
  EXPECT_FALSE(thread.Submit(job).has_value());
  EXPECT_EQ(Wait(*job), "");
  EXPECT_EQ(std::get<ApiError>(job->outcome()).status, 504);
}

TEST_F(EngineThreadTest, WhatIsRefusedAndWhatFails) {
  Scenario long_one = scenario_;
  long_one.request.messages[0].content = std::string(100'000, 'x');
  EngineThread thread(bench_.engine(), Options(Method::kAr), {}, metrics_);
  const auto too_long = JobOf(long_one);
  EXPECT_FALSE(thread.Submit(too_long).has_value());
  Wait(*too_long);
  EXPECT_EQ(Code(*too_long), "context_length_exceeded");
  const auto failing = JobOf(scenario_, []() -> bool { throw std::runtime_error("x"); });
  EXPECT_FALSE(thread.Submit(failing).has_value());
  Wait(*failing);
  EXPECT_EQ(Code(*failing), "internal");
  const auto next = JobOf(scenario_);
  EXPECT_FALSE(thread.Submit(next).has_value());
  EXPECT_EQ(Wait(*next), scenario_.text);
}

}  // namespace
}  // namespace schemafill
