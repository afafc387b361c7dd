#include "draft/source.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace schemafill {
namespace {

// Longest value that is copied, in words. Longer ones are rare, and each word is a row or more.
constexpr int kMaxWords = 12;

constexpr std::array kFunctionWords = {
    "a",       "about", "after", "also",  "an",   "and",    "are",   "as",   "at",
    "between", "but",   "by",    "can",   "do",   "find",   "for",   "from", "get",
    "have",    "how",   "i",     "if",    "in",   "into",   "is",    "it",   "its",
    "me",      "my",    "of",    "on",    "or",   "please", "so",    "than", "that",
    "the",     "their", "then",  "there", "this", "to",     "using", "was",  "what",
    "when",    "where", "which", "who",   "will", "with",   "would", "you",  "your"};

constexpr std::array kNumberWords = {"zero",  "one",   "two",  "three", "four",   "five",  "six",
                                     "seven", "eight", "nine", "ten",   "eleven", "twelve"};

bool IsSpace(char c) { return std::isspace(static_cast<unsigned char>(c)) != 0; }
bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0;
}
bool IsQuote(char c) { return c == '"' || c == '\'' || c == '`'; }

bool Contains(std::string_view set, char c) { return set.find(c) != std::string_view::npos; }

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// Probability that a value goes on over the gap between two words.
double GoesOn(const SourceWord& word, std::string_view gap, const SourceWord& next) {
  if (next.quoted) return 0.05;
  if (gap.find_first_of(".?!;:()\n\"") != std::string_view::npos) return 0.03;
  const bool named = word.capital || word.digit;
  const bool next_named = next.capital || next.digit;
  if (gap.find(',') != std::string_view::npos) return named && next_named ? 0.3 : 0.05;
  if (gap != " ") return 0.2;
  if (next.function_word) return named ? 0.08 : 0.15;
  if (named && next_named) return 0.8;
  return named || next_named ? 0.25 : 0.55;
}

}  // namespace

SourceText::SourceText(std::string text) : text_(std::move(text)), lower_(Lower(text_)) {
  CutWords();
  FindNumbers();
}

void SourceText::CutWords() {
  bool sentence_start = true;
  for (size_t i = 0; i < text_.size();) {
    while (i < text_.size() && IsSpace(text_[i])) {
      if (text_[i] == '\n') sentence_start = true;
      ++i;
    }
    size_t begin = i;
    while (i < text_.size() && !IsSpace(text_[i])) ++i;
    size_t end = i;
    while (begin < end && Contains("\"'`([{<$#", text_[begin])) ++begin;
    while (end > begin && Contains("\"'`)]}>.,;:?!%", text_[end - 1])) --end;
    if (begin == end) continue;

    const std::string_view word(text_.data() + begin, end - begin);
    SourceWord& added = words_.emplace_back();
    added.begin = begin;
    added.end = end;
    added.capital = std::isupper(static_cast<unsigned char>(word[0])) != 0;
    added.digit = std::any_of(word.begin(), word.end(), IsDigit);
    added.function_word = std::binary_search(kFunctionWords.begin(), kFunctionWords.end(),
                                             std::string_view(Lower(word)));
    added.sentence_start = sentence_start;
    added.quoted = begin > 0 && IsQuote(text_[begin - 1]);
    const std::string_view tail(text_.data() + end, i - end);
    sentence_start = tail.find_first_of(".?!:") != std::string_view::npos;
  }
}

