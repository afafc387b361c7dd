// Low-rank adaptation (Hu et al., 2021) of linear maps: W x + (alpha / rank) B A x.
// Tested by tests/train/lora_test.cc.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"

namespace schemafill {

class Lora {
 public:
  // A [rank, in] is drawn from `seed`, B [out, rank] is zero: nothing changes yet. `maps`: [out,
  // in] by tensor name.
  Lora(const std::map<std::string, std::vector<int64_t>>& maps, int rank, double alpha,
       uint64_t seed);

  // What is added to the output of the map `name` for input x [T, in]; undefined if it has none.
  torch::Tensor Delta(const std::string& name, const torch::Tensor& x) const;

  // All A and B, in a fixed order: what learns.
  std::vector<torch::Tensor> Parameters() const;

  // Takes over an adapter that Save wrote. Errors: not an adapter, of other maps or another rank.
  Status Load(const std::string& path);

  // As llama.cpp reads it (general.type adapter, adapter.type lora, tensors NAME.lora_a and
  // NAME.lora_b in F16) for a base of `architecture`.
  Status Save(const std::string& path, const std::string& architecture,
              const std::string& name) const;

 private:
  struct Pair {
    torch::Tensor a, b;
  };
  std::map<std::string, Pair> pairs_;
  double alpha_;
  double scale_;
};

}  // namespace schemafill
