// The file of a run of `verify` or `bench`: JSON lines that outlive the run, so that an interrupted
// one goes on where it stopped, and any figure can be traced to what gave it.
//
//   {"type": "bench", "settings": {...}, "machine": {...}, ...}       what was run, and where
//   {"type": "sample", "dataset": "bfcl", "request": "parallel_0", "prompt": "...", "method": "ar",
//    "launch": 0, "agrees": true, "stats": {...}, "token_ids": [...], ...}    a line a sample
//
// `prompt` is a hash of the prompt's tokens: a record that was edited is another request.
// Tested by tests/measure/run_file_test.cc and tests/apps/verify_results_test.py.
#pragma once

#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "json/json.h"

namespace schemafill {

// One request answered once by one method.
struct Sample {
  std::string dataset = {};
  std::string request = {};
  std::string prompt = {};
  std::string method = {};
  int launch = 0;                 // the method's earlier turns at this request
  std::optional<int> calls = {};  // of the reference answer
  bool agrees = false;            // token by token with `ar` in the same run
  std::string error = {};         // why there is no answer; else empty
  std::string stop = {};
  std::vector<int> token_ids = {};
  std::string text = {};  // half characters as U+FFFD
  GenerateStats stats = {};
  bool resumed = false;  // read from the file
};

// `sample` says which one it is: data set, request, prompt, method, launch. The rest is filled in.
Sample MakeSample(Sample sample, const Generation& generation);

// The request that the sample answers: a data set that gives no ids knows it by its prompt.
std::string RequestKey(const Sample& sample);

Json SampleJson(const Sample& sample);
// The error names the field.
Result<Sample> ParseSample(const Json& line);

// Whether both say the same answer, token by token.
bool SameAnswer(const Sample& a, const Sample& b);

// 16 hex digits that depend on every token.
std::string PromptHash(const std::vector<Token>& tokens);

// Reads a run's file for a report: its first line and its samples. Errors name file and line.
struct RunRecord {
  Json header;
  std::vector<Sample> samples;
};
Result<RunRecord> ReadRun(const std::string& path);

// The file of a run that goes on. Not thread-safe.
class RunFile {
 public:
  RunFile() = default;  // keeps nothing

  // Opens the file for appending, and makes it with `header` as its first line where there is none.
  // The header's "type" and "settings" say what the figures depend on: a file of other ones is an
  // error that names the first difference. A last line that was cut off is taken away.
  static Result<RunFile> Open(const std::string& path, const Json& header);

  // Null where the sample isn't there yet.
  const Sample* Find(const Sample& identity) const;
  // Writes the line through to the file.
  void Append(const Sample& sample);
  // Whether every line so far could be written.
  Status status() const;

 private:
  void Write(const Json& line);

  std::string path_;
  std::ofstream out_;
  std::map<std::string, Sample> samples_;
};

}  // namespace schemafill
