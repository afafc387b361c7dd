// The network against libllama, which runs what it saves.
#include "train/head_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>

#include "support/exactness.h"
#include "train/tiny_head.h"

namespace schemafill {
namespace {

using ::testing::HasSubstr;
using testing::kMain;
using testing::kTinyWidth;
using testing::TempDir;
using testing::TinyTargetFile;

torch::Tensor AsTensor(std::span<const float> values) {
  return torch::from_blob(const_cast<float*>(values.data()), {std::ssize(values)}).clone();
}

double Difference(const torch::Tensor& a, const torch::Tensor& b) {
  return (a - b).abs().max().item<double>();
}

class HeadNetTest : public ::testing::Test {
 protected:
  HeadNetTest() : file_(folder_.path("target.gguf")), target_(file_.Load()) {}

  // The head as libllama reads it, and the same weights, as rounded by saving, in our network.
  void SaveAndLoad(const HeadNet& head, HeadStorage storage = HeadStorage::kHalf) {
    const Status saved = head.Save(path_, *file_.header, /*prompt_rows=*/64, storage);
    ASSERT_TRUE(saved.ok()) << saved.error().message;
    auto port = LoadHead({.path = path_}, *target_);
    ASSERT_TRUE(port.ok()) << port.error().message;
    port_ = std::move(port.value());
    auto net = HeadNet::Load(path_, file_.weights.embedding);
    ASSERT_TRUE(net.ok()) << net.error().message;
    net_ = std::make_unique<HeadNet>(std::move(net.value()));
  }

  // Features of the target for `count` tokens at `first` and up, [count, 3 * width].
  std::vector<float> Features(int first, int count) {
    target_->SetFeatureLayers(port_->info().target_layers);
    target_->Prefill(testing::TokensAt(*target_, 0, first + count), 0, kMain);
    std::vector<float> features;
    for (int row = first; row < first + count; ++row) {
      for (const int layer : port_->info().target_layers) {
        const std::span<const float> one = target_->Features(layer, row);
        features.insert(features.end(), one.begin(), one.end());
      }
    }
    return features;
  }

  // A known text of `count` rows from `first` on.
  HeadNet::Text TextOf(const std::vector<float>& features, int first, int count) const {
    HeadNet::Text text;
    text.fused = net_->Fuse(AsTensor(features).view({count, -1}));
    std::vector<int64_t> tokens;
    for (int i = 0; i < count; ++i) {
      tokens.push_back(Index(testing::TokenAt(*target_, first + 1 + i)));
    }
    text.tokens = torch::tensor(tokens, torch::kInt64);
    text.first_position = first;
    return text;
  }

  // Logits and state of the port's row against row `row` of our states.
  void ExpectSame(int port_row, const torch::Tensor& states, int64_t row) const {
    EXPECT_LT(Difference(AsTensor(port_->State(port_row)), states[row]), kTolerance);
    const std::span<const float> logits = port_->Logits(port_row);
    const torch::Tensor ours = net_->Logits(states.slice(0, row, row + 1))[0];
    const std::vector<Token>& vocabulary = net_->config().vocabulary;
    std::vector<bool> drafted(logits.size(), false);
    for (size_t i = 0; i < vocabulary.size(); ++i) {
      EXPECT_NEAR(logits[Index(vocabulary[i])], ours[static_cast<int64_t>(i)].item<float>(),
                  kTolerance);
      drafted[Index(vocabulary[i])] = true;
    }
    for (size_t token = 0; token < logits.size(); ++token) {
      EXPECT_EQ(std::isfinite(logits[token]), drafted[token]) << token;
    }
  }

  // States are around 1; libllama keeps keys and values, and multiplies, in F16.
  static constexpr double kTolerance = 0.02;

