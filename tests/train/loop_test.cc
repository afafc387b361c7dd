#include "train/loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "support/temp_dir.h"

namespace schemafill {
namespace {

using ::testing::HasSubstr;
using testing::TempDir;

// A line through points: every example is one point of y = 3 x - 1.
class LoopTest : public ::testing::Test {
 protected:
  LoopOptions Options() const {
    LoopOptions options{.steps = 60, .batch = 3, .warmup_steps = 5, .peak_rate = 0.2};
    options.seed = 7;
    options.threads = 2;
    options.score_every = 10;
    options.checkpoint = folder_.path("checkpoint");
    options.curve = folder_.path("curve.jsonl");
    options.settings = {{"rate", options.peak_rate}};
    return options;
  }

  LoopTask Task() {
    LoopTask task;
    task.parameters = {torch::zeros({2}).requires_grad_()};
    task.examples = 10;
    line_ = task.parameters[0];
    task.learn = [this](int index) {
      if (++learned_ == stop_after_) stop_ = true;
      const torch::Tensor loss = Loss(index / 10.0);
      return Learned{loss, {.loss = loss.item<double>(), .tokens = 1, .correct = 0}};
    };
    task.score = [this] {
      return std::map<std::string, double>{{"loss", Loss(0.35).item<double>()}};
    };
    task.higher_is_better = higher_is_better_;
    return task;
  }

  torch::Tensor Loss(double x) const { return (line_[0] * x + line_[1] - (3 * x - 1)).square(); }

  Result<LoopResult> Run(const LoopOptions& options) {
    stop_ = false;
    learned_ = 0;
    return RunLoop(options, Task(), stop_, [](const LoopProgress&) {});
  }

  std::vector<Json> Curve() const {
    std::vector<Json> lines;
    std::ifstream file(folder_.path("curve.jsonl"));
    for (std::string line; std::getline(file, line);) lines.push_back(Json::parse(line));
    return lines;
  }

  TempDir folder_;
  torch::Tensor line_;
  std::atomic<bool> stop_ = false;
  std::atomic<int> learned_ = 0;
  int stop_after_ = -1;
  bool higher_is_better_ = false;
};

TEST_F(LoopTest, Learns) {
  const Result<LoopResult> result = Run(Options());
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->finished);
  EXPECT_EQ(result->step, 60);
  const std::vector<Json> curve = Curve();
  ASSERT_EQ(curve.size(), 7u);  // before the first step, then every tenth
  EXPECT_GT(curve[0]["held_out"]["loss"], 0.001);
  EXPECT_LT(result->best_scores.at("loss"), 0.1 * double(curve[0]["held_out"]["loss"]));
  EXPECT_EQ(curve[3]["examples"], 90);
}

TEST_F(LoopTest, KeepsTheBestParameters) {
  LoopOptions options = Options();
  options.peak_rate = 3;  // jumps about
  const Result<LoopResult> result = Run(options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  double best = 1e9;
  for (const Json& line : Curve()) best = std::min<double>(best, line["held_out"]["loss"]);
  EXPECT_EQ(result->best_scores.at("loss"), best);
  EXPECT_DOUBLE_EQ(Loss(0.35).item<double>(), best);
}

TEST_F(LoopTest, KeepsTheParametersOfTheHighestScore) {
  LoopOptions options = Options();
  higher_is_better_ = true;
  const Result<LoopResult> result = Run(options);
  ASSERT_TRUE(result.ok()) << result.error().message;
  double highest = 0;
  for (const Json& line : Curve()) highest = std::max<double>(highest, line["held_out"]["loss"]);
  EXPECT_EQ(result->best_scores.at("loss"), highest);
}

TEST_F(LoopTest, GoesOnWhereItWasStopped) {
  ASSERT_TRUE(Run(Options()).ok());
  const torch::Tensor straight = line_.detach().clone();
  const std::vector<Json> straight_curve = Curve();
  std::filesystem::remove(folder_.path("checkpoint"));

  stop_after_ = 3 * 17;
  Result<LoopResult> result = Run(Options());
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_FALSE(result->finished);
  EXPECT_EQ(result->step, 17);
  stop_after_ = 3 * 25;
  result = Run(Options());
  EXPECT_EQ(result->step, 17 + 25);
  stop_after_ = -1;
  result = Run(Options());
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->finished);
  EXPECT_TRUE(line_.equal(straight));
  ASSERT_EQ(Curve().size(), straight_curve.size());
  for (size_t i = 0; i < straight_curve.size(); ++i) {
    EXPECT_EQ(Curve()[i]["held_out"], straight_curve[i]["held_out"]) << i;
  }

  // A finished run does nothing more.
  result = Run(Options());
  EXPECT_TRUE(result->finished);
  EXPECT_EQ(learned_, 0);
}

TEST_F(LoopTest, RefusesACheckpointOfOtherSettings) {
  ASSERT_TRUE(Run(Options()).ok());
  LoopOptions options = Options();
  options.settings = {{"rate", 0.5}};
  const Result<LoopResult> result = Run(options);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("was made with rate 0.2, and this run has 0.5"));
}

TEST_F(LoopTest, RefusesADamagedCheckpoint) {
  ASSERT_TRUE(Run(Options()).ok());
  std::filesystem::resize_file(folder_.path("checkpoint"), 500);
  const Result<LoopResult> result = Run(Options());
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("is damaged; remove it to start anew"));
}

TEST_F(LoopTest, SaysWhenTheCurveCantBeWritten) {
  LoopOptions options = Options();
  options.curve = "/nowhere/curve.jsonl";
  const Result<LoopResult> result = Run(options);
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("'/nowhere/curve.jsonl' can't be written"));
}

TEST(LearningRate, WarmsUpThenFalls) {
  const LoopOptions options{.steps = 100, .warmup_steps = 9, .peak_rate = 1};
  EXPECT_DOUBLE_EQ(LearningRate(options, 0), 0.1);
  EXPECT_DOUBLE_EQ(LearningRate(options, 8), 0.9);
  EXPECT_DOUBLE_EQ(LearningRate(options, 9), 1);
  EXPECT_DOUBLE_EQ(LearningRate(options, 100), 0.1);
  for (int step = 10; step <= 100; ++step) {
    EXPECT_LT(LearningRate(options, step), LearningRate(options, step - 1));
  }
}

TEST(ExampleOrder, TakesEveryExampleOnceAnEpoch) {
  ExampleOrder order(3, 50);
  std::vector<int> first, second;
  for (int i = 0; i < 50; ++i) first.push_back(order.At(i));
  for (int i = 50; i < 100; ++i) second.push_back(order.At(i));
  EXPECT_EQ(std::set<int>(first.begin(), first.end()).size(), 50u);
  EXPECT_EQ(std::set<int>(second.begin(), second.end()).size(), 50u);
  EXPECT_NE(first, second);
  EXPECT_EQ(order.At(20), first[20]);  // whatever was asked before
}

}  // namespace
}  // namespace schemafill
