// Slot-order deviation (paper 3.3, Figure 2, C.6): how often values that are filled apart differ
// from what plain decoding writes behind everything before them. Tested by
// tests/measure/deviation_test.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/run_file.h"
#include "measure/statistics.h"

namespace schemafill {

// A response of `parallel-fill` beside `ar`'s, whose calls and keys it has.
struct SlotDeviations {
  std::string source;  // its id without the number: the file that the request is from
  int calls = 0;
  std::vector<int> call;      // by slot: the call that it is in
  std::vector<bool> differs;  // by slot, in the answer's order
};

// Responses with calls, of the first launch. What was cut off counts as far as it goes.
std::vector<SlotDeviations> DeviationsOf(const RunRecord& run);

// Share of a fixed cohort with at least one differing value among the first 1, 2, ... slots or
// calls.
struct DeviationCurve {
  int responses = 0;
  std::vector<double> share;
  std::vector<Interval> interval;
};

// Responses with at least `cohort` slots (the paper has 8), after 1 .. cohort of them.
DeviationCurve BySlots(const std::vector<SlotDeviations>& responses, int cohort);
// Responses with at least `cohort` calls (the paper has 3), after 1 .. cohort of them.
DeviationCurve ByCalls(const std::vector<SlotDeviations>& responses, int cohort);

// Odds of any deviation, times this for each additional parameter, at the same source and number of
// calls; the interval is of `resamples` bootstrap samples of responses.
struct OddsRatio {
  double ratio = 0;
  Interval interval;
};
// None: too few responses to fit.
std::optional<OddsRatio> OddsPerParameter(const std::vector<SlotDeviations>& responses,
                                          int resamples, uint64_t seed);

}  // namespace schemafill
