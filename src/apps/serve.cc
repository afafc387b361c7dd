// schemafill serve: OpenAI's chat completions over HTTP.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <thread>

#include "apps/commands.h"
#include "apps/options.h"
#include "engine/engine.h"
#include "serve/engine_thread.h"
#include "serve/http_server.h"
#include "serve/metrics.h"

namespace schemafill {
namespace {

// HTTP threads beside those whose requests wait: for the running one, for /health and /metrics.
constexpr int kSpareThreads = 8;

// A line on stderr. Nobody reading it is no reason to end, so unlike fmt::print it never throws.
void Say(std::string_view line) {
  const std::string text = fmt::format("{}\n", line);
  std::fwrite(text.data(), 1, text.size(), stderr);
}

struct ServeCommand {
  ModelOptions model;
  DecodeOptions decode;
  HttpOptions http;
  QueueOptions queue;
  std::string method = "schemafill";

  int Run() const;
  Status Check() const;
};

// SIGINT and SIGTERM as something to wait for. A second one ends the process at once.
class StopSignals {
 public:
  StopSignals() {
    if (pipe(pipe_) != 0) throw std::runtime_error("no pipe for signals");
    struct sigaction action = {};
    action.sa_handler = [](int) { Tell(); };
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
  }
  void Wait() const {
    char byte;
    while (read(pipe_[0], &byte, 1) < 0) {
    }
  }
  // As if a signal had come.
  static void Tell() { [[maybe_unused]] const ssize_t written = write(pipe_[1], "s", 1); }

 private:
  static inline int pipe_[2] = {-1, -1};
};

// A key is sent as one word of a header.
Status ServeCommand::Check() const {
  const auto visible = [](char c) { return c > ' ' && c < 0x7f; };
  if (!std::all_of(http.api_key.begin(), http.api_key.end(), visible))
    return BadInput("--api-key: must be visible ASCII characters without blanks");
  return {};
}

int ServeCommand::Run() const {
  if (const Status status = Check(); !status) return Report(status.error());
  const Result<MethodSpec> spec = ParseMethod(method);
  if (!spec) return Report(spec.error());
  if (IsLossy(*spec)) return Report(BadInput(fmt::format("--method {}: is lossy", method)));
  Result<GenerateOptions> options = ToGenerateOptions(decode);
  if (!options) return Report(options.error());
  options->method = *spec;

  HttpOptions own = http;
  own.threads = queue.max_waiting + kSpareThreads;
  if (own.model.empty()) own.model = std::filesystem::path(ModelPath(model)).stem().string();
  own.log = [](LogLevel, std::string_view line) { Say(line); };
  // Ahead of the model, so that a port that is taken shows at once.
  Result<std::unique_ptr<HttpServer>> server = HttpServer::Bind(own);
  if (!server) return Report(server.error());
  Result<LoadedTarget> target =
      LoadTargetFor(model, options->preset == Preset::kAuto && *spec != Method::kAr);
  if (!target) return Report(target.error());
  if (*spec == Method::kEagle3 && target->head == nullptr)
    return Report(BadInput("--method eagle3: needs --head FILE.gguf"));

  Engine engine(*target->model, target->cost, target->head.get());
  Metrics metrics(target->model->info().context_size);
  EngineThread thread(engine, *options, queue, metrics);
  const StopSignals signals;
  std::thread stopper([&] {
    signals.Wait();
    Say("stopping: finishing what runs");
    thread.Stop();
    (*server)->Stop();
  });
  Say(fmt::format("listening on http://{}:{}", own.host, (*server)->port()));
  const bool ran = (*server)->Run(thread, metrics);
  StopSignals::Tell();
  stopper.join();
  return ran ? kExitOk : kExitInternal;
}

}  // namespace

CommandRunner AddServe(CLI::App& program) {
  auto command = std::make_shared<ServeCommand>();
  CLI::App* app =
      program.add_subcommand("serve", "OpenAI's chat completions over HTTP, for your agents");
  HttpOptions& http = command->http;
  http.body_limit = 8 << 20;
  app->add_option("--host", http.host, "Address to listen on; the default is this machine alone")
      ->capture_default_str();
  app->add_option("--port", http.port, "Port; 0: a free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app->add_option("--api-key", http.api_key,
                  "Key that clients must send (Authorization: Bearer KEY)")
      ->envname("SCHEMAFILL_API_KEY")
      ->check([](const std::string& key) { return key.empty() ? "must not be empty" : ""; });
  app->add_option("--model-name", http.model,
                  "Name of the model for clients (default: its file's name)");
  app->add_option("--max-queue", command->queue.max_waiting,
                  "Requests that may wait; a further one gets status 503")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app->add_option("--time-limit", command->queue.time_limit_s,
                  "Seconds for a request, its time in the queue included")
      ->check(CLI::Range(0.001, 86400.0))
      ->capture_default_str();
  app->add_option("--body-limit", http.body_limit, "Most bytes of a request")
      ->check(CLI::Range(1, 1 << 30))
      ->capture_default_str();
  app->add_option("--method", command->method,
                  "Decoding method: ar, eagle3, toolspec, schemafill or one of its stages")
      ->capture_default_str();
  AddModelOptions(*app, &command->model);
  AddDecodeOptions(*app, &command->decode);
  return [command, app] {
    command->http.random_seed = app->count("--seed") == 0;
    return command->Run();
  };
}

}  // namespace schemafill
