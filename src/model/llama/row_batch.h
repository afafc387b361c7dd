// Rows as llama_decode takes them.
#pragma once

#include <llama.h>

#include <span>
#include <vector>

namespace schemafill {

class RowBatch {
 public:
  void Clear() { *this = RowBatch(); }

  void Add(llama_token token, int position, std::span<const llama_seq_id> sequences, bool output) {
    tokens_.push_back(token);
    positions_.push_back(position);
    sequence_starts_.push_back(sequences_.size());
    sequence_counts_.push_back(static_cast<int32_t>(sequences.size()));
    sequences_.insert(sequences_.end(), sequences.begin(), sequences.end());
    outputs_.push_back(output ? 1 : 0);
  }

  int rows() const { return static_cast<int>(tokens_.size()); }
  bool output(int row) const { return outputs_[row] != 0; }
  void SetOutput(int row) { outputs_[row] = 1; }
  int outputs() const {
    int count = 0;
    for (const int8_t output : outputs_) count += output;
    return count;
  }

  // Holds until the next change.
  llama_batch View() {
    sequence_pointers_.clear();
    for (const size_t start : sequence_starts_)
      sequence_pointers_.push_back(sequences_.data() + start);
    return {.n_tokens = rows(),
            .token = tokens_.data(),
            .embd = nullptr,
            .pos = positions_.data(),
            .n_seq_id = sequence_counts_.data(),
            .seq_id = sequence_pointers_.data(),
            .logits = outputs_.data()};
  }

 private:
  std::vector<llama_token> tokens_;
  std::vector<llama_pos> positions_;
  std::vector<size_t> sequence_starts_;
  std::vector<int32_t> sequence_counts_;
  std::vector<llama_seq_id> sequences_;
  std::vector<llama_seq_id*> sequence_pointers_;
  std::vector<int8_t> outputs_;
};

}  // namespace schemafill
