// An EAGLE-3 head on libllama, in a context beside its target's.
//
// libllama computes the head's output for every row of a step and hands out the first ones, as many
// as rows asked for output, whichever those are. So either all rows of a step ask, or none. Tested
// by tests/model/llama_head_test.cc.
#pragma once

#include <llama.h>

#include <vector>

#include "base/log.h"
#include "model/draft_head.h"
#include "model/llama/runtime.h"

namespace schemafill {

class LlamaHead final : public DraftHead {
 public:
  struct Parts {
    LlamaModelPtr model;
    LlamaContextPtr
        context;  // of the model, beside the target's; n_seq_max is info.max_sequences + 1
    HeadInfo info;
    int vocab_size = 0;
    LogSink log;
  };
  explicit LlamaHead(Parts parts);

  const HeadInfo& info() const override { return info_; }
  std::span<const float> Fuse(std::span<const float> features, int rows) override;
  void Step(std::span<const HeadRow> rows) override;
  std::span<const float> Logits(int row) const override;
  std::span<const float> State(int row) const override;
  void Share(SequenceId from, SequenceId to, int first, int last) override;
  void Drop(SequenceId sequence, int first, int last) override;

 private:
  void AddRow(const HeadRow& row, bool output);
  void Process(llama_process_type type);
  void CheckSequence(SequenceId sequence) const;
  void CheckOutput(int row) const;

  LlamaModelPtr model_;
  LlamaContextPtr context_;
  LlamaBatchPtr batch_;
  HeadInfo info_;
  int vocab_size_;
  LogSink log_;
  int output_rows_ = 0;       // of the last step
  std::vector<float> fused_;  // [rows, embedding_size]
};

}  // namespace schemafill
