// The paper's tables from a run, each of our figures beside the paper's. Tested by
// tests/measure/tables_test.cc.
#pragma once

#include <string>
#include <vector>

#include "json/json.h"
#include "measure/figures.h"
#include "measure/run_file.h"
#include "measure/table.h"

namespace schemafill {

// Which table of the paper a run is for; 0: none, a table like the first without the paper's
// figures. By the header's settings.
int PaperTableOf(const RunRecord& run);

// The same of its figures; figure 4 is part of table 3.
int PaperFigureOf(const RunRecord& run);

// The method that speed-ups of the table are ratios to.
std::string_view ReferenceOf(int table);

// The tables that stand for it, one a data set where the paper has several.
std::vector<Table> TablesOf(const RunRecord& run);

// Rates, ratios and AL of each method, a table a data set. Tables 1, 2 and 6 are that; for the
// others of a run they stand beside.
std::vector<Table> MethodTablesOf(const RunRecord& run);

// One object a method and data set: method, requests, tps, decode_tps, speedup, decode_speedup, al,
// nodes_per_verify, agreement and what they are made of.
std::vector<Json> MethodsJson(const RunRecord& run);

// Figure 4: mean nodes of the n-th forward over the requests that reach it, by the number of calls.
struct NodesByRound {
  int calls = 0;
  std::vector<double> mean = {};   // by round, as long as 10 requests reach it
  std::vector<int> requests = {};  // that reach it
};
std::vector<NodesByRound> NodesByRoundOf(const RunRecord& run,
                                         std::string_view method = "schemafill");

}  // namespace schemafill
