#include "model/llama/llama_head.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "model/llama/llama_internal.h"

namespace schemafill {

LlamaHead::LlamaHead(Parts parts)
    : model_(std::move(parts.model)),
      context_(std::move(parts.context)),
      batch_(llama_batch_ext_init(context_.get())),
      info_(std::move(parts.info)),
      vocab_size_(parts.vocab_size),
      log_(std::move(parts.log)) {
  llama_set_embeddings_nextn(context_.get(), /*enable=*/true, /*masked=*/true);
}

std::span<const float> LlamaHead::Fuse(std::span<const float> features, int rows) {
  const size_t width = info_.target_layers.size() * info_.target_embedding_size;
  Check(rows >= 0 && features.size() == rows * width, "Fuse: features of another size");
  fused_.clear();
  for (int start = 0; start < rows; start += info_.max_rows) {
    const int count = std::min(info_.max_rows, rows - start);
    llama_batch_ext_clear(batch_.get());
    for (int i = 0; i < count; ++i) {
      // Fusion has no positions, but a batch must have some, and in order: those of a sequence
      // without cells.
      const int id = llama_batch_ext_add_embd(batch_.get(), info_.max_sequences,
                                              {features.data() + (start + i) * width, 1, width});
      Check(id == i, "libllama refused a row of features");
      llama_batch_ext_set_pos(batch_.get(), id, &i);
      llama_batch_ext_set_output_embd(batch_.get(), id, true);
    }
    Process(LLAMA_PROCESS_TYPE_ENCODE);
    const float* fused = llama_get_embeddings_nextn(context_.get());
    fused_.insert(fused_.end(), fused, fused + static_cast<size_t>(count) * info_.embedding_size);
  }
  output_rows_ = 0;
  return fused_;
}

void LlamaHead::Step(std::span<const HeadRow> rows) {
  Check(!rows.empty() && static_cast<int>(rows.size()) <= info_.max_rows,
        "Step: too many or too few rows");
  const bool output = std::any_of(rows.begin(), rows.end(),
                                  [](const HeadRow& row) { return row.row.wants_logits; });
  llama_batch_ext_clear(batch_.get());
  for (const HeadRow& row : rows) AddRow(row, output);
  Process(LLAMA_PROCESS_TYPE_DECODE);
  output_rows_ = output ? static_cast<int>(rows.size()) : 0;
}

void LlamaHead::AddRow(const HeadRow& row, bool output) {
  const size_t width = info_.embedding_size;
  Check(row.feature.size() == width, "Step: a feature of another size");
  Check(!row.row.sequences.empty(), "Step: a row without a sequence");
  for (const SequenceId sequence : row.row.sequences) CheckSequence(sequence);
  const int id =
      llama_batch_ext_add_token(batch_.get(), Index(row.row.sequences[0]), Index(row.row.token));
  Check(id >= 0, "libllama refused a row");
  for (const SequenceId sequence : row.row.sequences)
    llama_batch_ext_add_seq(batch_.get(), id, Index(sequence));
  const llama_pos position = row.row.position;
  llama_batch_ext_set_embd_token(batch_.get(), id, {row.feature.data(), 1, width});
  llama_batch_ext_set_pos(batch_.get(), id, &position);
  llama_batch_ext_set_output_logits(batch_.get(), id, output);
}

void LlamaHead::Process(llama_process_type type) {
  const LogScope log(log_);
  const int code = llama_process(context_.get(), type, batch_.get());
  Check(code != 1, "a step without free cells for its rows");
  if (code != 0)
    Check(false, fmt::format("llama_process failed with code {}: {}", code, log.error()));
}

void LlamaHead::CheckOutput(int row) const {
  Check(row >= 0 && row < output_rows_, "output of a row that the last step doesn't have");
}

std::span<const float> LlamaHead::Logits(int row) const {
  CheckOutput(row);
  const float* logits = llama_get_logits_ith(context_.get(), row);
  Check(logits != nullptr, "llama_get_logits_ith gave nothing");
  return {logits, static_cast<size_t>(vocab_size_)};
}

std::span<const float> LlamaHead::State(int row) const {
  CheckOutput(row);
  const float* state = llama_get_embeddings_nextn_ith(context_.get(), row);
  Check(state != nullptr, "llama_get_embeddings_nextn_ith gave nothing");
  return {state, static_cast<size_t>(info_.embedding_size)};
}

void LlamaHead::CheckSequence(SequenceId sequence) const {
  Check(Index(sequence) >= 0 && Index(sequence) < info_.max_sequences,
        "a sequence id out of range");
}

void LlamaHead::Share(SequenceId from, SequenceId to, int first, int last) {
  CheckSequence(from);
  CheckSequence(to);
  Check(first >= 0, "Share: a negative position");
  llama_memory_seq_cp(llama_get_memory(context_.get()), Index(from), Index(to), first, last);
}

void LlamaHead::Drop(SequenceId sequence, int first, int last) {
  CheckSequence(sequence);
  Check(first >= 0, "Drop: a negative position");
  Check(llama_memory_seq_rm(llama_get_memory(context_.get()), Index(sequence), first, last),
        "libllama could not take cells back");
}

}  // namespace schemafill
