#include "train/examples.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalog/prompt.h"
#include "model/scripted/scripted_model.h"
#include "support/temp_dir.h"

namespace schemafill {
namespace {

using ::testing::HasSubstr;
using testing::TempDir;

constexpr const char* kTools =
    R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object", "properties": {}}}}])";

std::string Line(const std::string& id, const std::string& text, const std::string& answer) {
  return R"({"id": ")" + id + R"(", "messages": [{"role": "user", "content": ")" + text +
         R"("}], "tools": )" + kTools + R"(, "answer": ")" + answer + "\"}\n";
}

class ExamplesTest : public ::testing::Test {
 protected:
  Result<Examples> Read(const std::string& content, int max_tokens = 10000) {
    return ReadExamples(folder_.Write("e.jsonl", content), tokenizer_, Token{2}, max_tokens);
  }

  TempDir folder_;
  ScriptedTokenizer tokenizer_{{}};
};

TEST_F(ExamplesTest, ArePromptAnswerAndEnd) {
  const std::string line = Line("one", "Do it", "the answer");
  const Result<Examples> read = Read(line + "\n" + Line("two", "Again", "x"));
  ASSERT_TRUE(read.ok()) << read.error().message;
  ASSERT_EQ(read->examples.size(), 2u);
  const Example& example = read->examples[0];
  EXPECT_EQ(example.id, "one");
  const std::vector<Token> prompt =
      BuildPrompt(*ParseRequest(*ParseJson(line, "line")), tokenizer_).tokens;
  ASSERT_EQ(example.prompt_tokens, static_cast<int>(prompt.size()));
  EXPECT_TRUE(std::equal(prompt.begin(), prompt.end(), example.tokens.begin()));
  EXPECT_EQ(tokenizer_.Decode(
                std::span(example.tokens).subspan(prompt.size(), example.answer_tokens() - 1)),
            "the answer");
  EXPECT_EQ(example.tokens.back(), Token{2});
}

TEST_F(ExamplesTest, LeavesLongOnesOut) {
  const std::string line = Line("short", "a", "b");
  const int size = static_cast<int>(Read(line)->examples[0].tokens.size());
  const Result<Examples> read = Read(line + Line("long", std::string(99, 'a'), "b"), size);
  ASSERT_TRUE(read.ok()) << read.error().message;
  EXPECT_EQ(read->examples.size(), 1u);
  EXPECT_EQ(read->too_long, 1);
}

TEST_F(ExamplesTest, ErrorsNameFileAndLine) {
  const std::string good = Line("good", "a", "b");
  EXPECT_THAT(Read(good + "\n{\n").error().message, HasSubstr("e.jsonl: line 3: "));
  EXPECT_THAT(Read(R"({"messages": []})").error().message, HasSubstr("line 1: answer: "));
  EXPECT_THAT(Read(R"({"answer": "x", "messages": 3})").error().message,
              HasSubstr("line 1: messages"));
  EXPECT_THAT(Read("").error().message, HasSubstr("has no example"));
  EXPECT_THAT(Read(good, 8).error().message, HasSubstr("at most 8 tokens (1 are longer)"));
  EXPECT_THAT(ReadExamples(folder_.path("none"), tokenizer_, Token{2}, 8).error().message,
              HasSubstr("can't be opened"));
}

}  // namespace
}  // namespace schemafill
