// Candidate values for one slot: literals that the schema names, values of the same slot in earlier
// calls, of this answer and of answers before it, and spans copied from the request. Tested by
// tests/draft/values_test.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/answer.h"
#include "catalog/catalog.h"
#include "draft/recall.h"
#include "draft/source.h"

namespace schemafill {

struct ValueQuery {
  const SchemaNode* schema = nullptr;  // null: any
  std::string_view path;               // below the arguments
  std::span<const AnswerCall> calls;   // the one with the slot is the last
  size_t reached = 0;                  // how far into the source earlier values went
  std::string_view typed;  // JSON text of the value so far, from its first byte; empty: not begun
  const Recall* recall = nullptr;  // of earlier answers; null: none
};

struct ValueCandidate {
  std::string json;  // the literal, or its begin
  double probability = 0;
  bool open = false;      // only its begin: the bracket of a container, or a value that goes on
  bool recalled = false;  // from an earlier answer, and nobody else has it
};

// Every candidate starts with `typed`. Probabilities sum to at most 1; the rest is for what nobody
// guessed.
std::vector<ValueCandidate> ValueCandidates(const SourceText& source, const ValueQuery& query);

// How far into the source the values of these calls go, in order.
size_t ReachedBy(const SourceText& source, std::span<const AnswerCall> calls);
// The same after one more value.
size_t Advance(const SourceText& source, size_t reached, std::string_view json);

}  // namespace schemafill
