#include "catalog/bfcl.h"

#include <fmt/format.h>

#include <utility>

namespace schemafill {

Result<DataRequest> BfclRequest(const Json& record, std::string id) {
  const Json& question = record["question"];
  const Json& functions = record["function"];
  if (!question.is_array()) return BadInput("question: must be a list of turns");
  if (!functions.is_array() && !functions.is_object()) {
    return BadInput("function: must be a list of functions");
  }
  const bool has_turns = !question.empty() && question[0].is_array();
  Json body = Json::object();
  body["messages"] = has_turns ? question[0] : question;
  body["tools"] = functions.is_array() ? functions : Json::array({functions});
  return DataRequest{.id = std::move(id), .body = std::move(body), .reference_calls = {}};
}

ReferenceCalls ReadReferenceCalls(std::string_view text, std::string_view file,
                                  std::vector<std::string>& skipped) {
  ReferenceCalls calls;
  for (const RecordText& record : SplitRecords(text)) {
    const Result<Json> answer = ParseJson(record.text, "JSON");
    const auto skip = [&](std::string_view reason) {
      skipped.push_back(fmt::format("{}:{}: {}", file, record.line, reason));
    };
    if (!answer.ok()) {
      skip(answer.error().message);
      continue;
    }
    const Json* id = answer->is_object() ? Given(*answer, "id") : nullptr;
    const Json* truth = id != nullptr ? Given(*answer, "ground_truth") : nullptr;
    if (truth == nullptr || !id->is_string()) {
      skip("must be an object with a string id and ground_truth");
    } else if (truth->is_array()) {
      calls[id->get<std::string>()] = static_cast<int>(truth->size());
    }
  }
  return calls;
}

}  // namespace schemafill
