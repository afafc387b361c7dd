// A llama-architecture GGUF as a differentiable network: token embedding, layers of RMSNorm,
// grouped-query attention with rotary positions and SwiGLU, output matrix. Weights are dequantised
// to float32 and frozen; only what is added to the linear maps learns. Checked against libllama's
// logits by tests/train/llama_net_test.cc.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "train/lora.h"
#include "train/model_shape.h"

namespace schemafill {

// x / rms(x) * weight, over the last dimension.
torch::Tensor RmsNorm(const torch::Tensor& x, const torch::Tensor& weight, double epsilon);

// cos and sin of the rotary angles, each [positions, head_size / 2].
struct RotaryTable {
  torch::Tensor cos, sin;
  RotaryTable(const AttentionShape& shape, const torch::Tensor& positions);
};

// Turns x [heads, T, head_size] to its positions. GGUF's llama weights pair neighbours (2i, 2i+1).
torch::Tensor Rotate(const torch::Tensor& x, const RotaryTable& table);

// Rows that only one query row each sees, one list entry a step: keys and values [kv_heads, T or
// more, d], of which entry i's row r is for query row r.
struct Chain {
  std::vector<torch::Tensor> keys, values;
};

// softmax(q k^T / sqrt(d) + mask) v for q [heads, T, d], k and v [kv_heads, S, d], mask [T, S] (0
// or -infinity), and the chain's rows beside k and v. [T, heads * d].
torch::Tensor Attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                     const torch::Tensor& mask, const Chain& chain = {});

// [T, T]: row i sees columns 0 .. i.
torch::Tensor CausalMask(int64_t size);

// x [T, heads * d] as [heads, T, d].
torch::Tensor SplitHeads(const torch::Tensor& x, int64_t heads);

// Not thread-safe.
class LlamaNet {
 public:
  // Errors: not a GGUF, another architecture, rope scaling or tensors that this forward pass
  // doesn't know. The message names the file.
  static Result<LlamaNet> Load(const std::string& path);

  // [out, in] of every linear map inside of the layers, by tensor name.
  std::map<std::string, std::vector<int64_t>> LinearMaps() const;

  // Last hidden states, normalised, [T, width], of one sequence of token ids [T] from position 0.
  torch::Tensor Forward(const torch::Tensor& tokens, const Lora* lora = nullptr) const;
  // [rows, vocabulary] of hidden states.
  torch::Tensor Logits(const torch::Tensor& hidden) const;

 private:
  torch::Tensor Layer(int64_t layer, const torch::Tensor& x, const RotaryTable& table,
                      const torch::Tensor& mask, const Lora* lora) const;
  torch::Tensor Linear(const std::string& name, const torch::Tensor& x, const Lora* lora) const;
  const torch::Tensor& Weight(const std::string& name) const { return weights_.at(name); }

  std::map<std::string, torch::Tensor> weights_;
  int64_t layers_ = 0;
  ModelShape shape_;
};

}  // namespace schemafill
