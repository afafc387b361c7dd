// The paper's method as a strategy: forecast, SIDE branches, MAIN packed from scaffold, copies and
// prepared values (Algorithm 1). Tested by tests/engine/engine_side_test.cc and agree_test.cc.
#pragma once

#include <memory>

#include "engine/strategy.h"

namespace schemafill {

struct SchemaFillOptions {
  bool side = true;          // stage C and up, where SIDE rows pay
  bool across_calls = true;  // stage D
  Fault fault = Fault::kNone;
  SideOptions branches;
};

// The sources must outlive it.
std::unique_ptr<Strategy> MakeSchemaFill(const SchemaFillOptions& options,
                                         const DraftSources& sources, const Tokenizer& tokenizer);

}  // namespace schemafill
