// On the scripted target, whose features are a function of all tokens before.
#include "train/head_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "catalog/prompt.h"
#include "support/requests.h"
#include "support/scripted.h"
#include "support/temp_dir.h"

namespace schemafill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::TempDir;

constexpr const char* kTools =
    R"([{"type": "function", "function": {"name": "get_weather", "parameters":
        {"type": "object", "properties": {"city": {"type": "string"}}}}}])";
constexpr const char* kAnswer =
    R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]})";
constexpr int kPromptRows = 6;

class HeadDataTest : public ::testing::Test {
 protected:
  HeadDataTest() : model_(tokenizer_, {}) {
    for (int i = 0; i < 5; ++i) {
      requests_.push_back(ReadRequest(kTools, "Weather of Paris, number " + std::to_string(i)));
      model_.Script(BuildPrompt(requests_.back(), *tokenizer_).tokens, tokenizer_->Encode(kAnswer));
    }
  }

  HeadSamples Open() {
    auto samples =
        HeadSamples::Open(folder_.path("samples"), {.target = "x",
                                                    .width = model_.info().embedding_size,
                                                    .layers = {0, 1, 3},
                                                    .prompt_rows = kPromptRows});
    EXPECT_TRUE(samples.ok()) << samples.error().message;
    return std::move(samples.value());
  }

  Result<Collected> Collect(HeadSamples* samples, int most = 1000) {
    std::atomic<bool> stop = false;
    int calls = 0;
    return CollectSamples(model_, requests_, /*max_tokens=*/100, samples, stop,
                          [&](const CollectProgress& progress) {
                            EXPECT_EQ(progress.done, ++calls);
                            EXPECT_EQ(progress.total, std::ssize(requests_));
                            stop = calls >= most;
                          });
  }

  TempDir folder_;
  std::shared_ptr<const ScriptedTokenizer> tokenizer_ = JsonTokenizer();
  ScriptedModel model_;
  std::vector<Request> requests_;
};

TEST_F(HeadDataTest, SamplesAreTheTargetsOwnTextAndFeatures) {
  HeadSamples samples = Open();
  const auto collected = Collect(&samples);
  ASSERT_TRUE(collected.ok()) << collected.error().message;
  EXPECT_TRUE(collected->finished);
  EXPECT_EQ(model_.violation(), "");
  ASSERT_EQ(samples.samples().size(), requests_.size());
  for (int i = 0; i < std::ssize(requests_); ++i) {
    const HeadSample& sample = samples.samples()[i];
    std::vector<Token> tokens = BuildPrompt(requests_[i], *tokenizer_).tokens;
    EXPECT_EQ(sample.prompt_tokens, std::ssize(tokens));
    EXPECT_EQ(sample.first_row, std::ssize(tokens) - kPromptRows);
    for (const Token token : tokenizer_->Encode(kAnswer)) tokens.push_back(token);
    EXPECT_EQ(tokenizer_->Decode(sample.tokens), tokenizer_->Decode(tokens));
    EXPECT_EQ(sample.first_row + sample.rows, std::ssize(sample.tokens) - 2);

    ScriptedModel other(tokenizer_, {});
    other.SetFeatureLayers(samples.origin().layers);
    other.Prefill(sample.tokens, 0, SequenceId{0});
    const torch::Tensor features = samples.Features(i);
    for (int row = 0; row < sample.rows; ++row) {
      for (int layer = 0; layer < 3; ++layer) {
        const std::span<const float> expected =
            other.Features(samples.origin().layers[layer], sample.first_row + row);
        for (int k = 0; k < std::ssize(expected); ++k) {
          EXPECT_NEAR(features[row][layer * std::ssize(expected) + k].item<float>(), expected[k],
                      1e-2 * std::max(1.0f, std::abs(expected[k])));
        }
      }
    }
  }
}

TEST_F(HeadDataTest, AStoppedRunGoesOnWhereItStopped) {
  {
    HeadSamples samples = Open();
    const auto collected = Collect(&samples, /*most=*/2);
    ASSERT_TRUE(collected.ok());
    EXPECT_FALSE(collected->finished);
    EXPECT_EQ(samples.samples().size(), 2u);
  }
  HeadSamples samples = Open();
  const int forwards = model_.forwards();
  ASSERT_TRUE(Collect(&samples)->finished);
  EXPECT_EQ(samples.samples().size(), requests_.size());
  EXPECT_GT(model_.forwards(), forwards);
  std::vector<uint64_t> hashes;
  for (const HeadSample& sample : samples.samples()) hashes.push_back(sample.request);
  std::ranges::sort(hashes);
  EXPECT_EQ(std::ranges::unique(hashes).size(), 0u);
}

