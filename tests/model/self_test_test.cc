// The self-test itself, on the scripted model: it must notice a model whose rows depend on their
// company.
#include "model/llama/self_test.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "support/scripted.h"

namespace schemafill {
namespace {

using ::testing::HasSubstr;

// The scripted model, with logits changed where `is_off` says so of the number of rows in a
// forward.
class UnevenModel final : public TargetModel {
 public:
  explicit UnevenModel(std::function<bool(int rows)> is_off)
      : model_(JsonTokenizer(), ScriptedOptions{}), is_off_(std::move(is_off)) {}

  const ModelInfo& info() const override { return model_.info(); }
  const Tokenizer& tokenizer() const override { return model_.tokenizer(); }
  void SetFeatureLayers(std::span<const int> layers) override { model_.SetFeatureLayers(layers); }
  std::span<const float> Features(int layer, int row) const override {
    return model_.Features(layer, row);
  }
  void Prefill(std::span<const Token> tokens, int first, SequenceId sequence) override {
    model_.Prefill(tokens, first, sequence);
  }
  void Share(SequenceId from, SequenceId to, int first, int last) override {
    model_.Share(from, to, first, last);
  }
  void Drop(SequenceId sequence, int first, int last) override {
    model_.Drop(sequence, first, last);
  }

  void Forward(std::span<const Row> rows) override {
    model_.Forward(rows);
    rows_ = static_cast<int>(rows.size());
  }
  std::span<const float> Logits(int row) const override {
    const std::span<const float> logits = model_.Logits(row);
    if (!is_off_(rows_)) return logits;
    changed_.assign(logits.begin(), logits.end());
    changed_[3] += 0.5f;
    return changed_;
  }

  const ScriptedModel& model() const { return model_; }

 private:
  ScriptedModel model_;
  std::function<bool(int)> is_off_;
  int rows_ = 0;
  mutable std::vector<float> changed_;
};

TEST(SelfTest, PassesAnEvenModelAndLeavesItEmpty) {
  UnevenModel model([](int) { return false; });
  const SelfTestResult result = RunSelfTest(model, {});
  EXPECT_TRUE(result.equal);
  EXPECT_EQ(result.rows, 6);
  EXPECT_EQ(result.worst, 0);
  EXPECT_THAT(result.summary, HasSubstr("6 rows in a tree are bit for bit"));
  EXPECT_EQ(model.model().cells_used(), 0);
  EXPECT_EQ(model.model().violation(), "");
}

TEST(SelfTest, NoticesRowsThatDependOnTheirNumber) {
  UnevenModel model([](int rows) { return rows > 1; });
  const SelfTestResult result = RunSelfTest(model, {});
  EXPECT_FALSE(result.equal);
  EXPECT_FLOAT_EQ(result.worst, 0.5f);
  EXPECT_THAT(result.summary, HasSubstr("5 of 6 rows in a tree differ"));
  EXPECT_THAT(result.summary, HasSubstr("up to 0.5"));
}

// Some kernels change over at 8 rows.
TEST(SelfTest, TriesMoreThanEightRows) {
  UnevenModel model([](int rows) { return rows > 8; });
  EXPECT_FALSE(RunSelfTest(model, {}).equal);
}

TEST(SelfTest, SmallSizesWorkToo) {
  UnevenModel model([](int) { return false; });
  EXPECT_TRUE(RunSelfTest(model, {.prompt = 4, .path = 2}).equal);
  EXPECT_EQ(model.model().violation(), "");
}

}  // namespace
}  // namespace schemafill