void SourceText::FindNumbers() {
  for (size_t i = 0; i < text_.size(); ++i) {
    const bool glued =
        i > 0 && (IsLetter(text_[i - 1]) || IsDigit(text_[i - 1]) || text_[i - 1] == '_');
    if (!IsDigit(text_[i]) || glued) continue;
    SourceNumber number{.text = {}, .begin = i, .end = i};
    const bool negative = i > 0 && text_[i - 1] == '-' && (i == 1 || !IsLetter(text_[i - 2])) &&
                          (i == 1 || !IsDigit(text_[i - 2]));
    if (negative) number.text = "-";
    const auto digit_at = [&](size_t at) { return at < text_.size() && IsDigit(text_[at]); };
    bool point = false;
    while (i < text_.size()) {
      const bool separator =
          text_[i] == ',' && !point && digit_at(i + 1) && digit_at(i + 2) && digit_at(i + 3);
      const bool decimal = text_[i] == '.' && !point && digit_at(i + 1);
      if (!IsDigit(text_[i]) && !separator && !decimal) break;
      point = point || decimal;
      if (!separator) number.text += text_[i];
      ++i;
    }
    const size_t first = negative ? 1 : 0;
    while (number.text.size() > first + 1 && number.text[first] == '0' &&
           IsDigit(number.text[first + 1]))
      number.text.erase(first, 1);
    number.end = i;
    number.percent = i < text_.size() && text_[i] == '%';
    numbers_.push_back(std::move(number));
  }
  for (const SourceWord& word : words_) {
    const std::string_view lower =
        std::string_view(lower_).substr(word.begin, word.end - word.begin);
    const auto* found = std::find(kNumberWords.begin(), kNumberWords.end(), lower);
    if (found == kNumberWords.end()) continue;
    numbers_.push_back({.text = std::to_string(found - kNumberWords.begin()),
                        .begin = word.begin,
                        .end = word.end});
  }
  std::sort(numbers_.begin(), numbers_.end(),
            [](const SourceNumber& a, const SourceNumber& b) { return a.begin < b.begin; });
}

size_t SourceText::WordAt(size_t offset) const {
  const auto behind =
      std::upper_bound(words_.begin(), words_.end(), offset,
                       [](size_t at, const SourceWord& word) { return at < word.end; });
  return static_cast<size_t>(behind - words_.begin());
}

std::vector<CopyEnd> SourceText::Ends(size_t start, size_t from) const {
  std::vector<CopyEnd> ends;
  double open = 1;  // probability that the value reaches the word
  if (start > 0 && IsQuote(text_[start - 1])) {
    const size_t close = text_.find(text_[start - 1], std::max(start + 1, from));
    if (close != std::string::npos && close - start < 200) {
      ends.push_back({close, 0.9});
      open = 0.1;
    }
  }
  const size_t first = WordAt(from == start ? from : from - 1);
  for (size_t i = first; i < words_.size() && i < first + kMaxWords && open > 0.01; ++i) {
    double on = 0;
    if (i + 1 < words_.size()) {
      const std::string_view gap(text_.data() + words_[i].end, words_[i + 1].begin - words_[i].end);
      on = GoesOn(words_[i], gap, words_[i + 1]);
    }
    ends.push_back({words_[i].end, open * (1 - on)});
    open *= on;
  }
  return ends;
}

size_t SourceText::Locate(std::string_view value, size_t reached) const {
  if (value.empty()) return std::string::npos;
  const auto word_byte = [&](size_t at) {
    return at < text_.size() && (IsLetter(text_[at]) || IsDigit(text_[at]));
  };
  for (const size_t from : {reached, size_t{0}}) {
    for (size_t at = text_.find(value, from); at != std::string::npos;
         at = text_.find(value, at + 1)) {
      const size_t end = at + value.size();
      const bool cut =
          (at > 0 && word_byte(at - 1) && word_byte(at)) || (word_byte(end) && word_byte(end - 1));
      if (!cut) return end;
    }
  }
  return std::string::npos;
}

bool SourceText::HasValueBehind(size_t offset) const {
  return std::any_of(words_.begin() + static_cast<std::ptrdiff_t>(WordAt(offset)), words_.end(),
                     [](const SourceWord& word) {
                       return word.digit || word.quoted || (word.capital && !word.sentence_start);
                     });
}

}  // namespace schemafill
