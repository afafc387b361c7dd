// One request being decoded, and the only code that changes it. Tokens are committed one by one, so
// that an answer ends at the same token whether tokens came alone or in a block. Tested by
// tests/commit/session_test.cc.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "catalog/answer.h"
#include "model/tokenizer.h"

namespace schemafill {

enum class StopReason {
  kNone,    // goes on
  kClosed,  // the outer object closed
  kEnd,     // the model ended its turn
  kLength,  // the token limit, or the end of the context
};

std::string_view Name(StopReason reason);

struct Session {
  std::vector<Token> tokens;  // committed output; the end token, where one came, is the last
  Answer answer;              // its text, as calls
  StopReason stop = StopReason::kNone;
  int max_tokens = 0;
  // An answer in calls ends where its outer object closes. Plain chat goes on behind a brace.
  bool ends_with_object = true;
};

// Appends verified tokens until one of them ends the answer (paper 4.2: first closed outer object,
// end of sequence, limit). Returns how many were taken. REQUIRES: the session has not stopped.
int Commit(std::span<const Token> tokens, const Tokenizer& tokenizer, Session* session);

}  // namespace schemafill
