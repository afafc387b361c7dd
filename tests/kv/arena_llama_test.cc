// The arena on libllama with the default model: trees, branches beside them and their acceptance
// against one-row decoding, whole rows of logits, bit by bit. This is the claim that the scripted
// model's rules stand for.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>
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
// Branches have sequences from kFirstSide up, which stay until the next prompt.
class PlainReference {
 public:
  explicit PlainReference(TargetModel& model) : model_(model) {}

  void Begin(std::span<const Token> prefix) {
    model_.Drop(SequenceId{0}, 0, -1);
    for (int i = kFirstSide; i < model_.info().max_sequences; ++i) {
      model_.Drop(SequenceId{i}, 0, -1);
    }
    side_ends_.clear();
    model_.Prefill(prefix, 0, SequenceId{0});
    end_ = static_cast<int>(prefix.size());
  }

  void Extend(Token token) { Decode(token, end_++, SequenceId{0}); }

  // Opens the next branch, behind the first `tokens` tokens.
  void Open(int tokens) {
    model_.Share(SequenceId{0}, Side(static_cast<int>(side_ends_.size())), 0, tokens);
    side_ends_.push_back(tokens);
  }

  // Of `token` at the end of `branch`.
  std::vector<float> ExtendSide(int branch, Token token) {
    Decode(token, side_ends_[branch]++, Side(branch));
    const std::span<const float> got = model_.Logits(0);
    return {got.begin(), got.end()};
  }

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
  static constexpr int kFirstSide = 20;

  static SequenceId Side(int branch) { return SequenceId{kFirstSide + branch}; }

  void Decode(Token token, int position, SequenceId sequence) {
    const Row row{.token = token, .position = position, .sequences = {sequence}};
    model_.Forward(std::span(&row, 1));
  }

  TargetModel& model_;
  int end_ = 0;
  std::vector<int> side_ends_;
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

Token AnyToken(std::mt19937& dice) { return Token{static_cast<int32_t>(dice() % 20000)}; }

// Pairs of branches that share their first row; one of a pair goes on in the next round.
class Pairs {
 public:
  Pairs(Arena& arena, PlainReference& reference) : arena_(arena), reference_(reference) {}

  // Of the last pair one branch stays open, of those before none. `tokens`: that the new pair
  // continues; the plain branches are opened by Keep(), when the root has its cell there too.
  std::vector<SideRow> Open(std::mt19937& dice, int tokens) {
    rows_.clear();
    if (old_) arena_.Close(old_->id);
    old_.reset();
    if (pair_.size() == 2) {
      arena_.Close(pair_[0].id);
      old_ = pair_[1];
      rows_.push_back({.token = AnyToken(dice), .branches = {old_->id}});
    }
    pair_.clear();
    tokens_ = tokens;
    for (int i = 0; i < 2; ++i) pair_.push_back({.id = arena_.Open(tokens), .plain = opened_++});
    const int shared = static_cast<int>(rows_.size());
    rows_.push_back({.token = AnyToken(dice), .branches = {pair_[0].id, pair_[1].id}});
    for (int i = 0; i < 2; ++i) {
      rows_.push_back({.token = AnyToken(dice), .parent = shared, .branches = {pair_[i].id}});
    }
    return rows_;
  }

  // Rows to keep: all but the first branch's own.
  std::vector<int> Keep() const {
    const int shared = old_ ? 1 : 0;
    std::vector<int> kept{shared, shared + 2};
    if (old_) kept.insert(kept.begin(), 0);
    return kept;
  }

  // The logits of the kept rows. REQUIRES: MAIN's cells of the round.
  std::vector<std::vector<float>> Plain() {
    std::vector<std::vector<float>> logits;
    for (int i = 0; i < 2; ++i) reference_.Open(tokens_);
    for (const int row : Keep()) {
      const bool first = old_ && row == 0;
      const int plain = first ? old_->plain : pair_[1].plain;
      logits.push_back(reference_.ExtendSide(plain, rows_[row].token));
    }
    return logits;
  }

 private:
  struct Branch {
    BranchId id{};
    int plain = 0;
  };

