#include "commit/session.h"

#include "base/check.h"

namespace schemafill {

std::string_view Name(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return "none";
    case StopReason::kClosed:
      return "closed";
    case StopReason::kEnd:
      return "end";
    case StopReason::kLength:
      return "length";
  }
  return "";
}

int Commit(std::span<const Token> tokens, const Tokenizer& tokenizer, Session* session) {
  Check(session->stop == StopReason::kNone, "commit after the end of the answer");
  int taken = 0;
  for (const Token token : tokens) {
    session->tokens.push_back(token);
    session->answer.Feed(tokenizer.Piece(token));
    ++taken;
    if (tokenizer.IsEnd(token)) {
      session->stop = StopReason::kEnd;
    } else if (session->ends_with_object && session->answer.json().closed()) {
      session->stop = StopReason::kClosed;
    } else if (static_cast<int>(session->tokens.size()) >= session->max_tokens) {
      session->stop = StopReason::kLength;
    }
    if (session->stop != StopReason::kNone) break;
  }
  return taken;
}

}  // namespace schemafill
