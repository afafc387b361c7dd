// What happened in a request, for people and for tools: the same structs feed `--explain` and
// `--trace`.
#pragma once

#include <functional>
#include <vector>

#include "engine/strategy.h"
#include "forecast/forecast.h"
#include "kv/arena.h"
#include "verify/verify.h"

namespace schemafill {

struct RoundTrace {
  int round = 0;                           // from 1
  Proposal proposal;                       // what the forward held
  Verdict verdict;                         // on MAIN
  std::vector<SideVerdict> side_verdicts;  // of each SIDE branch
  std::vector<Token> committed;  // accepted tokens and the correction, up to the end of the answer
  RoundNews news;                // what the strategy made of it
  int side_rows = 0;             // a shared one counted once
  double draft_ms = 0;
  double verify_ms = 0;
  ArenaUse cells;
};

struct TraceSink {
  std::function<void(const Forecast&)> forecast;  // once, before the first round; may be empty
  std::function<void(const RoundTrace&)> round;   // after each target forward; may be empty
};

}  // namespace schemafill
