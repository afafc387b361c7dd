#include "apps/child_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>
#include <thread>

#include "base/utf8.h"

namespace schemafill {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

constexpr milliseconds kPatience{5000};  // for a clean end
constexpr milliseconds kPause{20};

std::vector<std::string> EnvironmentWithout(const std::vector<std::string>& prefixes) {
  std::vector<std::string> kept;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto begins = [&](const std::string& prefix) { return text.rfind(prefix, 0) == 0; };
    if (std::none_of(prefixes.begin(), prefixes.end(), begins)) kept.emplace_back(text);
  }
  return kept;
}

std::vector<char*> Pointers(std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  pointers.push_back(nullptr);
  return pointers;
}

// In the child, between fork and exec: only what POSIX allows there, and no memory from the heap.
[[noreturn]] void Become(char* const* arguments, char* const* environment, int log, int failure,
                         pid_t parent) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(127);  // it went before prctl
  const int nothing = open("/dev/null", O_RDONLY);
  if (nothing >= 0) dup2(nothing, STDIN_FILENO);
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  signal(SIGINT, SIG_DFL);
  execve(arguments[0], arguments, environment);
  const int reason = errno;
  const ssize_t written = write(failure, &reason, sizeof(reason));
  _exit(written == sizeof(reason) ? 127 : 126);
}

Error CantStart(const std::string& program, int reason) {
  return Unavailable(fmt::format("'{}' can't be started: {}", program, std::strerror(reason)));
}

// The last line that says something.
std::string LastLine(const std::string& file) {
  std::ifstream in(file);
  std::string last;
  for (std::string line; std::getline(in, line);) {
    if (line.find_first_not_of(" \t\r") != std::string::npos) last = line;
  }
  return ReplaceInvalidUtf8(last.substr(0, 300));
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::vector<std::string>& command, const std::vector<std::string>& unset_prefixes) {
  std::vector<std::string> words = command;
  std::vector<std::string> environment = EnvironmentWithout(unset_prefixes);
  const std::vector<char*> arguments = Pointers(words);
  const std::vector<char*> variables = Pointers(environment);
  std::error_code error;
  std::string log = (fs::temp_directory_path(error) / "schemafill-peer-XXXXXX").string();
  const int log_descriptor = mkostemp(log.data(), O_CLOEXEC);
  if (log_descriptor < 0) return CantStart(log, errno);
  int failure[2];  // says why exec failed; closes without a word where it didn't
  if (pipe2(failure, O_CLOEXEC) != 0) {
    close(log_descriptor);
    return CantStart(words[0], errno);
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) Become(arguments.data(), variables.data(), log_descriptor, failure[1], parent);
  int reason = pid < 0 ? errno : 0;
  close(failure[1]);
  close(log_descriptor);
  if (pid > 0 && read(failure[0], &reason, sizeof(reason)) == sizeof(reason))
    waitpid(pid, nullptr, 0);
  close(failure[0]);
  if (reason != 0) {
    fs::remove(log, error);
    return CantStart(words[0], reason);
  }
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid, log));
}

ChildProcess::~ChildProcess() {
  if (!Ended()) {
    kill(pid_, SIGTERM);
    for (milliseconds waited{0}; !Ended() && waited < kPatience; waited += kPause)
      std::this_thread::sleep_for(kPause);
  }
  if (!Ended()) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  std::error_code ignored;
  if (!keep_log_) fs::remove(log_, ignored);
}

std::optional<std::string> ChildProcess::Ended() {
  int status = 0;
  if (!status_ && waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
  if (!status_) return std::nullopt;
  if (WIFSIGNALED(*status_)) return fmt::format("was ended by signal {}", WTERMSIG(*status_));
  return fmt::format("ended with exit code {}", WEXITSTATUS(*status_));
}

std::string ChildProcess::LogHint() {
  keep_log_ = true;
  return fmt::format("; its last words: {} (log: {})", LastLine(log_), log_);
}

}  // namespace schemafill
