// Token recycling (Luo et al. 2024): what the target thought likely behind a token the last time it
// stood in a forward, rejected candidates included. A row of logits holds more than the choice that
// is taken from it; this keeps the rest. The paper's adjacency matrix: a row a token, kWidth wide.
// Tested by tests/draft/recycled_test.cc.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "model/types.h"

namespace schemafill {

// Not thread-safe.
class RecycledTokens {
 public:
  static constexpr size_t kWidth = 8;  // the paper's

  // The target's logits behind `token`: [vocab_size]. Takes the place of what was there.
  void Learn(Token token, std::span<const float> logits);

  // The likeliest first, at most kWidth; empty: nothing is known. Valid until the next Learn.
  std::span<const Token> Behind(Token token) const;

  // At most kWidth tokens for each of the vocabulary.
  size_t bytes() const { return behind_.size() * sizeof(Row); }

 private:
  static constexpr Token kNone{-1};
  using Row = std::array<Token, kWidth>;  // kNone behind the last one

  std::vector<Row> behind_;  // [vocab_size] from the first Learn on
};

}  // namespace schemafill
