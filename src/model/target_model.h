// The target: the model whose answer counts. A port: one implementation runs on libllama
// (model/llama), one answers from a table (model/scripted).
//
// Exactness. An implementation that reports Guarantee::kBitExact gives, for every row, the same
// bits of logits whatever else is in the forward, as long as the cells that the row attends to lie
// in position order. kv::Arena keeps them in that order; everything else that equality needs (cache
// types, attention kernel, companion rows, prefill borders) is the implementation's own business
// and can't be set from outside.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/tokenizer.h"
#include "model/types.h"

namespace schemafill {

enum class Guarantee {
  kBitExact,  // shown by the self-test at load: rows don't depend on what else is in the forward
  kMeasured,  // not so on this backend or with these weights; agreement is what `verify` measures
};

struct ModelInfo {
  std::string name;          // the file's general.name
  std::string architecture;  // "llama", "qwen2", ...
  std::string weights;       // "Q8_0", ...
  std::string device;        // "CPU", ...
  int vocab_size = 0;
  int embedding_size = 0;
  int layers = 0;
  int context_size = 0;   // cells
  int max_rows = 0;       // rows in one forward
  int min_rows = 1;       // a forward of fewer costs as much as one of so many
  int threads = 0;        // of the CPU
  int max_sequences = 0;  // sequence ids 0 .. max_sequences - 1
  size_t cell_bytes = 0;  // K and V of one cell over all layers
  Guarantee guarantee = Guarantee::kMeasured;
  std::string guarantee_reason;  // one line: why this guarantee
};

// Not thread-safe: one caller at a time. The spans that it returns live until the next forward.
class TargetModel {
 public:
  virtual ~TargetModel() = default;

  virtual const ModelInfo& info() const = 0;
  virtual const Tokenizer& tokenizer() const = 0;

  // Runs the rows in one forward and stores a cell for each, in the order of the rows. Rows of one
  // sequence come in position order and continue what the sequence holds. REQUIRES: 1 <=
  // rows.size() <= info().max_rows, free cells for all of them.
  virtual void Forward(std::span<const Row> rows) = 0;

  // Stores the cells of a prompt prefix at positions `first` and up in `sequence`, in as many
  // forwards as it takes, without logits. The cells don't depend on how the prompt is cut. Features
  // afterwards: a row for every token. REQUIRES: free cells for all of them.
  virtual void Prefill(std::span<const Token> tokens, int first, SequenceId sequence) = 0;

  // [vocab_size] of row `row` of the last forward. REQUIRES: the row wanted logits.
  virtual std::span<const float> Logits(int row) const = 0;

  // Asks for the inputs of these layers as features of every row of later forwards. Empty: none.
  virtual void SetFeatureLayers(std::span<const int> layers) = 0;

  // [embedding_size], the input of layer `layer` for row `row` of the last Forward, or token `row`
  // of the last Prefill. REQUIRES: SetFeatureLayers named the layer before it.
  virtual std::span<const float> Features(int layer, int row) const = 0;

  // Adds label `to` to the cells that carry `from` at positions first <= p < last (last < 0: to the
  // end). No copy.
  virtual void Share(SequenceId from, SequenceId to, int first, int last) = 0;

  // Takes label `sequence` off its cells at positions first <= p < last (last < 0: to the end). A
  // cell without labels is free, and the next forward may fill it.
  virtual void Drop(SequenceId sequence, int first, int last) = 0;
};

// Appends the features of a row at these layers, one layer behind the other.
inline void AppendFeatures(const TargetModel& model, std::span<const int> layers, int row,
                           std::vector<float>* features) {
  for (const int layer : layers) {
    const std::span<const float> one = model.Features(layer, row);
    features->insert(features->end(), one.begin(), one.end());
  }
}

}  // namespace schemafill
