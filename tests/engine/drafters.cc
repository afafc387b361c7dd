#include "engine/drafters.h"

#include <algorithm>
#include <array>
#include <map>

#include "pack/side_rows.h"
#include "support/keyed_dice.h"

namespace schemafill {
namespace {

// A tree that stays within a round's limits: what doesn't fit is left out.
class Tree {
 public:
  explicit Tree(const PackLimits& limits) : limits_(limits) {}

  // The new node; -1 if there is no room for it.
  int Add(int parent, Token token) {
    const bool forks = has_child_[static_cast<size_t>(parent + 1)];
    const int leaves = leaves_ + (forks ? 1 : 0);
    if (size() >= limits_.max_nodes || leaves > limits_.max_leaves) return -1;
    leaves_ = leaves;
    has_child_[static_cast<size_t>(parent + 1)] = true;
    has_child_.push_back(false);
    pack_.nodes.push_back({{token, parent}, 0.5, PieceKind::kCopy});
    return size() - 1;
  }
  int size() const { return static_cast<int>(pack_.nodes.size()); }
  Pack Take() { return std::move(pack_); }

 private:
  PackLimits limits_;
  Pack pack_;
  std::vector<bool> has_child_ = {false};  // [nodes + 1], the root first
  int leaves_ = 1;
};

// SIDE branches that follow no plan. A branch on the answer's path gets right drafts.
class RandomSides {
 public:
  RandomSides(const std::vector<Token>& truth, int vocab_size, uint64_t seed)
      : truth_(truth), vocab_size_(vocab_size), dice_(seed) {}

  std::vector<SideDraft> Propose(const RoundState& state) {
    drafts_.clear();
    for (const auto& [number, branch] : open_) {
      if (dice_.OneIn(4)) continue;
      SideDraft draft{number, branch.fork, false, {branch.last}, {}};
      if (dice_.OneIn(8)) draft.context = {Any(), Any()};
      Ask(std::move(draft), branch, state);
    }
    int begin = std::min(state.side_branches, dice_.Roll(4));
    while (begin-- > 0) {
      Branch branch;
      const int output = static_cast<int>(state.tokens.size()) - state.prompt_tokens;
      const bool follows = dice_.OneIn(2);
      branch.fork = follows ? state.prompt_tokens + dice_.Roll(output + 1)
                            : dice_.Roll(static_cast<int>(state.tokens.size()) + 1);
      branch.at = follows ? branch.fork - state.prompt_tokens : -1;
      SideDraft draft{next_, branch.fork, true, {}, {}};
      const int length = 1 + dice_.Roll(6);
      for (int i = 0; i < length; ++i)
        draft.context.push_back(follows ? Truth(branch.at + i) : Token{dice_.Roll(3)});
      if (!Ask(std::move(draft), branch, state)) continue;
      open_.emplace(next_++, branch);
    }
    return drafts_;
  }

  std::vector<int> Observe(std::span<const SideVerdict> verdicts) {
    for (size_t i = 0; i < verdicts.size(); ++i) {
      Branch& branch = open_.at(verdicts[i].branch);
      branch.last = verdicts[i].correction;
      if (branch.at < 0) continue;
      branch.at += static_cast<int>(drafts_[i].context.size()) + verdicts[i].accepted;
      if (Truth(branch.at) != branch.last) branch.at = -1;
    }
    if (verdicts.empty()) drafts_.clear();
    std::vector<int> done;
    for (const auto& [number, branch] : open_) {
      if (dice_.OneIn(5)) done.push_back(number);
    }
    for (const int number : done) open_.erase(number);
    if (dice_.OneIn(9)) done.push_back(-++strangers_);  // one that nobody began
    return done;
  }

 private:
  struct Branch {
    int fork = 0;
    int at = -1;   // answer tokens in front of its next one; -1: it is not on the answer's path
    Token last{};  // its last correction
  };

  Token Any() { return Token{dice_.Roll(vocab_size_)}; }
  Token Truth(int at) {
    return at < static_cast<int>(truth_.size()) ? truth_[static_cast<size_t>(at)] : Any();
  }

  // Adds a draft of any length and keeps it if there is room.
  bool Ask(SideDraft draft, const Branch& branch, const RoundState& state) {
    const int length = dice_.Roll(6);
    for (int i = 0; i < length; ++i) {
      const int at = branch.at + static_cast<int>(draft.context.size()) + i;
      draft.draft.push_back(branch.at >= 0 && !dice_.OneIn(6) ? Truth(at) : Any());
    }
    drafts_.push_back(std::move(draft));
    const std::vector<BranchId> ids(drafts_.size());
    if (static_cast<int>(PackSide(drafts_, ids).rows.size()) <= state.side_rows) return true;
    drafts_.pop_back();
    return false;
  }

