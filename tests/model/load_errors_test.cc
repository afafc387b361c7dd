// What a user can get wrong about a model file: each gives one line that names the file and the
// remedy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "model/llama/llama_model.h"
#include "support/temp_dir.h"
#include "support/tiny_gguf.h"

namespace schemafill {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::TempDir;
using testing::TinyModelOptions;
using testing::WriteTinyModel;

std::string ErrorOf(const LoadOptions& options) {
  auto target = LoadTarget(options);
  return target.ok() ? "loaded" : target.error().message;
}

std::string Content(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream content;
  content << file.rdbuf();
  return content.str();
}

std::string TinyModel(const TempDir& folder, const TinyModelOptions& options) {
  WriteTinyModel(folder.path("m.gguf"), options);
  return folder.path("m.gguf");
}

TinyModelOptions HeaderOnly(const std::string& architecture,
                            std::map<std::string, uint32_t> numbers) {
  TinyModelOptions options;
  options.architecture = architecture;
  options.numbers = std::move(numbers);
  return options;
}

TinyModelOptions WithNumbers(std::map<std::string, uint32_t> numbers) {
  TinyModelOptions options;
  options.numbers = std::move(numbers);
  return options;
}

TinyModelOptions SlidingWindow() {
  TinyModelOptions options;
  options.architecture = "cohere2";
  options.tied_output = true;
  options.numbers = {{"cohere2.attention.sliding_window", 64}};
  options.fractions = {{"cohere2.logit_scale", 1.0f},
                       {"cohere2.attention.layer_norm_epsilon", 1e-5f}};
  return options;
}

struct Case {
  const char* name;
  std::function<std::string(const TempDir&)> file;
  const char* problem;
  const char* remedy;
};

class LoadErrors : public ::testing::TestWithParam<Case> {};

TEST_P(LoadErrors, AreOneLineWithARemedy) {
  const TempDir folder;
  const std::string path = GetParam().file(folder);
  std::vector<std::string> log;
  LoadOptions options{.path = path, .context_size = 256, .threads = 1};
  options.log = [&](LogLevel, std::string_view line) { log.emplace_back(line); };
  EXPECT_THAT(ErrorOf(options), AllOf(HasSubstr(path), HasSubstr(GetParam().problem),
                                      HasSubstr(GetParam().remedy), Not(HasSubstr("\n"))));
}

const Case kCases[] = {
    {"Missing", [](const TempDir& d) { return d.path("no.gguf"); }, "does not exist",
     "check the path"},
    {"Folder", [](const TempDir& d) { return d.path("."); }, "is a directory", ".gguf file in it"},
    {"Device", [](const TempDir&) { return std::string("/dev/null"); }, "not a regular file",
     "give a .gguf file"},
    {"Empty", [](const TempDir& d) { return d.Write("m.gguf", ""); }, "not a GGUF file", "convert"},
    {"OneByte", [](const TempDir& d) { return d.Write("m.gguf", "G"); }, "not a GGUF file",
     "convert"},
    {"Text", [](const TempDir& d) { return d.Write("m.gguf", "{\"a\": 1}, and more"); },
     "not a GGUF file", "convert"},
    {"LfsPointer",
     [](const TempDir& d) {
       return d.Write("m.gguf", "version https://git-lfs.github.com/spec/v1\n");
     },
     "Git LFS pointer", "git lfs pull"},
    {"OnlyMagic", [](const TempDir& d) { return d.Write("m.gguf", "GGUF"); }, "damaged header",
     "download it again"},
    {"WildHeader",
     [](const TempDir& d) { return d.Write("m.gguf", "GGUF" + std::string(60, '\x7f')); },
     "damaged header", "download it again"},
    {"CutInHeader",
     [](const TempDir& d) { return d.Write("m.gguf", Content(TinyModel(d, {})).substr(0, 900)); },
     "damaged header", "download it again"},
    {"CutInWeights",
     [](const TempDir& d) {
       const std::string content = Content(TinyModel(d, {}));
       return d.Write("m.gguf", content.substr(0, content.size() / 2));
     },
     "is cut off", "download it again"},
    {"Adapter",
     [](const TempDir& d) {
       return TinyModel(d, {.texts = {{"general.type", "adapter"}}});
     },
     "LoRA adapter", "merge it"},
    {"Projector",
     [](const TempDir& d) {
       return TinyModel(d, {.texts = {{"general.type", "mmproj"}}});
     },
     "mmproj", "give a language model"},
    {"Unnamed",
     [](const TempDir& d) { return TinyModel(d, {.without = {"general.architecture"}}); },
     "names no architecture", "convert the model again"},
    {"Head", [](const TempDir& d) { return TinyModel(d, {.architecture = "eagle3"}); },
     "EAGLE-3 head", "--head"},
    {"Unknown", [](const TempDir& d) { return TinyModel(d, {.architecture = "novel9"}); },
     "unknown model architecture: 'novel9'", "fitting version of llama.cpp"},
    {"Recurrent",
     [](const TempDir& d) {
       return TinyModel(d, HeaderOnly("mamba", {{"mamba.ssm.state_size", 16}}));
     },
     "recurrent memory (architecture 'mamba')", "attention in every layer"},
    {"Hybrid",
     [](const TempDir& d) {
       return TinyModel(d, HeaderOnly("lfm2", {{"lfm2.shortconv.l_cache", 3}}));
     },
     "recurrent memory (architecture 'lfm2')", "attention in every layer"},
    {"Encoder",
     [](const TempDir& d) {
       return TinyModel(d, {.architecture = "bert", .flags = {{"bert.attention.causal", false}}});
     },
     "is an encoder (architecture 'bert')", "a model that generates"},
    {"SlidingWindow", [](const TempDir& d) { return TinyModel(d, SlidingWindow()); },
     "sliding-window attention", "full attention in every layer"},
    {"NoVocabulary",
     [](const TempDir& d) { return TinyModel(d, {.without = {"tokenizer.ggml.tokens"}}); },
     "no vocabulary", "convert the model again"},
    {"NoLayers",
     [](const TempDir& d) {
       return TinyModel(d, WithNumbers({{"llama.block_count", 0}}));
     },
     "llama.block_count", "convert the model again"},
    {"ManyLayers",
     [](const TempDir& d) {
       return TinyModel(d, WithNumbers({{"llama.block_count", 100000}}));
     },
     "llama.block_count", "convert the model again"},
    {"NoHeads",
     [](const TempDir& d) {
       return TinyModel(d, WithNumbers({{"llama.attention.head_count", 0}}));
     },
     "can't be loaded", "fitting version of llama.cpp"},
    {"MissingHeads",
     [](const TempDir& d) { return TinyModel(d, {.without = {"llama.attention.head_count"}}); },
     "llama.attention.head_count", "convert the model again"},
    {"WrongRope",
     [](const TempDir& d) {
       return TinyModel(d, WithNumbers({{"llama.rope.dimension_count", 128}}));
     },
     "llama.rope.dimension_count", "convert the model again"},
    {"WrongExperts",
     [](const TempDir& d) {
       return TinyModel(d, WithNumbers({{"llama.expert_used_count", 4}}));
     },
     "llama.expert_used_count", "convert the model again"},
    {"NegativeEpsilon",
     [](const TempDir& d) {
       return TinyModel(d, {.fractions = {{"llama.attention.layer_norm_rms_epsilon", -1.0f}}});
     },
     "llama.attention.layer_norm_rms_epsilon", "convert the model again"},
    {"RepeatedToken", [](const TempDir& d) { return TinyModel(d, {.repeat_token = true}); },
     "has the token '", "convert the model again"},
    {"MoreLayersThanTensors",
     [](const TempDir& d) {
       return TinyModel(d, WithNumbers({{"llama.block_count", 3}}));
     },
     "not found", "fitting version of llama.cpp"},
    {"OtherShapes",
     [](const TempDir& d) {
       return TinyModel(d, WithNumbers({{"llama.feed_forward_length", 1024}}));
     },
     "wrong shape", "fitting version of llama.cpp"},
    {"TooBig",
     [](const TempDir& d) {
       return TinyModel(d, WithNumbers({{"llama.attention.key_length", 4096},
                                        {"llama.attention.value_length", 4096},
                                        {"llama.attention.head_count_kv", 1u << 24}}));
     },
     "of memory for its weights", "smaller context"},
};

INSTANTIATE_TEST_SUITE_P(Files, LoadErrors, ::testing::ValuesIn(kCases),
                         [](const auto& test) { return std::string(test.param.name); });

TEST(LoadOptionsTest, SaysWhatIsWrong) {
  const TempDir folder;
  const std::string path = TinyModel(folder, {});
  EXPECT_EQ(ErrorOf({.path = path, .context_size = 100}),
            "a context of 100 cells is too small; give 256 or more");
  EXPECT_THAT(ErrorOf({.path = path, .threads = -1}), HasSubstr("-1 threads; give 1 to"));
  EXPECT_EQ(ErrorOf({}), "no model file given");
}

TEST(LoadOptionsTest, CutsTheContextToWhatTheModelWasTrainedFor) {
  const TempDir folder;
  const std::string path = TinyModel(folder, {.weights = "Q8_0", .context = 512});
  std::vector<std::string> log;
  auto target = LoadTarget({.path = path,
                            .context_size = 4096,
                            .threads = 1,
                            .log = [&](LogLevel, std::string_view line) { log.emplace_back(line); },
                            .progress = {}});
  ASSERT_TRUE(target.ok()) << target.error().message;
  EXPECT_EQ((*target)->info().context_size, 512);
  EXPECT_THAT(log, ::testing::Contains(HasSubstr("was trained for 512 positions")));
}

TEST(LoadOptionsTest, ReportsProgressUpToTheEnd) {
  const TempDir folder;
  std::vector<double> done;
  auto target = LoadTarget({.path = TinyModel(folder, {.weights = "Q8_0"}),
                            .context_size = 256,
                            .threads = 1,
                            .progress = [&](std::string_view step, double share) {
                              EXPECT_EQ(step, "loading model");
                              done.push_back(share);
                            }});
  ASSERT_TRUE(target.ok()) << target.error().message;
  ASSERT_FALSE(done.empty());
  EXPECT_TRUE(std::is_sorted(done.begin(), done.end()));
  EXPECT_EQ(done.back(), 1.0);
}

}  // namespace
}  // namespace schemafill
