#include "model/llama/gguf_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/temp_dir.h"

namespace schemafill {
namespace {

using ::testing::ElementsAre;
using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using testing::TempDir;

class GgufFileTest : public ::testing::Test {
 protected:
  GgufHeader Header() {
    auto header = GgufHeader::Read("file", path_);
    EXPECT_TRUE(header.ok()) << header.error().message;
    return std::move(header.value());
  }

  TempDir folder_;
  std::string path_ = folder_.path("f.gguf");
};

TEST_F(GgufFileTest, KeepsKeys) {
  GgufWriter file("llama");
  file.SetText("general.name", "test");
  file.SetInteger("llama.block_count", 3);
  file.SetIntegers("llama.layers", {2, -1, 7});
  file.SetFraction("llama.epsilon", 0.5f);
  ASSERT_TRUE(file.Write(path_).ok());
  const GgufHeader header = Header();
  EXPECT_EQ(header.architecture(), "llama");
  EXPECT_EQ(header.Text("general.name"), "test");
  EXPECT_EQ(header.Integer("llama.block_count"), 3);
  EXPECT_THAT(header.Integers("llama.layers"), ElementsAre(2, -1, 7));
  EXPECT_EQ(header.Fraction("llama.epsilon"), 0.5);
}

TEST_F(GgufFileTest, KeepsWeightsInEveryType) {
  Weights weights{.shape = {2, 64}, .values = {}};
  for (int i = 0; i < 128; ++i) weights.values.push_back(0.01f * (i - 50));
  GgufWriter file("llama");
  file.AddFloats("full", weights, /*half=*/false);
  file.AddFloats("half", weights, /*half=*/true);
  file.AddQ8("eight", weights);
  file.AddFloats("vector", {.shape = {3}, .values = {1, 2, 3}}, /*half=*/false);
  ASSERT_TRUE(file.Write(path_).ok());
  const GgufHeader header = Header();
  EXPECT_EQ(ReadWeights(header, path_, "full")->values, weights.values);
  for (const char* name : {"half", "eight"}) {
    const Result<Weights> read = ReadWeights(header, path_, name);
    ASSERT_TRUE(read.ok()) << read.error().message;
    EXPECT_EQ(read->shape, weights.shape);
    EXPECT_THAT(read->values, Pointwise(FloatNear(0.005f), weights.values)) << name;
  }
  EXPECT_THAT(ReadWeights(header, path_, "vector")->shape, ElementsAre(3));
  EXPECT_EQ(header.FindTensor("eight")->bytes, 128u + 4 * 2);  // a scale for each 32 values
}

TEST_F(GgufFileTest, CopiesTheTokenizerAlone) {
  GgufWriter file("llama");
  file.SetText("tokenizer.ggml.model", "gpt2");
  file.SetText("general.name", "first");
  ASSERT_TRUE(file.Write(path_).ok());
  GgufWriter other("eagle3");
  other.CopyTokenizer(Header());
  ASSERT_TRUE(other.Write(folder_.path("other.gguf")).ok());
  const auto header = GgufHeader::Read("file", folder_.path("other.gguf"));
  ASSERT_TRUE(header.ok()) << header.error().message;
  EXPECT_EQ(header->Text("tokenizer.ggml.model"), "gpt2");
  EXPECT_EQ(header->Text("general.name"), "");
  EXPECT_EQ(header->architecture(), "eagle3");
}

TEST_F(GgufFileTest, ErrorsNameTheTensor) {
  GgufWriter file("llama");
  file.AddIntegers("map", {1, 2});
  ASSERT_TRUE(file.Write(path_).ok());
  const GgufHeader header = Header();
  EXPECT_THAT(ReadWeights(header, path_, "none").error().message, HasSubstr("has no tensor none"));
  EXPECT_THAT(ReadWeights(header, path_, "map").error().message,
              HasSubstr("tensor map is of type i64"));
  EXPECT_THAT(*ReadIntegers(header, path_, "map"), ElementsAre(1, 2));
  EXPECT_THAT(ReadIntegers(header, path_, "none").error().message, HasSubstr("has no tensor none"));
}

}  // namespace
}  // namespace schemafill
