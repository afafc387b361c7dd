// The prompt of a request: plain-text instruction, full catalog, context and request, in the
// model's chat template. Every method gets the same tokens. Tested by tests/catalog/prompt_test.cc.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/request.h"
#include "model/tokenizer.h"

namespace schemafill {

// Whether the model is asked for calls; otherwise, without tools or with tool_choice none, the
// request is plain chat.
bool UsesTools(const Request& request);

// The turns that the model reads, in this order: system (instruction, then the request's own system
// messages), then the dialogue. For one user turn it is the prompt that the shipped adapter was
// trained on:
//
//   system: Call the tools that the request needs. Answer with one JSON object: {"tool_calls": ...
//
//   user:   Tools:
//           {"name": ..., "description": ..., "parameters": {...}}     one line a tool
//           Request: <the user's words>
//
// The catalog stands in front of the first user turn only, so that it is part of the prefix that
// requests share; where no user speaks it is a turn of its own in front of the dialogue. An
// assistant's calls are written as the answer that the model would have given, a tool's result as a
// user turn. `tool_choice` and `parallel_tool_calls` add a sentence to the instruction where they
// ask for anything but the default.
//
// Plain chat is the request's own turns and nothing else.
std::vector<ChatTurn> BuildTurns(const Request& request);

struct Prompt {
  std::vector<Token> tokens;
  std::string text;  // what was tokenized
  // How the answer begins ahead of the target's own tokens, the end of `tokens` and `text`. With
  // tool_choice required as far as the name's opening quote, with a named function as far as the
  // colon in front of its arguments, since the closing quote is often one token with the comma.
  // Otherwise empty.
  std::string opening;
  // What values may be copied from: contents of user and tool turns, oldest first, a line break
  // between them, without the catalog.
  std::string context;
};

Prompt BuildPrompt(const Request& request, const Tokenizer& tokenizer);

}  // namespace schemafill
