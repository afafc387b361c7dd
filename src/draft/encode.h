// Drafted text to tokens. Tested by tests/draft/encode_test.cc.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "model/tokenizer.h"

namespace schemafill {

// Tokens of context in front of drafted text; a border merges with its neighbour at most.
constexpr size_t kEncodeContext = 6;

// The tokens that continue `tokens` by `text`, as the tokenizer would write them there: a forced
// string is not a forced token, because the border may merge. Looks back kEncodeContext tokens.
std::vector<Token> EncodeBehind(const Tokenizer& tokenizer, std::span<const Token> tokens,
                                std::string_view text);

// A tokenizer that remembers what it encoded. Drafts hold the same pieces round after round, and an
// encoding takes libllama tens of microseconds however short the text is. Not thread-safe; for one
// request. The tokenizer must outlive it.
class MemoTokenizer final : public Tokenizer {
 public:
  explicit MemoTokenizer(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}

  std::vector<Token> Encode(std::string_view text) const override;
  std::vector<Token> EncodePrompt(std::string_view text) const override {
    return tokenizer_.EncodePrompt(text);
  }
  std::string_view Piece(Token token) const override { return tokenizer_.Piece(token); }
  bool IsEnd(Token token) const override { return tokenizer_.IsEnd(token); }
  int vocab_size() const override { return tokenizer_.vocab_size(); }
  std::vector<Token> EncodeChat(const std::vector<ChatTurn>& turns) const override {
    return tokenizer_.EncodeChat(turns);
  }
  std::string ApplyChatTemplate(const std::vector<ChatTurn>& turns) const override {
    return tokenizer_.ApplyChatTemplate(turns);
  }

 private:
  const Tokenizer& tokenizer_;
  mutable std::unordered_map<std::string, std::vector<Token>> memo_;
};

}  // namespace schemafill
