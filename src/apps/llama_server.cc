#include "apps/llama_server.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <httplib.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/clock.h"
#include "json/json.h"

namespace schemafill {
namespace {

constexpr const char* kHost = "127.0.0.1";
constexpr const char* kAnswer = "llama-server's answer";

// A port that nobody has. Somebody may take it before llama-server does; then llama-server ends and
// says so.
Result<int> FreePort() {
  const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool found = listener >= 0 && bind(listener, generic, size) == 0 &&
                     getsockname(listener, generic, &size) == 0;
  const int reason = errno;
  if (listener >= 0) close(listener);
  if (!found) return Unavailable(fmt::format("no free port on {}: {}", kHost, strerror(reason)));
  return static_cast<int>(ntohs(address.sin_port));
}

httplib::Client Connect(int port, double limit_s) {
  httplib::Client client(kHost, port);
  client.set_connection_timeout(std::chrono::seconds(5));
  client.set_read_timeout(std::chrono::milliseconds(static_cast<int64_t>(1000 * limit_s)));
  client.set_write_timeout(std::chrono::seconds(60));
  return client;
}

std::string RequestBody(std::span<const Token> prompt, int max_tokens) {
  Json ids = Json::array();
  for (const Token token : prompt) ids.push_back(Index(token));
  return Json({{"prompt", std::move(ids)},
               {"n_predict", max_tokens},
               {"temperature", 0},
               {"samplers", Json::array({"top_k"})},
               {"top_k", 1},
               {"cache_prompt", false},
               {"return_tokens", true},
               {"stream", false}})
      .dump();
}

// A refusal's own words ({"error": {"message": ...}}), or its status.
std::string Refusal(const httplib::Response& response) {
  const Result<Json> body = ParseJson(response.body, kAnswer);
  if (body && body->is_object() && body->contains("error")) {
    const Json& error = (*body)["error"];
    if (error.is_object() && error.contains("message") && error["message"].is_string())
      return error["message"].get<std::string>();
  }
  return fmt::format("HTTP status {}", response.status);
}

Result<LlamaServerAnswer> ParseAnswer(const std::string& text) {
  const Result<Json> body = ParseJson(text, kAnswer);
  if (!body) return body.error();
  LlamaServerAnswer answer;
  size_t predicted = 0;
  try {
    for (const Json& id : body->at("tokens")) answer.tokens.push_back(Token{id.get<int>()});
    const Json& timings = body->at("timings");
    timings.at("prompt_ms").get_to(answer.prompt_ms);
    timings.at("predicted_n").get_to(predicted);
    timings.at("predicted_ms").get_to(answer.predicted_ms);
    answer.prompt_reused = timings.value("cache_n", 0);
    answer.drafted = timings.value("draft_n", 0);
    answer.accepted = timings.value("draft_n_accepted", 0);
  } catch (const Json::exception& error) {
    return Unavailable(fmt::format("{} is not as expected: {}", kAnswer, error.what()));
  }
  const auto count = static_cast<int>(answer.tokens.size());
  if (answer.tokens.empty() || predicted != answer.tokens.size() || answer.accepted < 0 ||
      answer.accepted >= count || answer.drafted < answer.accepted) {
    return Unavailable(
        fmt::format("{} doesn't add up: {} tokens, predicted_n {}, draft_n {}, draft_n_accepted {}",
                    kAnswer, count, predicted, answer.drafted, answer.accepted));
  }
  return answer;
}

}  // namespace

Result<std::unique_ptr<LlamaServer>> LlamaServer::Start(const LlamaServerOptions& options) {
  const Result<int> port = FreePort();
  if (!port) return port.error();
  std::vector<std::string> command = {options.program, "--host", kHost, "--port",
                                      std::to_string(*port)};
  command.insert(command.end(), options.arguments.begin(), options.arguments.end());
  Result<std::unique_ptr<ChildProcess>> child =
      ChildProcess::Start(command, {"LLAMA_ARG_", "GGML_CPU_TILED_MM="});
  if (!child) return child.error();
  std::unique_ptr<LlamaServer> server(new LlamaServer(options, std::move(*child), *port));
  if (const Status ready = server->WaitUntilReady(); !ready) return ready.error();
  return server;
}

Status LlamaServer::WaitUntilReady() {
  const Stopwatch watch;
  while (watch.ElapsedMs() < 1000 * options_.start_limit_s) {
    if (child_->Ended()) return Failed("did not start");
    // 503 while the model loads.
    const httplib::Result health = Connect(port_, 5).Get("/health");
    if (health && health->status == 200) return {};
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return Failed(fmt::format("was not ready after {} s", options_.start_limit_s));
}

Result<LlamaServerAnswer> LlamaServer::Complete(std::span<const Token> prompt, int max_tokens) {
  const Stopwatch watch;
  const httplib::Result response =
      Connect(port_, options_.answer_limit_s)
          .Post("/completion", RequestBody(prompt, max_tokens), "application/json");
  if (!response) {
    if (watch.ElapsedMs() >= 990 * options_.answer_limit_s)
      return Failed(fmt::format("gave no answer within {} s", options_.answer_limit_s));
    // The connection breaks a moment before the process is gone.
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return Failed(fmt::format("gave no answer ({})", httplib::to_string(response.error())));
  }
  if (response->status != 200)
    return Unavailable(fmt::format("llama-server refused: {}", Refusal(*response)));
  return ParseAnswer(response->body);
}

Error LlamaServer::Failed(const std::string& what) {
  const std::optional<std::string> ended = child_->Ended();
  return Unavailable(
      fmt::format("llama-server {}{}{}", what, ended ? " and " + *ended : "", child_->LogHint()));
}

}  // namespace schemafill
