#include "train/head_net.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/check.h"
#include "model/llama/gguf_file.h"
#include "train/tensor.h"

namespace schemafill {
namespace {

// [out, in] of each matrix, [size] of each norm.
std::map<std::string, std::vector<int64_t>> TensorShapes(const HeadConfig& config) {
  const ModelShape& shape = config.shape;
  const int64_t width = shape.width;
  const int64_t queries = shape.attention.heads * shape.attention.head_size;
  const int64_t keys = shape.attention.kv_heads * shape.attention.head_size;
  return {{"fc.weight", {width, kTargetLayers * width}},
          {"blk.0.attn_norm.weight", {width}},
          {"blk.0.attn_norm_2.weight", {width}},
          {"blk.0.attn_q.weight", {queries, 2 * width}},
          {"blk.0.attn_k.weight", {keys, 2 * width}},
          {"blk.0.attn_v.weight", {keys, 2 * width}},
          {"blk.0.attn_output.weight", {width, queries}},
          {"blk.0.ffn_norm.weight", {width}},
          {"blk.0.ffn_gate.weight", {shape.feed_forward, width}},
          {"blk.0.ffn_up.weight", {shape.feed_forward, width}},
          {"blk.0.ffn_down.weight", {width, shape.feed_forward}},
          {"output_norm.weight", {width}},
          {"output.weight", {static_cast<int64_t>(config.vocabulary.size()), width}}};
}

Result<std::vector<Token>> ReadVocabulary(const GgufHeader& header, const std::string& path) {
  const Result<std::vector<int64_t>> ids = ReadIntegers(header, path, "d2t");
  if (!ids) return ids.error();
  std::vector<Token> vocabulary;
  for (const int64_t id : *ids) vocabulary.push_back(Token{static_cast<int32_t>(id)});
  return vocabulary;
}

}  // namespace

Result<TargetWeights> ReadTargetWeights(const GgufHeader& target, const std::string& path) {
  if (target.Integer("split.count").value_or(1) > 1) {
    return BadInput(fmt::format(
        "'{}' is split over several files; join them with `llama-gguf-split --merge`", path));
  }
  const auto embedding = ReadWeights(target, path, "token_embd.weight");
  if (!embedding) return embedding.error();
  TargetWeights weights;
  weights.embedding = weights.output = ToTensor(*embedding);
  const int64_t width = weights.embedding.size(-1);
  if (weights.embedding.dim() != 2 || width != target.Size("embedding_length")) {
    return BadInput(fmt::format("'{}': its token embeddings are not of its hidden size", path));
  }
  weights.output_norm = torch::ones({width});
  if (target.FindTensor("output.weight") != nullptr) {
    const auto output = ReadWeights(target, path, "output.weight");
    if (!output) return output.error();
    weights.output = ToTensor(*output);
  }
  if (target.FindTensor("output_norm.weight") != nullptr) {
    const auto norm = ReadWeights(target, path, "output_norm.weight");
    if (!norm) return norm.error();
    weights.output_norm = ToTensor(*norm);
  }
  if (weights.output.sizes() != weights.embedding.sizes() || weights.output_norm.numel() != width) {
    return BadInput(fmt::format("'{}': its output matrix is not of its hidden size", path));
  }
  return weights;
}

HeadNet::HeadNet(HeadConfig config, const TargetWeights& target,
                 const std::vector<double>& feature_sizes, uint64_t seed)
    : config_(std::move(config)), embedding_(target.embedding) {
  Check(config_.target_layers.size() == kTargetLayers && feature_sizes.size() == kTargetLayers,
        "an EAGLE-3 head reads three layers");
  Check(target.embedding.size(1) == config_.shape.width, "a head of another width than its target");
  torch::Generator generator = torch::make_generator<torch::CPUGeneratorImpl>(seed);
  for (const auto& [name, shape] : TensorShapes(config_)) {
    torch::Tensor& weight = weights_[name];
    weight = torch::ones(shape);
    if (shape.size() == 2) weight.normal_(0, 1 / std::sqrt(double(shape[1])), generator);
  }
  std::vector<int64_t> ids;
  for (const Token token : config_.vocabulary) ids.push_back(Index(token));
  weights_["output.weight"] = target.output.index_select(0, torch::tensor(ids, torch::kInt64));
  weights_["output_norm.weight"] = target.output_norm.clone();
  const int64_t width = config_.shape.width;
  for (int layer = 0; layer < kTargetLayers; ++layer) {
    weights_["fc.weight"].slice(1, layer * width, (layer + 1) * width).div_(feature_sizes[layer]);
  }
  for (auto& [name, weight] : weights_) weight.requires_grad_();
}

Result<HeadNet> HeadNet::Load(const std::string& path, const torch::Tensor& embedding) {
  const auto header = GgufHeader::Read("head", path);
  if (!header) return header.error();
  if (header->architecture() != "eagle3") {
    return BadInput(fmt::format("'{}' is of architecture '{}', not an EAGLE-3 head ('eagle3')",
                                path, header->architecture()));
  }
  HeadConfig config;
  Result<ModelShape> shape = ReadModelShape(*header, path);
  if (!shape) return shape.error();
  config.shape = *shape;
  if (config.shape.width != embedding.size(1)) {
    return BadInput(fmt::format("head '{}' has states of {} numbers, its target's have {}", path,
                                config.shape.width, embedding.size(1)));
  }
  for (const int64_t layer : header->Sizes("target_layers")) {
    config.target_layers.push_back(static_cast<int>(layer));
  }
  Result<std::vector<Token>> vocabulary = ReadVocabulary(*header, path);
  if (!vocabulary) return vocabulary.error();
  config.vocabulary = std::move(*vocabulary);
  HeadNet net(std::move(config));
  net.embedding_ = embedding;
  for (const auto& [name, sizes] : TensorShapes(net.config_)) {
    const auto weights = ReadWeights(*header, path, name);
    if (!weights) return weights.error();
    if (weights->shape != sizes) {
      return BadInput(fmt::format("head '{}': tensor {} is of another shape", path, name));
    }
    net.weights_[name] = ToTensor(*weights).requires_grad_();
  }
  return net;
}

std::vector<torch::Tensor> HeadNet::Parameters() const {
  std::vector<torch::Tensor> parameters;
  for (const auto& [name, weight] : weights_) parameters.push_back(weight);
  return parameters;
}

const torch::Tensor& HeadNet::Layer(const char* name) const {
  return weights_.at(fmt::format("blk.0.{}.weight", name));
}

torch::Tensor HeadNet::Linear(const char* name, const torch::Tensor& x) const {
  return x.matmul(Layer(name).t());
}

torch::Tensor HeadNet::Fuse(const torch::Tensor& features) const {
  return features.matmul(weights_.at("fc.weight").t());
}

torch::Tensor HeadNet::Inputs(const torch::Tensor& tokens, const torch::Tensor& features) const {
  const double epsilon = config_.shape.norm_epsilon;
  return torch::cat({RmsNorm(embedding_.index_select(0, tokens), Layer("attn_norm"), epsilon),
                     RmsNorm(features, Layer("attn_norm_2"), epsilon)},
                    -1);
}

HeadNet::Memory HeadNet::Remember(const torch::Tensor& inputs, int64_t position) const {
  const AttentionShape& attention = config_.shape.attention;
  const RotaryTable table(attention, torch::arange(position, position + inputs.size(0)));
  return {Rotate(SplitHeads(Linear("attn_k", inputs), attention.kv_heads), table),
          SplitHeads(Linear("attn_v", inputs), attention.kv_heads)};
}

torch::Tensor HeadNet::Finish(const torch::Tensor& features, const torch::Tensor& mixed) const {
  const torch::Tensor middle = features + Linear("attn_output", mixed);
  const torch::Tensor z = RmsNorm(middle, Layer("ffn_norm"), config_.shape.norm_epsilon);
  const torch::Tensor gate = torch::silu(Linear("ffn_gate", z));
  return middle + Linear("ffn_down", gate * Linear("ffn_up", z));
}

std::vector<torch::Tensor> HeadNet::Chains(const Text& text, int steps) const {
  const AttentionShape& attention = config_.shape.attention;
  const int64_t length = text.fused.size(0);
  const int64_t first = text.first_root;
  Check(text.tokens.size(0) >= length && first >= 0 && first < length, "chains without a root");
  const torch::Tensor text_inputs = Inputs(text.tokens.slice(0, 0, length), text.fused);
  const Memory memory = Remember(text_inputs, text.first_position);
  const torch::Tensor mask = CausalMask(length).slice(0, first);
  std::vector<torch::Tensor> states;
  Chain chain;
  torch::Tensor features = text.fused.slice(0, first);
  torch::Tensor inputs = text_inputs.slice(0, first);
  for (int step = 0; step < steps; ++step) {
    const int64_t rows = length - first - step;
    if (rows < 1) break;
    const int64_t position = text.first_position + first + step;
    if (step > 0) {
      features = states.back().slice(0, 0, rows);
      inputs = Inputs(text.tokens.slice(0, first + step, first + step + rows), features);
      const Memory own = Remember(inputs, position);
      chain.keys.push_back(own.keys);
      chain.values.push_back(own.values);
    }
    const RotaryTable table(attention, torch::arange(position, position + rows));
    const torch::Tensor queries =
        Rotate(SplitHeads(Linear("attn_q", inputs), attention.heads), table);
    const torch::Tensor mixed =
        Attend(queries, memory.keys, memory.values, mask.slice(0, 0, rows), chain);
    states.push_back(Finish(features, mixed));
  }
  return states;
}

torch::Tensor HeadNet::Logits(const torch::Tensor& states) const {
  const torch::Tensor normed =
      RmsNorm(states, weights_.at("output_norm.weight"), config_.shape.norm_epsilon);
  return normed.matmul(weights_.at("output.weight").t());
}

Status HeadNet::Save(const std::string& path, const GgufHeader& target, int prompt_rows,
                     HeadStorage storage) const {
  const ModelShape& shape = config_.shape;
  const auto integer = [](int64_t value) { return static_cast<uint32_t>(value); };
  GgufWriter file("eagle3");
  file.SetText("general.type", "model");
  file.SetText("general.name", target.Text("general.name") + " EAGLE-3 head");
  file.SetInteger("eagle3.block_count", 1);
  file.SetInteger("eagle3.context_length", integer(shape.context));
  file.SetInteger("eagle3.embedding_length", integer(shape.width));
  file.SetInteger("eagle3.feed_forward_length", integer(shape.feed_forward));
  file.SetInteger("eagle3.attention.head_count", integer(shape.attention.heads));
  file.SetInteger("eagle3.attention.head_count_kv", integer(shape.attention.kv_heads));
  file.SetInteger("eagle3.attention.key_length", integer(shape.attention.head_size));
  file.SetInteger("eagle3.attention.value_length", integer(shape.attention.head_size));
  file.SetInteger("eagle3.rope.dimension_count", integer(shape.attention.head_size));
  file.SetFraction("eagle3.rope.freq_base", static_cast<float>(shape.attention.rope_base));
  file.SetFraction("eagle3.attention.layer_norm_rms_epsilon",
                   static_cast<float>(shape.norm_epsilon));
  file.SetInteger("eagle3.vocab_size", integer(target.ArraySize("tokenizer.ggml.tokens")));
  file.SetIntegers("eagle3.target_layers",
                   {config_.target_layers.begin(), config_.target_layers.end()});
  file.SetInteger("eagle3.target_hidden_size", integer(shape.width));
  file.SetInteger("schemafill.prompt_rows", integer(prompt_rows));
  file.CopyTokenizer(target);
  for (const auto& [name, weight] : weights_) {
    const Weights values = ToWeights(weight);
    if (weight.dim() == 2 && storage == HeadStorage::kQ8 && weight.size(1) % 32 == 0) {
      file.AddQ8(name, values);
    } else {
      file.AddFloats(name, values, /*half=*/weight.dim() == 2);
    }
  }
  std::vector<int64_t> ids;
  for (const Token token : config_.vocabulary) ids.push_back(Index(token));
  file.AddIntegers("d2t", ids);
  return file.Write(path);
}

}  // namespace schemafill
