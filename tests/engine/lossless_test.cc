// Every method gives plain decoding's tokens on the real model: requests of several kinds, any
// draft width, without a head, with the default one and with one that proposes garbage, greedy and
// sampled; and what is sampled follows the model's chances.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catalog/dataset.h"
#include "catalog/prompt.h"
#include "engine/engine.h"
#include "model/llama/llama_model.h"
#include "support/temp_dir.h"
#include "support/tiny_gguf.h"

namespace schemafill {
namespace {

std::filesystem::path Assets() { return std::getenv("SCHEMAFILL_ASSETS"); }

Request ReadRequest(std::string_view body) { return ParseRequest(Json::parse(body)).value(); }

class LosslessTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string target = (Assets() / "models" / "default.gguf").string();
    Result<std::unique_ptr<TargetModel>> model =
        LoadTarget({.path = target, .context_size = kContext});
    ASSERT_TRUE(model.ok()) << model.error().message;
    model_ = std::move(*model).release();
    head_ = Load((Assets() / "models" / "default-head.gguf").string());
    const testing::TempDir folder;
    testing::WriteTinyHead(folder.path("head.gguf"), target,
                           {.target_layers = {2, 15, 27},
                            .target_hidden = 576,
                            .embedding = 576,
                            .heads = 9,
                            .kv_heads = 3});
    garbage_ = Load(folder.path("head.gguf"));
  }
  static void TearDownTestSuite() {
    delete head_;
    delete garbage_;
    delete model_;
  }

  static DraftHead* Load(const std::string& path) {
    Result<std::unique_ptr<DraftHead>> head =
        LoadHead({.path = path, .context_size = kContext}, *model_);
    if (!head) throw std::runtime_error(head.error().message);
    return std::move(*head).release();
  }

  static Generation Run(const Request& request, const GenerateOptions& options,
                        DraftHead* head = nullptr) {
    Engine engine(*model_, {}, head);
    return engine.Generate(request, options).value();
  }

  static void ExpectSame(const Request& request, GenerateOptions options) {
    options.method = Method::kAr;
    const Generation plain = Run(request, options);
    EXPECT_EQ(plain.stats.forwards, plain.stats.tokens);
    const struct {
      Method method;
      int width;
      DraftHead* head;
    } kDrafted[] = {{Method::kSchemaFill, 7, nullptr},
                    {Method::kSchemaFill, 40, head_},
                    {Method::kToolSpec, 24, nullptr},
                    {Method::kEagle3, 8, head_},
                    {Method::kEagle3, 20, garbage_}};
    for (const auto& [method, width, head] : kDrafted) {
      SCOPED_TRACE(std::string(Name(method)) + " " + std::to_string(width));
      options.method = method;
      options.max_nodes = width;
      const Generation drafted = Run(request, options, head);
      EXPECT_EQ(drafted.tokens, plain.tokens) << drafted.text << "\nagainst\n" << plain.text;
      EXPECT_EQ(drafted.text, plain.text);
      EXPECT_EQ(drafted.stop, plain.stop);
    }
  }

  static constexpr int kContext = 4096;
  static TargetModel* model_;
  static DraftHead* head_;     // the default one
  static DraftHead* garbage_;  // random weights
};

TargetModel* LosslessTest::model_ = nullptr;
DraftHead* LosslessTest::head_ = nullptr;
DraftHead* LosslessTest::garbage_ = nullptr;

TEST_F(LosslessTest, ModelIsBitExact) {
  EXPECT_EQ(model_->info().guarantee, Guarantee::kBitExact) << model_->info().guarantee_reason;
}

TEST_F(LosslessTest, DataSetRequests) {
  for (const char* name : {"parallel_multiple", "exec_parallel"}) {
    Dataset data = LoadDataset(name, Assets() / "bfcl").value();
    data.requests.resize(2);
    for (const Request& request : data.requests) {
      SCOPED_TRACE(request.id);
      ExpectSame(request, {});
    }
  }
}

TEST_F(LosslessTest, ProseWithoutTools) {
  ExpectSame(ReadRequest(R"({"messages": [{"role": "user", "content": "Say: the quick brown fox."}],
                             "max_tokens": 40})"),
             {});
}

