#include "engine/prompt_features.h"

#include <algorithm>

namespace schemafill {

size_t PromptFeatures::row_size() const {
  return layers_.size() * static_cast<size_t>(model_.info().embedding_size);
}

void PromptFeatures::Update(int reused, int length) {
  const int end = first_ + static_cast<int>(rows_.size() / row_size());
  // A gap, or nothing left of the last prompt: what is new begins the row.
  if (reused > end || reused <= first_) {
    rows_.clear();
    first_ = reused;
  } else {
    rows_.resize(static_cast<size_t>(reused - first_) * row_size());
  }
  const int skipped = std::max(0, length - reused - max_rows_);
  if (skipped > 0) {
    rows_.clear();
    first_ = reused + skipped;
  }
  for (int row = skipped; row < length - reused; ++row) Append(row, &rows_);
  const int spare = length - first_ - max_rows_;
  if (spare <= 0) return;
  rows_.erase(rows_.begin(), rows_.begin() + static_cast<std::ptrdiff_t>(spare * row_size()));
  first_ += spare;
}

}  // namespace schemafill
