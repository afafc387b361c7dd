#include "catalog/answer.h"

#include <algorithm>

#include "json/json.h"

namespace schemafill {
namespace {

bool IsArgumentsKey(std::string_view key) { return key == "arguments" || key == "parameters"; }

// Where a value stands as seen from its call: tool_calls[].arguments.city is `arguments.city`, one
// level below the call's own values.
struct ValueInCall {
  bool listed = false;  // otherwise seen from the outer object
  std::string_view path;
  size_t depth = 0;
};

ValueInCall SeenFromCall(const JsonValue& value) {
  const std::string_view path = value.path;
  for (const auto& [prefix, depth] : {std::pair(std::string_view("tool_calls[]."), size_t{3}),
                                      std::pair(std::string_view("[]."), size_t{2})}) {
    // Keys with dots and brackets in them may look like a path; the depth tells.
    if (path.starts_with(prefix) && value.depth >= depth)
      return {true, path.substr(prefix.size()), value.depth - depth};
  }
  return {false, path, value.depth - std::min<size_t>(value.depth, 1)};
}

}  // namespace

void Answer::Feed(std::string_view text) {
  for (const char c : text) {
    const size_t depth = json_.frames().size();
    text_ += c;
    json_.Feed(std::string_view(&c, 1));
    BeginCall(depth);
    Take(json_.TakeValues());
  }
}

// A listed call begins with its brace, a bare one with its first key.
void Answer::BeginCall(size_t depth_before) {
  const std::vector<JsonFrame>& frames = json_.frames();
  if (frames.size() > depth_before) {
    if (frames.size() > 1 && CallDepth() == depth_before) calls_.emplace_back();
    return;
  }
  if (!calls_.empty() || json_.anchor() != Anchor::kKey || frames.size() != 1) return;
  if (frames[0].key() != "name" && !IsArgumentsKey(frames[0].key())) return;
  bare_ = true;
  calls_.emplace_back();
}

void Answer::FinishScalar() {
  json_.FinishScalar();
  Take(json_.TakeValues());
}

void Answer::Take(std::vector<JsonValue> values) {
  for (const JsonValue& value : values) {
    const ValueInCall seen = SeenFromCall(value);
    if (calls_.empty() || (!seen.listed && !bare_)) continue;
    AnswerCall& call = seen.listed ? calls_.back() : calls_.front();
    const auto raw = [&] { return text_.substr(value.begin, value.end - value.begin); };
    if (seen.depth == 0 && seen.path == "name" && value.is_string) {
      call.name = UnescapeJson(raw().substr(1, value.end - value.begin - 2));
    } else if (seen.depth == 0 && IsArgumentsKey(seen.path)) {
      call.arguments_begin = value.begin;
      call.arguments_end = value.end;
    } else if (seen.depth > 0 && !value.is_container &&
               IsArgumentsKey(seen.path.substr(0, seen.path.find('.')))) {
      call.fields.push_back({std::string(seen.path.substr(seen.path.find('.') + 1)), raw()});
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
  return bare_ ? 0 : kNowhere;
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
  const bool list = frames.size() == 2 && frames[0].key() == "tool_calls" && !frames[1].is_object;
  return list ? Place::kCalls : Place::kElsewhere;
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
    if (!IsComplete(call)) continue;
    std::string arguments =
        answer.text().substr(call.arguments_begin, call.arguments_end - call.arguments_begin);
    if (Json::accept(arguments)) calls.push_back({call.name, std::move(arguments)});
  }
  return calls;
}

}  // namespace schemafill
