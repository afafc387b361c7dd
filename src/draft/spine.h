// A guess of how the answer goes on, up to the keys of slots that may come: what SIDE branches
// stand behind. Each value in it is the likeliest one that the drafter has; a slot's own value is
// then the target's, in a context that looks like the real one. Tested by tests/draft/side_test.cc.
#pragma once

#include <string>
#include <vector>

#include "draft/pieces.h"
#include "plan/schedule.h"

namespace schemafill {

struct SpineMark {
  ActiveField slot;
  size_t end = 0;  // bytes of the spine's text up to the colon behind the slot's key
};

struct Spine {
  std::string text;  // behind the answer so far
  std::vector<SpineMark> marks;
};

// Walks from where `answer` stands through the calls that the schedule expects, taking their
// required fields in order, until the slots wanted are reached or nothing is proposed.
Spine GuessSpine(const DraftSources& sources, const Answer& answer, const Schedule& schedule,
                 const std::vector<ActiveField>& wanted);

}  // namespace schemafill
