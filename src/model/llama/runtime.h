// Set-up of libllama that is process-wide, its log, and owners for its handles.
#pragma once

#include <llama.h>

#include <memory>
#include <string>

#include "base/log.h"

namespace schemafill {

struct LlamaDeleter {
  void operator()(llama_model* model) const { llama_model_free(model); }
  void operator()(llama_context* context) const { llama_free(context); }
  void operator()(llama_batch_ext* batch) const { llama_batch_ext_free(batch); }
  void operator()(gguf_context* header) const { gguf_free(header); }
};

using LlamaModelPtr = std::unique_ptr<llama_model, LlamaDeleter>;
using LlamaContextPtr = std::unique_ptr<llama_context, LlamaDeleter>;
using LlamaBatchPtr = std::unique_ptr<llama_batch_ext, LlamaDeleter>;

// Starts the backends, takes over libllama's log, and sets GGML_CPU_TILED_MM=0 in the environment
// unless the user set it: the tiled product rounds K-quants differently from 8 rows on. libllama
// reads the variable once a process, at the first product of any model, so it can't wait for a
// model that needs it; models of other types don't use that product. Later calls do nothing.
// Thread-safe.
void InitRuntime();

// While a scope lives, what libllama logs on its thread goes to `sink` (which may be empty),
// warnings and errors only. What it logs elsewhere is dropped. Scopes nest.
class LogScope {
 public:
  explicit LogScope(const LogSink& sink);
  ~LogScope();
  LogScope(const LogScope&) = delete;
  LogScope& operator=(const LogScope&) = delete;

  // The first error line within this scope, without libllama's function name; empty if there was
  // none. What follows the first says only where it was noticed.
  const std::string& error() const { return error_; }

  // For the log callback.
  void Write(ggml_log_level level, const char* text);

 private:
  void Finish();

  const LogSink& sink_;
  LogScope* outer_;
  ggml_log_level level_ = GGML_LOG_LEVEL_NONE;
  std::string line_;  // until its newline comes
  std::string error_;
};

// The number of physical cores that this process may use.
int PhysicalCores();

// Bytes that this process can still take: of the machine's memory, or of its control group where
// that is less. 0 if the system doesn't say.
size_t AvailableMemory();

}  // namespace schemafill
