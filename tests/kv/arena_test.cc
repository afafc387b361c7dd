#include "kv/arena.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <random>
#include <sstream>

#include "support/faulty_model.h"
#include "support/scripted.h"
#include "verify/verify.h"

namespace schemafill {
namespace {

std::shared_ptr<const ScriptedTokenizer> Letters() {
  return std::make_shared<ScriptedTokenizer>(std::vector<std::string>{});
}

std::vector<Token> Text(std::string_view letters) {
  std::vector<Token> tokens;
  for (const char letter : letters) tokens.push_back(Token{letter});
  return tokens;
}

std::vector<float> Copy(std::span<const float> row) { return {row.begin(), row.end()}; }

// "a:-1 b:0 c:0" is the tree a - {b, c}.
std::vector<TreeNode> Tree(const std::string& text) {
  std::vector<TreeNode> nodes;
  std::istringstream in(text);
  for (std::string node; in >> node;) {
    nodes.push_back({.token = Token{node[0]}, .parent = std::stoi(node.substr(2))});
  }
  return nodes;
}

int CellsInUse(const ArenaUse& use) { return use.prefix + use.verified + use.side + use.parked; }

void ExpectCells(const ScriptedModel& model, const Arena& arena, int scratch) {
  EXPECT_EQ(model.cells_used(), CellsInUse(arena.use()) + scratch);
  EXPECT_GE(arena.use().peak, model.cells_used());
  EXPECT_NO_THROW(arena.CheckInvariants());
}

// ---- One round, cell by cell ----

struct RoundRow {
  std::string name;
  std::string tree;       // behind root r, after the prompt "pr"
  std::vector<int> path;  // accepted
  std::string verified;   // the cells between Verify and Accept
  std::string accepted;   // the cells after it; parking is sequence 7
};

const RoundRow kRounds[] = {
    {"no draft", "", {}, "p@0{0} r@1{0}", "p@0{0} r@1{0}"},
    {"a chain, kept",
     "a:-1 b:0",
     {0, 1},
     "p@0{0} r@1{0} a@2{0} b@3{0}",
     "p@0{0} r@1{0} a@2{0} b@3{0}"},
    {"a chain, kept in part",
     "a:-1 b:0",
     {0},
     "p@0{0} r@1{0} a@2{0} b@3{0}",
     "p@0{0} r@1{0} a@2{0}"},
    {"a chain, refused", "a:-1 b:0", {}, "p@0{0} r@1{0} a@2{0} b@3{0}", "p@0{0} r@1{0}"},
    {"siblings, the first kept",
     "a:-1 b:-1",
     {0},
     "p@0{0,1} r@1{0,1} a@2{0} b@2{1}",
     "p@0{0} r@1{0} a@2{0}"},
    {"siblings, the second kept: the first is parked",
     "a:-1 b:-1",
     {1},
     "p@0{0,1} r@1{0,1} a@2{0} b@2{1}",
     "p@0{0} r@1{0} a@2{7} b@2{0}"},
    {"siblings, both refused", "a:-1 b:-1", {}, "p@0{0,1} r@1{0,1} a@2{0} b@2{1}", "p@0{0} r@1{0}"},
    {"a shared node carries all its leaves",
     "a:-1 x:-1 c:0 d:1 e:1",
     {1, 4},
     "p@0{0,1,2} r@1{0,1,2} a@2{0} x@2{1,2} c@3{0} d@3{1} e@3{2}",
     "p@0{0} r@1{0} a@2{7} x@2{0} c@3{7} d@3{7} e@3{0}"},
    {"the same, kept down to the shared node",
     "a:-1 x:-1 c:0 d:1 e:1",
     {1},
     "p@0{0,1,2} r@1{0,1,2} a@2{0} x@2{1,2} c@3{0} d@3{1} e@3{2}",
     "p@0{0} r@1{0} a@2{7} x@2{0}"},
    {"the same in path order: only what lies in front is parked",
     "x:-1 d:0 e:0 a:-1 c:3",
     {0, 2},
     "p@0{0,1,2} r@1{0,1,2} x@2{0,1} d@3{0} e@3{1} a@2{2} c@3{2}",
     "p@0{0} r@1{0} x@2{0} d@3{7} e@3{0}"},
    {"MAIN leaves its leaf deep down",
     "a:-1 b:0 c:1 d:2 e:1 f:4",
     {0, 1, 4, 5},
     "p@0{0,1} r@1{0,1} a@2{0,1} b@3{0,1} c@4{0} d@5{0} e@4{1} f@5{1}",
     "p@0{0} r@1{0} a@2{0} b@3{0} c@4{7} d@5{7} e@4{0} f@5{0}"},
    {"equal siblings",
     "a:-1 a:-1",
     {1},
     "p@0{0,1} r@1{0,1} a@2{0} a@2{1}",
     "p@0{0} r@1{0} a@2{7} a@2{0}"},
};

TEST(ArenaTest, OneRoundCellByCell) {
  for (const RoundRow& row : kRounds) {
    SCOPED_TRACE(row.name);
    ScriptedModel model(Letters(), {.max_sequences = 8});
    Arena arena(model);
    ASSERT_EQ(arena.Begin(Text("pr")), 0);
    arena.Verify(Token{'r'}, Tree(row.tree));
    EXPECT_EQ(model.DumpCells(), row.verified);
    EXPECT_EQ(model.cells_used(), arena.use().peak);
    arena.Accept(row.path);
    EXPECT_EQ(model.DumpCells(), row.accepted);
    EXPECT_EQ(model.cells_used(), CellsInUse(arena.use()));
    EXPECT_EQ(arena.use().verified, 1 + static_cast<int>(row.path.size()));
    arena.Verify(Token{'s'}, Tree("u:-1 v:-1"));
    EXPECT_EQ(model.violation(), "");
  }
}

TEST(ArenaTest, AFreedTailIsUsedAgainAndAParkedCellIsNot) {
  ScriptedModel model(Letters(), {.max_sequences = 8});
  Arena arena(model);
  arena.Begin(Text("pr"));
  arena.Verify(Token{'r'}, Tree("a:-1 b:-1 c:-1"));
  arena.Accept(std::vector<int>{1});
  arena.Verify(Token{'s'}, Tree("t:-1"));
  arena.Accept(std::vector<int>{0});
  EXPECT_EQ(model.DumpCells(), "p@0{0} r@1{0} a@2{7} b@2{0} s@3{0} t@4{0}");
  EXPECT_EQ(arena.use().prefix, 1);
  EXPECT_EQ(arena.use().verified, 4);
  EXPECT_EQ(arena.use().parked, 1);
  EXPECT_EQ(arena.use().peak, 6);
}

// ---- SIDE branches, cell by cell ----

// One call of the arena. Branches are named by letters in the order in which they open, rows as in
// Tree() with the names of their branches behind them:
//     begin pr        open 2        close A
//     verify r a:-1 b:-1 / x:-1:AB y:0:A        accept 1 / 0 1
struct Step {
  std::string call;
  std::string cells;  // after it; on 8 sequences 7 is for parking, 6 waits, branches go down from 5
};

struct TraceRow {
  std::string name;
  std::vector<Step> steps;
};

std::vector<int> Numbers(std::istream& in) {
  std::vector<int> numbers;
  for (std::string word; in >> word && word != "/";) numbers.push_back(std::stoi(word));
  return numbers;
}

std::vector<SideRow> SideRows(std::istream& in, const std::vector<BranchId>& branches) {
  std::vector<SideRow> rows;
  for (std::string word; in >> word;) {
    const size_t colon = word.rfind(':');
    rows.push_back(
        {.token = Token{word[0]}, .parent = std::stoi(word.substr(2, colon - 2)), .branches = {}});
    for (const char name : word.substr(colon + 1))
      rows.back().branches.push_back(branches[name - 'A']);
  }
  return rows;
}

void MakeCall(Arena& arena, const std::string& call, std::vector<BranchId>& branches) {
  std::istringstream in(call);
  std::string what, word, tree;
  in >> what;
  if (what == "accept") {
    const std::vector<int> path = Numbers(in);
    arena.Accept(path, Numbers(in));
    return;
  }
  in >> word;
  if (what == "begin") arena.Begin(Text(word));
  if (what == "open") branches.push_back(arena.Open(std::stoi(word)));
  if (what == "close") arena.Close(branches.at(word[0] - 'A'));
  if (what != "verify") return;
  for (std::string node; in >> node && node != "/";) tree += node + " ";
  arena.Verify(Token{word[0]}, Tree(tree), SideRows(in, branches));
}

const TraceRow kTraces[] = {
    {"a branch sees a prefix of MAIN, MAIN doesn't see it",
     {{"open 1", "p@0{0,5}"},
      {"verify r a:-1 / x:-1:A y:0:A", "p@0{0,5} r@1{0} a@2{0} x@1{5} y@2{5}"},
      {"accept 0 / 0 1", "p@0{0,5} r@1{0} a@2{0} x@1{5} y@2{5}"},
      {"verify s / z:-1:A", "p@0{0,5} r@1{0} a@2{0} x@1{5} y@2{5} s@3{0} z@3{5}"}}},
    {"kept in part, refused as a whole",
     {{"open 1", "p@0{0,5}"},
      {"open 1", "p@0{0,4,5}"},
      {"verify r / x:-1:B u:-1:A y:0:B", "p@0{0,4,5} r@1{0} x@1{4} u@1{5} y@2{4}"},
      {"accept / 0", "p@0{0,4,5} r@1{0} x@1{4}"}}},
    {"closed at once: freed",
     {{"open 1", "p@0{0,5}"},
      {"verify r / x:-1:A y:0:A", "p@0{0,5} r@1{0} x@1{5} y@2{5}"},
      {"accept / 0 1", "p@0{0,5} r@1{0} x@1{5} y@2{5}"},
      {"close A", "p@0{0} r@1{0}"},
      {"verify s", "p@0{0} r@1{0} s@2{0}"}}},
    {"closed after a later round: parked",
     {{"open 1", "p@0{0,5}"},
      {"verify r / x:-1:A", "p@0{0,5} r@1{0} x@1{5}"},
      {"accept / 0", "p@0{0,5} r@1{0} x@1{5}"},
      {"verify s", "p@0{0,5} r@1{0} x@1{5} s@2{0}"},
      {"accept", "p@0{0,5} r@1{0} x@1{5} s@2{0}"},
      {"close A", "p@0{0} r@1{0} x@1{7} s@2{0}"},
      {"verify t", "p@0{0} r@1{0} x@1{7} s@2{0} t@3{0}"}}},
    {"closed after a later round: what that round stored is freed",
     {{"open 1", "p@0{0,5}"},
      {"verify r / x:-1:A", "p@0{0,5} r@1{0} x@1{5}"},
      {"accept / 0", "p@0{0,5} r@1{0} x@1{5}"},
      {"verify s / y:-1:A", "p@0{0,5} r@1{0} x@1{5} s@2{0} y@2{5}"},
      {"accept / 0", "p@0{0,5} r@1{0} x@1{5} s@2{0} y@2{5}"},
      {"close A", "p@0{0} r@1{0} x@1{7} s@2{0}"}}},
    {"closed without cells",
     {{"open 1", "p@0{0,5}"}, {"close A", "p@0{0}"}, {"open 0", "p@0{0}"}, {"close B", "p@0{0}"}}},
    {"opened behind the root",
     {{"open 2", "p@0{0,5}"},
      {"verify r a:-1 b:-1 / x:-1:A", "p@0{0,1,5} r@1{0,1,5} a@2{0} b@2{1} x@2{5}"},
      {"accept 1 / 0", "p@0{0,5} r@1{0,5} a@2{7} b@2{0} x@2{5}"},
      {"verify s / y:-1:A", "p@0{0,5} r@1{0,5} a@2{7} b@2{0} x@2{5} s@3{0} y@3{5}"}}},
    {"opened behind the root, with rows only later",
     {{"open 2", "p@0{0,5}"},
      {"verify r a:-1", "p@0{0,5} r@1{0,5} a@2{0}"},
      {"accept 0", "p@0{0,5} r@1{0,5} a@2{0}"},
      {"verify s / x:-1:A", "p@0{0,5} r@1{0,5} a@2{0} s@3{0} x@2{5}"}}},
    {"opened behind the root, closed before the forward",
     {{"open 2", "p@0{0,5}"}, {"close A", "p@0{0}"}, {"verify r", "p@0{0} r@1{0}"}}},
    {"opened in the middle of the output",
     {{"verify r a:-1 b:-1 c:1", "p@0{0,1} r@1{0,1} a@2{0} b@2{1} c@3{1}"},
      {"accept 1 2", "p@0{0} r@1{0} a@2{7} b@2{0} c@3{0}"},
      {"open 3", "p@0{0,5} r@1{0,5} a@2{7} b@2{0,5} c@3{0}"},
      {"verify s / x:-1:A", "p@0{0,5} r@1{0,5} a@2{7} b@2{0,5} c@3{0} s@4{0} x@3{5}"}}},
    {"a shared row counts once and stays until its last branch closes",
     {{"open 1", "p@0{0,5}"},
      {"open 1", "p@0{0,4,5}"},
      {"verify r / x:-1:AB y:0:A z:0:B", "p@0{0,4,5} r@1{0} x@1{4,5} y@2{5} z@2{4}"},
      {"accept / 0 2", "p@0{0,4,5} r@1{0} x@1{4,5} y@2{6} z@2{4}"},
      {"close A", "p@0{0,4} r@1{0} x@1{4} y@2{6} z@2{4}"},
      {"verify s / u:-1:B", "p@0{0,4} r@1{0} x@1{4} s@2{0} z@2{4} u@3{4}"},
      {"accept / 0", "p@0{0,4} r@1{0} x@1{4} s@2{0} z@2{4} u@3{4}"},
      {"close B", "p@0{0} r@1{0} x@1{7} s@2{0} z@2{7}"}}},
    {"a refused draft in front of a kept SIDE cell waits for the next root",
     {{"open 1", "p@0{0,5}"},
      {"verify r a:-1 b:-1 / x:-1:A", "p@0{0,1,5} r@1{0,1} a@2{0} b@2{1} x@1{5}"},
      {"accept 0 / 0", "p@0{0,5} r@1{0} a@2{0} b@2{6} x@1{5}"},
      {"verify s / y:-1:A", "p@0{0,5} r@1{0} a@2{0} s@3{0} x@1{5} y@2{5}"}}},
    {"cells of one position are taken together, or parked",
     {{"open 1", "p@0{0,5}"},
      {"verify r a:-1 b:-1 c:1 / x:-1:A", "p@0{0,1,5} r@1{0,1} a@2{0} b@2{1} c@3{1} x@1{5}"},
      {"accept / 0", "p@0{0,5} r@1{0} a@2{6} b@2{6} c@3{6} x@1{5}"},
      {"verify s / y:-1:A", "p@0{0,5} r@1{0} a@2{7} b@2{7} s@2{0} x@1{5} y@2{5}"}}},
    {"a refused draft on a cell that had waited waits again",
     {{"open 1", "p@0{0,5}"},
      {"verify r a:-1 b:0 / x:-1:A", "p@0{0,5} r@1{0} a@2{0} b@3{0} x@1{5}"},
      {"accept / 0", "p@0{0,5} r@1{0} a@2{6} b@3{6} x@1{5}"},
      {"verify s c:-1 d:0", "p@0{0,5} r@1{0} s@2{0} c@3{0} x@1{5} d@4{0}"},
      {"accept", "p@0{0,5} r@1{0} s@2{0} c@3{6} x@1{5}"},
      {"verify t / y:-1:A", "p@0{0,5} r@1{0} s@2{0} t@3{0} x@1{5} y@2{5}"}}},
    {"closed in front of another branch's cell: waits",
     {{"open 1", "p@0{0,5}"},
      {"open 1", "p@0{0,4,5}"},
      {"verify r / x:-1:A y:-1:B", "p@0{0,4,5} r@1{0} x@1{5} y@1{4}"},
      {"accept / 0 1", "p@0{0,4,5} r@1{0} x@1{5} y@1{4}"},
      {"close A", "p@0{0,4} r@1{0} x@1{6} y@1{4}"},
      {"close B", "p@0{0} r@1{0} x@1{6}"},
      {"verify s", "p@0{0} r@1{0} s@2{0}"}}},
    {"a closed branch's sequence is used again, leaves take what is left",
     {{"open 1", "p@0{0,5}"},
      {"open 1", "p@0{0,4,5}"},
      {"close A", "p@0{0,4}"},
      {"verify r a:-1 b:-1 c:-1 d:-1 e:-1",
       "p@0{0,1,2,3,4,5} r@1{0,1,2,3,5} a@2{0} b@2{1} c@2{2} d@2{3} e@2{5}"},
      {"accept 4", "p@0{0,4} r@1{0} a@2{7} b@2{7} c@2{7} d@2{7} e@2{0}"},
      {"open 3", "p@0{0,4,5} r@1{0,5} a@2{7} b@2{7} c@2{7} d@2{7} e@2{0,5}"}}},
    {"Begin drops open branches",
     {{"open 2", "p@0{0,5}"},
      {"open 1", "p@0{0,4,5}"},
      {"verify r a:-1 b:-1 / x:-1:A y:-1:B", "p@0{0,1,4,5} r@1{0,1,5} a@2{0} b@2{1} x@2{5} y@1{4}"},
      {"accept 1 / 0 1", "p@0{0,4,5} r@1{0,5} a@2{7} b@2{0} x@2{5} y@1{4}"},
      {"begin prq", "p@0{0} r@1{0}"}}},
    {"Begin drops open branches in the middle of a round",
     {{"open 2", "p@0{0,5}"},
      {"verify r a:-1 / x:-1:A", "p@0{0,5} r@1{0,5} a@2{0} x@2{5}"},
      {"begin prq", "p@0{0} r@1{0}"}}},
};

TEST(ArenaTest, SideBranchesCellByCell) {
  for (const TraceRow& row : kTraces) {
    SCOPED_TRACE(row.name);
    ScriptedModel model(Letters(), {.max_sequences = 8});
    Arena arena(model);
    arena.Begin(Text("pr"));
    std::vector<BranchId> branches;
    for (const Step& step : row.steps) {
      SCOPED_TRACE(step.call);
      MakeCall(arena, step.call, branches);
      EXPECT_EQ(model.DumpCells(), step.cells);
      EXPECT_EQ(model.violation(), "");
      EXPECT_NO_THROW(arena.CheckInvariants());
      const bool between = !step.call.starts_with("verify");
      if (between) ExpectCells(model, arena, 0);
    }
    arena.Begin(Text("pr"));
    EXPECT_EQ(model.DumpCells(), "p@0{0}");
  }
}

// ---- Begin ----

struct BeginRow {
  std::string name, first, second;
  int reused;
};

const BeginRow kBegins[] = {
    {"the same prompt", "abcdef", "abcdef", 5},
    {"the former is a prefix", "abc", "abcdef", 2},
    {"a prefix of the former", "abcdef", "abc", 2},
    {"the last token differs", "abcdef", "abcdex", 5},
    {"a fork", "abcdef", "abxyz", 2},
    {"nothing in common", "abcdef", "xbcdef", 0},
    {"one token after many", "abcdef", "a", 0},
    {"many tokens after one", "a", "abcdef", 0},
    {"one token, twice", "a", "a", 0},
};

TEST(ArenaTest, BeginKeepsTheCommonPrefixOfABitExactModel) {
  for (const BeginRow& row : kBegins) {
    for (const Guarantee guarantee : {Guarantee::kBitExact, Guarantee::kMeasured}) {
      SCOPED_TRACE(row.name);
      ScriptedModel model(Letters(), {.max_sequences = 4, .guarantee = guarantee});
      Arena arena(model);
      EXPECT_EQ(arena.Begin(Text(row.first)), 0);
      arena.Verify(Text(row.first).back(), Tree("u:-1 v:-1"));
      arena.Accept(std::vector<int>{1});
      EXPECT_EQ(arena.Begin(Text(row.second)), guarantee == Guarantee::kBitExact ? row.reused : 0);
      EXPECT_EQ(model.cells_used(), static_cast<int>(row.second.size()) - 1);
      EXPECT_EQ(CellsInUse(arena.use()), model.cells_used());
      EXPECT_EQ(arena.use().peak, model.cells_used());

      arena.Verify(Text(row.second).back(), {});
      ScriptedModel fresh(Letters(), {});
      PlainAnswer(fresh, Text(row.second), 1);
      EXPECT_EQ(Copy(model.Logits(0)), Copy(fresh.Logits(0)));
      EXPECT_EQ(model.violation(), "");
    }
  }
}

TEST(ArenaTest, ANewArenaTakesOverAModelInAnyState) {
  ScriptedModel model(Letters(), {.max_sequences = 4});
  {
    Arena abandoned(model);
    abandoned.Begin(Text("abcdef"));
    abandoned.Verify(Token{'f'}, Tree("u:-1 v:-1"));
  }
  Arena arena(model);
  EXPECT_EQ(model.cells_used(), 0);
  EXPECT_EQ(arena.Begin(Text("abcdef")), 0);
}

// ---- Limits ----

TEST(ArenaTest, LimitsFollowTheModel) {
  ScriptedModel model(Letters(), {.context_size = 10, .max_rows = 4, .max_sequences = 3});
  Arena arena(model);
  EXPECT_EQ(arena.max_leaves(), 2);
  arena.Begin(Text("abcr"));
  EXPECT_EQ(arena.max_rows(), 4) << "the model's rows bound it";
  arena.Verify(Token{'r'}, Tree("a:-1 b:-1 c:1"));
  arena.Accept(std::vector<int>{1, 2});  // 3 + 3 verified, 1 parked
  EXPECT_EQ(arena.max_rows(), 3) << "free cells bound it";
  arena.Verify(Token{'s'}, Tree("a:-1 b:0"));
  arena.Accept(std::vector<int>{0, 1});
  EXPECT_EQ(arena.max_rows(), 0);
  EXPECT_EQ(model.cells_used(), 10);
  EXPECT_THROW(arena.Verify(Token{'t'}, {}), InternalError);
  EXPECT_EQ(model.violation(), "");
  EXPECT_EQ(arena.Begin(Text("0123456789")), 0) << "a prompt as long as the context";
  EXPECT_EQ(arena.max_rows(), 1);
}

TEST(ArenaTest, TwoSequencesAreEnoughForChains) {
  ScriptedModel model(Letters(), {.max_sequences = 2});
  Arena arena(model);
  EXPECT_EQ(arena.max_leaves(), 1);
  arena.Begin(Text("pr"));
  arena.Verify(Token{'r'}, Tree("a:-1 b:0"));
  arena.Accept(std::vector<int>{0});
  EXPECT_EQ(model.DumpCells(), "p@0{0} r@1{0} a@2{0}");
}

struct MisuseRow {
  std::string name;
  std::function<void(Arena&)> act;  // on a new arena; its last call must throw
};

void Verify(Arena& arena, const std::string& tree) { arena.Verify(Token{'r'}, Tree(tree)); }

const MisuseRow kMisuses[] = {
    {"Verify before Begin", [](Arena& a) { Verify(a, ""); }},
    {"Accept before Begin", [](Arena& a) { a.Accept({}); }},
    {"Accept before Verify", [](Arena& a) { a.Begin(Text("r")), a.Accept({}); }},
    {"Accept twice",
     [](Arena& a) { a.Begin(Text("r")), Verify(a, ""), a.Accept({}), a.Accept({}); }},
    {"Verify twice", [](Arena& a) { a.Begin(Text("r")), Verify(a, ""), Verify(a, ""); }},
    {"an empty prompt", [](Arena& a) { a.Begin({}); }},
    {"a prompt longer than the context", [](Arena& a) { a.Begin(Text("0123456789012")); }},
    {"too many rows", [](Arena& a) { a.Begin(Text("r")), Verify(a, "a:-1 b:0 c:1 d:2 e:3 f:4"); }},
    {"too many leaves", [](Arena& a) { a.Begin(Text("r")), Verify(a, "a:-1 b:-1 c:-1"); }},
    {"a child before its parent", [](Arena& a) { a.Begin(Text("r")), Verify(a, "a:1 b:-1"); }},
    {"its own parent", [](Arena& a) { a.Begin(Text("r")), Verify(a, "a:0"); }},
    {"a parent below the root", [](Arena& a) { a.Begin(Text("r")), Verify(a, "a:-2"); }},
    {"a path that starts below the root",
     [](Arena& a) { a.Begin(Text("r")), Verify(a, "a:-1 b:0"), a.Accept(std::vector<int>{1}); }},
    {"a path with a jump",
     [](Arena& a) {
       a.Begin(Text("r")), Verify(a, "a:-1 b:-1"), a.Accept(std::vector<int>{0, 1});
     }},
    {"a path with an unknown node",
     [](Arena& a) { a.Begin(Text("r")), Verify(a, "a:-1"), a.Accept(std::vector<int>{1}); }},
};

TEST(ArenaTest, WrongUseThrowsAndBeginRecovers) {
  for (const MisuseRow& row : kMisuses) {
    SCOPED_TRACE(row.name);
    ScriptedModel model(Letters(), {.context_size = 12, .max_rows = 6, .max_sequences = 3});
    Arena arena(model);
    EXPECT_THROW(row.act(arena), InternalError);
    EXPECT_EQ(model.violation(), "");
    arena.Begin(Text("pr"));
    EXPECT_EQ(model.cells_used(), 1);
  }
}

TEST(ArenaTest, AModelWithOneSequenceIsRefused) {
  ScriptedModel model(Letters(), {.max_sequences = 1});
  EXPECT_THROW(Arena{model}, InternalError);
}

// ---- Properties ----

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
  const auto tokenizer = JsonTokenizer();
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

// Whatever is drafted and whatever is kept of it, every row answers as plain decoding of its
// history.
TEST(ArenaPropertyTest, EveryRowOfEveryTreeIsPlain) {
  PlainReference reference;
  ScriptedModel model(JsonTokenizer(), {.context_size = 120, .max_sequences = 7});
  Arena arena(model);
  for (uint32_t seed = 0; seed < 200; ++seed) {
    Dice dice(seed);
    std::vector<Token> past = Text(std::string_view("abcdefgh").substr(0, 1 + dice.Roll(8)));
    arena.Begin(past);
    int peak = arena.use().peak;
    for (int round = 0; round < 8 && arena.max_rows() > 0; ++round) {
      const int nodes_limit = std::min(12, arena.max_rows() - 1);
      const std::vector<TreeNode> nodes = RandomTree(dice, nodes_limit, arena.max_leaves(), {});
      arena.Verify(past.back(), nodes);
      for (int node = -1; node < static_cast<int>(nodes.size()); ++node) {
        ASSERT_EQ(Copy(model.Logits(node + 1)), reference.Logits(History(past, nodes, node)))
            << "seed " << seed << ", round " << round << ", node " << node;
      }
      ExpectCells(model, arena, 1 + static_cast<int>(nodes.size()));
      peak = std::max(peak, model.cells_used());
      if (dice.Roll(40) == 0) break;  // cancelled
      const std::vector<int> path = RandomPath(dice, nodes);
      arena.Accept(path);
      ExpectCells(model, arena, 0);
      ASSERT_EQ(arena.use().peak, peak);
      past = History(past, nodes, path.empty() ? -1 : path.back());
      past.push_back(AnyToken(dice));
    }
    ASSERT_EQ(model.violation(), "");
  }
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

// Drafts, verifies and accepts until the answer has the length of the truth.
std::vector<Token> DraftedAnswer(Dice& dice, ScriptedModel& model, Arena& arena,
                                 const Request& request, const SamplingOptions& sampling) {
  std::vector<Token> answer;
  while (answer.size() < request.truth.size()) {
    const int done = static_cast<int>(answer.size());
    const std::vector<Token> rest(request.truth.begin() + done, request.truth.end());
    const int room = std::min({10, arena.max_rows() - 1, static_cast<int>(rest.size()) - 1});
    const std::vector<TreeNode> nodes = RandomTree(dice, room, arena.max_leaves(), rest);
    arena.Verify(answer.empty() ? request.prompt.back() : answer.back(), nodes);
    const auto logits = [&](int row) { return model.Logits(row); };
    const Verdict verdict = VerifyTree(nodes, logits, sampling, done);
    arena.Accept(verdict.path);
    ExpectCells(model, arena, 0);
    for (const int node : verdict.path) answer.push_back(nodes[node].token);
    answer.push_back(verdict.correction);
  }
  return answer;
}

TEST(ArenaPropertyTest, DraftedDecodingIsPlainDecodingOver200Requests) {
  for (const double temperature : {0.0, 1.0}) {
    ScriptedModel plain(JsonTokenizer(), {});
    ScriptedModel model(JsonTokenizer(), {.context_size = 400, .max_sequences = 6});
    Arena arena(model);
    int forwards = 0, tokens = 0, parked = 0;
    for (uint32_t seed = 0; seed < 200; ++seed) {
      Dice dice(seed);
      const SamplingOptions sampling{.temperature = temperature, .seed = seed};
      const Request request = RandomRequest(dice, plain, sampling);
      arena.Begin(request.prompt);
      ASSERT_EQ(model.cells_used(), static_cast<int>(request.prompt.size()) - 1) << "a leak";
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
  ScriptedModel model(JsonTokenizer(), {.context_size = 400, .max_sequences = 6});
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
