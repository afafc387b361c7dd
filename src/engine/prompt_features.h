// The target's features of the last prompt's end, kept beside its cells, so that a request which
// reuses these cells has their features too. Tested by tests/engine/eagle3_test.cc.
#pragma once

#include <span>
#include <vector>

#include "model/target_model.h"

namespace schemafill {

// Not thread-safe. The model must outlive it.
class PromptFeatures {
 public:
  // `layers` as in TargetModel::SetFeatureLayers; `max_rows` are kept, the last ones.
  PromptFeatures(TargetModel& model, std::vector<int> layers, int max_rows)
      : model_(model), layers_(std::move(layers)), max_rows_(max_rows) {}

  void SwitchOn() { model_.SetFeatureLayers(layers_); }
  void SwitchOff() { model_.SetFeatureLayers({}); }

  // After a prefill of `length` tokens, of which the first `reused` had their cells already.
  void Update(int reused, int length);

  int first() const { return first_; }  // position of the first row
  std::span<const float> rows() const { return rows_; }

  // Features of row `row` of the last forward, behind one another: [layers * embedding_size].
  void Append(int row, std::vector<float>* out) const { AppendFeatures(model_, layers_, row, out); }

 private:
  size_t row_size() const;

  TargetModel& model_;
  const std::vector<int> layers_;
  const int max_rows_;
  int first_ = 0;
  std::vector<float> rows_;
};

}  // namespace schemafill
