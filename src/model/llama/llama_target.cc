#include "model/llama/llama_target.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "model/llama/llama_internal.h"

namespace schemafill {
namespace {

// Architectures whose graphs give out their layers' inputs in the libllama that we build (it can't
// be asked).
constexpr std::array<std::string_view, 5> kArchitecturesWithFeatures = {
    "llama", "qwen3", "qwen3moe", "minimax-m2", "nanbeige"};

}  // namespace

LlamaTarget::LlamaTarget(Parts parts)
    : model_(std::move(parts.model)),
      context_(std::move(parts.context)),
      tokenizer_(*model_),
      info_(std::move(parts.info)),
      log_(std::move(parts.log)) {}

void LlamaTarget::SetGuarantee(Guarantee guarantee, std::string reason) {
  info_.guarantee = guarantee;
  info_.guarantee_reason = std::move(reason);
}

void LlamaTarget::SetMinRows(int rows) {
  info_.context_size += info_.min_rows - rows;
  info_.max_rows += info_.min_rows - rows;
  info_.min_rows = rows;
}

void LlamaTarget::Forward(std::span<const Row> rows) {
  Check(!rows.empty() && static_cast<int>(rows.size()) <= info_.max_rows,
        "Forward: too many or too few rows");
  Reset();
  std::vector<llama_seq_id> sequences;
  for (const Row& row : rows) {
    Check(!row.sequences.empty(), "Forward: a row without a sequence");
    Check(Index(row.token) >= 0 && Index(row.token) < info_.vocab_size,
          "Forward: a token outside of the vocabulary");
    sequences.clear();
    for (const SequenceId sequence : row.sequences) {
      CheckSequence(sequence);
      sequences.push_back(Index(sequence));
    }
    batch_.Add(Index(row.token), row.position, sequences, row.wants_logits);
    wants_logits_.push_back(row.wants_logits);
  }
  AddCompanions();
  Run(static_cast<int>(rows.size()));
}

void LlamaTarget::Reset() {
  batch_.Clear();
  rows_ = 0;
  wants_logits_.clear();
  for (std::vector<float>& layer : features_) layer.clear();
}

void LlamaTarget::Prefill(std::span<const Token> tokens, int first, SequenceId sequence) {
  CheckSequence(sequence);
  Reset();
  const int count = static_cast<int>(tokens.size());
  const llama_seq_id id = Index(sequence);
  for (int start = 0; start < count;) {
    int end = std::min(count, start + info_.max_rows);
    // No border that leaves fewer than min_rows for the last forward.
    if (end < count && count - end < info_.min_rows) end = count - info_.min_rows;
    batch_.Clear();
    for (int i = start; i < end; ++i) {
      batch_.Add(Index(tokens[i]), first + i, {&id, 1}, /*output=*/false);
      wants_logits_.push_back(false);
    }
    AddCompanions();
    Run(end - start);
    start = end;
  }
}

void LlamaTarget::AddCompanions() {
  const llama_seq_id companion = info_.max_sequences;
  for (int i = 0; batch_.rows() < info_.min_rows; ++i) {
    batch_.Add(/*token=*/0, /*position=*/i, {&companion, 1}, /*output=*/false);
  }
  int outputs = batch_.outputs();
  if (outputs == 0) return;
  for (int row = batch_.rows() - 1; outputs < info_.min_rows; --row) {
    if (batch_.output(row)) continue;
    batch_.SetOutput(row);
    ++outputs;
  }
}

void LlamaTarget::Run(int rows) {
  const LogScope log(log_);
  const int code = llama_decode(context_.get(), batch_.View());
  if (batch_.rows() > rows) {
    llama_memory_seq_rm(llama_get_memory(context_.get()), info_.max_sequences, 0, -1);
  }
  Check(code != 1, "a forward without free cells for its rows");
  if (code != 0) {
    Check(false,
          fmt::format("llama_decode of {} rows failed with code {}: {}", rows, code, log.error()));
  }
  rows_ += rows;
  for (size_t i = 0; i < feature_layers_.size(); ++i) {
    const float* features = llama_get_embeddings_layer_inp(context_.get(), feature_layers_[i]);
    features_[i].insert(features_[i].end(), features,
                        features + static_cast<size_t>(rows) * info_.embedding_size);
  }
}

std::span<const float> LlamaTarget::Logits(int row) const {
  Check(row >= 0 && row < rows_ && wants_logits_[row], "Logits of a row that didn't ask for them");
  const float* logits = llama_get_logits_ith(context_.get(), row);
  Check(logits != nullptr, "llama_get_logits_ith gave nothing");
  return {logits, static_cast<size_t>(info_.vocab_size)};
}

bool LlamaTarget::has_features() const {
  return std::find(kArchitecturesWithFeatures.begin(), kArchitecturesWithFeatures.end(),
                   info_.architecture) != kArchitecturesWithFeatures.end();
}

void LlamaTarget::SetFeatureLayers(std::span<const int> layers) {
  if (std::equal(layers.begin(), layers.end(), feature_layers_.begin(), feature_layers_.end())) {
    return;
  }
  Check(layers.empty() || has_features(), "features of an architecture that gives none out");
  for (const int layer : layers) {
    Check(layer >= 0 && layer < info_.layers, "features of a layer that isn't there");
  }
  for (const int layer : feature_layers_) {
    llama_set_embeddings_layer_inp(context_.get(), layer, false);
  }
  for (const int layer : layers) llama_set_embeddings_layer_inp(context_.get(), layer, true);
  feature_layers_.assign(layers.begin(), layers.end());
  features_.assign(layers.size(), {});
}

std::span<const float> LlamaTarget::Features(int layer, int row) const {
  const auto found = std::find(feature_layers_.begin(), feature_layers_.end(), layer);
  Check(found != feature_layers_.end(), "Features of a layer that SetFeatureLayers didn't name");
  const std::vector<float>& kept = features_[found - feature_layers_.begin()];
  const size_t size = info_.embedding_size;
  Check(row >= 0 && row < rows_ && (row + 1) * size <= kept.size(),
        "Features of a row that wasn't there");
  return {kept.data() + row * size, size};
}

void LlamaTarget::CheckSequence(SequenceId sequence) const {
  Check(Index(sequence) >= 0 && Index(sequence) < info_.max_sequences,
        "a sequence id out of range");
}

void LlamaTarget::Share(SequenceId from, SequenceId to, int first, int last) {
  CheckSequence(from);
  CheckSequence(to);
  Check(first >= 0, "Share: a negative position");
  llama_memory_seq_cp(llama_get_memory(context_.get()), Index(from), Index(to), first, last);
}

void LlamaTarget::Drop(SequenceId sequence, int first, int last) {
  CheckSequence(sequence);
  Check(first >= 0, "Drop: a negative position");
  Check(llama_memory_seq_rm(llama_get_memory(context_.get()), Index(sequence), first, last),
        "libllama could not take cells back");
}

}  // namespace schemafill
