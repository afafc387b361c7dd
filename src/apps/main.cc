// The program: subcommands, and what becomes of errors.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>
#include <map>
#include <memory>

#include "apps/commands.h"
#include "apps/help.h"
#include "apps/options.h"
#include "base/version.h"

namespace {

// CLI11's codes for help and version are 0; everything else it finds is bad usage.
int ReportUsage(const CLI::App& program, const CLI::ParseError& error) {
  const int code = program.exit(error);
  return code == 0 ? schemafill::kExitOk : schemafill::kExitBadInput;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App program("Fast, exact tool calling on local models", "schemafill");
  program.set_version_flag("--version", std::string(schemafill::Version()));
  program.require_subcommand(1);
  program.formatter(std::make_shared<schemafill::HelpFormatter>());
  std::map<std::string, schemafill::CommandRunner> runners = {
      {"generate", schemafill::AddGenerate(program)},
      {"bench", schemafill::AddBench(program)},
      {"compare", schemafill::AddCompare(program)},
      {"serve", schemafill::AddServe(program)},
      {"report", schemafill::AddReport(program)},
      {"trace", schemafill::AddTrace(program)},
      {"train-adapter",
       schemafill::AddTrainer(program, "train-adapter",
                              "Tune a LoRA adapter that teaches a target to call tools")},
      {"train-head",
       schemafill::AddTrainer(program, "train-head", "Train an EAGLE-3 head for a target")},
      {"verify", schemafill::AddVerify(program)},
  };
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return ReportUsage(program, error);
  }
  try {
    return runners.at(program.get_subcommands().front()->get_name())();
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return schemafill::kExitInternal;
  }
}
