// From one row of logits to the target's choice of the next token. The choice depends on the
// logits, the options and the token's position alone, never on how the row was computed, so that
// drafted and plain decoding choose alike at any temperature: a drafted token is kept exactly when
// it is the one that plain decoding would have drawn there.
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

// The target's choice. `position` is the index of the output token, from 0; with the seed it keys
// the coin.
// REQUIRES: a logit that is not NaN.
Token ChooseToken(std::span<const float> logits, const SamplingOptions& options, int position);

}  // namespace schemafill
