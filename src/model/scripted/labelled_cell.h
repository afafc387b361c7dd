// A cell of libllama's unified cache, for the scripted ports: whoever carries one of its labels
// sees it. Tested through scripted_model_test.cc.
#pragma once

#include <bitset>
#include <cstdint>
#include <span>

#include "model/types.h"

namespace schemafill {

struct LabelledCell {
  Token token{};
  int position = 0;
  uint64_t state = 0;  // hash of the history that it was computed from, itself included
  std::bitset<256> labels;

  bool has(SequenceId sequence) const { return labels[static_cast<size_t>(Index(sequence))]; }
  void Add(SequenceId sequence) { labels.set(static_cast<size_t>(Index(sequence))); }
  // Whether it lies at first <= position < last; last < 0: without an end.
  bool inside(int first, int last) const {
    return position >= first && (last < 0 || position < last);
  }
};

inline void ShareCells(std::span<LabelledCell> cells, SequenceId from, SequenceId to, int first,
                       int last) {
  for (LabelledCell& cell : cells) {
    if (cell.inside(first, last) && cell.has(from)) cell.Add(to);
  }
}

inline void DropCells(std::span<LabelledCell> cells, SequenceId sequence, int first, int last) {
  for (LabelledCell& cell : cells) {
    if (cell.inside(first, last)) cell.labels.reset(static_cast<size_t>(Index(sequence)));
  }
}

}  // namespace schemafill
