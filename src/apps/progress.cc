#include "apps/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace schemafill {
namespace {

constexpr int kWidth = 28;
constexpr int kLeastWidth = 5;
constexpr double kRedrawMs = 100;
constexpr double kLineMs = 10'000;
constexpr double kQuietMs = 700;  // shorter steps show nothing

// `done` since the start, `left` to do; both are shares of the whole.
std::string TimeLeft(double elapsed_ms, double done, double left) {
  if (done <= 0.01 || left <= 0) return {};
  const int seconds = static_cast<int>(elapsed_ms / done * left / 1000 + 0.5);
  return seconds < 90 ? fmt::format(", {} s left", seconds)
                      : fmt::format(", {} min left", (seconds + 30) / 60);
}

int TerminalColumns() {
  winsize size{};
  return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

}  // namespace

ProgressBar::ProgressBar(std::string step)
    : step_(std::move(step)), terminal_(isatty(STDERR_FILENO) != 0) {}

void ProgressBar::Show(double done, std::string_view note) {
  const double now = watch_.ElapsedMs();
  if (first_ < 0) first_ = done;
  if (now < kQuietMs || now - last_ms_ < (terminal_ ? kRedrawMs : kLineMs)) return;
  last_ms_ = now;
  const std::string left = TimeLeft(now, done - first_, 1 - done);
  const std::string text = fmt::format("{:3.0f} %{} {}", 100 * done, left, note);
  if (terminal_) {
    // A line that breaks could not be redrawn.
    const int columns = TerminalColumns() - 1;
    const int room = columns - static_cast<int>(step_.size() + text.size()) - 4;
    const int width = std::clamp(room, kLeastWidth, kWidth);
    const int filled = static_cast<int>(std::clamp(done, 0.0, 1.0) * width);
    const std::string line =
        fmt::format("{} [{:#<{}}{:.<{}}] {}", step_, "", filled, "", width - filled, text);
    fmt::print(stderr, "\r\x1b[K{:.{}}", line, columns);
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
