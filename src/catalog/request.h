// A request in our own terms, read from an OpenAI chat-completions body.
// Tested by tests/catalog/request_test.cc.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/catalog.h"
#include "json/json.h"

namespace schemafill {

struct RequestedCall {
  std::string id;
  std::string name;
  std::string arguments;  // JSON text as it came
};

struct Message {
  enum class Role { kSystem, kUser, kAssistant, kTool };
  Role role = Role::kUser;
  std::string content;               // text parts joined; empty for null or absent
  std::vector<RequestedCall> calls;  // of an assistant turn
  std::string tool_call_id;          // of a tool result
  // Of a tool result: the tool that gave it, by the message's own `name` or by the call with its
  // id in an earlier turn. Empty where neither says.
  std::string tool_name;
};

// What `tool_choice` asks for: `kRequired` and `kFunction` add to the instruction and fix how the
// answer begins (Prompt::opening), `kNone` leaves the catalog out.
struct ToolChoice {
  enum class Kind { kAuto, kNone, kRequired, kFunction };
  Kind kind = Kind::kAuto;
  std::string function;
};

struct Request {
  std::string id;  // of a data set's record; empty otherwise
  // Of a data set's record whose reference answer is known: how many calls that has. For statistics
  // and for choosing requests; no prompt and no decoder sees it.
  std::optional<int> reference_calls;
  std::vector<Message> messages;
  Catalog catalog;
  ToolChoice tool_choice;
  bool parallel_tool_calls = true;
  std::vector<std::string> stop;      // the answer ends in front of the first of these
  std::optional<int> max_tokens;      // max_completion_tokens or max_tokens, from 1
  std::optional<double> temperature;  // 0 to 2
  std::optional<int> top_k;           // from 0; 0, or -1 in the body: off
  std::optional<double> top_p;        // 0 to 1
  std::optional<double> min_p;        // 0 to 1
  std::optional<uint64_t> seed;       // a negative one is taken modulo 2^64
};

// `top_k` and `min_p` are llama.cpp's and vLLM's additions to OpenAI's fields.
// An error names the field and the remedy. Unknown fields are ignored, as OpenAI's own servers do
// with most. Null means absent in every optional field. A seed, a count or the like that is a float
// is an error.
Result<Request> ParseRequest(const Json& body);

}  // namespace schemafill
