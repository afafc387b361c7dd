#include "model/llama/llama_tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "base/check.h"

namespace schemafill {
namespace {

// Stands in front of text whose first token must not get a space: no vocabulary merges this byte
// with others.
constexpr std::string_view kStartMark = "\x01";

std::string PieceOf(const llama_vocab* vocab, llama_token token) {
  std::string piece(32, '\0');
  int32_t size = llama_token_to_piece(vocab, token, piece.data(),
                                      static_cast<int32_t>(piece.size()), 0, false);
  if (size < 0) {
    piece.resize(-size);
    size = llama_token_to_piece(vocab, token, piece.data(), static_cast<int32_t>(piece.size()), 0,
                                false);
  }
  piece.resize(std::max(size, 0));
  return piece;
}

// The turns for a model without a template that we can apply.
std::string PlainChat(const std::vector<ChatTurn>& turns) {
  std::string text;
  for (const ChatTurn& turn : turns) {
    if (turn.role == "system") {
      text += turn.content + "\n\n";
    } else {
      text += (turn.role == "assistant" ? "Assistant: " : "User: ") + turn.content + "\n";
    }
  }
  return text + "Assistant:";
}

// The turns in a template of llama.cpp; false if it doesn't know the template.
// REQUIRES: no zero bytes in the contents, which end a C string.
bool ApplyKnownTemplate(const std::string& name, const std::vector<ChatTurn>& turns,
                        std::string* text) {
  std::vector<llama_chat_message> messages;
  size_t size = 256;
  for (const ChatTurn& turn : turns) {
    messages.push_back({turn.role.c_str(), turn.content.c_str()});
    size += 2 * (turn.role.size() + turn.content.size()) + 64;
  }
  for (;;) {
    text->assign(size, '\0');
    const int32_t length =
        llama_chat_apply_template(name.c_str(), messages.data(), messages.size(), true,
                                  text->data(), static_cast<int32_t>(text->size()));
    if (length < 0) return false;
    if (static_cast<size_t>(length) <= size) {
      text->resize(length);
      return true;
    }
    size = length;
  }
}

// Marks that occur nowhere in the turns, one a number.
class Marks {
 public:
  explicit Marks(const std::vector<ChatTurn>& turns) {
    const auto occurs = [&](const ChatTurn& turn) {
      return turn.content.find(start_) != std::string::npos;
    };
    while (std::any_of(turns.begin(), turns.end(), occurs)) start_ += '\x04';
  }

  std::string Mark(size_t number) const { return start_ + std::to_string(number) + '\x03'; }

  struct Found {
    size_t begin = std::string::npos;  // of the mark
    size_t end = std::string::npos;    // behind it
    size_t number = 0;
  };
  // The first mark at or behind `from`.
  Found Find(const std::string& text, size_t from) const {
    Found found;
    found.begin = text.find(start_, from);
    if (found.begin == std::string::npos) return found;
    found.end = text.find('\x03', found.begin) + 1;
    found.number = std::stoul(text.substr(found.begin + start_.size()));
    return found;
  }

