// A request on its way through the server: a thread of the HTTP server waits for what the engine's
// thread says.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "api/api_error.h"
#include "api/chat_request.h"
#include "engine/engine.h"

namespace schemafill {

using Outcome = std::variant<Generation, ApiError>;

class Job {
 public:
  using Clock = std::chrono::steady_clock;

  // `client_gone` is asked from the engine's thread, until Abandon.
  Job(ChatRequest chat, std::function<bool()> client_gone)
      : chat_(std::move(chat)), client_gone_(std::move(client_gone)) {}

  const ChatRequest& chat() const { return chat_; }
  // Seconds since the request came.
  double Age() const { return std::chrono::duration<double>(Clock::now() - came_).count(); }

  // The engine's side.
  void Tell(std::string_view text);
  void End(Outcome outcome);
  bool Wanted() const { return !abandoned_ && !client_gone_(); }

  // The client's side. NextText waits for text, or nothing at the end, when outcome() is there.
  std::optional<std::string> NextText();
  const Outcome& outcome() const { return *outcome_; }
  void Abandon() { abandoned_ = true; }

 private:
  const ChatRequest chat_;
  const std::function<bool()> client_gone_;
  const Clock::time_point came_ = Clock::now();
  std::atomic<bool> abandoned_ = false;
  std::mutex mutex_;
  std::condition_variable news_;
  std::string text_;  // told and not taken yet
  std::optional<Outcome> outcome_;
};

}  // namespace schemafill
