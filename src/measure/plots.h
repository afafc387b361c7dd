// The paper's plots from a run, the paper's figures beside ours. Tested by
// tests/measure/report_test.cc.
#pragma once

#include <string>
#include <vector>

#include "measure/run_file.h"

namespace schemafill {

struct Plot {
  std::string title;
  std::string note;  // how to read it; may be empty
  std::string svg;
};

// Those that the run's samples have figures for: speed-ups, AL, agreement where it is not full, and
// time by phase for each data set; nodes by round (Figure 4); values filled apart (Figure 2).
std::vector<Plot> PlotsOf(const RunRecord& run);

}  // namespace schemafill
