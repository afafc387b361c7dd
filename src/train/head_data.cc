#include "train/head_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "catalog/prompt.h"
#include "engine/engine.h"
#include "model/hash_tokens.h"
#include "plan/measure_cost.h"
#include "train/json_lines.h"

namespace schemafill {
namespace {

constexpr SequenceId kMain{0};
constexpr uint64_t kHeldOutPercent = 8;

// Which sample goes to which side.
uint64_t SplitKey(const HeadSample& sample) { return MixBits(sample.request); }

// Features of the sample's rows, [rows, layers * width]. The engine left the prompt's cells in
// place, so only the rows from sample.first_row on run again. They give the cells of the prompt's
// end the values that they had, so the engine's next request may still reuse them.
std::vector<float> ComputeFeatures(TargetModel& target, const HeadSample& sample,
                                   std::span<const int> layers) {
  for (int i = 0; i < target.info().max_sequences; ++i) {
    target.Drop(SequenceId{i}, sample.first_row, -1);
  }
  target.Prefill(std::span(sample.tokens).subspan(sample.first_row, sample.rows), sample.first_row,
                 kMain);
  std::vector<float> features;
  for (int row = 0; row < sample.rows; ++row) AppendFeatures(target, layers, row, &features);
  return features;
}

class Collector {
 public:
  Collector(TargetModel& target, int max_tokens, HeadSamples* samples)
      : target_(target), samples_(samples), engine_(target, MeasureCost(target).curve) {
    options_.max_tokens = max_tokens;
    target_.SetFeatureLayers(samples->origin().layers);
    for (const HeadSample& sample : samples->samples()) kept_.insert(sample.request);
  }

  Status Take(Request request) {
    HeadSample sample;
    sample.tokens = BuildPrompt(request, target_.tokenizer()).tokens;
    sample.prompt_tokens = static_cast<int>(sample.tokens.size());
    sample.request = HashTokens(sample.tokens);
    if (!seen_.insert(sample.request).second) return ++result_.repeated, Status();
    if (kept_.contains(sample.request)) return {};
    if (sample.prompt_tokens >= target_.info().context_size) return ++result_.too_long, Status();
    request.temperature = 0;
    request.max_tokens.reset();
    const Result<Generation> generation = engine_.Generate(request, options_);
    if (!generation) return generation.error();
    sample.tokens.insert(sample.tokens.end(), generation->tokens.begin(), generation->tokens.end());
    tokens_ += generation->stats.tokens;
    sample.first_row = std::max(0, sample.prompt_tokens - samples_->origin().prompt_rows);
    sample.rows = static_cast<int>(sample.tokens.size()) - 2 - sample.first_row;
    if (sample.rows < 1) return ++result_.too_short, Status();
    return samples_->Append(sample, ComputeFeatures(target_, sample, samples_->origin().layers));
  }

  int64_t tokens() const { return tokens_; }
  Collected& result() { return result_; }

 private:
  TargetModel& target_;
  HeadSamples* samples_;
  Engine engine_;
  GenerateOptions options_;
  std::set<uint64_t> kept_;  // requests whose samples an earlier run made
  std::set<uint64_t> seen_;
  int64_t tokens_ = 0;
  Collected result_;
};

}  // namespace

std::vector<int> DefaultTargetLayers(int layers) {
  const int last = std::max(0, layers - 3);
  return {std::min(2, last), layers / 2, std::max(last, layers / 2)};
}

Result<std::vector<Request>> ReadRequests(const std::string& path) {
  std::vector<Request> requests;
  const Status read = ReadJsonLines(path, [&](const Json& body) -> Status {
    Result<Request> request = ParseRequest(body);
    if (!request) return request.error();
    requests.push_back(std::move(*request));
    return {};
  });
  if (!read) return read.error();
  if (requests.empty()) {
    return BadInput(fmt::format(
        "'{}' has no requests; give JSON lines, each an OpenAI body with messages and tools",
        path));
  }
  return requests;
}

Result<Collected> CollectSamples(TargetModel& target, std::span<const Request> requests,
                                 int max_tokens, HeadSamples* samples,
                                 const std::atomic<bool>& stop,
                                 const std::function<void(const CollectProgress&)>& progress) {
  Collector collector(target, max_tokens, samples);
  CollectProgress now{.total = static_cast<int>(requests.size())};
  Stopwatch watch;
  for (const Request& request : requests) {
    if (stop) break;
    if (Status status = collector.Take(request); !status) return status.error();
    ++now.done;
    const double seconds = watch.ElapsedMs() / 1000;
    now.tokens_per_second = collector.tokens() / seconds;
    progress(now);
  }
  collector.result().finished = now.done == now.total;
  return collector.result();
}

SampleSplit SplitSamples(std::span<const HeadSample> samples, const std::set<uint64_t>& held_out) {
  SampleSplit split;
  for (int i = 0; i < std::ssize(samples); ++i) {
    (held_out.contains(samples[i].request) ? split.held_out : split.train).push_back(i);
  }
  return split;
}

SampleSplit SplitSamples(std::span<const HeadSample> samples) {
  Check(samples.size() >= 2, "a split of less than two samples");
  SampleSplit split;
  for (int i = 0; i < std::ssize(samples); ++i) {
    const bool held_out = SplitKey(samples[i]) % 100 < kHeldOutPercent;
    (held_out ? split.held_out : split.train).push_back(i);
  }
  const auto key = [&](int index) { return SplitKey(samples[index]); };
  if (split.held_out.empty()) {
    const auto first = std::ranges::min_element(split.train, {}, key);
    split.held_out.push_back(*first);
    split.train.erase(first);
  } else if (split.train.empty()) {
    const auto last = std::ranges::max_element(split.held_out, {}, key);
    split.train.push_back(*last);
    split.held_out.erase(last);
  }
  return split;
}

}  // namespace schemafill
