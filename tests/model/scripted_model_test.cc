#include "model/scripted/scripted_model.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "support/scripted.h"

namespace schemafill {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const ScriptedTokenizer> Letters() {
  return std::make_shared<ScriptedTokenizer>(std::vector<std::string>{});
}

std::vector<float> Copy(std::span<const float> row) { return {row.begin(), row.end()}; }

// ---- Tokenizer ----

// Tokens as pieces with a bar between them; control tokens show as "".
std::string Pieces(const ScriptedTokenizer& tokenizer, const std::vector<Token>& tokens) {
  std::vector<std::string_view> pieces;
  for (const Token token : tokens) pieces.push_back(tokenizer.Piece(token));
  return fmt::format("{}", fmt::join(pieces, "|"));
}

TEST(ScriptedTokenizerTest, TakesTheLongestWord) {
  const ScriptedTokenizer tokenizer({"ab", "abc", "c", "\": \""});
  const struct {
    std::string text, pieces;
  } rows[] = {
      {"", ""},
      {"x", "x"},
      {"ab", "ab"},
      {"abcc", "abc|c"},
      {"aab", "a|ab"},
      {"a\": \"b", "a|\": \"|b"},
      {"\xc3\xa9", "\xc3|\xa9"},
      {"<|end|>", "<|||e|n|d|||>"},
  };
  for (const auto& row : rows) {
    EXPECT_EQ(Pieces(tokenizer, tokenizer.Encode(row.text)), row.pieces) << row.text;
    EXPECT_EQ(tokenizer.Decode(tokenizer.Encode(row.text)), row.text);
  }
}

TEST(ScriptedTokenizerTest, EveryByteSurvives) {
  std::string text;
  for (int i = 0; i < 512; ++i) text += static_cast<char>(i);
  const auto tokenizer = JsonTokenizer();
  EXPECT_EQ(tokenizer->Decode(tokenizer->Encode(text)), text);
  EXPECT_EQ(tokenizer->Decode(tokenizer->EncodePrompt(text)), text);
}

TEST(ScriptedTokenizerTest, ControlWordsAreTokensInPromptsOnly) {
  const ScriptedTokenizer tokenizer({"user"});
  EXPECT_EQ(tokenizer.ApplyChatTemplate({{"system", "s"}, {"user", "u"}}),
            "<|start|>system\ns<|end|>\n<|start|>user\nu<|end|>\n<|start|>assistant\n");
  const std::vector<Token> prompt = tokenizer.EncodePrompt("<|start|>user\n<|end|><|eos|><|en");
  EXPECT_EQ(Pieces(tokenizer, prompt), "|user|\n|||<|||e|n");
  EXPECT_EQ(prompt[3], tokenizer.end_token());
  EXPECT_FALSE(tokenizer.IsEnd(prompt[0]));
  EXPECT_FALSE(tokenizer.IsEnd(prompt[1]));
  EXPECT_TRUE(tokenizer.IsEnd(prompt[3]));
  EXPECT_TRUE(tokenizer.IsEnd(prompt[4]));
}

// ---- Cells and their rules ----

// One step of a trace: "+ a@0{0} b@1{0,1}" is a forward in the notation of DumpCells; "share 0 1 0
// -1" and "drop 0 2 -1" are the calls of those names.
void Step(ScriptedModel& model, const std::string& step) {
  std::istringstream in(step);
  std::string verb, row;
  in >> verb;
  if (verb == "+") {
    std::vector<Row> rows;
    while (in >> row) {
      rows.push_back(
          {.token = Token{row[0]}, .position = std::stoi(row.substr(2)), .sequences = {}});
      std::istringstream labels(row.substr(row.find('{') + 1));
      for (std::string label; std::getline(labels, label, ',');) {
        rows.back().sequences.push_back(SequenceId{std::stoi(label)});
      }
    }
    model.Forward(rows);
    return;
  }
  int a = 0, b = 0, c = 0, d = 0;
  in >> a >> b >> c;
  if (verb == "share" && in >> d) return model.Share(SequenceId{a}, SequenceId{b}, c, d);
  ASSERT_EQ(verb, "drop") << step;
  model.Drop(SequenceId{a}, b, c);
}

struct TraceRow {
  std::string name;
  std::vector<std::string> steps;
  std::string cells;
  std::string violation;  // part of it; empty: none
};

const TraceRow kTraces[] = {
    {"a row a forward", {"+ a@0{0}", "+ b@1{0}"}, "a@0{0} b@1{0}", ""},
    {"several rows a forward", {"+ a@0{0} b@1{0} c@2{0}"}, "a@0{0} b@1{0} c@2{0}", ""},
    {"two sequences side by side", {"+ a@0{0} x@0{1} b@1{0}"}, "a@0{0} x@0{1} b@1{0}", ""},
    {"a shared node and two leaves", {"+ a@0{0,1} b@1{0} c@1{1}"}, "a@0{0,1} b@1{0} c@1{1}", ""},
    {"sharing adds a label, dropping takes it",
     {"+ a@0{0} b@1{0} c@2{0}", "share 0 1 1 -1", "drop 0 2 -1"},
     "a@0{0} b@1{0,1} c@2{1}",
     ""},
    {"ranges end before their last position",
     {"+ a@0{0} b@1{0} c@2{0}", "share 0 1 0 1", "drop 0 1 2"},
     "a@0{0,1} . c@2{0}",
     ""},
    {"a cell without labels is free, and the first free one is next",
     {"+ a@0{0} x@0{1} b@1{0} y@1{1}", "drop 1 0 -1", "+ u@0{2} v@1{2} w@2{2}"},
     "a@0{0} u@0{2} b@1{0} v@1{2} w@2{2}",
     ""},
    {"a dropped row is forgotten",
     {"+ a@0{0} b@1{0}", "drop 0 1 -1", "+ c@1{0}"},
     "a@0{0} c@1{0}",
     ""},
    {"a shared prefix goes on under another label",
     {"+ a@0{0} b@1{0}", "share 0 1 0 -1", "drop 0 1 -1", "+ c@2{1}"},
     "a@0{0,1} b@1{1} c@2{1}",
     ""},
    {"a filled hole",
     {"+ x@0{1} a@0{0} b@1{0}", "drop 1 0 -1", "+ c@2{0}"},
     "c@2{0} a@0{0} b@1{0}",
     "position 0 out of order"},
    {"a start behind the start", {"+ a@1{0}"}, "a@1{0}", "position 1 doesn't continue sequence 0"},
    {"a skipped position", {"+ a@0{0}", "+ b@2{0}"}, "a@0{0} b@2{0}", "which ends at 1"},
    {"a repeated position", {"+ a@0{0}", "+ b@0{0}"}, "a@0{0} b@0{0}", "which ends at 1"},
    {"siblings in one sequence", {"+ a@0{0} b@1{0} c@1{0}"}, "a@0{0} b@1{0} c@1{0}", "ends at 2"},
    {"a hole in the history",
     {"+ a@0{0} b@1{0} c@2{0}", "drop 0 1 2", "+ d@3{0}"},
     "a@0{0} d@3{0} c@2{0}",
     "a gap at position 1"},
    {"two cells at one position",
     {"+ a@0{0} b@1{0} x@0{1} y@1{1}", "share 1 0 1 2", "+ c@2{0}"},
     "a@0{0} b@1{0} x@0{1} y@1{0,1} c@2{0}",
     "position 1 repeated"},
    {"coupled sequences with different ends",
     {"+ a@0{0,1} b@1{0}", "+ c@2{0,1}"},
     "a@0{0,1} b@1{0} c@2{0,1}",
     "coupled, but end at 2 and 1"},
    {"a label on a stranger's cell",
     {"+ a@0{0} x@0{1} y@1{1}", "share 1 0 1 -1", "+ c@2{0}"},
     "a@0{0} x@0{1} y@1{0,1} c@2{0}",
     "another history"},
    {"parents behind children", {"+ b@1{0} a@0{0}"}, "b@1{0} a@0{0}", "doesn't continue"},
};

TEST(ScriptedModelTest, CellsFollowTheTrace) {
  for (const TraceRow& row : kTraces) {
    SCOPED_TRACE(row.name);
    ScriptedModel model(Letters(), {.max_sequences = 4});
    for (const std::string& step : row.steps) Step(model, step);
    EXPECT_EQ(model.DumpCells(), row.cells);
    if (row.violation.empty()) {
      EXPECT_EQ(model.violation(), "");
    } else {
      EXPECT_THAT(model.violation(), HasSubstr(row.violation));
    }
  }
}

// What plain decoding of `text` in sequence 0 of a fresh model ends with.
std::vector<float> PlainLogits(const std::string& text) {
  ScriptedModel model(Letters(), {});
  int position = 0;
  for (const char letter : text) Step(model, fmt::format("+ {}@{}{{0}}", letter, position++));
  EXPECT_EQ(model.violation(), "");
  return Copy(model.Logits(0));
}

TEST(ScriptedModelTest, ARuleBrokenShowsInTheLogits) {
  const struct {
    std::vector<std::string> steps;
    std::string history;  // what the last row would stand for if cells did not matter
  } rows[] = {
      {{"+ x@0{1} a@0{0} b@1{0}", "drop 1 0 -1", "+ c@2{0}"}, "abc"},
      {{"+ x@0{1} a@0{0} b@1{0}", "drop 1 0 -1", "+ c@2{0}", "+ d@3{0}"}, "abcd"},
      {{"+ a@0{0} x@0{1} y@1{1}", "share 1 0 1 -1", "+ c@2{0}"}, "ayc"},
      {{"+ a@0{0} x@0{1} y@1{1}", "share 1 0 1 -1", "+ c@2{0}", "+ d@3{0}"}, "aycd"},
      {{"+ a@0{0,1} b@1{0}", "+ c@2{0,1}"}, "abc"},
      {{"+ a@0{0}", "+ b@2{0}"}, "ab"},
  };
  for (const auto& row : rows) {
    ScriptedModel model(Letters(), {});
    for (const std::string& step : row.steps) Step(model, step);
    EXPECT_NE(Copy(model.Logits(0)), PlainLogits(row.history)) << row.history;
  }
}

TEST(ScriptedModelTest, RowsDoNotDependOnTheirForward) {
  ScriptedModel model(Letters(), {});
  Step(model, "+ a@0{0,1,2} x@0{3} b@1{0,1} c@1{2} d@2{0} e@2{1} f@2{2}");
  const std::vector<std::string> histories = {"a", "x", "ab", "ac", "abd", "abe", "acf"};
  for (size_t i = 0; i < histories.size(); ++i) {
    EXPECT_EQ(Copy(model.Logits(static_cast<int>(i))), PlainLogits(histories[i])) << histories[i];
  }
}

TEST(ScriptedModelTest, PrefillLeavesTheCellsOfForwards) {
  const std::vector<Token> text = Letters()->Encode("abcdefgh");
  for (const int max_rows : {1, 3, 8, 64}) {
    ScriptedModel model(Letters(), {.max_rows = max_rows});
    model.Prefill(text, 0, SequenceId{0});
    EXPECT_EQ(model.forwards(), 0);
    Step(model, "+ i@8{0}");
    EXPECT_EQ(model.forwards(), 1);
    EXPECT_EQ(Copy(model.Logits(0)), PlainLogits("abcdefghi"));
    EXPECT_EQ(model.violation(), "");
  }
}

TEST(ScriptedModelTest, WhatCannotBeStoredFailsAndStoresNothing) {
  const struct {
    std::string step, violation;
  } rows[] = {
      {"+ b@1{0} c@2{0} d@3{0} e@4{0}", "4 rows, 3 free cells"},
      {"+ b@1{0} c@2{0} d@3{0} e@4{0} f@5{0}", "a forward of 5 rows"},
      {"+", "a forward of 0 rows"},
      {"+ b@1{2}", "unknown sequence"},
  };
  for (const auto& row : rows) {
    ScriptedModel model(Letters(), {.context_size = 4, .max_rows = 4, .max_sequences = 2});
    Step(model, "+ a@0{0}");
    EXPECT_THROW(Step(model, row.step), InternalError) << row.step;
    EXPECT_THAT(model.violation(), HasSubstr(row.violation));
    EXPECT_EQ(model.DumpCells(), "a@0{0}");
    EXPECT_EQ(model.cells_used(), 1);
  }
}

// ---- Answers ----

std::string PlainText(ScriptedModel& model, const std::string& prompt, int limit) {
  const auto& tokenizer = model.tokenizer();
  return tokenizer.Decode(PlainAnswer(model, tokenizer.EncodePrompt(prompt), limit));
}

TEST(ScriptedModelTest, AnswersFromTheScriptThenEnds) {
  const auto tokenizer = JsonTokenizer();
  ScriptedModel model(tokenizer, {});
  model.Script(tokenizer->EncodePrompt("<|start|>q"), tokenizer->Encode(R"({"name": "get"})"));
  model.Script(tokenizer->EncodePrompt("<|start|>qq"), tokenizer->Encode(R"({})"));
  EXPECT_EQ(PlainText(model, "<|start|>q", 100), R"({"name": "get"})");
  EXPECT_EQ(PlainText(model, "<|start|>q{\"name", 100), R"(": "get"})") << "a prefix is given";
  EXPECT_EQ(PlainText(model, "<|start|>qq", 100), R"({})");
  EXPECT_EQ(PlainText(model, "<|start|>q", 2), R"({"name)");
  EXPECT_EQ(model.violation(), "");
}

