#include "measure/deviation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/random.h"
#include "catalog/answer.h"
#include "engine/parallel_fill.h"
#include "measure/logistic.h"

namespace schemafill {
namespace {

std::string SourceOf(const std::string& request) {
  const size_t end = request.find_last_not_of("0123456789-");
  return request.substr(0, end == std::string::npos || request[end] != '_' ? end + 1 : end);
}

SlotDeviations Compare(const Sample& plain, const Sample& filled) {
  Answer want, got;
  want.Feed(plain.text);
  got.Feed(filled.text);
  const std::vector<FillSlot> wanted = FindSlots(want), found = FindSlots(got);
  SlotDeviations deviations{.source = SourceOf(plain.request), .call = {}, .differs = {}};
  for (size_t i = 0; i < std::min(wanted.size(), found.size()); ++i) {
    const FillSlot& a = wanted[i];
    const FillSlot& b = found[i];
    if (a.call != b.call || a.key != b.key) break;
    deviations.call.push_back(a.call);
    deviations.differs.push_back(want.text().substr(a.begin, a.end - a.begin) !=
                                 got.text().substr(b.begin, b.end - b.begin));
    deviations.calls = a.call + 1;
  }
  return deviations;
}

// `first_differing(response)` counts from 0; a cohort that none of its slots differs in has the
// end.
template <typename FirstDiffering>
DeviationCurve CurveOf(const std::vector<const SlotDeviations*>& cohort, int length,
                       const FirstDiffering& first_differing) {
  DeviationCurve curve{.responses = static_cast<int>(cohort.size()), .share = {}, .interval = {}};
  if (cohort.empty()) return curve;
  for (int considered = 1; considered <= length; ++considered) {
    const int differing = static_cast<int>(std::count_if(
        cohort.begin(), cohort.end(),
        [&](const SlotDeviations* response) { return first_differing(*response) < considered; }));
    curve.share.push_back(static_cast<double>(differing) / curve.responses);
    curve.interval.push_back(WilsonInterval(differing, curve.responses));
  }
  return curve;
}

int FirstDifferingSlot(const SlotDeviations& response) {
  return static_cast<int>(std::find(response.differs.begin(), response.differs.end(), true) -
                          response.differs.begin());
}

// Number of the call of the first differing slot.
int FirstDifferingCall(const SlotDeviations& response) {
  const auto slot = static_cast<size_t>(FirstDifferingSlot(response));
  return slot < response.call.size() ? response.call[slot] : response.calls;
}

// exp of the coefficient of the number of parameters.
std::optional<double> FitRatio(const std::vector<const SlotDeviations*>& responses) {
  std::set<std::string> sources;
  for (const SlotDeviations* response : responses) sources.insert(response->source);
  if (responses.size() < 10 || sources.empty()) return std::nullopt;
  sources.erase(sources.begin());  // the base
  std::vector<Observation> observations;
  for (const SlotDeviations* response : responses) {
    Observation observation{
        .features = {static_cast<double>(response->differs.size()),
                     static_cast<double>(response->calls)},
        .outcome = FirstDifferingSlot(*response) < static_cast<int>(response->differs.size())};
    for (const std::string& source : sources)
      observation.features.push_back(source == response->source ? 1 : 0);
    observations.push_back(std::move(observation));
  }
  const auto weights = FitLogistic(observations);
  if (!weights) return std::nullopt;
  return std::exp(weights->front());
}

}  // namespace

std::vector<SlotDeviations> DeviationsOf(const RunRecord& run) {
  std::map<std::string, const Sample*> plain;
  for (const Sample& sample : run.samples) {
    if (sample.method == "ar" && sample.launch == 0) plain[RequestKey(sample)] = &sample;
  }
  std::vector<SlotDeviations> all;
  for (const Sample& sample : run.samples) {
    if (sample.method != "parallel-fill" || sample.launch != 0) continue;
    const auto found = plain.find(RequestKey(sample));
    if (found == plain.end()) continue;
    SlotDeviations deviations = Compare(*found->second, sample);
    if (!deviations.differs.empty()) all.push_back(std::move(deviations));
  }
  return all;
}

DeviationCurve BySlots(const std::vector<SlotDeviations>& responses, int cohort) {
  std::vector<const SlotDeviations*> chosen;
  for (const SlotDeviations& response : responses) {
    if (static_cast<int>(response.differs.size()) >= cohort) chosen.push_back(&response);
  }
  return CurveOf(chosen, cohort, FirstDifferingSlot);
}

DeviationCurve ByCalls(const std::vector<SlotDeviations>& responses, int cohort) {
  std::vector<const SlotDeviations*> chosen;
  for (const SlotDeviations& response : responses) {
    if (response.calls >= cohort) chosen.push_back(&response);
  }
  return CurveOf(chosen, cohort, FirstDifferingCall);
}

std::optional<OddsRatio> OddsPerParameter(const std::vector<SlotDeviations>& responses,
                                          int resamples, uint64_t seed) {
  std::vector<const SlotDeviations*> all;
  for (const SlotDeviations& response : responses) all.push_back(&response);
  const std::optional<double> ratio = FitRatio(all);
  if (!ratio) return std::nullopt;
  std::vector<double> ratios;
  for (int resample = 0; resample < resamples; ++resample) {
    std::vector<const SlotDeviations*> drawn;
    for (size_t i = 0; i < all.size(); ++i) {
      const double coin =
          Coin({.seed = seed, .stream = static_cast<uint64_t>(resample), .position = i});
      drawn.push_back(all[static_cast<size_t>(coin * static_cast<double>(all.size()))]);
    }
    if (const std::optional<double> fitted = FitRatio(drawn)) ratios.push_back(*fitted);
  }
  if (ratios.empty()) return std::nullopt;
  return OddsRatio{.ratio = *ratio, .interval = MiddleOf(std::move(ratios))};
}

}  // namespace schemafill