TEST_F(LosslessTest, DialogueWithResults) {
  ExpectSame(
      ReadRequest(
          R"({"max_tokens": 60, "tools": [{"name": "age_of", "description": "Age of a person",
      "parameters": {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}}],
      "messages": [{"role": "user", "content": "How old is Ada?"},
      {"role": "assistant", "content": null, "tool_calls": [{"id": "1", "type": "function",
        "function": {"name": "age_of", "arguments": "{\"name\": \"Ada\"}"}}]},
      {"role": "tool", "tool_call_id": "1", "content": "36"},
      {"role": "user", "content": "And Grace, and \"Zoë 😀\"?"}]})"),
      {});
}

TEST_F(LosslessTest, Sampled) {
  Dataset data = LoadDataset("parallel", Assets() / "bfcl").value();
  const SamplingOptions kShapes[] = {{.temperature = 1, .seed = 1},
                                     {.temperature = 1, .top_p = 0.95, .seed = 2},
                                     {.temperature = 1, .top_k = 40, .min_p = 0.05, .seed = 3}};
  for (const SamplingOptions& sampling : kShapes) {
    SCOPED_TRACE(sampling.seed);
    GenerateOptions options;
    options.sampling = sampling;
    options.max_tokens = 60;
    options.preset = Preset::kPaper;
    ExpectSame(data.requests[0], options);
  }
}

// Above this lies 1 in 1,000 of a true chi-square (Wilson and Hilferty's approximation).
double CriticalChiSquare(double freedom) {
  const double spread = 2 / (9 * freedom);
  return freedom * std::pow(1 - spread + 3.09 * std::sqrt(spread), 3);
}

// Draws of one output token with many seeds against the chances that the model's own logits give.
TEST_F(LosslessTest, DrawsFollowTheModelsChances) {
  constexpr int kDraws = 20'000;
  constexpr int kPosition = 5;
  const Request request =
      ReadRequest(R"({"messages": [{"role": "user", "content": "Tell me a story."}]})");
  const std::vector<Token> prompt = BuildPrompt(request, model_->tokenizer()).tokens;
  Arena arena(*model_);
  arena.Begin(prompt);
  arena.Verify(prompt.back(), {});
  const std::span<const float> logits = model_->Logits(arena.first_row());
  for (SamplingOptions options : {SamplingOptions{.temperature = 1},
                                  {.temperature = 1.5, .top_k = 50},
                                  {.temperature = 1, .top_p = 0.9, .min_p = 0.01}}) {
    const std::vector<TokenChance> choices = ShapeLogits(logits, options);
    std::map<Token, int> seen;
    for (int seed = 0; seed < kDraws; ++seed) {
      const Token token = PickToken(choices, TokenCoin(static_cast<uint64_t>(seed), kPosition));
      ++seen[token];
      options.seed = static_cast<uint64_t>(seed);
      if (seed % 500 != 0) continue;
      EXPECT_EQ(ChooseToken(logits, options, kPosition), token);
    }
    // Tokens that are expected less than five times count together.
    double statistic = 0, rare = 0;
    int kinds = 0, seen_rare = 0;
    const auto add = [&](double expected, int count) {
      statistic += (count - expected) * (count - expected) / expected;
      ++kinds;
    };
    for (const TokenChance& choice : choices) {
      const double expected = choice.chance * kDraws;
      const int count = seen.contains(choice.token) ? seen[choice.token] : 0;
      if (expected >= 5) {
        add(expected, count);
      } else {
        rare += expected;
        seen_rare += count;
      }
    }
    if (rare >= 5) add(rare, seen_rare);
    EXPECT_GT(kinds, 4) << "too sure a token tells nothing";
    EXPECT_LT(statistic, CriticalChiSquare(kinds - 1)) << kinds << " kinds";
  }
}

// A later, shorter request finds nothing of an earlier one; a repeated one reuses its prompt and
// gives the same.
TEST_F(LosslessTest, RequestsAfterEachOther) {
  Dataset data = LoadDataset("parallel", Assets() / "bfcl").value();
  data.requests.resize(2);
  std::vector<Generation> alone;
  for (const Request& request : data.requests) alone.push_back(Run(request, {}));
  Engine shared(*model_, {});
  for (const size_t i : {0, 1, 0, 0}) {
    EXPECT_EQ(shared.Generate(data.requests[i], {}).value().tokens, alone[i].tokens);
  }
}

}  // namespace
}  // namespace schemafill
