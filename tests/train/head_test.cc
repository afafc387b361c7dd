// From a target and requests to a head that loads beside it.
#include "train/head.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "support/temp_dir.h"
#include "train/tiny_head.h"

namespace schemafill {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TempDir;
using testing::TinyTargetFile;

class HeadTest : public ::testing::Test {
 protected:
  HeadTest() : file_(folder_.path("target.gguf")) {
    std::ofstream requests(folder_.path("requests.jsonl"));
    for (int i = 0; i < 5; ++i) {
      requests << R"({"messages": [{"role": "user", "content": "the user )" << i << "\"}]}\n";
    }
    options_ = {.target = file_.path,
                .requests = folder_.path("requests.jsonl"),
                .out = folder_.path("head.gguf"),
                .layers = {1, 2, 3},
                .prompt_rows = 8,
                .max_tokens = 12,
                .context_size = 256,
                .loop = {.steps = 12,
                         .batch = 2,
                         .warmup_steps = 2,
                         .peak_rate = 3e-3,
                         .seed = 1,
                         .threads = 1,
                         .score_every = 4}};
  }

  HeadOptions For(const TinyTargetFile& other) const {
    HeadOptions options = options_;
    options.target = other.path;
    return options;
  }

  std::string Error(const HeadOptions& options) {
    const std::atomic<bool> stop = false;
    const auto result = TrainHead(options, stop, {});
    return result.ok() ? "trained" : result.error().message;
  }

  TempDir folder_;
  TinyTargetFile file_;
  HeadOptions options_;
};

TEST_F(HeadTest, TrainsAHeadThatLoadsBesideItsTarget) {
  const std::atomic<bool> stop = false;
  std::vector<double> losses;
  int collected = 0;
  const HeadWatch watch = {
      .collecting = [&](const CollectProgress& progress) { collected = progress.done; },
      .scored =
          [&](int, const std::map<std::string, double>& scores) {
            losses.push_back(scores.at("loss"));
          }};
  const auto result = TrainHead(options_, stop, watch);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->finished);
  EXPECT_EQ(collected, 5);
  EXPECT_EQ(result->samples, 5);
  EXPECT_EQ(result->step, 12);
  EXPECT_EQ(losses.size(), 4u);  // at 0, 4, 8, 12
  EXPECT_LT(result->scores.at("loss"), losses.front());
  EXPECT_TRUE(result->scores.contains("accept_5"));
  EXPECT_TRUE(fs::exists(folder_.path("head.gguf.curve.jsonl")));

  const auto target = file_.Load();
  auto head = LoadHead({.path = options_.out}, *target);
  ASSERT_TRUE(head.ok()) << head.error().message;
  EXPECT_EQ((*head)->info().target_layers, options_.layers);
  const auto net = HeadNet::Load(options_.out, file_.weights.embedding);
  ASSERT_TRUE(net.ok());
  EXPECT_EQ(std::ssize(net->config().vocabulary), result->draft_vocabulary);
}

// Stopped while it makes samples, and while it trains, it goes on and ends with the same head.
TEST_F(HeadTest, AStoppedRunGoesOn) {
  std::atomic<bool> stop = false;
  HeadOptions whole = options_;
  whole.out = folder_.path("whole.gguf");
  ASSERT_TRUE(TrainHead(whole, stop, {}).ok());

  const HeadWatch stops_early = {
      .collecting = [&](const CollectProgress& progress) { stop = progress.done >= 2; }};
  auto result = TrainHead(options_, stop, stops_early);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_FALSE(result->finished);
  EXPECT_EQ(result->samples, 2);

  stop = false;
  const HeadWatch stops_later = {
      .training = [&](const LoopProgress& progress) { stop = progress.step >= 5; }};
  result = TrainHead(options_, stop, stops_later);
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_FALSE(result->finished);
  EXPECT_EQ(result->step, 5);
  EXPECT_FALSE(fs::exists(options_.out));

  stop = false;
  result = TrainHead(options_, stop, {});
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->finished);
  const auto resumed = HeadNet::Load(options_.out, file_.weights.embedding);
  const auto straight = HeadNet::Load(whole.out, file_.weights.embedding);
  ASSERT_TRUE(resumed.ok() && straight.ok());
  for (const auto& [name, weight] : straight->weights()) {
    EXPECT_TRUE(torch::allclose(weight, resumed->weights().at(name), 1e-3, 1e-3)) << name;
  }
}

TEST_F(HeadTest, WrongInputsAreNamed) {
  HeadOptions options = options_;
  options.target = folder_.Write("x.gguf", "x");
  EXPECT_THAT(Error(options), AllOf(HasSubstr("x.gguf"), HasSubstr("not a GGUF file")));
  options = options_;
  options.requests = folder_.Write("empty.jsonl", "\n");
  EXPECT_THAT(Error(options), AllOf(HasSubstr("empty.jsonl"), HasSubstr("has no requests")));
  options.requests =
      folder_.Write("one.jsonl", R"({"messages": [{"role": "user", "content": "the user"}]})");
  EXPECT_THAT(Error(options), HasSubstr("gives 1 samples"));
  options = options_;
  options.layers = {1, 2, 4};
  EXPECT_THAT(Error(options), HasSubstr("layer 4 is none of the target's, which are 0 to 3"));
  options.layers = {1, 2};
  EXPECT_THAT(Error(options), HasSubstr("three layers"));
  options = options_;
  options.loop.batch = 0;
  EXPECT_THAT(Error(options), HasSubstr("batch"));
  options = options_;
  options.out = folder_.path("no/head.gguf");
  EXPECT_THAT(Error(options), HasSubstr("check the path"));
}

TEST_F(HeadTest, SamplesOfATargetOfAnotherWidthAreRefused) {
  ASSERT_EQ(Error(options_), "trained");
  testing::TinyModelOptions wide = testing::TinyTarget();
  wide.embedding = 128;
  const TinyTargetFile other(folder_.path("wide.gguf"), wide);
  EXPECT_THAT(Error(For(other)),
              AllOf(HasSubstr("made for another target"), HasSubstr("--samples")));
}

TEST_F(HeadTest, TargetsWithoutFeaturesAreRefused) {
  testing::TinyModelOptions model = testing::TinyTarget();
  model.architecture = "qwen2";
  const TinyTargetFile other(folder_.path("qwen2.gguf"), model);
  EXPECT_THAT(Error(For(other)), AllOf(HasSubstr("'qwen2'"), HasSubstr("no hidden states")));
}

TEST_F(HeadTest, OtherArchitecturesGetAHead) {
  testing::TinyModelOptions model = testing::TinyTarget();
  model.architecture = "qwen3";
  model.numbers = {{"qwen3.attention.key_length", 16}, {"qwen3.attention.value_length", 16}};
  const TinyTargetFile other(folder_.path("qwen3.gguf"), model);
  ASSERT_EQ(Error(For(other)), "trained");
  const auto target = other.Load();
  EXPECT_TRUE(LoadHead({.path = options_.out}, *target).ok());
}

}  // namespace
}  // namespace schemafill
