#include "model/llama/runtime.h"

#include <sched.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
#include <thread>
#include <utility>

namespace schemafill {
namespace {

thread_local LogScope* current_scope = nullptr;

void OnLog(ggml_log_level level, const char* text, void*) {
  if (current_scope != nullptr) current_scope->Write(level, text);
}

// "function_name: message" to "message".
std::string WithoutFunctionName(const std::string& line) {
  const size_t colon = line.find(": ");
  if (colon == std::string::npos || line.find(' ') < colon) return line;
  return line.substr(line.find_first_not_of(' ', colon + 1));
}

// The first number in a file; -1 if there is none ("max" in a control group's limits).
int64_t NumberIn(const std::string& path) {
  std::ifstream file(path);
  int64_t number = -1;
  return file >> number ? number : -1;
}

// The number behind `key` in a file of "key number" lines.
int64_t NumberOf(const std::string& key, const std::string& path) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string word;
    int64_t number = 0;
    if (words >> word >> number && word == key) return number;
  }
  return -1;
}

// Bytes left in the process's own control group (version 2); -1 where there is no limit.
int64_t ControlGroupRoom() {
  std::ifstream file("/proc/self/cgroup");
  std::string group;
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("0::", 0) == 0) group = line.substr(3);
  }
  int64_t room = -1;
  // A limit of a parent counts as well; inside a container the group's path may be that of the
  // host.
  for (std::string path = group;; path = path.substr(0, path.find_last_of('/'))) {
    const std::string folder = "/sys/fs/cgroup" + (path == "/" ? "" : path);
    const int64_t limit = NumberIn(folder + "/memory.max");
    const int64_t used = NumberIn(folder + "/memory.current");
    const int64_t files = std::max<int64_t>(NumberOf("inactive_file", folder + "/memory.stat"), 0);
    if (limit >= 0 && used >= 0) {
      const int64_t here = std::max<int64_t>(limit - used + files, 0);
      room = room < 0 ? here : std::min(room, here);
    }
    if (path.empty() || path == "/") break;
  }
  return room;
}

}  // namespace

void InitRuntime() {
  static std::once_flag once;
  std::call_once(once, [] {
    setenv("GGML_CPU_TILED_MM", "0", /*overwrite=*/0);
    llama_log_set(OnLog, nullptr);
    llama_backend_init();
  });
}

LogScope::LogScope(const LogSink& sink) : sink_(sink), outer_(std::exchange(current_scope, this)) {}

LogScope::~LogScope() {
  Finish();
  current_scope = outer_;
}

void LogScope::Write(ggml_log_level level, const char* text) {
  if (level != GGML_LOG_LEVEL_CONT) {
    Finish();
    level_ = level;
  }
  line_ += text;
  if (!line_.empty() && line_.back() == '\n') Finish();
}

void LogScope::Finish() {
  std::string line = std::exchange(line_, "");
  line.resize(line.find_last_not_of(" \n") + 1);
  if (line.empty() || level_ < GGML_LOG_LEVEL_WARN || level_ == GGML_LOG_LEVEL_CONT) return;
  if (level_ == GGML_LOG_LEVEL_ERROR && error_.empty()) error_ = WithoutFunctionName(line);
  if (sink_) sink_(LogLevel::kWarning, "llama.cpp: " + line);
}

int PhysicalCores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  std::set<std::pair<int64_t, int64_t>> cores;
  if (sched_getaffinity(0, sizeof(allowed), &allowed) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (!CPU_ISSET(cpu, &allowed)) continue;
      const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology";
      const int64_t core = NumberIn(folder + "/core_id");
      if (core >= 0) cores.insert({NumberIn(folder + "/physical_package_id"), core});
    }
  }
  if (!cores.empty()) return static_cast<int>(cores.size());
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

size_t AvailableMemory() {
  const int64_t kibibytes = NumberOf("MemAvailable:", "/proc/meminfo");
  if (kibibytes < 0) return 0;
  const int64_t room = ControlGroupRoom();
  const int64_t bytes = kibibytes * 1024;
  return static_cast<size_t>(room < 0 ? bytes : std::min(bytes, room));
}

}  // namespace schemafill
