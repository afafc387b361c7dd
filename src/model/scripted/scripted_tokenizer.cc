#include <algorithm>
#include <array>
#include <utility>

#include "model/scripted/scripted_model.h"

namespace schemafill {
namespace {

constexpr int kBytes = 256;
constexpr std::array<std::string_view, 3> kControlWords = {"<|start|>", "<|end|>", "<|eos|>"};
constexpr int kStart = 0, kEnd = 1, kEos = 2;  // places in kControlWords

int FirstControl(const std::vector<std::string>& pieces) {
  return static_cast<int>(pieces.size() - kControlWords.size());
}

}  // namespace

ScriptedTokenizer::ScriptedTokenizer(std::vector<std::string> words) {
  for (int byte = 0; byte < kBytes; ++byte) pieces_.emplace_back(1, static_cast<char>(byte));
  for (std::string& word : words) {
    Check(!word.empty(), "a scripted word is empty");
    plausible_.push_back(Token{static_cast<int32_t>(pieces_.size())});
    pieces_.push_back(std::move(word));
  }
  if (plausible_.empty()) {
    for (char letter = 'a'; letter <= 'z'; ++letter) plausible_.push_back(Token{letter});
  }
  pieces_.resize(pieces_.size() + kControlWords.size());
  plausible_.push_back(end_token());
}

std::vector<Token> ScriptedTokenizer::Encode(std::string_view text) const {
  std::vector<Token> tokens;
  while (!text.empty()) {
    int best = static_cast<unsigned char>(text.front());
    for (int id = kBytes; id < FirstControl(pieces_); ++id) {
      if (text.starts_with(pieces_[id]) && pieces_[id].size() > pieces_[best].size()) best = id;
    }
    tokens.push_back(Token{best});
    text.remove_prefix(pieces_[best].size());
  }
  return tokens;
}

std::vector<Token> ScriptedTokenizer::EncodePrompt(std::string_view text) const {
  std::vector<Token> tokens;
  while (!text.empty()) {
    size_t plain = text.size();  // bytes in front of the first control word
    int control = -1;
    for (int i = 0; i < static_cast<int>(kControlWords.size()); ++i) {
      const size_t at = text.find(kControlWords[i]);
      if (at < plain) std::tie(plain, control) = std::pair(at, i);
    }
    std::ranges::copy(Encode(text.substr(0, plain)), std::back_inserter(tokens));
    text.remove_prefix(plain);
    if (control < 0) continue;
    tokens.push_back(Token{FirstControl(pieces_) + control});
    text.remove_prefix(kControlWords[control].size());
  }
  return tokens;
}

std::string_view ScriptedTokenizer::Piece(Token token) const {
  Check(Index(token) >= 0 && Index(token) < vocab_size(),
        "a token outside of the scripted vocabulary");
  return pieces_[Index(token)];
}

bool ScriptedTokenizer::IsEnd(Token token) const {
  return Index(token) == FirstControl(pieces_) + kEnd ||
         Index(token) == FirstControl(pieces_) + kEos;
}

int ScriptedTokenizer::vocab_size() const { return static_cast<int>(pieces_.size()); }

std::string ScriptedTokenizer::ApplyChatTemplate(const std::vector<ChatTurn>& turns) const {
  const std::string start(kControlWords[kStart]);
  const std::string end(kControlWords[kEnd]);
  std::string text;
  for (const ChatTurn& turn : turns) text += start + turn.role + "\n" + turn.content + end + "\n";
  return text + start + "assistant\n";
}

Token ScriptedTokenizer::end_token() const { return Token{FirstControl(pieces_) + kEnd}; }

}  // namespace schemafill
