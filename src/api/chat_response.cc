#include "api/chat_response.h"

#include <fmt/format.h>

#include "api/generation_json.h"
#include "base/utf8.h"
#include "catalog/prompt.h"

namespace schemafill {
namespace {

Json UsageJson(const GenerateStats& stats) {
  return {{"prompt_tokens", stats.prompt_tokens},
          {"completion_tokens", stats.tokens},
          {"total_tokens", stats.prompt_tokens + stats.tokens},
          {"prompt_tokens_details", {{"cached_tokens", stats.reused_tokens}}}};
}

std::string CallId(const ChatIdentity& identity, int call) {
  return fmt::format("call_{}_{}", identity.id, call);
}

Json Header(const ChatIdentity& identity, std::string_view object) {
  return {{"id", "chatcmpl-" + identity.id},
          {"object", object},
          {"created", identity.created},
          {"model", identity.model}};
}

Json MessageJson(const ChatIdentity& identity, const ChatMessage& message) {
  Json json = {{"role", "assistant"},
               {"content", message.content ? Json(*message.content) : Json()}};
  if (message.calls.empty()) return json;
  Json& calls = json["tool_calls"] = Json::array();
  for (const ToolCall& call : message.calls) {
    calls.push_back({{"id", CallId(identity, static_cast<int>(calls.size()))},
                     {"type", "function"},
                     {"function", {{"name", call.name}, {"arguments", call.arguments}}}});
  }
  return json;
}

}  // namespace

std::string_view FinishReason(StopReason stop, bool has_calls) {
  if (stop == StopReason::kLength) return "length";
  return has_calls ? "tool_calls" : "stop";
}

std::string ChatCompletion(const ChatIdentity& identity, const ChatRequest& chat,
                           const Generation& generation) {
  const std::string_view text = generation.text;
  const ChatMessage message =
      ReadMessage(text.substr(0, WholeCharacters(text)), UsesTools(chat.request),
                  !chat.request.parallel_tool_calls);
  Json json = Header(identity, "chat.completion");
  json["choices"] =
      Json::array({{{"index", 0},
                    {"message", MessageJson(identity, message)},
                    {"logprobs", nullptr},
                    {"finish_reason", FinishReason(generation.stop, !message.calls.empty())}}});
  json["usage"] = UsageJson(generation.stats);
  if (chat.with_stats) json["schemafill"] = StatsJson(generation.stats);
  return DumpLine(json);
}

ChatStream::ChatStream(ChatIdentity identity, const ChatRequest& chat)
    : identity_(std::move(identity)),
      chat_(chat),
      reader_(UsesTools(chat.request), !chat.request.parallel_tool_calls) {}

std::string ChatStream::Begin() const {
  return Event({{"role", "assistant"}, {"content", nullptr}});
}

std::string ChatStream::Feed(std::string_view text) { return Events(reader_.Feed(text)); }

std::string ChatStream::End(const Generation& generation) {
  std::string events = Events(reader_.Finish());
  events += Event(Json::object(), FinishReason(generation.stop, reader_.has_calls()),
                  chat_.with_stats ? &generation.stats : nullptr);
  if (chat_.include_usage) {
    Json chunk = Chunk();
    chunk["choices"] = Json::array();
    chunk["usage"] = UsageJson(generation.stats);
    events += ServerSentEvent(DumpLine(chunk));
  }
  return events + ServerSentEvent("[DONE]");
}

std::string ChatStream::Events(const std::vector<Delta>& deltas) const {
  std::string events;
  for (const Delta& delta : deltas) {
    if (delta.kind == Delta::Kind::kContent) {
      events += Event({{"content", delta.text}});
      continue;
    }
    Json call = {{"index", delta.call}};
    if (delta.kind == Delta::Kind::kCall) {
      call["id"] = CallId(identity_, delta.call);
      call["type"] = "function";
      call["function"] = {{"name", delta.text}, {"arguments", ""}};
    } else {
      call["function"] = {{"arguments", delta.text}};
    }
    events += Event({{"tool_calls", Json::array({std::move(call)})}});
  }
  return events;
}

std::string ChatStream::Event(Json delta, std::string_view finish_reason,
                              const GenerateStats* stats) const {
  Json chunk = Chunk();
  chunk["choices"] =
      Json::array({{{"index", 0},
                    {"delta", std::move(delta)},
                    {"logprobs", nullptr},
                    {"finish_reason", finish_reason.empty() ? Json() : Json(finish_reason)}}});
  if (chat_.include_usage) chunk["usage"] = nullptr;
  if (stats != nullptr) chunk["schemafill"] = StatsJson(*stats);
  return ServerSentEvent(DumpLine(chunk));
}

Json ChatStream::Chunk() const { return Header(identity_, "chat.completion.chunk"); }

std::string ServerSentEvent(std::string_view text) { return fmt::format("data: {}\n\n", text); }

}  // namespace schemafill
