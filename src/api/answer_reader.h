// The model's answer as an OpenAI message, piece by piece: prose becomes content, calls become
// tool calls with their arguments in the model's own text. However the text is cut, the deltas sum
// to the same message. Tested by tests/api/answer_reader_test.cc.
//
// A call shows itself when its name is complete and its arguments begin. An object of which no call
// came is content as it stands. White space and structure around calls belong to no part; what
// follows the first call and is no call is left out. Arguments that turn out not to be JSON go on
// to the end of the text, since nothing says where they end. Of arguments given twice in one call
// the first ones count.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "catalog/answer.h"

namespace schemafill {

struct Delta {
  enum class Kind { kContent, kCall, kArguments };
  Kind kind = Kind::kContent;
  int call = -1;     // position among the message's calls, from 0
  std::string text;  // content, the call's name, or a piece of its arguments

  friend bool operator==(const Delta&, const Delta&) = default;
};

class AnswerReader {
 public:
  // Without `may_call` all of the text is content. With `one_call` the first call is the only one.
  AnswerReader(bool may_call, bool one_call) : may_call_(may_call), one_call_(one_call) {}

  std::vector<Delta> Feed(std::string_view text);
  // What was held back, at the end of the text.
  std::vector<Delta> Finish();

  bool has_calls() const { return calls_ > 0; }

 private:
  void Read(char c, std::vector<Delta>* deltas);
  void ReadCall(std::vector<Delta>* deltas);
  void Release(std::vector<Delta>* deltas);
  std::optional<size_t> ArgumentsBegin() const;

  const bool may_call_;
  const bool one_call_;
  Answer answer_;
  std::string held_;   // may be content, or in front of a call
  int calls_ = 0;      // begun so far
  int current_ = -1;   // the answer's call that the last of them is
  size_t told_ = 0;    // offset up to which its arguments are out
  bool ended_ = true;  // its arguments are complete
};

struct ChatMessage {
  std::optional<std::string> content;  // none: calls and nothing else
  std::vector<ToolCall> calls;         // the last one may be cut, or no JSON
};

// The whole text read at once.
ChatMessage ReadMessage(std::string_view text, bool may_call, bool one_call);

}  // namespace schemafill
