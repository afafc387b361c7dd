#include "serve/metrics.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace schemafill {
namespace {

// A metric's two lines in front of its values.
std::string Head(std::string_view name, std::string_view type, std::string_view help) {
  return fmt::format("# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
}

template <typename Value>
std::string Single(std::string_view name, std::string_view type, std::string_view help,
                   Value value) {
  return Head(name, type, help) + fmt::format("{} {}\n", name, value);
}

}  // namespace

void Histogram::Add(double seconds) {
  const auto bound = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
  ++counts_[static_cast<size_t>(std::distance(kBounds.begin(), bound))];
  sum_ += seconds;
}

std::string Histogram::Text(const std::string& name, const std::string& help) const {
  std::string text = Head(name, "histogram", help);
  uint64_t count = 0;
  for (size_t i = 0; i < kBounds.size(); ++i) {
    count += counts_[i];
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, kBounds[i], count);
  }
  count += counts_.back();
  return text + fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name,
                            count, sum_);
}

void Metrics::CountResponse(int status) {
  const std::lock_guard lock(mutex_);
  ++responses_[status];
}

void Metrics::CountCancelled() {
  const std::lock_guard lock(mutex_);
  ++cancelled_;
}

void Metrics::CountAnswer(const GenerateStats& stats, double queue_s, double total_s) {
  const std::lock_guard lock(mutex_);
  prompt_tokens_ += static_cast<uint64_t>(stats.prompt_tokens);
  reused_tokens_ += static_cast<uint64_t>(stats.reused_tokens);
  tokens_ += static_cast<uint64_t>(stats.tokens);
  forwards_ += static_cast<uint64_t>(stats.forwards);
  nodes_ += static_cast<uint64_t>(stats.nodes);
  accepted_ += static_cast<uint64_t>(stats.accepted);
  const ArenaUse& use = stats.cells;
  cells_used_ = use.prefix + use.verified + use.side + use.parked;
  queue_s_.Add(queue_s);
  total_s_.Add(total_s);
}

void Metrics::CountFirstText(double seconds) {
  const std::lock_guard lock(mutex_);
  first_text_s_.Add(seconds);
}

std::string Metrics::Text(int waiting, int running) const {
  const std::lock_guard lock(mutex_);
  std::string text = Head("schemafill_responses_total", "counter", "HTTP responses by status.");
  for (const auto& [status, count] : responses_)
    text += fmt::format("schemafill_responses_total{{status=\"{}\"}} {}\n", status, count);
  const auto counter = [&](std::string_view name, std::string_view help, uint64_t value) {
    text += Single(name, "counter", help, value);
  };
  const auto gauge = [&](std::string_view name, std::string_view help, auto value) {
    text += Single(name, "gauge", help, value);
  };
  counter("schemafill_cancelled_total", "Requests that ended early: client gone or out of time.",
          cancelled_);
  counter("schemafill_prompt_tokens_total", "Prompt tokens.", prompt_tokens_);
  counter("schemafill_cached_tokens_total", "Prompt tokens whose cells were there.",
          reused_tokens_);
  counter("schemafill_tokens_total", "Tokens of answers.", tokens_);
  counter("schemafill_forwards_total", "Target forwards of decoding.", forwards_);
  counter("schemafill_nodes_total", "Drafted rows.", nodes_);
  counter("schemafill_accepted_nodes_total", "Drafted rows of MAIN that held.", accepted_);
  const double al =
      forwards_ > 0 ? static_cast<double>(tokens_) / static_cast<double>(forwards_) : 0;
  gauge("schemafill_acceptance_length", "Tokens per forward over all answers.", al);
  gauge("schemafill_requests_waiting", "Requests in the queue.", waiting);
  gauge("schemafill_requests_running", "Requests being answered.", running);
  gauge("schemafill_cells_used", "Cells of the KV cache that the last answer holds.", cells_used_);
  gauge("schemafill_cells", "Cells of the KV cache.", cells_);
  text += queue_s_.Text("schemafill_queue_seconds", "Time in the queue.");
  text += first_text_s_.Text("schemafill_first_text_seconds", "Time until the first text.");
  return text + total_s_.Text("schemafill_request_seconds", "Time until the answer was complete.");
}

}  // namespace schemafill
