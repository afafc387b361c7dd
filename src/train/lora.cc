#include "train/lora.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "model/llama/gguf_file.h"
#include "train/tensor.h"

namespace schemafill {

Lora::Lora(const std::map<std::string, std::vector<int64_t>>& maps, int rank, double alpha,
           uint64_t seed)
    : alpha_(alpha), scale_(alpha / rank) {
  torch::Generator generator = torch::make_generator<torch::CPUGeneratorImpl>(seed);
  for (const auto& [name, shape] : maps) {
    Pair& pair = pairs_[name];
    const double bound = 1 / std::sqrt(static_cast<double>(shape[1]));
    pair.a = torch::empty({rank, shape[1]}).uniform_(-bound, bound, generator);
    pair.b = torch::zeros({shape[0], rank});
    pair.a.requires_grad_();
    pair.b.requires_grad_();
  }
}

torch::Tensor Lora::Delta(const std::string& name, const torch::Tensor& x) const {
  const auto found = pairs_.find(name);
  if (found == pairs_.end()) return {};
  const Pair& pair = found->second;
  return scale_ * x.matmul(pair.a.t()).matmul(pair.b.t());
}

std::vector<torch::Tensor> Lora::Parameters() const {
  std::vector<torch::Tensor> parameters;
  for (const auto& [name, pair] : pairs_) {
    parameters.push_back(pair.a);
    parameters.push_back(pair.b);
  }
  return parameters;
}

Status Lora::Load(const std::string& path) {
  const auto header = GgufHeader::Read("adapter", path);
  if (!header) return header.error();
  if (header->Text("adapter.type") != "lora" || header->tensors().size() != 2 * pairs_.size()) {
    return BadInput(fmt::format("'{}' is not a LoRA adapter of this target", path));
  }
  const torch::NoGradGuard no_grad;
  for (const auto& [map, pair] : pairs_) {
    for (const auto& [part, tensor] :
         {std::pair(".lora_a", pair.a), std::pair(".lora_b", pair.b)}) {
      const Result<Weights> weights = ReadWeights(*header, path, map + part);
      if (!weights) return weights.error();
      if (weights->shape != tensor.sizes().vec()) {
        return BadInput(fmt::format("'{}': {} is [{}], not [{}]; give it the same --rank", path,
                                    map + part, fmt::join(weights->shape, ", "),
                                    fmt::join(tensor.sizes().vec(), ", ")));
      }
      tensor.detach().copy_(ToTensor(*weights));
    }
  }
  return {};
}

Status Lora::Save(const std::string& path, const std::string& architecture,
                  const std::string& name) const {
  GgufWriter file(architecture);
  file.SetText("general.type", "adapter");
  file.SetText("general.name", name);
  file.SetText("adapter.type", "lora");
  file.SetFraction("adapter.lora.alpha", static_cast<float>(alpha_));
  for (const auto& [map, pair] : pairs_) {
    file.AddFloats(map + ".lora_a", ToWeights(pair.a), /*half=*/true);
    file.AddFloats(map + ".lora_b", ToWeights(pair.b), /*half=*/true);
  }
  return file.Write(path);
}

}  // namespace schemafill
