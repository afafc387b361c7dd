// The arena of one context's cells (paper 4.3, Figure 3): public prefix, verified rows, scratch
// rows, free cells.
//
// Attention adds up the visible cells in the order in which they lie, and libllama fills the first
// free cells. So that MAIN's cells always lie in position order, a cell in front of the last
// verified MAIN cell is never given back while the request runs: it is parked under a sequence that
// no row looks at. Cells behind it are freed at once.
//
// Sequences: 0 is MAIN, the last one is for parking, leaves of the tree go up from 1, SIDE branches
// go down from the last but two. Each leaf path of a tree is a sequence of its own, because a
// sequence has one cell a position: MAIN's is the first leaf in node order, the others share MAIN's
// prefix for the one forward. A node carries the sequences of all leaves behind it.
//
// The rows r (root), a, and b and c behind a, in the order in which their cells lie:
//
//     forward      r{0,1} a{0,1} b{0} c{1}
//     accept a c   r{0} a{0} b{parking} c{0}    the next row lies behind c
//     accept a b   r{0} a{0} b{0} free          the next row takes c's cell
//
// A SIDE branch is a sequence of its own that continues a prefix of MAIN. It sees that prefix and
// its own rows; no other branch and no MAIN row sees them. Its rows come behind MAIN's in a
// forward, and its cells lie in position order too. So a rejected cell in front of a branch's is
// not free to take either: it waits, under the last sequence but one. The next Verify frees it if
// MAIN's rows, which come first, are enough to fill it, and parks it otherwise. With a branch that
// holds x:
//
//     forward      r{0,1} a{0} b{1} x{branch}
//     accept a     r{0} a{0} b{waiting} x{branch}
//     forward      r{0} a{0} s{0} x{branch} y{branch}      the next root took b's cell
//
// A forward of SIDE rows alone parks what waits: no MAIN rows come first to fill it.
//
// A branch that closes frees what the last forward stored for it, or has it wait in front of other
// branches' cells. Its older cells are parked, as MAIN's newer ones lie behind them.
//
// Tested by tests/kv/arena_test.cc, arena_property_test.cc and, on libllama, arena_llama_test.cc.
#pragma once

#include <span>
#include <vector>

#include "model/target_model.h"

namespace schemafill {

// A node of the draft tree: a candidate token behind its parent. Nodes come parents first; the
// likeliest path should come first as a whole, because every refused node in front of an accepted
// one costs a cell until the request ends.
struct TreeNode {
  Token token{};
  int parent = -1;  // index of the parent node; -1: the root row
};

// A SIDE branch of the request.
enum class BranchId : int32_t {};

constexpr int Index(BranchId branch) { return static_cast<int>(branch); }

// A row of SIDE branches: a token behind `parent`, for all the branches whose path runs through it.
// Branches may share rows from their start on, as long as they opened at the same place.
struct SideRow {
  Token token{};
  int parent = -1;  // index of a SIDE row in front of it; -1: behind what its branches hold
  std::vector<BranchId> branches;
  bool wants_logits = true;
};

// What a request has cost in cells so far. Between rounds the model uses prefix + verified + side +
// parked cells.
struct ArenaUse {
  int prefix = 0;     // cells of the prompt without its last token, once they exist
  int verified = 0;   // cells of that last token and of committed output
  int side = 0;       // cells that open SIDE branches hold, a shared one counted once
  int parked = 0;     // rejected cells that can't be freed yet, or not before the request ends
  int peak = 0;       // most cells in use at once, scratch rows included
  int peak_kept = 0;  // most cells kept between two forwards: prefix + verified + side + parked
};

// How a prompt gets its cells.
enum class PrefillMode {
  kApart,  // in forwards of its own, before the first tree
  // The last tokens that miss a cell, up to half of a forward, are rows in front of the first tree
  // (paper, Appendix A): a forward less. Where rows of one forward influence each other's kernels
  // this gives up that the answer is plain decoding's bit for bit; it is meant for devices on which
  // what a forward costs beside its rows dominates. The next request doesn't reuse these cells.
  kWithFirstTree,
};

// Not thread-safe. One request at a time, and the model's only user. Wrong use, and a failure of
// the model, throws; after a failure only Begin is allowed, which takes all cells back.
class Arena {
 public:
  // Empties the model's cells. REQUIRES: at least two sequences.
  explicit Arena(TargetModel& model);
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Gives all cells of the previous request back, wherever it stopped, and takes `prompt` in. Keeps
  // the cells of the longest common prefix of the two prompts if the model is bit-exact; otherwise
  // prefills all of it, as a cell could depend on where a prompt was cut. The last prompt token is
  // left out: it is the root row of the first tree.
  // Returns the number of tokens reused. REQUIRES: 1 <= prompt.size() <= info().context_size.
  int Begin(std::span<const Token> prompt, PrefillMode mode = PrefillMode::kApart);

