// A model's dimensions, as its GGUF states them.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "model/llama/gguf_header.h"

namespace schemafill {

struct AttentionShape {
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t head_size = 0;
  double rope_base = 10000;
};

struct ModelShape {
  int64_t width = 0;  // of hidden states
  AttentionShape attention;
  int64_t feed_forward = 0;
  double norm_epsilon = 1e-5;
  int64_t context = 0;  // positions
};

// Of any architecture. Errors: a file without them.
Result<ModelShape> ReadModelShape(const GgufHeader& model, const std::string& path);

}  // namespace schemafill
