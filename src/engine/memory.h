// What methods remember from one request to the next. Only hints come out of it: drafts differ,
// answers never.
#pragma once

#include "draft/recall.h"
#include "draft/recycled.h"

namespace schemafill {

// Owned by the caller, for one target and one engine at a time; not thread-safe. For figures that
// compare methods, each has its own: else one would recall what another has just answered.
struct Memory {
  Recall recall;            // of finished answers
  RecycledTokens recycled;  // of all forwards, for methods that recycle tokens
};

}  // namespace schemafill
