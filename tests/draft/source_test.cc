#include "draft/source.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "support/keyed_dice.h"
#include "support/marked.h"

namespace schemafill {
namespace {

// Each word with its marks: C capital, d digit, f function word, s sentence start, q quoted.
std::string Words(const SourceText& source) {
  std::string out;
  for (const SourceWord& word : source.words()) {
    std::string marks;
    if (word.capital) marks += 'C';
    if (word.digit) marks += 'd';
    if (word.function_word) marks += 'f';
    if (word.sentence_start) marks += 's';
    if (word.quoted) marks += 'q';
    out += fmt::format("{}{}:{}", out.empty() ? "" : " ",
                       source.text().substr(word.begin, word.end - word.begin), marks);
  }
  return out;
}

TEST(SourceText, Words) {
  struct Case {
    std::string_view text;
    std::string_view words;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"", ""},
      {" \n\t ", ""},
      {"\"...\" -- ()", "--:s"},
      {"Find me Paris, France.", "Find:Cfs me:f Paris:C France:C"},
      {"Go. Then stop", "Go:Cs Then:Cfs stop:"},
      {"one\nTwo", "one:s Two:Cs"},
      {"play \"Yellow Submarine\" now", "play:s Yellow:Cq Submarine:C now:"},
      {"'a' (b) [c] <d> $5 #6", "a:fsq b: c: d: 5:d 6:d"},
      {"don't, it's 5% of a.b@c.de!", "don't:s it's: 5:d of:f a.b@c.de:"},
      {"S\xc3\xa3o \xc3\x89tat \xf0\x9f\x98\x80", "S\xc3\xa3o:Cs \xc3\x89tat: \xf0\x9f\x98\x80:"},
  });
  for (const Case& row : kCases)
    EXPECT_EQ(Words(SourceText(std::string(row.text))), row.words) << row.text;
}

TEST(SourceText, Numbers) {
  struct Case {
    std::string_view text;
    std::string_view numbers;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"", ""},
      {"none", ""},
      {"5 apples, 3.5 pears", "5 3.5"},
      {"$5,000 and 1,234,567.89", "5000 1234567.89"},
      {"1,2,3", "1 2 3"},
      {"x-5 a -5 (-7) 3-4", "5 -5 -7 3 4"},
      {"v2 a_3 4th 5GB", "4 5"},
      {"10%, 7.5 %", "10% 7.5"},
      {"three of Twelve", "3 12"},
      {"1.2.3", "1.2 3"},
      {"2024-01-15 at 07, 0, 0.5, -00.5, 000", "2024 1 15 7 0 0.5 -0.5 0"},
      {"5.", "5"},
      {"-", ""},
      {"-1", "-1"},
      {"9223372036854775807", "9223372036854775807"},
  });
  for (const Case& row : kCases) {
    const SourceText source{std::string(row.text)};
    std::string numbers;
    for (const SourceNumber& number : source.numbers()) {
      numbers += (numbers.empty() ? "" : " ") + number.text + (number.percent ? "%" : "");
      EXPECT_LT(number.begin, number.end);
      EXPECT_LE(number.end, row.text.size());
    }
    EXPECT_EQ(numbers, row.numbers) << row.text;
  }
}

TEST(SourceText, WordAt) {
  const SourceText source("ab, cd");
  const std::array<size_t, 9> words = {0, 0, 1, 1, 1, 1, 2, 2, 2};
  for (size_t offset = 0; offset < words.size(); ++offset)
    EXPECT_EQ(source.WordAt(offset), words[offset]) << offset;
}

