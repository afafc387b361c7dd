// Results as JSON text. Arguments are spliced in as the model wrote them: its digits, escapes and
// key order reach the client; only line breaks between its tokens don't. Tested by
// tests/api/generation_json_test.cc.
#pragma once

#include <string>
#include <vector>

#include "engine/engine.h"
#include "json/json.h"

namespace schemafill {

// [{"name": "...", "arguments": {...}}, ...] on one line.
std::string CallsJson(const std::vector<ToolCall>& calls);

// {"tool_calls": [...], "text": "...", "stats": {...}} on one line. `method` is a method's name.
std::string GenerationJson(const Generation& generation, std::string_view method);

Json StatsJson(const GenerateStats& stats);
// The other way round, as far as the object says it; rounded times stay rounded. Throws
// Json::exception where a field is missing.
GenerateStats ParseStats(const Json& json);

}  // namespace schemafill
