// Makes a head's training data (paper, Appendix A): for each request the target's own greedy
// continuation, by our engine, and the features of the rows that a head needs.
// Tested by tests/train/head_data_test.cc.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "catalog/request.h"
#include "model/target_model.h"
#include "train/head_samples.h"

namespace schemafill {

// The paper's choice: the inputs of layer 2, the middle one and the last but two (for 32 layers 2,
// 16, 29); nearer together in a target of few layers.
std::vector<int> DefaultTargetLayers(int layers);

// Reads JSON lines, each an OpenAI body {"messages", "tools", ...}; other fields, as the "answer"
// of an example, are ignored. Errors name file and line; a file without a request is one.
Result<std::vector<Request>> ReadRequests(const std::string& path);

struct CollectProgress {
  int done = 0;                  // requests that are in the file or left out
  int total = 0;                 // requests
  double tokens_per_second = 0;  // of continuations
};

struct Collected {
  bool finished = false;  // false: stopped
  int repeated = 0;       // requests with the prompt of an earlier one
  int too_long = 0;       // prompts that the context doesn't hold
  int too_short = 0;      // continuations without a row to learn from
};

// Adds the samples that `samples` lacks, one after the other, until `stop` becomes true. Texts are
// cut at `max_tokens` tokens. The requests' own sampling is ignored. REQUIRES: samples are of this
// target, which nobody else uses meanwhile. Errors: no disk space.
Result<Collected> CollectSamples(TargetModel& target, std::span<const Request> requests,
                                 int max_tokens, HeadSamples* samples,
                                 const std::atomic<bool>& stop,
                                 const std::function<void(const CollectProgress&)>& progress);

// Indices of samples.
struct SampleSplit {
  std::vector<int> train;
  std::vector<int> held_out;
};

// Held out are the samples of these requests (HashTokens of the prompt); both sides may be empty.
SampleSplit SplitSamples(std::span<const HeadSample> samples, const std::set<uint64_t>& held_out);

// About 8 % are held out, by a hash of the request: a sample stays on its side whatever comes
// along. Both sides have one at least. REQUIRES: two samples or more.
SampleSplit SplitSamples(std::span<const HeadSample> samples);

}  // namespace schemafill
