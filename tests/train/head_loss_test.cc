#include "train/head_loss.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "support/scripted.h"
#include "support/temp_dir.h"
#include "train/tiny_head.h"

namespace schemafill {
namespace {

using ::testing::ElementsAre;
using testing::kTinyWidth;
using testing::TempDir;
using testing::TinyTargetFile;

constexpr int kPrompt = 10;
constexpr int kFirstRow = 4;

// A sample of `tokens` tokens of the draft vocabulary of TinyTargetFile::NewHead.
HeadSample SampleOf(int tokens) {
  HeadSample sample{.request = 1,
                    .prompt_tokens = kPrompt,
                    .first_row = kFirstRow,
                    .rows = tokens - 2 - kFirstRow};
  for (int i = 0; i < tokens; ++i) sample.tokens.push_back(Token{5 + 2 * ((i * 7) % 100)});
  return sample;
}

torch::Tensor FeaturesOf(const HeadSample& sample) {
  torch::Generator generator = torch::make_generator<torch::CPUGeneratorImpl>(uint64_t{3});
  return torch::empty({sample.rows, 3 * kTinyWidth}).normal_(0, 1, generator);
}

class HeadLossTest : public ::testing::Test {
 protected:
  HeadLossTest() : file_(folder_.path("target.gguf")), net_(file_.NewHead()) {}

  Lesson LessonOf(const HeadSample& sample) const {
    const DraftIndex index(net_.config().vocabulary, file_.weights.embedding.size(0));
    return MakeLesson(net_, index, sample, FeaturesOf(sample));
  }

  std::map<std::string, double> ScoresOf(const HeadSample& sample) const {
    const torch::NoGradGuard no_grad;
    HeadScores scores;
    scores.Add(net_, LessonOf(sample), {});
    return scores.Values();
  }

  // Adds the gradients to the weights'.
  Tally Learn(const HeadSample& sample, const HeadLossOptions& options) {
    const Learned learned = LearnLesson(net_, LessonOf(sample), options);
    if (learned.loss.defined()) learned.loss.backward();
    return learned.tally;
  }

