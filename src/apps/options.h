// Options that mean the same in every command, and the model that they load.
#pragma once

#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "base/result.h"
#include "engine/engine.h"
#include "json/json.h"
#include "model/draft_head.h"
#include "model/target_model.h"

namespace schemafill {

// Exit codes of the program.
enum ExitCode : int { kExitOk = 0, kExitCheckFailed = 1, kExitBadInput = 2, kExitInternal = 3 };

struct ModelOptions {
  std::string model;  // empty: the default target that set-up made
  std::string head;
  int threads = 0;
  int context = 8192;
};

struct DecodeOptions {
  std::string preset = "auto";
  uint64_t seed = 0;
  double temperature = 0;
  int top_k = 0;
  double top_p = 1;
  double min_p = 0;
  int max_tokens = 1024;
  bool hybrid_prefill = false;
};

void AddModelOptions(CLI::App& command, ModelOptions* options);
void AddDecodeOptions(CLI::App& command, DecodeOptions* options);

// The options of a request that says nothing itself.
Result<GenerateOptions> ToGenerateOptions(const DecodeOptions& options);

// The target's file: the option, or the default model.
std::string ModelPath(const ModelOptions& options);

struct LoadedTarget {
  std::unique_ptr<TargetModel> model;
  std::unique_ptr<DraftHead> head;  // null without one; goes before its model
  CostCurve cost;
};

// The head's file: the option, or the default model's own where no other model is given; empty:
// none.
std::string HeadPath(const ModelOptions& options);

// Loads the target, the head and, when `measure_cost`, the target's cost curve (kept in the user's
// cache). Progress and messages go to stderr.
Result<LoadedTarget> LoadTargetFor(const ModelOptions& options, bool measure_cost);

// What the figures of a run depend on: model and head by their content, and the options. Error: a
// file can't be read.
Result<Json> SettingsJson(const ModelOptions& model, const DecodeOptions& decode);

// Writes `error: ...` to stderr and gives the exit code that goes with it.
int Report(const Error& error);

}  // namespace schemafill
