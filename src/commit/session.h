// One request being decoded, and the only code that changes it. Tokens are committed one by one, so
// that an answer ends at the same token whether tokens came alone or in a block. Tested by
// tests/commit/session_test.cc.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/answer.h"
#include "model/tokenizer.h"

namespace schemafill {

enum class StopReason {
  kNone,       // goes on
  kClosed,     // the outer object closed, or the one call that was asked for
  kEnd,        // the model ended its turn
  kStopText,   // a text that the request names came
  kLength,     // the token limit, or the end of the context
  kCancelled,  // nobody wants the answer any more
};

std::string_view Name(StopReason reason);

struct Session {
  std::vector<Token> tokens;  // committed output; the end token, where one came, is the last
  Answer answer;              // its text, as calls: the given opening, then the tokens'
  StopReason stop = StopReason::kNone;
  int max_tokens = 0;
  // An answer in calls ends where its outer object closes. Plain chat goes on behind a brace.
  bool ends_with_object = true;
  bool one_call = false;           // such an answer ends behind its first call
  std::vector<std::string> stops;  // texts that end it, beginning behind the opening
  size_t opening = 0;              // bytes of the given opening
  // Bytes of the answer's text in front of the stop text that came.
  std::optional<size_t> cut{};
};

// The answer's text without what a stop text cut off.
std::string_view Text(const Session& session);

// The part of it that stays as it is whatever comes next: whole characters, and while the answer
// goes on, nothing that may be the beginning of a stop text.
std::string_view SettledText(const Session& session);

// Appends verified tokens until one of them ends the answer (paper 4.2: first closed outer object,
// end of sequence, limit; and a stop text). Returns how many were taken. REQUIRES: the session has
// not stopped.
int Commit(std::span<const Token> tokens, const Tokenizer& tokenizer, Session* session);

}  // namespace schemafill
