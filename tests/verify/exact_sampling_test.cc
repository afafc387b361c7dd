// Drafted sampling is speculative sampling, exactly (paper, Appendix B): integrated over all coins,
// the outputs of drafted decoding have the chances that serial sampling gives them, whatever is
// drafted, and siblings are accepted with the probabilities of Eq. 6 and 7.
//
// An integral over all coins is a finite sum. The coin of a position matters only by the choices
// that PickToken makes with it, so [0, 1) falls into stretches between the cumulative chances of
// the distributions that the position may see: one coin of each stretch, times the stretch's
// length, is enough.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "commit/session.h"
#include "sample/sampler.h"
#include "support/keyed_dice.h"
#include "verify/verify.h"

namespace schemafill {
namespace {

constexpr double kTolerance = 1e-12;

using Chances = std::vector<TokenChance>;

// ---- Stretches of coins ----

struct Stretch {
  double coin = 0;  // its middle
  double length = 0;
};

std::vector<Stretch> Stretches(const std::vector<Chances>& distributions) {
  std::vector<double> borders = {0, 1};
  for (const Chances& choices : distributions) {
    double sum = 0;
    for (size_t i = 0; i + 1 < choices.size(); ++i) borders.push_back(sum += choices[i].chance);
  }
  std::ranges::sort(borders);
  std::vector<Stretch> stretches;
  for (size_t i = 1; i < borders.size(); ++i) {
    const double length = borders[i] - borders[i - 1];
    if (length > 0) stretches.push_back({borders[i - 1] + length / 2, length});
  }
  return stretches;
}

// ---- A model of few tokens, and drafts for it ----

// Token i is the letter 'a' + i; the last one ends the output.
class FewTokens final : public Tokenizer {
 public:
  explicit FewTokens(int count) : count_(count) {}

  std::vector<Token> Encode(std::string_view text) const override {
    std::vector<Token> tokens;
    for (const char letter : text) tokens.push_back(Token{letter - 'a'});
    return tokens;
  }
  std::vector<Token> EncodePrompt(std::string_view text) const override { return Encode(text); }
  std::string_view Piece(Token token) const override {
    return std::string_view("abcdefgh").substr(static_cast<size_t>(Index(token)), 1);
  }
  bool IsEnd(Token token) const override { return Index(token) + 1 == count_; }
  int vocab_size() const override { return count_; }
  std::string ApplyChatTemplate(const std::vector<ChatTurn>&) const override { return ""; }

 private:
  const int count_;
};

uint64_t KeyOf(uint64_t seed, std::string_view text) {
  for (const char letter : text) seed = MixBits(seed ^ static_cast<unsigned char>(letter));
  return MixBits(seed);
}

// Logits from a table of chance; some are equal.
std::vector<float> SomeLogits(uint64_t seed, int count) {
  KeyedDice dice(seed);
  std::vector<float> logits;
  for (int i = 0; i < count; ++i) logits.push_back(static_cast<float>(dice.Roll(13)) / 2 - 3);
  return logits;
}

// Every history has logits of its own.
class TableModel {
 public:
  TableModel(uint64_t seed, int vocabulary, const SamplingOptions& sampling)
      : seed_(seed), tokenizer_(vocabulary), sampling_(sampling) {}

  const Chances& After(const std::string& history) {
    Chances& choices = known_[history];
    if (choices.empty())
      choices = ShapeLogits(SomeLogits(KeyOf(seed_, history), tokenizer_.vocab_size()), sampling_);
    return choices;
  }
  const FewTokens& tokenizer() const { return tokenizer_; }

 private:
  const uint64_t seed_;
  const FewTokens tokenizer_;
  const SamplingOptions sampling_;
  std::map<std::string, Chances> known_;
};

struct Tree {
  std::vector<TreeNode> nodes;
  std::vector<std::string> histories;  // of the root, then of each node
};

// A tree of any shape behind every output so far: siblings, some of them equal, and paths beyond
// the end of the output.
class RandomTrees {
 public:
  RandomTrees(uint64_t seed, int vocabulary) : seed_(seed), tokenizer_(vocabulary) {}

  const Tree& Behind(const std::string& text) {
    const auto [at, is_new] = known_.try_emplace(text);
    if (!is_new) return at->second;
    Tree& tree = at->second;
    tree.histories.push_back(text);
    KeyedDice dice(KeyOf(seed_, text));
    for (int left = dice.Roll(8); left > 0; --left) {
      const int parent = dice.Roll(static_cast<int>(tree.nodes.size()) + 1) - 1;
      const Token token{dice.Roll(tokenizer_.vocab_size())};
      tree.nodes.push_back({token, parent});
      tree.histories.push_back(tree.histories[static_cast<size_t>(parent + 1)] +
                               std::string(tokenizer_.Piece(token)));
    }
    return tree;
  }

