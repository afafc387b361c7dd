#include "catalog/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/utf8.h"

namespace schemafill {
namespace {

// Client text in a message of ours: one line, cut.
std::string Quote(std::string_view text) {
  constexpr size_t kLongest = 60;
  const std::string_view start = text.substr(0, kLongest);
  if (start.size() == text.size()) return fmt::format("\"{}\"", EscapeJson(text));
  return fmt::format("\"{}...\"", EscapeJson(start.substr(0, WholeCharacters(start))));
}

Result<std::string> ParseText(const Json& object, const char* name, std::string_view where) {
  const Json* text = Given(object, name);
  if (text == nullptr) return std::string();
  if (!text->is_string()) return BadField(fmt::format("{}.{}", where, name), "must be a string");
  return text->get<std::string>();
}

Result<Message::Role> ParseRole(const Json& message, const std::string& where) {
  constexpr std::string_view kRoles = "system, developer, user, assistant or tool";
  const Json* role = Given(message, "role");
  if (role == nullptr || !role->is_string()) {
    return BadField(where + ".role", fmt::format("must be a string: {}", kRoles));
  }
  const std::string& name = role->get_ref<const std::string&>();
  if (name == "system" || name == "developer") return Message::Role::kSystem;
  if (name == "user") return Message::Role::kUser;
  if (name == "assistant") return Message::Role::kAssistant;
  if (name == "tool" || name == "function") return Message::Role::kTool;
  return BadField(where + ".role", fmt::format("{} is not a role; use {}", Quote(name), kRoles));
}

Result<std::string> ParseContent(const Json* content, const std::string& where) {
  if (content == nullptr) return std::string();
  if (content->is_string()) return content->get<std::string>();
  if (!content->is_array()) {
    return BadField(where, "must be a string, null or a list of text parts");
  }
  std::string text;
  for (size_t i = 0; i < content->size(); ++i) {
    const Json& part = (*content)[i];
    const std::string place = fmt::format("{}[{}]", where, i);
    const Json* type = part.is_object() ? Given(part, "type") : nullptr;
    if (type == nullptr || *type != "text") {
      const std::string kind =
          type != nullptr && type->is_string() ? Quote(type->get_ref<const std::string&>()) : "it";
      return BadField(place, fmt::format("{} is not a text part; this server reads text only: "
                                         "{{\"type\": \"text\", \"text\": \"...\"}}",
                                         kind));
    }
    const Json* words = Given(part, "text");
    if (words == nullptr || !words->is_string())
      return BadField(place + ".text", "must be a string");
    text += words->get_ref<const std::string&>();
  }
  return text;
}

Result<RequestedCall> ParseCall(const Json& entry, const std::string& where) {
  if (!entry.is_object()) return BadField(where, "must be an object with id, type and function");
  const Json* function = Given(entry, "function");
  if (function == nullptr || !function->is_object()) {
    return BadField(where + ".function", "must be an object with name and arguments");
  }
  RequestedCall call;
  Result<std::string> id = ParseText(entry, "id", where);
  if (!id.ok()) return id.error();
  call.id = std::move(id).value();
  Result<std::string> name = ParseText(*function, "name", where + ".function");
  if (!name.ok()) return name.error();
  call.name = std::move(name).value();
  if (call.name.empty()) {
    return BadField(where + ".function.name", "must be a string that is not empty");
  }
  const Json* arguments = Given(*function, "arguments");
  if (arguments == nullptr) {
    call.arguments = "{}";
  } else if (arguments->is_string()) {
    call.arguments = arguments->get<std::string>();
  } else if (arguments->is_object()) {
    call.arguments = DumpSpaced(*arguments);
  } else {
    return BadField(where + ".function.arguments", "must be JSON text in a string, or an object");
  }
  return call;
}

Result<std::vector<RequestedCall>> ParseCalls(const Json* entries, const std::string& where) {
  std::vector<RequestedCall> calls;
  if (entries == nullptr) return calls;
  if (!entries->is_array()) return BadField(where, "must be a list of calls");
  for (size_t i = 0; i < entries->size(); ++i) {
    Result<RequestedCall> call = ParseCall((*entries)[i], fmt::format("{}[{}]", where, i));
    if (!call.ok()) return call.error();
    calls.push_back(std::move(call).value());
  }
  return calls;
}

Result<Message> ParseMessage(const Json& entry, const std::string& where) {
  if (!entry.is_object()) return BadField(where, "must be an object with role and content");
  Message message;
  const Result<Message::Role> role = ParseRole(entry, where);
  if (!role.ok()) return role.error();
  message.role = *role;
  Result<std::string> content = ParseContent(Given(entry, "content"), where + ".content");
  if (!content.ok()) return content.error();
  message.content = std::move(content).value();
  if (message.role == Message::Role::kAssistant) {
    Result<std::vector<RequestedCall>> calls =
        ParseCalls(Given(entry, "tool_calls"), where + ".tool_calls");
    if (!calls.ok()) return calls.error();
    message.calls = std::move(calls).value();
  }
  if (message.role == Message::Role::kTool) {
    Result<std::string> id = ParseText(entry, "tool_call_id", where);
    if (!id.ok()) return id.error();
    message.tool_call_id = std::move(id).value();
    Result<std::string> name = ParseText(entry, "name", where);
    if (!name.ok()) return name.error();
    message.tool_name = std::move(name).value();
  }
  return message;
}

// The name of the latest call of that id, empty if there is none.
std::string NameOfCall(const std::vector<Message>& messages, const std::string& id) {
  for (auto message = messages.rbegin(); message != messages.rend(); ++message) {
    for (const RequestedCall& call : message->calls) {
      if (!id.empty() && call.id == id) return call.name;
    }
  }
  return "";
}

Result<std::vector<Message>> ParseMessages(const Json* entries) {
  if (entries == nullptr || !entries->is_array() || entries->empty()) {
    return BadField("messages",
                    "must be a list of at least one message, each with role and content");
  }
  std::vector<Message> messages;
  for (size_t i = 0; i < entries->size(); ++i) {
    Result<Message> message = ParseMessage((*entries)[i], fmt::format("messages[{}]", i));
    if (!message.ok()) return message.error();
    if (message->tool_name.empty()) {
      message->tool_name = NameOfCall(messages, message->tool_call_id);
    }
    messages.push_back(std::move(message).value());
  }
  return messages;
}

Result<ToolChoice> ParseToolChoice(const Json* choice, const Catalog& catalog) {
  using Kind = ToolChoice::Kind;
  constexpr std::string_view kRemedy =
      "must be \"auto\", \"none\", \"required\" or "
      "{\"type\": \"function\", \"function\": {\"name\": \"...\"}}";
  if (choice == nullptr || *choice == "auto") return ToolChoice{};
  if (*choice == "none") return ToolChoice{.kind = Kind::kNone, .function = ""};
  if (*choice == "required") {
    if (catalog.tools.empty()) return BadField("tool_choice", "\"required\" needs a tool in tools");
    return ToolChoice{.kind = Kind::kRequired, .function = ""};
  }
  const Json* function = choice->is_object() ? Given(*choice, "function") : nullptr;
  const Json* name =
      function != nullptr && function->is_object() ? Given(*function, "name") : nullptr;
  if (name == nullptr || !name->is_string()) return BadField("tool_choice", kRemedy);
  const std::string& text = name->get_ref<const std::string&>();
  if (catalog.Find(text) < 0) {
    return BadField("tool_choice.function.name",
                    fmt::format("{} is not in tools; name one of them", Quote(text)));
  }
  return ToolChoice{.kind = Kind::kFunction, .function = text};
}

// A count from 1; one beyond int's range is as good as the largest int.
Result<std::optional<int>> ParseCount(const Json& body, const char* name) {
  const Json* count = Given(body, name);
  if (count == nullptr) return std::optional<int>();
  if (!count->is_number_integer() || *count < 1) return BadField(name, "must be an integer from 1");
  constexpr uint64_t kMost = std::numeric_limits<int>::max();
  return std::optional<int>(static_cast<int>(std::min(count->get<uint64_t>(), kMost)));
}

// -1 is how vLLM's clients say "off", 0 how llama.cpp's do.
Result<std::optional<int>> ParseTopK(const Json& body) {
  const Json* count = Given(body, "top_k");
  if (count == nullptr) return std::optional<int>();
  if (!count->is_number_integer() || *count < -1)
    return BadField("top_k", "must be an integer from 0; 0: off");
  if (*count <= 0) return std::optional<int>(0);
  return ParseCount(body, "top_k");
}

Result<std::optional<double>> ParseNumber(const Json& body, const char* name, double most) {
  const Json* number = Given(body, name);
  if (number == nullptr) return std::optional<double>();
  const bool fits = number->is_number() && *number >= 0.0 && *number <= most;
  if (!fits) return BadField(name, fmt::format("must be a number from 0 to {}", most));
  return std::optional<double>(number->get<double>());
}

// One text or a list of them.
Result<std::vector<std::string>> ParseStop(const Json* stop) {
  constexpr size_t kMost = 4;
  constexpr std::string_view kRemedy =
      "must be a string, or a list of at most 4; none of them empty";
  std::vector<std::string> texts;
  if (stop == nullptr) return texts;
  const Json list = stop->is_array() ? *stop : Json::array({*stop});
  for (const Json& text : list) {
    if (!text.is_string() || text.get_ref<const std::string&>().empty())
      return BadField("stop", kRemedy);
    texts.push_back(text.get<std::string>());
  }
  if (texts.size() > kMost) return BadField("stop", kRemedy);
  return texts;
}

// How to draw the answer's tokens, and how many.
Status ParseDecoding(const Json& body, Request& request) {
  for (const char* name : {"max_tokens", "max_completion_tokens"}) {  // the newer name wins
    const Result<std::optional<int>> count = ParseCount(body, name);
    if (!count.ok()) return count.error();
    if (count->has_value()) request.max_tokens = *count;
  }
  const Result<std::optional<double>> temperature = ParseNumber(body, "temperature", 2);
  if (!temperature.ok()) return temperature.error();
  request.temperature = *temperature;
  const Result<std::optional<double>> top_p = ParseNumber(body, "top_p", 1);
  if (!top_p.ok()) return top_p.error();
  request.top_p = *top_p;
  const Result<std::optional<int>> top_k = ParseTopK(body);
  if (!top_k.ok()) return top_k.error();
  request.top_k = *top_k;
  const Result<std::optional<double>> min_p = ParseNumber(body, "min_p", 1);
  if (!min_p.ok()) return min_p.error();
  request.min_p = *min_p;
  if (const Json* seed = Given(body, "seed")) {
    if (!seed->is_number_integer()) return BadField("seed", "must be an integer");
    request.seed = seed->is_number_unsigned() ? seed->get<uint64_t>()
                                              : static_cast<uint64_t>(seed->get<int64_t>());
  }
  Result<std::vector<std::string>> stop = ParseStop(Given(body, "stop"));
  if (!stop.ok()) return stop.error();
  request.stop = std::move(stop).value();
  const Json* choices = Given(body, "n");
  if (choices != nullptr && *choices != 1) {
    return BadField("n", "only 1 answer a request is supported; send the request several times");
  }
  return {};
}

}  // namespace

Result<Request> ParseRequest(const Json& body) {
  if (!body.is_object()) return BadInput("the request must be a JSON object with messages");
  Request request;
  Result<std::vector<Message>> messages = ParseMessages(Given(body, "messages"));
  if (!messages.ok()) return messages.error();
  request.messages = std::move(messages).value();
  if (const Json* tools = Given(body, "tools")) {
    Result<Catalog> catalog = ParseCatalog(*tools);
    if (!catalog.ok()) return catalog.error();
    request.catalog = std::move(catalog).value();
  }
  Result<ToolChoice> choice = ParseToolChoice(Given(body, "tool_choice"), request.catalog);
  if (!choice.ok()) return choice.error();
  request.tool_choice = std::move(choice).value();
  if (const Json* parallel = Given(body, "parallel_tool_calls")) {
    if (!parallel->is_boolean()) return BadField("parallel_tool_calls", "must be true or false");
    request.parallel_tool_calls = parallel->get<bool>();
  }
  const Status decoding = ParseDecoding(body, request);
  if (!decoding.ok()) return decoding.error();
  return request;
}

}  // namespace schemafill
