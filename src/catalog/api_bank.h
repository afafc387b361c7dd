// API-Bank's instruction format, as its repository (AlibabaResearch/DAMO-ConvAI, api-bank) has it
// in level-1-api.json and level-2-api.json, lv1-api-train.json and the like. Tested by
// tests/catalog/api_bank_test.cc.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/data_record.h"

namespace schemafill {

// A record is {"instruction", "input", "expected_output" (in training files: "output")}, with
// "file" and "id" in test files. API descriptions, a JSON object a line, end the instruction or
// begin the input: {"name" or "apiCode", "description", "input_parameters" or "parameters": {a
// parameter:
// {"type", "description"}}}. Which parameters are required they don't say, so none is. The input
// goes on as a dialogue, a turn a line:
//
//   User: ...
//   AI: ...
//   API-Request: [Name(key='value', key=2)]->what the API answered
//   Generate API Request:
//
// That is one request, id "<file>#<id>" or else `name`, with one reference call. The instruction's
// line "The current year is ..." becomes its system message; the rest of the instruction tells of
// API-Bank's own answer format. None for a record that asks for a response ("Generate AI
// Response:"). An error names the field.
//
// The other format, dialogues as lines of {"role", "text", "api_name", ...} (lv1-lv2-samples),
// lacks the descriptions and can't be read.
Result<std::vector<DataRequest>> ApiBankRequests(const Json& record, std::string_view name);

// `[Name(key='value', ...)]` as {"name", "arguments"}. Text in quotes is a string, up to the quote
// that ends the argument: quotes inside need no escape, as API-Bank writes none. Numbers, True,
// False and None are JSON's; any other value is a string as it stands.
Result<Json> ParseApiCall(std::string_view text);

}  // namespace schemafill
