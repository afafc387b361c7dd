#include "kv/arena.h"

#include <gtest/gtest.h>

#include <functional>
#include <sstream>

#include "support/arena_inputs.h"
#include "support/scripted.h"

namespace schemafill {
namespace {

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
  EXPECT_EQ(arena.use().peak_kept, 6);
}

// ---- SIDE branches, cell by cell ----

// One call of the arena. Branches are named by letters in the order in which they open, rows as in
// Tree() with the names of their branches behind them:
//     begin pr        open 2        close A
//     verify r a:-1 b:-1 / x:-1:AB y:0:A        accept 1 / 0 1        extend x:-1:A
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
  if (what == "extend") return arena.Extend(SideRows(in, branches));
  in >> word;
  if (what == "begin") arena.Begin(Text(word));
  if (what == "together") arena.Begin(Text(word), PrefillMode::kWithFirstTree);
  if (what == "open") branches.push_back(arena.Open(std::stoi(word)));
  if (what == "close") arena.Close(branches.at(word[0] - 'A'));
  if (what != "verify") return;
  for (std::string node; in >> node && node != "/";) tree += node + " ";
  arena.Verify(Token{word[0]}, Tree(tree), SideRows(in, branches));
}

// Calls with ", " between them.
void MakeCalls(Arena& arena, std::string calls, std::vector<BranchId>& branches) {
  for (size_t comma; (comma = calls.find(", ")) != std::string::npos;) {
    MakeCall(arena, calls.substr(0, comma), branches);
    calls.erase(0, comma + 2);
  }
  MakeCall(arena, calls, branches);
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
    {"SIDE rows alone: two branches share a row, what waits is parked",
     {{"open 1", "p@0{0,5}"},
      {"open 1", "p@0{0,4,5}"},
      {"extend x:-1:AB y:0:A z:0:B", "p@0{0,4,5} x@1{4,5} y@2{5} z@2{4}"},
      {"close A", "p@0{0,4} x@1{4} y@2{6} z@2{4}"},
      {"extend u:-1:B", "p@0{0,4} x@1{4} y@2{7} z@2{4} u@3{4}"},
      {"close B", "p@0{0} x@1{7} y@2{7} z@2{7}"},
      {"verify r a:-1", "p@0{0} x@1{7} y@2{7} z@2{7} r@1{0} a@2{0}"}}},
    {"SIDE rows alone, closed at once: freed",
     {{"open 1", "p@0{0,5}"},
      {"extend x:-1:A y:0:A", "p@0{0,5} x@1{5} y@2{5}"},
      {"close A", "p@0{0}"},
      {"verify r", "p@0{0} r@1{0}"}}},
    {"SIDE rows alone between MAIN's",
     {{"open 1", "p@0{0,5}"},
      {"verify r a:-1 b:-1 / x:-1:A", "p@0{0,1,5} r@1{0,1} a@2{0} b@2{1} x@1{5}"},
      {"accept 0 / 0", "p@0{0,5} r@1{0} a@2{0} b@2{6} x@1{5}"},
      {"extend y:-1:A", "p@0{0,5} r@1{0} a@2{0} b@2{7} x@1{5} y@2{5}"},
      {"verify s / z:-1:A", "p@0{0,5} r@1{0} a@2{0} b@2{7} x@1{5} y@2{5} s@3{0} z@3{5}"}}},
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

TEST(ArenaTest, UseCountsSideCellsAndTheMostThatWereKept) {
  ScriptedModel model(Letters(), {.max_sequences = 8});
  Arena arena(model);
  arena.Begin(Text("pr"));
  std::vector<BranchId> branches;
  for (const char* call : {"open 1", "open 1", "verify r a:-1 b:-1 / x:-1:AB y:0:A z:1:A",
                           "accept 1 / 0 1", "close A", "close B"}) {
    MakeCall(arena, call, branches);
    ExpectCells(model, arena, call[0] == 'v' ? 6 : 0);
  }
  const ArenaUse& use = arena.use();
  EXPECT_EQ(use.peak, 1 + 6);
  EXPECT_EQ(use.peak_kept, 1 + 2 + 2 + 1) << "prefix, verified, SIDE and parked";
  EXPECT_EQ(use.side, 0);
  EXPECT_EQ(use.parked, 1);
}

// ---- The prompt's end with the first tree ----

constexpr PrefillMode kTogether = PrefillMode::kWithFirstTree;

TEST(ArenaTest, ThePromptComesWithTheFirstTree) {
  ScriptedModel model(Letters(), {.max_rows = 6, .max_sequences = 8});
  Arena arena(model);
  EXPECT_EQ(arena.Begin(Text("opqrs"), kTogether), 0);
  EXPECT_EQ(model.DumpCells(), "o@0{0}") << "half of a forward's rows may be prompt";
  EXPECT_EQ(arena.use().prefix, 1);
  EXPECT_EQ(arena.max_rows(), 3);
  EXPECT_EQ(model.forwards(), 0);
  std::vector<BranchId> branches;
  MakeCall(arena, "open 3", branches);
  MakeCall(arena, "open 5", branches);
  MakeCall(arena, "verify s / x:-1:A y:-1:B", branches);
  EXPECT_EQ(model.DumpCells(), "o@0{0,4,5} p@1{0,4,5} q@2{0,4,5} r@3{0,4} s@4{0,4} x@3{5} y@5{4}");
  EXPECT_EQ(arena.first_row(), 3);
  EXPECT_EQ(arena.use().prefix, 4);
  EXPECT_EQ(arena.use().peak, 7);
  ScriptedModel fresh(Letters(), {});
  PlainAnswer(fresh, Text("opqrs"), 1);
  EXPECT_EQ(Copy(model.Logits(arena.first_row())), Copy(fresh.Logits(0)));
  PlainAnswer(fresh, Text("opqx"), 1);
  EXPECT_EQ(Copy(model.Logits(arena.first_row() + 1)), Copy(fresh.Logits(0)));
  EXPECT_THROW(model.Logits(0), InternalError) << "rows of the prompt have no logits";
  ExpectCells(model, arena, 3);
  MakeCall(arena, "accept / 0 1", branches);
  ExpectCells(model, arena, 0);
  EXPECT_EQ(arena.use().verified, 1);

  EXPECT_EQ(arena.max_rows(), 6);
  MakeCall(arena, "verify t a:-1 b:-1", branches);
  EXPECT_EQ(arena.first_row(), 0);
  MakeCall(arena, "accept 1", branches);
  ExpectCells(model, arena, 0);
  EXPECT_EQ(model.violation(), "");
}

TEST(ArenaTest, ATreeBehindThePromptForksAsAlways) {
  ScriptedModel model(Letters(), {.max_sequences = 8});
  Arena arena(model);
  arena.Begin(Text("pr"), kTogether);
  EXPECT_EQ(model.DumpCells(), "");
  arena.Verify(Token{'r'}, Tree("a:-1 b:-1"));
  EXPECT_EQ(model.DumpCells(), "p@0{0,1} r@1{0,1} a@2{0} b@2{1}");
  arena.Accept(std::vector<int>{1});
  EXPECT_EQ(model.DumpCells(), "p@0{0} r@1{0} a@2{7} b@2{0}");
  ExpectCells(model, arena, 0);
  EXPECT_EQ(model.violation(), "");
}

TEST(ArenaTest, OnlyCellsOfAPromptTakenInApartAreReused) {
  ScriptedModel model(Letters(), {.max_rows = 4, .max_sequences = 8});
  Arena arena(model);
  arena.Begin(Text("abcdef"), kTogether);
  EXPECT_EQ(arena.Begin(Text("abcdef"), kTogether), 3) << "the others had no cells";
  arena.Verify(Token{'f'}, {});
  arena.Accept({});
  EXPECT_EQ(arena.Begin(Text("abcdef")), 3);
  EXPECT_EQ(model.DumpCells(), "a@0{0} b@1{0} c@2{0} d@3{0} e@4{0}");
  EXPECT_EQ(arena.Begin(Text("abcdef"), kTogether), 5) << "nothing is left for the tree";
  arena.Verify(Token{'f'}, {});
  EXPECT_EQ(arena.first_row(), 0);
  EXPECT_EQ(model.violation(), "");
}

TEST(ArenaTest, APromptAsLongAsTheContextLeavesRoomForItsRoot) {
  for (const int max_rows : {1, 2, 3, 64}) {
    ScriptedModel model(Letters(), {.context_size = 10, .max_rows = max_rows, .max_sequences = 4});
    Arena arena(model);
    arena.Begin(Text("0123456789"), kTogether);
    EXPECT_GE(arena.max_rows(), 1);
    arena.Verify(Token{'9'}, {});
    arena.Accept({});
    EXPECT_EQ(arena.max_rows(), 0);
    EXPECT_EQ(model.cells_used(), 10);
    EXPECT_EQ(model.violation(), "");
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

TEST(ArenaTest, BranchesLeaveHalfOfTheSequencesToTheTree) {
  for (const int sequences : {2, 3, 4, 5, 6, 7, 8, 9, 16, 64, 256}) {
    SCOPED_TRACE(sequences);
    ScriptedModel model(Letters(), {.max_sequences = sequences});
    Arena arena(model);
    arena.Begin(Text("pr"));
    EXPECT_EQ(arena.max_leaves(), sequences - 1);
    const int branches = arena.free_branches();
    EXPECT_EQ(branches, std::max(0, sequences / 2 - 2));
    for (int i = 0; i < branches; ++i) {
      arena.Open(i % 3);
      EXPECT_EQ(arena.free_branches(), branches - i - 1);
      EXPECT_EQ(arena.max_leaves(), sequences - 2 - (i + 1)) << "one is for cells that wait";
    }
    arena.CheckInvariants();
    EXPECT_GE(2 * arena.max_leaves(), sequences);
    EXPECT_THROW(arena.Open(1), InternalError);
  }
}

TEST(ArenaTest, SideRowsCountAsRows) {
  ScriptedModel model(Letters(), {.context_size = 7, .max_rows = 5, .max_sequences = 8});
  Arena arena(model);
  arena.Begin(Text("pr"));
  std::vector<BranchId> branches;
  for (const char* call : {"open 1", "verify r a:-1 / x:-1:A y:0:A z:1:A", "accept 0 / 0 1 2"}) {
    MakeCall(arena, call, branches);
  }
  EXPECT_EQ(arena.max_rows(), 1);
  EXPECT_THROW(MakeCall(arena, "verify s / u:-1:A", branches), InternalError);
  MakeCall(arena, "close A", branches);
  EXPECT_EQ(arena.max_rows(), 4);
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

struct SideMisuseRow {
  std::string name, calls;  // on a new arena; the last must throw
};

const SideMisuseRow kSideMisuses[] = {
    {"Open before Begin", "open 0"},
    {"Open before Accept", "begin pr, verify r, open 1"},
    {"Open behind tokens that aren't there", "begin pr, open 3"},
    {"Open behind drafts", "begin pr, verify r a:-1, accept, open 4"},
    {"Open in front of everything", "begin pr, open -1"},
    {"too many branches", "begin pr, open 1, open 1, open 1"},
    {"Close before Accept", "begin pr, open 1, verify r, close A"},
    {"Close twice", "begin pr, open 1, close A, close A"},
    {"Close twice, with another on its sequence", "begin pr, open 1, close A, open 1, close A"},
    {"Close after the request", "begin pr, open 1, begin pr, close A"},
    {"Close in the next request", "begin pr, open 1, begin pr, open 1, close A"},
    {"a row of a closed branch", "begin pr, open 1, close A, verify r / x:-1:A"},
    {"a row without a branch", "begin pr, open 1, verify r / x:-1:"},
    {"a row of a branch twice", "begin pr, open 1, verify r / x:-1:AA"},
    {"a row before its parent", "begin pr, open 1, verify r / x:1:A y:-1:A"},
    {"its own parent", "begin pr, open 1, verify r / x:0:A"},
    {"a parent below the branch", "begin pr, open 1, verify r / x:-2:A"},
    {"siblings in one branch", "begin pr, open 1, verify r / x:-1:A y:0:A z:0:A"},
    {"two starts of one branch", "begin pr, open 1, verify r / x:-1:A y:-1:A"},
    {"a child in another branch", "begin pr, open 1, open 1, verify r / x:-1:A y:0:B"},
    {"a child in more branches", "begin pr, open 1, open 1, verify r / x:-1:A y:0:AB"},
    {"branches opened at different places share", "begin pr, open 1, open 2, verify r / x:-1:AB"},
    {"branches with rows share",
     "begin pr, open 1, open 1, verify r / x:-1:AB, accept / 0, verify s / y:-1:AB"},
    {"a branch with rows and one without share",
     "begin pr, open 1, verify r / x:-1:A, accept / 0, open 2, verify s / y:-1:AB"},
    {"too many rows", "begin pr, open 1, verify r a:-1 b:0 c:1 d:2 e:3 / x:-1:A y:0:A z:1:A"},
    {"too many leaves beside branches",
     "begin pr, open 1, open 1, verify r a:-1 b:-1 c:-1 d:-1 e:-1 f:-1"},
    {"a kept row that isn't there", "begin pr, open 1, verify r a:-1 / x:-1:A, accept 0 / 1"},
    {"a kept row below the first", "begin pr, open 1, verify r / x:-1:A, accept / -1"},
    {"a row kept twice", "begin pr, open 1, verify r / x:-1:A, accept / 0 0"},
    {"kept rows out of order", "begin pr, open 1, verify r / x:-1:A y:0:A, accept / 1 0"},
    {"a kept row without its parent", "begin pr, open 1, verify r / x:-1:A y:0:A, accept / 1"},
    {"too many rows beside the prompt", "together abcdefgh, verify h a:-1 b:0 c:1 d:2"},
    {"a branch behind more than prompt and root", "together abc, open 4"},
    {"Extend before Begin", "extend"},
    {"Extend before Accept", "begin pr, open 1, verify r, extend x:-1:A"},
    {"Extend without rows", "begin pr, open 1, extend"},
    {"Extend with too many rows",
     "begin pr, open 1, extend a:-1:A b:0:A c:1:A d:2:A e:3:A f:4:A g:5:A h:6:A i:7:A"},
    {"Extend in front of the prompt's last rows", "together abc, open 1, extend x:-1:A"},
    {"Extend behind the next root", "begin pr, open 2, extend x:-1:A"},
};

TEST(ArenaTest, WrongUseOfBranchesThrowsAndBeginRecovers) {
  for (const auto& [name, calls] : kSideMisuses) {
    SCOPED_TRACE(name);
    ScriptedModel model(Letters(), {.context_size = 30, .max_rows = 8, .max_sequences = 8});
    Arena arena(model);
    std::vector<BranchId> branches;
    const size_t last = calls.rfind(", ");
    if (last != std::string::npos) MakeCalls(arena, calls.substr(0, last), branches);
    EXPECT_THROW(MakeCalls(arena, calls.substr(last == std::string::npos ? 0 : last + 2), branches),
                 InternalError);
    EXPECT_EQ(model.violation(), "");
    arena.Begin(Text("pr"));
    EXPECT_EQ(model.cells_used(), 1);
    arena.CheckInvariants();
  }
}

TEST(ArenaTest, AModelWithOneSequenceIsRefused) {
  ScriptedModel model(Letters(), {.max_sequences = 1});
  EXPECT_THROW(Arena{model}, InternalError);
}

}  // namespace
}  // namespace schemafill
