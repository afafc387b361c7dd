// The options that choose a data set, the same in every command that runs one.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>

#include "base/result.h"
#include "catalog/dataset.h"

namespace schemafill {

struct DataOptions {
  std::string dataset = "bfcl";
  std::string folder;  // empty: the one that set-up made
  std::string format = "auto";
  bool strict = false;
  int limit = 0;  // 0: all requests
  int per_count = 100;
  uint64_t seed = 0;
};

void AddDataOptions(CLI::App& command, DataOptions* options);

// The first requests of the data set. Records that could not be read are named on stderr and
// counted; with `strict` the first is an error.
Result<Dataset> LoadData(const DataOptions& options);

}  // namespace schemafill
