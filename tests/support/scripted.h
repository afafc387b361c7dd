// The scripted model with a vocabulary of common JSON words, for tests of everything above the
// model.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/scripted/scripted_model.h"
#include "sample/sampler.h"

namespace schemafill {

inline std::shared_ptr<const ScriptedTokenizer> JsonTokenizer() {
  const std::vector<std::string> words = {
      "{\"",       "\":",        "\": ",   "\": \"", "\", \"", "\"}",     "\"}}", "}}",
      ", \"",      ", {\"",      "}, {\"", "{}",     "[{\"",   "}]}",     "]}",   "name",
      "arguments", "tool_calls", "true",   "false",  "null",   " the",    " of",  "get",
      "_weather",  "city",       "Paris",  "London", "unit",   "celsius", "10",   "0"};
  return std::make_shared<ScriptedTokenizer>(words);
}

// Plain decoding, the reference for every other method: one row a forward in sequence 0, up to an
// end token (included) or `limit` tokens. `model` should be a second one with the same scripts, not
// the one under test: its cells are dropped.
inline std::vector<Token> PlainAnswer(ScriptedModel& model, const std::vector<Token>& prompt,
                                      int limit, const SamplingOptions& sampling = {}) {
  const SequenceId main{0};
  model.Drop(main, 0, -1);
  model.Prefill(std::span(prompt).first(prompt.size() - 1), 0, main);
  std::vector<Token> answer;
  Token token = prompt.back();
  int position = static_cast<int>(prompt.size()) - 1;
  while (static_cast<int>(answer.size()) < limit) {
    const Row row{.token = token, .position = position++, .sequences = {main}};
    model.Forward(std::span(&row, 1));
    token = ChooseToken(model.Logits(0), sampling, static_cast<int>(answer.size()));
    answer.push_back(token);
    if (model.tokenizer().IsEnd(token)) break;
  }
  return answer;
}

}  // namespace schemafill
