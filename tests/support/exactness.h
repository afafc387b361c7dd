// Compares forwards of many rows with plain decoding, bit by bit, on any target.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <vector>

#include "model/target_model.h"

namespace schemafill::testing {

using LogitsRow = std::vector<float>;

inline constexpr SequenceId kMain{0};

// Any tokens will do; `salt` makes other ones.
inline Token TokenAt(const TargetModel& model, int position, int salt = 0) {
  return Token{(23 + position * 37 + salt * 101) % model.info().vocab_size};
}

inline std::vector<Token> TokensAt(const TargetModel& model, int first, int count, int salt = 0) {
  std::vector<Token> tokens;
  for (int i = 0; i < count; ++i) tokens.push_back(TokenAt(model, first + i, salt));
  return tokens;
}

inline LogitsRow CopyLogits(const TargetModel& model, int row) {
  const std::span<const float> logits = model.Logits(row);
  return {logits.begin(), logits.end()};
}

inline bool SameBits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

inline void DropAll(TargetModel& model) {
  for (int i = 0; i < model.info().max_sequences; ++i) model.Drop(SequenceId{i}, 0, -1);
}

// Takes in `prompt` behind an empty cache, in forwards of `chunk` tokens (0: as the model likes).
inline void TakeIn(TargetModel& model, std::span<const Token> prompt, int chunk = 0) {
  DropAll(model);
  if (chunk == 0) chunk = static_cast<int>(prompt.size());
  for (size_t start = 0; start < prompt.size(); start += chunk) {
    const size_t count = std::min<size_t>(chunk, prompt.size() - start);
    model.Prefill(prompt.subspan(start, count), static_cast<int>(start), kMain);
  }
}

// Plain decoding: the logits of each of `tokens` behind what the cache holds, one row a forward.
inline std::vector<LogitsRow> DecodeAlone(TargetModel& model, std::span<const Token> tokens,
                                          int position) {
  std::vector<LogitsRow> rows;
  for (const Token token : tokens) {
    const Row row{.token = token, .position = position++, .sequences = {kMain}};
    model.Forward({&row, 1});
    rows.push_back(CopyLogits(model, 0));
  }
  return rows;
}

}  // namespace schemafill::testing
