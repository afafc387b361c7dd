// What the engine did, for people (`--explain`) and as JSON lines (`--trace`).
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

#include "catalog/catalog.h"
#include "engine/engine.h"
#include "engine/trace.h"

namespace schemafill {

// Writes each round in words and colours: what was accepted, corrected and rejected. Colours only
// on a terminal.
TraceSink ExplainTo(std::FILE* out, const Catalog& catalog, const Tokenizer& tokenizer);

// Writes the same as JSON lines: {"type": "forecast", ...}, then {"type": "round", ...} for each
// forward. `out` must stay open until the request is done.
TraceSink TraceTo(std::FILE* out, const Catalog& catalog, const Tokenizer& tokenizer);

// The last line of a trace: {"type": "result", "method": ..., "text": ..., "stop": ..., "stats":
// {...}}.
void TraceResult(std::FILE* out, const Generation& generation, std::string_view method);

// Both, one after the other.
TraceSink Join(TraceSink first, TraceSink second);

}  // namespace schemafill
