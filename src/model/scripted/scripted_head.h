// A head without weights, for tests: what it says of a row is a hash of the row's whole history,
// tokens and features, so a wrong feature, a missed rollback or a strange cell gives another tree.
// Tested by tests/draft/head_drafter_test.cc.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/draft_head.h"
#include "model/scripted/labelled_cell.h"

namespace schemafill {

struct ScriptedHeadOptions {
  std::vector<int> target_layers = {0, 1, 2};
  int target_embedding_size = 8;
  int vocab_size = 0;
  int max_rows = 64;
  int max_sequences = 64;
  // The token that the head is nearly sure of behind these ones; empty, or a token out of the
  // vocabulary: whatever the hash says.
  std::function<Token(std::span<const Token> tokens)> guess = {};
};

class ScriptedHead final : public DraftHead {
 public:
  explicit ScriptedHead(ScriptedHeadOptions options);

  const HeadInfo& info() const override { return info_; }
  std::span<const float> Fuse(std::span<const float> features, int rows) override;
  void Step(std::span<const HeadRow> rows) override;
  std::span<const float> Logits(int row) const override;
  std::span<const float> State(int row) const override;
  void Share(SequenceId from, SequenceId to, int first, int last) override;
  void Drop(SequenceId sequence, int first, int last) override;

  int cells_used() const;

 private:
  using Cell = LabelledCell;
  struct Output {
    std::vector<float> logits;
    std::vector<float> state;
  };

  Output MakeOutput(uint64_t state, std::span<const Token> tokens) const;

  const ScriptedHeadOptions options_;
  HeadInfo info_;
  std::vector<Cell> cells_;
  std::vector<Output> outputs_;  // of the last step; empty if no row wanted logits
  std::vector<float> fused_;
};

}  // namespace schemafill
