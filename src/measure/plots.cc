#include "measure/plots.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "measure/chart.h"
#include "measure/deviation.h"
#include "measure/figures.h"
#include "measure/paper.h"
#include "measure/tables.h"

namespace schemafill {
namespace {

using Methods = std::span<const MethodFigures>;

std::string LabelOf(const MethodFigures& m) { return m.method + (m.all.lossy ? "*" : ""); }

// Draws the bars if there are any. `bar(m)` gives none for a method that the figure says nothing
// of.
void AddBars(BarChart chart, Methods methods, std::vector<Plot>* plots,
             const std::function<std::optional<Bar>(const MethodFigures&)>& bar) {
  std::string note;
  const auto add = [&](std::string_view words) {
    note += fmt::format("{}{}", note.empty() ? "" : "; ", words);
  };
  for (const MethodFigures& m : methods) {
    if (std::optional<Bar> one = bar(m)) chart.bars.push_back(std::move(*one));
  }
  if (chart.bars.empty()) return;
  const auto any = [&](auto has) { return std::any_of(chart.bars.begin(), chart.bars.end(), has); };
  if (any([](const Bar& b) { return b.paper.has_value(); })) add("dashed outline: the paper");
  if (any([](const Bar& b) { return b.whisker.has_value(); })) {
    add(chart.unit == " %" ? "whisker: 95 % interval (Wilson)"
                           : "whisker: lowest and highest launch");
  }
  if (any([](const Bar& b) { return b.label.ends_with('*'); })) add("* lossy");
  plots->push_back({chart.title, std::move(note), DrawBars(chart)});
}

std::optional<Interval> WhiskerOf(const Spread& spread) {
  if (spread.count < 2) return std::nullopt;
  return Interval{spread.lowest, spread.highest};
}

void AddRates(int table, const std::string& dataset, Methods methods, std::vector<Plot>* plots) {
  const auto paper_of = [&](const MethodFigures& m) {
    return FindPaperRow(table, m.dataset, m.method);
  };
  const std::string_view reference = ReferenceOf(table);
  AddBars({.title = fmt::format("{}: speed-up over {}, end to end", dataset, reference),
           .unit = "x",
           .line = 1},
          methods, plots, [&](const MethodFigures& m) -> std::optional<Bar> {
            if (m.speedup.count == 0) return std::nullopt;
            const PaperRow* paper = paper_of(m);
            return Bar{LabelOf(m), m.speedup.median, WhiskerOf(m.speedup),
                       paper == nullptr ? std::nullopt : std::optional(paper->speedup)};
          });
  AddBars({.title = fmt::format("{}: speed-up over {}, decoding alone", dataset, reference),
           .unit = "x",
           .line = 1},
          methods, plots, [&](const MethodFigures& m) -> std::optional<Bar> {
            if (m.decode_speedup.count == 0) return std::nullopt;
            return Bar{LabelOf(m), m.decode_speedup.median, WhiskerOf(m.decode_speedup)};
          });
  AddBars({.title = fmt::format("{}: acceptance length", dataset), .unit = "", .line = 1}, methods,
          plots, [&](const MethodFigures& m) -> std::optional<Bar> {
            if (m.all.lossy || m.all.forwards == 0) return std::nullopt;
            const PaperRow* paper = paper_of(m);
            return Bar{
                LabelOf(m),
                m.all.al(),
                {},
                paper == nullptr || paper->al == 0 ? std::nullopt : std::optional(paper->al)};
          });
  AddBars(
      {.title = fmt::format("{}: answers like ar's, where not all are", dataset),
       .unit = " %",
       .digits = 1},
      methods, plots, [&](const MethodFigures& m) -> std::optional<Bar> {
        if (m.all.agreeing == m.all.samples) return std::nullopt;
        const Interval wilson = WilsonInterval(m.all.agreeing, m.all.samples);
        const PaperRow* paper = paper_of(m);
        Bar bar{LabelOf(m), 100 * m.all.agreement(), Interval{100 * wilson.low, 100 * wilson.high}};
        if (paper != nullptr && paper->agreement) bar.paper = 100 * *paper->agreement;
        return bar;
      });
}

// Time by phase, of the methods whose time is known by phase.
void AddPhases(const std::string& dataset, Methods methods, std::vector<Plot>* plots) {
  StackChart shares{.title = fmt::format("{}: time by phase, without prompt and prefill", dataset),
                    .unit = " %"};
  StackChart times{
      .title = fmt::format("{}: time of a request", dataset), .unit = " ms", .digits = 2};
  for (const PaperPhase& phase : kPaperPhases) shares.parts.emplace_back(phase.name);
  times.parts = shares.parts;
  times.parts.emplace_back("prompt and prefill");
  for (const MethodFigures& m : methods) {
    const Figures& all = m.all;
    if (all.verify_ms <= 0 || all.samples == 0) continue;
    std::vector<double> parts = {all.forecast_ms, all.draft_ms, all.verify_ms, all.other_ms()};
    const double whole = all.forecast_ms + all.decode_ms();
    Stack share{LabelOf(m), {}, fmt::format("{:.1f} ms a request", whole / all.samples)};
    for (const double part : parts) share.parts.push_back(whole > 0 ? 100 * part / whole : 0);
    shares.stacks.push_back(std::move(share));

    parts.push_back(all.prepare_ms - all.forecast_ms + all.prefill_ms);
    for (double& part : parts) part /= all.samples;
    times.stacks.push_back(
        {LabelOf(m), std::move(parts), fmt::format("{:.0f} ms", all.total_ms / all.samples)});
  }
  if (shares.stacks.empty()) return;
  Stack paper{"the paper's schemafill, bfcl", {}, {}};
  for (const PaperPhase& phase : kPaperPhases) paper.parts.push_back(100 * phase.share);
  shares.stacks.push_back(std::move(paper));
  plots->push_back(
      {shares.title, "shares of the time after prefill, as in Table 5", DrawStacks(shares)});
  plots->push_back({times.title, "mean; failed requests count", DrawStacks(times)});
}

void AddRounds(const RunRecord& run, std::vector<Plot>* plots) {
  CurveChart chart{.title = "Figure 4: mean nodes by round, schemafill", .across = "round"};
  for (const NodesByRound& rounds : NodesByRoundOf(run)) {
    Curve curve{fmt::format("{} call{}", rounds.calls, rounds.calls == 1 ? "" : "s"), rounds.mean};
    if (rounds.calls == 1) curve.paper = {{1, kPaperFirstRound[0]}};
    if (rounds.calls == 4) curve.paper = {{1, kPaperFirstRound[1]}};
    chart.curves.push_back(std::move(curve));
  }
  if (chart.curves.empty()) return;
  plots->push_back({chart.title, "rounds that at least 10 requests reach", DrawCurves(chart)});
}

void AddDeviation(const DeviationCurve& curve, const std::string& what, const PaperDeviation& paper,
                  std::vector<Plot>* plots) {
  if (curve.responses == 0 || curve.share.empty()) return;
  Curve shown{fmt::format("{} answers, {} {}s or more", curve.responses, paper.cohort, what), {}};
  for (const double share : curve.share) shown.values.push_back(100 * share);
  for (const Interval& interval : curve.interval)
    shown.intervals.push_back({100 * interval.low, 100 * interval.high});
  shown.paper = {{1, 100 * paper.first}, {curve.share.size(), 100 * paper.last}};
  const CurveChart chart{
      .title =
          fmt::format("Figure 2: answers that differ once values are filled apart, by {}s", what),
      .across = fmt::format("first {}s", what),
      .unit = " %",
      .curves = {std::move(shown)}};
  plots->push_back({chart.title, "whisker: 95 % interval (Wilson)", DrawCurves(chart)});
}

}  // namespace

std::vector<Plot> PlotsOf(const RunRecord& run) {
  std::vector<Plot> plots;
  const int table = PaperTableOf(run);
  const std::vector<MethodFigures> all = MethodFiguresOf(run.samples, ReferenceOf(table));
  for (auto begin = all.begin(); begin != all.end();) {
    const auto end = std::find_if(
        begin, all.end(), [&](const MethodFigures& m) { return m.dataset != begin->dataset; });
    AddRates(table, begin->dataset, Methods(begin, end), &plots);
    AddPhases(begin->dataset, Methods(begin, end), &plots);
    begin = end;
  }
  AddRounds(run, &plots);
  const std::vector<SlotDeviations> deviations = DeviationsOf(run);
  AddDeviation(BySlots(deviations, kPaperBySlots.cohort), "value", kPaperBySlots, &plots);
  AddDeviation(ByCalls(deviations, kPaperByCalls.cohort), "call", kPaperByCalls, &plots);
  return plots;
}

}  // namespace schemafill
