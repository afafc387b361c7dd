// A trace as one HTML page: totals, answer, forecast, lanes of the SIDE branches, and the tree of
// each round. The page is trace_page.html and what it holds (trace_page.css,
// trace_model.js, trace_lanes.js, trace_page.js); this puts the trace into it.
// Tested by tests/apps/trace_test.py.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace schemafill {

// `text` holds the JSON lines of one request (apps/explain.h); lines of unknown type and fields
// that are absent are left out. `name` is the file's. The page loads nothing, and no text of the
// trace can become markup or script. The error names the line and the remedy.
Result<std::string> TracePage(std::string_view text, std::string_view name);

}  // namespace schemafill
