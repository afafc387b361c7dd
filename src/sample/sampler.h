// From one row of logits to the target's choice of the next token. The choice depends on the
// logits, the options and the token's position alone, never on how the row was computed, so that
// drafted and plain decoding choose alike at any temperature: a drafted token is kept exactly when
// it is the one that plain decoding would have drawn there.
// That this is speculative sampling without bias is shown by tests/verify/exact_sampling_test.cc.
// Tested by tests/sample/sampler_test.cc.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "model/types.h"

namespace schemafill {

struct SamplingOptions {
  double temperature = 0;  // 0: greedy, the largest logit, the lowest token id among equals
  int top_k = 0;           // 0: off
  double top_p = 1;        // 1: off
  double min_p = 0;        // 0: off
  uint64_t seed = 0;
};

// The tokens of the `count` largest logits, the largest first, the lower id among equals; none of
// -infinity or NaN.
std::vector<Token> LargestLogits(std::span<const float> logits, size_t count);

// A token that may be drawn, and its chance.
struct TokenChance {
  Token token{};
  double chance = 0;
};

// What a draw at these options would choose from; chances sum to 1. One entry for greedy. Otherwise
// the softmax of logits / temperature, cut to the top_k largest, of these to the fewest largest
// whose sum reaches top_p, of these to those with at least min_p times the largest; one token
// always stays. Each cut sees the tempered distribution that the cut before left, as with vLLM and
// Transformers (llama.cpp cuts before it applies the temperature). Ties go to the lower token id; a
// logit of NaN counts as -infinity. Sums are in double precision.
// Without top_k and top_p the order is by token id, otherwise by chance, largest first, then id.
// REQUIRES: a logit that is not NaN.
std::vector<TokenChance> ShapeLogits(std::span<const float> logits, const SamplingOptions& options);

// The choice whose stretch of [0, 1) holds `coin`, where each takes a stretch as long as its
// chance, in order: over a uniform coin every token is drawn with its chance. REQUIRES: choices as
// ShapeLogits gives them; 0 <= coin < 1.
Token PickToken(std::span<const TokenChance> choices, double coin);

// The coin of the output token at `position`, from 0: uniform in [0, 1), another one for every seed
// and position.
double TokenCoin(uint64_t seed, int position);

// The target's choice at `position`: PickToken of ShapeLogits and TokenCoin.
// REQUIRES: a logit that is not NaN.
Token ChooseToken(std::span<const float> logits, const SamplingOptions& options, int position);

}  // namespace schemafill
