#include "train/lora.h"

#include <gtest/gtest.h>

#include "model/llama/gguf_file.h"
#include "support/temp_dir.h"
#include "train/tensor.h"

namespace schemafill {
namespace {

using testing::TempDir;

const std::map<std::string, std::vector<int64_t>> kMaps = {{"blk.0.attn_q.weight", {6, 4}},
                                                           {"blk.0.ffn_up.weight", {8, 4}}};

TEST(Lora, ChangesNothingBeforeItLearns) {
  const Lora lora(kMaps, 2, 4, /*seed=*/1);
  const torch::Tensor x = torch::ones({3, 4});
  EXPECT_EQ(lora.Delta("blk.0.attn_q.weight", x).abs().max().item<float>(), 0);
  EXPECT_FALSE(lora.Delta("output.weight", x).defined());
}

TEST(Lora, FirstWeightsDependOnTheSeedAlone) {
  const Lora a(kMaps, 2, 4, 1);
  const Lora b(kMaps, 2, 4, 1);
  const Lora c(kMaps, 2, 4, 2);
  EXPECT_TRUE(a.Parameters()[0].equal(b.Parameters()[0]));
  EXPECT_FALSE(a.Parameters()[0].equal(c.Parameters()[0]));
}

TEST(Lora, SavesWhatDeltaAdds) {
  const torch::NoGradGuard no_grad;
  const TempDir folder;
  const std::string path = folder.path("lora.gguf");
  const Lora lora(kMaps, 2, 4, 1);
  for (const torch::Tensor& parameter : lora.Parameters()) parameter.detach().uniform_(-1, 1);
  ASSERT_TRUE(lora.Save(path, "llama", "test").ok());

  const auto header = GgufHeader::Read("adapter", path);
  ASSERT_TRUE(header.ok()) << header.error().message;
  EXPECT_EQ(header->Text("general.type"), "adapter");
  EXPECT_EQ(header->Text("adapter.type"), "lora");
  EXPECT_EQ(header->architecture(), "llama");
  EXPECT_EQ(header->Fraction("adapter.lora.alpha"), 4);
  EXPECT_EQ(header->tensors().size(), 4u);
  const auto a = ReadWeights(*header, path, "blk.0.attn_q.weight.lora_a");
  const auto b = ReadWeights(*header, path, "blk.0.attn_q.weight.lora_b");
  ASSERT_TRUE(a.ok() && b.ok());
  EXPECT_EQ(a->shape, (std::vector<int64_t>{2, 4}));
  EXPECT_EQ(b->shape, (std::vector<int64_t>{6, 2}));
  const torch::Tensor x = torch::rand({3, 4});
  // (alpha / rank) B A, as merge_adapter.py and llama.cpp have it.
  const torch::Tensor map = 2 * ToTensor(*b).matmul(ToTensor(*a));
  EXPECT_TRUE(torch::allclose(lora.Delta("blk.0.attn_q.weight", x), x.matmul(map.t()),
                              /*rtol=*/1e-2, /*atol=*/1e-2));
}

TEST(Lora, LoadsWhatItSaved) {
  const TempDir folder;
  const Lora saved(kMaps, 2, 4, 1);
  ASSERT_TRUE(saved.Save(folder.path("lora.gguf"), "llama", "test").ok());
  Lora loaded(kMaps, 2, 4, 9);
  ASSERT_TRUE(loaded.Load(folder.path("lora.gguf")).ok());
  EXPECT_TRUE(
      torch::allclose(loaded.Parameters()[0], saved.Parameters()[0], /*rtol=*/1e-3, /*atol=*/0));

  const Status other_rank = Lora(kMaps, 3, 4, 1).Load(folder.path("lora.gguf"));
  ASSERT_FALSE(other_rank.ok());
  EXPECT_NE(
      other_rank.error().message.find("lora_a is [2, 4], not [3, 4]; give it the same --rank"),
      std::string::npos)
      << other_rank.error().message;
  const Status other_maps =
      Lora({{"blk.0.attn_q.weight", {6, 4}}}, 2, 4, 1).Load(folder.path("lora.gguf"));
  ASSERT_FALSE(other_maps.ok());
  EXPECT_NE(other_maps.error().message.find("is not a LoRA adapter of this target"),
            std::string::npos);
}

TEST(Lora, SaysWhenItCantBeWritten) {
  const Lora lora(kMaps, 2, 4, 1);
  const Status status = lora.Save("/nowhere/lora.gguf", "llama", "test");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("'/nowhere/lora.gguf' can't be written"),
            std::string::npos);
}

TEST(Lora, SaysWhenTheDiskIsFull) {
  if (access("/dev/full", W_OK) != 0) GTEST_SKIP() << "no /dev/full here";
  const TempDir folder;
  const Lora lora(kMaps, 2, 4, 1);
  // The file that is written first, named for this process.
  const std::string part = folder.path("lora.gguf") + "." + std::to_string(getpid()) + ".part";
  ASSERT_EQ(symlink("/dev/full", part.c_str()), 0);
  const Status status = lora.Save(folder.path("lora.gguf"), "llama", "test");
  ASSERT_FALSE(status.ok());
  EXPECT_NE(status.error().message.find("free some disk space"), std::string::npos)
      << status.error().message;
}

}  // namespace
}  // namespace schemafill