  TempDir folder_;
  std::string path_ = folder_.path("head.gguf");
  TinyTargetFile file_;
  std::unique_ptr<TargetModel> target_;
  std::unique_ptr<DraftHead> port_;
  std::unique_ptr<HeadNet> net_;
};

TEST_F(HeadNetTest, FusesAsLibllama) {
  SaveAndLoad(file_.NewHead());
  const std::vector<float> features = Features(0, 9);
  const torch::Tensor ours = net_->Fuse(AsTensor(features).view({9, 3 * kTinyWidth}));
  const torch::Tensor theirs = AsTensor(port_->Fuse(features, 9)).view({9, kTinyWidth});
  EXPECT_LT(Difference(ours, theirs), kTolerance);
  EXPECT_GT(ours.abs().max().item<double>(), 0.5);
}

// Every root's chain, step by step, as a drafter runs it: the text's rows up to the root, the root,
// then rows that take their parent's state. The text doesn't begin at position 0.
TEST_F(HeadNetTest, ChainsAreLibllamasSteps) {
  const torch::NoGradGuard no_grad;
  const int first = 20;
  const int count = 12;
  const int root = 8;
  const int steps = 4;
  SaveAndLoad(file_.NewHead());
  const std::vector<float> features = Features(first, count);
  HeadNet::Text text = TextOf(features, first, count);
  text.first_root = root;
  const std::vector<torch::Tensor> states = net_->Chains(text, steps);
  ASSERT_EQ(states.size(), static_cast<size_t>(steps));
  const std::span<const float> fused_span = port_->Fuse(features, count);
  const std::vector<float> fused(fused_span.begin(), fused_span.end());
  for (int start = root; start < count; ++start) {
    port_->Drop(kMain, 0, -1);
    const auto token = [&](int row) { return testing::TokenAt(*target_, first + 1 + row); };
    std::vector<HeadRow> rows;
    for (int i = 0; i <= start; ++i) {
      rows.push_back(
          {{token(i), first + i, {kMain}}, std::span(fused).subspan(i * kTinyWidth, kTinyWidth)});
    }
    port_->Step(rows);
    int port_row = start;
    for (int step = 0; step < steps && start + step < count; ++step) {
      SCOPED_TRACE(::testing::Message() << "root " << start << " step " << step);
      ASSERT_EQ(states[step].size(0), count - root - step);
      ExpectSame(port_row, states[step], start - root);
      const std::vector<float> state(port_->State(port_row).begin(), port_->State(port_row).end());
      const HeadRow next{{token(start + step + 1), first + start + step + 1, {kMain}}, state};
      port_->Step({&next, 1});
      port_row = 0;
    }
  }
}

TEST_F(HeadNetTest, ChainsEndWithTheText) {
  SaveAndLoad(file_.NewHead());
  HeadNet::Text text = TextOf(Features(0, 5), 0, 5);
  text.first_root = 3;
  EXPECT_EQ(net_->Chains(text, 4).size(), 2u);
  text.first_root = 5;
  EXPECT_THROW(net_->Chains(text, 1), InternalError);
}

TEST_F(HeadNetTest, SavingAndLoadingKeepsAllButRounding) {
  for (const HeadStorage storage : {HeadStorage::kHalf, HeadStorage::kQ8}) {
    const HeadNet head = file_.NewHead();
    SaveAndLoad(head, storage);
    EXPECT_EQ(net_->config().vocabulary, head.config().vocabulary);
    EXPECT_EQ(net_->config().target_layers, head.config().target_layers);
    EXPECT_EQ(port_->info().target_layers, head.config().target_layers);
    for (const auto& [name, weight] : head.weights()) {
      const double most = weight.abs().max().item<double>();
      EXPECT_LT(Difference(weight, net_->weights().at(name)), most * 0.01) << name;
    }
  }
  const GgufHeader header = std::move(GgufHeader::Read("head", path_).value());
  EXPECT_EQ(header.Integer("schemafill.prompt_rows"), 64);
  EXPECT_EQ(header.FindTensor("output.weight")->type, GGML_TYPE_Q8_0);
  EXPECT_EQ(header.FindTensor("output_norm.weight")->type, GGML_TYPE_F32);
}

TEST_F(HeadNetTest, StartsFromTheTargetsOutput) {
  const HeadNet head = file_.NewHead();
  const Token token = head.config().vocabulary[3];
  EXPECT_TRUE(
      torch::equal(head.weights().at("output.weight")[3], file_.weights.output[Index(token)]));
}

TEST_F(HeadNetTest, TheSeedDecides) {
  EXPECT_TRUE(torch::equal(file_.NewHead(3).weights().at("fc.weight"),
                           file_.NewHead(3).weights().at("fc.weight")));
  EXPECT_FALSE(torch::equal(file_.NewHead(3).weights().at("fc.weight"),
                            file_.NewHead(4).weights().at("fc.weight")));
}

TEST_F(HeadNetTest, WrongFilesAreRefused) {
  const auto error = [&](const std::string& path, const torch::Tensor& embedding) {
    const auto net = HeadNet::Load(path, embedding);
    return net.ok() ? std::string("loaded") : net.error().message;
  };
  const torch::Tensor& embedding = file_.weights.embedding;
  EXPECT_THAT(error(file_.path, embedding), HasSubstr("not an EAGLE-3 head"));
  EXPECT_THAT(error(folder_.Write("x", "x"), embedding), HasSubstr("not a GGUF file"));
  SaveAndLoad(file_.NewHead());
  EXPECT_THAT(error(path_, torch::zeros({10, 32})),
              HasSubstr("states of 64 numbers, its target's have 32"));
  const Status saved =
      net_->Save(folder_.path("no/head.gguf"), *file_.header, 64, HeadStorage::kHalf);
  EXPECT_THAT(saved.error().message, HasSubstr("check the folder"));
}

TEST_F(HeadNetTest, ShapesComeFromAnyArchitecture) {
  testing::TinyModelOptions options = testing::TinyTarget();
  options.architecture = "qwen3";
  options.numbers = {{"qwen3.attention.key_length", 16}};
  options.fractions = {{"qwen3.rope.freq_base", 5e5f}};
  const TinyTargetFile file(folder_.path("qwen3.gguf"), options);
  const ModelShape shape = ReadModelShape(*file.header, file.path).value();
  EXPECT_EQ(shape.width, kTinyWidth);
  EXPECT_EQ(shape.attention.head_size, 16);
  EXPECT_EQ(shape.attention.kv_heads, 2);
  EXPECT_EQ(shape.attention.rope_base, 5e5);
  EXPECT_EQ(shape.feed_forward, 96);
}

}  // namespace
}  // namespace schemafill
