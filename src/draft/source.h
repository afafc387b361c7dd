// The text that values are copied from: what the user and the tools said, cut into words, with a
// guess of how far a copied value goes. Tool-call arguments are mostly spans of the request
// ("weather in San Francisco, CA and ..."), so a value that starts like a span most likely goes on
// like it; the open question is where it ends.
//
// All probabilities here are priors that decide what is worth a row of a forward. They never decide
// output. Tested by tests/draft/source_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace schemafill {

struct SourceWord {
  size_t begin = 0;  // bytes in the text, outer punctuation excluded
  size_t end = 0;
  bool capital = false;         // starts with an upper-case letter
  bool digit = false;           // holds a digit
  bool function_word = false;   // "and", "in", "for": seldom starts a value, mostly ends one
  bool sentence_start = false;  // its capital says nothing
  bool quoted = false;          // a quotation mark opens right in front of it
};

// A number as JSON spells it, and where it stands.
struct SourceNumber {
  std::string text;  // "5000" for "$5,000", "3" for "three"
  size_t begin = 0;
  size_t end = 0;
  bool percent = false;
};

// A way for a copied string to end.
struct CopyEnd {
  size_t end = 0;
  double probability = 0;
};

// Const after construction.
class SourceText {
 public:
  explicit SourceText(std::string text);

  const std::string& text() const { return text_; }
  const std::string& lower() const { return lower_; }  // the same, A to Z in lower case
  const std::vector<SourceWord>& words() const { return words_; }
  const std::vector<SourceNumber>& numbers() const { return numbers_; }

  // Ends of a value that starts at `start` and is known to reach `from` (start <= from), most at
  // word ends. Probabilities sum to at most 1.
  std::vector<CopyEnd> Ends(size_t start, size_t from) const;

  // Index of the first word that ends behind `offset`; words().size() if there is none.
  size_t WordAt(size_t offset) const;

  // Where `value` ends in the text, the first occurrence behind `reached` or else the first one;
  // npos if it is not there.
  size_t Locate(std::string_view value, size_t reached) const;

  // Whether the text behind `offset` still holds what looks like a value: a number, a name or a
  // quotation.
  bool HasValueBehind(size_t offset) const;

 private:
  void CutWords();
  void FindNumbers();

  std::string text_;
  std::string lower_;
  std::vector<SourceWord> words_;
  std::vector<SourceNumber> numbers_;
};

}  // namespace schemafill
