#include "catalog/api_bank.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <string>
#include <utility>

#include "base/lines.h"

namespace schemafill {
namespace {

constexpr std::string_view kUser = "User:";
constexpr std::string_view kAssistant = "AI:";
constexpr std::string_view kCall = "API-Request:";
constexpr std::string_view kDecide = "Generate API Request:";
constexpr std::string_view kRespond = "Generate AI Response:";

// The member of the first name that is given; null without one.
const Json* GivenOf(const Json& object, const char* name, const char* other) {
  const Json* member = Given(object, name);
  return member != nullptr ? member : Given(object, other);
}

Result<std::string_view> Text(const Json& record, const char* name, const char* other) {
  const Json* text = GivenOf(record, name, other);
  if (text == nullptr || !text->is_string()) {
    return BadInput(fmt::format("{}: must be a string", name));
  }
  return std::string_view(text->get_ref<const std::string&>());
}

// An API's description as an OpenAI function.
Result<Json> ReadDescription(std::string_view line, const std::string& where) {
  const Result<Json> api = ParseJson(line, where);
  if (!api.ok()) return api;
  const Json* name = api->is_object() ? GivenOf(*api, "name", "apiCode") : nullptr;
  if (name == nullptr || !name->is_string()) {
    return BadInput(where + ": must be an object whose name is a string");
  }
  Json function = {{"name", *name}};
  if (const Json* description = Given(*api, "description")) function["description"] = *description;
  if (const Json* parameters = GivenOf(*api, "input_parameters", "parameters")) {
    if (!parameters->is_object()) return BadInput(where + ": input_parameters: must be an object");
    function["parameters"] = {{"type", "object"}, {"properties", *parameters}};
  }
  return function;
}

// Adds the descriptions in `text`, its lines that begin with a brace. `field` is for messages.
Status AddDescriptions(std::string_view text, const char* field, Json& functions) {
  for (Lines lines(text); lines.Next();) {
    const std::string_view line = Trim(lines.line());
    if (!line.starts_with('{')) continue;
    Result<Json> function =
        ReadDescription(line, fmt::format("{}: API description {}", field, functions.size() + 1));
    if (!function.ok()) return function.error();
    functions.push_back(std::move(function).value());
  }
  return {};
}

// "The current year is 2023.", unless it is a template's.
std::string_view CurrentTime(std::string_view instruction) {
  for (Lines lines(instruction); lines.Next();) {
    const std::string_view line = Trim(lines.line());
    if (line.starts_with("The current ") && line.find("{{") == std::string_view::npos) return line;
  }
  return {};
}

// A turn `API-Request: [...]->result` as the call and its result.
Status AddCall(std::string_view text, Json& messages) {
  constexpr std::string_view kArrow = ")]->";
  const size_t arrow = text.find(kArrow);
  if (arrow == std::string_view::npos) return BadInput("API-Request: has no `)]->` and result");
  const Result<Json> call = ParseApiCall(text.substr(0, arrow + 2));
  if (!call.ok()) return call.error();
  messages.push_back({{"role", "assistant"},
                      {"content", nullptr},
                      {"tool_calls", Json::array({{{"type", "function"}, {"function", *call}}})}});
  messages.push_back({{"role", "tool"},
                      {"name", (*call)["name"]},
                      {"content", Trim(text.substr(arrow + kArrow.size()))}});
  return {};
}

Result<Json> ReadMessages(const std::vector<MarkedText::Turn>& turns, std::string_view system) {
  Json messages = Json::array();
  if (!system.empty()) messages.push_back({{"role", "system"}, {"content", system}});
  for (size_t i = 0; i < turns.size(); ++i) {
    if (turns[i].marker == kUser || turns[i].marker == kAssistant) {
      const char* role = turns[i].marker == kUser ? "user" : "assistant";
      messages.push_back({{"role", role}, {"content", turns[i].text}});
    } else if (turns[i].marker == kCall) {
      const Status added = AddCall(turns[i].text, messages);
      if (!added.ok()) {
        return BadInput(fmt::format("input: turn {}: {}", i + 1, added.error().message));
      }
    }
  }
  return messages;
}

// The end of the argument value that begins `text`: the comma in front of the next key, or the end.
size_t ValueEnd(std::string_view text) {
  const bool quoted = text.starts_with('\'') || text.starts_with('"');
  for (size_t comma = text.find(','); comma != std::string_view::npos;
       comma = text.find(',', comma + 1)) {
    if (quoted && (comma < 2 || text[comma - 1] != text.front())) continue;
    const std::string_view next = Trim(text.substr(comma + 1));
    const size_t equals = next.find('=');
    const auto is_word = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    if (equals != std::string_view::npos && equals > 0 &&
        std::all_of(next.begin(), next.begin() + static_cast<std::ptrdiff_t>(equals), is_word)) {
      return comma;
    }
  }
  return text.size();
}

Json ReadValue(std::string_view text) {
  const char quote = text.empty() ? '\0' : text.front();
  if ((quote == '\'' || quote == '"') && text.size() > 1 && text.back() == quote) {
    return text.substr(1, text.size() - 2);
  }
  if (text == "True" || text == "False") return text == "True";
  if (text == "None") return nullptr;
  Result<Json> json = ParseJson(text, "");
  return json.ok() ? std::move(json).value() : Json(text);
}

}  // namespace

Result<Json> ParseApiCall(std::string_view text) {
  text = Trim(text);
  const size_t open = text.find('(');
  if (!text.starts_with('[') || !text.ends_with(")]") || open == std::string_view::npos) {
    return BadInput("an API call must read [Name(key='value', ...)]");
  }
  Json call = {{"name", Trim(text.substr(1, open - 1))}, {"arguments", Json::object()}};
  std::string_view rest = Trim(text.substr(open + 1, text.size() - 2 - (open + 1)));
  while (!rest.empty()) {
    const size_t equals = rest.find('=');
    if (equals == std::string_view::npos) {
      return BadInput(fmt::format("an API call's arguments must read key='value', not {}",
                                  DumpLine(Json(rest))));
    }
    const std::string key(Trim(rest.substr(0, equals)));
    rest = Trim(rest.substr(equals + 1));
    const size_t end = ValueEnd(rest);
    call["arguments"][key] = ReadValue(Trim(rest.substr(0, end)));
    rest = Trim(rest.substr(std::min(end + 1, rest.size())));
  }
  return call;
}

Result<std::vector<DataRequest>> ApiBankRequests(const Json& record, std::string_view name) {
  const Result<std::string_view> instruction = Text(record, "instruction", "instruction");
  if (!instruction.ok()) return instruction.error();
  const Result<std::string_view> input = Text(record, "input", "input");
  if (!input.ok()) return input.error();
  const Result<std::string_view> output = Text(record, "expected_output", "output");
  if (!output.ok()) return output.error();
  const MarkedText marked = SplitTurns(*input, {kUser, kAssistant, kCall, kDecide, kRespond});
  if (marked.turns.empty() ||
      (marked.turns.back().marker != kDecide && marked.turns.back().marker != kRespond)) {
    return BadInput(fmt::format("input: must end with {} or {}", kDecide, kRespond));
  }
  if (marked.turns.back().marker == kRespond) return std::vector<DataRequest>();
  Json functions = Json::array();
  Status added = AddDescriptions(*instruction, "instruction", functions);
  if (added.ok()) added = AddDescriptions(marked.before, "input", functions);
  if (!added.ok()) return added.error();
  if (functions.empty()) {
    return BadInput("instruction: has no API descriptions, and input doesn't begin with any");
  }
  Result<Json> messages = ReadMessages(marked.turns, CurrentTime(*instruction));
  if (!messages.ok()) return messages.error();
  std::string_view answer = Trim(*output);
  if (answer.starts_with(kCall)) answer.remove_prefix(kCall.size());
  const Result<Json> call = ParseApiCall(answer);
  if (!call.ok()) return BadInput("expected_output: " + call.error().message);

  const Json* file = Given(record, "file");
  const Json* id = Given(record, "id");
  const bool has_id = file != nullptr && file->is_string() && id != nullptr;
  std::vector<DataRequest> requests(1);
  requests[0].id = has_id ? fmt::format("{}#{}", file->get<std::string>(), id->dump()) : name;
  requests[0].body["messages"] = std::move(messages).value();
  requests[0].body["tools"] = std::move(functions);
  requests[0].reference_calls = 1;
  return requests;
}

}  // namespace schemafill
