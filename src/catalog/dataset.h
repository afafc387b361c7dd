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
};

// `name` is
//   "bfcl"       450 requests: exec_parallel, parallel, parallel_multiple, in file order;
//   "single650"  the 650 single-call requests with the smallest RecordHash of their ids among
//                simple_python, multiple, live_simple and live_multiple, smallest first: requests
//                of one user turn, with tools. Nothing may be trained on them;
//   a BFCL file  without "BFCL_v4_" and ".json": "live_parallel";
//   a path       of a file: JSON lines, each a BFCL record or an OpenAI body, or one such object.
// `folder` holds the BFCL files. Requests come in a fixed order. A record that can't be read is
// noted in `skipped`; a file without a readable one is an error. Of a record with several turns the
// first is taken.
Result<Dataset> LoadDataset(std::string_view name, const std::filesystem::path& folder);

// FNV-1a, 64 bits, over the bytes of a record's id.
constexpr uint64_t RecordHash(std::string_view id) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

}  // namespace schemafill
