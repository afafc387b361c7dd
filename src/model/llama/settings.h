// How a model must be loaded so that a row's logits don't depend on what else is in its forward:
// the rules of ARCHITECTURE.md on cache types, attention kernel, weight types and companion rows,
// all measured. Tested by tests/model/llama_model_test.cc.
#pragma once

#include <vector>

#include "base/result.h"
#include "model/llama/gguf_header.h"

namespace schemafill {

// Types of the K and V cache.
struct CacheTypes {
  ggml_type k = GGML_TYPE_Q8_0;
  ggml_type v = GGML_TYPE_F16;
};

struct TargetSettings {
  // Tried in order until libllama accepts one. Flash attention with a K cache that is neither F16
  // nor F32 adds the cells up in one way, whatever the number of rows and threads; with F16/F16 it
  // has three ways.
  std::vector<CacheTypes> cache_types;
  // False: weights stay as they lie in the file. The kernels for repacked K-quants round one row
  // otherwise than several.
  bool repack = true;
  // Rows that a forward must have (see llama_target.h).
  int min_rows = 1;
};

// On an accelerator (`accelerated`) none of this makes rows equal. There llama.cpp's usual types
// are the ones with kernels: for a mixed cache its attention would silently run on the CPU.
TargetSettings ChooseSettings(const GgufHeader& header, bool accelerated);

// Whether libllama can run the model at all and its memory can roll a tree back, as far as the
// header tells.
Status CheckArchitecture(const GgufHeader& header, const std::string& path);

// Values on which libllama ends the process instead of refusing the file. Part of
// CheckArchitecture.
Status CheckValues(const GgufHeader& header, const std::string& path);

// Bytes of K and V for one cell over all layers.
size_t CellBytes(const GgufHeader& header, const CacheTypes& types);

}  // namespace schemafill
