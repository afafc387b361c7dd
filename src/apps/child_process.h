// A program that runs beside ours: started without a shell, its output in a log file, dead when we
// are. Tested by tests/apps/llama_server_test.cc.
#pragma once

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"

namespace schemafill {

class ChildProcess {
 public:
  // `command`: the program's path, then its arguments. Standard output and error go to a new file
  // in the temporary folder. Variables of our environment whose names begin with one of
  // `unset_prefixes` are kept from it. The child is in a process group of its own, so Ctrl-C
  // reaches us alone; the kernel kills it when the calling thread ends. Errors: the program can't
  // be executed.
  static Result<std::unique_ptr<ChildProcess>> Start(
      const std::vector<std::string>& command, const std::vector<std::string>& unset_prefixes = {});
  // Asks it to end, and kills it when it has not after some seconds.
  ~ChildProcess();
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  // How it ended ("ended with exit code 1"); nothing while it runs.
  std::optional<std::string> Ended();

  // "; its last words: ... (log: FILE)", for an error message. From then on the log outlives us.
  std::string LogHint();

  pid_t pid() const { return pid_; }

 private:
  ChildProcess(pid_t pid, std::string log) : pid_(pid), log_(std::move(log)) {}

  pid_t pid_;
  std::string log_;
  bool keep_log_ = false;
  std::optional<int> status_;  // of waitpid
};

}  // namespace schemafill
