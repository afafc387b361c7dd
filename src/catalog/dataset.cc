#include "catalog/dataset.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "base/random.h"
#include "base/read_file.h"
#include "catalog/api_bank.h"
#include "catalog/bfcl.h"
#include "catalog/glaive.h"

namespace schemafill {
namespace {

namespace fs = std::filesystem;

constexpr size_t kSingleRequests = 650;

fs::path BfclFile(const fs::path& folder, std::string_view set) {
  return folder / fmt::format("BFCL_v4_{}.json", set);
}

// A format's name and the fields that its records have.
struct FormatInfo {
  DataFormat format;
  std::string_view name;
  std::string_view fields;
  bool (*holds)(const Json& record);
};

constexpr std::array kFormats = {
    FormatInfo{DataFormat::kBfcl, "bfcl", "question and function",
               [](const Json& r) { return r.contains("question") && r.contains("function"); }},
    FormatInfo{DataFormat::kOpenAi, "openai", "messages",
               [](const Json& r) { return r.contains("messages"); }},
    FormatInfo{DataFormat::kGlaive, "glaive", "system and chat, or sample",
               [](const Json& r) { return r.contains("chat") || r.contains("sample"); }},
    FormatInfo{DataFormat::kApiBank, "api-bank", "instruction, input and expected_output",
               [](const Json& r) { return r.contains("instruction") && r.contains("input"); }},
};

// Why a record is of none of the formats that are looked for.
Error NotOf(DataFormat format, const Json& record) {
  const bool is_turn = record.is_object() && record.contains("role") &&
                       (record.contains("text") || record.contains("api_name"));
  if (is_turn) {
    return BadInput(
        "a turn of API-Bank's dialogues (role, text, api_name), which lack the API descriptions; "
        "give its instruction format (instruction, input, expected_output), as in "
        "level-1-api.json");
  }
  std::string expected;
  for (const FormatInfo& info : kFormats) {
    if (format != DataFormat::kAny && format != info.format) continue;
    expected += fmt::format("{}{} ({})", expected.empty() ? "" : "; ", info.name, info.fields);
  }
  return BadInput("no record of a known format: " + expected);
}

Result<std::vector<DataRequest>> One(Result<DataRequest> request) {
  if (!request.ok()) return request.error();
  return std::vector<DataRequest>{std::move(request).value()};
}

// The requests of a record. `number` counts records of the file, from 1.
Result<std::vector<DataRequest>> RequestsOf(const Json& record, DataFormat format, int number) {
  const auto fits = [&](const FormatInfo& info) {
    return record.is_object() && (format == DataFormat::kAny || format == info.format) &&
           info.holds(record);
  };
  const auto info = std::find_if(kFormats.begin(), kFormats.end(), fits);
  if (info == kFormats.end()) return NotOf(format, record);
  const auto given = record.find("id");
  const std::string id =
      given != record.end() && given->is_string() ? given->get<std::string>() : std::string();
  const std::string name = id.empty() ? fmt::format("{}", number) : id;
  switch (info->format) {
    case DataFormat::kBfcl:
      return One(BfclRequest(record, id));
    case DataFormat::kGlaive:
      return GlaiveRequests(record, name);
    case DataFormat::kApiBank:
      return ApiBankRequests(record, name);
    default:
      return One(DataRequest{.id = id, .body = record, .reference_calls = {}});
  }
}

// A file's text and what is known beside it.
struct DataFile {
  std::string name;
  std::string text;
  DataFormat format = DataFormat::kAny;
  ReferenceCalls references;
  std::optional<int> calls;  // of every request
};

Status AddRecord(const Json& record, const DataFile& file, int number, Dataset& set) {
  Result<std::vector<DataRequest>> entries = RequestsOf(record, file.format, number);
  if (!entries.ok()) return entries.error();
  std::vector<Request> requests;
  for (DataRequest& entry : *entries) {
    Result<Request> request = ParseRequest(entry.body);
    if (!request.ok()) return request.error();
    request->reference_calls = entry.reference_calls ? entry.reference_calls : file.calls;
    const auto known = file.references.find(entry.id);
    if (known != file.references.end()) request->reference_calls = known->second;
    request->id = std::move(entry.id);
    requests.push_back(std::move(request).value());
  }
  if (requests.empty()) ++set.without_calls;
  std::move(requests.begin(), requests.end(), std::back_inserter(set.requests));
  return {};
}

// A file, with BFCL's answers where they lie beside it.
Result<DataFile> OpenFile(const fs::path& path, DataFormat format, Dataset& set) {
  Result<std::string> text = ReadFile(path.string());
  if (!text.ok()) return text.error();
  DataFile file{.name = path.filename().string(),
                .text = std::move(text).value(),
                .format = format,
                .references = {},
                .calls = {}};
  const fs::path answers = path.parent_path() / "possible_answer" / file.name;
  if (fs::is_regular_file(answers)) {
    const Result<std::string> lines = ReadFile(answers.string());
    if (!lines.ok()) return lines.error();
    file.references =
        ReadReferenceCalls(*lines, fmt::format("possible_answer/{}", file.name), set.skipped);
  }
  for (const std::string_view set_name : {"irrelevance", "live_irrelevance"}) {
    if (file.name == BfclFile({}, set_name).string()) file.calls = 0;
  }
  return file;
}

// Adds the records of a file. An error if it can't be read or holds none.
Status AddFile(const fs::path& path, DataFormat format, Dataset& set) {
  const Result<DataFile> file = OpenFile(path, format, set);
  if (!file.ok()) return file.error();
  const size_t before = set.requests.size();
  int number = 0;  // of the record
  for (const RecordText& record : SplitRecords(file->text)) {
    ++number;
    const Result<Json> json = ParseJson(record.text, "JSON");
    const Status added = json.ok() ? AddRecord(*json, *file, number, set) : json.error();
    if (added.ok()) continue;
    set.skipped.push_back(fmt::format("{}:{}: {}", file->name, record.line, added.error().message));
  }
  if (set.requests.size() > before) return {};
  if (set.skipped.empty()) return BadInput(fmt::format("{}: holds no request", path.string()));
  return BadInput(fmt::format("{}: no request could be read; the last reason: {}", path.string(),
                              set.skipped.back()));
}

// Adds one of BFCL's files.
Status AddBfcl(std::string_view name, const fs::path& folder, Dataset& set) {
  const fs::path file = BfclFile(folder, name);
  if (fs::is_regular_file(file)) return AddFile(file, DataFormat::kBfcl, set);
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

constexpr std::array<std::string_view, 4> kSingleFiles = {"simple_python", "multiple",
                                                          "live_simple", "live_multiple"};

// The BFCL files that a name stands for.
std::vector<std::string_view> BfclFiles(std::string_view name) {
  if (name == "bfcl") return {"exec_parallel", "parallel", "parallel_multiple"};
  if (name == "single650") return {kSingleFiles.begin(), kSingleFiles.end()};
  if (name == "call-counts") {
    return {"exec_simple", "exec_multiple",     "exec_parallel", "exec_parallel_multiple",
            "parallel",    "parallel_multiple", "live_parallel", "live_parallel_multiple"};
  }
  return {name};
}

Status AddBfclFiles(std::string_view name, const fs::path& folder, Dataset& set) {
  for (const std::string_view file : BfclFiles(name)) {
    const Status added = AddBfcl(file, folder, set);
    if (!added.ok()) return added;
  }
  if (name == "single650") ChooseSingle(set.requests);
  return {};
}

Status AddCallCounts(const fs::path& folder, const DatasetOptions& options, Dataset& set) {
  const Status singles = AddBfclFiles("single650", folder, set);
  if (!singles.ok()) return singles;
  const Status others = AddBfclFiles("call-counts", folder, set);
  if (!others.ok()) return others;
  Result<std::vector<Request>> drawn =
      DrawByCallCount(std::move(set.requests), options.per_count, options.seed);
  if (!drawn.ok()) return drawn.error();
  set.requests = std::move(drawn).value();
  return {};
}

bool LooksLikePath(std::string_view name) {
  return name.find('/') != std::string_view::npos || name.ends_with(".json") ||
         name.ends_with(".jsonl");
}

}  // namespace

Result<DataFormat> ParseDataFormat(std::string_view name) {
  if (name == "auto") return DataFormat::kAny;
  std::string names = "auto";
  for (const FormatInfo& info : kFormats) {
    if (name == info.name) return info.format;
    names += fmt::format(", {}", info.name);
  }
  return BadInput(fmt::format("format: {} is none of {}", name, names));
}

Result<Dataset> LoadDataset(std::string_view name, const fs::path& folder,
                            const DatasetOptions& options) {
  Dataset set;
  set.name = name;
  const fs::path path(name);
  const bool is_file = !fs::exists(BfclFile(folder, name)) && fs::is_regular_file(path);
  const Status added = is_file || LooksLikePath(name) ? AddFile(path, options.format, set)
                       : name == "call-counts"        ? AddCallCounts(folder, options, set)
                                                      : AddBfclFiles(name, folder, set);
  if (!added.ok()) return added.error();
  return set;
}

Result<std::vector<Request>> DrawByCallCount(std::vector<Request> requests, int per_count,
                                             uint64_t seed) {
  constexpr int kMostCalls = 4;
  const auto key = [&](const Request& request) {
    return KeyedBits({.seed = seed, .stream = RecordHash(request.id), .position = 0});
  };
  std::stable_sort(requests.begin(), requests.end(),
                   [&](const Request& a, const Request& b) { return key(a) < key(b); });
  std::array<std::vector<Request>, kMostCalls> groups;
  for (Request& request : requests) {
    const int calls = request.reference_calls.value_or(0);
    if (calls >= 1 && calls <= kMostCalls) {
      groups[static_cast<size_t>(calls - 1)].push_back(std::move(request));
    }
  }
  for (size_t i = 0; i < groups.size(); ++i) {
    if (groups[i].size() < static_cast<size_t>(per_count)) {
      return BadInput(
          fmt::format("{} requests with {} reference calls are asked for, and there are {}",
                      per_count, i + 1, groups[i].size()));
    }
  }
  std::vector<Request> drawn;
  for (size_t i = 0; i < static_cast<size_t>(per_count); ++i) {
    for (std::vector<Request>& group : groups) drawn.push_back(std::move(group[i]));
  }
  return drawn;
}

}  // namespace schemafill
