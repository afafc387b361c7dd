#include "verify/verify.h"

#include <gtest/gtest.h>

#include <algorithm>
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

// A SIDE branch takes the target's likeliest tokens at any temperature.
TEST(VerifyChain, FollowsTheTargetsChoice) {
  const struct {
    std::string name, chain, choices;
    size_t accepted;
    char correction;
  } rows[] = {
      {"no draft", "", "q", 0, 'q'},
      {"kept", "abc", "abcd", 3, 'd'},
      {"refused at once", "abc", "x...", 0, 'x'},
      {"refused in the middle", "abc", "ax..", 1, 'x'},
      {"refused at the end", "abc", "abx.", 2, 'x'},
      {"a later token that would be right", "abc", "b...", 0, 'b'},
      {"the same token again", "aaa", "aab.", 2, 'b'},
  };
  for (const auto& row : rows) {
    std::vector<Token> chain;
    for (const char letter : row.chain) chain.push_back(Token{letter});
    const Verdict verdict = VerifyChain(chain, Rows(row.choices));
    std::vector<int> path;
    for (size_t i = 0; i < row.accepted; ++i) path.push_back(static_cast<int>(i));
    EXPECT_EQ(verdict.path, path) << row.name;
    EXPECT_EQ(verdict.correction, Token{row.correction}) << row.name;
  }
}

TEST(VerifyChain, OfEqualLogitsTheLowestToken) {
  const std::vector<float> flat(8, 1.5f);
  const std::vector<Token> chain = {Token{0}, Token{0}, Token{1}};
  const Verdict verdict = VerifyChain(chain, [&](int) { return std::span<const float>(flat); });
  EXPECT_EQ(verdict.path, (std::vector<int>{0, 1}));
  EXPECT_EQ(verdict.correction, Token{0});
}

// ---- MAIN's selection (paper 4.2) ----

// A key prefix for each tool that was forecast, likeliest first, common prefixes merged.
std::vector<TreeNode> Candidates(const std::vector<std::string>& prefixes) {
  std::vector<TreeNode> nodes;
  for (const std::string& prefix : prefixes) {
    int parent = -1;
    for (const char letter : prefix) {
      int node = 0;
      const int count = static_cast<int>(nodes.size());
      while (node < count && (nodes[node].parent != parent || nodes[node].token != Token{letter}))
        ++node;
      if (node == count) nodes.push_back({.token = Token{letter}, .parent = parent});
      parent = node;
    }
  }
  return nodes;
}

// At the start MAIN is the candidate of which the target accepts most, the first forecast one of
// several. The walk finds it: what candidates share is one path, and where they part the target's
// own choice decides.
TEST(VerifyTest, MainIsTheCandidateWithTheLongestAcceptedPrefix) {
  const std::vector<std::string> weather_mail_noop = {
      R"({"name": "get_weather", "arguments": {"city":)",
      R"({"name": "get_time", "arguments": {"zone":)", R"({"name": "noop", "arguments": {})"};
  const std::vector<std::string> one_in_another = {R"({"name": "get)", R"({"name": "get_time")",
                                                   R"({"name": "get_time", "arguments": {)"};
  const struct {
    std::string name;
    const std::vector<std::string>& candidates;
    std::string answer;
    size_t main;
    std::string accepted;
  } rows[] = {
      {"the likeliest", weather_mail_noop, R"({"name": "get_weather", "arguments": {"city": "P)", 0,
       R"({"name": "get_weather", "arguments": {"city":)"},
      {"the second", weather_mail_noop, R"({"name": "get_time", "arguments": {"zone": "UTC)", 1,
       R"({"name": "get_time", "arguments": {"zone":)"},
      {"the third, for fewer tokens", weather_mail_noop, R"({"name": "noop", "arguments": {}})", 2,
       R"({"name": "noop", "arguments": {})"},
      {"another key than any", weather_mail_noop, R"({"name": "get_time", "arguments": {"at": 5)",
       1, R"({"name": "get_time", "arguments": {")"},
      {"as much of two: the one that was forecast first", weather_mail_noop,
       R"({"name": "get_place", )", 0, R"({"name": "get_)"},
      {"as much of all", weather_mail_noop, R"({"name": "send", )", 0, R"({"name": ")"},
      {"nothing of any", weather_mail_noop, "I can't.", 0, ""},
      {"one holds another: the longest", one_in_another,
       R"({"name": "get_time", "arguments": {"zone": "UTC)", 2,
       R"({"name": "get_time", "arguments": {)"},
      {"one holds another: as much of two", one_in_another, R"({"name": "get_time"})", 1,
       R"({"name": "get_time")"},
  };
  for (const auto& row : rows) {
    // The rule of the paper, over the candidates one by one.
    size_t main = 0, most = 0;
    for (size_t i = 0; i < row.candidates.size(); ++i) {
      const std::string& prefix = row.candidates[i];
      const size_t accepted =
          static_cast<size_t>(std::ranges::mismatch(prefix, row.answer).in1 - prefix.begin());
      if (accepted > most) main = i;
      most = std::max(most, accepted);
    }
    EXPECT_EQ(main, row.main) << row.name;

    const std::vector<TreeNode> nodes = Candidates(row.candidates);
    std::vector<int> depths = {0};  // of each row, the root first
    for (const TreeNode& node : nodes) depths.push_back(depths[node.parent + 1] + 1);
    std::vector<float> logits;
    const auto next = [&](int at) {
      logits.assign(kLetters.vocab_size(), 0.0f);
      logits[row.answer.at(depths.at(at))] = 1;
      return std::span<const float>(logits);
    };
    const Verdict verdict = VerifyTree(nodes, next, {}, 0);
    std::string path;
    for (const int node : verdict.path) path += kLetters.Piece(nodes[node].token);
    EXPECT_EQ(path, row.candidates[main].substr(0, most)) << row.name;
    EXPECT_EQ(path, row.accepted) << row.name;
    EXPECT_EQ(verdict.correction, Token{row.answer[most]}) << row.name;
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
