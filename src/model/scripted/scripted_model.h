// A target that answers from a table, for tests: no weights, no clock, exact cells.
//
// It keeps cells as libllama's unified cache does: a fixed number of them, the first free one for
// each row in the order of the rows, labels per cell, sharing without a copy, a cell without labels
// is free. A row's history is what it may see: the cells that carry its first sequence at positions
// up to its own, its own cell and those of its forward included, in the order in which they lie.
//
// A cell remembers the history that it was computed from, as real K and V do. So a wrong mask, a
// missed rollback, a filled hole or a label on a stranger's cell gives other logits than plain
// decoding would, at once or in a later row, and a test that compares answers notices.
// `violation()` says what went wrong first.
// Tested by tests/model/scripted_model_test.cc.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "model/scripted/labelled_cell.h"
#include "model/target_model.h"

namespace schemafill {

// A byte-level vocabulary: all 256 bytes, then `words` (longest match wins), then control tokens
// <|start|>, <|end|>, <|eos|>. The chat template is "<|start|>role\ncontent<|end|>\n" for each
// turn, then "<|start|>assistant\n".
class ScriptedTokenizer final : public Tokenizer {
 public:
  explicit ScriptedTokenizer(std::vector<std::string> words);

  std::vector<Token> Encode(std::string_view text) const override;
  std::vector<Token> EncodePrompt(std::string_view text) const override;
  std::string_view Piece(Token token) const override;
  bool IsEnd(Token token) const override;  // <|end|> and <|eos|>
  int vocab_size() const override;
  std::string ApplyChatTemplate(const std::vector<ChatTurn>& turns) const override;

  Token end_token() const;  // <|end|>, which closes an answer

  // Tokens that an answer off the script is made of: the words (lower-case letters where there are
  // none) and <|end|>.
  const std::vector<Token>& plausible() const { return plausible_; }

 private:
  std::vector<std::string> pieces_;  // by token id; empty for control tokens
  std::vector<Token> plausible_;
};

struct ScriptedOptions {
  int context_size = 4096;  // cells
  int max_rows = 512;
  int max_sequences = 64;  // at most 256, as in libllama
  uint64_t seed = 1;       // of the answers to histories that no script covers
  int layers = 4;          // that features can be asked of
  int embedding_size = 8;
  Guarantee guarantee = Guarantee::kBitExact;  // what info() claims; the model itself is exact
};

class ScriptedModel final : public TargetModel {
 public:
  ScriptedModel(std::shared_ptr<const ScriptedTokenizer> tokenizer, const ScriptedOptions& options);

  // From now on the answer to `prompt` is `answer`, then the end token; the longest prompt that
  // fits the history counts. Off the script the model answers with a token chosen by a hash of the
  // whole history, so it is a function of the history as a real one is.
  void Script(const std::vector<Token>& prompt, const std::vector<Token>& answer);

  const ModelInfo& info() const override;
  const Tokenizer& tokenizer() const override;
  // A broken rule of rows shows in violation() and in the logits; a forward that can't be stored at
  // all (more rows than free cells or than max_rows, an unknown sequence) fails a check as well and
  // stores nothing.
  void Forward(std::span<const Row> rows) override;
  void Prefill(std::span<const Token> tokens, int first, SequenceId sequence) override;
  // The largest is 10, at the chosen token; the others are hash-made noise in [0, 6).
  std::span<const float> Logits(int row) const override;
  void SetFeatureLayers(std::span<const int> layers) override;
  std::span<const float> Features(int layer, int row) const override;
  void Share(SequenceId from, SequenceId to, int first, int last) override;
  void Drop(SequenceId sequence, int first, int last) override;

  int forwards() const;    // calls of Forward so far
  int cells_used() const;  // cells with a label
  // Empty, or the first broken rule: cells visible to one row out of position order, a gap or a
  // repeated position, a cell that was computed from another history, a row that doesn't continue
  // its sequences, coupled sequences with different ends, a forward that can't be stored.
  const std::string& violation() const;

  // The cells in order, up to the last used one: "piece@position{labels}", "." for a free one.
  std::string DumpCells() const;

 private:
  using Cell = LabelledCell;
  using History = std::vector<const Cell*>;  // visible cells, in the order in which they lie

  struct Output {
    std::vector<float> logits;                   // [vocab_size], empty where not wanted
    std::map<int, std::vector<float>> features;  // by layer, [embedding_size]
  };

  // Where a row was stored, and whether it continued its sequences.
  struct Stored {
    int cell = 0;
    bool continues = true;
  };

  void Violate(std::string what);
  bool Known(SequenceId sequence) const;
  void CheckFits(std::span<const Row> rows);
  std::vector<Stored> Store(std::span<const Row> rows);
  bool Continues(const Row& row);
  int End(SequenceId sequence) const;
  int FreeCell();
  History Visible(int cell, SequenceId sequence) const;
  std::string Fault(const History& history) const;
  uint64_t Compute(const History& history, bool continues);
  uint64_t PlainHash(const History& history) const;
  Output MakeOutput(const History& history, bool wants_logits) const;
  Token Next(const History& history) const;
  const Token* ScriptedNext(const History& history) const;

  std::shared_ptr<const ScriptedTokenizer> tokenizer_;
  ScriptedOptions options_;
  ModelInfo info_;
  // Prompt to answer, the end token included.
  std::map<std::vector<Token>, std::vector<Token>> scripts_;
  std::vector<Cell> cells_;      // up to the last one ever used
  std::vector<Output> outputs_;  // of the last forward
  std::vector<int> feature_layers_;
  int forwards_ = 0;
  std::string violation_;
};

}  // namespace schemafill
