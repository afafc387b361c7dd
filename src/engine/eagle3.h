// Method `eagle3` (Li et al., 2025; stage A of the paper's Table 2): a head's token tree along the
// emitted prefix, and nothing that knows of tools. Tested by tests/engine/eagle3_test.cc.
//
// Preset `paper` takes the paper's budget: 3 candidates a row, 2 levels, 8 tokens. Preset `auto`
// drafts deeper while a path is likely enough to pay for its row, and keeps what pays.
#pragma once

#include <memory>

#include "engine/strategy.h"

namespace schemafill {

std::unique_ptr<Strategy> MakeEagle3();

}  // namespace schemafill
