// The network against libllama on the same file and tokens.
#include "train/llama_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/llama/llama_model.h"
#include "support/exactness.h"
#include "support/temp_dir.h"
#include "support/tiny_gguf.h"

namespace schemafill {
namespace {

using ::testing::HasSubstr;
using testing::kMain;
using testing::TempDir;
using testing::TinyModelOptions;
using testing::TokensAt;

torch::Tensor Ids(const std::vector<Token>& tokens) {
  std::vector<int64_t> ids;
  for (const Token token : tokens) ids.push_back(Index(token));
  return torch::tensor(ids);
}

// libllama's logits of every token, [T, vocabulary].
torch::Tensor LogitsOf(TargetModel& target, const std::vector<Token>& tokens) {
  std::vector<Row> rows;
  for (int i = 0; i < static_cast<int>(tokens.size()); ++i) {
    rows.push_back({.token = tokens[i], .position = i, .sequences = {kMain}});
  }
  target.Forward(rows);
  std::vector<torch::Tensor> logits;
  for (int i = 0; i < static_cast<int>(rows.size()); ++i) {
    const std::span<const float> row = target.Logits(i);
    logits.push_back(torch::tensor(std::vector<float>(row.begin(), row.end())));
  }
  return torch::stack(logits);
}

// The difference relative to how far logits are spread.
double Distance(const torch::Tensor& a, const torch::Tensor& b) {
  return ((a - b).square().mean().sqrt() / b.std()).item<double>();
}

struct Case {
  const char* name;
  TinyModelOptions options;
};

class LlamaNetTest : public ::testing::TestWithParam<Case> {};

TEST_P(LlamaNetTest, GivesLibllamasLogits) {
  const torch::NoGradGuard no_grad;
  const TempDir folder;
  const std::string path = folder.path("m.gguf");
  testing::WriteTinyModel(path, GetParam().options);
  const auto target = LoadTarget({.path = path, .context_size = 256, .threads = 1});
  ASSERT_TRUE(target.ok()) << target.error().message;
  const Result<LlamaNet> net = LlamaNet::Load(path);
  ASSERT_TRUE(net.ok()) << net.error().message;

  const std::vector<Token> tokens = TokensAt(**target, 0, 40);
  const torch::Tensor expected = LogitsOf(**target, tokens);
  const torch::Tensor logits = net->Logits(net->Forward(Ids(tokens)));
  // What is left is libllama's Q8_0 rounding of keys (and of activations, for Q8_0 weights).
  EXPECT_LT(Distance(logits, expected), 0.03);
}

INSTANTIATE_TEST_SUITE_P(
    Models, LlamaNetTest,
    ::testing::Values(Case{"F32", {.layers = 3}}, Case{"Tied", {.layers = 3, .tied_output = true}},
                      Case{"Q8", {.weights = "Q8_0", .layers = 3}},
                      Case{"Rope", {.layers = 3, .fractions = {{"llama.rope.freq_base", 20.0f}}}}),
    [](const auto& info) { return std::string(info.param.name); });

// Positions count: what the test above would see if they were turned wrongly.
TEST(LlamaNet, AnotherRotaryBaseIsFurtherAway) {
  const torch::NoGradGuard no_grad;
  const TempDir folder;
  std::vector<torch::Tensor> logits;
  for (const float base : {20.0f, 10000.0f}) {
    testing::WriteTinyModel(folder.path("m.gguf"),
                            {.layers = 3, .fractions = {{"llama.rope.freq_base", base}}});
    const Result<LlamaNet> net = LlamaNet::Load(folder.path("m.gguf"));
    ASSERT_TRUE(net.ok()) << net.error().message;
    logits.push_back(net->Logits(net->Forward(torch::arange(20, 60))));
  }
  EXPECT_GT(Distance(logits[0], logits[1]), 0.06);
}

TEST(LlamaNet, RefusesOtherArchitectures) {
  const TempDir folder;
  testing::WriteTinyModel(folder.path("m.gguf"), {.architecture = "qwen2"});
  const Result<LlamaNet> net = LlamaNet::Load(folder.path("m.gguf"));
  ASSERT_FALSE(net.ok());
  EXPECT_THAT(net.error().message, HasSubstr("'qwen2'; adapters are trained for 'llama'"));
}

TEST(LlamaNet, NamesTheLinearMaps) {
  const TempDir folder;
  testing::WriteTinyModel(folder.path("m.gguf"), {.layers = 2});
  const Result<LlamaNet> net = LlamaNet::Load(folder.path("m.gguf"));
  ASSERT_TRUE(net.ok()) << net.error().message;
  const auto maps = net->LinearMaps();
  EXPECT_EQ(maps.size(), 14u);  // seven a layer
  EXPECT_EQ(maps.at("blk.1.ffn_down.weight"), (std::vector<int64_t>{256, 512}));
}

}  // namespace
}  // namespace schemafill
