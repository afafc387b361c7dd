// Data sets as requests.
// Tested by tests/catalog/dataset_test.cc.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalog/request.h"

namespace schemafill {

struct Dataset {
  std::string name;
  std::vector<Request> requests;
  // One line each: file, line and reason of a record that could not be read.
  std::vector<std::string> skipped;
  int without_calls = 0;  // records that are well formed and hold no decision to call
};

// What a record is: BFCL's (bfcl.h), an OpenAI body with an `id` or without, Glaive's (glaive.h) or
// API-Bank's (api_bank.h). kAny: its fields tell, each record by itself.
enum class DataFormat { kAny, kBfcl, kOpenAi, kGlaive, kApiBank };

// "auto", "bfcl", "openai", "glaive", "api-bank".
Result<DataFormat> ParseDataFormat(std::string_view name);

struct DatasetOptions {
  DataFormat format = DataFormat::kAny;  // of a file that is given by its path
  int per_count = 100;                   // of "call-counts"
  uint64_t seed = 0;                     // the same
};

// `name` is
//   "bfcl"        450 requests: exec_parallel, parallel, parallel_multiple, in file order;
//   "single650"   the 650 single-call requests with the smallest RecordHash of their ids among
//                 simple_python, multiple, live_simple and live_multiple, smallest first: requests
//                 of one user turn, with tools. Nothing may be trained on them;
//   "call-counts" `per_count` requests with 1, 2, 3 and 4 reference calls each (the paper's Table
//                 3): DrawByCallCount from what BFCL has and nobody may train on, which are
//                 single650, exec_* and the parallel files, live ones too;
//   a BFCL file   without "BFCL_v4_" and ".json": "live_parallel". "irrelevance" and
//                 "live_irrelevance" are requests that should call no tool;
//   a path        of a file of records (data_record.h says how they may lie in it).
// `folder` holds the BFCL files. Where a file of BFCL's has a possible_answer/ beside it, its
// requests know their reference_calls; in the two irrelevance files they are 0.
//
// Requests come in a fixed order. A record that can't be read is noted in `skipped`; a file without
// a readable one is an error.
Result<Dataset> LoadDataset(std::string_view name, const std::filesystem::path& folder,
                            const DatasetOptions& options = {});

// Draws `per_count` of the requests with each reference count from 1 to 4 and lets the counts take
// turns: 1, 2, 3, 4, 1, ... For one seed a request's place in its group's drawing depends on its id
// alone. An error if a count has too few.
Result<std::vector<Request>> DrawByCallCount(std::vector<Request> requests, int per_count,
                                             uint64_t seed);

// FNV-1a, 64 bits, over the bytes of a record's id.
constexpr uint64_t RecordHash(std::string_view id) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace schemafill
