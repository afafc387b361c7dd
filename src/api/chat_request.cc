#include "api/chat_request.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>

namespace schemafill {
namespace {

// Read here or by ParseRequest.
constexpr auto kRead = std::to_array<std::string_view>(
    {"messages", "tools", "tool_choice", "parallel_tool_calls", "max_tokens",
     "max_completion_tokens", "temperature", "top_p", "top_k", "min_p", "seed", "stop", "n",
     "model", "stream", "stream_options", "schemafill"});

// Whatever they say, the answer is the same.
constexpr auto kWithoutEffect = std::to_array<std::string_view>(
    {"user", "metadata", "store", "service_tier", "safety_identifier", "prompt_cache_key"});

// Not supported, but for the value that asks for nothing.
struct Neutral {
  std::string_view field;
  std::string_view value;
};
constexpr auto kNeutral = std::to_array<Neutral>({
    {"logprobs", "false"},
    {"top_logprobs", "0"},
    {"frequency_penalty", "0"},
    {"presence_penalty", "0"},
    {"logit_bias", "{}"},
    {"response_format", R"({"type":"text"})"},
    {"modalities", R"(["text"])"},
});

template <typename Names>
bool Holds(const Names& names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

Status CheckFields(const Json& body) {
  for (const auto& [name, value] : body.items()) {
    if (value.is_null() || Holds(kRead, name) || Holds(kWithoutEffect, name)) continue;
    const auto neutral = std::find_if(kNeutral.begin(), kNeutral.end(),
                                      [&](const Neutral& one) { return one.field == name; });
    if (neutral == kNeutral.end())
      return BadField(name, "this server doesn't know the field; leave it out");
    if (value != Json::parse(neutral->value))
      return BadField(name, fmt::format("not supported; leave it out, or send {}", neutral->value));
  }
  return {};
}

// What ParseRequest passes over in messages and tools.
Status CheckParts(const Json& body) {
  const Json& messages = body["messages"];
  for (size_t i = 0; i < messages.size(); ++i) {
    for (const char* name : {"audio", "function_call"}) {
      if (Given(messages[i], name) != nullptr)
        return BadField(fmt::format("messages[{}].{}", i, name), "not supported; leave it out");
    }
  }
  const Json* tools = Given(body, "tools");
  for (size_t i = 0; tools != nullptr && i < tools->size(); ++i) {
    const Json* function = Given((*tools)[i], "function");
    const Json* strict = function != nullptr ? Given(*function, "strict") : nullptr;
    if (strict != nullptr && *strict != false)
      return BadField(fmt::format("tools[{}].function.strict", i),
                      "answers are never constrained; leave it out, or send false");
  }
  return {};
}

Result<bool> ParseFlag(const Json& object, const char* name, const std::string& field) {
  const Json* flag = Given(object, name);
  if (flag == nullptr) return false;
  if (!flag->is_boolean()) return BadField(field, "must be true or false");
  return flag->get<bool>();
}

Status ParseStreaming(const Json& body, ChatRequest* chat) {
  const Result<bool> stream = ParseFlag(body, "stream", "stream");
  if (!stream) return stream.error();
  chat->stream = *stream;
  const Json* options = Given(body, "stream_options");
  if (options == nullptr) return {};
  if (!options->is_object()) return BadField("stream_options", "must be an object");
  if (!chat->stream) return BadField("stream_options", "goes with \"stream\": true");
  for (const auto& [name, value] : options->items()) {
    if (name != "include_usage" && name != "include_obfuscation")
      return BadField("stream_options." + name, "this server doesn't know the field; leave it out");
  }
  const Result<bool> usage = ParseFlag(*options, "include_usage", "stream_options.include_usage");
  if (!usage) return usage.error();
  chat->include_usage = *usage;
  return {};
}

}  // namespace

Result<ChatRequest> ParseChatRequest(const Json& body) {
  Result<Request> request = ParseRequest(body);
  if (!request) return request.error();
  ChatRequest chat{.request = std::move(*request), .model = ""};
  if (const Status fields = CheckFields(body); !fields) return fields.error();
  if (const Status parts = CheckParts(body); !parts) return parts.error();
  if (const Status streaming = ParseStreaming(body, &chat); !streaming) return streaming.error();
  const Result<bool> stats = ParseFlag(body, "schemafill", "schemafill");
  if (!stats) return stats.error();
  chat.with_stats = *stats;
  if (const Json* model = Given(body, "model")) {
    if (!model->is_string()) return BadField("model", "must be a string");
    chat.model = model->get<std::string>();
  }
  return chat;
}

}  // namespace schemafill