  Arena& arena_;
  PlainReference& reference_;
  std::optional<Branch> old_;
  std::vector<Branch> pair_;
  std::vector<SideRow> rows_;
  int tokens_ = 0, opened_ = 0;
};

void ExpectSame(std::span<const float> got, const std::vector<float>& want, int row) {
  EXPECT_EQ(std::memcmp(got.data(), want.data(), got.size_bytes()), 0) << "row " << row;
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
    SCOPED_TRACE(fmt::format("prompt of {}", length));
    const auto begin = std::span<const Token>(prompt).first(length);
    arena.Begin(begin);
    reference.Begin(begin.first(length - 1));
    Pairs pairs(arena, reference);
    Token root = begin.back();
    // The second round has fewer rows than the first leaves rejected behind its path.
    struct Round {
      int nodes = 0, accepted = 0;
    };
    constexpr Round kRounds[] = {{10, 3}, {1, 0}, {8, 5}};
    for (int round = 0; round < 3; ++round) {
      SCOPED_TRACE(fmt::format("round {}", round));
      const std::vector<TreeNode> nodes = RandomTree(dice, kRounds[round].nodes, 20000);
      const int tokens = arena.use().prefix + arena.use().verified + 1;  // the root included
      const std::vector<SideRow> side =
          pairs.Open(dice, round == 0 ? tokens : 1 + static_cast<int>(dice() % tokens));
      arena.Verify(root, nodes, side);
      const std::vector<std::vector<float>> want = reference.Logits(root, nodes);
      for (int row = 0; row < static_cast<int>(want.size()); ++row) {
        ExpectSame(model->Logits(row), want[row], row);
      }
      const std::vector<int> path = PathTo(nodes, kRounds[round].accepted);
      reference.Extend(root);
      const std::vector<int> kept = pairs.Keep();
      const std::vector<std::vector<float>> want_side = pairs.Plain();
      for (size_t i = 0; i < kept.size(); ++i) {
        const int row = static_cast<int>(want.size()) + kept[i];
        ExpectSame(model->Logits(row), want_side[i], row);
      }
      ASSERT_FALSE(HasFailure());
      arena.Accept(path, kept);
      arena.CheckInvariants();
      for (const int node : path) reference.Extend(nodes[node].token);
      root = AnyToken(dice);
    }
    parked += arena.use().parked;
  }
  EXPECT_GT(parked, 20) << "nothing was parked, so little was tested";
}

TEST(ArenaOnLlamaTest, APromptWithTheFirstTreeAnswersAsOneApart) {
  const std::unique_ptr<TargetModel> model = Load();
  ASSERT_TRUE(model);
  if (model->info().guarantee != Guarantee::kBitExact) {
    GTEST_SKIP() << model->info().guarantee_reason;
  }
  Arena arena(*model);
  std::mt19937 dice(2);
  std::vector<Token> prompt(100);
  for (Token& token : prompt) token = AnyToken(dice);
  const std::vector<TreeNode> nodes = RandomTree(dice, 8, 20000);
  // Of root, nodes and a branch's row.
  const auto logits = [&](PrefillMode mode) {
    arena.Begin(std::span(prompt).last(1));  // so that the other mode's cells are not reused
    arena.Begin(prompt, mode);
    const SideRow side{.token = prompt.front(), .branches = {arena.Open(50)}};
    arena.Verify(prompt.back(), nodes, std::span(&side, 1));
    std::vector<std::vector<float>> rows;
    for (int row = 0; row < 10; ++row) {
      const std::span<const float> got = model->Logits(arena.first_row() + row);
      rows.emplace_back(got.begin(), got.end());
    }
    return rows;
  };
  const std::vector<std::vector<float>> apart = logits(PrefillMode::kApart);
  EXPECT_EQ(arena.first_row(), 0);
  const std::vector<std::vector<float>> together = logits(PrefillMode::kWithFirstTree);
  EXPECT_EQ(arena.first_row(), 99);
  for (int row = 0; row < 10; ++row) ExpectSame(together[row], apart[row], row);
}

}  // namespace
}  // namespace schemafill
