// Tunes a LoRA adapter for a llama-architecture target on exact answers (loss on the answer only).
// Tested by tests/train/adapter_test.cc.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "base/result.h"
#include "train/loop.h"

namespace schemafill {

struct AdapterOptions {
  std::string target;    // GGUF
  std::string examples;  // JSON lines, see examples.h
  std::string held_out;  // the same, for the held-out scores
  std::string from;      // GGUF adapter to start from; empty: a new one
  std::string out;       // GGUF adapter; OUT.checkpoint and OUT.curve.jsonl lie beside it
  int rank = 16;
  double scale = 2;      // alpha / rank
  int max_tokens = 640;  // longer examples are left out
  int held_out_examples = 40;
  LoopOptions loop = {.steps = 400, .batch = 4, .peak_rate = 2e-3};
};

struct AdapterData {
  int examples = 0;
  int held_out = 0;
  int too_long = 0;
};

// Called once, when the data are read, then after every step.
using AdapterProgress = std::function<void(const AdapterData&, const LoopProgress&)>;

// Trains, or goes on where a stopped run of the same options left off, and writes `out` when the
// last step is done. Errors: wrong files, files that can't be written, a checkpoint of other
// options.
Result<LoopResult> TrainAdapter(const AdapterOptions& options, const std::atomic<bool>& stop,
                                const AdapterProgress& progress);

}  // namespace schemafill
