#include "pack/pack.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>

#include "support/keyed_dice.h"
#include "support/scripted.h"

namespace schemafill {
namespace {

// "a(b c(d))": a, behind it b or c, behind c d.
std::string Shape(const Pack& pack, const Tokenizer& tokenizer, int parent = -1) {
  std::string out;
  for (size_t i = 0; i < pack.nodes.size(); ++i) {
    if (pack.nodes[i].node.parent != parent) continue;
    const std::string below = Shape(pack, tokenizer, static_cast<int>(i));
    out += fmt::format("{}{}{}", out.empty() ? "" : " ", tokenizer.Piece(pack.nodes[i].node.token),
                       below.empty() ? "" : "(" + below + ")");
  }
  return out;
}

int CountLeaves(const Pack& pack) {
  std::vector<bool> leaf(pack.nodes.size(), true);
  for (const PackedNode& node : pack.nodes) {
    if (node.node.parent >= 0) leaf[static_cast<size_t>(node.node.parent)] = false;
  }
  return static_cast<int>(std::count(leaf.begin(), leaf.end(), true));
}

DraftNode Node(int parent, std::string text, double probability) {
  return {parent, std::move(text), probability, PieceKind::kValue};
}

PackLimits Limits(int max_nodes, int max_leaves, CostCurve cost = {}) {
  return {max_nodes, max_leaves, std::move(cost)};
}

TEST(PackDraft, FromTextToOneTree) {
  struct Case {
    std::string_view label;
    std::string_view committed;
    std::vector<DraftNode> draft;
    PackLimits limits;
    std::string_view shape;
  };
  const CostCurve dear{{{1, 10}, {2, 16}}};
  const std::vector<DraftNode> wide = {Node(-1, "ab", 0.5), Node(-1, "xy", 0.3),
                                       Node(-1, "q", 0.1)};
  const auto kCases = std::to_array<Case>({
      {"nothing", "x", {}, {}, ""},
      {"longest tokens", "x", {Node(-1, "{\"name", 0.9)}, {}, "{\"(name)"},
      {"tokens over the border of two pieces",
       "x",
       {Node(-1, "a", 0.9), Node(0, "\"", 0.8), Node(1, "}}", 0.7)},
       {},
       "a(\"}})"},
      {"siblings share what they have in common",
       "\"",
       {Node(-1, "ab", 0.5), Node(-1, "ac", 0.4)},
       {},
       "a(b c)"},
      {"the likelier first",
       "\"",
       {Node(-1, "ab", 0.4), Node(-1, "ac", 0.5), Node(-1, "q", 0.05)},
       {},
       "a(c b) q"},
      {"the same text twice is one path",
       "\"",
       {Node(-1, "ab", 0.5), Node(-1, "ab", 0.4)},
       {},
       "a(b)"},
      {"siblings whose common text is cut into other tokens",
       "x",
       {Node(-1, "\"", 0.5), Node(-1, "\"}", 0.4)},
       {},
       "\" \"}"},
      {"a piece without text", "x", {Node(-1, "", 0.9), Node(0, "}", 0.8)}, {}, "}"},
      {"nothing but pieces without text", "x", {Node(-1, "", 0.9)}, {}, ""},
      {"at most so many nodes", "x", wide, Limits(3, 16), "a(b) x"},
      {"none", "x", wide, Limits(0, 16), ""},
      {"at most so many leaves", "x", wide, Limits(32, 2), "a(b) x(y)"},
      {"a chain", "x", wide, Limits(32, 1), "a(b)"},
      {"only what pays",
       "x",
       {Node(-1, "ab", 0.9), Node(-1, "q", 0.1)},
       Limits(32, 16, dear),
       "a(b)"},
      {"nothing pays", "x", {Node(-1, "ab", 0.1)}, Limits(32, 16, dear), ""},
  });
  const auto tokenizer = JsonTokenizer();
  for (const Case& row : kCases) {
    const std::vector<Token> committed = tokenizer->Encode(row.committed);
    const Pack pack = PackDraft({row.draft}, committed, *tokenizer, row.limits);
    EXPECT_EQ(Shape(pack, *tokenizer), row.shape) << row.label;
    EXPECT_EQ(pack.Tree().size(), pack.nodes.size());
  }
}

TEST(PackDraft, ProbabilitiesAddUpWhereAlternativesShareTokens) {
  const auto tokenizer = JsonTokenizer();
  const Pack pack = PackDraft({{Node(-1, "ab", 0.5), Node(-1, "ac", 0.3), Node(0, "d", 0.25)}},
                              tokenizer->Encode("x"), *tokenizer, {});
  ASSERT_EQ(Shape(pack, *tokenizer), "a(b(d) c)");
  EXPECT_NEAR(pack.nodes[0].probability, 0.8, 1e-9);
  EXPECT_NEAR(pack.nodes[1].probability, 0.5, 1e-9);
  EXPECT_LE(pack.nodes[2].probability, 0.25);
  EXPECT_THAT(pack.Dump(*tokenizer), testing::StartsWith("0.80 value [a]\n 0.50 value [b]\n"));
}

// A choice near the root is worth more than text that is nearly sure and comes along in a later
// round as well.
TEST(PackDraft, ChoiceWeight) {
  struct Case {
    std::string_view label;
    std::vector<DraftNode> draft;
    double weight;
    int max_nodes;
    int max_leaves;
    std::string_view shape;
  };
  const std::vector<DraftNode> tail = {Node(-1, "a", 0.6), Node(0, "bcdefgh", 0.58),
                                       Node(-1, "x", 0.3)};
  const std::vector<DraftNode> even = {Node(-1, "ab", 0.45), Node(-1, "xy", 0.45),
                                       Node(-1, "q", 0.05)};
  const std::vector<DraftNode> deep = {Node(-1, "abcd", 0.9), Node(0, "e", 0.4), Node(0, "x", 0.4),
                                       Node(0, "q", 0.1)};
  const auto kCases = std::to_array<Case>({
      {"0: the most probable nodes", tail, 0, 5, 16, "a(b(c(d(e))))"},
      {"an alternative at the root before the end of a sure tail", tail, 5, 5, 16, "a(b(c(d))) x"},
      {"first of all where there is room for two", tail, 5, 2, 16, "a x"},
      {"not so without weight", tail, 0, 2, 16, "a(b)"},
      {"too little weight", tail, 0.1, 5, 16, "a(b(c(d(e))))"},
      {"with room for all of it nothing is left out", tail, 5, 9, 16, "a(b(c(d(e(f(g(h))))))) x"},
      {"leaves are limited all the same", tail, 5, 5, 1, "a(b(c(d(e))))"},
      {"the less likely waits for its turn", even, 5, 4, 16, "a(b) x(y)"},
      {"of three leaves two", even, 5, 5, 2, "a(b) x(y)"},
      {"a choice far down comes with what is above it", deep, 50, 6, 16, "a(b(c(d(e x))))"},
      {"or not at all", deep, 50, 3, 16, "a(b(c))"},
  });
  const auto tokenizer = JsonTokenizer();
  for (const Case& row : kCases) {
    PackLimits limits = Limits(row.max_nodes, row.max_leaves);
    limits.choice_weight = row.weight;
    const Pack pack = PackDraft({row.draft}, tokenizer->Encode("-"), *tokenizer, limits);
    EXPECT_EQ(Shape(pack, *tokenizer), row.shape) << row.label;
  }
}

TEST(PackTree, FromTokensToTheBestTree) {
  struct Case {
    std::string_view label;
    std::vector<PackedNode> nodes;
    PackLimits limits;
    std::string_view shape;
  };
  const auto at = [](int parent, char letter, double probability) {
    return PackedNode{{Token{letter}, parent}, probability, PieceKind::kHead};
  };
  const std::vector<PackedNode> wide = {at(-1, 'a', 0.5), at(-1, 'b', 0.3), at(0, 'c', 0.4),
                                        at(1, 'd', 0.1),  at(0, 'd', 0.05), at(2, 'e', 0.35)};
  const auto kCases = std::to_array<Case>({
      {"nothing", {}, {}, ""},
      {"all of it", wide, {}, "a(c(e) d) b(d)"},
      {"the likelier first", {at(-1, 'a', 0.3), at(-1, 'b', 0.5), at(0, 'c', 0.2)}, {}, "b a(c)"},
      {"at most so many nodes", wide, Limits(4, 16), "a(c(e)) b"},
      {"at most so many leaves", wide, Limits(32, 2), "a(c(e)) b(d)"},
      {"a chain", wide, Limits(32, 1), "a(c(e))"},
      {"none", wide, Limits(0, 16), ""},
      {"only what pays", wide, Limits(32, 16, CostCurve{{{1, 10}, {11, 42}}}), "a(c)"},
      {"a node that others lead to comes with them",
       {at(-1, 'a', 0.2), at(0, 'b', 0.2), at(1, 'c', 0.2), at(-1, 'd', 0.1)},
       Limits(3, 16),
       "a(b(c))"},
  });
  const auto tokenizer = JsonTokenizer();
  for (const Case& row : kCases) {
    const Pack pack = PackTree(row.nodes, row.limits);
    EXPECT_EQ(Shape(pack, *tokenizer), row.shape) << row.label;
    for (const PackedNode& node : pack.nodes) EXPECT_EQ(node.kind, PieceKind::kHead) << row.label;
  }
}

// A second source's tokens go where the first one has probability left.
TEST(TokenTree, TwoSourcesInOneTree) {
  const auto tokenizer = JsonTokenizer();
  TokenTree tree = DraftTokens({{Node(-1, "ab", 0.5)}}, tokenizer->Encode("x"), *tokenizer);
  ASSERT_EQ(tree.size(), 2);
  EXPECT_NEAR(tree.Rest(-1), 0.5, 1e-9);
  EXPECT_EQ(tree.Child(-1, Token{'a'}, PieceKind::kRecycled), 0);
  const int other = tree.Child(-1, Token{'c'}, PieceKind::kRecycled);
  tree.Add(other, 0.3);
  tree.Add(tree.Child(other, Token{'d'}, PieceKind::kRecycled), 0.2);
  EXPECT_NEAR(tree.Rest(-1), 0.2, 1e-9);
  EXPECT_NEAR(tree.Rest(other), 0.1, 1e-9);
  const Pack pack = PackTree(tree.nodes(), {});
  EXPECT_EQ(Shape(pack, *tokenizer), "a(b) c(d)");
  EXPECT_EQ(pack.nodes[0].kind, PieceKind::kValue);
  EXPECT_EQ(pack.nodes[2].kind, PieceKind::kRecycled);
}

// Parents first, within the limits, likelier than their children, no two equal siblings.
TEST(PackDraft, OfAnyDraft) {
  const auto tokenizer = JsonTokenizer();
  const std::vector<std::string> texts = {"{\"name", "\"", "a",  "ab",   "\": \"",
                                          "",        "}}", "10", " the "};
  for (uint64_t seed = 0; seed < 500; ++seed) {
    KeyedDice dice(seed);
    Draft draft;
    for (int left = dice.Roll(40); left > 0; --left) {
      const int parent = dice.Roll(static_cast<int>(draft.nodes.size()) + 1) - 1;
      const double above = parent < 0 ? 1 : draft.nodes[static_cast<size_t>(parent)].probability;
      draft.nodes.push_back(Node(parent, dice.Pick(texts), above * (1 + dice.Roll(9)) / 10));
    }
    const int max_nodes = dice.Roll(40);
    PackLimits limits = Limits(max_nodes, 1 + dice.Roll(8));
    if (dice.OneIn(2)) limits.choice_weight = dice.Roll(20);
    const std::vector<Token> committed = tokenizer->Encode("{\"a");
    // A node that is taken has all those above it: none is lost, so the tree is full.
    const Pack all = PackDraft(draft, committed, *tokenizer, Limits(10'000, 10'000));
    PackLimits full = limits;
    full.max_leaves = 10'000;
    ASSERT_EQ(PackDraft(draft, committed, *tokenizer, full).nodes.size(),
              std::min(all.nodes.size(), static_cast<size_t>(max_nodes)))
        << seed;
    if (dice.OneIn(2)) limits.cost.points = {{1, 10}, {8, 10.0 + dice.Roll(80)}};
    const Pack pack = PackDraft(draft, committed, *tokenizer, limits);
    ASSERT_LE(static_cast<int>(pack.nodes.size()), limits.max_nodes) << seed;
    ASSERT_LE(CountLeaves(pack), limits.max_leaves) << seed;
    for (size_t i = 0; i < pack.nodes.size(); ++i) {
      const PackedNode& node = pack.nodes[i];
      ASSERT_LT(node.node.parent, static_cast<int>(i)) << seed;
      const double above = node.node.parent < 0
                               ? 1e9
                               : pack.nodes[static_cast<size_t>(node.node.parent)].probability;
      ASSERT_LE(node.probability, above + 1e-9) << seed;
      for (size_t j = 0; j < i; ++j) {
        ASSERT_FALSE(pack.nodes[j].node.parent == node.node.parent &&
                     pack.nodes[j].node.token == node.node.token)
            << seed;
      }
    }
  }
}

}  // namespace
}  // namespace schemafill
