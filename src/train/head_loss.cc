#include "train/head_loss.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace schemafill {
namespace {

// What step `step` (from 0) is to draft at each root.
torch::Tensor StepOutputs(const Lesson& lesson, int step) {
  return lesson.outputs.slice(0, lesson.text.first_root + step);
}

// Mean cross entropy where there is an output to learn; undefined where there is none.
torch::Tensor StepLoss(const torch::Tensor& logits, const torch::Tensor& outputs) {
  const torch::Tensor rows = (outputs >= 0).nonzero().squeeze(1);
  if (rows.numel() == 0) return {};
  return torch::nn::functional::cross_entropy(logits.index_select(0, rows),
                                              outputs.index_select(0, rows));
}

// Weighted mean of the steps' losses, from the logits of each step.
torch::Tensor MeanLoss(std::span<const torch::Tensor> logits, const Lesson& lesson,
                       const HeadLossOptions& options) {
  torch::Tensor sum;
  double weights = 0;
  for (int step = 0; step < std::min<int>(options.rollout, std::ssize(logits)); ++step) {
    const torch::Tensor loss = StepLoss(logits[step], StepOutputs(lesson, step));
    if (!loss.defined()) continue;
    const double weight = std::pow(options.decay, step);
    sum = sum.defined() ? sum + weight * loss : weight * loss;
    weights += weight;
  }
  return sum.defined() ? sum / weights : sum;
}

std::vector<torch::Tensor> StepLogits(const HeadNet& net, const Lesson& lesson, int steps) {
  std::vector<torch::Tensor> logits;
  for (const torch::Tensor& states : net.Chains(lesson.text, steps)) {
    logits.push_back(net.Logits(states));
  }
  return logits;
}

}  // namespace

std::vector<Token> ChooseDraftVocabulary(std::span<const HeadSample> samples,
                                         std::span<const int> train, const Tokenizer& tokenizer,
                                         int size) {
  struct Use {
    bool always = false;
    int64_t written = 0, read = 0;
    int token = 0;
    auto operator<=>(const Use&) const = default;
  };
  std::vector<Use> uses(tokenizer.vocab_size());
  for (int i = 0; i < std::ssize(uses); ++i) {
    const Token token{i};
    uses[i].token = -i;  // of equals the lowest id comes first
    uses[i].always = tokenizer.IsEnd(token) || tokenizer.Piece(token).size() == 1;
  }
  for (const int index : train) {
    const HeadSample& sample = samples[index];
    for (int i = 0; i < std::ssize(sample.tokens); ++i) {
      Use& use = uses[Index(sample.tokens[i])];
      ++(i < sample.prompt_tokens ? use.read : use.written);
    }
  }
  std::ranges::sort(uses, std::greater<>());
  std::vector<Token> vocabulary;
  for (const Use& use : uses) {
    const bool wanted = use.always || use.written + use.read > 0;
    if (!wanted || (std::ssize(vocabulary) >= size && !use.always)) break;
    vocabulary.push_back(Token{-use.token});
  }
  std::ranges::sort(vocabulary);
  return vocabulary;
}

DraftIndex::DraftIndex(std::span<const Token> vocabulary, int64_t target_vocabulary)
    : outputs_(torch::full({target_vocabulary}, -1, torch::kInt64)) {
  int64_t* outputs = outputs_.data_ptr<int64_t>();
  for (size_t i = 0; i < vocabulary.size(); ++i) {
    outputs[Index(vocabulary[i])] = static_cast<int64_t>(i);
  }
}

Lesson MakeLesson(const HeadNet& net, const DraftIndex& index, const HeadSample& sample,
                  const torch::Tensor& features) {
  const auto token = [&](int place) { return int64_t{Index(sample.tokens[place])}; };
  std::vector<int64_t> beside, behind;
  for (int row = sample.first_row; row < sample.first_row + sample.rows; ++row) {
    beside.push_back(token(row + 1));
    behind.push_back(token(row + 2));
  }
  Lesson lesson;
  lesson.text.fused = net.Fuse(features);
  lesson.text.tokens = torch::tensor(beside, torch::kInt64);
  lesson.text.first_position = sample.first_row;
  lesson.text.first_root = std::max(0, sample.prompt_tokens - 2 - sample.first_row);
  lesson.outputs = index.Outputs(torch::tensor(behind, torch::kInt64));
  return lesson;
}

Learned LearnLesson(const HeadNet& net, const Lesson& lesson, const HeadLossOptions& options) {
  const std::vector<torch::Tensor> logits = StepLogits(net, lesson, options.rollout);
  Learned learned;
  learned.loss = MeanLoss(logits, lesson, options);
  if (!learned.loss.defined()) return learned;
  const torch::Tensor outputs = StepOutputs(lesson, 0);
  learned.tally.tokens = outputs.numel();
  learned.tally.loss = learned.loss.item<double>() * double(outputs.numel());
  learned.tally.correct = logits[0].argmax(-1).eq(outputs).sum().item<int64_t>();
  return learned;
}

void HeadScores::Add(const HeadNet& net, const Lesson& lesson, const HeadLossOptions& options) {
  const int steps = std::max(options.rollout, kScoredSteps);
  const std::vector<torch::Tensor> logits = StepLogits(net, lesson, steps);
  const torch::Tensor loss = MeanLoss(logits, lesson, options);
  if (loss.defined()) {
    const int64_t tokens = StepOutputs(lesson, 0).numel();
    loss_ += loss.item<double>() * tokens;
    tokens_ += tokens;
  }
  torch::Tensor right;  // all steps so far
  for (int step = 0; step < std::min<int>(kScoredSteps, std::ssize(logits)); ++step) {
    const torch::Tensor outputs = StepOutputs(lesson, step);
    const torch::Tensor matches = logits[step].argmax(-1).eq(outputs);
    const torch::Tensor before =
        step == 0 ? torch::ones_like(matches) : right.slice(0, 0, matches.numel());
    right = before.logical_and(matches);
    steps_[step].drafts += matches.numel();
    steps_[step].reached += before.sum().item<int64_t>();
    steps_[step].accepted += right.sum().item<int64_t>();
  }
}

std::map<std::string, double> HeadScores::Values() const {
  const auto share = [](int64_t part, int64_t whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  };
  std::map<std::string, double> values = {{"loss", tokens_ > 0 ? loss_ / tokens_ : 0}};
  double drafted = 0;
  for (int step = 0; step < kScoredSteps; ++step) {
    const Step& counts = steps_[step];
    values[fmt::format("accept_{}", step + 1)] = share(counts.accepted, counts.drafts);
    values[fmt::format("match_{}", step + 1)] = share(counts.accepted, counts.reached);
    drafted += share(counts.accepted, counts.drafts);
  }
  values["drafted"] = drafted;
  return values;
}

}  // namespace schemafill
