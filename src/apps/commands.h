// The subcommands. Each adds itself to the program and returns what runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

namespace schemafill {

// Runs a parsed command and gives the exit code.
using CommandRunner = std::function<int()>;

CommandRunner AddBench(CLI::App& program);
CommandRunner AddCompare(CLI::App& program);
CommandRunner AddGenerate(CLI::App& program);
CommandRunner AddServe(CLI::App& program);
CommandRunner AddReport(CLI::App& program);
CommandRunner AddTrace(CLI::App& program);
// A command of schemafill-train, which must lie beside the program.
CommandRunner AddTrainer(CLI::App& program, const std::string& command,
                         const std::string& description);
CommandRunner AddVerify(CLI::App& program);

}  // namespace schemafill
