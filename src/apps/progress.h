// Progress on stderr: a bar that redraws itself on a terminal, a line now and then elsewhere.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"

namespace schemafill {

class ProgressBar {
 public:
  explicit ProgressBar(std::string step);
  ~ProgressBar() { Clear(); }
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  // `done` from 0 to 1; `note` stands behind the bar.
  void Show(double done, std::string_view note = {});
  // Takes the bar off the terminal, so that other output has a clean line.
  void Clear();

 private:
  std::string step_;
  bool terminal_;
  double first_ = -1;  // `done` of the first call: what an earlier run did took no time
  bool shown_ = false;
  double last_ms_ = -1e9;
  Stopwatch watch_;
};

}  // namespace schemafill
