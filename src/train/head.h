// Trains an EAGLE-3 head for a target: the target writes continuations of the requests, and the
// head learns to draft them (paper, Appendix A). Tested by tests/train/head_test.cc.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/result.h"
#include "train/head_data.h"
#include "train/head_loss.h"
#include "train/head_net.h"
#include "train/loop.h"

namespace schemafill {

struct HeadOptions {
  // Files.
  std::string target = {};    // GGUF of the model that will be served, quantised as it will be
  std::string requests = {};  // JSON lines of OpenAI bodies
  // The same, for held-out scores; empty: about 8 % of the requests.
  std::string held_out = {};
  std::string out = {};      // the head
  std::string samples = {};  // empty: `out` + ".samples"

  // The samples. Those in the file are used again, so change these with another file only.
  std::vector<int> layers = {};  // of the target, three; empty: DefaultTargetLayers
  int prompt_rows = 64;          // of each prompt the last rows that the head sees
  int max_tokens = 512;          // of a continuation
  int context_size = 8192;       // cells of the target

  // The head.
  int draft_vocabulary = 8192;  // outputs at most, but for those that always are there
  // Q8_0 halves the file, which is read whole for each drafted token, and the loss of precision
  // costs no more than a draft now and then: never a token of the answer.
  HeadStorage storage = HeadStorage::kQ8;

  // Training.
  HeadLossOptions loss = {};
  int epochs = 6;  // over the samples that are not held out
  // 0 steps: as many as `epochs` asks for. Its files and settings are set by TrainHead, its threads
  // are the target's as well. The paper's rate of 8e-5 suits long runs; a small head on a few
  // thousand samples learns more from this one.
  LoopOptions loop = {
      .steps = 0, .batch = 8, .warmup_steps = 50, .peak_rate = 1e-3, .seed = 1, .score_every = 100};
  int scored_samples = 48;  // held-out samples at most for these; the last score takes them all
};

// Called from the training thread. All may be empty.
struct HeadWatch {
  ProgressSink loading = {};
  std::function<void(const CollectProgress&)> collecting = {};
  // Before the first step: how many samples there are, and how many are held out.
  std::function<void(int samples, int held_out, int draft_vocabulary)> prepared = {};
  std::function<void(const LoopProgress&)> training = {};
  // Held-out scores after `step` steps, by the names of HeadScores.
  std::function<void(int step, const std::map<std::string, double>&)> scored = {};
};

struct HeadResult {
  bool finished = false;  // false: stopped; the same call goes on from there
  Collected collected;
  int samples = 0;
  int held_out = 0;
  int draft_vocabulary = 0;
  int step = 0;
  int best_step = 0;                     // whose parameters the head has
  std::map<std::string, double> scores;  // of the head on all held-out samples; empty if stopped
};

// Makes the samples that are missing, trains, and writes the head that has the most of its held-out
// drafts accepted. Beside `out` lie samples (unless elsewhere), `out`.checkpoint and
// `out`.curve.jsonl; a call with the same options goes on from them. Until `stop` becomes true:
// then no head is written. Errors name the file or option and the remedy: not a GGUF, an
// architecture without features, samples or a checkpoint of another target or other options, no
// requests, no disk space.
Result<HeadResult> TrainHead(const HeadOptions& options, const std::atomic<bool>& stop,
                             const HeadWatch& watch);

}  // namespace schemafill
