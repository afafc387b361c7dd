// The one thread that runs the engine, and the queue in front of it. It keeps the engine's memory
// of earlier answers; the engine keeps the cells of the last prompt.
// Tested by tests/serve/engine_thread_test.cc.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "engine/engine.h"
#include "serve/job.h"
#include "serve/metrics.h"

namespace schemafill {

struct QueueOptions {
  int max_waiting = 32;
  double time_limit_s = 600;  // of a request, its time in the queue included
};

class EngineThread {
 public:
  // Engine and metrics must outlive it, and be nobody else's until then.
  EngineThread(Engine& engine, const GenerateOptions& options, const QueueOptions& queue,
               Metrics& metrics);
  ~EngineThread() { Stop(); }
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  // Every job that is taken ends. Nothing: taken; otherwise why not: the queue is full, or Stop
  // came.
  std::optional<ApiError> Submit(std::shared_ptr<Job> job);

  // Ends when the running job has; those that wait end with an error, and so do later ones.
  void Stop();

  int waiting() const;
  int running() const;
  bool stopping() const;

 private:
  void Run();
  std::shared_ptr<Job> Next();
  Outcome Answer(Job& job);

  Engine& engine_;
  const GenerateOptions options_;
  const QueueOptions queue_options_;
  Metrics& metrics_;
  Memory memory_;
  mutable std::mutex mutex_;
  std::condition_variable news_;
  std::deque<std::shared_ptr<Job>> queue_;
  bool busy_ = false;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace schemafill
