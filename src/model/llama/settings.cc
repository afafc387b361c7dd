#include "model/llama/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

#include "base/utf8.h"

namespace schemafill {
namespace {

bool IsFloat(ggml_type type) {
  return type == GGML_TYPE_F32 || type == GGML_TYPE_F16 || type == GGML_TYPE_BF16;
}

// Types whose products are the same for one row and for several, repacked or not.
bool IsRowInvariant(ggml_type type) {
  return type == GGML_TYPE_Q8_0 || type == GGML_TYPE_Q4_0 || type == GGML_TYPE_Q4_1 ||
         type == GGML_TYPE_Q5_0 || type == GGML_TYPE_Q5_1;
}

// Whether rows are multiplied with the tensor. The embedding table is only looked up where there is
// an output matrix.
bool IsMultiplied(const GgufHeader& header, const GgufTensor& tensor) {
  if (tensor.shape[1] <= 1) return false;
  return tensor.name != "token_embd.weight" || header.FindTensor("output.weight") == nullptr;
}

// The value of the key for a layer: keys hold one number for all layers, or an array.
int64_t OfLayer(const std::vector<int64_t>& values, size_t layer, int64_t otherwise) {
  if (values.empty()) return otherwise;
  return values[std::min(layer, values.size() - 1)];
}

struct LayerShape {
  int64_t kv_heads = 0;
  int64_t key_length = 0;
  int64_t value_length = 0;
};

LayerShape ShapeOfLayer(const GgufHeader& header, size_t layer) {
  const int64_t heads = OfLayer(header.Sizes("attention.head_count"), layer, 1);
  const int64_t length = header.Size("embedding_length").value_or(0) / std::max<int64_t>(heads, 1);
  return {.kv_heads = OfLayer(header.Sizes("attention.head_count_kv"), layer, heads),
          .key_length = header.Size("attention.key_length").value_or(length),
          .value_length = header.Size("attention.value_length").value_or(length)};
}

Status Refuse(const std::string& path, std::string_view why, std::string_view remedy) {
  return Unavailable(fmt::format("'{}' {}; {}", path, why, remedy));
}

// The first of the keys of sizes whose value is missing or out of range, without the architecture;
// empty if all are fine.
std::string UnusableSize(const GgufHeader& header) {
  const int64_t layers = header.Size("block_count").value_or(0);
  if (layers < 1 || layers > 512) return "block_count";
  const int64_t embedding = header.Size("embedding_length").value_or(0);
  if (embedding < 1 || embedding > (1 << 20)) return "embedding_length";
  const std::vector<int64_t> heads = header.Sizes("attention.head_count");
  if (heads.empty() ||
      std::any_of(heads.begin(), heads.end(), [](int64_t n) { return n < 0 || n > 4096; })) {
    return "attention.head_count";
  }
  const int64_t experts = header.Size("expert_count").value_or(0);
  if (experts < 0 || header.Size("expert_used_count").value_or(0) > experts)
    return "expert_used_count";
  const LayerShape shape = ShapeOfLayer(header, 0);
  if (shape.key_length < 1 || shape.key_length > 4096) return "attention.key_length";
  if (header.Size("rope.dimension_count").value_or(1) > shape.key_length)
    return "rope.dimension_count";
  return "";
}

}  // namespace

TargetSettings ChooseSettings(const GgufHeader& header, bool accelerated) {
  TargetSettings settings;
  if (accelerated) {
    settings.cache_types = {{GGML_TYPE_F16, GGML_TYPE_F16}};
    return settings;
  }
  for (const GgufTensor& tensor : header.tensors()) {
    if (!IsMultiplied(header, tensor)) continue;
    if (IsFloat(tensor.type)) {
      settings.min_rows = 2;
    } else if (!IsRowInvariant(tensor.type)) {
      settings.repack = false;
    }
  }
  const LayerShape shape = ShapeOfLayer(header, 0);
  // A Q8_0 cache turns each key by a float matrix; with a single head that is one more product with
  // a lone row.
  if (shape.kv_heads == 1) settings.min_rows = 2;
  const bool fits_q8 = shape.key_length % ggml_blck_size(GGML_TYPE_Q8_0) == 0;
  if (fits_q8) settings.cache_types.push_back({GGML_TYPE_Q8_0, GGML_TYPE_F16});
  // For models that want one type for both (MLA), and for head sizes that Q8_0 blocks don't divide.
  if (fits_q8) settings.cache_types.push_back({GGML_TYPE_Q8_0, GGML_TYPE_Q8_0});
  settings.cache_types.push_back({GGML_TYPE_BF16, GGML_TYPE_F16});
  settings.cache_types.push_back({GGML_TYPE_BF16, GGML_TYPE_BF16});
  settings.cache_types.push_back({GGML_TYPE_F16, GGML_TYPE_F16});
  return settings;
}

Status CheckArchitecture(const GgufHeader& header, const std::string& path) {
  const std::string type = header.Text("general.type");
  if (type == "adapter") {
    return BadInput(
        fmt::format("'{}' is a LoRA adapter, not a model; merge it into its base model first "
                    "(llama-export-lora)",
                    path));
  }
  if (!type.empty() && type != "model") {
    return BadInput(
        fmt::format("'{}' is of type '{}', not a model; give a language model", path, type));
  }
  const std::string architecture = header.architecture();
  if (architecture.empty()) {
    return BadInput(fmt::format(
        "'{}' names no architecture (general.architecture); convert the model again", path));
  }
  if (architecture == "eagle3") {
    return BadInput(fmt::format(
        "'{}' is an EAGLE-3 head, not a model; give it with --head, beside its target", path));
  }
  if (header.Size("ssm.state_size") || header.Size("wkv.head_size") ||
      header.Size("shortconv.l_cache")) {
    return Refuse(
        path,
        fmt::format(
            "has a recurrent memory (architecture '{}'), which can't take a rejected draft back",
            architecture),
        "use a model with attention in every layer");
  }
  if (header.Flag(architecture + ".attention.causal") == false) {
    return Refuse(
        path, fmt::format("is an encoder (architecture '{}'), which writes no text", architecture),
        "use a model that generates");
  }
  if (header.ArraySize("tokenizer.ggml.tokens") == 0) {
    return BadInput(fmt::format(
        "'{}' has no vocabulary (tokenizer.ggml.tokens); convert the model again", path));
  }
  return CheckValues(header, path);
}

Status CheckValues(const GgufHeader& header, const std::string& path) {
  const std::string prefix = header.architecture() + ".";
  if (const std::string key = UnusableSize(header); !key.empty()) {
    return BadInput(fmt::format("'{}' has no usable {}{} in its header; convert the model again",
                                path, prefix, key));
  }
  for (const std::string key :
       {"attention.layer_norm_rms_epsilon", "attention.layer_norm_epsilon"}) {
    const std::optional<double> epsilon = header.Fraction(prefix + key);
    if (!epsilon || *epsilon >= 0) continue;
    return BadInput(fmt::format("'{}' has no usable {}{} in its header; convert the model again",
                                path, prefix, key));
  }
  std::unordered_set<std::string_view> seen;
  for (const std::string_view token : header.Texts("tokenizer.ggml.tokens")) {
    if (token.empty() || seen.insert(token).second) continue;
    return BadInput(
        fmt::format("'{}' has the token '{}' twice in its vocabulary; convert the model again",
                    path, ReplaceInvalidUtf8(token)));
  }
  return {};
}

size_t CellBytes(const GgufHeader& header, const CacheTypes& types) {
  size_t bytes = 0;
  const auto layers = static_cast<size_t>(header.Size("block_count").value_or(0));
  for (size_t layer = 0; layer < layers; ++layer) {
    const LayerShape shape = ShapeOfLayer(header, layer);
    bytes += ggml_row_size(types.k, shape.kv_heads * shape.key_length);
    bytes += ggml_row_size(types.v, shape.kv_heads * shape.value_length);
  }
  return bytes;
}

}  // namespace schemafill
