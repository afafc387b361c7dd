// The arena on libllama with the default model: trees and their acceptance against one-row
// decoding, whole rows of logits, bit by bit. This is the claim that the scripted model's rules
// stand for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>

#include "kv/arena.h"
#include "model/llama/llama_model.h"

namespace schemafill {
namespace {

std::unique_ptr<TargetModel> Load() {
  const char* assets = std::getenv("SCHEMAFILL_ASSETS");
  LoadOptions options;
  options.path = fmt::format("{}/models/default.gguf", assets ? assets : "assets");
  options.context_size = 1024;
  auto loaded = LoadTarget(options);
  EXPECT_TRUE(loaded.ok()) << loaded.error().message;
  return loaded.ok() ? std::move(loaded).value() : nullptr;
}

// One-row decoding. Sequence 0 has the history so far; row i of a tree is decoded behind its parent
// in sequence i + 1. Nothing is freed before the tree is done, so the cells lie in position order.
class PlainReference {
 public:
  explicit PlainReference(TargetModel& model) : model_(model) {}

  void Begin(std::span<const Token> prefix) {
    model_.Drop(SequenceId{0}, 0, -1);
    model_.Prefill(prefix, 0, SequenceId{0});
    end_ = static_cast<int>(prefix.size());
  }

  void Extend(Token token) { Decode(token, end_++, SequenceId{0}); }

  // Of the root, then of the nodes.
  std::vector<std::vector<float>> Logits(Token root, const std::vector<TreeNode>& nodes) {
    std::vector<std::vector<float>> logits;
    std::vector<int> positions;
    for (int row = 0; row <= static_cast<int>(nodes.size()); ++row) {
      const int parent = row == 0 ? -1 : nodes[row - 1].parent + 1;
      const SequenceId own{row + 1};
      model_.Share(SequenceId{parent + 1}, own, 0, -1);
      positions.push_back(parent < 0 ? end_ : positions[parent] + 1);
      Decode(row == 0 ? root : nodes[row - 1].token, positions.back(), own);
      const std::span<const float> got = model_.Logits(0);
      logits.emplace_back(got.begin(), got.end());
    }
    for (int row = 0; row <= static_cast<int>(nodes.size()); ++row) {
      model_.Drop(SequenceId{row + 1}, 0, -1);
    }
    return logits;
  }

 private:
  void Decode(Token token, int position, SequenceId sequence) {
    const Row row{.token = token, .position = position, .sequences = {sequence}};
    model_.Forward(std::span(&row, 1));
  }

  TargetModel& model_;
  int end_ = 0;
};

std::vector<TreeNode> RandomTree(std::mt19937& dice, int count, int vocab) {
  std::vector<TreeNode> nodes;
  for (int i = 0; i < count; ++i) {
    const int parent = static_cast<int>(dice() % static_cast<uint32_t>(i + 1)) - 1;
    const Token token{static_cast<int32_t>(dice() % static_cast<uint32_t>(vocab))};
    nodes.push_back({.token = token, .parent = parent});
  }
  return nodes;
}

std::vector<int> PathTo(const std::vector<TreeNode>& nodes, int node) {
  std::vector<int> path;
  for (; node >= 0; node = nodes[node].parent) path.insert(path.begin(), node);
  return path;
}

TEST(ArenaOnLlamaTest, EveryRowOfEveryTreeIsPlainBitByBit) {
  const std::unique_ptr<TargetModel> model = Load();
  const std::unique_ptr<TargetModel> plain = Load();
  ASSERT_TRUE(model && plain);
  if (model->info().guarantee != Guarantee::kBitExact) {
    GTEST_SKIP() << model->info().guarantee_reason;
  }
  Arena arena(*model);
  PlainReference reference(*plain);
  std::mt19937 dice(1);
  std::vector<Token> prompt(150);
  for (Token& token : prompt) token = Token{static_cast<int32_t>(100 + dice() % 20000)};
  int parked = 0;
  for (const int length : {60, 150, 100}) {  // the second and the third reuse a prefix
    const auto begin = std::span<const Token>(prompt).first(length);
    arena.Begin(begin);
    reference.Begin(begin.first(length - 1));
    Token root = begin.back();
    for (int round = 0; round < 3; ++round) {
      const std::vector<TreeNode> nodes = RandomTree(dice, 8, 20000);
      arena.Verify(root, nodes);
      const std::vector<std::vector<float>> want = reference.Logits(root, nodes);
      for (int row = 0; row < static_cast<int>(want.size()); ++row) {
        const std::span<const float> got = model->Logits(row);
        ASSERT_EQ(std::memcmp(got.data(), want[row].data(), got.size_bytes()), 0)
            << "prompt of " << length << ", round " << round << ", row " << row;
      }
      const std::vector<int> path = PathTo(nodes, static_cast<int>(nodes.size()) - 1 - round);
      arena.Accept(path);
      reference.Extend(root);
      for (const int node : path) reference.Extend(nodes[node].token);
      root = Token{static_cast<int32_t>(dice() % 20000)};
    }
    parked += arena.use().parked;
  }
  EXPECT_GT(parked, 20) << "nothing was parked, so little was tested";
}

}  // namespace
}  // namespace schemafill
