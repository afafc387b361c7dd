#include "commit/session.h"

#include <gtest/gtest.h>

#include <array>

#include "support/scripted.h"

namespace schemafill {
namespace {

// Tokens of pieces with | between them; $ is the end token.
std::vector<Token> Tokens(const ScriptedTokenizer& tokenizer, std::string_view pieces) {
  std::vector<Token> tokens;
  while (!pieces.empty()) {
    const std::string_view piece = pieces.substr(0, pieces.find('|'));
    pieces.remove_prefix(std::min(pieces.size(), piece.size() + 1));
    tokens.push_back(piece == "$" ? tokenizer.end_token() : tokenizer.Encode(piece).at(0));
  }
  return tokens;
}

struct Case {
  std::string_view label;
  std::string_view pieces;
  int max_tokens;
  int taken;
  std::string_view text;
  StopReason stop;
};

constexpr auto kCases = std::to_array<Case>({
    {"goes on", "a|b|c", 10, 3, "abc", StopReason::kNone},
    {"nothing", "", 10, 0, "", StopReason::kNone},
    {"the end token", "a|$|b", 10, 2, "a", StopReason::kEnd},
    {"the end token alone", "$", 10, 1, "", StopReason::kEnd},
    {"the object closes", "{|}|b", 10, 2, "{}", StopReason::kClosed},
    {"two calls close in one step", "[{\"|a|\":|0|}, {\"|a|\":|0|}|]|$", 20, 10,
     "[{\"a\":0}, {\"a\":0}]", StopReason::kClosed},
    {"text behind the brace in its token", "{\"|a|\":|{}|}, {\"|b", 10, 5, "{\"a\":{}}, {\"",
     StopReason::kClosed},
    {"the limit", "a|b|c", 2, 2, "ab", StopReason::kLength},
    {"the limit at the last one", "a|b", 2, 2, "ab", StopReason::kLength},
    {"closed at the limit", "{|}|c", 2, 2, "{}", StopReason::kClosed},
    {"ended at the limit", "a|$|c", 2, 2, "a", StopReason::kEnd},
    {"the limit inside of an object", "{|{|}|}", 2, 2, "{{", StopReason::kLength},
    {"a character over two tokens", "\xc3|\xa9|$", 10, 3, "\xc3\xa9", StopReason::kEnd},
});

void ExpectRow(const Case& row, const Session& session, int taken) {
  EXPECT_EQ(taken, row.taken) << row.label;
  EXPECT_EQ(session.tokens.size(), static_cast<size_t>(row.taken)) << row.label;
  EXPECT_EQ(session.answer.text(), row.text) << row.label;
  EXPECT_EQ(Name(session.stop), Name(row.stop)) << row.label;
}

// An answer ends at the same token whether tokens come alone or in blocks of any size.
TEST(Commit, EndsAtTheSameTokenInBlocksOfAnySize) {
  const auto tokenizer = JsonTokenizer();
  for (const Case& row : kCases) {
    const std::vector<Token> tokens = Tokens(*tokenizer, row.pieces);
    for (size_t block = 1; block <= tokens.size() + 1; ++block) {
      Session session;
      session.max_tokens = row.max_tokens;
      int taken = 0;
      for (size_t at = 0; at < tokens.size() && session.stop == StopReason::kNone; at += block) {
        const size_t count = std::min(block, tokens.size() - at);
        taken += Commit(std::span(tokens).subspan(at, count), *tokenizer, &session);
      }
      ExpectRow(row, session, taken);
    }
  }
}

struct StopCase {
  std::string_view label;
  std::vector<std::string> stops;
  std::string_view pieces;
  std::string_view settled;  // before the last token
  std::string_view text;
  StopReason stop;
};

// Cases list, item 17: nothing of a stop text is shown, however tokens cut it.
TEST(Commit, StopTexts) {
  const StopCase kStops[] = {
      {"one token", {"0"}, "a|0|b", "a", "a", StopReason::kStopText},
      {"over tokens", {"abc"}, "x|a|b|c|d", "x", "x", StopReason::kStopText},
      {"nearly", {"abc"}, "a|b|d|c", "abd", "abdc", StopReason::kNone},
      {"nearly, at the end", {"abc"}, "x|a|b|$", "x", "xab", StopReason::kEnd},
      {"inside of a token", {"ather"}, "get|_weather", "get", "get_we", StopReason::kStopText},
      {"the first one in the text", {"b", "ab"}, "x|a|b", "x", "x", StopReason::kStopText},
      {"one begins in the other", {"aab", "ab"}, "a|a|a|b", "a", "a", StopReason::kStopText},
      {"ahead of the closing brace", {"}"}, "{|}", "{", "{", StopReason::kStopText},
      {"a character", {"\xc3\xa9"}, "a|\xc3|\xa9", "a", "a", StopReason::kStopText},
      {"half a character", {"x"}, "a|\xc3|\xa9", "a", "a\xc3\xa9", StopReason::kNone},
  };
  const auto tokenizer = JsonTokenizer();
  for (const StopCase& row : kStops) {
    const std::vector<Token> tokens = Tokens(*tokenizer, row.pieces);
    Session session;
    session.max_tokens = 10;
    session.stops = row.stops;
    std::string shown;
    for (const Token token : tokens) {
      if (session.stop != StopReason::kNone) break;
      shown = SettledText(session);
      Commit(std::span(&token, 1), *tokenizer, &session);
      EXPECT_TRUE(SettledText(session).starts_with(shown)) << row.label;
    }
    EXPECT_EQ(shown, row.settled) << row.label;
    EXPECT_EQ(Text(session), row.text) << row.label;
    EXPECT_EQ(Name(session.stop), Name(row.stop)) << row.label;
    if (row.stop != StopReason::kNone) {
      EXPECT_EQ(SettledText(session), row.text) << row.label;
    }
  }
}

TEST(Commit, StopTextsBeginBehindTheOpening) {
  const auto tokenizer = JsonTokenizer();
  Session session;
  session.max_tokens = 10;
  session.stops = {"a0"};
  session.answer.Feed("a0a");
  session.opening = 3;
  EXPECT_EQ(SettledText(session), "a0a");
  Commit(Tokens(*tokenizer, "0|a|0"), *tokenizer, &session);
  EXPECT_EQ(Text(session), "a0a0");
}

TEST(Commit, OneCall) {
  const auto tokenizer = JsonTokenizer();
  const std::vector<Token> tokens =
      Tokens(*tokenizer, "[{\"|name|\": \"|get|\", \"|arguments|\": |{}|}, {\"|name");
  for (const bool one : {true, false}) {
    Session session;
    session.max_tokens = 20;
    session.one_call = one;
    EXPECT_EQ(Commit(tokens, *tokenizer, &session), one ? 8 : 10);
    EXPECT_EQ(Name(session.stop), one ? "closed" : "none");
  }
}

TEST(Commit, NotBehindTheEnd) {
  const auto tokenizer = JsonTokenizer();
  Session session;
  session.max_tokens = 1;
  const std::vector<Token> tokens = Tokens(*tokenizer, "a");
  Commit(tokens, *tokenizer, &session);
  EXPECT_THROW(Commit(tokens, *tokenizer, &session), InternalError);
  EXPECT_EQ(session.answer.text(), "a");
}

}  // namespace
}  // namespace schemafill
