#include "train/examples.h"

#include <fmt/format.h>

#include <fstream>
#include <utility>

#include "catalog/prompt.h"

namespace schemafill {
namespace {

Result<Example> ParseExample(const std::string& line, const Tokenizer& tokenizer, Token end) {
  const Result<Json> record = ParseJson(line, "example");
  if (!record) return record.error();
  const auto answer = record->find("answer");
  if (answer == record->end() || !answer->is_string()) {
    return BadInput("answer: the text to learn is missing");
  }
  const Result<Request> request = ParseRequest(*record);
  if (!request) return request.error();
  Example example;
  if (const auto id = record->find("id"); id != record->end() && id->is_string()) {
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
  std::ifstream file(path);
  if (!file) return BadInput(fmt::format("'{}' can't be opened; check the path", path));
  Examples result;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Result<Example> example = ParseExample(line, tokenizer, end);
    if (!example) {
      return BadInput(fmt::format("{}: line {}: {}", path, number, example.error().message));
    }
    if (static_cast<int>(example->tokens.size()) > max_tokens) {
      ++result.too_long;
    } else {
      result.examples.push_back(std::move(*example));
    }
  }
  if (result.examples.empty()) {
    return BadInput(fmt::format("'{}' has no example of at most {} tokens ({} are longer)", path,
                                max_tokens, result.too_long));
  }
  return result;
}

}  // namespace schemafill
