// schemafill train-...: starts schemafill-train, which alone needs libtorch, with the same words.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "apps/commands.h"
#include "apps/options.h"

namespace schemafill {
namespace {

namespace fs = std::filesystem;

int StartTrainer(const std::string& command, const std::vector<std::string>& words) {
  std::error_code error;
  const fs::path program =
      fs::read_symlink("/proc/self/exe", error).parent_path() / "schemafill-train";
  if (!fs::exists(program, error)) {
    return Report(BadInput(fmt::format(
        "{}: this build has no trainers; build them with `make train-tools`", command)));
  }
  std::string name = program.string();
  std::string command_word = command;
  std::vector<std::string> copies = words;
  std::vector<char*> arguments = {name.data(), command_word.data()};
  for (std::string& word : copies) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  execv(name.c_str(), arguments.data());
  return Report(Unavailable(fmt::format("'{}' can't be started: {}", name, std::strerror(errno))));
}

}  // namespace

CommandRunner AddTrainer(CLI::App& program, const std::string& command,
                         const std::string& description) {
  CLI::App* app = program.add_subcommand(command, description);
  app->prefix_command();  // the words behind it are the trainer's, --help among them
  app->set_help_flag();
  return [app, command] { return StartTrainer(command, app->remaining()); };
}

}  // namespace schemafill
