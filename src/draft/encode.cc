#include "draft/encode.h"

#include <algorithm>
#include <string>

namespace schemafill {

std::vector<Token> EncodeBehind(const Tokenizer& tokenizer, std::span<const Token> tokens,
                                std::string_view text) {
  const std::string context =
      tokenizer.Decode(tokens.last(std::min(tokens.size(), kEncodeContext)));
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
  const auto known = memo_.find(std::string(text));
  if (known != memo_.end()) return known->second;
  if (memo_.size() == kMostTexts) memo_.clear();
  return memo_.emplace(text, tokenizer_.Encode(text)).first->second;
}

}  // namespace schemafill
