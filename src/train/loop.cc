#include "train/loop.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <numbers>
#include <numeric>
#include <sstream>
#include <system_error>
#include <utility>

#include "base/clock.h"
#include "base/random.h"
#include "train/parallel.h"

namespace schemafill {
namespace {

namespace fs = std::filesystem;

// What a checkpoint holds beside parameters and the optimiser's state.
struct LoopState {
  int step = 0;
  int best_step = 0;
  std::map<std::string, double> best_scores;
};

class Loop {
 public:
  Loop(const LoopOptions& options, const LoopTask& task)
      : options_(options),
        task_(task),
        order_(options.seed, task.examples),
        adam_(task.parameters,
              torch::optim::AdamOptions(options.peak_rate).betas({0.9, options.beta2})) {
    for (const torch::Tensor& parameter : task.parameters) {
      best_.push_back(parameter.detach().clone());
    }
  }

  Result<LoopResult> Run(const std::atomic<bool>& stop,
                         const std::function<void(const LoopProgress&)>& progress) {
    if (Status status = Resume(); !status) return status.error();
    if (Status status = OpenCurve(); !status) return status.error();
    if (state_.step == 0) {
      if (Status status = Score({}, 0); !status) return status.error();
    }
    Stopwatch watch;
    Stopwatch since_checkpoint;
    Tally window;
    int64_t tokens = 0;
    while (state_.step < options_.steps && !stop) {
      const Tally tally = Step();
      window.Add(tally);
      tokens += tally.tokens;
      ++state_.step;
      const double seconds = watch.ElapsedMs() / 1000;
      progress({.step = state_.step,
                .steps = options_.steps,
                .loss = window.mean_loss(),
                .accuracy = window.accuracy(),
                .tokens_per_second = tokens / seconds});
      const bool last = state_.step == options_.steps;
      if (last || state_.step % options_.score_every == 0) {
        if (Status status = Score(window, tokens / seconds); !status) return status.error();
        window = {};
      }
      if (last || since_checkpoint.ElapsedMs() > options_.checkpoint_minutes * 60'000) {
        if (Status status = Save(); !status) return status.error();
        since_checkpoint = {};
      }
    }
    const bool finished = state_.step >= options_.steps;
    if (!finished) {
      if (Status status = Save(); !status) return status.error();
    }
    const torch::NoGradGuard no_grad;
    for (size_t i = 0; i < best_.size(); ++i) task_.parameters[i].detach().copy_(best_[i]);
    return LoopResult{finished, state_.step, state_.best_step, state_.best_scores};
  }

 private:
  Tally Step() {
    for (auto& group : adam_.param_groups()) {
      static_cast<torch::optim::AdamOptions&>(group.options())
          .lr(LearningRate(options_, state_.step));
    }
    std::vector<Tally> tallies(options_.batch);
    std::vector<std::vector<torch::Tensor>> gradients(options_.batch);
    std::vector<int> examples;
    for (int i = 0; i < options_.batch; ++i) {
      examples.push_back(order_.At(int64_t{state_.step} * options_.batch + i));
    }
    ParallelFor(options_.threads, options_.batch, [&](int i) {
      const Learned learned = task_.learn(examples[i]);
      tallies[i] = learned.tally;
      if (!learned.loss.defined()) return;
      gradients[i] = torch::autograd::grad({learned.loss / options_.batch}, task_.parameters);
    });
    // In the batch's order, so that a run doesn't depend on which thread was first.
    Tally tally;
    for (const Tally& one : tallies) tally.Add(one);
    for (size_t p = 0; p < task_.parameters.size(); ++p) {
      torch::Tensor sum = torch::zeros_like(task_.parameters[p]);
      for (const std::vector<torch::Tensor>& one : gradients) {
        if (!one.empty()) sum += one[p];
      }
      task_.parameters[p].mutable_grad() = sum;
    }
    torch::nn::utils::clip_grad_norm_(task_.parameters, options_.clip);
    adam_.step();
    return tally;
  }

  bool IsBetter(const std::map<std::string, double>& scores) const {
    if (state_.best_scores.empty()) return true;
    const double now = scores.at(task_.chosen_by), best = state_.best_scores.at(task_.chosen_by);
    if (now == best) return scores.at("loss") < state_.best_scores.at("loss");
    return (now > best) == task_.higher_is_better;
  }

  // A line of the curve; keeps the parameters if none were better.
  Status Score(const Tally& window, double tokens_per_second) {
    std::map<std::string, double> scores;
    {
      const torch::NoGradGuard no_grad;
      scores = task_.score();
      if (IsBetter(scores)) {
        state_.best_step = state_.step;
        state_.best_scores = scores;
        for (size_t i = 0; i < best_.size(); ++i) best_[i].copy_(task_.parameters[i]);
      }
    }
    if (options_.curve.empty()) return {};
    Json line = {{"step", state_.step},
                 {"examples", int64_t{state_.step} * options_.batch},
                 {"rate", LearningRate(options_, std::max(0, state_.step - 1))},
                 {"held_out", scores}};
    if (window.tokens > 0) {
      line["loss"] = window.mean_loss();
      line["accuracy"] = window.accuracy();
      line["tokens_per_second"] = tokens_per_second;
    }
    curve_ << DumpLine(line) << std::endl;
    if (!curve_) return Unavailable(fmt::format("'{}' can't be written", options_.curve));
    return {};
  }