  TempDir folder_;
  TinyTargetFile file_;
  HeadNet net_;
};

// Row i has token i + 1 beside it and drafts token i + 2; the first root has the prompt's last
// token beside it.
TEST_F(HeadLossTest, LessonsPairRowsWithTheirTokens) {
  const HeadSample sample = SampleOf(20);
  const Lesson lesson = LessonOf(sample);
  EXPECT_EQ(lesson.text.first_position, kFirstRow);
  EXPECT_EQ(lesson.text.first_root, kPrompt - 2 - kFirstRow);
  ASSERT_EQ(lesson.text.tokens.size(0), sample.rows);
  for (int row = 0; row < sample.rows; ++row) {
    EXPECT_EQ(lesson.text.tokens[row].item<int64_t>(), Index(sample.tokens[kFirstRow + row + 1]));
    EXPECT_EQ(Index(net_.config().vocabulary[lesson.outputs[row].item<int64_t>()]),
              Index(sample.tokens[kFirstRow + row + 2]));
  }
}

// With the weights 1 and 0.5 of two steps, and the loss of each by itself.
TEST_F(HeadLossTest, StepsAreWeighted) {
  const Lesson lesson = LessonOf(SampleOf(20));
  const torch::NoGradGuard no_grad;
  const std::vector<torch::Tensor> states = net_.Chains(lesson.text, 2);
  double losses[2];
  for (int step = 0; step < 2; ++step) {
    const torch::Tensor outputs = lesson.outputs.slice(0, lesson.text.first_root + step);
    losses[step] =
        torch::nn::functional::cross_entropy(net_.Logits(states[step]), outputs).item<double>();
  }
  HeadScores scores;
  scores.Add(net_, lesson, {.rollout = 2, .decay = 0.5});
  EXPECT_NEAR(scores.Values().at("loss"), (losses[0] + 0.5 * losses[1]) / 1.5, 1e-5);
}

TEST_F(HeadLossTest, GradientsReachAllWeightsAndLowerTheLoss) {
  const HeadSample sample = SampleOf(24);
  const double before = ScoresOf(sample).at("loss");
  const Tally tally = Learn(sample, {});
  EXPECT_NEAR(tally.mean_loss(), before, 1e-4);
  EXPECT_EQ(tally.tokens, 24 - kPrompt);
  const torch::NoGradGuard no_grad;
  for (const auto& [name, weight] : net_.weights()) {
    ASSERT_TRUE(weight.grad().defined()) << name;
    EXPECT_GT(weight.grad().abs().max().item<double>(), 0) << name;
    weight.detach().sub_(weight.grad(), 0.01);
  }
  EXPECT_LT(ScoresOf(sample).at("loss"), before);
}

// The gradient by differences, through three steps of chains.
TEST_F(HeadLossTest, GradientsAreThoseOfTheLoss) {
  const HeadSample sample = SampleOf(16);
  Learn(sample, {});
  const torch::NoGradGuard no_grad;
  for (const char* name : {"fc.weight", "blk.0.attn_k.weight", "blk.0.attn_q.weight"}) {
    const torch::Tensor& weight = net_.weights().at(name);
    const torch::Tensor direction = weight.grad() / weight.grad().norm();
    const double step = 0.02;
    weight.detach().add_(direction, step);
    const double above = ScoresOf(sample).at("loss");
    weight.detach().add_(direction, -2 * step);
    const double below = ScoresOf(sample).at("loss");
    weight.detach().add_(direction, step);
    const double slope = weight.grad().norm().item<double>();
    EXPECT_NEAR((above - below) / (2 * step), slope, 0.05 * slope) << name;
  }
}

TEST_F(HeadLossTest, ALearntTextIsDraftedWhole) {
  const HeadSample sample = SampleOf(24);
  EXPECT_LT(ScoresOf(sample).at("accept_1"), 0.5);
  torch::optim::Adam adam(net_.Parameters(), torch::optim::AdamOptions(3e-3));
  for (int step = 0; step < 60; ++step) {
    adam.zero_grad();
    Learn(sample, {.rollout = 5});
    adam.step();
  }
  const std::map<std::string, double> scores = ScoresOf(sample);
  EXPECT_LT(scores.at("loss"), 0.1);
  for (int step = 1; step <= kScoredSteps; ++step) {
    EXPECT_EQ(scores.at("accept_" + std::to_string(step)), 1);
    EXPECT_EQ(scores.at("match_" + std::to_string(step)), 1);
  }
  EXPECT_EQ(scores.at("drafted"), kScoredSteps);
}

TEST_F(HeadLossTest, TokensOutsideOfTheVocabularyAreMissesWithoutLoss) {
  HeadSample sample = SampleOf(kPrompt + 2);
  sample.tokens[kPrompt] = sample.tokens[kPrompt + 1] = Token{6};  // even: not in it
  EXPECT_EQ(Learn(sample, {}).tokens, 0);
  const std::map<std::string, double> scores = ScoresOf(sample);
  EXPECT_EQ(scores.at("loss"), 0);
  EXPECT_EQ(scores.at("accept_1"), 0);
}

TEST(ChooseDraftVocabulary, MostFrequentFirst) {
  const auto tokenizer = JsonTokenizer();
  const auto token = [&](std::string_view text) { return tokenizer->Encode(text).at(0); };
  HeadSample sample{.prompt_tokens = 2};
  for (const char* text : {"city", "unit", "Paris", "true", "Paris", "London", "true", "Paris"}) {
    sample.tokens.push_back(token(text));
  }
  HeadSample held_out = sample;
  held_out.tokens.back() = token("false");
  const std::vector<HeadSample> samples = {sample, held_out};
  const std::vector<int> train = {0};
  // 256 bytes, the word of one byte, two end tokens, and what is left for words.
  const auto words = [&](int size) {
    std::vector<std::string> pieces;
    for (const Token chosen : ChooseDraftVocabulary(samples, train, *tokenizer, 259 + size)) {
      const std::string_view piece = tokenizer->Piece(chosen);
      if (piece.size() > 1) pieces.emplace_back(piece);
    }
    return pieces;
  };
  EXPECT_THAT(words(1), ElementsAre("Paris"));
  EXPECT_THAT(words(2), ElementsAre("true", "Paris"));
  EXPECT_THAT(words(3), ElementsAre("true", "Paris", "London"));
  EXPECT_EQ(words(100).size(), 5u);
  const std::vector<Token> all = ChooseDraftVocabulary(samples, train, *tokenizer, 1);
  EXPECT_EQ(all.size(), 259u);
  EXPECT_TRUE(std::ranges::is_sorted(all));
  EXPECT_TRUE(std::ranges::find(all, tokenizer->end_token()) != all.end());
}

}  // namespace
}  // namespace schemafill