  const std::vector<Token>& truth_;
  const int vocab_size_;
  KeyedDice dice_;
  std::map<int, Branch> open_;
  std::vector<SideDraft> drafts_;  // of the last proposal
  int next_ = 0;
  int strangers_ = 0;
};

class Drafter final : public Strategy {
 public:
  Drafter(DrafterKind kind, std::vector<Token> truth, const Tokenizer& tokenizer, uint64_t seed,
          bool with_sides)
      : kind_(kind),
        truth_(std::move(truth)),
        tokenizer_(tokenizer),
        dice_(seed),
        with_sides_(with_sides),
        sides_(truth_, tokenizer.vocab_size(), seed + 1) {
    for (int i = 0; i < tokenizer.vocab_size(); ++i) {
      if (tokenizer.IsEnd(Token{i})) end_ = Token{i};
    }
  }

  Proposal Propose(const RoundState& state) override {
    done_ = state.session->tokens.size();
    Tree tree(state.limits);
    const int most = state.limits.max_nodes;
    switch (kind_) {
      case DrafterKind::kEmpty:
      case DrafterKind::kCount:
        break;
      case DrafterKind::kRight:
      case DrafterKind::kWrong:
      case DrafterKind::kAlmost:
        Chain(tree, most);
        break;
      case DrafterKind::kPastEnd:
        for (int node = -1; tree.size() < most;) {
          const bool over = static_cast<size_t>(tree.size()) + done_ >= truth_.size();
          node = tree.Add(node, over ? (dice_.OneIn(2) ? end_ : Any()) : Truth(tree.size()));
        }
        break;
      case DrafterKind::kForks:
      case DrafterKind::kEndsEverywhere:
      case DrafterKind::kTwins:
        Forks(tree);
        break;
      case DrafterKind::kWide:
        for (int i = 0; i < most; ++i) tree.Add(-1, i == most / 2 ? Truth(0) : Any());
        break;
      case DrafterKind::kRandom:
        Random(tree, dice_.Roll(most + 1));
        break;
    }
    Proposal proposal{.pack = tree.Take(), .side = {}, .prepared = {}};
    if (with_sides_) proposal.side = sides_.Propose(state);
    return proposal;
  }

  RoundNews Observe(const RoundResult& result) override {
    RoundNews news;
    if (with_sides_) news.done = sides_.Observe(result.side_verdicts);
    return news;
  }

 private:
  // The answer's token `ahead` of what is committed; anything behind its end.
  Token Truth(int ahead) {
    const size_t at = done_ + static_cast<size_t>(ahead);
    return at < truth_.size() ? truth_[at] : Any();
  }
  Token Any() { return Token{dice_.Roll(tokenizer_.vocab_size())}; }
  Token Other(Token token) {
    return Token{(Index(token) + 1 + dice_.Roll(tokenizer_.vocab_size() - 1)) %
                 tokenizer_.vocab_size()};
  }

  void Chain(Tree& tree, int length) {
    const int wrong = kind_ == DrafterKind::kWrong    ? 0
                      : kind_ == DrafterKind::kAlmost ? dice_.Roll(length)
                                                      : length;
    for (int node = -1, depth = 0; depth < length; ++depth)
      node = tree.Add(node, depth == wrong ? Other(Truth(depth)) : Truth(depth));
  }

  void Forks(Tree& tree) {
    int node = -1;
    for (int depth = 0; depth < 12; ++depth) {
      const Token right = Truth(depth);
      const Token beside = kind_ == DrafterKind::kForks            ? Other(right)
                           : kind_ == DrafterKind::kEndsEverywhere ? end_
                                                                   : right;
      tree.Add(node, beside);
      const int next = tree.Add(node, right);
      if (next < 0) return;
      node = next;
    }
  }

  void Random(Tree& tree, int nodes) {
    std::vector<int> right = {0};  // tokens of the answer down to this node, -1 off it; root first
    for (int tries = 0; tries < nodes; ++tries) {
      const int parent = dice_.Roll(tree.size() + 1) - 1;
      const int given = right[static_cast<size_t>(parent + 1)];
      const bool follow = given >= 0 && !dice_.OneIn(3);
      if (tree.Add(parent, follow ? Truth(given) : Any()) < 0) continue;
      right.push_back(follow ? given + 1 : -1);
    }
  }

  const DrafterKind kind_;
  const std::vector<Token> truth_;
  const Tokenizer& tokenizer_;
  KeyedDice dice_;
  const bool with_sides_;
  RandomSides sides_;
  Token end_{};
  size_t done_ = 0;
};

}  // namespace

std::string_view Name(DrafterKind kind) {
  constexpr auto kNames =
      std::to_array<std::string_view>({"empty", "right", "wrong", "almost", "past the end", "forks",
                                       "wide", "ends everywhere", "twins", "random"});
  return kNames[static_cast<size_t>(kind)];
}

std::unique_ptr<Strategy> MakeDrafter(DrafterKind kind, std::vector<Token> truth,
                                      const Tokenizer& tokenizer, uint64_t seed, bool with_sides) {
  return std::make_unique<Drafter>(kind, std::move(truth), tokenizer, seed, with_sides);
}

}  // namespace schemafill
