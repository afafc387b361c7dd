// The default model through the port: equality with plain decoding, bit by bit, and what the port
// says about itself.
#include "model/llama/llama_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "support/exactness.h"

namespace schemafill {
namespace {

using testing::CopyLogits;
using testing::DecodeAlone;
using ::testing::HasSubstr;
using testing::kMain;
using testing::LogitsRow;
using testing::SameBits;
using testing::TakeIn;
using testing::TokenAt;
using testing::TokensAt;

constexpr SequenceId kParking{9};

std::string DefaultModel() {
  const char* assets = std::getenv("SCHEMAFILL_ASSETS");
  return std::string(assets == nullptr ? "assets" : assets) + "/models/default.gguf";
}

std::unique_ptr<TargetModel> Load(int threads) {
  auto loaded = LoadTarget({.path = DefaultModel(), .context_size = 4096, .threads = threads});
  if (!loaded.ok()) ADD_FAILURE() << loaded.error().message;
  return loaded.ok() ? std::move(loaded.value()) : nullptr;
}

// Loaded once: it takes a second or so.
class LlamaModelTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { target_ = Load(2); }
  static void TearDownTestSuite() { target_.reset(); }
  void SetUp() override {
    ASSERT_NE(target_, nullptr);
    testing::DropAll(*target_);
  }

  static TargetModel& target() { return *target_; }

