// schemafill-train: the commands that need libtorch. `schemafill train-...` starts it.
#include <fmt/format.h>
#include <malloc.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <map>
#include <memory>

#include "apps/help.h"
#include "apps/options.h"
#include "apps/progress.h"
#include "base/version.h"
#include "train/adapter.h"
#include "train/head.h"

namespace schemafill {
namespace {

using CommandRunner = std::function<int()>;

std::atomic<bool> stop_asked = false;

void AskToStop(int) {
  stop_asked = true;
  std::signal(SIGINT, SIG_DFL);  // a second one ends at once
  std::signal(SIGTERM, SIG_DFL);
}

void AddLoopOptions(CLI::App& command, LoopOptions* options) {
  CLI::Option* steps = command.add_option("--steps", options->steps, "Steps in all")
                           ->check(CLI::Range(1, 10'000'000));
  if (options->steps > 0) steps->capture_default_str();
  command.add_option("--batch", options->batch, "Examples a step")
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  command.add_option("--rate", options->peak_rate, "Peak learning rate")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command.add_option("--warmup", options->warmup_steps, "Steps until the peak rate")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--threads", options->threads, "Threads; 0: one a core")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  command.add_option("--score-every", options->score_every, "Steps between held-out scores")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--seed", options->seed, "Seed of first weights and order")
      ->capture_default_str();
}

void ShowStep(ProgressBar& bar, const LoopProgress& step) {
  bar.Show(double(step.step) / step.steps,
           fmt::format("step {} of {}, loss {:.3f}, {:.0f} tokens/s", step.step, step.steps,
                       step.loss, step.tokens_per_second));
}

std::string Scores(const std::map<std::string, double>& scores) {
  std::string text;
  for (const auto& [name, value] : scores) text += fmt::format(" {} {:.4f}", name, value);
  return text;
}

int ReportResult(const Result<LoopResult>& result, const std::string& out) {
  if (!result) return Report(result.error());
  if (!result->finished) {
    fmt::print(stderr, "stopped after step {}; the same command goes on from there\n",
               result->step);
    return kExitOk;
  }
  fmt::print("{}: best of {} steps is step {}\nheld out:{}\n", out, result->step, result->best_step,
             Scores(result->best_scores));
  return kExitOk;
}

CommandRunner AddTrainAdapter(CLI::App& program) {
  auto options = std::make_shared<AdapterOptions>();
  CLI::App* app = program.add_subcommand(
      "train-adapter", "Tune a LoRA adapter for a llama-architecture target on exact answers");
  app->add_option("--target", options->target, "Target model, a GGUF file")->required();
  app->add_option("--examples", options->examples,
                  "JSON lines: messages, tools, answer (tools/training_data.py writes them)")
      ->required();
  app->add_option("--held-out", options->held_out, "The same, for held-out scores")->required();
  app->add_option("--from", options->from, "Adapter to start from (default: a new one)");
  app->add_option("--out", options->out, "Adapter to write, a GGUF file")->required();
  app->add_option("--rank", options->rank, "Rank")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  app->add_option("--max-tokens", options->max_tokens, "Leave longer examples out")
      ->check(CLI::Range(8, 1 << 20))
      ->capture_default_str();
  AddLoopOptions(*app, &options->loop);
  return [options] {
    ProgressBar bar("train-adapter");
    bool told = false;
    const auto progress = [&](const AdapterData& data, const LoopProgress& step) {
      if (!told) {
        fmt::print(stderr, "{} examples, {} held out, {} left out as too long\n", data.examples,
                   data.held_out, data.too_long);
        told = true;
      }
      ShowStep(bar, step);
    };
    const Result<LoopResult> result = TrainAdapter(*options, stop_asked, progress);
    bar.Clear();
    return ReportResult(result, options->out);
  };
}

void AddHeadOptions(CLI::App& command, HeadOptions* options) {
  command.add_option("--target", options->target, "Target model, a GGUF file as it will be served")
      ->required();
  command
      .add_option("--requests", options->requests,
                  "JSON lines, each an OpenAI body: what the target will be asked")
      ->required();
  command.add_option("--held-out", options->held_out,
                     "The same, for held-out scores (default: about 8 % of the requests)");
  command.add_option("--out", options->out, "Head to write, a GGUF file")->required();
  command.add_option("--samples", options->samples,
                     "File of the target's answers and features (default: OUT.samples)");
  command
      .add_option("--layers", options->layers,
                  "The target's three layers to read (default: 2, the middle, the last but two)")
      ->expected(3);
  command
      .add_option("--max-tokens", options->max_tokens, "Cut the target's answers after N tokens")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--vocabulary", options->draft_vocabulary, "Tokens that it can draft")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--rollout", options->loss.rollout, "Steps of its own drafts in training")
      ->check(CLI::Range(1, 16))
      ->capture_default_str();
  command.add_option("--epochs", options->epochs, "Times through the samples, unless --steps says")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  AddLoopOptions(command, &options->loop);
}

