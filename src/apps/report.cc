// schemafill report: the files of `bench --results` as one page that needs nothing else, and as
// Markdown.
#include "measure/report.h"

#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <vector>

#include "apps/commands.h"
#include "apps/files.h"
#include "apps/options.h"

namespace schemafill {
namespace {

struct ReportCommand {
  std::vector<std::string> files;
  std::string output;
  std::string markdown;

  int Run() const;
  Status CheckOutputs() const;
};

Status ReportCommand::CheckOutputs() const {
  if (output.empty()) return BadInput("no -o: add -o FILE.html for the page, or -o - for stdout");
  std::error_code error;
  for (const std::string& path : {output, markdown}) {
    for (const std::string& file : files) {
      if (std::filesystem::equivalent(path, file, error))
        return BadInput(fmt::format("{}: is a run itself; name another file for output", path));
    }
  }
  if (output == markdown)
    return BadInput(fmt::format("-o and --markdown are both {}; name two files", output));
  return {};
}

int ReportCommand::Run() const {
  if (const Status outputs = CheckOutputs(); !outputs) return Report(outputs.error());
  std::vector<ReportedRun> runs;
  for (const std::string& file : files) {
    Result<RunRecord> run = ReadRun(file);
    if (!run) return Report(run.error());
    runs.push_back({std::filesystem::path(file).filename().string(), std::move(*run)});
  }
  if (const Status written = WriteOutput("-o", output, ReportPage(runs)); !written)
    return Report(written.error());
  if (markdown.empty()) return kExitOk;
  const Status written = WriteOutput("--markdown", markdown, ReportMarkdown(runs));
  return written ? kExitOk : Report(written.error());
}

}  // namespace

CommandRunner AddReport(CLI::App& program) {
  auto command = std::make_shared<ReportCommand>();
  CLI::App* app = program.add_subcommand("report", "Show runs of `bench` as a web page");
  app->add_option("files", command->files, "What `bench --results FILE` wrote")->required();
  app->add_option("-o,--output", command->output, "The page; - is stdout");
  app->add_option("--markdown", command->markdown, "Its tables as Markdown as well");
  return [command] { return command->Run(); };
}

}  // namespace schemafill