 private:
  static std::unique_ptr<TargetModel> target_;
};
std::unique_ptr<TargetModel> LlamaModelTest::target_;

TEST_F(LlamaModelTest, DescribesItself) {
  const ModelInfo& info = target().info();
  EXPECT_EQ(info.architecture, "llama");
  EXPECT_EQ(info.weights, "Q8_0");
  EXPECT_EQ(info.device, "CPU");
  EXPECT_EQ(info.vocab_size, 49152);
  EXPECT_EQ(info.embedding_size, 576);
  EXPECT_EQ(info.layers, 30);
  EXPECT_EQ(info.context_size, 4096);
  EXPECT_EQ(info.max_rows, 512);
  EXPECT_EQ(info.cell_bytes, 30u * 192 * 34 / 32 + 30u * 192 * 2);  // K Q8_0, V F16
  EXPECT_EQ(info.guarantee, Guarantee::kBitExact) << info.guarantee_reason;
  EXPECT_THAT(info.guarantee_reason, HasSubstr("bit for bit"));
}

TEST_F(LlamaModelTest, LoadingPrintsNothing) {
  ::testing::internal::CaptureStderr();
  ::testing::internal::CaptureStdout();
  EXPECT_NE(Load(1), nullptr);
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  EXPECT_EQ(::testing::internal::GetCapturedStdout(), "");
}

// Root r has children a and x; a - c; x - d and x - e. Nodes shared by several paths carry the
// labels of all of them.
TEST_F(LlamaModelTest, TreeNodesAndTheNextRowEqualPlainDecoding) {
  const int start = 500;
  const std::vector<Token> prompt = TokensAt(target(), 0, start);
  const Token r{500}, a{501}, x{502}, c{503}, d{504}, e{505};
  const auto plain = [&](const std::vector<Token>& tokens) {
    TakeIn(target(), prompt);
    return DecodeAlone(target(), tokens, start);
  };
  const std::vector<LogitsRow> first = plain({r, a, c});
  const std::vector<LogitsRow> second = plain({r, x, d, e});
  const std::vector<LogitsRow> third = plain({r, x, e});

  TakeIn(target(), prompt);
  for (int branch = 1; branch < 4; ++branch) target().Share(kMain, SequenceId{branch}, 0, start);
  const SequenceId path_d{1}, path_e{2}, side{3};
  const std::vector<Row> rows = {{r, start, {kMain, path_d, path_e}},
                                 {a, start + 1, {kMain}},
                                 {x, start + 1, {path_d, path_e}},
                                 {c, start + 2, {kMain}},
                                 {d, start + 2, {path_d}},
                                 {e, start + 2, {path_e}},
                                 {Token{700}, start, {side}},
                                 {Token{701}, start + 1, {side}}};
  target().Forward(rows);
  EXPECT_TRUE(SameBits(target().Logits(0), first[0]));
  EXPECT_TRUE(SameBits(target().Logits(1), first[1]));
  EXPECT_TRUE(SameBits(target().Logits(2), second[1]));
  EXPECT_TRUE(SameBits(target().Logits(3), first[2]));
  EXPECT_TRUE(SameBits(target().Logits(4), second[2]));
  EXPECT_TRUE(SameBits(target().Logits(5), third[2]));

  // Accept r - x - d: a's cell lies in front of x's, so it is parked.
  target().Share(kMain, kParking, start + 1, -1);
  target().Drop(kMain, start + 1, -1);
  target().Drop(path_e, 0, -1);
  target().Drop(side, 0, -1);
  target().Share(path_d, kMain, start + 1, -1);
  target().Drop(path_d, 0, -1);
  EXPECT_TRUE(SameBits(DecodeAlone(target(), {{e}}, start + 3)[0], second[3]));
}

TEST_F(LlamaModelTest, ManyRowsEqualPlainDecoding) {
  const int start = 300;
  const int count = 64;
  const std::vector<Token> path = TokensAt(target(), start, count);
  TakeIn(target(), TokensAt(target(), 0, start));
  const std::vector<LogitsRow> expected = DecodeAlone(target(), path, start);
  for (const int chunk : {2, 8, 64}) {
    target().Drop(kMain, start, -1);
    for (int done = 0; done < count; done += chunk) {
      target().Share(kMain, SequenceId{1}, 0, -1);
      std::vector<Row> rows;
      for (int i = done; i < done + chunk; ++i) rows.push_back({path[i], start + i, {kMain}});
      for (int i = 0; i < 20; ++i) {
        rows.push_back({TokenAt(target(), i, /*salt=*/3),
                        start + done + i,
                        {SequenceId{1}},
                        /*wants_logits=*/false});
      }
      target().Forward(rows);
      for (int i = 0; i < chunk; ++i) {
        ASSERT_TRUE(SameBits(target().Logits(i), expected[done + i]))
            << "row " << done + i << " by " << chunk;
      }
      EXPECT_THROW(target().Logits(chunk), InternalError);
      target().Drop(SequenceId{1}, 0, -1);
    }
  }
}

TEST_F(LlamaModelTest, PromptCellsDontDependOnTheCutOrTheThreads) {
  const int length = 700;
  const std::vector<Token> prompt = TokensAt(target(), 0, length);
  const std::vector<Token> next = {TokenAt(target(), length)};
  TakeIn(target(), prompt);
  const LogitsRow expected = DecodeAlone(target(), next, length)[0];
  for (const int chunk : {7, 63, 300, 512}) {
    TakeIn(target(), prompt, chunk);
    EXPECT_TRUE(SameBits(DecodeAlone(target(), next, length)[0], expected))
        << "chunks of " << chunk;
  }
  const std::unique_ptr<TargetModel> single = Load(1);
  ASSERT_NE(single, nullptr);
  TakeIn(*single, prompt);
  EXPECT_TRUE(SameBits(DecodeAlone(*single, next, length)[0], expected));
}

TEST_F(LlamaModelTest, RulesAreChecked) {
  TakeIn(target(), TokensAt(target(), 0, 10));
  const auto forward = [&](std::vector<Row> rows) { target().Forward(rows); };
  EXPECT_THROW(forward({}), InternalError);
  EXPECT_THROW(forward(std::vector<Row>(513, Row{Token{5}, 10, {kMain}})), InternalError);
  EXPECT_THROW(forward({{Token{5}, 10, {}}}), InternalError);
  EXPECT_THROW(forward({{Token{-1}, 10, {kMain}}}), InternalError);
  EXPECT_THROW(forward({{Token{49152}, 10, {kMain}}}), InternalError);
  EXPECT_THROW(forward({{Token{5}, 10, {SequenceId{64}}}}), InternalError);
  EXPECT_THROW(forward({{Token{5}, 12, {kMain}}}), InternalError);  // a gap
  EXPECT_THROW(target().Drop(SequenceId{-1}, 0, -1), InternalError);
  // And the model still works.
  forward({{Token{5}, 10, {kMain}}});
  EXPECT_EQ(target().Logits(0).size(), 49152u);
}

TEST_F(LlamaModelTest, TokenizesAsTheModelDoes) {
  const Tokenizer& tokenizer = target().tokenizer();
  const std::vector<ChatTurn> turns = {{"user", "Hi"}};
  EXPECT_EQ(tokenizer.ApplyChatTemplate(turns),
            "<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n");
  const std::vector<Token> prompt = tokenizer.EncodeChat(turns);
  EXPECT_EQ(prompt,
            (std::vector<Token>{Token{1}, Token{4093}, Token{198}, Token{26843}, Token{2},
                                Token{198}, Token{1}, Token{520}, Token{9531}, Token{198}}));
  EXPECT_TRUE(tokenizer.IsEnd(Token{2}));
  const std::string call =
      R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Z\u00fcrich"}}]})";
  EXPECT_EQ(tokenizer.Decode(tokenizer.Encode(call)), call);
}

}  // namespace
}  // namespace schemafill
