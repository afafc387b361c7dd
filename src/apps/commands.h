// The subcommands. Each adds itself to the program and returns what runs it.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>

namespace schemafill {

// Runs a parsed command and gives the exit code.
using CommandRunner = std::function<int()>;

CommandRunner AddGenerate(CLI::App& program);
CommandRunner AddTrace(CLI::App& program);
CommandRunner AddVerify(CLI::App& program);

}  // namespace schemafill
