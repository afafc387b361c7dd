#include "train/head.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <utility>

#include "base/hash_file.h"
#include "catalog/prompt.h"
#include "model/hash_tokens.h"
#include "model/llama/llama_model.h"
#include "model/llama/llama_target.h"

namespace schemafill {
namespace {

constexpr int kMeasuredSamples = 8;  // for the sizes of features

Status CheckOptions(const HeadOptions& options) {
  const auto check = [](bool right, const char* message) {
    return right ? Status() : Status(BadInput(message));
  };
  for (const Status& status :
       {check(!options.out.empty(), "no output file given; name the head with --out"),
        check(options.layers.empty() || options.layers.size() == kTargetLayers,
              "an EAGLE-3 head reads three layers of its target; give three numbers"),
        check(options.prompt_rows >= 2, "prompt rows must be 2 or more"),
        check(options.max_tokens >= 1, "max tokens must be 1 or more"),
        check(options.draft_vocabulary >= 1, "the draft vocabulary must have 1 token or more"),
        check(options.loss.rollout >= 1 && options.loss.rollout <= 16, "rollout must be 1 to 16"),
        check(options.loss.decay > 0, "the decay must be above 0"),
        check(options.epochs >= 1 && options.loop.steps >= 0, "epochs must be 1 or more"),
        check(options.loop.batch >= 1, "the batch must be 1 or more"),
        check(options.loop.peak_rate > 0, "the learning rate must be above 0"),
        check(options.loop.score_every >= 1 && options.scored_samples >= 1,
              "scores must be 1 or more steps and samples apart")}) {
    if (!status) return status;
  }
  return {};
}

Status CheckLayers(const std::vector<int>& layers, const ModelInfo& target) {
  for (const int layer : layers) {
    if (layer >= 0 && layer < target.layers) continue;
    return BadInput(fmt::format("layer {} is none of the target's, which are 0 to {}", layer,
                                target.layers - 1));
  }
  return {};
}

// The target, once it is known that it gives features.
Result<std::unique_ptr<TargetModel>> LoadTargetWithFeatures(const HeadOptions& options,
                                                            const HeadWatch& watch) {
  auto target = LoadTarget({.path = options.target,
                            .context_size = options.context_size,
                            .threads = options.loop.threads,
                            .progress = watch.loading});
  if (!target) return target.error();
  const auto* llama = dynamic_cast<const LlamaTarget*>(target->get());
  if (llama == nullptr || !llama->has_features()) {
    return Unavailable(fmt::format(
        "libllama gives no hidden states of '{}', which is of architecture '{}'; heads are for "
        "llama, qwen3, qwen3moe, minimax-m2 and nanbeige",
        options.target, (*target)->info().architecture));
  }
  return target;
}

// Root mean square of each layer's features over some samples.
std::vector<double> MeasureFeatures(const HeadSamples& samples, std::span<const int> train) {
  const auto count = std::min<size_t>(train.size(), kMeasuredSamples);
  torch::Tensor sum = torch::zeros({kTargetLayers}, torch::kFloat64);
  int64_t rows = 0;
  for (const int index : train.first(count)) {
    const torch::Tensor features = samples.Features(index);
    sum += features.view({features.size(0), kTargetLayers, -1}).square().mean(-1).sum(0);
    rows += features.size(0);
  }
  std::vector<double> sizes;
  for (int layer = 0; layer < kTargetLayers; ++layer) {
    sizes.push_back(std::sqrt(sum[layer].item<double>() / static_cast<double>(rows)) + 1e-6);
  }
  return sizes;
}

// A training run: what TrainHead puts together on its way.
class HeadTrainer {
 public:
  HeadTrainer(const HeadOptions& options, const HeadWatch& watch)
      : options_(options), watch_(watch) {}

  Result<HeadResult> Run(const std::atomic<bool>& stop) {
    if (Status status = MakeSamples(stop); !status) return status.error();
    if (!result_.collected.finished) return result_;
    if (Status status = MakeNet(); !status) return status.error();
    if (watch_.prepared)
      watch_.prepared(result_.samples, result_.held_out, result_.draft_vocabulary);
    if (Status status = Train(stop); !status) return status.error();
    if (!result_.finished) return result_;
    result_.scores = Score(split_.held_out);
    const Status saved =
        net_->Save(options_.out, *header_, samples_->origin().prompt_rows, options_.storage);
    if (!saved) return saved.error();
    return result_;
  }

 private:
  Status MakeSamples(const std::atomic<bool>& stop) {
    auto requests = ReadRequests(options_.requests);
    if (!requests) return requests.error();
    if (!options_.held_out.empty()) {
      const auto held_out = ReadRequests(options_.held_out);
      if (!held_out) return held_out.error();
      held_out_ = *held_out;
      requests->insert(requests->end(), held_out_.begin(), held_out_.end());
    }
    auto header = GgufHeader::Read("target", options_.target);
    if (!header) return header.error();
    header_ = std::make_unique<GgufHeader>(std::move(header.value()));
    const auto target = LoadTargetWithFeatures(options_, watch_);
    if (!target) return target.error();
    const ModelInfo& info = (*target)->info();
    const Result<std::string> hash = HashFile(options_.target);
    if (!hash) return hash.error();
    const std::vector<int> layers =
        options_.layers.empty() ? DefaultTargetLayers(info.layers) : options_.layers;
    if (Status status = CheckLayers(layers, info); !status) return status;
    auto samples =
        HeadSamples::Open(options_.samples.empty() ? options_.out + ".samples" : options_.samples,
                          {.target = *hash,
                           .width = info.embedding_size,
                           .layers = layers,
                           .prompt_rows = options_.prompt_rows});
    if (!samples) return samples.error();
    samples_ = std::make_unique<HeadSamples>(std::move(samples.value()));
    const auto collected = CollectSamples(
        **target, *requests, options_.max_tokens, samples_.get(), stop,
        watch_.collecting ? watch_.collecting : [](const CollectProgress&) {});
    if (!collected) return collected.error();
    result_.collected = *collected;
    result_.samples = static_cast<int>(samples_->samples().size());
    if (!collected->finished) return {};
    return Divide((*target)->tokenizer());
  }

