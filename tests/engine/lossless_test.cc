// Every method gives plain decoding's tokens on the real model: requests of several kinds, any
// draft width, without a head, with the default one and with one that proposes garbage, greedy and
// sampled.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catalog/dataset.h"
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
  for (const uint64_t seed : {1, 2}) {
    SCOPED_TRACE(seed);
    GenerateOptions options{.sampling = {.temperature = 1.0, .top_p = 0.95, .seed = seed}};
    options.max_tokens = 60;
    ExpectSame(data.requests[0], options);
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
