// A model's own vocabulary and chat template.
//
// SentencePiece vocabularies put a space in front of text ("{" becomes "_{"). Prompts get it, as
// everywhere else; Encode, whose text continues other text, takes it away again, so that
// Decode(Encode(text)) is the text. Tested by tests/model/llama_tokenizer_test.cc.
#pragma once

#include <llama.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/tokenizer.h"

namespace schemafill {

class LlamaTokenizer final : public Tokenizer {
 public:
  // `model` must outlive it. REQUIRES: the model has a vocabulary.
  explicit LlamaTokenizer(const llama_model& model);

  std::vector<Token> Encode(std::string_view text) const override;
  std::vector<Token> EncodePrompt(std::string_view text) const override;
  std::vector<Token> EncodeChat(const std::vector<ChatTurn>& turns) const override;
  std::string_view Piece(Token token) const override;
  bool IsEnd(Token token) const override;
  int vocab_size() const override { return static_cast<int>(pieces_.size()); }
  std::string ApplyChatTemplate(const std::vector<ChatTurn>& turns) const override;

  // Why the file's chat template isn't used as it is; empty if it is.
  const std::string& template_note() const { return template_note_; }

 private:
  std::vector<Token> Tokenize(std::string_view text, bool control_words) const;
  std::vector<Token> TokenizeContinuation(std::string_view text, bool control_words) const;
  void AddBeginToken(std::vector<Token>& tokens) const;
  void ChooseTemplate(const llama_model& model);
  // Where control words stand in `text`: (first byte, length), in order, not overlapping.
  std::vector<std::pair<size_t, size_t>> FindControlWords(std::string_view text) const;

  const llama_vocab* vocab_;
  std::vector<std::string> pieces_;
  std::vector<bool> is_end_;
  std::vector<std::string> control_words_;  // longest first
  std::string control_starts_;              // their first bytes
  bool adds_space_ = false;                 // in front of text
  std::string template_;                    // as llama.cpp takes it; empty: plain text
  std::string template_note_;
};

}  // namespace schemafill
