#include "kv/arena.h"

#include <algorithm>
#include <numeric>

#include "base/check.h"

namespace schemafill {
namespace {

constexpr SequenceId kMain{0};

// Nodes without children, in node order; -1, the root, when there are no nodes.
std::vector<int> Leaves(std::span<const TreeNode> nodes) {
  std::vector<bool> has_child(nodes.size(), false);
  for (const TreeNode& node : nodes) {
    if (node.parent >= 0) has_child[node.parent] = true;
  }
  std::vector<int> leaves;
  for (int i = 0; i < static_cast<int>(nodes.size()); ++i) {
    if (!has_child[i]) leaves.push_back(i);
  }
  if (nodes.empty()) leaves.push_back(-1);
  return leaves;
}

void CheckPath(std::span<const TreeNode> nodes, std::span<const int> path) {
  int parent = -1;
  for (const int node : path) {
    Check(node >= 0 && node < static_cast<int>(nodes.size()),
          "an accepted node that the tree doesn't have");
    Check(nodes[node].parent == parent, "accepted nodes that are not a path from the root");
    parent = node;
  }
}

void CheckKept(std::span<const SideRow> side, std::span<const int> kept) {
  std::vector<bool> keeps(side.size(), false);
  int last = -1;
  for (const int row : kept) {
    Check(row > last && row < static_cast<int>(side.size()),
          "kept SIDE rows that the forward doesn't have, or out of order");
    Check(side[row].parent < 0 || keeps[side[row].parent], "a kept SIDE row without its parent");
    keeps[row] = true;
    last = row;
  }
}

}  // namespace

Arena::Arena(TargetModel& model) : model_(model) {
  Check(model.info().max_sequences >= 2, "the arena needs a sequence for MAIN and one for parking");
  for (int i = 0; i < model.info().max_sequences; ++i) model_.Drop(SequenceId{i}, 0, -1);
}

int Arena::Begin(std::span<const Token> prompt, PrefillMode mode) {
  Check(!prompt.empty() && static_cast<int>(prompt.size()) <= model_.info().context_size,
        "a prompt that doesn't fit");
  const std::span<const Token> prefix = prompt.first(prompt.size() - 1);
  const int reused =
      model_.info().guarantee == Guarantee::kBitExact ? CommonPrefix(prompt_, prefix) : 0;
  // Nothing is known to be in place until the end of this function: it may throw anywhere.
  prompt_.clear();
  state_ = State::kIdle;
  // Only public cells stay. They lie at the front without holes, so what is stored next lies behind
  // them, in order.
  model_.Drop(kMain, reused, -1);
  for (const SequenceId sequence : scratch_) model_.Drop(sequence, 0, -1);
  for (const Branch& branch : branches_) model_.Drop(branch.sequence, 0, -1);
  if (Waiting() != kMain) model_.Drop(Waiting(), 0, -1);
  model_.Drop(Parking(), 0, -1);
  scratch_.clear();
  branches_.clear();
  side_cells_.clear();
  waiting_.clear();
  first_row_ = 0;
  use_ = {};
  const int length = static_cast<int>(prefix.size());
  const int limit = mode == PrefillMode::kWithFirstTree ? model_.info().max_rows / 2 : 0;
  const int apart = std::max(reused, length - limit);  // what the first tree doesn't bring along
  if (apart > reused) model_.Prefill(prefix.subspan(reused, apart - reused), reused, kMain);
  prompt_.assign(prefix.begin(), prefix.begin() + apart);
  pending_.assign(prefix.begin() + apart, prefix.end());
  use_.prefix = use_.peak = use_.peak_kept = apart;
  state_ = State::kReady;
  return reused;
}

BranchId Arena::Open(int tokens) {
  Check(state_ == State::kReady, "Open before Begin, or between Verify and Accept");
  Check(free_branches() > 0, "more SIDE branches than the arena has sequences");
  Check(tokens >= 0 && tokens <= RootPosition() + 1,
        "a SIDE branch behind tokens that aren't there");
  SequenceId sequence{Index(Waiting()) - 1};
  const auto taken = [&](const Branch& branch) { return branch.sequence == sequence; };
  while (std::ranges::any_of(branches_, taken)) sequence = SequenceId{Index(sequence) - 1};

  state_ = State::kIdle;  // until the label is in place
  const BranchId id{next_branch_++};
  branches_.push_back({.id = id, .sequence = sequence, .opened = tokens, .length = tokens});
  model_.Share(kMain, sequence, 0, tokens);
  state_ = State::kReady;
  return id;
}

void Arena::Close(BranchId branch) {
  Check(state_ == State::kReady, "Close before Begin, or between Verify and Accept");
  const int index = BranchIndex(branch);
  const SequenceId sequence = branches_[index].sequence;
  state_ = State::kIdle;  // until all labels are in place
  for (int i = static_cast<int>(side_cells_.size()) - 1; i >= 0; --i) {
    SideCell& cell = side_cells_[i];
    if (std::erase(cell.holders, sequence) == 0 || !cell.holders.empty()) continue;
    const bool free = cell.newest && i + 1 == static_cast<int>(side_cells_.size());
    if (!free) PutAside(sequence, cell.position, cell.newest);
    side_cells_.erase(side_cells_.begin() + i);
    --use_.side;
  }
  model_.Drop(sequence, 0, -1);
  branches_.erase(branches_.begin() + index);
  state_ = State::kReady;
}

void Arena::Verify(Token root, std::span<const TreeNode> nodes, std::span<const SideRow> side) {
  Check(state_ == State::kReady, "Verify before Begin, or twice without Accept");
  Check(static_cast<int>(1 + nodes.size() + side.size()) <= max_rows(),
        "more rows than the arena has room for");
  nodes_.assign(nodes.begin(), nodes.end());
  side_.assign(side.begin(), side.end());
  rows_.clear();
  AddMainRows(root);
  const std::vector<int> leaves = Leaves(nodes);
  Check(static_cast<int>(leaves.size()) <= max_leaves(),
        "a tree with more leaves than the arena has sequences");
  LabelRows(leaves);
  AddSideRows();

  state_ = State::kIdle;  // until the forward has succeeded
  ReuseWaiting();
  scratch_ = TreeSequences();
  scratch_.resize(leaves.size());
  scratch_.erase(scratch_.begin());  // MAIN
  for (const SequenceId sequence : scratch_) model_.Share(kMain, sequence, 0, -1);
  model_.Forward(rows_);
  use_.peak = std::max(use_.peak, Kept() + static_cast<int>(rows_.size()));
  use_.prefix += static_cast<int>(pending_.size());
  pending_.clear();
  state_ = State::kVerified;
}

void Arena::Extend(std::span<const SideRow> side) {
  Check(state_ == State::kReady && pending_.empty(),
        "Extend before Begin, in front of the prompt's last rows, or behind Verify");
  Check(!side.empty() && static_cast<int>(side.size()) <= max_rows(),
        "more rows than the arena has room for, or none");
  nodes_.clear();
  side_.assign(side.begin(), side.end());
  rows_.clear();
  first_row_ = 0;
  AddSideRows();
  for (const SideRow& row : side_) {
    for (const BranchId id : row.branches) {
      Check(branches_[BranchIndex(id)].opened <= RootPosition(),
            "a SIDE row behind a root that has no cell yet");
    }
  }

  state_ = State::kIdle;  // until all labels are in place
  ReuseWaiting();
  model_.Forward(rows_);
  use_.peak = std::max(use_.peak, Kept() + static_cast<int>(rows_.size()));
  std::vector<int> all(side.size());
  std::iota(all.begin(), all.end(), 0);
  KeepSide(all);
  use_.peak_kept = std::max(use_.peak_kept, Kept());
  state_ = State::kReady;
}

// What is left of the prompt, the root and the tree, without sequences yet.
void Arena::AddMainRows(Token root) {
  for (const Token token : pending_) {
    const int position = use_.prefix + static_cast<int>(rows_.size());
    rows_.push_back({.token = token, .position = position, .sequences = {}, .wants_logits = false});
  }
  first_row_ = static_cast<int>(rows_.size());
  rows_.push_back({.token = root, .position = RootPosition(), .sequences = {}});
  for (int i = 0; i < static_cast<int>(nodes_.size()); ++i) {
    const TreeNode& node = nodes_[i];
    Check(node.parent >= -1 && node.parent < i, "tree nodes out of order: parents come first");
    rows_.push_back({.token = node.token,
                     .position = rows_[first_row_ + 1 + node.parent].position + 1,
                     .sequences = {}});
  }
}

// Each row gets the sequences of all leaves behind it, in leaf order. Root and prompt have all of
// them behind, and the branches that were opened behind the row.
void Arena::LabelRows(std::span<const int> leaves) {
  const std::vector<SequenceId> sequences = TreeSequences();
  for (int i = 0; i < static_cast<int>(leaves.size()); ++i) {
    for (int node = leaves[i]; node >= 0; node = nodes_[node].parent) {
      rows_[first_row_ + 1 + node].sequences.push_back(sequences[i]);
    }
  }
  for (Row& row : std::span(rows_).first(first_row_ + 1)) {
    row.sequences.assign(sequences.begin(), sequences.begin() + leaves.size());
    for (const Branch& branch : branches_) {
      if (branch.opened > row.position) row.sequences.push_back(branch.sequence);
    }
  }
}

void Arena::AddSideRows() {
  const int first = static_cast<int>(rows_.size());
  std::vector<int> ends(branches_.size(), -1);  // the last row of each branch
  for (int i = 0; i < static_cast<int>(side_.size()); ++i) {
    const SideRow& side = side_[i];
    Check(!side.branches.empty(), "a SIDE row without a branch");
    Check(side.parent >= -1 && side.parent < i, "SIDE rows out of order: parents come first");
    const Branch& front = branches_[BranchIndex(side.branches.front())];
    const bool starts = side.parent < 0;
    Row row{.token = side.token,
            .position = starts ? front.length : rows_[first + side.parent].position + 1,
            .sequences = {},
            .wants_logits = side.wants_logits};
    for (const BranchId id : side.branches) {
      const int index = BranchIndex(id);
      const Branch& branch = branches_[index];
      Check(ends[index] == side.parent, "a SIDE row that doesn't continue each of its branches");
      Check(!starts || side.branches.size() == 1 ||
                (branch.opened == front.opened && branch.length == branch.opened),
            "a SIDE row of branches with different histories");
      ends[index] = i;
      row.sequences.push_back(branch.sequence);
    }
    rows_.push_back(std::move(row));
  }
}

// Frees cells that wait, no more than the MAIN rows of this forward fill, so that rows of branches
// come behind all that their branches hold; parks the others, as MAIN's rows will lie behind them.
// Cells of one position go the same way: a label and a position is all that names them.
void Arena::ReuseWaiting() {
  const int room = static_cast<int>(rows_.size() - side_.size());
  reused_ = 0;
  std::ranges::sort(waiting_);
  for (auto first = waiting_.begin(); first != waiting_.end();) {
    const int position = *first;
    const auto last = std::ranges::upper_bound(first, waiting_.end(), position);
    const int cells = static_cast<int>(last - first);
    if (reused_ + cells <= room) {
      reused_ += cells;
    } else {
      model_.Share(Waiting(), Parking(), position, position + 1);
    }
    first = last;
  }
  if (!waiting_.empty()) model_.Drop(Waiting(), 0, -1);
  waiting_.clear();
  use_.parked -= reused_;
}

// Keeps later rows from taking the cell of `holder` at `position`, which no row will look at.
void Arena::PutAside(SequenceId holder, int position, bool waits) {
  model_.Share(holder, waits ? Waiting() : Parking(), position, position + 1);
  if (waits) waiting_.push_back(position);
  ++use_.parked;
}

void Arena::Accept(std::span<const int> path, std::span<const int> kept) {
  Check(state_ == State::kVerified, "Accept without Verify");
  CheckPath(nodes_, path);
  CheckKept(side_, kept);
  state_ = State::kIdle;  // until all labels are in place
  const int first_node = first_row_ + 1;
  const int first_side = first_node + static_cast<int>(nodes_.size());
  std::vector<bool> keeps(rows_.size(), false);
  for (int row = 0; row <= first_row_; ++row) keeps[row] = true;
  for (const int node : path) keeps[first_node + node] = true;
  for (const int row : kept) keeps[first_side + row] = true;
  // Free to take is what lies behind all cells that some row will look at: these rows', and older
  // ones of branches, which lie behind the first reused_ rows.
  const int last_main = path.empty() ? first_row_ : first_node + path.back();
  const int last_kept = kept.empty() ? 0 : first_side + kept.back();
  const int last = std::max({last_main, last_kept, reused_ - 1});
  for (int row = 0; row <= last; ++row) {
    if (keeps[row]) continue;
    PutAside(rows_[row].sequences.front(), rows_[row].position, row > last_main);
  }
  MoveMain(path);
  for (const SequenceId sequence : scratch_) model_.Drop(sequence, 0, -1);
  scratch_.clear();
  KeepSide(kept);
  use_.verified += 1 + static_cast<int>(path.size());
  use_.peak_kept = std::max(use_.peak_kept, Kept());
  state_ = State::kReady;
}

// Takes MAIN from its own leaf's path over to the accepted one. Both are the same up to a fork.
void Arena::MoveMain(std::span<const int> path) {
  const std::span<const Row> nodes = std::span(rows_).subspan(first_row_ + 1);
  const auto on_main = [&](int node) { return nodes[node].sequences.front() == kMain; };
  const auto leaving = std::ranges::find_if_not(path, on_main);
  const int fork = rows_[first_row_].position + 1 + static_cast<int>(leaving - path.begin());
  model_.Drop(kMain, fork, -1);
  if (leaving == path.end()) return;
  const Row& end = nodes[path.back()];
  model_.Share(end.sequences.front(), kMain, fork, end.position + 1);
}

void Arena::KeepSide(std::span<const int> kept) {
  const std::span<const Row> side = std::span(rows_).last(side_.size());
  for (SideCell& cell : side_cells_) cell.newest = false;
  for (const int row : kept) {
    side_cells_.push_back(
        {.position = side[row].position, .holders = side[row].sequences, .newest = true});
    for (const BranchId id : side_[row].branches) {
      branches_[BranchIndex(id)].length = side[row].position + 1;
    }
  }
  use_.side += static_cast<int>(kept.size());
  if (side.empty()) return;
  for (const Branch& branch : branches_) model_.Drop(branch.sequence, branch.length, -1);
}

SequenceId Arena::Parking() const { return SequenceId{model_.info().max_sequences - 1}; }

// Empty, and free for the tree, while no branch is open and Verify runs.
SequenceId Arena::Waiting() const { return SequenceId{model_.info().max_sequences - 2}; }

// Those that leaves may take, MAIN first.
std::vector<SequenceId> Arena::TreeSequences() const {
  std::vector<SequenceId> sequences;
  for (SequenceId i{0}; i != Parking(); i = SequenceId{Index(i) + 1}) {
    const auto taken = [i](const Branch& branch) { return branch.sequence == i; };
    if (!branches_.empty() && i == Waiting()) continue;
    if (std::ranges::none_of(branches_, taken)) sequences.push_back(i);
  }
  return sequences;
}

int Arena::BranchIndex(BranchId branch) const {
  const auto found = std::ranges::find(branches_, branch, &Branch::id);
  Check(found != branches_.end(), "a SIDE branch that isn't open");
  return static_cast<int>(found - branches_.begin());
}

// Cells that are in use between two forwards.
int Arena::Kept() const { return use_.prefix + use_.verified + use_.side + use_.parked; }

int Arena::RootPosition() const {
  return use_.prefix + static_cast<int>(pending_.size()) + use_.verified;
}

int Arena::max_rows() const {
  const int rows = std::min(model_.info().max_rows, model_.info().context_size - Kept());
  return rows - static_cast<int>(pending_.size());
}

int Arena::max_leaves(int opening) const {
  const int waiting = opening > 0 && branches_.empty() ? 1 : 0;
  return static_cast<int>(TreeSequences().size()) - waiting - opening;
}

int Arena::free_branches() const {
  // Without parking, waiting and half of the sequences.
  const int all = std::max(0, model_.info().max_sequences / 2 - 2);
  return all - static_cast<int>(branches_.size());
}

void Arena::CheckInvariants() const {
  const ModelInfo& info = model_.info();
  Check(use_.prefix >= 0 && use_.verified >= 0 && use_.side >= 0, "a negative count of cells");
  Check(use_.parked >= static_cast<int>(waiting_.size()), "waiting cells that nobody counted");
  Check(Kept() <= use_.peak && use_.peak_kept <= use_.peak, "a peak that was missed");
  Check(state_ != State::kReady || Kept() <= use_.peak_kept, "a peak of kept cells, missed");
  Check(use_.peak <= info.context_size, "more cells than the model has");
  Check(static_cast<int>(pending_.size()) <= info.max_rows / 2, "too much prompt for one forward");
  Check(pending_.empty() || use_.verified == 0, "prompt behind the first tree");
  Check(use_.side == static_cast<int>(side_cells_.size()), "SIDE cells that nobody counted");
  Check(state_ != State::kReady || scratch_.empty(), "scratch sequences between two rounds");
  Check(waiting_.empty() || Waiting() != kMain, "cells that wait on MAIN");
  std::vector<SequenceId> sequences{Parking(), Waiting()};
  std::vector<int> ends;  // of each branch
  for (const Branch& branch : branches_) {
    Check(Index(branch.id) < next_branch_, "a branch that was never opened");
    Check(Index(branch.sequence) >= (info.max_sequences + 1) / 2 &&
              std::ranges::count(sequences, branch.sequence) == 0,
          "a branch on a sequence that isn't its own");
    sequences.push_back(branch.sequence);
    ends.push_back(branch.opened);
  }
  for (const SideCell& cell : side_cells_) {
    Check(!cell.holders.empty(), "a SIDE cell that nobody holds");
    for (const SequenceId holder : cell.holders) {
      const auto branch = std::ranges::find(branches_, holder, &Branch::sequence);
      Check(branch != branches_.end(), "a SIDE cell of a closed branch");
      Check(cell.position == ends[branch - branches_.begin()]++, "SIDE cells with a gap");
    }
  }
  for (size_t i = 0; i < branches_.size(); ++i) {
    Check(branches_[i].length == ends[i], "a branch whose length isn't that of its cells");
  }
}

}  // namespace schemafill
