// The arena under random trees, branches and failures, against plain decoding.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "support/arena_inputs.h"
#include "support/faulty_model.h"
#include "support/scripted.h"
#include "verify/verify.h"

namespace schemafill {
namespace {

// What one-row decoding answers with after a history; kept, as many nodes ask for the same one.
class PlainReference {
 public:
  const std::vector<float>& Logits(const std::vector<Token>& history) {
    std::vector<float>& logits = known_[history];
    if (!logits.empty()) return logits;
    PlainAnswer(model_, history, 1);
    return logits = Copy(model_.Logits(0));
  }

 private:
  ScriptedModel model_{JsonTokenizer(), {}};
  std::map<std::vector<Token>, std::vector<float>> known_;
};

// Keyed by nothing but the seed of mt19937, whose sequence the standard fixes.
class Dice {
 public:
  explicit Dice(uint32_t seed) : engine_(seed) {}
  int Roll(int sides) { return static_cast<int>(engine_() % static_cast<uint32_t>(sides)); }

 private:
  std::mt19937 engine_;
};

Token AnyToken(Dice& dice) {
  static const auto tokenizer = JsonTokenizer();
  return tokenizer->plausible()[dice.Roll(static_cast<int>(tokenizer->plausible().size()))];
}

int CountLeaves(const std::vector<TreeNode>& nodes) {
  std::vector<bool> parent(nodes.size(), false);
  for (const TreeNode& node : nodes) {
    if (node.parent >= 0) parent[node.parent] = true;
  }
  return static_cast<int>(std::ranges::count(parent, false));
}

// Parents first, in any order otherwise; some follow the target's own answer `truth` behind the
// root.
std::vector<TreeNode> RandomTree(Dice& dice, int max_nodes, int max_leaves,
                                 const std::vector<Token>& truth) {
  std::vector<TreeNode> nodes;
  std::vector<int> agrees;  // with `truth` up to this many tokens, or -1
  const int wanted = dice.Roll(max_nodes + 1);
  while (static_cast<int>(nodes.size()) < wanted) {
    const int parent = dice.Roll(static_cast<int>(nodes.size()) + 1) - 1;
    const int given = parent < 0 ? 0 : agrees[parent];
    const bool right = given >= 0 && given < static_cast<int>(truth.size()) && dice.Roll(3) > 0;
    nodes.push_back({.token = right ? truth[given] : AnyToken(dice), .parent = parent});
    agrees.push_back(right ? given + 1 : -1);
    if (CountLeaves(nodes) > max_leaves) {
      nodes.pop_back();
      return nodes;
    }
  }
  return nodes;
}

std::vector<Token> History(const std::vector<Token>& past, const std::vector<TreeNode>& nodes,
                           int node) {
  std::vector<Token> tail;
  for (; node >= 0; node = nodes[node].parent) tail.push_back(nodes[node].token);
  std::vector<Token> history = past;
  history.insert(history.end(), tail.rbegin(), tail.rend());
  return history;
}

// A path from the root to any node, or none.
std::vector<int> RandomPath(Dice& dice, const std::vector<TreeNode>& nodes) {
  std::vector<int> path;
  for (int node = dice.Roll(static_cast<int>(nodes.size()) + 1) - 1; node >= 0;
       node = nodes[node].parent) {
    path.push_back(node);
  }
  std::ranges::reverse(path);
  return path;
}

// Branches that open, advance and close at random, with what each of them has seen.
class RandomSide {
 public:
  RandomSide(Dice& dice, Arena& arena) : dice_(dice), arena_(arena) {}

  // `past`: prompt and output, the next root included.
  void OpenAndClose(const std::vector<Token>& past) {
    for (int i = static_cast<int>(branches_.size()) - 1; i >= 0; --i) {
      if (dice_.Roll(6) == 0) Close(i);
    }
    while (arena_.free_branches() > 0 && dice_.Roll(2) == 0) Open(past);
  }

  void CloseAll() {
    while (!branches_.empty()) Close(dice_.Roll(static_cast<int>(branches_.size())));
  }

  // Rows behind the branches' ends, some for several branches.
  std::vector<SideRow> Rows(int limit) {
    rows_.clear();
    histories_.clear();
    for (Branch& branch : branches_) branch.end = -1;
    if (branches_.empty()) return {};
    while (static_cast<int>(rows_.size()) < limit && dice_.Roll(6) > 0) AddRow();
    return rows_;
  }

