// llama.cpp's own llama-server as a child process that answers one request at a time. What it says
// about its time is passed on as it is. Tested by tests/apps/llama_server_test.cc against a script
// that speaks the same HTTP (fake_llama_server.py).
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/child_process.h"
#include "base/result.h"
#include "model/types.h"

namespace schemafill {

struct LlamaServerOptions {
  std::string program;
  std::vector<std::string> arguments = {};  // all but host and port
  double start_limit_s = 600;               // until the model is loaded
  double answer_limit_s = 3600;  // for one answer: a large model on a slow machine is no error
};

// llama-server's `tokens` and `timings`.
struct LlamaServerAnswer {
  std::vector<Token> tokens;  // all that it chose; the end token, where one came, is the last
  int prompt_reused = 0;      // cache_n
  double prompt_ms = 0;       // the first token comes with it: from the last prompt row
  double predicted_ms = 0;    // of the tokens behind the first
  int drafted = 0;            // draft_n; 0 where nothing was drafted
  int accepted = 0;           // draft_n_accepted
};

// Not thread-safe.
class LlamaServer {
 public:
  // Starts it on a free port of 127.0.0.1 and waits until it is ready. What sets its options or
  // chooses its kernels in our environment (LLAMA_ARG_*, GGML_CPU_TILED_MM) is kept from it. Errors
  // hold the last line of its log.
  static Result<std::unique_ptr<LlamaServer>> Start(const LlamaServerOptions& options);

  // The greedy answer to the prompt: at most `max_tokens` tokens, without a draw (only the most
  // probable token is left to the sampler) and without penalties. The prompt is evaluated anew
  // (cache_prompt off), so that an answer depends on its request alone, not on those before it;
  // prompts have their own time, so decoding figures don't change. Errors: llama-server refused the
  // request, ended, took too long, or said something else than expected.
  Result<LlamaServerAnswer> Complete(std::span<const Token> prompt, int max_tokens);

  bool running() { return !child_->Ended(); }
  pid_t pid() const { return child_->pid(); }

 private:
  LlamaServer(LlamaServerOptions options, std::unique_ptr<ChildProcess> child, int port)
      : options_(std::move(options)), child_(std::move(child)), port_(port) {}

  Status WaitUntilReady();
  // What happened instead of an answer, with how the process fares.
  Error Failed(const std::string& what);

  LlamaServerOptions options_;
  std::unique_ptr<ChildProcess> child_;
  int port_;
};

}  // namespace schemafill
