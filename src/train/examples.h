// Training examples: a prompt and the answer to learn, as tokens.
// Tested by tests/train/examples_test.cc.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/tokenizer.h"

namespace schemafill {

struct Example {
  std::string id;
  std::vector<Token> tokens;  // prompt, answer, end of turn
  int prompt_tokens = 0;

  int answer_tokens() const { return static_cast<int>(tokens.size()) - prompt_tokens; }
};

struct Examples {
  std::vector<Example> examples;  // in the file's order
  int too_long = 0;               // left out: more than `max_tokens`
};

// Reads JSON lines {"id", "messages", "tools", "answer"}: an OpenAI body with the exact text to
// answer, as tools/training_data.py writes them. The prompt is the one that every method gets.
// `end` is the token that ends the model's turn. Errors name file and line; a file without an
// example that fits is one.
Result<Examples> ReadExamples(const std::string& path, const Tokenizer& tokenizer, Token end,
                              int max_tokens);

}  // namespace schemafill
