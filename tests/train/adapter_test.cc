// From examples to an adapter, on a tiny random target.
#include "train/adapter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "model/llama/gguf_header.h"
#include "support/temp_dir.h"
#include "support/tiny_gguf.h"

namespace schemafill {
namespace {

using ::testing::HasSubstr;
using testing::TempDir;

class AdapterTest : public ::testing::Test {
 protected:
  AdapterTest() {
    testing::WriteTinyModel(folder_.path("m.gguf"),
                            {.embedding = 256, .feed_forward = 256, .numbers = EndOfTurn()});
    std::string lines;
    for (const char* city : {"Oslo", "Rome", "Lima"}) {
      lines += std::string(R"({"messages": [{"role": "user", "content": "Weather in )") + city +
               R"("}], "answer": "{\"city\": \")" + city + "\\\"}\"}\n";
    }
    options_.target = folder_.path("m.gguf");
    options_.examples = options_.held_out = folder_.Write("e.jsonl", lines);
    options_.out = folder_.path("a.gguf");
    options_.rank = 4;
    options_.loop.steps = 12;
    options_.loop.batch = 2;
    options_.loop.warmup_steps = 2;
    options_.loop.peak_rate = 1e-2;
    options_.loop.score_every = 6;
    options_.loop.threads = 2;
  }

  static std::map<std::string, uint32_t> EndOfTurn() {
    return {{"tokenizer.ggml.eos_token_id", 257}};
  }

  Result<LoopResult> Run() {
    const std::atomic<bool> stop = false;
    return TrainAdapter(options_, stop, [&](const AdapterData& data, const LoopProgress& step) {
      data_ = data;
      last_ = step;
    });
  }

  std::string ErrorOf() {
    const Result<LoopResult> result = Run();
    return result.ok() ? "no error" : result.error().message;
  }

  TempDir folder_;
  AdapterOptions options_;
  AdapterData data_;
  LoopProgress last_;
};

TEST_F(AdapterTest, LearnsAndWritesAnAdapter) {
  const Result<LoopResult> result = Run();
  ASSERT_TRUE(result.ok()) << result.error().message;
  EXPECT_TRUE(result->finished);
  EXPECT_EQ(data_.examples, 3);
  EXPECT_EQ(last_.step, 12);
  std::ifstream curve(options_.out + ".curve.jsonl");
  std::string first;
  ASSERT_TRUE(std::getline(curve, first));
  EXPECT_LT(result->best_scores.at("loss"), 0.8 * double(Json::parse(first)["held_out"]["loss"]));
  const auto header = GgufHeader::Read("adapter", options_.out);
  ASSERT_TRUE(header.ok()) << header.error().message;
  EXPECT_EQ(header->tensors().size(), 28u);
  EXPECT_EQ(header->Fraction("adapter.lora.alpha"), 8);
}

TEST_F(AdapterTest, GoesOnFromAnAdapter) {
  const Result<LoopResult> first = Run();
  ASSERT_TRUE(first.ok()) << first.error().message;
  options_.from = options_.out;
  options_.out = folder_.path("b.gguf");
  ASSERT_TRUE(Run().ok());
  std::ifstream curve(options_.out + ".curve.jsonl");
  std::string line;
  ASSERT_TRUE(std::getline(curve, line));
  // The adapter's F16 rounding is all that is lost.
  EXPECT_NEAR(double(Json::parse(line)["held_out"]["loss"]), first->best_scores.at("loss"), 0.01);
}

TEST_F(AdapterTest, ErrorsNameTheFile) {
  options_.examples = folder_.path("none.jsonl");
  EXPECT_THAT(ErrorOf(), HasSubstr("none.jsonl' can't be opened"));
  options_.examples = options_.held_out;
  options_.target = folder_.path("none.gguf");
  EXPECT_THAT(ErrorOf(), HasSubstr("none.gguf' does not exist"));
  options_.target = options_.held_out;
  EXPECT_THAT(ErrorOf(), HasSubstr("is not a GGUF file"));
}

}  // namespace
}  // namespace schemafill
