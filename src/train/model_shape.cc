#include "train/model_shape.h"

#include <fmt/format.h>

#include <algorithm>

namespace schemafill {
namespace {

// The key's value; of a list with one for each layer, the largest.
int64_t LargestSize(const GgufHeader& header, const char* key) {
  int64_t largest = 0;
  for (const int64_t size : header.Sizes(key)) largest = std::max(largest, size);
  return largest;
}

}  // namespace

Result<ModelShape> ReadModelShape(const GgufHeader& model, const std::string& path) {
  ModelShape shape;
  shape.width = model.Size("embedding_length").value_or(0);
  shape.attention.heads = LargestSize(model, "attention.head_count");
  shape.attention.kv_heads = LargestSize(model, "attention.head_count_kv");
  if (shape.attention.kv_heads == 0) shape.attention.kv_heads = shape.attention.heads;
  if (shape.width < 1 || shape.attention.heads < 1) {
    return BadInput(
        fmt::format("'{}' lacks its hidden size or head counts; convert it again", path));
  }
  shape.attention.head_size =
      model.Size("attention.key_length").value_or(shape.width / shape.attention.heads);
  const std::string prefix = model.architecture() + ".";
  shape.attention.rope_base = model.Fraction(prefix + "rope.freq_base").value_or(10000);
  shape.norm_epsilon =
      model.Fraction(prefix + "attention.layer_norm_rms_epsilon").value_or(shape.norm_epsilon);
  shape.feed_forward = LargestSize(model, "feed_forward_length");
  if (shape.feed_forward == 0) shape.feed_forward = 3 * shape.width;  // nothing but experts
  shape.context = model.Size("context_length").value_or(4096);
  return shape;
}

}  // namespace schemafill