  // Continues the curve behind the step that the checkpoint has.
  Status OpenCurve() {
    if (options_.curve.empty()) return {};
    std::string kept;
    if (state_.step > 0) {
      std::ifstream old(options_.curve);
      for (std::string line; std::getline(old, line);) {
        const Result<Json> json = ParseJson(line, "curve");
        if (json && json->value("step", 0) <= state_.step) kept += line + '\n';
      }
    }
    curve_.open(options_.curve, std::ios::trunc);
    curve_ << kept << std::flush;
    if (!curve_) {
      return BadInput(fmt::format("'{}' can't be written; check the folder", options_.curve));
    }
    return {};
  }

  Status Save() {
    if (options_.checkpoint.empty()) return {};
    const std::string temporary = fmt::format("{}.{}.part", options_.checkpoint, getpid());
    try {
      torch::serialize::OutputArchive archive;
      archive.write("settings", c10::IValue(DumpLine(options_.settings)));
      archive.write("state", c10::IValue(DumpLine({{"step", state_.step},
                                                   {"best_step", state_.best_step},
                                                   {"best_scores", state_.best_scores}})));
      for (size_t i = 0; i < best_.size(); ++i) {
        archive.write(fmt::format("parameter{}", i), task_.parameters[i].detach());
        archive.write(fmt::format("best{}", i), best_[i]);
      }
      torch::serialize::OutputArchive adam;
      adam_.save(adam);
      archive.write("adam", adam);
      archive.save_to(temporary);
    } catch (const c10::Error& error) {
      std::error_code ignored;
      fs::remove(temporary, ignored);
      return Unavailable(fmt::format("'{}' could not be written ({}); free some disk space",
                                     options_.checkpoint, error.what_without_backtrace()));
    }
    std::error_code error;
    fs::rename(temporary, options_.checkpoint, error);
    if (error) {
      return Unavailable(
          fmt::format("'{}' could not be written ({})", options_.checkpoint, error.message()));
    }
    return {};
  }

  Status Resume() {
    if (options_.checkpoint.empty() || !fs::exists(options_.checkpoint)) return {};
    const auto remedy = [&](std::string_view what) {
      return BadInput(
          fmt::format("checkpoint '{}' {}; remove it to start anew, or name another "
                      "output",
                      options_.checkpoint, what));
    };
    try {
      torch::serialize::InputArchive archive;
      archive.load_from(options_.checkpoint);
      c10::IValue text;
      archive.read("settings", text);
      const Json settings = Json::parse(text.toStringRef());
      for (const auto& [name, value] : options_.settings.items()) {
        if (settings.value(name, Json()) == value) continue;
        return remedy(fmt::format("was made with {} {}, and this run has {}", name,
                                  DumpLine(settings.value(name, Json())), DumpLine(value)));
      }
      archive.read("state", text);
      const Json state = Json::parse(text.toStringRef());
      state_.step = state.at("step");
      state_.best_step = state.at("best_step");
      state_.best_scores = state.at("best_scores");
      const torch::NoGradGuard no_grad;
      for (size_t i = 0; i < best_.size(); ++i) {
        torch::Tensor value;
        archive.read(fmt::format("parameter{}", i), value);
        task_.parameters[i].detach().copy_(value);
        archive.read(fmt::format("best{}", i), best_[i]);
      }
      torch::serialize::InputArchive adam;
      archive.read("adam", adam);
      adam_.load(adam);
    } catch (const std::exception&) {
      return remedy("is damaged");
    }
    return {};
  }

  const LoopOptions& options_;
  const LoopTask& task_;
  ExampleOrder order_;
  torch::optim::Adam adam_;
  LoopState state_;
  std::vector<torch::Tensor> best_;
  std::ofstream curve_;
};

}  // namespace

void Tally::Add(const Tally& other) {
  loss += other.loss;
  tokens += other.tokens;
  correct += other.correct;
}

double LearningRate(const LoopOptions& options, int step) {
  if (step < options.warmup_steps) {
    return options.peak_rate * (step + 1) / (options.warmup_steps + 1);
  }
  const double done =
      double(step - options.warmup_steps) / std::max(1, options.steps - options.warmup_steps);
  const double share = 0.5 * (1 + std::cos(std::numbers::pi * std::min(1.0, done)));
  return options.peak_rate * (options.final_rate_share + (1 - options.final_rate_share) * share);
}

int ExampleOrder::At(int64_t place) {
  const auto examples = static_cast<int64_t>(order_.size());
  const int64_t epoch = place / examples;
  if (epoch != epoch_) {
    epoch_ = epoch;
    std::iota(order_.begin(), order_.end(), 0);
    // Sorting by a keyed hash is a shuffle that needs no state.
    std::ranges::sort(order_, {}, [&](int example) {
      return KeyedBits({.seed = seed_,
                        .stream = static_cast<uint64_t>(epoch),
                        .position = static_cast<uint64_t>(example)});
    });
  }
  return order_[place % examples];
}

Result<LoopResult> RunLoop(const LoopOptions& options, const LoopTask& task,
                           const std::atomic<bool>& stop,
                           const std::function<void(const LoopProgress&)>& progress) {
  Check(task.examples > 0 && options.steps > 0 && options.batch > 0, "RunLoop: nothing to learn");
  return Loop(options, task).Run(stop, progress);
}

}  // namespace schemafill
