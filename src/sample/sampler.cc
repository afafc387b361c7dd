#include "sample/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/check.h"
#include "base/random.h"

namespace schemafill {
namespace {

constexpr uint64_t kTokenStream =
    1;  // coins that choose tokens; other uses of a position take other streams

Token Largest(std::span<const float> logits) {
  int best = -1;
  for (int i = 0; i < static_cast<int>(logits.size()); ++i) {
    if (std::isnan(logits[i])) continue;
    if (best < 0 || logits[i] > logits[best]) best = i;
  }
  Check(best >= 0, "every logit of a row is NaN");
  return Token{best};
}

// Unnormalised: exp((logit - largest) / temperature), so that the largest has 1. Tokens without a
// chance are left out.
std::vector<TokenChance> Weigh(std::span<const float> logits, double temperature) {
  const double largest = logits[Index(Largest(logits))];
  std::vector<TokenChance> choices;
  choices.reserve(logits.size());
  for (int i = 0; i < static_cast<int>(logits.size()); ++i) {
    const double logit = logits[i];
    // The equal ones apart, for an infinite largest logit or temperature; the comparison is false
    // for NaN.
    const double weight = logit == largest ? 1 : std::exp((logit - largest) / temperature);
    if (weight > 0) choices.push_back({.token = Token{i}, .chance = weight});
  }
  return choices;
}

double Sum(std::span<const TokenChance> choices) {
  return std::accumulate(choices.begin(), choices.end(), 0.0,
                         [](double sum, const TokenChance& choice) { return sum + choice.chance; });
}

bool MoreLikely(const TokenChance& a, const TokenChance& b) {
  return a.chance != b.chance ? a.chance > b.chance : a.token < b.token;
}

void KeepTopK(std::vector<TokenChance>& choices, int top_k) {
  const size_t count = std::min(choices.size(), static_cast<size_t>(top_k));
  std::partial_sort(choices.begin(), choices.begin() + static_cast<ptrdiff_t>(count), choices.end(),
                    MoreLikely);
  choices.resize(count);
}

// Sorts only as much of the head as the mass takes: a vocabulary has 100,000 tokens, a nucleus
// often ten.
void KeepTopP(std::vector<TokenChance>& choices, double top_p) {
  const double wanted = top_p * Sum(choices);
  double sum = 0;
  size_t sorted = 0;
  for (size_t i = 0; i < choices.size(); ++i) {
    if (i == sorted) {
      sorted = std::min(choices.size(), std::max<size_t>(64, 2 * sorted));
      std::partial_sort(choices.begin() + static_cast<ptrdiff_t>(i),
                        choices.begin() + static_cast<ptrdiff_t>(sorted), choices.end(),
                        MoreLikely);
    }
    sum += choices[i].chance;
    if (sum >= wanted) return choices.resize(i + 1);
  }
}

void KeepMinP(std::vector<TokenChance>& choices, double min_p) {
  // The largest weighs 1, and nothing before this cut takes it away.
  const double least = std::min(min_p, 1.0);
  std::erase_if(choices, [&](const TokenChance& choice) { return choice.chance < least; });
}

}  // namespace

std::vector<Token> LargestLogits(std::span<const float> logits, size_t count) {
  std::vector<Token> largest;
  if (count == 0) return largest;
  const auto logit = [&](Token token) { return logits[static_cast<size_t>(Index(token))]; };
  for (size_t i = 0; i < logits.size(); ++i) {
    const bool full = largest.size() == count;
    const float bar = full ? logit(largest.back()) : -std::numeric_limits<float>::infinity();
    if (!(logits[i] > bar)) continue;  // NaN too
    if (full) largest.pop_back();
    const auto place =
        std::ranges::find_if(largest, [&](Token other) { return logit(other) < logits[i]; });
    largest.insert(place, Token{static_cast<int>(i)});
  }
  return largest;
}

std::vector<TokenChance> ShapeLogits(std::span<const float> logits,
                                     const SamplingOptions& options) {
  if (options.temperature <= 0) return {{.token = Largest(logits), .chance = 1}};
  std::vector<TokenChance> choices = Weigh(logits, options.temperature);
  if (options.top_k > 0) KeepTopK(choices, options.top_k);
  if (options.top_p < 1) KeepTopP(choices, options.top_p);
  if (options.min_p > 0) KeepMinP(choices, options.min_p);
  const double total = Sum(choices);
  for (TokenChance& choice : choices) choice.chance /= total;
  return choices;
}

Token PickToken(std::span<const TokenChance> choices, double coin) {
  double sum = 0;
  for (const TokenChance& choice : choices) {
    sum += choice.chance;
    if (coin < sum) return choice.token;
  }
  return choices.back().token;  // the sum fell short of 1 by rounding
}

double TokenCoin(uint64_t seed, int position) {
  return Coin({.seed = seed, .stream = kTokenStream, .position = static_cast<uint64_t>(position)});
}

Token ChooseToken(std::span<const float> logits, const SamplingOptions& options, int position) {
  if (options.temperature <= 0) return Largest(logits);
  return PickToken(ShapeLogits(logits, options), TokenCoin(options.seed, position));
}

}  // namespace schemafill
