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
                     const torch::Tensor& mask) {
  // Heads that share keys lie beside each other: [kv_heads, group, T, d].
  const int64_t kv_heads = k.size(0);
  const int64_t rows = q.size(1);
  const int64_t size = q.size(2);
  const torch::Tensor grouped = q.reshape({kv_heads, -1, size});
  torch::Tensor scores = torch::bmm(grouped, k.transpose(1, 2)) / std::sqrt(double(size));
  scores = scores.view({kv_heads, -1, rows, k.size(1)}) + mask;
  const torch::Tensor mixed = torch::bmm(scores.softmax(-1).view({kv_heads, -1, k.size(1)}), v);
  return mixed.view({q.size(0), rows, size}).transpose(0, 1).reshape({rows, -1});
}

Result<LlamaNet> LlamaNet::Load(const std::string& path) {
  const auto header = GgufHeader::Read("model", path);
  if (!header) return header.error();
  if (header->architecture() != "llama") {
    return BadInput(
        fmt::format("'{}' is of architecture '{}'; adapters are trained for 'llama' models only",
                    path, header->architecture()));
  }
  const auto size = [&](const char* key) { return header->Size(key).value_or(0); };
  LlamaNet net;
  net.layers_ = size("block_count");
  net.width_ = size("embedding_length");
  net.attention_.heads = size("attention.head_count");
  net.attention_.kv_heads = header->Size("attention.head_count_kv").value_or(net.attention_.heads);
  if (net.layers_ < 1 || net.attention_.heads < 1 || net.attention_.kv_heads < 1) {
    return BadInput(fmt::format("'{}' lacks its layer or head counts; convert it again", path));
  }
  net.attention_.head_size = net.width_ / net.attention_.heads;
  net.attention_.rope_base = header->Fraction("llama.rope.freq_base").value_or(10000);
  net.norm_epsilon_ = header->Fraction("llama.attention.layer_norm_rms_epsilon").value_or(1e-5);
  const int64_t rotated = header->Size("rope.dimension_count").value_or(net.attention_.head_size);
  if (rotated != net.attention_.head_size || header->FindTensor("rope_freqs.weight") != nullptr ||
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
  torch::Tensor y = RmsNorm(x, Weight(name("attn_norm")), norm_epsilon_);
  const torch::Tensor q = SplitHeads(Linear(name("attn_q"), y, lora), attention_.heads);
  const torch::Tensor k = SplitHeads(Linear(name("attn_k"), y, lora), attention_.kv_heads);
  const torch::Tensor v = SplitHeads(Linear(name("attn_v"), y, lora), attention_.kv_heads);
  const torch::Tensor mixed = Attend(Rotate(q, table), Rotate(k, table), v, mask);
  const torch::Tensor middle = x + Linear(name("attn_output"), mixed, lora);
  y = RmsNorm(middle, Weight(name("ffn_norm")), norm_epsilon_);
  const torch::Tensor gate = torch::silu(Linear(name("ffn_gate"), y, lora));
  return middle + Linear(name("ffn_down"), gate * Linear(name("ffn_up"), y, lora), lora);
}

torch::Tensor LlamaNet::Forward(const torch::Tensor& tokens, const Lora* lora) const {
  const RotaryTable table(attention_, torch::arange(tokens.size(0)));
  const torch::Tensor mask = CausalMask(tokens.size(0));
  torch::Tensor x = Weight("token_embd.weight").index_select(0, tokens);
  for (int64_t layer = 0; layer < layers_; ++layer) x = Layer(layer, x, table, mask, lora);
  return RmsNorm(x, Weight("output_norm.weight"), norm_epsilon_);
}

torch::Tensor LlamaNet::Logits(const torch::Tensor& hidden) const {
  const bool tied = !weights_.contains("output.weight");
  return hidden.matmul(Weight(tied ? "token_embd.weight" : "output.weight").t());
}

}  // namespace schemafill
