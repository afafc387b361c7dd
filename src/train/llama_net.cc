#include "train/llama_net.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "model/llama/gguf_file.h"
#include "train/tensor.h"

namespace schemafill {

using torch::indexing::None;
using torch::indexing::Slice;

torch::Tensor RmsNorm(const torch::Tensor& x, const torch::Tensor& weight, double epsilon) {
  return x * torch::rsqrt(x.square().mean(-1, /*keepdim=*/true) + epsilon) * weight;
}

RotaryTable::RotaryTable(const AttentionShape& shape, const torch::Tensor& positions) {
  const torch::Tensor exponents = torch::arange(0, shape.head_size, 2) / -double(shape.head_size);
  const torch::Tensor frequencies = torch::pow(shape.rope_base, exponents);
  const torch::Tensor angles = positions.to(torch::kFloat32).unsqueeze(1) * frequencies;
  cos = angles.cos();
  sin = angles.sin();
}

torch::Tensor Rotate(const torch::Tensor& x, const RotaryTable& table) {
  const torch::Tensor even = x.index({"...", Slice(0, None, 2)});
  const torch::Tensor odd = x.index({"...", Slice(1, None, 2)});
  return torch::stack({even * table.cos - odd * table.sin, even * table.sin + odd * table.cos}, -1)
      .flatten(-2);
}

torch::Tensor SplitHeads(const torch::Tensor& x, int64_t heads) {
  return x.view({x.size(0), heads, -1}).transpose(0, 1);
}

torch::Tensor CausalMask(int64_t size) {
  return torch::full({size, size}, -std::numeric_limits<float>::infinity()).triu(1);
}

torch::Tensor Attend(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                     const torch::Tensor& mask, const Chain& chain) {
  const int64_t kv_heads = k.size(0);
  const int64_t length = k.size(1);
  const int64_t rows = q.size(1);
  const int64_t size = q.size(2);
  const double root = std::sqrt(double(size));
  // Heads that share keys lie beside each other: [kv_heads, group, T, d].
  const torch::Tensor grouped = q.reshape({kv_heads, -1, rows, size});
  const torch::Tensor flat = grouped.reshape({kv_heads, -1, size});
  torch::Tensor scores = torch::bmm(flat, k.transpose(1, 2)) / root;
  scores = scores.view({kv_heads, -1, rows, length}) + mask;
  if (!chain.keys.empty()) {
    std::vector<torch::Tensor> all = {scores};
    for (const torch::Tensor& key : chain.keys) {
      const torch::Tensor own = key.slice(1, 0, rows).unsqueeze(1);  // [kv_heads, 1, T, d]
      all.push_back((grouped * own).sum(-1, /*keepdim=*/true) / root);
    }
    scores = torch::cat(all, -1);
  }
  const torch::Tensor shares = scores.softmax(-1);
  const torch::Tensor of_text = shares.slice(-1, 0, length).reshape({kv_heads, -1, length});
  torch::Tensor mixed = torch::bmm(of_text, v).view({kv_heads, -1, rows, size});
  for (size_t i = 0; i < chain.values.size(); ++i) {
    const int64_t column = length + static_cast<int64_t>(i);
    mixed = mixed +
            shares.slice(-1, column, column + 1) * chain.values[i].slice(1, 0, rows).unsqueeze(1);
  }
  return mixed.reshape({-1, rows, size}).transpose(0, 1).reshape({rows, -1});
}

Result<LlamaNet> LlamaNet::Load(const std::string& path) {
  const auto header = GgufHeader::Read("model", path);
  if (!header) return header.error();
  if (header->architecture() != "llama") {
    return BadInput(
        fmt::format("'{}' is of architecture '{}'; adapters are trained for 'llama' models only",
                    path, header->architecture()));
  }
  const Result<ModelShape> shape = ReadModelShape(*header, path);
  if (!shape) return shape.error();
  LlamaNet net;
  net.shape_ = *shape;
  net.layers_ = header->Size("block_count").value_or(0);
  if (net.layers_ < 1) {
    return BadInput(fmt::format("'{}' lacks its layer count; convert it again", path));
  }
  const int64_t rotated =
      header->Size("rope.dimension_count").value_or(net.shape_.attention.head_size);
  if (rotated != net.shape_.attention.head_size ||
      header->FindTensor("rope_freqs.weight") != nullptr ||
      header->Text("llama.rope.scaling.type") == "linear") {
    return BadInput(fmt::format("'{}' scales its rotary positions, which training can't", path));
  }
  for (const GgufTensor& tensor : header->tensors()) {
    Result<Weights> weights = ReadWeights(*header, path, tensor.name);
    if (!weights) return weights.error();
    net.weights_[tensor.name] = ToTensor(*weights);
  }
  std::vector<std::string> needed = {"token_embd.weight", "output_norm.weight"};
  for (int64_t layer = 0; layer < net.layers_; ++layer) {
    for (const char* part : {"attn_norm", "attn_q", "attn_k", "attn_v", "attn_output", "ffn_norm",
                             "ffn_gate", "ffn_up", "ffn_down"}) {
      needed.push_back(fmt::format("blk.{}.{}.weight", layer, part));
    }
  }
  for (const std::string& name : needed) {
    if (!net.weights_.contains(name)) {
      return BadInput(
          fmt::format("'{}' lacks the tensor {}; it isn't a plain llama model", path, name));
    }
  }
  return net;
}

std::map<std::string, std::vector<int64_t>> LlamaNet::LinearMaps() const {
  std::map<std::string, std::vector<int64_t>> maps;
  for (const auto& [name, weight] : weights_) {
    if (name.starts_with("blk.") && weight.dim() == 2) maps[name] = weight.sizes().vec();
  }
  return maps;
}

torch::Tensor LlamaNet::Linear(const std::string& name, const torch::Tensor& x,
                               const Lora* lora) const {
  torch::Tensor y = x.matmul(Weight(name).t());
  if (lora == nullptr) return y;
  const torch::Tensor delta = lora->Delta(name, x);
  return delta.defined() ? y + delta : y;
}

torch::Tensor LlamaNet::Layer(int64_t layer, const torch::Tensor& x, const RotaryTable& table,
                              const torch::Tensor& mask, const Lora* lora) const {
  const auto name = [&](const char* part) { return fmt::format("blk.{}.{}.weight", layer, part); };
  torch::Tensor y = RmsNorm(x, Weight(name("attn_norm")), shape_.norm_epsilon);
  const torch::Tensor q = SplitHeads(Linear(name("attn_q"), y, lora), shape_.attention.heads);
  const torch::Tensor k = SplitHeads(Linear(name("attn_k"), y, lora), shape_.attention.kv_heads);
  const torch::Tensor v = SplitHeads(Linear(name("attn_v"), y, lora), shape_.attention.kv_heads);
  const torch::Tensor mixed = Attend(Rotate(q, table), Rotate(k, table), v, mask);
  const torch::Tensor middle = x + Linear(name("attn_output"), mixed, lora);
  y = RmsNorm(middle, Weight(name("ffn_norm")), shape_.norm_epsilon);
  const torch::Tensor gate = torch::silu(Linear(name("ffn_gate"), y, lora));
  return middle + Linear(name("ffn_down"), gate * Linear(name("ffn_up"), y, lora), lora);
}

torch::Tensor LlamaNet::Forward(const torch::Tensor& tokens, const Lora* lora) const {
  const RotaryTable table(shape_.attention, torch::arange(tokens.size(0)));
  const torch::Tensor mask = CausalMask(tokens.size(0));
  torch::Tensor x = Weight("token_embd.weight").index_select(0, tokens);
  for (int64_t layer = 0; layer < layers_; ++layer) x = Layer(layer, x, table, mask, lora);
  return RmsNorm(x, Weight("output_norm.weight"), shape_.norm_epsilon);
}

torch::Tensor LlamaNet::Logits(const torch::Tensor& hidden) const {
  const bool tied = !weights_.contains("output.weight");
  return hidden.matmul(Weight(tied ? "token_embd.weight" : "output.weight").t());
}

}  // namespace schemafill
