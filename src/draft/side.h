// SIDE branches (paper 4.2, Eq. 5; Algorithm 1, lines 8 to 12 and 18 to 20): the target writes the
// values of slots that MAIN has not come to yet, each behind a prefix of its own. A branch sees the
// prompt (or verified output), its prefix and its own history, never another branch. Each round it
// proposes some tokens of its value; the target's accepted ones and its correction go on with the
// branch, and nowhere else. What a branch has ready is a hint for MAIN, from the next round on.
//
// Tested by tests/draft/side_test.cc.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "catalog/answer.h"
#include "draft/head_drafter.h"
#include "draft/literal.h"
#include "draft/pieces.h"
#include "draft/spine.h"
#include "model/tokenizer.h"
#include "plan/schedule.h"

namespace schemafill {

// What a branch asks of the next forward.
struct SideDraft {
  int branch = 0;              // its number, from 0, in the order in which branches began
  int fork = 0;                // tokens of prompt and output that it continues
  bool begins = false;         // it has no cells yet
  std::vector<Token> context;  // stored without a question: its prefix, or its last correction
  std::vector<Token> draft;    // proposed behind it
};

// The target's answer: the first `accepted` draft tokens are its own choices, then comes another.
struct SideVerdict {
  int branch = 0;
  int accepted = 0;
  Token correction{};
};

// What a branch's prefix holds in front of its slot's key.
enum class SideContext {
  kHint,   // the prompt, the call-position hint for any call but the first, the tool's header: the
           // paper's
  kGuess,  // what MAIN has verified, and a guess of what lies between, where there is one
};

struct SideOptions {
  int max_branches = 12;  // drafting at once
  int max_draft = 8;      // tokens a branch and a round
  int max_value = 48;     // tokens; a longer value is left to MAIN
  SideContext context = SideContext::kGuess;
};

// Where MAIN stands: verified tokens only.
struct MainState {
  const Answer* answer = nullptr;
  std::span<const Token> tokens;  // prompt and output
  int prompt_tokens = 0;
};

// A branch as a trace shows it.
struct SideView {
  int group = 0;  // index in Schedule::groups()
  PreparedValue value;
};

// One for a request; not thread-safe. What `sources` points to must outlive it.
class SideBranches {
 public:
  SideBranches(const DraftSources& sources, const Tokenizer& tokenizer, const SideOptions& options)
      : sources_(sources), tokenizer_(tokenizer), options_(options) {}

  // The branches under way whose tokens but the last one have cells, for a head.
  std::vector<HeadBranch> AsksHead() const;

  // Drafts for every branch under way, and begins one for each active field that has none, as far
  // as `max_rows` rows and `max_new` branches go. A branch that found no room waits. `guesses`: the
  // head's, by branch.
  std::vector<SideDraft> Propose(const MainState& main, const Schedule& schedule,
                                 std::span<const PreparedValue> prepared, int max_rows, int max_new,
                                 const std::map<int, HeadGuess>& guesses = {});

  // Takes the target's verdicts in. Returns the branches that are done: their value is complete,
  // longer than it may be, or no JSON.
  std::vector<int> Take(std::span<const SideVerdict> verdicts, std::span<const SideDraft> drafts);

  // Ends the branches whose fields are not open any more, and returns them. A value stays a
  // candidate until its field is retired.
  std::vector<int> Retire(const Schedule& schedule);

  // Values, complete or begun, of fields that may still come.
  std::vector<PreparedValue> Prepared(const Schedule& schedule) const;

  SideView View(int branch, const Schedule& schedule) const;

 private:
  struct Branch {
    ActiveField slot;
    int fork = 0;
    std::vector<Token> tokens;  // prefix and history
    size_t stored = 0;          // of them, those with cells
    size_t prefix = 0;          // of them, the prefix
    Answer answer;              // the call as the branch sees it, without the hint
    Literal value;
    bool drafting = true;
  };

  std::vector<Branch> Begin(const MainState& main, const Schedule& schedule,
                            std::span<const PreparedValue> prepared) const;
  Branch BeginBehindGuess(const MainState& main, const Spine& spine, const SpineMark& mark) const;
  Branch BeginBehindHint(const MainState& main, const Schedule& schedule,
                         const ActiveField& slot) const;
  std::vector<Token> Draft(const Branch& branch, size_t reached, const HeadGuess* guess) const;
  size_t Reached(size_t reached, const Schedule& schedule, const ActiveField& slot) const;
  bool Has(const ActiveField& slot) const;

  const DraftSources sources_;
  const Tokenizer& tokenizer_;
  const SideOptions options_;
  std::vector<Branch> branches_;
};

}  // namespace schemafill
