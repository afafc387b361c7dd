// llama-server as a child process, and peers on it, against a script that speaks its HTTP.
#include "apps/llama_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "apps/peers.h"
#include "catalog/prompt.h"
#include "json/json.h"
#include "support/scripted.h"
#include "support/temp_dir.h"

namespace schemafill {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;

constexpr const char* kFake = FAKE_LLAMA_SERVER;

// Variables of the fake server, gone with it.
class Variables {
 public:
  void Set(const std::string& name, const std::string& value) {
    setenv(name.c_str(), value.c_str(), 1);
    names_.push_back(name);
  }
  ~Variables() {
    for (const std::string& name : names_) unsetenv(name.c_str());
  }

 private:
  std::vector<std::string> names_;
};

class LlamaServerTest : public ::testing::Test {
 protected:
  void SetMode(const std::string& mode) { variables_.Set("FAKE_LLAMA_MODE", mode); }
  void SetAnswers(const std::vector<Json>& answers) {
    variables_.Set("FAKE_LLAMA_ANSWERS", folder_.Write("answers.json", Json(answers).dump()));
  }
  std::vector<Json> Recorded() const {
    std::vector<Json> lines;
    std::ifstream in(folder_.path("record.jsonl"));
    for (std::string line; std::getline(in, line);) lines.push_back(Json::parse(line));
    return lines;
  }

  testing::TempDir folder_;
  Variables variables_;

