#include "train/examples.h"

#include <fmt/format.h>

#include <utility>

#include "catalog/prompt.h"
#include "train/json_lines.h"

namespace schemafill {
namespace {

Result<Example> ParseExample(const Json& record, const Tokenizer& tokenizer, Token end) {
  const auto answer = record.find("answer");
  if (answer == record.end() || !answer->is_string()) {
    return BadInput("answer: the text to learn is missing");
  }
  const Result<Request> request = ParseRequest(record);
  if (!request) return request.error();
  Example example;
  if (const auto id = record.find("id"); id != record.end() && id->is_string()) {
    example.id = *id;
  }
  example.tokens = BuildPrompt(*request, tokenizer).tokens;
  example.prompt_tokens = static_cast<int>(example.tokens.size());
  const std::vector<Token> tokens = tokenizer.Encode(answer->get<std::string>());
  example.tokens.insert(example.tokens.end(), tokens.begin(), tokens.end());
  example.tokens.push_back(end);
  return example;
}

}  // namespace

Result<Examples> ReadExamples(const std::string& path, const Tokenizer& tokenizer, Token end,
                              int max_tokens) {
  Examples result;
  const Status read = ReadJsonLines(path, [&](const Json& record) -> Status {
    Result<Example> example = ParseExample(record, tokenizer, end);
    if (!example) return example.error();
    if (static_cast<int>(example->tokens.size()) > max_tokens) {
      ++result.too_long;
    } else {
      result.examples.push_back(std::move(*example));
    }
    return {};
  });
  if (!read) return read.error();
  if (result.examples.empty()) {
    return BadInput(fmt::format("'{}' has no example of at most {} tokens ({} are longer)", path,
                                max_tokens, result.too_long));
  }
  return result;
}

}  // namespace schemafill
