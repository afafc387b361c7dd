// An EAGLE-3 head beside a tiny target, and the heads that don't fit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "model/llama/llama_model.h"
#include "support/exactness.h"
#include "support/temp_dir.h"
#include "support/tiny_gguf.h"

namespace schemafill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::kMain;
using testing::TempDir;
using testing::TinyHeadOptions;
using testing::TinyModelOptions;
using testing::TokensAt;

constexpr int kWidth = 256;

class LlamaHeadTest : public ::testing::Test {
 protected:
  void LoadTargetOf(const TinyModelOptions& options) {
    testing::WriteTinyModel(folder_.path("m.gguf"), options);
    auto loaded = LoadTarget({.path = folder_.path("m.gguf"), .context_size = 512, .threads = 1});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    target_ = std::move(loaded.value());
  }

  Result<std::unique_ptr<DraftHead>> LoadHeadOf(const TinyHeadOptions& options) {
    testing::WriteTinyHead(folder_.path("h.gguf"), folder_.path("m.gguf"), options);
    return LoadHead({.path = folder_.path("h.gguf")}, *target_);
  }

  // The features of `count` prompt tokens, fused: [count, kWidth].
  std::vector<float> FusedPrompt(DraftHead& head, int count) {
    target_->SetFeatureLayers(std::vector<int>{0, 1});
    target_->Prefill(TokensAt(*target_, 0, count), 0, kMain);
    std::vector<float> features;
    for (int row = 0; row < count; ++row)
      AppendFeatures(*target_, head.info().target_layers, row, &features);
    const std::span<const float> fused = head.Fuse(features, count);
    return {fused.begin(), fused.end()};
  }

  static std::span<const float> RowOf(const std::vector<float>& rows, int row) {
    return std::span(rows).subspan(static_cast<size_t>(row) * kWidth, kWidth);
  }

  TempDir folder_;
  std::unique_ptr<TargetModel> target_;
};

TEST_F(LlamaHeadTest, DescribesItself) {
  LoadTargetOf({});
  auto head = LoadHeadOf({});
  ASSERT_TRUE(head.ok()) << head.error().message;
  const HeadInfo& info = (*head)->info();
  EXPECT_EQ(info.target_layers, (std::vector<int>{0, 1, 1}));
  EXPECT_EQ(info.target_embedding_size, kWidth);
  EXPECT_EQ(info.embedding_size, kWidth);
  EXPECT_EQ(info.max_sequences, target_->info().max_sequences);
  EXPECT_GE(info.max_rows, 64);
}

TEST_F(LlamaHeadTest, FusesEachRowByItselfHoweverMany) {
  LoadTargetOf({});
  auto head = LoadHeadOf({});
  ASSERT_TRUE(head.ok()) << head.error().message;
  const int count = 300;  // more than the head takes at once
  const std::vector<float> fused = FusedPrompt(**head, count);
  ASSERT_EQ(fused.size(), static_cast<size_t>(count) * kWidth);
  std::vector<float> features;
  AppendFeatures(*target_, (*head)->info().target_layers, 222, &features);
  const std::span<const float> alone = (*head)->Fuse(features, 1);
  for (int i = 0; i < kWidth; ++i) EXPECT_NEAR(alone[i], RowOf(fused, 222)[i], 1e-4);
}

