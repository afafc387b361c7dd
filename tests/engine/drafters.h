// Strategies that no one would write, for tests: the engine's output is the same whatever a
// strategy proposes.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "engine/strategy.h"

namespace schemafill {

enum class DrafterKind {
  kEmpty,           // never proposes anything
  kRight,           // the answer, as long a chain as allowed
  kWrong,           // a chain whose first token is wrong
  kAlmost,          // the answer with a wrong token in the middle
  kPastEnd,         // the answer, then an end token and more behind it
  kForks,           // at each token of the answer wrong siblings in front of the right one
  kWide,            // as many leaves as allowed, one of them right
  kEndsEverywhere,  // an end token beside each token of the answer
  kTwins,           // each token of the answer twice, the second one with the continuation
  kRandom,          // trees of all shapes, partly right
  kCount,
};

std::string_view Name(DrafterKind kind);

// `truth` is the answer that plain decoding gives. `with_sides`: beside MAIN, SIDE branches behind
// any tokens, with any prefixes and drafts, some of them right, that wait and end at any time.
std::unique_ptr<Strategy> MakeDrafter(DrafterKind kind, std::vector<Token> truth,
                                      const Tokenizer& tokenizer, uint64_t seed,
                                      bool with_sides = false);

}  // namespace schemafill
