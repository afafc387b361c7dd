#include "measure/figures.h"

#include <algorithm>
#include <set>
#include <utility>

namespace schemafill {
namespace {

double Ratio(double part, double whole) { return whole > 0 ? part / whole : 0; }

// Launches of one method on one data set.
struct MethodSums {
  std::string dataset;
  std::string method;
  std::map<int, Figures> launches;
  Figures all;
  std::set<std::string> requests;
};

std::vector<double> Rates(const MethodSums& sums, double (Figures::*rate)() const) {
  std::vector<double> rates;
  for (const auto& [launch, figures] : sums.launches) rates.push_back((figures.*rate)());
  return rates;
}

// Over the launches that both have.
Spread RatioTo(const MethodSums* reference, const MethodSums& sums,
               double (Figures::*rate)() const) {
  std::vector<double> ratios;
  if (reference == nullptr) return {};
  for (const auto& [launch, figures] : sums.launches) {
    const auto found = reference->launches.find(launch);
    if (found == reference->launches.end()) continue;
    ratios.push_back(Ratio((figures.*rate)(), (found->second.*rate)()));
  }
  return SpreadOf(ratios);
}

// (request, launch) of a sample.
using Turn = std::pair<std::string, int>;

Turn TurnOf(const Sample& sample) { return {RequestKey(sample), sample.launch}; }

}  // namespace

void Figures::Add(const Sample& sample) {
  const GenerateStats& stats = sample.stats;
  ++samples;
  failed += sample.error.empty() ? 0 : 1;
  agreeing += sample.agrees ? 1 : 0;
  lossy |= stats.lossy;
  tokens += stats.tokens;
  forwards += stats.forwards;
  nodes += stats.nodes;
  accepted += stats.accepted;
  prepare_ms += stats.prepare_ms;
  forecast_ms += stats.forecast_ms;
  prefill_ms += stats.prefill_ms;
  draft_ms += stats.draft_ms;
  verify_ms += stats.verify_ms;
  total_ms += stats.total_ms;
  kept_bytes += static_cast<double>(stats.kept_bytes);
}

double Figures::al() const {
  return Ratio(static_cast<double>(tokens), static_cast<double>(forwards));
}
double Figures::nodes_per_verify() const {
  return Ratio(static_cast<double>(nodes), static_cast<double>(forwards));
}
double Figures::tps() const { return Ratio(1000.0 * static_cast<double>(tokens), total_ms); }
double Figures::decode_tps() const {
  return Ratio(1000.0 * static_cast<double>(tokens), decode_ms());
}
double Figures::agreement() const { return Ratio(agreeing, samples); }

std::vector<MethodFigures> MethodFiguresOf(std::span<const Sample> samples,
                                           std::string_view reference) {
  std::map<std::string, std::set<std::string>> methods;  // by data set
  std::map<Turn, std::set<std::string>> had;             // methods by turn
  for (const Sample& sample : samples) {
    methods[sample.dataset].insert(sample.method);
    had[TurnOf(sample)].insert(sample.method);
  }
  std::vector<MethodSums> all;
  for (const Sample& sample : samples) {
    if (had[TurnOf(sample)] != methods[sample.dataset]) continue;
    auto sums = std::find_if(all.begin(), all.end(), [&](const MethodSums& other) {
      return other.dataset == sample.dataset && other.method == sample.method;
    });
    if (sums == all.end()) sums = all.insert(sums, {sample.dataset, sample.method, {}, {}, {}});
    sums->launches[sample.launch].Add(sample);
    sums->all.Add(sample);
    sums->requests.insert(RequestKey(sample));
  }
  std::vector<MethodFigures> out;
  for (const MethodSums& sums : all) {
    const auto find = [&](std::string_view method) -> const MethodSums* {
      const auto found = std::find_if(all.begin(), all.end(), [&](const MethodSums& other) {
        return other.dataset == sums.dataset && other.method == method;
      });
      return found == all.end() ? nullptr : &*found;
    };
    out.push_back({.dataset = sums.dataset,
                   .method = sums.method,
                   .requests = static_cast<int>(sums.requests.size()),
                   .launches = static_cast<int>(sums.launches.size()),
                   .all = sums.all,
                   .tps = SpreadOf(Rates(sums, &Figures::tps)),
                   .decode_tps = SpreadOf(Rates(sums, &Figures::decode_tps)),
                   .speedup = RatioTo(find(reference), sums, &Figures::tps),
                   .decode_speedup = RatioTo(find(reference), sums, &Figures::decode_tps),
                   .of_oracle = RatioTo(find("oracle"), sums, &Figures::decode_tps).median});
  }
  return out;
}

}  // namespace schemafill
