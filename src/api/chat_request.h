// The body of POST /v1/chat/completions. What this server doesn't do is refused by name; nothing is
// ignored that would change the answer. Tested by tests/api/chat_request_test.cc.
#pragma once

#include <string>

#include "base/result.h"
#include "catalog/request.h"
#include "json/json.h"

namespace schemafill {

struct ChatRequest {
  Request request;
  std::string model;  // as the client names it; empty: whichever there is
  bool stream = false;
  bool include_usage = false;  // a last chunk of a stream with the usage
  bool with_stats = false;     // a `schemafill` object in the answer
};

// An error names the field and the remedy.
Result<ChatRequest> ParseChatRequest(const Json& body);

}  // namespace schemafill
