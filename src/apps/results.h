// The results file of `verify`: JSON lines that outlive the run, so that an interrupted one goes on
// where it stopped and later methods are compared with an `ar` that is not run again.
//
//   {"type": "verify", "dataset": "bfcl", "model_hash": "...", "preset": "auto", ...}   what was
//   run
//   {"type": "result", "request": "parallel_0", "prompt": "...", "method": "ar", "agrees": true,
//    "stop": "closed", "stats": {...}, "token_ids": [...], "text": "..."}    a line a finished pair
//
// `prompt` is a hash of the prompt's tokens: a record that was edited is another request.
// Tested by tests/apps/verify_results_test.py.
#pragma once

#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "engine/engine.h"
#include "json/json.h"

namespace schemafill {

// A finished pair, as its line says it: what was read back and what was just run count the same.
struct PairResult {
  std::string request;
  std::string prompt;
  std::string method;
  std::vector<int> token_ids;
  std::string text;  // half characters as U+FFFD
  int forwards = 0;
  int nodes = 0;
  int accepted = 0;
  double decode_ms = 0;
  double total_ms = 0;
  bool resumed = false;  // from the file
};

// The line of a pair. `agrees`: with plain decoding.
Json PairLine(const Request& request, std::string_view prompt, const Generation& generation,
              std::string_view method, bool agrees);
// The error names the field.
Result<PairResult> ParsePair(const Json& line);

// Whether both say the same answer, token by token.
bool SameAnswer(const PairResult& a, const PairResult& b);

// 16 hex digits that depend on every token.
std::string PromptHash(const std::vector<Token>& tokens);

class ResultsFile {
 public:
  ResultsFile() = default;  // keeps nothing

  // Opens the file for appending, and makes it where there is none. `run` says what the figures
  // depend on; a file of another run is an error that names the first difference. A last line that
  // was cut off is taken away.
  static Result<ResultsFile> Open(const std::string& path, const Json& run);

  // Null where the pair isn't finished yet.
  const PairResult* Find(const std::string& request, const std::string& prompt,
                         std::string_view method) const;
  // Writes the line through to the file.
  void Append(const Json& line);
  // Whether every line so far could be written.
  Status status() const;

 private:
  // Takes in the lines of a file, header first.
  Status Read(std::string_view text, const Json& run);

  std::string path_;
  std::ofstream out_;
  std::map<std::string, PairResult> pairs_;
};

}  // namespace schemafill
