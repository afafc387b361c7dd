// An EAGLE-3 head (Li et al., 2025) as a differentiable network, by the formula of libllama's
// architecture `eagle3`:
//
//   fused_i = fc [a_i, b_i, c_i]                     a, b, c: inputs of three target layers at row
//   i y       = [attn_norm(embedding), attn_norm_2(feature)] middle  = feature + attn_output
//   attention(y)     queries and keys turned to their positions state   = middle +
//   ffn_down(silu(ffn_gate z) * ffn_up z),  z = ffn_norm(middle) logits  = output
//   output_norm(state)              over the draft vocabulary
//
// Row i pairs the feature that stands for tokens 0 .. i with token i + 1, lies at position i and
// predicts token i + 2. The rows of the known text take fused features; a drafted row takes the
// state of the row before it. The target's token embeddings are borrowed and don't learn.
// Checked against libllama by tests/train/head_net_test.cc.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/llama/gguf_header.h"
#include "model/types.h"
#include "train/llama_net.h"
#include "train/model_shape.h"

namespace schemafill {

// Whose inputs a head fuses.
inline constexpr int kTargetLayers = 3;

// What a head borrows from its target, or starts from.
struct TargetWeights {
  torch::Tensor embedding;    // [vocabulary, width]
  torch::Tensor output;       // [vocabulary, width]; the embedding where the target has no other
  torch::Tensor output_norm;  // [width]
};

// Errors: a model split over several files, tensors that are missing or of another width.
Result<TargetWeights> ReadTargetWeights(const GgufHeader& target, const std::string& path);

// What a head of one target is made of, beside its weights.
struct HeadConfig {
  ModelShape shape;                     // the target's own
  std::vector<int> target_layers = {};  // three, whose inputs are fused
  std::vector<Token> vocabulary = {};   // the draft vocabulary: the target's token of each output
};

enum class HeadStorage {
  kQ8,    // matrices as Q8_0, where rows are a multiple of 32
  kHalf,  // matrices as F16
};

// Not thread-safe.
class HeadNet {
 public:
  // A new head, drawn from `seed`. Output and its norm start as the target's, so that tokens which
  // training never sees are not lost; fusion starts with layer l's share divided by
  // `feature_sizes[l]`, their root mean squares, so that features begin at a size of about 1.
  HeadNet(HeadConfig config, const TargetWeights& target, const std::vector<double>& feature_sizes,
          uint64_t seed);

  // A head that Save wrote. Errors: not a head, damaged, or of another width than `embedding`.
  static Result<HeadNet> Load(const std::string& path, const torch::Tensor& embedding);

  const HeadConfig& config() const { return config_; }
  // What learns, by the tensors' names in the file.
  const std::map<std::string, torch::Tensor>& weights() const { return weights_; }
  std::vector<torch::Tensor> Parameters() const;

  // [rows, 3 * width] of the target's features to [rows, width].
  torch::Tensor Fuse(const torch::Tensor& features) const;

  // Known text and the drafts to try behind it. `fused` [T, width] are rows at the positions
  // first_position and up; tokens[i] is the token beside row i, so there are at least T of them.
  struct Text {
    torch::Tensor fused;
    torch::Tensor tokens;  // int64
    int64_t first_position = 0;
    int64_t first_root = 0;  // drafts begin at the rows first_root .. T - 1
  };

  // EAGLE-3's training-time test: from each root a chain of `steps` rows, on the tokens of the text
  // (a chain only goes on where these are what it drafted). Step 1 is the root itself. Step j's row
  // lies j - 1 positions behind it, takes the state of step j - 1, and sees the text's rows up to
  // the root and its own chain. Of step j the states [T - first_root - (j - 1), width]: a chain
  // ends where the text does. Fewer steps where no chain is left.
  std::vector<torch::Tensor> Chains(const Text& text, int steps) const;

  // [rows, draft vocabulary] of states.
  torch::Tensor Logits(const torch::Tensor& states) const;

  // A GGUF of architecture eagle3 with the tokenizer of `target`, as libllama loads it; matrices as
  // `storage` says, norms as F32. `prompt_rows`: of the prompt the last rows that training showed
  // the head (key "schemafill.prompt_rows"; libllama doesn't read it). Errors: not writable, disk
  // full.
  Status Save(const std::string& path, const GgufHeader& target, int prompt_rows,
              HeadStorage storage) const;

 private:
  explicit HeadNet(HeadConfig config) : config_(std::move(config)) {}

  // Keys and values of rows, [kv_heads, rows, head_size], keys turned to their positions.
  struct Memory {
    torch::Tensor keys, values;
  };

  torch::Tensor Linear(const char* name, const torch::Tensor& x) const;
  const torch::Tensor& Layer(const char* name) const;
  torch::Tensor Inputs(const torch::Tensor& tokens, const torch::Tensor& features) const;
  Memory Remember(const torch::Tensor& inputs, int64_t position) const;
  torch::Tensor Finish(const torch::Tensor& features, const torch::Tensor& mixed) const;

  HeadConfig config_;
  torch::Tensor embedding_;
  std::map<std::string, torch::Tensor> weights_;
};

}  // namespace schemafill
