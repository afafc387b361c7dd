// Which calls the answer may hold, guessed from public text alone (paper 4.2, Eq. 3 and 4).
// Tested by tests/forecast/forecast_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "catalog/catalog.h"

namespace schemafill {

struct RankedTool {
  int tool = 0;  // index in Catalog::tools
  double score = 0;
};

// Position j of the answer, the tool forecast for it and its slots.
struct CallGroup {
  int call = 0;
  int tool = 0;
  std::vector<Slot> slots;
};

struct Forecast {
  std::vector<RankedTool> ranking;  // all tools, best first; equal scores keep catalog order
  std::vector<CallGroup> groups;    // the ranking cycled and cut to the budget
  std::string Dump() const;         // `rank: 2 (4.31), 0 (0.00)`, then a line a group
};

struct ForecastOptions {
  int budget = 3;  // B, call groups; 0: none
};

// BM25 (Robertson and Zaragoza 2009; k1 1.2, b 0.75): the query is `context`, a document is a
// tool's name, description and the names and descriptions of its fields. Skipped, with score 0, for
// one tool. Without tools the forecast is empty.
Forecast MakeForecast(const Catalog& catalog, std::string_view context,
                      const ForecastOptions& options);

}  // namespace schemafill
