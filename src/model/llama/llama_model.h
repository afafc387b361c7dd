// Loads GGUF models through libllama. The only door to llama.cpp: nothing outside of this folder
// includes its headers.
//
// The exactness rules of ARCHITECTURE.md live behind it: cache types, attention kernel, weight
// repacking and tiled multiplication, companion rows, prefill borders, and the self-test that
// decides which guarantee holds. Tested by tests/model/llama_model_test.cc (label model).
#pragma once

#include <memory>
#include <string>

#include "base/log.h"
#include "base/result.h"
#include "model/draft_head.h"
#include "model/target_model.h"

namespace schemafill {

struct LoadOptions {
  std::string path = {};
  int context_size = 8192;  // cells; cut to the model's trained context. More cells cost memory and
                            // a little time a row.
  int threads = 0;          // 0: the number of physical cores
  LogSink log = {};         // may be empty
  ProgressSink progress = {};  // may be empty
};

// Errors name the file and the remedy: missing, not a GGUF, truncated, an architecture whose memory
// can't roll a tree back (recurrent, hybrid), an encoder, too little memory for weights and cells.
Result<std::unique_ptr<TargetModel>> LoadTarget(const LoadOptions& options);

// Loads an EAGLE-3 head for `target`, which must come from LoadTarget and outlive it. A head that
// doesn't fit is refused with both shapes named.
Result<std::unique_ptr<DraftHead>> LoadHead(const LoadOptions& options, TargetModel& target);

}  // namespace schemafill