  // Some of the last rows, none without its parent, or all of them; these stay.
  std::vector<int> Keep(bool all = false) {
    std::vector<bool> keeps;
    std::vector<int> kept;
    for (int i = 0; i < static_cast<int>(rows_.size()); ++i) {
      const int parent = rows_[i].parent;
      keeps.push_back(all || ((parent < 0 || keeps[parent]) && dice_.Roll(4) > 0));
      if (!keeps[i]) continue;
      kept.push_back(i);
      for (Branch& branch : branches_) {
        if (std::ranges::count(rows_[i].branches, branch.id) == 0) continue;
        branch.history = histories_[i];
        branch.rows = true;
      }
    }
    return kept;
  }

  // Prompt, output and rows that row `row` sees, itself included.
  const std::vector<Token>& history(int row) const { return histories_[row]; }

 private:
  struct Branch {
    BranchId id{};
    std::vector<Token> history;
    bool rows = false;  // holds some
    int end = -1;       // its last row in this forward
  };

  void Open(const std::vector<Token>& past) {
    const int most = static_cast<int>(past.size());
    int tokens = dice_.Roll(3) == 0 ? most : dice_.Roll(most + 1);
    if (!branches_.empty() && !branches_.back().rows && dice_.Roll(2) == 0) {
      tokens = static_cast<int>(branches_.back().history.size());  // to share rows with
    }
    branches_.push_back(
        {.id = arena_.Open(tokens), .history = {past.begin(), past.begin() + tokens}});
  }

  void Close(int i) {
    arena_.Close(branches_[i].id);
    branches_.erase(branches_.begin() + i);
  }

  void AddRow() {
    const Branch lead = branches_[dice_.Roll(static_cast<int>(branches_.size()))];
    SideRow row{.token = AnyToken(dice_),
                .parent = lead.end,
                .branches = {},
                .wants_logits = dice_.Roll(8) > 0};
    histories_.push_back(lead.end < 0 ? lead.history : histories_[lead.end]);
    histories_.back().push_back(row.token);
    for (Branch& branch : branches_) {
      const bool fresh = !lead.rows && !branch.rows && branch.history.size() == lead.history.size();
      const bool mate = branch.end == lead.end && (lead.end >= 0 || fresh) && dice_.Roll(3) > 0;
      if (branch.id != lead.id && !mate) continue;
      row.branches.push_back(branch.id);
      branch.end = static_cast<int>(rows_.size());
    }
    rows_.push_back(row);
  }

  Dice& dice_;
  Arena& arena_;
  std::vector<Branch> branches_;
  std::vector<SideRow> rows_;
  std::vector<std::vector<Token>> histories_;  // of the rows
};

// What was tested, so that a test can see that it was something.
struct Tally {
  int rounds = 0, side = 0, shared = 0, parked = 0, reused = 0, prompts = 0, alone = 0;
};

// A request of random rounds with or without branches. Every row of MAIN's that is kept, or all of
// them, and every kept row of a branch answer as plain decoding of their history.
class RandomRounds {
 public:
  RandomRounds(ScriptedModel& model, PlainReference& reference)
      : model_(model), reference_(reference), arena_(model) {}

  void Request(uint32_t seed, bool with_side, Tally& tally) {
    Dice dice(seed);
    RandomSide side(dice, arena_);
    past_ = Text(std::string_view("abcdefgh").substr(0, 1 + dice.Roll(8)));
    const bool together = with_side && dice.Roll(3) == 0;
    arena_.Begin(past_, together ? PrefillMode::kWithFirstTree : PrefillMode::kApart);
    peak_ = peak_kept_ = model_.cells_used();
    const int rounds = with_side ? 16 : 8;
    for (int round = 0; round < rounds && arena_.max_rows() > 0; ++round) {
      SCOPED_TRACE(fmt::format("seed {}, round {}", seed, round));
      // Behind a round all branches have the cells that they were opened behind.
      if (with_side && round > 0 && dice.Roll(4) == 0) SideAlone(side, tally);
      if (arena_.max_rows() == 0) break;
      if (with_side) side.OpenAndClose(past_);
      ExpectCells(model_, arena_, 0);
      const bool cancelled = dice.Roll(40) == 0;
      Round(dice, side, !with_side, cancelled, tally);
      ASSERT_EQ(model_.violation(), "");
      if (cancelled || testing::Test::HasFailure()) return;
    }
    side.CloseAll();
    ExpectCells(model_, arena_, 0);
    EXPECT_EQ(arena_.use().side, 0);
    EXPECT_EQ(arena_.use().peak, peak_);
    EXPECT_EQ(arena_.use().peak_kept, peak_kept_);
  }

