#include "serve/engine_thread.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

namespace schemafill {
namespace {

ApiError ServerError(int status, std::string message, std::string code) {
  return {.status = status,
          .message = std::move(message),
          .type = "server_error",
          .param = "",
          .code = std::move(code)};
}

ApiError StoppingError() {
  return ServerError(503, "the server is stopping; ask another one", "stopping");
}

}  // namespace

EngineThread::EngineThread(Engine& engine, const GenerateOptions& options,
                           const QueueOptions& queue, Metrics& metrics)
    : engine_(engine), options_(options), queue_options_(queue), metrics_(metrics) {
  thread_ = std::thread([this] { Run(); });
}

std::optional<ApiError> EngineThread::Submit(std::shared_ptr<Job> job) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return StoppingError();
  if (static_cast<int>(queue_.size()) >= queue_options_.max_waiting) {
    return ServerError(503, fmt::format("{} requests wait already; try again", queue_.size()),
                       "queue_full");
  }
  queue_.push_back(std::move(job));
  news_.notify_one();
  return std::nullopt;
}

void EngineThread::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    for (const std::shared_ptr<Job>& job : queue_) job->End(StoppingError());
    queue_.clear();
    news_.notify_one();
  }
  if (thread_.joinable()) thread_.join();
}

int EngineThread::waiting() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(queue_.size());
}

int EngineThread::running() const {
  const std::lock_guard lock(mutex_);
  return busy_ ? 1 : 0;
}

bool EngineThread::stopping() const {
  const std::lock_guard lock(mutex_);
  return stopping_;
}

void EngineThread::Run() {
  while (const std::shared_ptr<Job> job = Next()) {
    Outcome outcome = Answer(*job);
    {
      const std::lock_guard lock(mutex_);
      busy_ = false;  // ahead of the end, which the client sees
    }
    job->End(std::move(outcome));
  }
}

// The next job; null when there will be none.
std::shared_ptr<Job> EngineThread::Next() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [&] { return stopping_ || !queue_.empty(); });
  if (queue_.empty()) return nullptr;
  busy_ = true;
  std::shared_ptr<Job> job = std::move(queue_.front());
  queue_.pop_front();
  return job;
}

Outcome EngineThread::Answer(Job& job) {
  const double queue_s = job.Age();
  bool first = true;
  GenerateOptions options = options_;
  options.memory = &memory_;
  options.cancelled = [&] { return !job.Wanted() || job.Age() > queue_options_.time_limit_s; };
  options.on_text = [&](std::string_view text) {
    if (std::exchange(first, false)) metrics_.CountFirstText(job.Age());
    job.Tell(text);
  };
  try {
    // What nobody waits for is not begun: the prompt is the larger part of the work.
    Generation none;
    none.stop = StopReason::kCancelled;
    Result<Generation> generation =
        options.cancelled() ? none : engine_.Generate(job.chat().request, options);
    if (!generation) return ToApiError(generation.error());
    if (generation->stop == StopReason::kCancelled) {
      metrics_.CountCancelled();
      return ServerError(
          504,
          fmt::format("no answer within the server's limit of {} s", queue_options_.time_limit_s),
          "time_limit");
    }
    metrics_.CountAnswer(generation->stats, queue_s, job.Age());
    return std::move(*generation);
  } catch (const std::exception& error) {
    return ServerError(500, fmt::format("our fault: {}", error.what()), "internal");
  }
}

}  // namespace schemafill
