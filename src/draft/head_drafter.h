// Drafts with an EAGLE-3 head (Li et al., 2025): a token tree behind the committed output, and a
// token behind each SIDE branch.
//
// The head's row at position P holds token P + 1 and the target's fused feature of position P; its
// logits are about token P + 2. Features come from verified rows only. A drafted token has none
// yet, so its row takes its parent's state in place of one, as in training. A SIDE branch has rows
// and cells of its own behind those of the committed output that it continues. Tested by
// tests/draft/head_drafter_test.cc.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "model/draft_head.h"

namespace schemafill {

// How large a tree is.
struct HeadLimits {
  int width = 3;               // candidates of a row, and rows of a step
  int depth = 2;               // levels of tokens; a level costs a step of the head
  int max_nodes = 8;           // of all candidates the most probable ones
  double min_probability = 0;  // of a path
};

struct HeadNode {
  Token token{};
  int parent = -1;         // index of the parent node; -1: the committed output
  double probability = 0;  // of the path, as the head sees it
};

// A SIDE branch that wants a draft: `tokens` behind the first `fork` of prompt and output.
struct HeadBranch {
  int branch = 0;  // its number
  int fork = 0;
  std::vector<Token> tokens;
};

struct HeadGuess {
  Token token{};
  double probability = 0;
};

// Not thread-safe; for one request at a time. The head must outlive it, and is its own while it
// lives.
class HeadDrafter {
 public:
  explicit HeadDrafter(DraftHead& head);  // empties its cells

  // A new request. `features` are those of the tokens at positions `first` and up, as many as there
  // are: [rows, width of a target's feature]. What the head knows of the prompt begins there.
  void Begin(std::span<const Token> prompt, int first, std::span<const float> features);

  // The features of the next positions, once a forward has verified them.
  void AddFeatures(std::span<const float> features);
  // Committed output.
  void AddTokens(std::span<const Token> tokens);

  // Nodes come parents first, the more probable first. Empty while the features of the token in
  // front of the last one are missing. Steps the head over what is new.
  std::vector<HeadNode> Draft(const HeadLimits& limits);

  // The likeliest token behind each of these branches, by one step of the head over what is new in
  // them. A branch whose features are not complete up to its last token but one gets none.
  std::map<int, HeadGuess> DraftBranches(std::span<const HeadBranch> branches);
  // The features of the branch's next tokens.
  void AddBranchFeatures(int branch, std::span<const float> features);
  void CloseBranch(int branch);

  // Numbers of a target's feature: its layers, one after another.
  size_t feature_size() const;

 private:
  // A node that the next level goes on from.
  struct Leaf {
    int node = -1;
    double probability = 1;
    SequenceId sequence{};
    std::vector<float> state;
    std::vector<HeadGuess> likeliest;  // behind it
  };

  struct Branch {
    SequenceId sequence{};        // 0 until it has a cell
    std::vector<float> features;  // of its tokens
    int stepped = 0;              // rows that have a cell in the head
  };

  int rows() const;  // with features
  void StepCommitted();
  std::vector<Leaf> StepLevel(const std::vector<HeadNode>& nodes, std::vector<Leaf> parents,
                              std::span<const int> chosen, int level, int width);
  void Open(int front, Branch* branch);
  std::vector<float> NewFeatures(int front, const Branch& branch) const;

  DraftHead& head_;
  std::vector<Token> tokens_;    // prompt and committed output
  int first_ = 0;                // position of the first feature
  std::vector<float> features_;  // of positions first_ and up
  int stepped_ = 0;              // rows that have a cell in the head
  std::optional<Leaf> root_;     // the last of them
  std::map<int, Branch> branches_;
};

}  // namespace schemafill
