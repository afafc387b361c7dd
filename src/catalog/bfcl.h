// Records of the Berkeley Function-Calling Leaderboard (bfcl-eval's data).
// Tested by tests/catalog/dataset_test.cc.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "catalog/data_record.h"

namespace schemafill {

// {"id", "question", "function"}. Of a record with several turns the first is taken. Older files
// have the turn, or the one function, without a list around it.
Result<DataRequest> BfclRequest(const Json& record, std::string id);

// By a record's id: the calls of its reference answer.
using ReferenceCalls = std::unordered_map<std::string, int>;

// Reads BFCL's answers, lines of {"id", "ground_truth": [a call, ...]}. Answers without a list of
// calls (`rest` has results instead) count none. Adds a line to `skipped` for each malformed one;
// `file` is its name there.
ReferenceCalls ReadReferenceCalls(std::string_view text, std::string_view file,
                                  std::vector<std::string>& skipped);

}  // namespace schemafill