// What drafts are worth: of those of 1, 2, ... tokens the share that is right to the end.
std::string HeadScoresLine(const std::map<std::string, double>& scores) {
  std::string text = fmt::format("loss {:.3f}, accepted:", scores.at("loss"));
  for (int step = 1; step <= kScoredSteps; ++step) {
    text += fmt::format(" {:.3f}", scores.at(fmt::format("accept_{}", step)));
  }
  return text;
}

int ReportHead(const Result<HeadResult>& result, const std::string& out) {
  if (!result) return Report(result.error());
  if (!result->finished) {
    fmt::print(stderr, "stopped with {} samples, after step {}; the same command goes on\n",
               result->samples, result->step);
    return kExitOk;
  }
  fmt::print("{}: {} samples, {} held out, best step {} of {}\nheld out: {}\n", out,
             result->samples, result->held_out, result->best_step, result->step,
             HeadScoresLine(result->scores));
  return kExitOk;
}

CommandRunner AddTrainHead(CLI::App& program) {
  auto options = std::make_shared<HeadOptions>();
  CLI::App* app = program.add_subcommand(
      "train-head", "Train an EAGLE-3 head for a target, on what the target itself answers");
  AddHeadOptions(*app, options.get());
  return [options] {
    ProgressBar collecting("target's answers");
    ProgressBar training("train-head");
    HeadWatch watch;
    watch.collecting = [&](const CollectProgress& now) {
      collecting.Show(double(now.done) / now.total,
                      fmt::format("{} of {} requests, {:.0f} tokens/s", now.done, now.total,
                                  now.tokens_per_second));
    };
    watch.prepared = [&](int samples, int held_out, int vocabulary) {
      collecting.Clear();
      fmt::print(stderr, "{} samples, {} of them held out; {} tokens can be drafted\n", samples,
                 held_out, vocabulary);
    };
    watch.training = [&](const LoopProgress& step) { ShowStep(training, step); };
    watch.scored = [&](int step, const std::map<std::string, double>& scores) {
      training.Clear();
      fmt::print(stderr, "step {}, held out: {}\n", step, HeadScoresLine(scores));
    };
    const Result<HeadResult> result = TrainHead(*options, stop_asked, watch);
    collecting.Clear();
    training.Clear();
    return ReportHead(result, options->out);
  };
}

int Main(int argc, char** argv) {
  CLI::App program("Training for SchemaFill", "schemafill");
  program.set_version_flag("--version", std::string(Version()));
  program.require_subcommand(1);
  program.formatter(std::make_shared<HelpFormatter>());
  std::map<std::string, CommandRunner> runners = {
      {"train-adapter", AddTrainAdapter(program)},
      {"train-head", AddTrainHead(program)},
  };
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return program.exit(error) == 0 ? kExitOk : kExitBadInput;
  }
  std::signal(SIGINT, AskToStop);
  std::signal(SIGTERM, AskToStop);
  // Keep freed activations instead of handing them back to the kernel at every step.
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  try {
    return runners.at(program.get_subcommands().front()->get_name())();
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return kExitInternal;
  }
}

}  // namespace
}  // namespace schemafill

int main(int argc, char** argv) { return schemafill::Main(argc, argv); }
