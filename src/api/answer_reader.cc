#include "api/answer_reader.h"

namespace schemafill {
namespace {

void Append(Delta::Kind kind, int call, std::string_view text, std::vector<Delta>* deltas) {
  if (text.empty() && kind != Delta::Kind::kCall) return;
  const bool joins = !deltas->empty() && kind != Delta::Kind::kCall &&
                     deltas->back().kind == kind && deltas->back().call == call;
  if (joins) {
    deltas->back().text += text;
  } else {
    deltas->push_back({kind, call, std::string(text)});
  }
}

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

}  // namespace

std::vector<Delta> AnswerReader::Feed(std::string_view text) {
  std::vector<Delta> deltas;
  if (!may_call_) {
    Append(Delta::Kind::kContent, -1, text, &deltas);
    return deltas;
  }
  for (const char c : text) Read(c, &deltas);
  return deltas;
}

std::vector<Delta> AnswerReader::Finish() {
  std::vector<Delta> deltas;
  if (calls_ == 0) Release(&deltas);
  return deltas;
}

void AnswerReader::Read(char c, std::vector<Delta>* deltas) {
  answer_.Feed(std::string_view(&c, 1));
  if (calls_ == 0) held_ += c;
  ReadCall(deltas);
  if (calls_ > 0) return;
  const Anchor anchor = answer_.json().anchor();
  const bool prose = anchor == Anchor::kProse && !IsSpace(c);
  if (prose || anchor == Anchor::kBroken || anchor == Anchor::kClosed) Release(deltas);
}

void AnswerReader::ReadCall(std::vector<Delta>* deltas) {
  const int current = answer_.current_call();
  if (current < 0 || (one_call_ && current > 0)) return;
  const AnswerCall& call = answer_.calls()[static_cast<size_t>(current)];
  if (current != current_) {
    const std::optional<size_t> begin = ArgumentsBegin();
    if (call.name.empty() || !begin) return;
    current_ = current;
    told_ = *begin;
    ended_ = false;
    held_.clear();
    Append(Delta::Kind::kCall, calls_++, call.name, deltas);
  }
  if (ended_) return;
  ended_ = IsComplete(call);
  const size_t end = ended_ ? call.arguments_end : answer_.text().size();
  const std::string_view text = answer_.text();
  Append(Delta::Kind::kArguments, calls_ - 1, text.substr(told_, end - told_), deltas);
  told_ = end;
}

void AnswerReader::Release(std::vector<Delta>* deltas) {
  Append(Delta::Kind::kContent, -1, held_, deltas);
  held_.clear();
}

// Of the answer's last call. Arguments that are no object show at their end.
std::optional<size_t> AnswerReader::ArgumentsBegin() const {
  const AnswerCall& call = answer_.calls().back();
  if (call.arguments_end != call.arguments_begin) return call.arguments_begin;
  if (answer_.place() != Place::kArguments) return std::nullopt;
  return answer_.json().frames()[answer_.arguments_depth()].begin;
}

ChatMessage ReadMessage(std::string_view text, bool may_call, bool one_call) {
  AnswerReader reader(may_call, one_call);
  ChatMessage message;
  std::string content;
  std::vector<Delta> deltas = reader.Feed(text);
  for (Delta& delta : reader.Finish()) deltas.push_back(std::move(delta));
  for (Delta& delta : deltas) {
    if (delta.kind == Delta::Kind::kContent) content += delta.text;
    if (delta.kind == Delta::Kind::kCall) message.calls.push_back({std::move(delta.text), ""});
    if (delta.kind == Delta::Kind::kArguments) message.calls.back().arguments += delta.text;
  }
  if (!content.empty() || message.calls.empty()) message.content = std::move(content);
  return message;
}

}  // namespace schemafill