 private:
  const uint64_t seed_;
  const FewTokens tokenizer_;
  std::map<std::string, Tree> known_;
};

// ---- Both ways of sampling ----

using Outputs = std::map<std::string, double>;  // with their chances

// Serial sampling, by multiplication. `seen`: the distributions behind outputs of each length.
void SampleSerially(TableModel& model, size_t limit, const std::string& text, double chance,
                    Outputs* outputs, std::vector<std::vector<Chances>>* seen) {
  const Chances& choices = model.After(text);
  (*seen)[text.size()].push_back(choices);
  for (const TokenChance& choice : choices) {
    const std::string longer = text + std::string(model.tokenizer().Piece(choice.token));
    const double both = chance * choice.chance;
    if (model.tokenizer().IsEnd(choice.token) || longer.size() == limit) {
      (*outputs)[longer] += both;
    } else {
      SampleSerially(model, limit, longer, both, outputs, seen);
    }
  }
}

// Rounds of drafts, verdicts and commits. `coins`: one for each position of the output; what is
// drawn beyond is not committed.
std::string SampleDrafted(TableModel& model, RandomTrees& trees, const std::vector<double>& coins) {
  Session session;
  session.max_tokens = static_cast<int>(coins.size());
  session.ends_with_object = false;
  while (session.stop == StopReason::kNone) {
    const Tree& tree = trees.Behind(session.answer.text());
    const auto choose = [&](int row, int position) {
      const size_t at = std::min(static_cast<size_t>(position), coins.size() - 1);
      return PickToken(model.After(tree.histories[static_cast<size_t>(row)]), coins[at]);
    };
    const Verdict verdict = VerifyTree(tree.nodes, choose, static_cast<int>(session.tokens.size()));
    std::vector<Token> accepted;
    for (const int node : verdict.path)
      accepted.push_back(tree.nodes[static_cast<size_t>(node)].token);
    accepted.push_back(verdict.correction);
    Commit(accepted, model.tokenizer(), &session);
  }
  return session.answer.text();
}

// The chances of all outputs, over every stretch of every position.
void Integrate(const std::vector<std::vector<Stretch>>& stretches, std::vector<double> coins,
               long double weight,
               const std::function<std::string(const std::vector<double>&)>& run,
               std::map<std::string, long double>* outputs) {
  if (coins.size() == stretches.size()) {
    (*outputs)[run(coins)] += weight;
    return;
  }
  const size_t at = coins.size();
  coins.push_back(0);
  for (const Stretch& stretch : stretches[at]) {
    coins.back() = stretch.coin;
    Integrate(stretches, coins, weight * stretch.length, run, outputs);
  }
}

// Sum of the differences of all outputs' chances.
double Distance(const Outputs& a, const std::map<std::string, long double>& b) {
  double sum = 0;
  for (const auto& [text, chance] : a) {
    const auto found = b.find(text);
    sum += std::abs(chance - static_cast<double>(found == b.end() ? 0 : found->second));
  }
  for (const auto& [text, chance] : b) sum += a.contains(text) ? 0 : static_cast<double>(chance);
  return sum;
}

const SamplingOptions kShapes[] = {
    {.temperature = 1},
    {.temperature = 0.5},
    {.temperature = 1.7, .top_k = 2},
    {.temperature = 1, .top_p = 0.8},
    {.temperature = 1.3, .min_p = 0.25},
    {.temperature = 1, .top_k = 3, .top_p = 0.95, .min_p = 0.1},
};

// `one_coin`: a rule that is wrong, the same coin for every position.
double DistanceToSerial(uint64_t seed, int vocabulary, size_t limit, const SamplingOptions& shape,
                        bool one_coin = false) {
  TableModel model(seed, vocabulary, shape);
  RandomTrees trees(seed + 1000, vocabulary);
  Outputs serial;
  std::vector<std::vector<Chances>> seen(limit);
  SampleSerially(model, limit, "", 1, &serial, &seen);
  std::vector<std::vector<Stretch>> stretches;
  for (const std::vector<Chances>& distributions : seen)
    stretches.push_back(Stretches(distributions));
  std::map<std::string, long double> drafted;
  const auto run = [&](const std::vector<double>& coins) {
    const std::vector<double> same(coins.size(), coins[0]);
    return SampleDrafted(model, trees, one_coin ? same : coins);
  };
  Integrate(stretches, {}, 1, run, &drafted);
  return Distance(serial, drafted);
}

TEST(ExactSamplingTest, OutputsHaveTheChancesOfSerialSampling) {
  for (uint64_t seed = 0; seed < 12; ++seed) {
    for (const SamplingOptions& shape : kShapes) {
      EXPECT_LT(DistanceToSerial(seed, 3, 4, shape), kTolerance) << seed;
      EXPECT_LT(DistanceToSerial(seed, 4, 3, shape), kTolerance) << seed;
    }
  }
  EXPECT_LT(DistanceToSerial(99, 4, 4, {.temperature = 1, .top_p = 0.9}), kTolerance);
}

TEST(ExactSamplingTest, AWrongRuleIsFound) {
  double distance = 0;
  for (uint64_t seed = 0; seed < 5; ++seed)
    distance += DistanceToSerial(seed, 3, 3, {.temperature = 1}, /*one_coin=*/true);
  EXPECT_GT(distance, 0.5);
}

// ---- Eq. 6 and 7, sibling after sibling ----

struct SiblingChances {
  std::vector<double> accepted;    // of each sibling
  std::vector<double> correction;  // of each token, as the correction
};

// Proposes one sibling after another, each with a point mass q, to what the refused ones left of p.
SiblingChances BySpeculativeSampling(std::vector<double> p, const std::vector<Token>& siblings) {
  SiblingChances chances;
  double reached = 1;
  for (const Token sibling : siblings) {
    std::vector<double> q(p.size(), 0);
    q[static_cast<size_t>(Index(sibling))] = 1;
    const double proposed = p[static_cast<size_t>(Index(sibling))];
    const double accept = std::min(1.0, proposed / 1.0);  // Eq. 6
    chances.accepted.push_back(reached * accept);
    double overlap = 0;
    for (size_t v = 0; v < p.size(); ++v) overlap += std::min(p[v], q[v]);
    reached *= 1 - accept;
    if (1 - overlap < 1e-15) {  // no rejection, and no residual
      reached = 0;
      continue;
    }
    for (size_t v = 0; v < p.size(); ++v)
      p[v] = (p[v] - std::min(p[v], q[v])) / (1 - overlap);  // Eq. 7
  }
  for (const double chance : p) chances.correction.push_back(reached * chance);
  return chances;
}

SiblingChances ByVerifyTree(const Chances& choices, size_t vocabulary,
                            const std::vector<Token>& siblings) {
  std::vector<TreeNode> nodes;
  for (const Token sibling : siblings) nodes.push_back({sibling, -1});
  SiblingChances chances{std::vector<double>(siblings.size(), 0),
                         std::vector<double>(vocabulary, 0)};
  for (const Stretch& stretch : Stretches({choices})) {
    // Behind an accepted sibling the walk goes on; here it ends with any token.
    const auto choose = [&](int row, int) {
      return row == 0 ? PickToken(choices, stretch.coin) : Token{0};
    };
    const Verdict verdict = VerifyTree(nodes, choose, 0);
    if (verdict.path.empty()) {
      chances.correction[static_cast<size_t>(Index(verdict.correction))] += stretch.length;
    } else {
      chances.accepted[static_cast<size_t>(verdict.path.front())] += stretch.length;
    }
  }
  return chances;
}

TEST(ExactSamplingTest, SiblingsAreAcceptedAsEq6And7Say) {
  int refused = 0, accepted = 0;
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    KeyedDice dice(seed);
    const int vocabulary = 2 + dice.Roll(5);
    const Chances choices =
        ShapeLogits(SomeLogits(seed, vocabulary), kShapes[static_cast<size_t>(dice.Roll(6))]);
    std::vector<double> p(static_cast<size_t>(vocabulary), 0);
    for (const TokenChance& choice : choices)
      p[static_cast<size_t>(Index(choice.token))] = choice.chance;
    std::vector<Token> siblings;  // at times all tokens, some twice or without a chance
    for (int left = dice.Roll(vocabulary + 2); left > 0; --left)
      siblings.push_back(Token{dice.Roll(vocabulary)});

    const SiblingChances want = BySpeculativeSampling(p, siblings);
    const SiblingChances got = ByVerifyTree(choices, p.size(), siblings);
    for (size_t i = 0; i < siblings.size(); ++i) {
      ASSERT_NEAR(got.accepted[i], want.accepted[i], kTolerance) << seed << " sibling " << i;
      accepted += got.accepted[i] > 0 ? 1 : 0;
    }
    for (size_t v = 0; v < p.size(); ++v) {
      ASSERT_NEAR(got.correction[v], want.correction[v], kTolerance) << seed << " token " << v;
      refused += got.correction[v] > 0 ? 1 : 0;
    }
  }
  EXPECT_GT(accepted, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace schemafill
