#include "serve/job.h"

#include <utility>

namespace schemafill {

void Job::Tell(std::string_view text) {
  const std::lock_guard lock(mutex_);
  text_ += text;
  news_.notify_one();
}

void Job::End(Outcome outcome) {
  const std::lock_guard lock(mutex_);
  outcome_ = std::move(outcome);
  news_.notify_one();
}

std::optional<std::string> Job::NextText() {
  std::unique_lock lock(mutex_);
  news_.wait(lock, [&] { return !text_.empty() || outcome_.has_value(); });
  if (text_.empty()) return std::nullopt;
  return std::exchange(text_, "");
}

}  // namespace schemafill
