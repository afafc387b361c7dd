// The training loop that adapters and heads share: order of the examples, learning rate, Adam,
// gradient clipping, held-out scores, best parameters, curve, checkpoints and resume.
// Tested by tests/train/loop_test.cc.
#pragma once

#include <torch/torch.h>

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/json.h"

namespace schemafill {

struct LoopOptions {
  int steps = 0;  // in all; the learning rate's schedule is tied to it
  int batch = 1;  // examples a step
  int warmup_steps = 20;
  double peak_rate = 1e-3;
  double final_rate_share = 0.1;  // of peak_rate, at the last step
  double beta2 = 0.98;
  double clip = 1;  // largest norm of all gradients together
  uint64_t seed = 0;
  int threads = 0;                // examples at once; 0: the cores that this process may use
  int score_every = 50;           // steps between held-out scores; the last step has one too
  double checkpoint_minutes = 2;  // between checkpoints
  std::string checkpoint = {};    // file; empty: no resume
  std::string curve = {};         // file of JSON lines; empty: none
  Json settings = {};             // what the run depends on: a checkpoint of others is refused
};

// What one example gave, summed over its answer's tokens.
struct Tally {
  double loss = 0;
  int64_t tokens = 0;
  int64_t correct = 0;  // most likely token is the right one

  void Add(const Tally& other);
  double mean_loss() const { return tokens > 0 ? loss / tokens : 0; }
  double accuracy() const { return tokens > 0 ? double(correct) / tokens : 0; }
};

struct Learned {
  torch::Tensor
      loss;  // mean over the example's tokens, differentiable; undefined: nothing to learn
  Tally tally;
};

struct LoopTask {
  std::vector<torch::Tensor> parameters;
  int examples = 0;
  // Forward pass of an example. Called by several threads at once.
  std::function<Learned(int index)> learn;
  // Held-out scores, "loss" among them.
  std::function<std::map<std::string, double>()> score;
  // The score that the best parameters are chosen by; the loss where it is the same.
  std::string chosen_by = "loss";
  bool higher_is_better = false;
};

struct LoopProgress {
  int step = 0;
  int steps = 0;
  double loss = 0;  // of the last steps
  double accuracy = 0;
  double tokens_per_second = 0;
};

struct LoopResult {
  bool finished = false;  // false: stopped, and a checkpoint was kept
  int step = 0;
  int best_step = 0;
  std::map<std::string, double> best_scores;
};

// Linear from 0 over the warm-up, then a cosine down to the final share. `step` from 0.
double LearningRate(const LoopOptions& options, int step);

// Endless sequence of examples: every epoch has its own order, which depends on seed and epoch
// alone.
class ExampleOrder {
 public:
  // REQUIRES: examples > 0.
  ExampleOrder(uint64_t seed, int examples) : seed_(seed), order_(examples) {}
  // The example at `place`, from 0.
  int At(int64_t place);

 private:
  uint64_t seed_;
  int64_t epoch_ = -1;
  std::vector<int> order_;  // of that epoch
};

// Trains until the last step, or until `stop` becomes true. Goes on from the checkpoint where there
// is one. Afterwards `parameters` are the best ones by their held-out score. Errors: a checkpoint
// of other settings or damaged, files that can't be written.
Result<LoopResult> RunLoop(const LoopOptions& options, const LoopTask& task,
                           const std::atomic<bool>& stop,
                           const std::function<void(const LoopProgress&)>& progress);

}  // namespace schemafill
