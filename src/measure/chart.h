// Plots as inline SVG for a page that brings colours and fonts (report.css). They are 360 units
// wide, so that a phone shows them at their own size. Each has an accessible name with its figures,
// and each mark a text on hovering. Values below 0 and values that are no number are drawn as 0.
// Tested by tests/measure/chart_test.cc.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/statistics.h"

namespace schemafill {

struct Bar {
  std::string label = {};
  double value = 0;
  std::optional<Interval> whisker = {};
  std::optional<double> paper = {};  // an outline
};

struct BarChart {
  std::string title = {};  // what the accessible name begins with
  std::string unit = {};   // behind each figure: "x"
  int digits = 2;
  double line = 0;  // that bars are compared with; 0: none
  std::vector<Bar> bars = {};
};

std::string DrawBars(const BarChart& chart);

// Parts of a whole, in letters and colours.
struct Stack {
  std::string label = {};
  std::vector<double> parts = {};  // as many as the chart's
  std::string note = {};           // behind the label
};

struct StackChart {
  std::string title = {};
  std::string unit = {};
  int digits = 1;
  std::vector<std::string> parts = {};  // names, at most 6
  std::vector<Stack> stacks = {};
};

std::string DrawStacks(const StackChart& chart);

// Values at 1, 2, 3, ...
struct Curve {
  std::string name = {};
  std::vector<double> values = {};
  std::vector<Interval> intervals = {};               // of the values; empty: none
  std::vector<std::pair<size_t, double>> paper = {};  // crosses: place from 1, value
};

struct CurveChart {
  std::string title = {};
  std::string across = {};  // what the places are: "round"
  std::string unit = {};
  int digits = 1;
  std::vector<Curve> curves = {};  // at most 4, each with a mark and a dash of its own
};

std::string DrawCurves(const CurveChart& chart);

}  // namespace schemafill
