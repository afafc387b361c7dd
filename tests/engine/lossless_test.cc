// Every method gives plain decoding's tokens on the real model: requests of several kinds, any
// draft width, greedy and sampled.
#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "catalog/dataset.h"
#include "engine/engine.h"
#include "model/llama/llama_model.h"

namespace schemafill {
namespace {

std::filesystem::path Assets() { return std::getenv("SCHEMAFILL_ASSETS"); }

Request ReadRequest(std::string_view body) { return ParseRequest(Json::parse(body)).value(); }

class LosslessTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    Result<std::unique_ptr<TargetModel>> model =
        LoadTarget({.path = (Assets() / "models" / "default.gguf").string(), .context_size = 4096});
    ASSERT_TRUE(model.ok()) << model.error().message;
    model_ = std::move(*model).release();
  }
  static void TearDownTestSuite() { delete model_; }

  static Generation Run(const Request& request, const GenerateOptions& options) {
    Engine engine(*model_, {});
    return engine.Generate(request, options).value();
  }

  static void ExpectSame(const Request& request, GenerateOptions options) {
    options.method = Method::kAr;
    const Generation plain = Run(request, options);
    EXPECT_EQ(plain.stats.forwards, plain.stats.tokens);
    for (const auto& [method, width] :
         {std::pair(Method::kSchemaFill, 7), std::pair(Method::kSchemaFill, 40),
          std::pair(Method::kToolSpec, 24)}) {
      SCOPED_TRACE(testing::Message() << Name(method) << ", " << width);
      options.method = method;
      options.max_nodes = width;
      const Generation drafted = Run(request, options);
      EXPECT_EQ(drafted.tokens, plain.tokens) << drafted.text << "\nagainst\n" << plain.text;
      EXPECT_EQ(drafted.text, plain.text);
      EXPECT_EQ(drafted.stop, plain.stop);
    }
  }

  static TargetModel* model_;
};

TargetModel* LosslessTest::model_ = nullptr;

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