  // Opens a SIDE branch behind the first `tokens` tokens of prompt and output: at most those that
  // are prefix or verified, or one more to continue the next forward's root row. A branch sees
  // MAIN's tokens as far as it was opened, whatever MAIN goes on with.
  // REQUIRES: Begin, and Accept since the last Verify; free_branches() > 0.
  BranchId Open(int tokens);

  // Gives the branch's cells back; those that other branches share stay theirs. Cheapest right
  // after the Accept of the branch's last rows; later they stay parked. REQUIRES: an open branch;
  // Accept since the last Verify.
  void Close(BranchId branch);

  // One target forward: the root row (the last token that has no cell yet), the tree behind it, and
  // rows of SIDE branches. Counted from first_row(), row 0 of the model's outputs is the root, row
  // i + 1 is nodes[i], row nodes.size() + 1 + i is side[i]. Root and nodes have logits.
  // REQUIRES: Begin, and Accept since the last Verify; 1 + nodes.size() + side.size() <=
  // max_rows(); at most max_leaves() leaves; side rows' parents first, of open branches, each row
  // behind the last one so far of each of its branches; branches that share a row without parent
  // hold no rows and opened at the same place.
  void Verify(Token root, std::span<const TreeNode> nodes, std::span<const SideRow> side = {});

  // Keeps the root row and the accepted nodes (a path from the root, in order) as verified cells;
  // the others are freed, or parked where they lie in front of the last accepted one, or wait in
  // front of a branch's. Of the SIDE rows those in `kept` (indices, increasing, none without its
  // parent) stay their branches' cells.
  // REQUIRES: Verify.
  void Accept(std::span<const int> path, std::span<const int> kept = {});

  // One target forward of SIDE rows alone, which all stay their branches' cells: row i of the
  // model's outputs is side[i]. MAIN stands still. REQUIRES: as for Verify; a prompt that has all
  // its cells; no branch that was opened behind the next root.
  void Extend(std::span<const SideRow> side);

  // Rows of the last forward in front of its root: 0, but for the first Verify after a Begin with
  // kWithFirstTree, which has rows of the prompt there, without logits.
  int first_row() const { return first_row_; }

  // Rows that the next Verify or Extend may have, root and SIDE rows included: bounded by free
  // cells and by the model's rows. 0: the context is full.
  int max_rows() const;
  // Most leaves that the next tree may have, also if `opening` branches open in front of it:
  // bounded by sequences, of which each open branch takes one, and the first of them another.
  // REQUIRES: opening <= free_branches().
  int max_leaves(int opening = 0) const;
  // SIDE branches that may still be opened; half of the sequences stay the tree's.
  int free_branches() const;

  const ArenaUse& use() const { return use_; }

  // Throws if the books of cells, branches and sequences disagree; for tests.
  void CheckInvariants() const;

 private:
  enum class State { kIdle, kReady, kVerified };

  struct Branch {
    BranchId id{};
    SequenceId sequence{};
    int opened = 0;  // tokens of prompt and output that it continues
    int length = 0;  // position behind its last cell
  };

  // A cell that open branches hold.
  struct SideCell {
    int position = 0;
    std::vector<SequenceId> holders;
    bool newest = false;  // stored by the last forward
  };

  SequenceId Parking() const;
  SequenceId Waiting() const;
  std::vector<SequenceId> TreeSequences() const;
  int BranchIndex(BranchId branch) const;
  void AddMainRows(Token root);
  void LabelRows(std::span<const int> leaves);
  void AddSideRows();
  void ReuseWaiting();
  void PutAside(SequenceId holder, int position, bool waits);
  void MoveMain(std::span<const int> path);
  void KeepSide(std::span<const int> kept);
  int Kept() const;
  int RootPosition() const;

  TargetModel& model_;
  State state_ = State::kIdle;        // kIdle: only Begin may come
  std::vector<Token> prompt_;         // the public prefix whose cells are known to be in place
  std::vector<TreeNode> nodes_;       // of the last Verify
  std::vector<SideRow> side_;         // of the last Verify
  std::vector<Row> rows_;             // of the last Verify: prompt, root, nodes, SIDE
  int first_row_ = 0;                 // the root's index in rows_
  std::vector<Token> pending_;        // the prompt's last tokens, if they come with the first tree
  std::vector<SequenceId> scratch_;   // sequences of leaves that may carry cells
  std::vector<Branch> branches_;      // the open ones
  std::vector<SideCell> side_cells_;  // in the order in which they lie
  std::vector<int> waiting_;          // positions of the cells that wait
  int reused_ = 0;                    // rows of the last forward that took cells that had waited
  int next_branch_ = 0;
  ArenaUse use_;
};

}  // namespace schemafill
