#include "model/scripted/scripted_head.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "base/check.h"
#include "base/random.h"

namespace schemafill {
namespace {

constexpr int kWidth = 4;
constexpr float kSure = 12;  // logit of the guess; the others are below 4

uint64_t Mix(uint64_t hash, std::span<const float> numbers) {
  for (const float number : numbers) hash = MixBits(hash ^ std::bit_cast<uint32_t>(number));
  return hash;
}

std::vector<float> Noise(uint64_t seed, int count) {
  std::vector<float> numbers;
  for (int i = 0; i < count; ++i) {
    numbers.push_back(
        static_cast<float>(Coin({.seed = seed, .position = static_cast<uint64_t>(i)})));
  }
  return numbers;
}

}  // namespace

ScriptedHead::ScriptedHead(ScriptedHeadOptions options) : options_(std::move(options)) {
  info_.target_layers = options_.target_layers;
  info_.target_embedding_size = options_.target_embedding_size;
  info_.embedding_size = kWidth;
  info_.max_rows = options_.max_rows;
  info_.max_sequences = options_.max_sequences;
}

std::span<const float> ScriptedHead::Fuse(std::span<const float> features, int rows) {
  const size_t size = info_.target_layers.size() * static_cast<size_t>(info_.target_embedding_size);
  Check(features.size() == static_cast<size_t>(rows) * size, "Fuse: features of another size");
  fused_.clear();
  for (int row = 0; row < rows; ++row) {
    const uint64_t hash = Mix(1, features.subspan(static_cast<size_t>(row) * size, size));
    const std::vector<float> fused = Noise(hash, kWidth);
    fused_.insert(fused_.end(), fused.begin(), fused.end());
  }
  return fused_;
}

void ScriptedHead::Step(std::span<const HeadRow> rows) {
  Check(!rows.empty() && std::ssize(rows) <= info_.max_rows, "Step: too many or too few rows");
  const bool output =
      std::ranges::any_of(rows, [](const HeadRow& row) { return row.row.wants_logits; });
  std::vector<Output> outputs;
  for (const HeadRow& row : rows) {
    Check(row.feature.size() == kWidth, "Step: a feature of another size");
    const SequenceId sequence = row.row.sequences.at(0);
    std::vector<const Cell*> visible;
    for (const Cell& cell : cells_) {
      if (cell.has(sequence)) visible.push_back(&cell);
    }
    std::ranges::sort(visible, {}, &Cell::position);
    std::vector<Token> tokens;
    uint64_t state = 7;
    for (const Cell* cell : visible) {
      Check(cell->position == static_cast<int>(tokens.size()), "a sequence with a gap");
      tokens.push_back(cell->token);
      state = MixBits(state ^ cell->state);
    }
    Check(row.row.position == static_cast<int>(tokens.size()), "a row that doesn't continue");
    tokens.push_back(row.row.token);
    Cell cell{.token = row.row.token, .position = row.row.position, .state = 0, .labels = {}};
    cell.state = Mix(MixBits(state ^ static_cast<uint64_t>(Index(row.row.token))), row.feature);
    for (const SequenceId id : row.row.sequences) cell.Add(id);
    if (output) outputs.push_back(MakeOutput(cell.state, tokens));
    cells_.push_back(cell);
  }
  outputs_ = std::move(outputs);
}

ScriptedHead::Output ScriptedHead::MakeOutput(uint64_t state, std::span<const Token> tokens) const {
  Output output{.logits = Noise(state, options_.vocab_size), .state = Noise(~state, kWidth)};
  for (float& logit : output.logits) logit *= 4;
  // Every third token is out of the draft vocabulary.
  for (size_t i = 2; i < output.logits.size(); i += 3) {
    output.logits[i] = -std::numeric_limits<float>::infinity();
  }
  if (!options_.guess) return output;
  const int guess = Index(options_.guess(tokens));
  if (guess >= 0 && guess < options_.vocab_size) output.logits[static_cast<size_t>(guess)] = kSure;
  return output;
}

std::span<const float> ScriptedHead::Logits(int row) const {
  return outputs_.at(static_cast<size_t>(row)).logits;
}

std::span<const float> ScriptedHead::State(int row) const {
  return outputs_.at(static_cast<size_t>(row)).state;
}

void ScriptedHead::Share(SequenceId from, SequenceId to, int first, int last) {
  ShareCells(cells_, from, to, first, last);
}

void ScriptedHead::Drop(SequenceId sequence, int first, int last) {
  DropCells(cells_, sequence, first, last);
  std::erase_if(cells_, [](const Cell& cell) { return cell.labels.none(); });
}

int ScriptedHead::cells_used() const { return static_cast<int>(cells_.size()); }

}  // namespace schemafill