 private:
  void SetUp() override { variables_.Set("FAKE_LLAMA_RECORD", folder_.path("record.jsonl")); }
};

// Takes the log out of the message and away from the disk.
std::string WithoutLog(const std::string& message) {
  const size_t at = message.find(" (log: ");
  if (at == std::string::npos) return message;
  const std::string log = message.substr(at + 7, message.size() - at - 8);
  EXPECT_TRUE(std::filesystem::remove(log)) << message;
  return message.substr(0, at);
}

std::vector<int> Ids(const std::vector<Token>& tokens) {
  std::vector<int> ids;
  for (const Token token : tokens) ids.push_back(Index(token));
  return ids;
}

// An answer of the fake server. `timings`: what differs from the usual.
Json Answer(const std::vector<int>& tokens, const std::map<std::string, int>& timings = {}) {
  Json answer = Json::object();
  answer["tokens"] = tokens;
  for (const auto& [name, value] : timings) answer[name] = value;
  return answer;
}

const std::vector<Token> kPrompt = {Token{5}, Token{6}, Token{7}};

TEST_F(LlamaServerTest, AnswersWithItsTimings) {
  SetAnswers({Answer({10, 11, 12, 13}, {{"draft_n", 7}, {"draft_n_accepted", 2}}),
              Answer({20}, {{"cache_n", 3}})});
  auto server = LlamaServer::Start({.program = kFake, .arguments = {"--model", "m.gguf"}});
  ASSERT_TRUE(server) << server.error().message;
  auto answer = (*server)->Complete(kPrompt, 100);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_THAT(Ids(answer->tokens), ElementsAre(10, 11, 12, 13));
  EXPECT_EQ(answer->prompt_ms, 100.5);
  EXPECT_EQ(answer->predicted_ms, 30);
  EXPECT_EQ(answer->drafted, 7);
  EXPECT_EQ(answer->accepted, 2);
  answer = (*server)->Complete(kPrompt, 100);
  ASSERT_TRUE(answer);
  EXPECT_THAT(Ids(answer->tokens), ElementsAre(20));
  EXPECT_EQ(answer->prompt_reused, 3);
  EXPECT_EQ(answer->drafted, 0);
}

TEST_F(LlamaServerTest, AsksForGreedyTokensOfThePromptAsItIs) {
  auto server = LlamaServer::Start({.program = kFake});
  ASSERT_TRUE(server) << server.error().message;
  ASSERT_TRUE((*server)->Complete(kPrompt, 17));
  const Json request = Recorded().at(1);
  EXPECT_EQ(request["path"], "/completion");
  const Json body = {{"prompt", {5, 6, 7}},
                     {"n_predict", 17},
                     {"temperature", 0},
                     {"samplers", Json::array({"top_k"})},
                     {"top_k", 1},
                     {"cache_prompt", false},
                     {"return_tokens", true},
                     {"stream", false}};
  EXPECT_EQ(request["body"], body);
}

TEST_F(LlamaServerTest, KeepsOurEnvironmentFromIt) {
  variables_.Set("LLAMA_ARG_THREADS", "99");
  variables_.Set("GGML_CPU_TILED_MM", "0");
  variables_.Set("GGML_OTHER", "1");
  ASSERT_TRUE(LlamaServer::Start({.program = kFake}));
  EXPECT_EQ(Recorded().at(0)["environment"], Json::array({"GGML_OTHER"}));
}

TEST_F(LlamaServerTest, EndsWithUs) {
  pid_t pid = 0;
  {
    auto server = LlamaServer::Start({.program = kFake});
    ASSERT_TRUE(server);
    pid = (*server)->pid();
    EXPECT_EQ(Recorded().at(0)["pid"], pid);
    EXPECT_EQ(kill(pid, 0), 0);
    EXPECT_EQ(getpgid(pid), pid) << "Ctrl-C would end it";
  }
  EXPECT_NE(kill(pid, 0), 0);
}

TEST_F(LlamaServerTest, DiesWithTheThreadThatStartedIt) {
  pid_t pid = 0;
  std::unique_ptr<LlamaServer> server;
  std::thread([&] {
    auto started = LlamaServer::Start({.program = kFake});
    ASSERT_TRUE(started);
    server = std::move(*started);
    pid = server->pid();
  }).join();
  ASSERT_GT(pid, 0);
  for (int i = 0; i < 500 && server->running(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_FALSE(server->running());
}

TEST_F(LlamaServerTest, SaysWhyItDoesNotStart) {
  const auto missing = LlamaServer::Start({.program = folder_.path("none")});
  ASSERT_FALSE(missing);
  EXPECT_THAT(missing.error().message, HasSubstr("can't be started: No such file"));

  SetMode("dies at start");
  const auto dead = LlamaServer::Start({.program = kFake});
  ASSERT_FALSE(dead);
  EXPECT_EQ(WithoutLog(dead.error().message),
            "llama-server did not start and ended with exit code 1; its last words: error: the "
            "model is made of cheese");

  SetMode("never ready");
  const auto slow = LlamaServer::Start({.program = kFake, .start_limit_s = 1.5});
  ASSERT_FALSE(slow);
  EXPECT_THAT(WithoutLog(slow.error().message), HasSubstr("was not ready after 1.5 s"));
}

TEST_F(LlamaServerTest, SaysWhyThereIsNoAnswer) {
  const std::map<std::string, std::string> rows = {
      {"not JSON", "llama-server's answer: line 1"},
      {"no timings", "llama-server's answer is not as expected"},
      {"miscounts", "doesn't add up: 1 tokens, predicted_n 2"},
      {"refuses", "llama-server refused: too many tokens"},
      {"refuses without a word", "llama-server refused: HTTP status 400"},
      {"dies in an answer", "ended with exit code 5; its last words: the model fell over"},
      {"hangs", "gave no answer within 0.5 s"},
  };
  for (const auto& [mode, words] : rows) {
    SCOPED_TRACE(mode);
    SetMode(mode);
    auto server =
        LlamaServer::Start({.program = kFake, .answer_limit_s = mode == "hangs" ? 0.5 : 60});
    ASSERT_TRUE(server) << server.error().message;
    const auto answer = (*server)->Complete(kPrompt, 9);
    ASSERT_FALSE(answer);
    EXPECT_THAT(WithoutLog(answer.error().message), HasSubstr(words));
  }
}

// Peers.

constexpr std::string_view kBody =
    R"({"messages": [{"role": "user", "content": "Weather in Paris?"}],
        "tools": [{"type": "function", "function": {"name": "get_weather", "parameters":
          {"type": "object", "properties": {"city": {"type": "string"}}}}}]})";

GenerateOptions MaxTokens(int count) {
  GenerateOptions options;
  options.max_tokens = count;
  return options;
}

Request WeatherRequest() { return ParseRequest(ParseJson(kBody, "body").value()).value(); }

class PeerTest : public LlamaServerTest {
 protected:
  std::unique_ptr<Peer> StartPeer(const std::string& method = "llamacpp-ngram") {
    auto peer =
        Peer::Start(*FindPeer(method), kFake, {.model = "m.gguf", .head = "h.gguf"}, target_);
    EXPECT_TRUE(peer) << peer.error().message;
    return peer ? std::move(*peer) : nullptr;
  }

