// Runs as a report: what was run and where, the paper's tables and plots from it, and how the
// figures are defined. Tested by tests/measure/report_test.cc and tests/apps/report_test.py.
#pragma once

#include <span>
#include <string>

#include "measure/run_file.h"

namespace schemafill {

struct ReportedRun {
  std::string file;  // its name
  RunRecord run;
};

// One HTML page that loads nothing and runs no script; no text of the files can become markup.
std::string ReportPage(std::span<const ReportedRun> runs);

// The same without plots, for docs.
std::string ReportMarkdown(std::span<const ReportedRun> runs);

}  // namespace schemafill
