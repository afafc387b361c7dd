// Answers to chat completions as OpenAI's clients read them, whole and streamed. Arguments are the
// model's own text. Tested by tests/api/chat_response_test.cc.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "api/answer_reader.h"
#include "api/chat_request.h"
#include "engine/engine.h"
#include "json/json.h"

namespace schemafill {

struct ChatIdentity {
  std::string id;       // behind "chatcmpl-" and "call_"
  int64_t created = 0;  // seconds since 1970
  std::string model;
};

// "length" wins over "tool_calls".
std::string_view FinishReason(StopReason stop, bool has_calls);

// A `chat.completion` object on one line.
std::string ChatCompletion(const ChatIdentity& identity, const ChatRequest& chat,
                           const Generation& generation);

// The same answer as server-sent events, while it grows. `chat` must outlive it.
class ChatStream {
 public:
  ChatStream(ChatIdentity identity, const ChatRequest& chat);

  // Each gives events, perhaps none: the role; what the text says (GenerateOptions::on_text); the
  // rest, finish_reason, usage where the request asks for it, and [DONE].
  std::string Begin() const;
  std::string Feed(std::string_view text);
  std::string End(const Generation& generation);

 private:
  std::string Events(const std::vector<Delta>& deltas) const;
  std::string Event(Json delta, std::string_view finish_reason = "",
                    const GenerateStats* stats = nullptr) const;
  Json Chunk() const;

  const ChatIdentity identity_;
  const ChatRequest& chat_;
  AnswerReader reader_;
};

// An event of a stream: `data: TEXT` and an empty line.
std::string ServerSentEvent(std::string_view text);

}  // namespace schemafill