TEST(SourceText, Locate) {
  struct Case {
    std::string_view label;
    std::string_view value;
    size_t reached;
    std::string_view text;  // | where the value ends; without: not there
  };
  constexpr auto kCases = std::to_array<Case>({
      {"the first", "Rome", 0, "Rome| and Rome"},
      {"the first behind", "Rome", 1, "Rome and Rome|"},
      {"behind the last: the first again", "Rome", 12, "Rome| and Rome"},
      {"far behind", "Rome", 1000, "Rome|"},
      {"no part of a word", "Rome", 0, "Romeo, arome and Rome|."},
      {"only a part of a word", "Rome", 0, "Romeo"},
      {"punctuation may be cut", "C", 0, "C|++"},
      {"a value that ends in punctuation", "C+", 0, "C+|+"},
      {"several words", "and a", 0, "x and as and a|"},
      {"bytes of other scripts are letters", "S\xc3", 0, "S\xc3\xa3o"},
      {"absent", "Oslo", 0, "Rome"},
      {"nothing", "", 0, "Rome"},
      {"in no text", "Rome", 0, ""},
  });
  for (const Case& row : kCases) {
    const Marked marked(row.text);
    EXPECT_EQ(SourceText(marked.text).Locate(row.value, row.reached), marked.at) << row.label;
  }
}

TEST(SourceText, HasValueBehind) {
  struct Case {
    std::string_view text;  // behind |
    bool has;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"Paris| and Rome", true},
      {"Paris and Rome|", false},
      {"Paris| and that is all.", false},
      {"Paris|. Please", false},  // a capital at the start of a sentence says nothing
      {"Paris| for 3 days", true},
      {"Paris| and \"a b\"", true},
      {"|", false},
  });
  for (const Case& row : kCases) {
    const Marked marked(row.text);
    EXPECT_EQ(SourceText(marked.text).HasValueBehind(marked.at), row.has) << row.text;
  }
}

// The likeliest value that starts at `start` and reaches `from` at least.
std::string Likeliest(const SourceText& source, size_t start, size_t from) {
  const std::vector<CopyEnd> ends = source.Ends(start, from);
  const auto best = std::max_element(
      ends.begin(), ends.end(),
      [](const CopyEnd& a, const CopyEnd& b) { return a.probability < b.probability; });
  return best == ends.end() ? "" : source.text().substr(start, best->end - start);
}

TEST(SourceText, TheLikeliestEnd) {
  struct Case {
    std::string_view text;  // the value starts behind |
    std::string_view typed;
    std::string_view value;
  };
  constexpr auto kCases = std::to_array<Case>({
      {"play \"|Yellow submarine in a sea\" now", "", "Yellow submarine in a sea"},
      {"play \"|it's\"", "", "it's"},
      {"weather in |New York City today", "", "New York City"},
      {"weather in |Paris.", "", "Paris"},
      {"weather in |Paris", "Par", "Paris"},
      {"weather in |Paris. Then go", "Paris. T", "Paris. Then"},
      {"|x", "", "x"},
  });
  for (const Case& row : kCases) {
    const Marked marked(row.text);
    EXPECT_EQ(Likeliest(SourceText(marked.text), marked.at, marked.at + row.typed.size()),
              row.value)
        << row.text;
  }
}

TEST(SourceText, EndsAreADistributionBehindWhatIsTyped) {
  const std::vector<std::string> pieces = {"Paris", " ",     ", ",  "and ", "\"",
                                           "'",     "5,000", ".\n", "3.5%", "S\xc3\xa3o",
                                           "$",     "a@b.c", "-",   "Two "};
  for (uint64_t seed = 0; seed < 300; ++seed) {
    KeyedDice dice(seed);
    std::string text;
    for (int left = dice.Roll(30); left > 0; --left) text += dice.Pick(pieces);
    const SourceText source(text);
    const int size = static_cast<int>(text.size());
    for (int trial = 0; trial < 20; ++trial) {
      const int start = dice.Roll(size + 1);
      const int from = start + dice.Roll(size - start + 1);
      double sum = 0;
      for (const CopyEnd& end : source.Ends(start, from)) {
        ASSERT_GE(end.end, static_cast<size_t>(from)) << text;
        ASSERT_LE(end.end, text.size()) << text;
        ASSERT_GE(end.probability, 0) << text;
        sum += end.probability;
      }
      ASSERT_LE(sum, 1 + 1e-9) << text;
    }
  }
}

}  // namespace
}  // namespace schemafill