  std::shared_ptr<const ScriptedTokenizer> tokenizer_ = JsonTokenizer();
  ScriptedModel target_{tokenizer_, {}};
  const std::string text_ =
      R"({"tool_calls": [{"name": "get_weather", "arguments": {"city": "Paris"}}]})";
};

TEST_F(PeerTest, CutsTheAnswerWhereOurSessionStops) {
  const std::vector<Token> kept = tokenizer_->Encode(text_);
  std::vector<Token> all = kept;
  for (const Token token : tokenizer_->Encode(" and so on")) all.push_back(token);
  const auto n = static_cast<double>(all.size());
  SetAnswers({Answer(Ids(all), {{"draft_n", 8}, {"draft_n_accepted", 4}})});
  const auto peer = StartPeer();
  ASSERT_NE(peer, nullptr);
  const auto answer = peer->Generate(WeatherRequest(), {});
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->text, text_);
  EXPECT_EQ(answer->tokens, kept);
  EXPECT_EQ(answer->stop, StopReason::kClosed);
  ASSERT_EQ(answer->calls.size(), 1u);
  EXPECT_EQ(answer->calls[0].arguments, R"({"city": "Paris"})");
  const GenerateStats& stats = answer->stats;
  const double share = static_cast<double>(kept.size()) / n;
  EXPECT_EQ(stats.tokens, static_cast<int>(kept.size()));
  EXPECT_EQ(stats.forwards, std::lround((n - 4) * share));
  EXPECT_EQ(stats.nodes, std::lround(8 * share));
  EXPECT_EQ(stats.accepted, std::lround(4 * share));
  EXPECT_EQ(stats.prefill_ms, 100.5);
  EXPECT_NEAR(stats.decode_ms(), 10.0 * stats.tokens, 1e-6);  // the fake takes 10 ms a token
}

TEST_F(PeerTest, GetsOurPromptAndLimit) {
  const auto peer = StartPeer();
  ASSERT_NE(peer, nullptr);
  ASSERT_TRUE(peer->Generate(WeatherRequest(), MaxTokens(33)));
  const Json body = Recorded().at(1)["body"];
  EXPECT_EQ(body["prompt"], Json(Ids(BuildPrompt(WeatherRequest(), *tokenizer_).tokens)));
  EXPECT_EQ(body["n_predict"], 33);
}

TEST_F(PeerTest, AnAnswerAtItsLimitIsCutByLength) {
  std::vector<Token> tokens = tokenizer_->Encode(text_);
  tokens.resize(3);
  SetAnswers({Answer(Ids(tokens))});
  const auto peer = StartPeer("llamacpp");
  ASSERT_NE(peer, nullptr);
  const auto answer = peer->Generate(WeatherRequest(), MaxTokens(3));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->stop, StopReason::kLength);
  EXPECT_EQ(answer->stats.forwards, 3);
  EXPECT_EQ(answer->stats.nodes, 0);
}

