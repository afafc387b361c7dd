// ToolSpec (Xia et al. 2026, arXiv 2604.13519), the closest earlier method, as a strategy over the
// same engine, so that figures compare. It needs no training and has three sources, merged into one
// token tree a round:
//
//   schema     The automaton of src/draft/pieces.h where format and schema say what comes next:
//              brackets, tool names, keys, literals, the quotation mark that opens a string. Tools
//              stand in catalog order, all alike; the request's text is neither ranked by nor
//              copied from, and a path ends with its call: forecast, copies, SIDE branches and
//              packing across calls are SchemaFill's.
//   retrieval  Values and keys of the tool's earlier calls, in this answer and, with a memory, in
//              answers before it (src/draft/recall.h).
//   recycling  Token recycling (Luo et al. 2024; src/draft/recycled.h): what the others leave of
//              the probability goes to the tokens that were likely behind the same token before. By
//              fixed chances for each rank, so that it is a static tree, grown from every node and
//              not only from the last committed token.
//
// Written from the two papers' descriptions, not from their code; the merge by probability is this
// engine's.
//
// Tested by tests/engine/toolspec_test.cc and agree_test.cc.
#pragma once

#include <memory>

#include "engine/memory.h"
#include "engine/strategy.h"

namespace schemafill {

// The sources must outlive it, and so must `memory`; null: what it recycles is of this request
// alone.
std::unique_ptr<Strategy> MakeToolSpec(const DraftSources& sources, const Tokenizer& tokenizer,
                                       Memory* memory);

}  // namespace schemafill