  // What needs the target's tokenizer: after it the target is not needed any more.
  Status Divide(const Tokenizer& tokenizer) {
    if (result_.samples < 2) {
      return BadInput(fmt::format(
          "'{}' gives {} samples ({} prompts too long, {} answers too short), and training needs 2 "
          "at least; give more requests",
          options_.requests, result_.samples, result_.collected.too_long,
          result_.collected.too_short));
    }
    if (held_out_.empty()) {
      split_ = SplitSamples(samples_->samples());
    } else {
      std::set<uint64_t> hashes;
      for (const Request& request : held_out_) {
        hashes.insert(HashTokens(BuildPrompt(request, tokenizer).tokens));
      }
      split_ = SplitSamples(samples_->samples(), hashes);
      if (split_.train.empty() || split_.held_out.empty()) {
        return BadInput(fmt::format(
            "'{}' and '{}' give {} samples to learn from and {} held out; "
            "give different requests in both",
            options_.requests, options_.held_out, split_.train.size(), split_.held_out.size()));
      }
    }
    vocabulary_ = ChooseDraftVocabulary(samples_->samples(), split_.train, tokenizer,
                                        options_.draft_vocabulary);
    result_.held_out = static_cast<int>(split_.held_out.size());
    result_.draft_vocabulary = static_cast<int>(vocabulary_.size());
    return {};
  }

  Status MakeNet() {
    const Result<ModelShape> shape = ReadModelShape(*header_, options_.target);
    if (!shape) return shape.error();
    const Result<TargetWeights> weights = ReadTargetWeights(*header_, options_.target);
    if (!weights) return weights.error();
    index_ = std::make_unique<DraftIndex>(vocabulary_, weights->embedding.size(0));
    net_ = std::make_unique<HeadNet>(
        HeadConfig{
            .shape = *shape, .target_layers = samples_->origin().layers, .vocabulary = vocabulary_},
        *weights, MeasureFeatures(*samples_, split_.train), options_.loop.seed);
    return {};
  }

  Lesson LessonOf(int index) const {
    return MakeLesson(*net_, *index_, samples_->samples()[index], samples_->Features(index));
  }

  std::map<std::string, double> Score(std::span<const int> held_out) const {
    const torch::NoGradGuard no_grad;
    HeadScores scores;
    for (const int index : held_out) scores.Add(*net_, LessonOf(index), options_.loss);
    return scores.Values();
  }

  LoopOptions MakeLoopOptions() const {
    const auto train = static_cast<int>(split_.train.size());
    LoopOptions loop = options_.loop;
    if (loop.steps == 0) loop.steps = (train * options_.epochs + loop.batch - 1) / loop.batch;
    loop.warmup_steps = std::min(loop.warmup_steps, loop.steps / 4);
    loop.checkpoint = options_.out + ".checkpoint";
    loop.curve = options_.out + ".curve.jsonl";
    loop.settings = {{"target", samples_->origin().target},
                     {"layers", samples_->origin().layers},
                     {"samples", result_.samples},
                     {"draft_vocabulary", result_.draft_vocabulary},
                     {"rollout", options_.loss.rollout},
                     {"decay", options_.loss.decay},
                     {"steps", loop.steps},
                     {"batch", loop.batch},
                     {"rate", loop.peak_rate},
                     {"seed", loop.seed}};
    return loop;
  }

  Status Train(const std::atomic<bool>& stop) {
    int step = 0;
    const auto scored =
        std::span(split_.held_out)
            .first(std::min<size_t>(split_.held_out.size(), options_.scored_samples));
    const LoopTask task = {.parameters = net_->Parameters(),
                           .examples = static_cast<int>(split_.train.size()),
                           .learn =
                               [&](int index) {
                                 return LearnLesson(*net_, LessonOf(split_.train[index]),
                                                    options_.loss);
                               },
                           .score =
                               [&] {
                                 const auto scores = Score(scored);
                                 if (watch_.scored) watch_.scored(step, scores);
                                 return scores;
                               },
                           .chosen_by = "drafted",
                           .higher_is_better = true};
    const auto done = RunLoop(MakeLoopOptions(), task, stop, [&](const LoopProgress& progress) {
      step = progress.step;
      if (watch_.training) watch_.training(progress);
    });
    if (!done) return done.error();
    result_.finished = done->finished;
    result_.step = done->step;
    result_.best_step = done->best_step;
    return {};
  }

  const HeadOptions& options_;
  const HeadWatch& watch_;
  HeadResult result_;
  std::vector<Request> held_out_;  // empty: a share of the samples
  std::unique_ptr<GgufHeader> header_;
  std::unique_ptr<HeadSamples> samples_;
  SampleSplit split_;
  std::vector<Token> vocabulary_;
  std::unique_ptr<DraftIndex> index_;
  std::unique_ptr<HeadNet> net_;
};

}  // namespace

Result<HeadResult> TrainHead(const HeadOptions& options, const std::atomic<bool>& stop,
                             const HeadWatch& watch) {
  if (Status status = CheckOptions(options); !status) return status.error();
  return HeadTrainer(options, watch).Run(stop);
}

}  // namespace schemafill