TEST_F(PeerTest, RefusesWhatDoesNotCompare) {
  const auto peer = StartPeer();
  ASSERT_NE(peer, nullptr);
  GenerateOptions options;
  options.sampling.temperature = 1;
  const auto warm = peer->Generate(WeatherRequest(), options);
  ASSERT_FALSE(warm);
  EXPECT_THAT(warm.error().message, HasSubstr("temperature 0"));
  SetAnswers({Answer({99999})});
  const auto other = StartPeer();
  const auto strange = other->Generate(WeatherRequest(), {});
  ASSERT_FALSE(strange);
  EXPECT_THAT(strange.error().message, HasSubstr("99999"));
}

TEST_F(PeerTest, AServerThatEndedIsStartedAgain) {
  SetMode("dies in an answer");
  const auto peer = StartPeer();
  ASSERT_NE(peer, nullptr);
  const auto failed = peer->Generate(WeatherRequest(), {});
  ASSERT_FALSE(failed);
  WithoutLog(failed.error().message);
  SetMode("");
  EXPECT_TRUE(peer->Generate(WeatherRequest(), {}));
}

std::vector<std::string> Arguments(const std::string& method, const std::string& device = "CPU") {
  ModelInfo info;
  info.device = device;
  info.context_size = 2048;
  info.threads = 3;
  return PeerArguments(*FindPeer(method), {.model = "m.gguf", .head = "h.gguf"}, info).value();
}

TEST(PeerArgumentsTest, HaveModelContextAndThreadsOfOurs) {
  for (const std::string method : {"llamacpp", "llamacpp-eagle3-default"}) {
    EXPECT_THAT(Arguments(method), IsSupersetOf({"--model", "m.gguf", "--ctx-size", "2048",
                                                 "--threads", "3", "--parallel", "1"}));
  }
}

TEST(PeerArgumentsTest, DifferByMethod) {
  EXPECT_THAT(Arguments("llamacpp"), Not(Contains("--spec-type")));
  EXPECT_THAT(Arguments("llamacpp-ngram"), IsSupersetOf({"--spec-type", "ngram-mod"}));
  EXPECT_THAT(Arguments("llamacpp-ngram-default"), Contains("--spec-default"));
  EXPECT_THAT(Arguments("llamacpp-ngram-default"), Not(Contains("--spec-type")));
  EXPECT_THAT(Arguments("llamacpp-eagle3"), IsSupersetOf({"draft-eagle3", "h.gguf"}));
  EXPECT_THAT(Arguments("llamacpp"), Contains("--cache-type-k"));
  EXPECT_THAT(Arguments("llamacpp", "CUDA0"), Not(Contains("--cache-type-k")));
  EXPECT_THAT(Arguments("llamacpp-default"), Not(Contains("--cache-type-k")));
}

TEST(PeerArgumentsTest, AHeadIsNeededOnlyToDraftWithIt) {
  EXPECT_TRUE(PeerArguments(*FindPeer("llamacpp"), {.model = "m.gguf", .head = ""}, {}));
  const auto none =
      PeerArguments(*FindPeer("llamacpp-eagle3"), {.model = "m.gguf", .head = ""}, {});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("--head"));
}

TEST(AnyMethodTest, NamesAreTheEnginesAndThePeers) {
  for (const std::string name :
       {"ar", "schemafill", "schemafill-b", "llamacpp", "llamacpp-ngram"}) {
    const auto method = ParseAnyMethod(name);
    ASSERT_TRUE(method) << name;
    EXPECT_EQ(method->name(), name);
    EXPECT_EQ(method->peer != nullptr, name.rfind("llamacpp", 0) == 0);
  }
  const auto unknown = ParseAnyMethod("magic");
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("'magic'"));
  EXPECT_THAT(unknown.error().message, HasSubstr("toolspec, schemafill"));
  EXPECT_THAT(unknown.error().message, HasSubstr(", llamacpp, llamacpp-ngram"));
}

}  // namespace
}  // namespace schemafill
