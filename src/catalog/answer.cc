#include "catalog/answer.h"

#include <algorithm>

#include "json/json.h"

namespace schemafill {
namespace {

bool IsArgumentsKey(std::string_view key) { return key == "arguments" || key == "parameters"; }

bool HasKey(const JsonFrame& frame, std::string_view key) {
  return std::find(frame.keys.begin(), frame.keys.end(), key) != frame.keys.end();
}

// `path` without the part that leads to a call, or npos as a whole if it leads to none:
// "tool_calls[].name" -> "name".
bool StripCallPath(std::string_view path, std::string_view* rest) {
  for (const std::string_view prefix :
       {std::string_view("tool_calls[]."), std::string_view("[].")}) {
    if (path.starts_with(prefix)) {
      *rest = path.substr(prefix.size());
      return true;
    }
  }
  *rest = path;
  return !path.starts_with("tool_calls");
}

std::string Unquote(std::string_view raw) {
  const Json value = Json::parse(raw, nullptr, false);
  return value.is_string() ? value.get<std::string>() : std::string(raw);
}

}  // namespace

void Answer::Feed(std::string_view text) {
  for (const char c : text) {
    const size_t depth = json_.frames().size();
    text_ += c;
    json_.Feed(std::string_view(&c, 1));
    const bool opened = json_.frames().size() > depth && CallDepth() == depth;
    if (opened && !(depth == 0 && json_.frames()[0].is_object)) calls_.emplace_back();
    Take(json_.TakeValues());
  }
}

void Answer::FinishScalar() {
  json_.FinishScalar();
  Take(json_.TakeValues());
}

void Answer::Take(std::vector<JsonValue> values) {
  for (const JsonValue& value : values) {
    std::string_view path;
    if (value.path.empty() || !StripCallPath(value.path, &path)) continue;
    const std::string raw = text_.substr(value.begin, value.end - value.begin);
    if (path == "name" && value.is_string) {
      if (calls_.empty()) calls_.emplace_back();  // a bare call begins with its name
      calls_.back().name = Unquote(raw);
    } else if (calls_.empty()) {
      continue;
    } else if (IsArgumentsKey(path)) {
      calls_.back().arguments_begin = value.begin;
      calls_.back().arguments_end = value.end;
    } else if (!value.is_container &&
               (path.starts_with("arguments.") || path.starts_with("parameters."))) {
      calls_.back().fields.push_back({std::string(path.substr(path.find('.') + 1)), raw});
    }
  }
}

size_t Answer::CallDepth() const {
  const std::vector<JsonFrame>& frames = json_.frames();
  if (frames.empty()) return kNowhere;
  if (!frames[0].is_object) return frames.size() > 1 && frames[1].is_object ? 1 : kNowhere;
  if (frames[0].key() == "tool_calls") {
    const bool inside = frames.size() > 2 && !frames[1].is_object && frames[2].is_object;
    return inside ? 2 : kNowhere;
  }
  return HasKey(frames[0], "name") ? 0 : kNowhere;
}

Place Answer::place() const {
  const std::vector<JsonFrame>& frames = json_.frames();
  if (json_.anchor() == Anchor::kProse) return Place::kProse;
  if (json_.anchor() == Anchor::kBroken || json_.closed()) return Place::kElsewhere;
  const size_t call = CallDepth();
  if (call != kNowhere) {
    if (frames.size() == call + 1) return Place::kCall;
    const bool arguments = IsArgumentsKey(frames[call].key()) && frames[call + 1].is_object;
    return arguments ? Place::kArguments : Place::kElsewhere;
  }
  if (frames.size() == 1) return frames[0].is_object ? Place::kRoot : Place::kCalls;
  return frames.size() == 2 && frames[0].key() == "tool_calls" ? Place::kCalls : Place::kElsewhere;
}

std::string Answer::argument_path() const {
  std::string path;
  const std::vector<JsonFrame>& frames = json_.frames();
  for (size_t i = arguments_depth(); i < frames.size(); ++i) {
    if (!frames[i].is_object) {
      path += "[]";
      continue;
    }
    if (!path.empty()) path += '.';
    path += frames[i].key();
  }
  return path;
}

std::vector<ToolCall> CompleteCalls(const Answer& answer) {
  std::vector<ToolCall> calls;
  for (const AnswerCall& call : answer.calls()) {
    if (call.name.empty() || call.arguments_end == call.arguments_begin) continue;
    std::string arguments =
        answer.text().substr(call.arguments_begin, call.arguments_end - call.arguments_begin);
    if (Json::accept(arguments)) calls.push_back({call.name, std::move(arguments)});
  }
  return calls;
}

}  // namespace schemafill
