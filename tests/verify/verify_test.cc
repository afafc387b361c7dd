#include "verify/verify.h"

#include <gtest/gtest.h>

#include <sstream>

#include "model/scripted/scripted_model.h"

namespace schemafill {
namespace {

// "a:-1 b:0" is a chain; the letters are tokens.
std::vector<TreeNode> Tree(const std::string& text) {
  std::vector<TreeNode> nodes;
  std::istringstream in(text);
  for (std::string node; in >> node;) {
    nodes.push_back({.token = Token{node[0]}, .parent = std::stoi(node.substr(2))});
  }
  return nodes;
}

const ScriptedTokenizer kLetters({});

// Rows that choose one letter each, root first; "." must not be looked at.
class Rows {
 public:
  explicit Rows(const std::string& choices) : choices_(choices) {
    for (const char choice : choices) {
      logits_.emplace_back(kLetters.vocab_size(), 0.0f);
      if (choice != '.') logits_.back()[choice] = 1;
    }
  }

  std::span<const float> operator()(int row) const {
    EXPECT_NE(choices_.at(row), '.') << "row " << row;
    return logits_.at(row);
  }

 private:
  std::string choices_;
  std::vector<std::vector<float>> logits_;
};

TEST(VerifyTest, FollowsTheTargetsChoice) {
  const struct {
    std::string name, tree, choices;
    std::vector<int> path;
    std::string dump;
  } rows[] = {
      {"no tree", "", "q", {}, "q+"},
      {"a chain, kept", "a:-1 b:0", "abc", {0, 1}, "a= b= c+"},
      {"a chain, refused at once", "a:-1 b:0", "x..", {}, "x+"},
      {"a chain, refused in the middle", "a:-1 b:0", "ax.", {0}, "a= x+"},
      {"a refused parent hides a right child", "x:-1 b:0", "a..", {}, "a+"},
      {"the second sibling", "a:-1 b:-1 c:1", "b.cd", {1, 2}, "b= c= d+"},
      {"a cousin with the right token is no child", "a:-1 b:-1 c:1", "ac..", {0}, "a= c+"},
      {"a grandchild with the right token is no child", "x:-1 a:0", "a..", {}, "a+"},
      {"path order", "a:-1 b:0 c:1 d:0 e:3", "ad..ef", {0, 3, 4}, "a= d= e= f+"},
      {"of equal siblings the first", "a:-1 a:-1 b:1", "ab..", {0}, "a= b+"},
  };
  for (const auto& row : rows) {
    const Verdict verdict = VerifyTree(Tree(row.tree), Rows(row.choices), {}, 0);
    EXPECT_EQ(verdict.path, row.path) << row.name;
    EXPECT_EQ(verdict.Dump(Tree(row.tree), kLetters), row.dump) << row.name;
  }
}

// All continuations over three letters, four deep: whatever is drawn, a node carries it.
std::vector<TreeNode> FullTree() {
  std::vector<TreeNode> nodes;
  std::vector<int> level = {-1};
  for (int depth = 0; depth < 4; ++depth) {
    std::vector<int> next;
    for (const int parent : level) {
      for (int letter = 0; letter < 3; ++letter) {
        next.push_back(static_cast<int>(nodes.size()));
        nodes.push_back({.token = Token{letter}, .parent = parent});
      }
    }
    level = next;
  }
  return nodes;
}

TEST(VerifyTest, SampledNodesAreThoseThatPlainDecodingDraws) {
  const std::vector<TreeNode> nodes = FullTree();
  const std::vector<std::vector<float>> rows = {{0, 1, 0.5}, {1, 0, 0}, {0, 0, 0}, {2, 2, 1}};
  const auto logits = [&](int row) { return std::span<const float>(rows[row % rows.size()]); };
  std::vector<int> corrections(3, 0);
  for (uint64_t seed = 0; seed < 300; ++seed) {
    const SamplingOptions sampling{.temperature = 1, .seed = seed};
    for (const int position : {0, 5}) {
      const Verdict verdict = VerifyTree(nodes, logits, sampling, position);
      ASSERT_EQ(verdict.path.size(), 4u);
      int node = -1;
      for (int i = 0; i < 4; ++i) {
        ASSERT_EQ(nodes[verdict.path[i]].parent, node);
        const Token drawn = ChooseToken(logits(node + 1), sampling, position + i);
        node = verdict.path[i];
        ASSERT_EQ(nodes[node].token, drawn);
      }
      ASSERT_EQ(verdict.correction, ChooseToken(logits(node + 1), sampling, position + 4));
      ++corrections[Index(verdict.correction)];
    }
  }
  for (const int count : corrections) EXPECT_GT(count, 50);
}

}  // namespace
}  // namespace schemafill
