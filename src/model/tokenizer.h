// Text to tokens and back, as the target's own vocabulary does it.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/types.h"

namespace schemafill {

// One message as a chat template takes it.
struct ChatTurn {
  std::string role;  // "system", "user" or "assistant"
  std::string content;
};

// Thread-safe: const after construction.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Tokens of plain text: no begin-of-sequence, and control words in it stay text.
  virtual std::vector<Token> Encode(std::string_view text) const = 0;

  // Tokens of a rendered prompt: begin-of-sequence where the model wants it, control words become
  // their tokens.
  virtual std::vector<Token> EncodePrompt(std::string_view text) const = 0;

  // Tokens of the turns in the model's chat template: those of
  // EncodePrompt(ApplyChatTemplate(turns)), except that control words inside of the turns' contents
  // stay text, so a request can't end its own turn or start another.
  virtual std::vector<Token> EncodeChat(const std::vector<ChatTurn>& turns) const {
    return EncodePrompt(ApplyChatTemplate(turns));
  }

  // The bytes that a token stands for: empty for control tokens, possibly half a character.
  virtual std::string_view Piece(Token token) const = 0;

  // Whether the token ends the answer (end of sequence, end of turn).
  virtual bool IsEnd(Token token) const = 0;

  virtual int vocab_size() const = 0;

  // The turns in the model's chat template, with the start of the assistant's turn behind them.
  // A model without a template gets plain text.
  virtual std::string ApplyChatTemplate(const std::vector<ChatTurn>& turns) const = 0;

  std::string Decode(std::span<const Token> tokens) const {
    std::string text;
    for (const Token token : tokens) text += Piece(token);
    return text;
  }
};

}  // namespace schemafill