 private:
  // Its first byte differs from the others, so text in front of a mark can't make up a start
  // together with it.
  std::string start_ = "\x02\x04";
};

}  // namespace

LlamaTokenizer::LlamaTokenizer(const llama_model& model) : vocab_(llama_model_get_vocab(&model)) {
  Check(llama_vocab_type(vocab_) != LLAMA_VOCAB_TYPE_NONE,
        "a tokenizer of a model without a vocabulary");
  const int size = llama_vocab_n_tokens(vocab_);
  pieces_.reserve(size);
  is_end_.reserve(size);
  for (llama_token token = 0; token < size; ++token) {
    pieces_.push_back(PieceOf(vocab_, token));
    is_end_.push_back(llama_vocab_is_eog(vocab_, token));
    const int attributes = llama_vocab_get_attr(vocab_, token);
    const char* text = llama_vocab_get_text(vocab_, token);
    if ((attributes & (LLAMA_TOKEN_ATTR_CONTROL | LLAMA_TOKEN_ATTR_UNKNOWN)) != 0 &&
        *text != '\0') {
      control_words_.emplace_back(text);
    }
  }
  for (const std::string& word : control_words_) {
    if (control_starts_.find(word[0]) == std::string::npos) control_starts_ += word[0];
  }
  std::stable_sort(control_words_.begin(), control_words_.end(),
                   [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
  const std::vector<Token> probe = Tokenize("a", /*control_words=*/false);
  adds_space_ = !probe.empty() && Piece(probe[0]).substr(0, 1) == " ";
  ChooseTemplate(model);
}

void LlamaTokenizer::ChooseTemplate(const llama_model& model) {
  const char* own = llama_model_chat_template(&model, nullptr);
  std::string text;
  if (own != nullptr && ApplyKnownTemplate(own, {{"user", "a"}}, &text)) {
    template_ = own;
    return;
  }
  const bool has_turns = std::find(control_words_.begin(), control_words_.end(), "<|im_start|>") !=
                         control_words_.end();
  if (has_turns) template_ = "chatml";
  template_note_ = std::string(own == nullptr ? "the model file has no chat template"
                                              : "unknown chat template") +
                   (has_turns ? "; using ChatML" : "; using plain text");
}

std::vector<Token> LlamaTokenizer::Tokenize(std::string_view text, bool control_words) const {
  if (text.empty()) return {};
  Check(text.size() < static_cast<size_t>(std::numeric_limits<int32_t>::max()),
        "text too long for the tokenizer");
  std::vector<llama_token> tokens(text.size() + 8);
  const auto run = [&] {
    return llama_tokenize(vocab_, text.data(), static_cast<int32_t>(text.size()), tokens.data(),
                          static_cast<int32_t>(tokens.size()), /*add_special=*/false,
                          control_words);
  };
  int32_t count = run();
  if (count < 0) {
    Check(count != std::numeric_limits<int32_t>::min(), "text too long for the tokenizer");
    tokens.resize(-count);
    count = run();
  }
  std::vector<Token> result;
  result.reserve(count);
  for (int i = 0; i < count; ++i) result.push_back(Token{tokens[i]});
  return result;
}

std::vector<Token> LlamaTokenizer::TokenizeContinuation(std::string_view text,
                                                        bool control_words) const {
  if (!adds_space_ || text.empty()) return Tokenize(text, control_words);
  std::vector<Token> tokens = Tokenize(std::string(kStartMark) + std::string(text), control_words);
  std::string start;
  size_t count = 0;
  while (count < tokens.size() && start.find(kStartMark) == std::string::npos)
    start += Piece(tokens[count++]);
  // A vocabulary without bytes has no token for the mark.
  if (start != " " + std::string(kStartMark)) return Tokenize(text, control_words);
  tokens.erase(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(count));
  return tokens;
}

std::vector<Token> LlamaTokenizer::Encode(std::string_view text) const {
  return TokenizeContinuation(text, /*control_words=*/false);
}

void LlamaTokenizer::AddBeginToken(std::vector<Token>& tokens) const {
  const llama_token begin = llama_vocab_bos(vocab_);
  if (!llama_vocab_get_add_bos(vocab_) || begin == LLAMA_TOKEN_NULL) return;
  // The template may have written it.
  if (tokens.empty() || tokens[0] != Token{begin}) tokens.insert(tokens.begin(), Token{begin});
}

std::vector<Token> LlamaTokenizer::EncodePrompt(std::string_view text) const {
  std::vector<Token> tokens = Tokenize(text, /*control_words=*/true);
  AddBeginToken(tokens);
  return tokens;
}

std::vector<std::pair<size_t, size_t>> LlamaTokenizer::FindControlWords(
    std::string_view text) const {
  std::vector<std::pair<size_t, size_t>> found;
  for (size_t start = text.find_first_of(control_starts_); start != std::string_view::npos;
       start = text.find_first_of(control_starts_, start + 1)) {
    for (const std::string& word : control_words_) {
      if (text.compare(start, word.size(), word) != 0) continue;
      found.emplace_back(start, word.size());
      start += word.size() - 1;
      break;
    }
  }
  return found;
}

// Control words in contents are rare. Where there are none, the plain way is taken, so that
// ordinary requests get exactly the tokens of every other engine. Where there are, each is replaced
// by a mark before the template is applied; then the text between marks is encoded as a prompt and
// the words as text.
std::vector<Token> LlamaTokenizer::EncodeChat(const std::vector<ChatTurn>& turns) const {
  std::vector<std::string> words;  // by number of their mark
  const Marks marks(turns);
  std::vector<ChatTurn> marked;
  for (const ChatTurn& turn : turns) {
    ChatTurn& copy = marked.emplace_back(ChatTurn{turn.role, ""});
    size_t end = 0;
    for (const auto& [start, length] : FindControlWords(turn.content)) {
      const std::string word = turn.content.substr(start, length);
      const size_t number = std::find(words.begin(), words.end(), word) - words.begin();
      if (number == words.size()) words.push_back(word);
      copy.content.append(turn.content, end, start - end).append(marks.Mark(number));
      end = start + length;
    }
    copy.content.append(turn.content, end);
  }
  if (words.empty()) return EncodePrompt(ApplyChatTemplate(turns));

  std::vector<std::vector<Token>> word_tokens;
  for (const std::string& word : words) {
    word_tokens.push_back(TokenizeContinuation(word, /*control_words=*/false));
  }
  const std::string text = ApplyChatTemplate(marked);
  Marks::Found mark = marks.Find(text, 0);
  std::vector<Token> tokens = Tokenize(text.substr(0, mark.begin), /*control_words=*/true);
  const auto append = [&](const std::vector<Token>& more) {
    tokens.insert(tokens.end(), more.begin(), more.end());
  };
  while (mark.begin != std::string::npos) {
    append(word_tokens[mark.number]);
    const Marks::Found next = marks.Find(text, mark.end);
    append(
        TokenizeContinuation(text.substr(mark.end, next.begin - mark.end), /*control_words=*/true));
    mark = next;
  }
  AddBeginToken(tokens);
  return tokens;
}

std::string_view LlamaTokenizer::Piece(Token token) const {
  Check(Index(token) >= 0 && Index(token) < vocab_size(), "a token outside of the vocabulary");
  return pieces_[Index(token)];
}

bool LlamaTokenizer::IsEnd(Token token) const {
  Check(Index(token) >= 0 && Index(token) < vocab_size(), "a token outside of the vocabulary");
  return is_end_[Index(token)];
}

std::string LlamaTokenizer::ApplyChatTemplate(const std::vector<ChatTurn>& turns) const {
  if (template_.empty()) return PlainChat(turns);
  // Contents go through C strings there, so a zero byte is taken out and put back.
  const Marks marks(turns);
  std::vector<ChatTurn> safe = turns;
  for (ChatTurn& turn : safe) {
    for (size_t at = 0; (at = turn.content.find('\0', at)) != std::string::npos;) {
      turn.content.replace(at, 1, marks.Mark(0));
    }
  }
  std::string text;
  Check(ApplyKnownTemplate(template_, safe, &text), "a chat template that llama.cpp knew at load");
  for (auto mark = marks.Find(text, 0); mark.begin != std::string::npos;
       mark = marks.Find(text, mark.begin + 1)) {
    text.replace(mark.begin, mark.end - mark.begin, 1, '\0');
  }
  return text;
}

}  // namespace schemafill
