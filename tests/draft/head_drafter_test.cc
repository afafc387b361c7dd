// Trees drafted by a head, against the same head stepped along each path by itself.
#include "draft/head_drafter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

#include "base/random.h"
#include "model/scripted/scripted_head.h"

namespace schemafill {
namespace {

constexpr int kVocabulary = 12;
constexpr size_t kFeature = 24;  // of a target's row: three layers of eight numbers

std::vector<Token> SomeTokens(int count, uint64_t seed = 3) {
  std::vector<Token> tokens;
  for (int i = 0; i < count; ++i) {
    const uint64_t bits = KeyedBits({.seed = seed, .position = static_cast<uint64_t>(i)});
    tokens.push_back(Token{static_cast<int>(bits % kVocabulary)});
  }
  return tokens;
}

std::vector<float> SomeFeatures(int first, int rows) {
  std::vector<float> features;
  for (size_t i = 0; i < static_cast<size_t>(rows) * kFeature; ++i) {
    const uint64_t at = static_cast<uint64_t>(first) * kFeature + i;
    features.push_back(static_cast<float>(Coin({.seed = 5, .position = at})));
  }
  return features;
}

ScriptedHead MakeHead(int max_rows = 64) {
  return ScriptedHead({.vocab_size = kVocabulary, .max_rows = max_rows});
}

// Probabilities of all tokens behind `path`, from a head of its own that goes nowhere else.
std::vector<double> Behind(const std::vector<Token>& tokens, int first,
                           const std::vector<Token>& path) {
  ScriptedHead head = MakeHead();
  const int rows = static_cast<int>(tokens.size()) - 1 - first;
  const auto fused_view = head.Fuse(SomeFeatures(first, rows), rows);
  const std::vector<float> fused(fused_view.begin(), fused_view.end());
  const size_t width = static_cast<size_t>(head.info().embedding_size);
  std::vector<float> state;
  const auto step = [&](Token token, int position, std::span<const float> feature) {
    const HeadRow row{{token, position, {SequenceId{0}}}, feature};
    head.Step({&row, 1});
    state.assign(head.State(0).begin(), head.State(0).end());
  };
  for (int i = 0; i < rows; ++i) {
    step(tokens[static_cast<size_t>(first + i + 1)], i,
         std::span(fused).subspan(static_cast<size_t>(i) * width, width));
  }
  int position = rows;
  for (const Token token : path) step(token, position++, std::vector<float>(state));
  std::vector<double> probabilities;
  double sum = 0;
  for (const float logit : head.Logits(0)) sum += std::exp(logit);
  for (const float logit : head.Logits(0)) probabilities.push_back(std::exp(logit) / sum);
  return probabilities;
}

std::vector<Token> PathTo(const std::vector<HeadNode>& nodes, int node) {
  std::vector<Token> path;
  for (; node >= 0; node = nodes[static_cast<size_t>(node)].parent)
    path.insert(path.begin(), nodes[static_cast<size_t>(node)].token);
  return path;
}

std::map<std::vector<Token>, double> Paths(const std::vector<HeadNode>& nodes) {
  std::map<std::vector<Token>, double> paths;
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i)
    paths[PathTo(nodes, i)] = nodes[static_cast<size_t>(i)].probability;
  return paths;
}

TEST(HeadDrafter, TreeIsThatOfEachPathByItself) {
  const std::vector<Token> tokens = SomeTokens(30);
  for (const int first : {0, 17, 28}) {
    ScriptedHead head = MakeHead(/*max_rows=*/7);
    HeadDrafter drafter(head);
    drafter.Begin(tokens, first, SomeFeatures(first, 29 - first));
    const std::vector<HeadNode> nodes = drafter.Draft({.width = 3, .depth = 3, .max_nodes = 100});
    EXPECT_EQ(nodes.size(), 3u + 9 + 9);
    for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
      std::vector<Token> path = PathTo(nodes, i);
      const Token last = path.back();
      path.pop_back();
      const int parent = nodes[static_cast<size_t>(i)].parent;
      const double reached = parent < 0 ? 1 : nodes[static_cast<size_t>(parent)].probability;
      EXPECT_LT(parent, i);
      EXPECT_NEAR(nodes[static_cast<size_t>(i)].probability,
                  reached * Behind(tokens, first, path)[static_cast<size_t>(Index(last))], 1e-6);
    }
    EXPECT_EQ(head.cells_used(), 29 - first);  // the tree left nothing behind
  }
}

TEST(HeadDrafter, RoundsGiveTheTreeOfAFreshStart) {
  const std::vector<Token> tokens = SomeTokens(40);
  const HeadLimits limits{.width = 2, .depth = 3, .max_nodes = 5};
  ScriptedHead head = MakeHead();
  HeadDrafter drafter(head);
  int at = 10;  // tokens so far
  drafter.Begin(std::span(tokens).first(10), 4, SomeFeatures(4, 5));
  for (const int taken : {1, 4, 1, 2, 14}) {
    const auto got = Paths(drafter.Draft(limits));
    ScriptedHead fresh_head = MakeHead();
    HeadDrafter fresh(fresh_head);
    fresh.Begin(std::span(tokens).first(static_cast<size_t>(at)), 4, SomeFeatures(4, at - 5));
    EXPECT_EQ(got, Paths(fresh.Draft(limits)));
    EXPECT_EQ(got.size(), 5u);
    drafter.AddTokens(
        std::span(tokens).subspan(static_cast<size_t>(at), static_cast<size_t>(taken)));
    drafter.AddFeatures(SomeFeatures(at - 1, taken));
    at += taken;
  }
}