TEST(ScriptedModelTest, TheLongestPromptThatFitsCounts) {
  const auto tokenizer = Letters();
  ScriptedModel model(tokenizer, {});
  model.Script(tokenizer->Encode("p"), tokenizer->Encode("abcd"));
  model.Script(tokenizer->Encode("pab"), tokenizer->Encode("xy"));
  EXPECT_EQ(PlainText(model, "p", 10), "abxy");
  EXPECT_EQ(PlainText(model, "pabc", 10), "d");
}

TEST(ScriptedModelTest, OffTheScriptTheWholeHistoryCounts) {
  const auto tokenizer = JsonTokenizer();
  ScriptedModel model(tokenizer, {.seed = 3});
  ScriptedModel same(tokenizer, {.seed = 3});
  ScriptedModel other(tokenizer, {.seed = 4});
  const std::string answer = PlainText(model, "some prompt", 40);
  EXPECT_EQ(PlainText(same, "some prompt", 40), answer);
  EXPECT_NE(PlainText(other, "some prompt", 40), answer);
  EXPECT_NE(PlainText(model, "some Prompt", 40), answer);
}

TEST(ScriptedModelTest, LogitsHaveAClearMaximumAndNoise) {
  ScriptedModel model(Letters(), {});
  Step(model, "+ a@0{0} b@1{0}");
  for (const int row : {0, 1}) {
    const std::span<const float> logits = model.Logits(row);
    ASSERT_EQ(static_cast<int>(logits.size()), model.info().vocab_size);
    EXPECT_EQ(std::ranges::count(logits, 10.0f), 1);
    EXPECT_EQ(std::ranges::count_if(logits, [](float l) { return l >= 0 && l < 6; }),
              static_cast<ptrdiff_t>(logits.size()) - 1);
  }
  EXPECT_NE(Copy(model.Logits(0)), Copy(model.Logits(1)));
}

