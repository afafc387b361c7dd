// The target on libllama.
//
// Companion rows. Some kernels round a product with one row otherwise than one with several (float
// weights: the lone row takes a dot product, several take a tiled multiplication). Then every
// forward has at least `min_rows` rows, and at least as many rows with output, since libllama
// computes the last layer for those alone. The missing ones are companions: rows of a sequence that
// belongs to the port, whose cells come last in the batch and are given back at once. Tested by
// tests/model/llama_model_test.cc.
#pragma once

#include <llama.h>

#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "model/llama/llama_tokenizer.h"
#include "model/llama/row_batch.h"
#include "model/llama/runtime.h"
#include "model/target_model.h"

namespace schemafill {

class LlamaTarget final : public TargetModel {
 public:
  struct Parts {
    LlamaModelPtr model;
    LlamaContextPtr context;  // of the model; n_seq_max is info.max_sequences + 1
    ModelInfo info;
    LogSink log;
  };
  // REQUIRES: info.max_rows >= 2 * info.min_rows; the context has info.min_rows - 1 cells more than
  // info.context_size.
  explicit LlamaTarget(Parts parts);

  const ModelInfo& info() const override { return info_; }
  const Tokenizer& tokenizer() const override { return tokenizer_; }
  void Forward(std::span<const Row> rows) override;
  void Prefill(std::span<const Token> tokens, int first, SequenceId sequence) override;
  std::span<const float> Logits(int row) const override;
  void SetFeatureLayers(std::span<const int> layers) override;
  std::span<const float> Features(int layer, int row) const override;
  void Share(SequenceId from, SequenceId to, int first, int last) override;
  void Drop(SequenceId sequence, int first, int last) override;

  // For the loader, which learns the guarantee by running the model.
  void SetGuarantee(Guarantee guarantee, std::string reason);
  // Takes effect at the next forward. Changes info().context_size and max_rows by what companions
  // take.
  void SetMinRows(int rows);

  // For LoadHead: a head's context shares embeddings with the target's.
  llama_model* model() const { return model_.get(); }
  llama_context* context() const { return context_.get(); }
  const LlamaTokenizer& llama_tokenizer() const { return tokenizer_; }

  // Whether libllama gives out the inputs of this model's layers. It ends the process if asked for
  // others.
  bool has_features() const;

 private:
  void AddCompanions();
  // Runs the batch, whose first `rows` rows are not companions, and adds their features to those
  // kept.
  void Run(int rows);
  // Forgets the last forward.
  void Reset();
  void CheckSequence(SequenceId sequence) const;

  LlamaModelPtr model_;
  LlamaContextPtr context_;
  LlamaTokenizer tokenizer_;
  ModelInfo info_;
  LogSink log_;

  RowBatch batch_;
  int rows_ = 0;                    // of the last Forward or Prefill, without companions
  std::vector<bool> wants_logits_;  // [rows]
  std::vector<int> feature_layers_;
  std::vector<std::vector<float>> features_;  // a vector a layer: [rows, embedding_size]
};

}  // namespace schemafill
