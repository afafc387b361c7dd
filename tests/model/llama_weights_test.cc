// Every weight type and architecture that the rules know, with tiny models: rows are the same bits
// in any company. (What the rules don't make exact, the self-test must notice; llama_model_test.cc
// has the real model.)
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/llama/llama_model.h"
#include "support/exactness.h"
#include "support/temp_dir.h"
#include "support/tiny_gguf.h"

namespace schemafill {
namespace {

using testing::CopyLogits;
using testing::DecodeAlone;
using testing::kMain;
using testing::LogitsRow;
using testing::SameBits;
using testing::TakeIn;
using testing::TempDir;
using testing::TokenAt;
using testing::TokensAt;

struct Case {
  const char* name;
  testing::TinyModelOptions model;
  int min_rows;  // that the port must keep to
};

class LlamaWeights : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    testing::WriteTinyModel(folder_.path("m.gguf"), GetParam().model);
    auto loaded = LoadTarget({.path = folder_.path("m.gguf"), .context_size = 1024, .threads = 1});
    ASSERT_TRUE(loaded.ok()) << loaded.error().message;
    target_ = std::move(loaded.value());
  }

  TempDir folder_;
  std::unique_ptr<TargetModel> target_;
};

TEST_P(LlamaWeights, AreBitExactByTheSelfTest) {
  EXPECT_EQ(target_->info().guarantee, Guarantee::kBitExact) << target_->info().guarantee_reason;
  EXPECT_EQ(target_->info().min_rows, GetParam().min_rows);
  EXPECT_EQ(target_->info().max_rows, 512 - (GetParam().min_rows - 1));
  EXPECT_EQ(target_->info().context_size, 1024 - (GetParam().min_rows - 1));
  EXPECT_EQ(target_->info().architecture, GetParam().model.architecture);
}

// Beyond 512 cells, where the CPU's attention would change over with other cache types.
TEST_P(LlamaWeights, TreeRowsEqualPlainDecoding) {
  const int start = 600;
  const std::vector<Token> path = TokensAt(*target_, start, 20);
  TakeIn(*target_, TokensAt(*target_, 0, start));
  const std::vector<LogitsRow> expected = DecodeAlone(*target_, path, start);
  target_->Drop(kMain, start, -1);
  for (int branch = 1; branch < 5; ++branch) target_->Share(kMain, SequenceId{branch}, 0, start);
  std::vector<Row> rows;
  for (int i = 0; i < 20; ++i) rows.push_back({path[i], start + i, {kMain}});
  for (int branch = 1; branch < 5; ++branch) {
    for (int i = 0; i < 17; ++i) {
      rows.push_back({TokenAt(*target_, start + i, branch), start + i, {SequenceId{branch}}});
    }
  }
  target_->Forward(rows);
  for (int i = 0; i < 20; ++i)
    EXPECT_TRUE(SameBits(expected[i], target_->Logits(i))) << "row " << i;
}

// libllama computes the last layer only for rows with output.
TEST_P(LlamaWeights, ARowAloneInItsOutputIsTheSame) {
  const int start = 40;
  const std::vector<Token> path = TokensAt(*target_, start, 6);
  TakeIn(*target_, TokensAt(*target_, 0, start));
  const std::vector<LogitsRow> expected = DecodeAlone(*target_, path, start);
  target_->Drop(kMain, start, -1);
  std::vector<Row> rows;
  for (int i = 0; i < 6; ++i)
    rows.push_back({path[i], start + i, {kMain}, /*wants_logits=*/i == 5});
  target_->Forward(rows);
  EXPECT_TRUE(SameBits(expected[5], target_->Logits(5)));
}

TEST_P(LlamaWeights, PromptCellsDontDependOnTheCut) {
  const int length = 560;
  const std::vector<Token> prompt = TokensAt(*target_, 0, length);
  const Token next = TokenAt(*target_, length);
  TakeIn(*target_, prompt);
  const std::vector<LogitsRow> expected = DecodeAlone(*target_, {&next, 1}, length);
  for (const int chunk : {7, 300, 559}) {  // 559 leaves a lone token at the end
    TakeIn(*target_, prompt, chunk);
    EXPECT_TRUE(SameBits(expected[0], DecodeAlone(*target_, {&next, 1}, length)[0]))
        << "chunks of " << chunk;
  }
}

// The companions' cells are no part of the context that the model shows.
TEST_P(LlamaWeights, TheWholeContextCanBeUsed) {
  const int cells = target_->info().context_size;
  TakeIn(*target_, TokensAt(*target_, 0, cells - 1));
  const Row last{TokenAt(*target_, cells - 1), cells - 1, {kMain}};
  target_->Forward({&last, 1});
  const Row beyond{TokenAt(*target_, cells), cells, {kMain}};
  EXPECT_THROW(target_->Forward({&beyond, 1}), InternalError);
}

testing::TinyModelOptions Model(const char* weights, const char* architecture = "llama") {
  testing::TinyModelOptions options;
  options.architecture = architecture;
  options.weights = weights;
  return options;
}

testing::TinyModelOptions Experts(const char* weights) {
  testing::TinyModelOptions options = Model(weights);
  options.experts = 4;
  return options;
}

testing::TinyModelOptions OneKeyHead() {
  testing::TinyModelOptions options = Model("Q8_0");
  options.kv_heads = 1;
  return options;
}

testing::TinyModelOptions OddHeads() {
  testing::TinyModelOptions options = Model("Q8_0");
  options.heads = options.kv_heads = 16;  // of 16 numbers: half of a Q8_0 block
  return options;
}

INSTANTIATE_TEST_SUITE_P(
    Types, LlamaWeights,
    ::testing::Values(
        Case{"Q8_0", Model("Q8_0"), 1}, Case{"Q4_0", Model("Q4_0"), 1},
        Case{"Q4_1", Model("Q4_1"), 1}, Case{"Q5_0", Model("Q5_0"), 1},
        Case{"Q5_1", Model("Q5_1"), 1}, Case{"MXFP4", Model("MXFP4"), 1},
        Case{"F32", Model("F32"), 2}, Case{"F16", Model("F16"), 2}, Case{"BF16", Model("BF16"), 2},
        Case{"Q2_K", Model("Q2_K"), 1}, Case{"Q3_K", Model("Q3_K"), 1},
        Case{"Q4_K", Model("Q4_K"), 1}, Case{"Q5_K", Model("Q5_K"), 1},
        Case{"Q6_K", Model("Q6_K"), 1}, Case{"IQ4_XS", Model("IQ4_XS"), 1},
        // Not in the rules: the self-test finds that it needs a companion.
        Case{"IQ4_NL", Model("IQ4_NL"), 2}, Case{"Qwen2", Model("Q8_0", "qwen2"), 1},
        Case{"Qwen2F16", Model("F16", "qwen2"), 2}, Case{"Qwen3", Model("Q8_0", "qwen3"), 1},
        Case{"Qwen3Q4_K", Model("Q4_K", "qwen3"), 1}, Case{"OneKeyHead", OneKeyHead(), 2},
        Case{"OddHeads", OddHeads(), 1},
        // The router's weights are floats.
        Case{"ExpertsQ8_0", Experts("Q8_0"), 2}, Case{"ExpertsQ4_0", Experts("Q4_0"), 2},
        Case{"ExpertsQ4_K", Experts("Q4_K"), 2}),
    [](const auto& test) { return std::string(test.param.name); });

}  // namespace
}  // namespace schemafill
