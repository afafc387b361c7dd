// The answer as calls while it grows: which tool, which arguments, and where among them the text
// stands. Understood are {"tool_calls": [{"name": ..., "arguments": {...}}, ...]}, a bare list of
// calls and a bare call; anything else is an answer without calls. Copies are cheap enough to try a
// continuation out. Tested by tests/catalog/answer_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "json/cursor.h"

namespace schemafill {

struct AnswerField {
  std::string path;  // below the arguments: "city", "stops[].name"
  std::string raw;   // JSON text as written
};

struct AnswerCall {
  std::string name;                 // unescaped; empty until it is complete, or if unreadable
  std::vector<AnswerField> fields;  // complete values that are not containers, in order
  size_t arguments_begin = 0;       // offsets of the arguments' value in the text; equal: none yet
  size_t arguments_end = 0;
};

// Whether it has its name and its arguments.
inline bool IsComplete(const AnswerCall& call) {
  return !call.name.empty() && call.arguments_end != call.arguments_begin;
}

// A call that is complete.
struct ToolCall {
  std::string name;
  std::string arguments;  // JSON text exactly as the model wrote it
};

// The part of the answer that the text stands in.
enum class Place {
  kProse,      // in front of any object
  kRoot,       // in the outer object
  kCalls,      // in the list of calls
  kCall,       // in a call, outside of its arguments
  kArguments,  // in the arguments of a call, at any depth
  kElsewhere,  // in a value that no call has, in text that is not JSON, or behind the end
};

class Answer {
 public:
  void Feed(std::string_view text);
  // Takes the number or literal being typed as complete. For drafts that end there.
  void FinishScalar();

  const std::string& text() const { return text_; }
  const JsonCursor& json() const { return json_; }
  const std::vector<AnswerCall>& calls() const { return calls_; }

  Place place() const;
  // The call that the text stands in or behind: the last one begun. -1: none yet.
  int current_call() const { return static_cast<int>(calls_.size()) - 1; }
  // Frames from the arguments' object on. REQUIRES: place() == Place::kArguments.
  size_t arguments_depth() const { return CallDepth() + 1; }
  // Whether the text stands in the arguments' own object, not in one of its values.
  bool among_arguments() const {
    return place() == Place::kArguments && json_.frames().size() == arguments_depth() + 1;
  }
  // Path below the arguments of the value that comes next or is being typed; "" at a key.
  std::string argument_path() const;

 private:
  static constexpr size_t kNowhere = static_cast<size_t>(-1);

  // Index of the frame that is the call; kNowhere if the text is in none.
  size_t CallDepth() const;
  void BeginCall(size_t depth_before);
  void Take(std::vector<JsonValue> values);

  JsonCursor json_;
  std::string text_;
  std::vector<AnswerCall> calls_;
  bool bare_ = false;  // the outer object is a call itself: calls_[0]
};

// The calls whose name and arguments are complete, in order.
std::vector<ToolCall> CompleteCalls(const Answer& answer);

}  // namespace schemafill
