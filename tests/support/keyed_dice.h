// Random choices for property tests: the same on every machine and for every seed.
#pragma once

#include <cstdint>
#include <vector>

#include "base/random.h"

namespace schemafill {

class KeyedDice {
 public:
  explicit KeyedDice(uint64_t seed) : seed_(seed) {}

  // 0 .. sides - 1.
  int Roll(int sides) {
    return static_cast<int>(KeyedBits({.seed = seed_, .stream = 0, .position = rolls_++}) %
                            static_cast<uint64_t>(sides));
  }
  bool OneIn(int sides) { return Roll(sides) == 0; }

  template <typename Items>
  const auto& Pick(const Items& items) {
    return items[static_cast<size_t>(Roll(static_cast<int>(items.size())))];
  }

 private:
  uint64_t seed_;
  uint64_t rolls_ = 0;
};

}  // namespace schemafill
