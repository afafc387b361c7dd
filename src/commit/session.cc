#include "commit/session.h"

#include <algorithm>

#include "base/check.h"
#include "base/utf8.h"

namespace schemafill {
namespace {

// Where the first stop text begins that ends in the last `news` bytes.
std::optional<size_t> FindStop(const Session& session, size_t news) {
  const std::string& text = session.answer.text();
  std::optional<size_t> first;
  for (const std::string& stop : session.stops) {
    const size_t seen = text.size() - news;
    const size_t from = seen - std::min(seen, stop.size() - 1);
    const size_t found = text.find(stop, std::max(from, session.opening));
    if (found != std::string::npos && found < first.value_or(std::string::npos)) first = found;
  }
  return first;
}

bool IsClosed(const Session& session) {
  if (session.answer.json().closed()) return true;
  return session.one_call && !session.answer.calls().empty() &&
         IsComplete(session.answer.calls().front());
}

}  // namespace

std::string_view Name(StopReason reason) {
  switch (reason) {
    case StopReason::kNone:
      return "none";
    case StopReason::kClosed:
      return "closed";
    case StopReason::kEnd:
      return "end";
    case StopReason::kStopText:
      return "stop text";
    case StopReason::kLength:
      return "length";
    case StopReason::kCancelled:
      return "cancelled";
  }
  return "";
}

std::string_view Text(const Session& session) {
  return std::string_view(session.answer.text()).substr(0, session.cut.value_or(std::string::npos));
}

std::string_view SettledText(const Session& session) {
  std::string_view text = Text(session);
  text = text.substr(0, WholeCharacters(text));
  if (session.stop != StopReason::kNone) return text;
  size_t held = 0;
  for (const std::string& stop : session.stops) {
    const std::string_view rest = text.substr(std::min(text.size(), session.opening));
    for (size_t size = std::min(stop.size() - 1, rest.size()); size > held; --size) {
      if (rest.ends_with(std::string_view(stop).substr(0, size))) held = size;
    }
  }
  return text.substr(0, text.size() - held);
}

int Commit(std::span<const Token> tokens, const Tokenizer& tokenizer, Session* session) {
  Check(session->stop == StopReason::kNone, "commit after the end of the answer");
  int taken = 0;
  for (const Token token : tokens) {
    session->tokens.push_back(token);
    const std::string_view piece = tokenizer.Piece(token);
    session->answer.Feed(piece);
    session->cut = FindStop(*session, piece.size());
    ++taken;
    if (session->cut) {
      session->stop = StopReason::kStopText;
    } else if (tokenizer.IsEnd(token)) {
      session->stop = StopReason::kEnd;
    } else if (session->ends_with_object && IsClosed(*session)) {
      session->stop = StopReason::kClosed;
    } else if (static_cast<int>(session->tokens.size()) >= session->max_tokens) {
      session->stop = StopReason::kLength;
    }
    if (session->stop != StopReason::kNone) break;
  }
  return taken;
}

}  // namespace schemafill
