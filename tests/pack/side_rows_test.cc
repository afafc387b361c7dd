#include "pack/side_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>

#include "support/arena_inputs.h"
#include "support/keyed_dice.h"

namespace schemafill {
namespace {

struct Asked {
  int fork = 0;
  bool begins = true;
  std::string_view context;
  std::string_view draft;
};

// The i-th draft is of branch i, and the arena calls it i + 10.
std::vector<SideDraft> Drafts(const std::vector<Asked>& asked) {
  std::vector<SideDraft> drafts;
  for (const auto& [fork, begins, context, draft] : asked)
    drafts.push_back({static_cast<int>(drafts.size()), fork, begins, Text(context), Text(draft)});
  return drafts;
}

std::vector<BranchId> Ids(size_t count) {
  std::vector<BranchId> ids;
  for (size_t i = 0; i < count; ++i) ids.push_back(BranchId{static_cast<int>(i) + 10});
  return ids;
}

// `p{10,11} a{10}* :0`: token, branches, a star for logits, the parent where it isn't the row in
// front.
std::string Dump(const SideRows& packed) {
  std::string out;
  for (size_t i = 0; i < packed.rows.size(); ++i) {
    const SideRow& row = packed.rows[i];
    std::vector<int> ids;
    for (const BranchId id : row.branches) ids.push_back(Index(id));
    out += fmt::format("{}{}{{{}}}{}", i == 0 ? "" : " ", static_cast<char>(Index(row.token)),
                       fmt::join(ids, ","), row.wants_logits ? "*" : "");
    if (row.parent != static_cast<int>(i) - 1) out += fmt::format(":{}", row.parent);
  }
  return out;
}

TEST(PackSide, RowsAndPaths) {
  struct Case {
    std::string_view label;
    std::vector<Asked> asked;
    std::string_view rows;
    std::string_view paths;
  };
  const auto kCases = std::to_array<Case>({
      {"nothing", {}, "", "[]"},
      {"a branch that begins",
       {{5, true, "pq", "ab"}},
       "p{10} q{10}* a{10}* b{10}*",
       "[[0, 1, 2, 3]]"},
      {"without a draft", {{5, true, "pq", ""}}, "p{10} q{10}*", "[[0, 1]]"},
      {"a correction, and a draft behind it",
       {{5, false, "c", "ab"}},
       "c{10}* a{10}* b{10}*",
       "[[0, 1, 2]]"},
      {"prefixes share what they have in common",
       {{5, true, "pqa", "x"}, {5, true, "pqb", "y"}},
       "p{10,11} q{10,11} a{10}* x{10}* b{11}*:1 y{11}*",
       "[[0, 1, 2, 3], [0, 1, 4, 5]]"},
      {"three of them, each with one before it",
       {{5, true, "pqa", ""}, {5, true, "rq", ""}, {5, true, "pqb", ""}, {5, true, "rs", ""}},
       "p{10,12} q{10,12} a{10}* r{11,13}:-1 q{11}* b{12}*:1 s{13}*:3",
       "[[0, 1, 2], [3, 4], [0, 1, 5], [3, 6]]"},
      {"one prefix is all of another's begin: its last row has logits",
       {{5, true, "pq", "x"}, {5, true, "pqr", ""}},
       "p{10,11} q{10,11}* x{10}* r{11}*:1",
       "[[0, 1, 2], [0, 1, 3]]"},
      {"drafts are never shared",
       {{5, true, "p", "ab"}, {5, true, "p", "ab"}},
       "p{10,11}* a{10}* b{10}* a{11}*:0 b{11}*",
       "[[0, 1, 2], [0, 3, 4]]"},
      {"nor a prefix with a draft",
       {{5, true, "p", "q"}, {5, true, "pq", ""}},
       "p{10,11}* q{10}* q{11}*:0",
       "[[0, 1], [0, 2]]"},
      {"branches that begin at different places",
       {{5, true, "pq", ""}, {6, true, "pq", ""}},
       "p{10} q{10}* p{11}:-1 q{11}*",
       "[[0, 1], [2, 3]]"},
      {"a branch that began earlier",
       {{5, false, "p", "q"}, {5, true, "pq", ""}, {5, false, "p", "q"}},
       "p{10}* q{10}* p{11}:-1 q{11}* p{12}*:-1 q{12}*",
       "[[0, 1], [2, 3], [4, 5]]"},
      {"a token twice on one path",
       {{5, true, "ppp", "p"}},
       "p{10} p{10} p{10}* p{10}*",
       "[[0, 1, 2, 3]]"},
  });
  for (const Case& row : kCases) {
    const SideRows packed = PackSide(Drafts(row.asked), Ids(row.asked.size()));
    EXPECT_EQ(Dump(packed), row.rows) << row.label;
    EXPECT_EQ(fmt::format("{}", packed.paths), row.paths) << row.label;
  }
}

// Whatever is asked, the arena takes the rows, each path spells its draft, and no row of prefixes
// is there twice.
TEST(PackSide, OfAnyDrafts) {
  int shared = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    KeyedDice dice(seed);
    ScriptedModel model(Letters(), {});
    Arena arena(model);
    const std::vector<Token> prompt = Text("prompt");
    arena.Begin(prompt);
    std::map<int, BranchId> open;
    int next = 0;
    for (int round = 0; round < 6; ++round) {
      std::vector<SideDraft> drafts;
      std::vector<BranchId> ids;
      const auto ask = [&](int branch, int fork, bool begins) {
        SideDraft draft{branch, fork, begins, {}, {}};
        for (int left = 1 + dice.Roll(4); left > 0; --left)
          draft.context.push_back(Token{'a' + dice.Roll(2)});
        for (int left = dice.Roll(4); left > 0; --left)
          draft.draft.push_back(Token{'a' + dice.Roll(2)});
        drafts.push_back(std::move(draft));
        ids.push_back(open.at(branch));
      };
      for (const auto& [branch, id] : open) {
        if (!dice.OneIn(3)) ask(branch, 6, false);
      }
      for (int left = dice.Roll(4); left > 0 && arena.free_branches() > 0; --left) {
        const int fork = 5 + dice.Roll(2);
        open.emplace(next, arena.Open(fork));
        ask(next++, fork, true);
      }
      const SideRows packed = PackSide(drafts, ids);
      ASSERT_NO_THROW(arena.Verify(Token{'.'}, {}, packed.rows)) << seed;
      ASSERT_EQ(packed.paths.size(), drafts.size());
      std::set<std::vector<Token>> prefixes;  // with where they begin in front
      size_t own = 0;
      std::vector<int> kept;
      for (size_t i = 0; i < drafts.size(); ++i) {
        std::vector<Token> path = drafts[i].context;
        path.insert(path.end(), drafts[i].draft.begin(), drafts[i].draft.end());
        ASSERT_EQ(packed.paths[i].size(), path.size());
        int parent = -1;
        std::vector<Token> prefix = {Token{drafts[i].fork}};
        for (size_t k = 0; k < path.size(); ++k) {
          const SideRow& row = packed.rows[static_cast<size_t>(packed.paths[i][k])];
          ASSERT_EQ(row.token, path[k]);
          ASSERT_EQ(row.parent, parent);
          ASSERT_EQ(std::ranges::count(row.branches, ids[i]), 1);
          ASSERT_TRUE(row.wants_logits || k + 1 < drafts[i].context.size());
          parent = packed.paths[i][k];
          prefix.push_back(path[k]);
          if (drafts[i].begins && k < drafts[i].context.size()) {
            prefixes.insert(prefix);
            kept.push_back(parent);
          } else {
            ++own;
          }
        }
      }
      ASSERT_EQ(packed.rows.size(), prefixes.size() + own);
      std::ranges::sort(kept);
      const auto doubled = std::ranges::unique(kept);
      shared += static_cast<int>(doubled.size());
      kept.erase(doubled.begin(), doubled.end());
      arena.Accept({}, kept);
    }
    ASSERT_EQ(model.violation(), "");
    arena.CheckInvariants();
  }
  EXPECT_GT(shared, 500);
}

}  // namespace
}  // namespace schemafill
