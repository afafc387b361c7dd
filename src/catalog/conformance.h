// Whether calls fit the tools: what a runtime would check before it runs them. For `--strict` and
// for measures; decoding never looks at it. Tested by tests/catalog/conformance_test.cc.
#pragma once

#include <span>
#include <string>

#include "catalog/answer.h"
#include "catalog/catalog.h"

namespace schemafill {

// Empty, or the first fault in words: no call at all, an unknown tool, arguments that are not an
// object, an unknown or a missing field. Types and nested objects are not looked into.
std::string FindFault(const Catalog& catalog, std::span<const ToolCall> calls);

}  // namespace schemafill