TEST_F(LlamaHeadTest, StepsAlongATree) {
  LoadTargetOf({});
  auto loaded = LoadHeadOf({.draft_vocabulary = 100, .first_target_token = 7});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  DraftHead& head = **loaded;
  const int count = 20;
  const std::vector<float> fused = FusedPrompt(head, count);

  std::vector<HeadRow> prompt;
  for (int i = 0; i + 1 < count; ++i) {
    const Row row{testing::TokenAt(*target_, i + 1), i, {kMain}, /*wants_logits=*/false};
    prompt.push_back({row, RowOf(fused, i)});
  }
  head.Step(prompt);
  EXPECT_THROW(head.Logits(0), InternalError);

  head.Share(kMain, SequenceId{1}, 0, -1);
  head.Share(kMain, SequenceId{2}, 0, -1);
  const HeadRow root{{Token{40}, count - 1, {kMain, SequenceId{1}, SequenceId{2}}},
                     RowOf(fused, count - 1)};
  head.Step({&root, 1});
  const std::span<const float> logits = head.Logits(0);
  ASSERT_EQ(logits.size(), static_cast<size_t>(target_->info().vocab_size));
  for (int token = 0; token < target_->info().vocab_size; ++token) {
    EXPECT_EQ(std::isfinite(logits[token]), token >= 7 && token < 107) << token;
  }
  const std::vector<float> state(head.State(0).begin(), head.State(0).end());
  ASSERT_EQ(state.size(), static_cast<size_t>(kWidth));

  // Two equal siblings and a different one.
  std::vector<HeadRow> siblings;
  for (int branch = 0; branch < 3; ++branch) {
    siblings.push_back({{Token{branch == 2 ? 51 : 50}, count, {SequenceId{branch}}}, state});
  }
  head.Step(siblings);
  EXPECT_TRUE(testing::SameBits(head.Logits(0), head.Logits(1)));
  EXPECT_FALSE(testing::SameBits(head.Logits(0), head.Logits(2)));
  EXPECT_FALSE(testing::SameBits(head.State(0), head.State(2)));
  EXPECT_THROW(head.State(3), InternalError);

  // Back to the prompt: the same step again.
  for (int branch = 0; branch < 3; ++branch) head.Drop(SequenceId{branch}, count - 1, -1);
  head.Step({&root, 1});
  EXPECT_TRUE(testing::SameBits(head.State(0), state));
}

TEST_F(LlamaHeadTest, BorrowsWhatItLacksFromTheTarget) {
  LoadTargetOf({.weights = "Q8_0", .tied_output = true});
  for (const bool own_embedding : {false, true}) {
    auto head =
        LoadHeadOf({.draft_vocabulary = 0, .own_embedding = own_embedding, .own_output = false});
    ASSERT_TRUE(head.ok()) << head.error().message;
    const std::vector<float> fused = FusedPrompt(**head, 4);
    const HeadRow root{{Token{40}, 0, {kMain}}, RowOf(fused, 0)};
    (*head)->Step({&root, 1});
    for (const float logit : (*head)->Logits(0)) EXPECT_TRUE(std::isfinite(logit));
    target_->Drop(kMain, 0, -1);
  }
}

TEST_F(LlamaHeadTest, RulesAreChecked) {
  LoadTargetOf({});
  auto loaded = LoadHeadOf({});
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  DraftHead& head = **loaded;
  const std::vector<float> feature(kWidth, 0.1f);
  EXPECT_THROW(head.Fuse(feature, 1), InternalError);
  const HeadRow short_feature{{Token{40}, 0, {kMain}}, std::span(feature).first(8)};
  EXPECT_THROW(head.Step({&short_feature, 1}), InternalError);
  const HeadRow other_sequence{{Token{40}, 0, {SequenceId{head.info().max_sequences}}}, feature};
  EXPECT_THROW(head.Step({&other_sequence, 1}), InternalError);
  const HeadRow gap{{Token{40}, 5, {kMain}}, feature};
  const HeadRow start{{Token{40}, 0, {kMain}}, feature};
  head.Step({&start, 1});
  EXPECT_THROW(head.Step({&gap, 1}), InternalError);
}

struct Misfit {
  const char* name;
  TinyHeadOptions head;
  std::vector<std::string> words;
};

class LlamaHeadMisfits : public LlamaHeadTest, public ::testing::WithParamInterface<Misfit> {};

TEST_P(LlamaHeadMisfits, AreRefusedWithBothShapes) {
  LoadTargetOf({});
  auto head = LoadHeadOf(GetParam().head);
  ASSERT_FALSE(head.ok());
  for (const std::string& word : GetParam().words)
    EXPECT_THAT(head.error().message, HasSubstr(word));
  EXPECT_THAT(head.error().message, HasSubstr("h.gguf"));
}

