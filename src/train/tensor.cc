#include "train/tensor.h"

namespace schemafill {

torch::Tensor ToTensor(const Weights& weights) {
  return torch::from_blob(const_cast<float*>(weights.values.data()), weights.shape, torch::kFloat32)
      .clone();
}

Weights ToWeights(const torch::Tensor& tensor) {
  const torch::Tensor values = tensor.detach().to(torch::kFloat32).contiguous();
  Weights weights;
  weights.shape = values.sizes().vec();
  weights.values.assign(values.data_ptr<float>(), values.data_ptr<float>() + values.numel());
  return weights;
}

}  // namespace schemafill