 private:
  void Round(Dice& dice, RandomSide& side, bool all, bool cancelled, Tally& tally) {
    const int room = std::min(12, arena_.max_rows() - 1);
    const int nodes_limit = all ? room : dice.Roll(room + 1);
    const std::vector<TreeNode> nodes = RandomTree(dice, nodes_limit, arena_.max_leaves(), {});
    const std::vector<SideRow> rows =
        side.Rows(std::min(12, arena_.max_rows() - 1 - static_cast<int>(nodes.size())));
    const int parked = arena_.use().parked;
    arena_.Verify(past_.back(), nodes, rows);
    tally.reused += parked - arena_.use().parked;
    tally.prompts += arena_.first_row();
    ++tally.rounds;
    ExpectCells(model_, arena_, 1 + static_cast<int>(nodes.size() + rows.size()));
    peak_ = std::max(peak_, model_.cells_used());
    const std::vector<int> path = RandomPath(dice, nodes);
    for (int node = -1; node < static_cast<int>(nodes.size()); ++node) {
      if (!all && node >= 0 && std::ranges::count(path, node) == 0) continue;
      ASSERT_EQ(Logits(1 + node), reference_.Logits(History(past_, nodes, node)));
    }
    if (cancelled) return;
    const std::vector<int> kept = side.Keep();
    for (const int row : kept) {
      ++tally.side;
      tally.shared += rows[row].branches.size() > 1;
      if (!rows[row].wants_logits) continue;
      ASSERT_EQ(Logits(1 + static_cast<int>(nodes.size()) + row),
                reference_.Logits(side.history(row)));
    }
    const int before = arena_.use().parked;
    arena_.Accept(path, kept);
    tally.parked += arena_.use().parked - before;
    ExpectCells(model_, arena_, 0);
    peak_kept_ = std::max(peak_kept_, model_.cells_used());
    past_ = History(past_, nodes, path.empty() ? -1 : path.back());
    past_.push_back(AnyToken(dice));
  }

  // A forward without MAIN's rows.
  void SideAlone(RandomSide& side, Tally& tally) {
    const std::vector<SideRow> rows = side.Rows(std::min(12, arena_.max_rows()));
    if (rows.empty()) return;
    arena_.Extend(rows);
    for (const int row : side.Keep(/*all=*/true)) {
      ++tally.alone;
      if (!rows[row].wants_logits) continue;
      ASSERT_EQ(Copy(model_.Logits(row)), reference_.Logits(side.history(row)));
    }
    ExpectCells(model_, arena_, 0);
    peak_ = std::max(peak_, model_.cells_used());
    peak_kept_ = std::max(peak_kept_, model_.cells_used());
  }

  // Of row `row`, counted from the root.
  std::vector<float> Logits(int row) const { return Copy(model_.Logits(arena_.first_row() + row)); }

