// A target that fails at one chosen call, for tests of what is left behind.
#pragma once

#include <stdexcept>

#include "model/target_model.h"

namespace schemafill {

// Passes everything on to `model`. The `countdown`-th call from Arm() on that changes cells throws:
// a Prefill with half of its tokens stored, a Share or Drop undone, a Forward stored but
// unanswered.
class FaultyModel final : public TargetModel {
 public:
  explicit FaultyModel(TargetModel& model) : model_(model) {}

  void Arm(int countdown) { countdown_ = countdown; }
  void Disarm() { countdown_ = 0; }

  const ModelInfo& info() const override { return model_.info(); }
  const Tokenizer& tokenizer() const override { return model_.tokenizer(); }
  std::span<const float> Logits(int row) const override { return model_.Logits(row); }
  std::span<const float> Features(int layer, int row) const override {
    return model_.Features(layer, row);
  }
  void SetFeatureLayers(std::span<const int> layers) override { model_.SetFeatureLayers(layers); }

  void Forward(std::span<const Row> rows) override {
    model_.Forward(rows);
    if (Due()) Fail();
  }
  void Prefill(std::span<const Token> tokens, int first, SequenceId sequence) override {
    const bool due = Due();
    model_.Prefill(due ? tokens.first(tokens.size() / 2) : tokens, first, sequence);
    if (due) Fail();
  }
  void Share(SequenceId from, SequenceId to, int first, int last) override {
    if (Due()) Fail();
    model_.Share(from, to, first, last);
  }
  void Drop(SequenceId sequence, int first, int last) override {
    if (Due()) Fail();
    model_.Drop(sequence, first, last);
  }

 private:
  bool Due() { return countdown_ > 0 && --countdown_ == 0; }
  [[noreturn]] static void Fail() { throw std::runtime_error("the model failed, as a test wants"); }

  TargetModel& model_;
  int countdown_ = 0;  // 0: not armed
};

}  // namespace schemafill
