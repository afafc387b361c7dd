// Pooled figures of a method over the requests of a data set (paper 5.1; Table 1 for launches).
// Tested by tests/measure/figures_test.cc.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "measure/run_file.h"
#include "measure/statistics.h"

namespace schemafill {

// Sums over samples. Requests that failed count with the time they took and no token.
struct Figures {
  int samples = 0;
  int failed = 0;
  int agreeing = 0;
  bool lossy = false;
  long tokens = 0;    // L
  long forwards = 0;  // V: target forwards of the decoding phase
  long nodes = 0;
  long accepted = 0;
  double prepare_ms = 0;
  double forecast_ms = 0;
  double prefill_ms = 0;
  double draft_ms = 0;
  double verify_ms = 0;
  double total_ms = 0;  // T
  double kept_bytes = 0;

  void Add(const Sample& sample);

  double decode_ms() const { return total_ms - prepare_ms - prefill_ms; }
  double other_ms() const { return decode_ms() - draft_ms - verify_ms; }  // Table 5
  double al() const;                                                      // sum L / sum V
  double nodes_per_verify() const;                                        // sum N / sum V
  double tps() const;                                                     // sum L / sum T
  double decode_tps() const;  // the same without preparing and prefill
  double agreement() const;
};

// A method's figures, over all launches and from launch to launch.
struct MethodFigures {
  std::string dataset;
  std::string method;
  int requests = 0;
  int launches = 0;
  Figures all;
  Spread tps;
  Spread decode_tps;
  // Ratios to the reference method of the same launch, over launches. Zero: no reference.
  Spread speedup;
  Spread decode_speedup;
  // Decoding rate as a share of `oracle`'s; 0: it did not run.
  double of_oracle = 0;
};

// In the order in which data sets and methods first come. A request counts where every method of
// its data set has answered it in that launch: an interrupted run compares equal things.
std::vector<MethodFigures> MethodFiguresOf(std::span<const Sample> samples,
                                           std::string_view reference = "ar");

}  // namespace schemafill
