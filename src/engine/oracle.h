// Method `oracle`: drafts what the target is known to answer, so no drafter could do better under
// the same engine and plan. The limit that the others are measured against, for benchmarks only.
// Tested by tests/engine/oracle_test.cc.
#pragma once

#include <memory>
#include <span>

#include "engine/strategy.h"

namespace schemafill {

// `answer` must outlive it. Where the output leaves the answer, it drafts nothing more.
std::unique_ptr<Strategy> MakeOracle(std::span<const Token> answer);

}  // namespace schemafill
