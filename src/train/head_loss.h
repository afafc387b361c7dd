// What a head is trained for and scored by: that chains of drafted tokens are the target's own
// greedy continuation. Tested by tests/train/head_loss_test.cc.
#pragma once

#include <torch/torch.h>

#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/tokenizer.h"
#include "train/head_net.h"
#include "train/head_samples.h"
#include "train/loop.h"

namespace schemafill {

struct HeadLossOptions {
  int rollout = 3;     // drafted steps in training
  double decay = 0.8;  // weight of a step's loss, by that of the step before
};

// Drafts that acceptance is scored for.
inline constexpr int kScoredSteps = 5;

// The most frequent tokens of the continuations of these samples, then of their prompts, `size` at
// most; the tokens that end an answer and those of a single byte always are among them. In
// order of their ids.
std::vector<Token> ChooseDraftVocabulary(std::span<const HeadSample> samples,
                                         std::span<const int> train, const Tokenizer& tokenizer,
                                         int size);

// Outputs of a draft vocabulary by the target's tokens.
class DraftIndex {
 public:
  DraftIndex(std::span<const Token> vocabulary, int64_t target_vocabulary);
  // The output for each token, or -1.
  torch::Tensor Outputs(const torch::Tensor& tokens) const {
    return outputs_.index_select(0, tokens);
  }

 private:
  torch::Tensor outputs_;  // [target vocabulary]
};

// A sample as the network takes it. Roots are the rows that a draft of continuation tokens may
// begin from: the first of them has the prompt's last token.
struct Lesson {
  HeadNet::Text text;
  torch::Tensor outputs;  // of the tokens behind each row: row r's step j is to draft [r + j - 1]
};

Lesson MakeLesson(const HeadNet& net, const DraftIndex& index, const HeadSample& sample,
                  const torch::Tensor& features);

// Cross entropy of the target's own token, the mean over a step's roots, summed over the steps with
// weights decay^(j - 1) that add up to 1. Greedy decoding needs the right token alone, so there are
// no soft targets. Tokens outside of the draft vocabulary don't count; undefined where none counts.
// The tally's tokens and accuracy are those of step 1.
Learned LearnLesson(const HeadNet& net, const Lesson& lesson, const HeadLossOptions& options);

// Over these lessons together: "loss" as in LearnLesson; "accept_j" for j = 1 .. kScoredSteps: of
// the drafts of j tokens the share whose first j tokens are all right; "match_j": step j is right
// where all steps before it were; "drafted": tokens that a draft of kScoredSteps has accepted on
// average, the sum of accept_j. A token outside of the draft vocabulary is a miss.
class HeadScores {
 public:
  void Add(const HeadNet& net, const Lesson& lesson, const HeadLossOptions& options);
  std::map<std::string, double> Values() const;

 private:
  struct Step {
    int64_t drafts = 0;    // that the text is long enough for
    int64_t reached = 0;   // of them, all earlier steps were right
    int64_t accepted = 0;  // and this one as well
  };
  Step steps_[kScoredSteps];
  double loss_ = 0;  // times tokens
  int64_t tokens_ = 0;
};

}  // namespace schemafill