TEST(HeadDrafter, MostProbableNodesAreKept) {
  const std::vector<Token> tokens = SomeTokens(12);
  const auto draft = [&](const HeadLimits& limits) {
    ScriptedHead head = MakeHead();
    HeadDrafter drafter(head);
    drafter.Begin(tokens, 0, SomeFeatures(0, 11));
    return drafter.Draft(limits);
  };
  const auto all = draft({.width = 3, .depth = 2, .max_nodes = 100});
  const auto some = draft({.width = 3, .depth = 2, .max_nodes = 4});
  ASSERT_EQ(some.size(), 4u);
  for (size_t i = 0; i < some.size(); ++i) EXPECT_EQ(some[i].probability, all[i].probability);
  const double bar = all[5].probability;
  for (const HeadNode& node : draft({.width = 3, .depth = 2, .min_probability = bar}))
    EXPECT_GE(node.probability, bar);
  EXPECT_EQ(draft({.width = 1, .depth = 4, .max_nodes = 100}).size(), 4u);
  EXPECT_TRUE(draft({.depth = 0}).empty());
}

TEST(HeadDrafter, NothingWithoutTheLastFeature) {
  const std::vector<Token> tokens = SomeTokens(9);
  ScriptedHead head = MakeHead();
  HeadDrafter drafter(head);
  drafter.Begin(tokens, 8, {});
  EXPECT_TRUE(drafter.Draft({}).empty());
  drafter.AddTokens(std::vector{Token{1}});
  EXPECT_TRUE(drafter.Draft({}).empty());
  drafter.AddFeatures(SomeFeatures(8, 1));
  EXPECT_FALSE(drafter.Draft({}).empty());
  EXPECT_EQ(Paths(drafter.Draft({})), Paths(drafter.Draft({})));  // no news
  drafter.Begin(tokens, 0, SomeFeatures(0, 8));
  EXPECT_FALSE(drafter.Draft({}).empty());
}

// A branch is drafted as if it were the committed output.
TEST(HeadDrafter, BranchesAreDraftedEachForItself) {
  const std::vector<Token> tokens = SomeTokens(20);
  ScriptedHead head = MakeHead();
  HeadDrafter drafter(head);
  drafter.Begin(std::span(tokens).first(15), 6, SomeFeatures(6, 8));
  struct Growing {
    HeadBranch asked;
    int given = 0;  // features
  };
  std::vector<Growing> branches = {{{0, 14, SomeTokens(3, 50)}}, {{1, 10, SomeTokens(5, 51)}}};
  EXPECT_TRUE(drafter.DraftBranches(std::vector{branches[0].asked}).empty());  // no features yet
  for (uint64_t round = 0; round < 4; ++round) {
    std::vector<HeadBranch> asks;
    for (auto& [asked, given] : branches) {
      const std::vector<Token> more = SomeTokens(static_cast<int>(round), 60 + round);
      asked.tokens.insert(asked.tokens.end(), more.begin(), more.end());
      for (; given + 1 < static_cast<int>(asked.tokens.size()); ++given)
        drafter.AddBranchFeatures(asked.branch, SomeFeatures(1000 * (1 + asked.branch) + given, 1));
      asks.push_back(asked);
    }
    const std::map<int, HeadGuess> guesses = drafter.DraftBranches(asks);
    for (const auto& [asked, given] : branches) {
      std::vector<Token> text(tokens.begin(), tokens.begin() + asked.fork);
      text.insert(text.end(), asked.tokens.begin(), asked.tokens.end());
      std::vector<float> features = SomeFeatures(6, asked.fork - 6);
      for (int i = 0; i < given; ++i) {
        const std::vector<float> one = SomeFeatures(1000 * (1 + asked.branch) + i, 1);
        features.insert(features.end(), one.begin(), one.end());
      }
      ScriptedHead alone = MakeHead();
      HeadDrafter fresh(alone);
      fresh.Begin(text, 6, features);
      const std::vector<HeadNode> want = fresh.Draft({.width = 1, .depth = 1});
      ASSERT_EQ(want.size(), 1u);
      ASSERT_TRUE(guesses.contains(asked.branch)) << round;
      EXPECT_EQ(guesses.at(asked.branch).token, want[0].token);
      EXPECT_EQ(guesses.at(asked.branch).probability, want[0].probability);
    }
    // The committed output goes on meanwhile.
    drafter.Draft({});
    drafter.AddTokens(std::span(tokens).subspan(15 + round, 1));
    drafter.AddFeatures(SomeFeatures(14 + static_cast<int>(round), 1));
  }
  drafter.CloseBranch(0);
  drafter.CloseBranch(1);
  drafter.Draft({});
  EXPECT_EQ(head.cells_used(), 18 - 6);
}

TEST(HeadDrafter, CertainHeadDraftsAChain) {
  ScriptedHead head({.vocab_size = kVocabulary, .guess = [](std::span<const Token> tokens) {
                       return Token{(Index(tokens.back()) + 1) % kVocabulary};
                     }});
  HeadDrafter drafter(head);
  drafter.Begin(SomeTokens(6), 0, SomeFeatures(0, 5));
  const std::vector<HeadNode> nodes = drafter.Draft({.width = 2, .depth = 5, .max_nodes = 5});
  int token = Index(SomeTokens(6).back());
  ASSERT_EQ(nodes.size(), 5u);
  for (int i = 0; i < 5; ++i) {
    EXPECT_EQ(Index(nodes[static_cast<size_t>(i)].token), token = (token + 1) % kVocabulary);
    EXPECT_EQ(nodes[static_cast<size_t>(i)].parent, i - 1);
  }
}

}  // namespace
}  // namespace schemafill
