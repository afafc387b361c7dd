// What the paper reports, to stand beside what was measured here. One RTX PRO 6000, BF16 models of
// 7 and 8 billion parameters: rates compare by their ratios only.
#pragma once

#include <optional>
#include <string_view>

namespace schemafill {

// A row of Tables 1, 2 or 6.
struct PaperRow {
  int table = 0;
  std::string_view dataset;  // "glaive" or "bfcl"
  std::string_view method;   // by its name here
  double al = 0;             // 0: does not apply
  double tps = 0;
  double speedup = 0;
  std::optional<double> agreement;  // a share
};

// Of Table `table` for Qwen2.5-7B-Instruct. Null: the paper has no such row. `dataset` by its name
// here: single650 stands for Glaive650.
const PaperRow* FindPaperRow(int table, std::string_view dataset, std::string_view method);

// Table 3: by the number of calls, 1 to 4.
struct PaperCallCount {
  int calls = 0;
  double al = 0;
  double tps = 0;
  double nodes_per_verify = 0;
};
// Null for other counts.
const PaperCallCount* FindPaperCallCount(int calls);

// Figure 2: share of the responses with at least `cohort` values or calls that differ, after the
// first and after the last of them.
struct PaperDeviation {
  int cohort = 0;
  double first = 0;
  double last = 0;
};
constexpr PaperDeviation kPaperBySlots{8, 0.030, 0.495};
constexpr PaperDeviation kPaperByCalls{3, 0.067, 0.433};

// Figure 4: mean nodes of the first round at one call and at four.
constexpr double kPaperFirstRound[] = {61.8, 152.0};

// Table 4: growth of what a request keeps, as shares.
constexpr double kPaperCacheGrowth = 0.2465;
constexpr double kPaperModelAndCacheGrowth = 0.0028;

// Table 5: shares of the profiled time.
struct PaperPhase {
  std::string_view name;
  double ms_per_request = 0;
  double share = 0;
};
constexpr PaperPhase kPaperPhases[] = {{"forecast", 0.070, 0.00027},
                                       {"drafting", 46.98, 0.1828},
                                       {"verification", 193.19, 0.7517},
                                       {"other", 16.76, 0.0652}};

}  // namespace schemafill
