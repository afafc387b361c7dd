#include "catalog/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

#include "base/lines.h"

namespace schemafill {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSingleRequests = 650;

fs::path BfclFile(const fs::path& folder, std::string_view set) {
  return folder / fmt::format("BFCL_v4_{}.json", set);
}

Result<std::string> ReadFile(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  if (!in || fs::is_directory(file)) {
    return BadInput(fmt::format("{}: can't be read", file.string()));
  }
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// A BFCL record's first turn and its functions, as an OpenAI body. Older files have the turn, or
// the one function, without a list around it.
Json BodyOfBfcl(const Json& record) {
  const Json& question = record["question"];
  const bool has_turns = question.is_array() && !question.empty() && question[0].is_array();
  const Json& functions = record["function"];
  Json body = Json::object();
  body["messages"] = has_turns ? question[0] : question;
  body["tools"] = functions.is_array() ? functions : Json::array({functions});
  return body;
}

Result<Request> ParseRecord(const Json& record) {
  const bool is_bfcl =
      record.is_object() && record.contains("question") && record.contains("function");
  const bool is_body = record.is_object() && record.contains("messages");
  if (!is_bfcl && !is_body) {
    return BadInput("neither a BFCL record (question, function) nor an OpenAI body (messages)");
  }
  Result<Request> request = ParseRequest(is_bfcl ? BodyOfBfcl(record) : record);
  if (!request.ok()) return request;
  const auto id = record.find("id");
  if (id != record.end() && id->is_string()) request->id = id->get<std::string>();
  return request;
}

void AddRecord(const Json& record, std::string_view place, Dataset& set) {
  Result<Request> request = ParseRecord(record);
  if (request.ok()) {
    set.requests.push_back(std::move(request).value());
  } else {
    set.skipped.push_back(fmt::format("{}: {}", place, request.error().message));
  }
}

void AddLines(std::string_view text, std::string_view file, Dataset& set) {
  for (Lines lines(text); lines.Next();) {
    const std::string place = fmt::format("{}:{}", file, lines.number());
    const Result<Json> json = ParseJson(lines.line(), "JSON");
    if (json.ok()) {
      AddRecord(*json, place, set);
    } else {
      set.skipped.push_back(fmt::format("{}: {}", place, json.error().message));
    }
  }
}

// The one object that a file holds, maybe over several lines; nothing for JSON lines.
std::optional<Json> OnlyObject(const std::string& text) {
  const size_t first_line =
      std::min(text.find('\n', text.find_first_not_of(" \t\r\n")), text.size());
  if (ParseJson(std::string_view(text).substr(0, first_line), "line").ok()) return {};
  Result<Json> json = ParseJson(text, "file");
  if (!json.ok()) return {};
  return std::move(json).value();
}

// Adds the records of a file. An error if it can't be read or holds none.
Status AddFile(const fs::path& file, Dataset& set) {
  const Result<std::string> text = ReadFile(file);
  if (!text.ok()) return text.error();
  const size_t before = set.requests.size();
  const std::string name = file.filename().string();
  if (const std::optional<Json> object = OnlyObject(*text)) {
    AddRecord(*object, name + ":1", set);
  } else {
    AddLines(*text, name, set);
  }
  if (set.requests.size() > before) return {};
  if (set.skipped.empty()) return BadInput(fmt::format("{}: holds no request", file.string()));
  return BadInput(fmt::format("{}: no request could be read; the last reason: {}", file.string(),
                              set.skipped.back()));
}

// Adds one of BFCL's files.
Status AddBfcl(std::string_view name, const fs::path& folder, Dataset& set) {
  const fs::path file = BfclFile(folder, name);
  if (fs::is_regular_file(file)) return AddFile(file, set);
  return BadInput(fmt::format(
      "data set {}: {} is missing; run `make setup` to fetch BFCL's files, or name their folder "
      "with --data",
      set.name, file.string()));
}

// Whether single650 may hold the request: one user turn, and a tool to call.
bool IsSingle(const Request& request) {
  const auto is_user = [](const Message& message) { return message.role == Message::Role::kUser; };
  const auto turns = std::count_if(request.messages.begin(), request.messages.end(), is_user);
  return turns == 1 && !request.catalog.tools.empty();
}

void ChooseSingle(std::vector<Request>& requests) {
  std::erase_if(requests, [](const Request& request) { return !IsSingle(request); });
  std::stable_sort(requests.begin(), requests.end(), [](const Request& a, const Request& b) {
    return RecordHash(a.id) < RecordHash(b.id);
  });
  if (requests.size() > kSingleRequests) {
    requests.erase(requests.begin() + kSingleRequests, requests.end());
  }
}

// The BFCL files that a name stands for.
std::vector<std::string_view> BfclFiles(std::string_view name) {
  if (name == "bfcl") return {"exec_parallel", "parallel", "parallel_multiple"};
  if (name == "single650") return {"simple_python", "multiple", "live_simple", "live_multiple"};
  return {name};
}

bool LooksLikePath(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".json") ||
         name.ends_with(".jsonl");
}

}  // namespace

Result<Dataset> LoadDataset(std::string_view name, const fs::path& folder) {
  Dataset set;
  set.name = name;
  const fs::path path(name);
  const bool is_file = !fs::exists(BfclFile(folder, name)) && fs::is_regular_file(path);
  if (is_file || LooksLikePath(name)) {
    const Status added = AddFile(path, set);
    if (!added.ok()) return added.error();
    return set;
  }
  for (const std::string_view file : BfclFiles(name)) {
    const Status added = AddBfcl(file, folder, set);
    if (!added.ok()) return added.error();
  }
  if (name == "single650") ChooseSingle(set.requests);
  return set;
}

}  // namespace schemafill
