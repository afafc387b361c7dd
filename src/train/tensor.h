// GGUF weights as libtorch tensors, and back.
#pragma once

#include <torch/torch.h>

#include "model/llama/gguf_file.h"

namespace schemafill {

// float32, of the same shape; owns its memory.
torch::Tensor ToTensor(const Weights& weights);
Weights ToWeights(const torch::Tensor& tensor);

}  // namespace schemafill
