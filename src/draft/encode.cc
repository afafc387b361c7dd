#include "draft/encode.h"

#include <algorithm>
#include <string>

namespace schemafill {
namespace {

// Tokens of context in front of drafted text; a border merges with its neighbour at most.
constexpr size_t kContextTokens = 6;

}  // namespace

std::vector<Token> EncodeBehind(const Tokenizer& tokenizer, std::span<const Token> tokens,
                                std::string_view text) {
  std::string context;
  for (const Token token : tokens.last(std::min(tokens.size(), kContextTokens)))
    context += tokenizer.Piece(token);
  const std::vector<Token> all = tokenizer.Encode(context + std::string(text));
  // The tokens of `text` are the last ones, if a token border lies where it begins.
  size_t bytes = 0;
  for (size_t i = all.size(); i-- > 0;) {
    bytes += tokenizer.Piece(all[i]).size();
    if (bytes == text.size()) return {all.begin() + static_cast<std::ptrdiff_t>(i), all.end()};
    if (bytes > text.size()) break;
  }
  return tokenizer.Encode(text);
}

std::vector<Token> MemoTokenizer::Encode(std::string_view text) const {
  constexpr size_t kMostTexts = 4096;
  const auto [at, added] = memo_.try_emplace(std::string(text));
  if (!added) return at->second;
  std::vector<Token> tokens = tokenizer_.Encode(text);
  if (memo_.size() > kMostTexts) memo_.clear();
  memo_[std::string(text)] = tokens;
  return tokens;
}

}  // namespace schemafill
