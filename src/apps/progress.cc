#include "apps/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace schemafill {
namespace {

constexpr int kWidth = 28;
constexpr double kRedrawMs = 100;
constexpr double kLineMs = 10'000;
constexpr double kQuietMs = 700;  // shorter steps show nothing

std::string TimeLeft(double elapsed_ms, double done) {
  if (done <= 0.01 || done >= 1) return {};
  const int seconds = static_cast<int>(elapsed_ms / done * (1 - done) / 1000 + 0.5);
  return seconds < 90 ? fmt::format(", {} s left", seconds)
                      : fmt::format(", {} min left", (seconds + 30) / 60);
}

}  // namespace

ProgressBar::ProgressBar(std::string step)
    : step_(std::move(step)), terminal_(isatty(STDERR_FILENO) != 0) {}

void ProgressBar::Show(double done, std::string_view note) {
  const double now = watch_.ElapsedMs();
  if (now < kQuietMs || now - last_ms_ < (terminal_ ? kRedrawMs : kLineMs)) return;
  last_ms_ = now;
  const int filled = static_cast<int>(std::clamp(done, 0.0, 1.0) * kWidth);
  const std::string left = TimeLeft(now, done);
  if (terminal_) {
    fmt::print(stderr, "\r\x1b[K{} [{:#<{}}{:.<{}}] {:3.0f} %{} {}", step_, "", filled, "",
               kWidth - filled, 100 * done, left, note);
    shown_ = true;
  } else {
    fmt::print(stderr, "{}: {:.0f} %{} {}\n", step_, 100 * done, left, note);
  }
  std::fflush(stderr);
}

void ProgressBar::Clear() {
  if (!shown_) return;
  fmt::print(stderr, "\r\x1b[K");
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace schemafill
