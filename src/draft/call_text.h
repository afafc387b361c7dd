// Text of calls that nobody has written yet, to stand in front of a value that is asked for by
// itself. Tested by tests/draft/call_text_test.cc.
#pragma once

#include <string>
#include <string_view>

#include "json/cursor.h"

namespace schemafill {

// Tells the target which of the user's requests a value is about (paper, Appendix A). Only in the
// value's own prefix. `call`: from 0; the first needs no hint.
std::string CallHint(int call);

// An answer up to the value of `field`, as if that were the first call's first one:
// `{"tool_calls": [{"name": "tool", "arguments": {"field":`.
std::string SlotHeader(std::string_view tool, std::string_view field, const JsonSpelling& spelling);

}  // namespace schemafill
