// The drafter's network: an EAGLE-3 head (Li et al., 2025) beside its target. A port like
// TargetModel.
#pragma once

#include <span>
#include <vector>

#include "model/types.h"

namespace schemafill {

struct HeadInfo {
  std::vector<int> target_layers;  // whose inputs are fused, in order
  int target_embedding_size = 0;
  int embedding_size = 0;
  int max_rows = 0;
  int prompt_rows = 0;  // of a prompt the last rows that it was trained to see; 0: all
  int max_sequences = 0;
};

// A row of a head's step: the token, and the feature that stands for everything before it.
struct HeadRow {
  Row row;
  std::span<const float> feature;  // [embedding_size], fused or a parent's state
};

// Not thread-safe: one caller at a time, and none while its target runs. Spans live until the next
// call of the same kind.
class DraftHead {
 public:
  virtual ~DraftHead() = default;

  virtual const HeadInfo& info() const = 0;

  // `features` is [rows, target_layers * target_embedding_size], any number of rows; the result is
  // [rows, embedding_size]. Row i is what stands for tokens 0 .. i when token i + 1 is stepped.
  virtual std::span<const float> Fuse(std::span<const float> features, int rows) = 0;

  // One forward of the head's decoder layer. Visibility as in TargetModel::Forward. Logits and
  // states are there for all rows if any row wants logits, for none otherwise.
  // REQUIRES: 1 <= rows.size() <= info().max_rows, free cells for all of them.
  virtual void Step(std::span<const HeadRow> rows) = 0;

  // [vocab_size of the target]; tokens outside of the draft vocabulary have -infinity.
  virtual std::span<const float> Logits(int row) const = 0;

  // [embedding_size], the feature that the children of this row start from.
  virtual std::span<const float> State(int row) const = 0;

  virtual void Share(SequenceId from, SequenceId to, int first, int last) = 0;
  virtual void Drop(SequenceId sequence, int first, int last) = 0;
};

}  // namespace schemafill