TEST_F(HeadDataTest, WhatCantBeLearntIsCounted) {
  requests_.push_back(requests_[0]);
  requests_.push_back(ReadRequest(kTools, std::string(5000, 'x')));
  HeadSamples samples = Open();
  const auto collected = Collect(&samples);
  ASSERT_TRUE(collected.ok()) << collected.error().message;
  EXPECT_TRUE(collected->finished);
  EXPECT_EQ(collected->repeated, 1);
  EXPECT_EQ(collected->too_long, 1);
  EXPECT_EQ(samples.samples().size(), 5u);
}

// A request's own temperature would give another text than the one that greedy drafting meets.
TEST_F(HeadDataTest, TheRequestsSamplingIsIgnored) {
  HeadSamples samples = Open();
  requests_[0].temperature = 2;
  requests_[0].max_tokens = 3;
  ASSERT_TRUE(Collect(&samples).ok());
  const HeadSample& sample = samples.samples()[0];
  EXPECT_EQ(tokenizer_->Decode(std::span(sample.tokens).subspan(sample.prompt_tokens)), kAnswer);
}

TEST(ReadRequests, TakesOpenAiBodies) {
  const TempDir folder;
  const auto requests = ReadRequests(folder.Write("r.jsonl", R"(
{"messages": [{"role": "user", "content": "Hi"}], "answer": "is ignored"}

{"id": "a", "messages": [{"role": "user", "content": "Hi"}], "tools": []}
)"));
  ASSERT_TRUE(requests.ok()) << requests.error().message;
  EXPECT_EQ(requests->size(), 2u);
}

TEST(ReadRequests, ErrorsNameFileAndLine) {
  const TempDir folder;
  const auto error = [&](const std::string& content) {
    const auto requests = ReadRequests(folder.Write("r.jsonl", content));
    return requests.ok() ? "read" : requests.error().message;
  };
  EXPECT_THAT(error(""), AllOf(HasSubstr("r.jsonl"), HasSubstr("has no requests")));
  EXPECT_THAT(error("{\"messages\": [{\"role\": \"user\", \"content\": \"\"}]}\n\n{\n"),
              HasSubstr("r.jsonl: line 3"));
  EXPECT_THAT(error("{}"), AllOf(HasSubstr("line 1"), HasSubstr("messages")));
  EXPECT_THAT(ReadRequests(folder.path("no")).error().message, HasSubstr("check the path"));
}

TEST(DefaultTargetLayers, AreThePapers) {
  EXPECT_EQ(DefaultTargetLayers(36), (std::vector<int>{2, 18, 33}));
  EXPECT_EQ(DefaultTargetLayers(32), (std::vector<int>{2, 16, 29}));
  EXPECT_EQ(DefaultTargetLayers(30), (std::vector<int>{2, 15, 27}));
  for (int layers = 1; layers < 8; ++layers) {
    for (const int layer : DefaultTargetLayers(layers)) {
      EXPECT_GE(layer, 0);
      EXPECT_LT(layer, layers);
    }
  }
}

TEST(SplitSamples, IsByRequestAlone) {
  std::vector<HeadSample> samples(2000);
  for (size_t i = 0; i < samples.size(); ++i) samples[i].request = i;
  const SampleSplit split = SplitSamples(samples);
  EXPECT_EQ(split.train.size() + split.held_out.size(), samples.size());
  EXPECT_NEAR(static_cast<double>(split.held_out.size()), 160, 40);
  const SampleSplit half = SplitSamples(std::span(samples).first(1000));
  for (size_t i = 0; i < half.held_out.size(); ++i) EXPECT_EQ(half.held_out[i], split.held_out[i]);
}

TEST(SplitSamples, BothSidesHaveOne) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<HeadSample> samples(2);
    samples[0].request = seed;
    samples[1].request = seed + 1000;
    const SampleSplit split = SplitSamples(samples);
    EXPECT_EQ(split.train.size(), 1u);
    EXPECT_EQ(split.held_out.size(), 1u);
  }
}

}  // namespace
}  // namespace schemafill
