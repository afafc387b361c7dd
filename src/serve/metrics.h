// What the server counts, as Prometheus reads it. Thread-safe. Tested by
// tests/serve/metrics_test.cc.
#pragma once

#include <array>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace schemafill {

class Histogram {
 public:
  void Add(double seconds);
  // The lines of a metric of that name.
  std::string Text(const std::string& name, const std::string& help) const;

 private:
  static constexpr std::array<double, 12> kBounds = {0.01, 0.05, 0.1, 0.25, 0.5, 1,
                                                     2.5,  5,    10,  30,   60,  120};
  std::array<uint64_t, kBounds.size() + 1> counts_{};  // not cumulative; the last one is the rest
  double sum_ = 0;
};

class Metrics {
 public:
  explicit Metrics(int cells) : cells_(cells) {}

  void CountResponse(int status);
  void CountCancelled();
  // An answer that was finished, and its times since the request came.
  void CountAnswer(const GenerateStats& stats, double queue_s, double total_s);
  // Time until the first of the answer's text.
  void CountFirstText(double seconds);

  // `waiting` and `running` requests at this moment.
  std::string Text(int waiting, int running) const;

 private:
  const int cells_;
  mutable std::mutex mutex_;
  std::map<int, uint64_t> responses_;  // by status
  uint64_t cancelled_ = 0;
  uint64_t prompt_tokens_ = 0;
  uint64_t reused_tokens_ = 0;
  uint64_t tokens_ = 0;
  uint64_t forwards_ = 0;
  uint64_t nodes_ = 0;
  uint64_t accepted_ = 0;
  int cells_used_ = 0;  // by the last answer, which keeps them until the next request
  Histogram queue_s_;
  Histogram first_text_s_;
  Histogram total_s_;
};

}  // namespace schemafill
