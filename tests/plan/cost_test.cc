#include "plan/cost.h"

#include <gtest/gtest.h>

#include <array>

#include "plan/measure_cost.h"
#include "support/keyed_dice.h"
#include "support/scripted.h"

namespace schemafill {
namespace {

TEST(CostCurve, Ms) {
  struct Case {
    std::string_view label;
    CostCurve curve;
    int rows;
    double ms;
  };
  const CostCurve two{{{1, 10}, {3, 14}, {5, 30}}};
  const auto kCases = std::to_array<Case>({
      {"rows are free", {}, 7, 1},
      {"one point", {{{4, 8}}}, 9, 8},
      {"in front of the first point", {{{4, 8}, {6, 10}}}, 1, 8},
      {"a point", two, 3, 14},
      {"between points", two, 2, 12},
      {"the last point", two, 5, 30},
      {"beyond it: its slope", two, 7, 46},
  });
  for (const Case& row : kCases) EXPECT_DOUBLE_EQ(row.curve.Ms(row.rows), row.ms) << row.label;
  EXPECT_EQ(two.Dump(), "1: 10.00 ms, 3: 14.00 ms, 5: 30.00 ms");
  EXPECT_EQ(CostCurve{}.Dump(), "");
}

TEST(BestNodeCount, PaysForEachNode) {
  struct Case {
    std::string_view label;
    std::vector<double> probabilities;
    CostCurve curve;
    int most;
    int count;
  };
  const CostCurve row_by_row{{{1, 10}, {2, 20}}};
  const CostCurve half{{{1, 10}, {2, 15}}};
  const CostCurve step{{{1, 10}, {2, 20}, {4, 21}}};
  const auto kCases = std::to_array<Case>({
      {"nothing to take", {}, {}, 8, 0},
      {"free rows: all", {0.9, 0.5, 0.01}, {}, 8, 3},
      {"free rows, at most", {0.9, 0.5, 0.01}, {}, 2, 2},
      {"none may be taken", {0.9}, {}, 0, 0},
      {"less than none", {0.9}, {}, -1, 0},
      {"what never happens is no gain", {0.9, 0}, {}, 8, 1},
      {"a row that costs a whole forward", {0.99, 0.9}, row_by_row, 8, 0},
      {"half a forward: sure ones pay", {0.9, 0.8, 0.2}, half, 8, 2},
      {"half a forward: unsure ones don't", {0.4, 0.3}, half, 8, 0},
      {"over a step in the curve", {0.9, 0.9, 0.9}, step, 8, 3},
      {"a step that is out of reach", {0.9, 0.9, 0.9}, step, 1, 0},
  });
  for (const Case& row : kCases)
    EXPECT_EQ(BestNodeCount(row.probabilities, row.curve, row.most), row.count) << row.label;
}

TEST(WithoutNoise, WhatCantBeTrue) {
  using Points = std::vector<std::pair<int, double>>;
  struct Case {
    std::string_view label;
    Points measured;
    Points clean;
  };
  const auto kCases = std::to_array<Case>({
      {"nothing", {}, {}},
      {"believable", {{1, 10}, {2, 12}, {4, 20}}, {{1, 10}, {2, 12}, {4, 20}}},
      {"more rows cheaper", {{1, 10}, {2, 8}, {4, 9}}, {{1, 10}, {2, 10}, {4, 10}}},
      {"dearer than row by row", {{1, 10}, {2, 50}, {4, 30}}, {{1, 10}, {2, 20}, {4, 30}}},
  });
  for (const Case& row : kCases)
    EXPECT_EQ(WithoutNoise({row.measured}).points, row.clean) << row.label;
}

TEST(Refined, MovesTowardsWhatWasSeen) {
  const CostCurve curve{{{1, 10}, {2, 12}, {8, 30}}};
  struct Case {
    std::string_view label;
    CostCurve curve;
    int rows;
    double ms;
    std::string_view refined;
  };
  const auto kCases = std::to_array<Case>({
      {"nothing to refine", {}, 3, 5, ""},
      {"as expected", curve, 2, 12, "1: 10.00 ms, 2: 12.00 ms, 8: 30.00 ms"},
      {"a dearer point", curve, 8, 45, "1: 10.00 ms, 2: 12.00 ms, 8: 31.50 ms"},
      {"a surprise counts double at most", curve, 8, 1000, "1: 10.00 ms, 2: 12.00 ms, 8: 33.00 ms"},
      {"beyond the last point", curve, 14, 72, "1: 10.00 ms, 2: 12.00 ms, 8: 31.50 ms"},
      {"between points", curve, 5, 42, "1: 10.00 ms, 2: 12.60 ms, 8: 31.50 ms"},
      {"cheaper than fewer rows: they give way",
       {{{1, 10}, {2, 10}}},
       2,
       5,
       "1: 9.50 ms, 2: 9.50 ms"},
      {"dearer than more rows: they give way",
       {{{1, 10}, {2, 10}}},
       1,
       20,
       "1: 11.00 ms, 2: 11.00 ms"},
  });
  for (const Case& row : kCases)
    EXPECT_EQ(Refined(row.curve, row.rows, row.ms).Dump(), row.refined) << row.label;
}

TEST(Refined, MoreRowsStayNoCheaper) {
  CostCurve curve{{{1, 10}, {2, 10}, {8, 10}, {16, 10}, {32, 40}}};
  KeyedDice dice(1);
  for (int forward = 0; forward < 2000; ++forward) {
    const int rows = 1 + dice.Roll(40);
    curve = Refined(curve, rows, 1 + dice.Roll(50));
    for (size_t i = 1; i < curve.points.size(); ++i)
      ASSERT_GE(curve.points[i].second, curve.points[i - 1].second) << forward << curve.Dump();
    ASSERT_GT(curve.points[0].second, 0);
  }
}

TEST(MeasureCost, WithinTheModelsLimits) {
  struct Case {
    ScriptedOptions options;
    std::vector<int> rows;
  };
  const auto kCases = std::to_array<Case>({
      {{}, {1, 2, 4, 8, 16, 32}},
      {{.max_rows = 9}, {1, 2, 4, 8}},
      {{.context_size = 20}, {1, 2, 4, 8}},
      {{.context_size = 2}, {1}},
  });
  for (const Case& row : kCases) {
    ScriptedModel model(JsonTokenizer(), row.options);
    const MeasuredCost cost = MeasureCost(model);
    std::vector<int> rows;
    double before = 0;
    for (const auto& [count, ms] : cost.curve.points) {
      rows.push_back(count);
      EXPECT_GE(ms, before);
      before = ms;
    }
    EXPECT_EQ(rows, row.rows);
    EXPECT_EQ(model.cells_used(), 0);
    EXPECT_EQ(model.violation(), "");
  }
}

}  // namespace
}  // namespace schemafill
