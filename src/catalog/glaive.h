// Glaive's text format: glaive-function-calling-v2, and v1.
// Tested by tests/catalog/glaive_test.cc.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/data_record.h"

namespace schemafill {

// A record is {"system": "SYSTEM: ... {a function} {a function}", "chat": "USER: ... ASSISTANT:
// ..."}, in v1 both texts in one, {"sample": ...}. The turns of a chat are USER, ASSISTANT and
// FUNCTION RESPONSE; `<|endoftext|>` may end one. An ASSISTANT turn calls functions behind
// `<functioncall>`:
//
//   <functioncall> {"name": "f", "arguments": '{"a": "it\'s"}'}
//
// Its arguments are JSON in single quotes, where an escaped quote is a quote and, if that is no
// JSON yet, a double backslash is one; or a JSON string; or an object.
//
// Each ASSISTANT turn that calls is a decision point and gives one request, "<name>.<its number
// among them, from 1>", with the turns in front of it. The words that introduce the functions in
// `system` are not part of it: our own prompt does that. None for a chat without a call. A record
// with any malformed part, or with a call of a function that it doesn't describe, is an error as a
// whole; the message names the field and the turn (from 1).
Result<std::vector<DataRequest>> GlaiveRequests(const Json& record, std::string_view name);

}  // namespace schemafill