TEST(ScriptedModelTest, OutputsMustBeAskedFor) {
  ScriptedModel model(Letters(), {.layers = 3, .embedding_size = 5});
  const std::vector<int> layers = {0, 2};
  model.SetFeatureLayers(layers);
  const Row row{.token = Token{'a'}, .sequences = {SequenceId{0}}, .wants_logits = false};
  model.Forward(std::span(&row, 1));
  EXPECT_THROW(model.Logits(0), InternalError);
  EXPECT_EQ(model.Features(2, 0).size(), 5u);
  EXPECT_NE(Copy(model.Features(0, 0)), Copy(model.Features(2, 0)));
  EXPECT_THROW(model.Features(1, 0), InternalError);
  EXPECT_THROW(model.Features(0, 1), InternalError);
  EXPECT_THROW(model.SetFeatureLayers(std::vector<int>{3}), InternalError);
}

TEST(ScriptedModelTest, FeaturesAreAFunctionOfTheHistory) {
  const std::vector<int> layers = {1};
  ScriptedModel together(Letters(), {}), apart(Letters(), {});
  together.SetFeatureLayers(layers);
  apart.SetFeatureLayers(layers);
  Step(together, "+ a@0{0} x@0{1} b@1{0}");
  Step(apart, "+ a@0{0}");
  Step(apart, "+ b@1{0}");
  EXPECT_EQ(Copy(together.Features(1, 2)), Copy(apart.Features(1, 0)));
  EXPECT_NE(Copy(together.Features(1, 0)), Copy(together.Features(1, 2)));
}

TEST(ScriptedModelTest, PrefillGivesFeaturesOfEveryToken) {
  const std::vector<int> layers = {1};
  ScriptedModel prefilled(Letters(), {.max_rows = 2}), stepped(Letters(), {});
  prefilled.SetFeatureLayers(layers);
  stepped.SetFeatureLayers(layers);
  const std::vector<Token> tokens = {Token{'a'}, Token{'b'}, Token{'c'}};
  prefilled.Prefill(tokens, 0, SequenceId{0});
  Step(stepped, "+ a@0{0} b@1{0} c@2{0}");
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(Copy(prefilled.Features(1, i)), Copy(stepped.Features(1, i)));
  }
  EXPECT_THROW(prefilled.Logits(2), InternalError);
}

}  // namespace
}  // namespace schemafill