INSTANTIATE_TEST_SUITE_P(
    Heads, LlamaHeadMisfits,
    ::testing::Values(Misfit{"HiddenSize",
                             {.target_hidden = 512},
                             {"hidden states of 512 numbers, the target's have 256"}},
                      Misfit{"Layers",
                             {.target_layers = {0, 1, 2}},
                             {"reads layers 0, 1, 2", "has layers 0 to 1"}},
                      Misfit{"NegativeLayer",
                             {.target_layers = {-1, 0, 1}},
                             {"reads layers -1, 0, 1", "has layers 0 to 1"}},
                      Misfit{"TwoLayers", {.target_layers = {0, 1}}, {"2 target layers, not 3"}},
                      Misfit{"BorrowedEmbedding",
                             {.embedding = 128},
                             {"embeddings of 256 numbers, its own have 128"}},
                      Misfit{"MapBeyondVocabulary",
                             {.draft_vocabulary = 100, .first_target_token = 200},
                             {"d2t has token 267", "267 tokens"}},
                      Misfit{"NegativeMap",
                             {.draft_vocabulary = 100, .first_target_token = -1},
                             {"d2t has token -1"}},
                      Misfit{"MapWithoutOutput",
                             {.draft_vocabulary = 100, .own_output = false},
                             {"100 entries for 267 outputs"}}),
    [](const auto& test) { return std::string(test.param.name); });

TEST_F(LlamaHeadTest, OtherFilesAreRefused) {
  LoadTargetOf({});
  const auto error = [&](const std::string& path) {
    auto head = LoadHead({.path = path}, *target_);
    return head.ok() ? std::string("loaded") : head.error().message;
  };
  EXPECT_THAT(
      error(folder_.path("m.gguf")),
      AllOf(HasSubstr("architecture 'llama', not an EAGLE-3 head"), HasSubstr("train-head")));
  EXPECT_THAT(error(folder_.path("no.gguf")), HasSubstr("head file"));
  EXPECT_THAT(error(folder_.Write("x.gguf", "x")), HasSubstr("not a GGUF file"));
  testing::WriteTinyHead(folder_.path("h.gguf"), folder_.path("m.gguf"), {});
  std::filesystem::resize_file(folder_.path("h.gguf"),
                               std::filesystem::file_size(folder_.path("h.gguf")) - 5000);
  EXPECT_THAT(error(folder_.path("h.gguf")), HasSubstr("is cut off"));
}

TEST_F(LlamaHeadTest, AnotherVocabularyIsRefused) {
  LoadTargetOf({});
  TinyModelOptions other;
  other.vocabulary = testing::TinyVocabulary::kSentencePiece;
  testing::WriteTinyModel(folder_.path("other.gguf"), other);
  testing::WriteTinyHead(folder_.path("h.gguf"), folder_.path("other.gguf"), {});
  auto head = LoadHead({.path = folder_.path("h.gguf")}, *target_);
  ASSERT_FALSE(head.ok());
  EXPECT_THAT(head.error().message,
              AllOf(HasSubstr("vocabulary has"), HasSubstr("the target's 267")));
}

// libllama's graph of Qwen2 gives no hidden states, and ends the process when asked.
TEST_F(LlamaHeadTest, TargetsWithoutFeaturesAreRefused) {
  LoadTargetOf({.architecture = "qwen2"});
  auto head = LoadHeadOf({});
  ASSERT_FALSE(head.ok());
  EXPECT_THAT(head.error().message, AllOf(HasSubstr("'qwen2'"), HasSubstr("run without --head")));
  EXPECT_THROW(target_->SetFeatureLayers(std::vector<int>{0}), InternalError);
}

// Features are a row a row, with or without logits, and don't change with companions or other rows.
TEST_F(LlamaHeadTest, FeaturesOfARowDontDependOnItsCompany) {
  for (const char* weights : {"F32", "Q8_0"}) {
    LoadTargetOf({.weights = weights});
    const std::vector<int> layers = {0, 1};
    target_->SetFeatureLayers(layers);
    const std::vector<Token> tokens = TokensAt(*target_, 0, 12);
    target_->Prefill(tokens, 0, kMain);
    std::vector<std::vector<float>> expected;
    for (int row = 0; row < 12; ++row) {
      expected.emplace_back(target_->Features(1, row).begin(), target_->Features(1, row).end());
    }
    target_->Drop(kMain, 0, -1);
    for (int i = 0; i < 12; ++i) {
      const Row row{tokens[i], i, {kMain}, /*wants_logits=*/i % 2 == 0};
      target_->Forward({&row, 1});
      EXPECT_TRUE(testing::SameBits(target_->Features(1, 0), expected[i])) << weights << " " << i;
      EXPECT_THROW(target_->Features(1, 1), InternalError);
    }
    target_->SetFeatureLayers({});
    EXPECT_THROW(target_->Features(1, 0), InternalError);
  }
}

}  // namespace
}  // namespace schemafill
