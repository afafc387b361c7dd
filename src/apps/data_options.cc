#include "apps/data_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "apps/files.h"

namespace schemafill {
namespace {

void PrintSkipped(const Dataset& set) {
  constexpr size_t kNamed = 20;
  for (size_t i = 0; i < std::min(kNamed, set.skipped.size()); ++i) {
    fmt::print(stderr, "skipped: {}\n", set.skipped[i]);
  }
  if (!set.skipped.empty()) {
    fmt::print(stderr, "skipped: {} malformed {} of {}{}\n", set.skipped.size(),
               set.skipped.size() == 1 ? "record" : "records", set.name,
               set.skipped.size() > kNamed ? fmt::format(", the first {} named", kNamed) : "");
  }
  if (set.without_calls > 0) {
    fmt::print(stderr, "left out: {} records of {} in which no function is called\n",
               set.without_calls, set.name);
  }
}

}  // namespace

void AddDataOptions(CLI::App& command, DataOptions* options) {
  command
      .add_option("--dataset", options->dataset,
                  "bfcl, single650, call-counts, a BFCL file's name, or a file of records")
      ->capture_default_str();
  command.add_option("--data", options->folder,
                     "Folder with the BFCL files (default: what `make setup` made)");
  command
      .add_option("--format", options->format,
                  "What the file's records are: auto (their fields tell), bfcl, openai, glaive or "
                  "api-bank")
      ->check(CLI::IsMember({"auto", "bfcl", "openai", "glaive", "api-bank"}))
      ->capture_default_str();
  command.add_flag("--strict-data", options->strict,
                   "Stop with exit code 2 at a malformed record instead of skipping it");
  command.add_option("--limit", options->limit, "First N requests only; 0: all")
      ->check(CLI::NonNegativeNumber);
  command
      .add_option("--per-count", options->per_count,
                  "call-counts: N requests with each number of calls from 1 to 4")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--data-seed", options->seed, "call-counts: seed of the drawing")
      ->capture_default_str();
}

Result<Dataset> LoadData(const DataOptions& options) {
  const Result<DataFormat> format = ParseDataFormat(options.format);
  if (!format) return format.error();
  const std::filesystem::path folder =
      options.folder.empty() ? AssetsFolder() / "bfcl" : std::filesystem::path(options.folder);
  Result<Dataset> set =
      LoadDataset(options.dataset, folder,
                  {.format = *format, .per_count = options.per_count, .seed = options.seed});
  if (!set) return set;
  if (options.strict && !set->skipped.empty()) {
    return BadInput(fmt::format("{} ({} malformed in {}; without --strict-data they are skipped)",
                                set->skipped.front(), set->skipped.size(), set->name));
  }
  PrintSkipped(*set);
  if (options.limit > 0 && set->requests.size() > static_cast<size_t>(options.limit)) {
    set->requests.resize(static_cast<size_t>(options.limit));
  }
  return set;
}

}  // namespace schemafill
