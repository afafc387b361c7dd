#include "plan/measure_cost.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/clock.h"

namespace schemafill {
namespace {

constexpr std::array kRows = {1, 2, 4, 8, 16, 32};
constexpr int kPrefix = 256;       // cells in front of the rows that are timed
constexpr int kRepeats = 3;        // the fastest counts
constexpr double kEnoughMs = 400;  // no further round of repeats after that
constexpr double kSteady = 1.5;    // slowest repeat by fastest

double TimeForward(TargetModel& model, int prefix, int rows) {
  constexpr SequenceId kSequence{0};
  std::vector<Row> batch;
  for (int i = 0; i < rows; ++i) {
    batch.push_back({Token{model.info().vocab_size / 2}, prefix + i, {kSequence}, true});
  }
  const Stopwatch watch;
  model.Forward(batch);
  const double ms = watch.ElapsedMs();
  model.Drop(kSequence, prefix, -1);
  return ms;
}

}  // namespace

MeasuredCost MeasureCost(TargetModel& model) {
  const ModelInfo& info = model.info();
  const int prefix = std::min(kPrefix, info.context_size / 2);
  model.Prefill(std::vector<Token>(static_cast<size_t>(prefix), Token{info.vocab_size / 2}), 0,
                SequenceId{0});
  MeasuredCost cost{.curve = {}, .steady = true};
  std::vector<double> slowest;
  const Stopwatch watch;
  for (int repeat = 0; repeat < kRepeats && (repeat < 2 || watch.ElapsedMs() < kEnoughMs);
       ++repeat) {
    for (size_t i = 0; i < kRows.size(); ++i) {
      if (kRows[i] > info.max_rows || prefix + kRows[i] > info.context_size) break;
      const double ms = TimeForward(model, prefix, kRows[i]);
      if (repeat == 0) {
        cost.curve.points.emplace_back(kRows[i], ms);
        slowest.push_back(ms);
        continue;
      }
      cost.curve.points[i].second = std::min(cost.curve.points[i].second, ms);
      slowest[i] = std::max(slowest[i], ms);
    }
  }
  model.Drop(SequenceId{0}, 0, -1);
  for (size_t i = 0; i < slowest.size(); ++i) {
    cost.steady = cost.steady && slowest[i] < kSteady * cost.curve.points[i].second;
  }
  cost.curve = WithoutNoise(cost.curve);
  return cost;
}

}  // namespace schemafill
