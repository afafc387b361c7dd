// Thin layer on nlohmann-json: objects keep their order, errors say where, text is written in the
// spelling of Python's json.dumps, which the prompts use.
// Tested by tests/json/json_test.cc.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/result.h"

namespace schemafill {

using Json = nlohmann::ordered_json;

// Deepest nesting that ParseJson reads. Copies of a Json recurse, so its depth must fit any
// thread's stack; tool schemas stay below 20.
constexpr int kMaxJsonDepth = 500;

// Parses one JSON value. The error names `what` (a file or a field), line and column (both from 1;
// the column counts characters). Text that is not UTF-8, nested deeper than kMaxJsonDepth or with a
// number beyond double's range is an error. Of a key given twice the last value counts, in the
// first one's place.
//
// Numbers are int64, uint64 or double: an integer beyond 64 bits and a decimal of more than 17
// digits are rounded, and -0 reads as 0. Text that must keep its digits is passed on as text.
Result<Json> ParseJson(std::string_view text, std::string_view what);

// Bytes of the object or list that `text` begins with, up to its closing bracket; npos without one.
// Looks at brackets and strings only, so what stands between may be no JSON.
size_t BracketedSize(std::string_view text);

// The member of that name; null where it is absent or JSON's null. REQUIRES: an object.
const Json* Given(const Json& object, const char* name);

// `{"a": 1, "b": [true, null]}`: what Python's json.dumps(value, ensure_ascii=False) writes: one
// line, ", " and ": ", text beyond ASCII as it is, a whole double with its ".0".
std::string DumpSpaced(const Json& value);

// `text` as a JSON string literal without its quotes: escapes only what JSON demands, so a slash
// stays a slash.
std::string EscapeJson(std::string_view text);

// What a JSON string literal says whose text between the quotes is `text`. Empty if it can't be
// read.
std::string UnescapeJson(std::string_view text);

// `value` on one line without white space, for files of JSON lines; half characters as U+FFFD.
std::string DumpLine(const Json& value);

}  // namespace schemafill