  ScriptedModel& model_;
  PlainReference& reference_;
  Arena arena_;
  std::vector<Token> past_;  // prompt and output, the next root included
  int peak_ = 0, peak_kept_ = 0;
};

TEST(ArenaPropertyTest, EveryRowOfEveryTreeIsPlain) {
  PlainReference reference;
  ScriptedModel model(JsonTokenizer(), {.context_size = 120, .max_sequences = 7});
  RandomRounds rounds(model, reference);
  Tally tally;
  for (uint32_t seed = 0; seed < 200 && !HasFailure(); ++seed) rounds.Request(seed, false, tally);
  EXPECT_GT(tally.rounds, 1000);
  EXPECT_GT(tally.parked, 500);
  EXPECT_EQ(tally.reused, 0) << "without branches a cell in front is parked for good";
}

TEST(ArenaPropertyTest, EveryKeptRowBesideBranchesIsPlain) {
  PlainReference reference;
  ScriptedModel model(JsonTokenizer(), {.context_size = 150, .max_rows = 40, .max_sequences = 13});
  RandomRounds rounds(model, reference);
  Tally tally;
  for (uint32_t seed = 0; seed < 200 && !HasFailure(); ++seed) rounds.Request(seed, true, tally);
  EXPECT_GT(tally.rounds, 2000);
  EXPECT_GT(tally.side, 3000);
  EXPECT_GT(tally.shared, 300);
  EXPECT_GT(tally.parked, 2000);
  EXPECT_GT(tally.reused, 1000);
  EXPECT_GT(tally.prompts, 50);
  EXPECT_GT(tally.alone, 300);
}

struct Request {
  std::vector<Token> prompt;
  std::vector<Token> truth;  // what one-row decoding answers
};

// Prompts that share prefixes of many lengths.
Request RandomRequest(Dice& dice, ScriptedModel& plain, const SamplingOptions& sampling) {
  Request request;
  request.prompt = Text(std::string_view("abcdefghijklmnopqrst").substr(0, 1 + dice.Roll(20)));
  for (int i = dice.Roll(4); i > 0; --i) request.prompt.push_back(Token{'0' + dice.Roll(3)});
  request.truth = PlainAnswer(plain, request.prompt, 30, sampling);
  return request;
}

// Drafts, verifies and accepts until the answer has the length of the truth, with branches beside.
std::vector<Token> DraftedAnswer(Dice& dice, ScriptedModel& model, Arena& arena,
                                 const Request& request, const SamplingOptions& sampling) {
  std::vector<Token> answer;
  RandomSide side(dice, arena);
  while (answer.size() < request.truth.size()) {
    const int done = static_cast<int>(answer.size());
    const std::vector<Token> rest(request.truth.begin() + done, request.truth.end());
    const int room = std::min({10, arena.max_rows() - 1, static_cast<int>(rest.size()) - 1});
    std::vector<Token> past = request.prompt;
    past.insert(past.end(), answer.begin(), answer.end());
    side.OpenAndClose(past);
    const std::vector<TreeNode> nodes = RandomTree(dice, room, arena.max_leaves(), rest);
    arena.Verify(past.back(), nodes,
                 side.Rows(std::min(6, arena.max_rows() - 1 - static_cast<int>(nodes.size()))));
    const auto logits = [&](int row) { return model.Logits(arena.first_row() + row); };
    const Verdict verdict = VerifyTree(nodes, logits, sampling, done);
    arena.Accept(verdict.path, side.Keep());
    ExpectCells(model, arena, 0);
    for (const int node : verdict.path) answer.push_back(nodes[node].token);
    answer.push_back(verdict.correction);
  }
  return answer;
}

TEST(ArenaPropertyTest, DraftedDecodingIsPlainDecodingOver200Requests) {
  for (const double temperature : {0.0, 1.0}) {
    ScriptedModel plain(JsonTokenizer(), {});
    ScriptedModel model(JsonTokenizer(), {.context_size = 400, .max_sequences = 10});
    Arena arena(model);
    int forwards = 0, tokens = 0, parked = 0;
    for (uint32_t seed = 0; seed < 200; ++seed) {
      Dice dice(seed);
      const SamplingOptions sampling{.temperature = temperature, .seed = seed};
      const Request request = RandomRequest(dice, plain, sampling);
      const bool together = dice.Roll(3) == 0;
      arena.Begin(request.prompt, together ? PrefillMode::kWithFirstTree : PrefillMode::kApart);
      ASSERT_EQ(model.cells_used(), arena.use().prefix) << "a leak";
      const int before = model.forwards();
      ASSERT_EQ(DraftedAnswer(dice, model, arena, request, sampling), request.truth) << seed;
      ASSERT_EQ(model.violation(), "") << seed;
      forwards += model.forwards() - before;
      tokens += static_cast<int>(request.truth.size());
      parked += arena.use().parked;
    }
    EXPECT_LT(2 * forwards, tokens) << "most drafts were refused, so little was tested";
    EXPECT_GT(parked, 200) << "nothing was parked, so little was tested";
  }
}

// A failure at any call of the model leaves an arena that only Begin may touch, and that Begin
// mends.
TEST(ArenaPropertyTest, BeginMendsAFailureAtAnyCall) {
  ScriptedModel plain(JsonTokenizer(), {});
  ScriptedModel model(JsonTokenizer(), {.context_size = 400, .max_sequences = 10});
  FaultyModel faulty(model);
  Arena arena(faulty);
  int failures = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Dice dice(seed);
    const Request broken = RandomRequest(dice, plain, {});
    faulty.Arm(1 + static_cast<int>(seed) / 5);
    try {
      arena.Begin(broken.prompt);
      DraftedAnswer(dice, model, arena, broken, {});
    } catch (const std::runtime_error&) {
      ++failures;
      EXPECT_THROW(arena.Verify(Token{'a'}, {}), InternalError);
      EXPECT_THROW(arena.Accept({}), InternalError);
      EXPECT_THROW(arena.Open(0), InternalError);
    }
    faulty.Disarm();
    const Request request = RandomRequest(dice, plain, {});
    arena.Begin(request.prompt);
    ASSERT_EQ(model.cells_used(), static_cast<int>(request.prompt.size()) - 1) << seed;
    ASSERT_EQ(DraftedAnswer(dice, model, arena, request, {}), request.truth) << seed;
    ASSERT_EQ(model.violation(), "") << seed;
  }
  EXPECT_GT(failures, 150);
}

}  // namespace
}  // namespace schemafill
