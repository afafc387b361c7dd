// schemafill trace: the JSON lines of `generate --trace` as one page that needs nothing else.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "apps/commands.h"
#include "apps/files.h"
#include "apps/options.h"
#include "apps/trace_page.h"
#include "base/read_file.h"

namespace schemafill {
namespace {

struct TraceCommand {
  std::string file;
  std::string output;

  int Run() const;
  Result<std::string> OutputPath() const;
};

// FILE with .html in place of .jsonl.
Result<std::string> TraceCommand::OutputPath() const {
  if (output.empty() && file == "-")
    return BadInput("standard input gives the page no name; add -o FILE.html, or -o - for stdout");
  std::filesystem::path path = output.empty() ? file : output;
  if (output.empty()) {
    if (path.extension() == ".jsonl") path.replace_extension();
    path += ".html";
  }
  std::error_code error;
  if (std::filesystem::equivalent(path, file, error))
    return BadInput(fmt::format("-o {}: is the trace itself; name another file", path.string()));
  return path.string();
}

int TraceCommand::Run() const {
  const Result<std::string> path = OutputPath();
  if (!path) return Report(path.error());
  const Result<std::string> lines = ReadFile(file);
  if (!lines) return Report(lines.error());
  const std::string name = file == "-" ? "standard input" : file;
  const Result<std::string> page = TracePage(*lines, name);
  if (!page) return Report(page.error());
  const Status written = WriteOutput("-o", *path, *page);
  return written ? kExitOk : Report(written.error());
}

}  // namespace

CommandRunner AddTrace(CLI::App& program) {
  auto command = std::make_shared<TraceCommand>();
  CLI::App* app = program.add_subcommand("trace", "Show a trace of `generate` as a web page");
  app->add_option("file", command->file, "What `generate --trace FILE` wrote; - is standard input")
      ->required();
  app->add_option("-o,--output", command->output,
                  "The page; - is stdout (default: the file's name with .html)");
  return [command] { return command->Run(); };
}

}  // namespace schemafill
