// Ids and rows that the engine and a model exchange.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace schemafill {

// A token of the target's vocabulary.
enum class Token : int32_t {};

// A KV sequence: the label that makes cells visible to rows. A cell may carry several.
enum class SequenceId : int32_t {};

constexpr int Index(Token token) { return static_cast<int>(token); }
constexpr int Index(SequenceId sequence) { return static_cast<int>(sequence); }

// Tokens that both begin with.
inline int CommonPrefix(std::span<const Token> a, std::span<const Token> b) {
  return static_cast<int>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// One row of a forward. It attends to itself, to the rows before it in the same forward and to all
// cells that carry its first sequence, at positions below its own. Its own cell then carries all of
// `sequences`: a tree node shared by several leaf paths carries the sequences of all of them.
struct Row {
  Token token{};
  int position = 0;  // in the sequence, from 0, consecutive in each sequence
  std::vector<SequenceId> sequences;
  bool wants_logits = true;
};

}  // namespace schemafill
