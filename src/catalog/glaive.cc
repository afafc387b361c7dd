#include "catalog/glaive.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

namespace schemafill {
namespace {

constexpr std::string_view kUser = "USER:";
constexpr std::string_view kAssistant = "ASSISTANT:";
constexpr std::string_view kResponse = "FUNCTION RESPONSE:";
constexpr std::string_view kCall = "<functioncall>";
constexpr std::string_view kEndOfText = "<|endoftext|>";

// The functions in `text`, and what stands behind them.
struct Functions {
  Json list = Json::array();
  std::string_view rest;
};

// Functions follow each other from the first brace on. `field` is for messages.
Result<Functions> ReadFunctions(std::string_view text, const char* field) {
  Functions functions;
  functions.rest = text.substr(std::min(text.find('{'), text.size()));
  while (functions.rest.starts_with('{')) {
    const size_t size = std::min(BracketedSize(functions.rest), functions.rest.size());
    const std::string what = fmt::format("{}: function {}", field, functions.list.size() + 1);
    Result<Json> function = ParseJson(functions.rest.substr(0, size), what);
    if (!function.ok()) return function.error();
    functions.list.push_back(std::move(function).value());
    functions.rest = Trim(functions.rest.substr(size));
  }
  return functions;
}

// The text between single quotes behind "arguments", as a JSON string: so the call is JSON.
std::string Requoted(std::string_view call) {
  constexpr std::string_view kKey = "\"arguments\"";
  const size_t key = call.find(kKey);
  const size_t colon = call.find(':', std::min(key, call.size()));
  const size_t open = call.find_first_not_of(" \t\r\n:", std::min(colon, call.size()));
  const size_t close = call.rfind('\'');
  if (open >= call.size() || call[open] != '\'' || close <= open) return std::string(call);
  return fmt::format("{}\"{}\"{}", call.substr(0, open),
                     EscapeJson(call.substr(open + 1, close - open - 1)), call.substr(close + 1));
}

std::string Replaced(std::string text, std::string_view from, std::string_view to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

bool IsObject(const std::string& text) {
  const Result<Json> json = ParseJson(text, "");
  return json.ok() && json->is_object();
}

// The arguments' JSON text as the call means it.
std::optional<std::string> ArgumentsOf(const Json& call) {
  const Json* arguments = Given(call, "arguments");
  if (arguments == nullptr) return "{}";
  if (arguments->is_object()) return DumpSpaced(*arguments);
  if (!arguments->is_string()) return {};
  std::string text(Trim(arguments->get_ref<const std::string&>()));
  if (IsObject(text)) return text;
  text = Replaced(std::move(text), "\\'", "'");
  if (IsObject(text)) return text;
  text = Replaced(std::move(text), "\\\\", "\\");
  if (IsObject(text)) return text;
  return {};
}

// The text behind a `<functioncall>` as an OpenAI call.
Result<Json> ReadCall(std::string_view text, const Json& functions) {
  Result<Json> call = ParseJson(text, "call");
  if (!call.ok()) call = ParseJson(Requoted(text), "call");
  if (!call.ok()) return call;
  if (!call->is_object()) return BadInput("call: must be an object with name and arguments");
  const Json* name = Given(*call, "name");
  if (name == nullptr || !name->is_string()) return BadInput("name: must be a string");
  const bool described = std::any_of(functions.begin(), functions.end(), [&](const Json& tool) {
    return tool.is_object() && tool.contains("name") && tool["name"] == *name;
  });
  if (!described) {
    return BadInput(
        fmt::format("name: {} is none of the functions that are described", DumpLine(*name)));
  }
  std::optional<std::string> arguments = ArgumentsOf(*call);
  if (!arguments) return BadInput("arguments: must be a JSON object, in single quotes or not");
  return Json{{"type", "function"},
              {"function", {{"name", *name}, {"arguments", *std::move(arguments)}}}};
}

// An ASSISTANT turn as a message.
Result<Json> ReadAssistant(std::string_view text, const Json& functions) {
  size_t call = text.find(kCall);
  Json message = {{"role", "assistant"}, {"content", Trim(text.substr(0, call))}};
  while (call != std::string_view::npos) {
    const size_t begin = call + kCall.size();
    call = text.find(kCall, begin);
    Result<Json> read = ReadCall(Trim(text.substr(begin, call - begin)), functions);
    if (!read.ok()) return read;
    message["tool_calls"].push_back(std::move(read).value());
  }
  return message;
}

Result<Json> ReadTurn(const MarkedText::Turn& turn, std::string_view called,
                      const Json& functions) {
  std::string text(turn.text);
  text = Trim(Replaced(std::move(text), kEndOfText, ""));
  if (turn.marker == kAssistant) return ReadAssistant(text, functions);
  if (turn.marker == kUser) return Json{{"role", "user"}, {"content", text}};
  return Json{{"role", "tool"}, {"name", called}, {"content", text}};
}

Result<std::vector<DataRequest>> ReadChat(std::string_view chat, const Json& functions,
                                          const char* field, std::string_view name) {
  const MarkedText marked = SplitTurns(chat, {kUser, kAssistant, kResponse});
  if (!marked.before.empty() || marked.turns.empty()) {
    return BadInput(
        fmt::format("{}: turns must begin with {} {} or {}", field, kUser, kAssistant, kResponse));
  }
  std::vector<DataRequest> requests;
  Json messages = Json::array();
  std::string called;  // the function that the last call named
  for (size_t i = 0; i < marked.turns.size(); ++i) {
    Result<Json> message = ReadTurn(marked.turns[i], called, functions);
    if (!message.ok()) {
      return BadInput(fmt::format("{}: turn {}: {}", field, i + 1, message.error().message));
    }
    if (const Json* calls = Given(*message, "tool_calls")) {
      called = calls->back()["function"]["name"].get<std::string>();
      requests.push_back({.id = fmt::format("{}.{}", name, requests.size() + 1),
                          .body = {{"messages", messages}, {"tools", functions}},
                          .reference_calls = static_cast<int>(calls->size())});
    }
    messages.push_back(std::move(message).value());
  }
  return requests;
}

}  // namespace

Result<std::vector<DataRequest>> GlaiveRequests(const Json& record, std::string_view name) {
  const char* field = record.contains("sample") ? "sample" : "system";
  const Json* system = Given(record, field);
  if (system == nullptr || !system->is_string()) {
    return BadInput(fmt::format("{}: must be a string", field));
  }
  const Result<Functions> functions = ReadFunctions(system->get_ref<const std::string&>(), field);
  if (!functions.ok()) return functions.error();
  if (record.contains("sample")) return ReadChat(functions->rest, functions->list, field, name);
  if (!functions->rest.empty()) {
    return BadInput("system: must end with the functions, each a JSON object");
  }
  const Json* chat = Given(record, "chat");
  if (chat == nullptr || !chat->is_string()) return BadInput("chat: must be a string");
  return ReadChat(chat->get_ref<const std::string&>(), functions->list, "chat", name);
}

}  // namespace schemafill
