#include "measure/tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "measure/deviation.h"
#include "measure/paper.h"

namespace schemafill {
namespace {

constexpr std::string_view kNone = "-";
constexpr int kFewestRequests = 10;  // Figure 4: of a round that is shown

std::string Number(double value, int digits) { return fmt::format("{:.{}f}", value, digits); }
std::string NumberOrNone(double value, int digits, std::string_view unit = {}) {
  return value > 0 ? Number(value, digits) + std::string(unit) : std::string(kNone);
}
std::string Percent(double share, int digits = 1) { return Number(100 * share, digits) + " %"; }
std::string WithSpread(const Spread& spread) {
  return spread.count > 1 ? fmt::format("{:.1f}±{:.1f}", spread.median, spread.deviation)
                          : Number(spread.median, 1);
}

Table MethodTable(int table, const std::string& dataset, std::span<const MethodFigures> methods) {
  Table out;
  const int requests = methods.empty() ? 0 : methods.front().requests;
  out.title = table == 0 ? fmt::format("{}, {} requests", dataset, requests)
                         : fmt::format("Table {}: {}, {} requests", table, dataset, requests);
  out.columns = {"method", "AL", "TPS", "speed-up", "decoding", "agrees", "of oracle"};
  const bool beside = std::any_of(methods.begin(), methods.end(), [&](const MethodFigures& m) {
    return FindPaperRow(table, dataset, m.method) != nullptr;
  });
  if (beside) out.columns.insert(out.columns.end(), {"paper: AL", "speed-up"});
  bool any_lossy = false, any_failed = false;
  for (const MethodFigures& m : methods) {
    any_lossy |= m.all.lossy;
    any_failed |= m.all.failed > 0;
    std::vector<std::string> row = {
        m.method + (m.all.lossy ? "*" : "") + (m.all.failed > 0 ? "†" : ""),
        m.all.lossy ? std::string(kNone) : Number(m.all.al(), 2),
        WithSpread(m.tps),
        NumberOrNone(m.speedup.median, 2, "x"),
        NumberOrNone(m.decode_speedup.median, 2, "x"),
        Percent(m.all.agreement()),
        m.of_oracle > 0 ? Percent(m.of_oracle, 0) : std::string(kNone)};
    if (beside) {
      const PaperRow* paper = FindPaperRow(table, dataset, m.method);
      row.push_back(paper == nullptr ? std::string(kNone) : NumberOrNone(paper->al, 2));
      row.push_back(paper == nullptr ? std::string(kNone) : Number(paper->speedup, 2) + "x");
    }
    out.rows.push_back(std::move(row));
  }
  if (any_lossy) out.notes.push_back("* lossy: nothing verifies its values; no AL");
  for (const MethodFigures& m : methods) {
    if (m.all.failed > 0)
      out.notes.push_back(fmt::format("† {}: {} of {} requests failed; they count without tokens",
                                      m.method, m.all.failed, m.all.samples));
  }
  return out;
}

// Samples of one method with so many reference calls.
std::vector<Sample> WithCalls(const RunRecord& run, std::string_view method, int calls) {
  std::vector<Sample> samples;
  std::copy_if(
      run.samples.begin(), run.samples.end(), std::back_inserter(samples),
      [&](const Sample& sample) { return sample.method == method && sample.calls == calls; });
  return samples;
}

Table CallCountTable(const RunRecord& run) {
  Table out{.title = "Table 3: by the number of calls, as many call groups forecast",
            .columns = {"calls", "requests", "AL", "TPS", "speed-up", "nodes/verify", "paper: AL",
                        "nodes/verify"}};
  for (int calls = 1; calls <= 4; ++calls) {
    Figures ours, plain;
    for (const Sample& sample : WithCalls(run, "schemafill", calls)) ours.Add(sample);
    for (const Sample& sample : WithCalls(run, "ar", calls)) plain.Add(sample);
    if (ours.samples == 0) continue;
    const PaperCallCount* paper = FindPaperCallCount(calls);
    out.rows.push_back({std::to_string(calls), std::to_string(ours.samples), Number(ours.al(), 2),
                        Number(ours.tps(), 1),
                        NumberOrNone(plain.tps() > 0 ? ours.tps() / plain.tps() : 0, 2, "x"),
                        Number(ours.nodes_per_verify(), 2), Number(paper->al, 2),
                        Number(paper->nodes_per_verify, 2)});
  }
  return out;
}

Table RoundsTable(const RunRecord& run) {
  const std::vector<NodesByRound> curves = NodesByRoundOf(run);
  Table out{.title = "Figure 4: mean nodes by round", .columns = {"round"}};
  size_t rounds = 0;
  for (const NodesByRound& curve : curves) {
    out.columns.push_back(fmt::format("{} call{}", curve.calls, curve.calls == 1 ? "" : "s"));
    rounds = std::max(rounds, curve.mean.size());
  }
  for (size_t round = 0; round < rounds; ++round) {
    std::vector<std::string> row = {std::to_string(round + 1)};
    for (const NodesByRound& curve : curves)
      row.push_back(round < curve.mean.size() ? Number(curve.mean[round], 1) : std::string(kNone));
    out.rows.push_back(std::move(row));
  }
  out.notes = {fmt::format("the paper's first rounds: {:.1f} nodes at one call, {:.1f} at four",
                           kPaperFirstRound[0], kPaperFirstRound[1])};
  return out;
}

const MethodFigures* Find(std::span<const MethodFigures> all, std::string_view method) {
  const auto found = std::find_if(all.begin(), all.end(),
                                  [&](const MethodFigures& m) { return m.method == method; });
  return found == all.end() ? nullptr : &*found;
}

Table CacheTable(const RunRecord& run) {
  Table out{
      .title = "Table 4: what a request keeps of the target's cache, mean",
      .columns = {"method", "MiB", "increase", "with model", "paper: increase", "with model"}};
  const std::vector<MethodFigures> all = MethodFiguresOf(run.samples);
  const MethodFigures* plain = Find(all, "ar");
  const double model = run.header.value("model_bytes", 0.0);
  for (const MethodFigures& m : all) {
    if (plain == nullptr || m.all.samples == 0 || plain->all.kept_bytes <= 0) continue;
    const double kept = m.all.kept_bytes / m.all.samples;
    const double base = plain->all.kept_bytes / plain->all.samples;
    const bool paper = m.method == "schemafill";
    out.rows.push_back({m.method, Number(kept / (1 << 20), 2),
                        fmt::format("{:+.2f} %", 100 * (kept / base - 1)),
                        fmt::format("{:+.2f} %", 100 * ((model + kept) / (model + base) - 1)),
                        paper ? fmt::format("{:+.2f} %", 100 * kPaperCacheGrowth) : "-",
                        paper ? fmt::format("{:+.2f} %", 100 * kPaperModelAndCacheGrowth) : "-"});
  }
  return out;
}

Table PhaseTable(const RunRecord& run) {
  Table out{.title = "Table 5: time by phase of schemafill",
            .columns = {"phase", "total s", "ms/request", "share", "paper: share"}};
  Figures sums;
  for (const Sample& sample : run.samples) {
    if (sample.method == "schemafill") sums.Add(sample);
  }
  if (sums.samples == 0) return out;
  const double times[] = {sums.forecast_ms, sums.draft_ms, sums.verify_ms, sums.other_ms()};
  const double whole = sums.forecast_ms + sums.decode_ms();
  for (size_t i = 0; i < std::size(times); ++i) {
    out.rows.push_back({std::string(kPaperPhases[i].name), Number(times[i] / 1000, 3),
                        Number(times[i] / sums.samples, 2), Percent(times[i] / whole, 2),
                        Percent(kPaperPhases[i].share, 2)});
  }
  out.notes = {fmt::format("without prompt and prefill, {:.0f} ms a request",
                           (sums.prepare_ms - sums.forecast_ms + sums.prefill_ms) / sums.samples)};
  return out;
}

constexpr int kResamples = 1000;

Table DeviationTable(const DeviationCurve& curve, std::string_view unit,
                     const PaperDeviation& paper) {
  Table out{.title = fmt::format(
                "Figure 2: answers that differ from ar once values are filled apart; {} with at "
                "least {} {}",
                curve.responses, paper.cohort, unit),
            .columns = {std::string(unit), "differ", "95 % interval", "paper"}};
  for (size_t i = 0; i < curve.share.size(); ++i) {
    const bool last = i + 1 == curve.share.size();
    out.rows.push_back(
        {fmt::format("first {}", i + 1), Percent(curve.share[i]),
         fmt::format("{} to {}", Percent(curve.interval[i].low), Percent(curve.interval[i].high)),
         i == 0 ? Percent(paper.first) : (last ? Percent(paper.last) : std::string(kNone))});
  }
  return out;
}

std::vector<Table> DeviationTables(const RunRecord& run) {
  const std::vector<SlotDeviations> responses = DeviationsOf(run);
  std::vector<Table> tables = {
      DeviationTable(BySlots(responses, kPaperBySlots.cohort), "values", kPaperBySlots),
      DeviationTable(ByCalls(responses, kPaperByCalls.cohort), "calls", kPaperByCalls)};
  if (const auto odds = OddsPerParameter(responses, kResamples, 0)) {
    tables.back().notes = {fmt::format(
        "each further value: odds of a difference x {:.2f} ({:.2f} to {:.2f}) at the same source "
        "and calls; paper: x 1.25 (1.14 to 1.38)",
        odds->ratio, odds->interval.low, odds->interval.high)};
  }
  return tables;
}

double Rounded(double value) { return std::round(1000 * value) / 1000; }

Json MethodJson(const MethodFigures& m) {
  const Figures& all = m.all;
  return {{"method", m.method},
          {"dataset", m.dataset},
          {"requests", m.requests},
          {"launches", m.launches},
          {"failed", all.failed},
          {"tps", Rounded(m.tps.median)},
          {"tps_deviation", Rounded(m.tps.deviation)},
          {"decode_tps", Rounded(m.decode_tps.median)},
          {"decode_tps_deviation", Rounded(m.decode_tps.deviation)},
          {"speedup", Rounded(m.speedup.median)},
          {"decode_speedup", Rounded(m.decode_speedup.median)},
          {"al", all.lossy ? Json() : Json(Rounded(all.al()))},
          {"nodes_per_verify", Rounded(all.nodes_per_verify())},
          {"agreement", all.agreement()},
          {"lossy", all.lossy},
          {"of_oracle", m.of_oracle > 0 ? Json(Rounded(m.of_oracle)) : Json()},
          {"tokens", all.tokens},
          {"forwards", all.forwards},
          {"nodes", all.nodes},
          {"accepted_nodes", all.accepted},
          {"prefill_ms", Rounded(all.prepare_ms + all.prefill_ms)},
          {"decode_ms", Rounded(all.decode_ms())},
          {"total_ms", Rounded(all.total_ms)}};
}

}  // namespace

int PaperTableOf(const RunRecord& run) {
  return run.header.value("settings", Json::object()).value("table", 0);
}

std::string_view ReferenceOf(int table) { return table == 2 ? "eagle3" : "ar"; }

int PaperFigureOf(const RunRecord& run) {
  return run.header.value("settings", Json::object()).value("figure", 0);
}

std::vector<Table> MethodTablesOf(const RunRecord& run) {
  const int own = PaperTableOf(run);
  const int table = own >= 3 && own <= 5 ? 0 : own;  // those have columns of their own
  const std::vector<MethodFigures> all = MethodFiguresOf(run.samples, ReferenceOf(table));
  std::vector<Table> tables;
  for (size_t begin = 0; begin < all.size();) {
    size_t end = begin;
    while (end < all.size() && all[end].dataset == all[begin].dataset) ++end;
    tables.push_back(
        MethodTable(table, all[begin].dataset, std::span(all).subspan(begin, end - begin)));
    begin = end;
  }
  if (tables.empty()) tables.push_back({.title = "no sample yet", .columns = {"method"}});
  return tables;
}

std::vector<Table> TablesOf(const RunRecord& run) {
  if (PaperFigureOf(run) == 2) return DeviationTables(run);
  switch (PaperTableOf(run)) {
    case 3:
      return {CallCountTable(run), RoundsTable(run)};
    case 4:
      return {CacheTable(run)};
    case 5:
      return {PhaseTable(run)};
    default:
      return MethodTablesOf(run);
  }
}

std::vector<Json> MethodsJson(const RunRecord& run) {
  std::vector<Json> out;
  for (const MethodFigures& m : MethodFiguresOf(run.samples, ReferenceOf(PaperTableOf(run))))
    out.push_back(MethodJson(m));
  return out;
}

std::vector<NodesByRound> NodesByRoundOf(const RunRecord& run, std::string_view method) {
  std::vector<NodesByRound> curves;
  for (int calls = 1; calls <= 4; ++calls) {
    NodesByRound curve{.calls = calls};
    const std::vector<Sample> samples = WithCalls(run, method, calls);
    for (size_t round = 0;; ++round) {
      double nodes = 0;
      int requests = 0;
      for (const Sample& sample : samples) {
        if (round >= sample.stats.nodes_by_forward.size()) continue;
        nodes += sample.stats.nodes_by_forward[round];
        ++requests;
      }
      if (requests < kFewestRequests) break;
      curve.mean.push_back(nodes / requests);
      curve.requests.push_back(requests);
    }
    if (!curve.mean.empty()) curves.push_back(std::move(curve));
  }
  return curves;
}

}  // namespace schemafill
