#include "pack/side_rows.h"

namespace schemafill {
namespace {

// The row behind `parent` that a branch which begins at `fork` may share; -1 without one.
int Shared(const SideRows& packed, std::span<const int> forks, int parent, Token token, int fork) {
  for (size_t i = 0; i < packed.rows.size(); ++i) {
    if (packed.rows[i].parent == parent && packed.rows[i].token == token && forks[i] == fork)
      return static_cast<int>(i);
  }
  return -1;
}

}  // namespace

SideRows PackSide(std::span<const SideDraft> drafts, std::span<const BranchId> ids) {
  constexpr int kOwn = -1;
  SideRows packed;
  std::vector<int> forks;  // of each row: where its branches begin, kOwn for rows of one branch
  for (size_t i = 0; i < drafts.size(); ++i) {
    const SideDraft& draft = drafts[i];
    std::vector<int>& path = packed.paths.emplace_back();
    int parent = -1;
    const auto add = [&](Token token, bool wants_logits, int fork) {
      int row = fork == kOwn ? -1 : Shared(packed, forks, parent, token, fork);
      if (row < 0) {
        row = static_cast<int>(packed.rows.size());
        packed.rows.push_back({token, parent, {}, false});
        forks.push_back(fork);
      }
      packed.rows[static_cast<size_t>(row)].branches.push_back(ids[i]);
      packed.rows[static_cast<size_t>(row)].wants_logits |= wants_logits;
      path.push_back(row);
      parent = row;
    };
    for (size_t k = 0; k < draft.context.size(); ++k)
      add(draft.context[k], k + 1 == draft.context.size(), draft.begins ? draft.fork : kOwn);
    for (const Token token : draft.draft) add(token, true, kOwn);
  }
  return packed;
}

}  // namespace schemafill
