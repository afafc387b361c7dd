// What happened in a request, for people and for tools: the same structs feed `--explain` and
// `--trace`.
#pragma once

#include <functional>
#include <vector>

#include "forecast/forecast.h"
#include "kv/arena.h"
#include "pack/pack.h"
#include "verify/verify.h"

namespace schemafill {

struct RoundTrace {
  int round = 0;  // from 1
  Pack pack;      // what was proposed
  Verdict verdict;
  std::vector<Token> committed;  // accepted tokens and the correction, up to the end of the answer
  double draft_ms = 0;
  double verify_ms = 0;
  ArenaUse cells;
};

struct TraceSink {
  std::function<void(const Forecast&)> forecast;  // once, before the first round; may be empty
  std::function<void(const RoundTrace&)> round;   // after each target forward; may be empty
};

}  // namespace schemafill
