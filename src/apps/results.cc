#include "apps/results.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "api/generation_json.h"
#include "apps/files.h"
#include "base/utf8.h"
#include "model/hash_tokens.h"

namespace schemafill {
namespace fs = std::filesystem;

namespace {

std::string Key(std::string_view request, std::string_view prompt, std::string_view method) {
  return fmt::format("{}\n{}\n{}", request, prompt, method);
}

Error NoHeader(const std::string& path) {
  return BadInput(fmt::format(
      "{}: line 1 is not the header of a results file; name another file with --results", path));
}

// A file of another run must not be mixed with this one.
Status CheckRun(const std::string& path, const Json& have, const Json& want) {
  if (have.value("type", Json()) != "verify") return NoHeader(path);
  for (const auto& [name, value] : want.items()) {
    if (name == "model" || have.value(name, Json()) == value) continue;
    return BadInput(fmt::format(
        "{}: was made with {} {}, and this run has {}; name another file with --results", path,
        name, DumpLine(have.value(name, Json())), DumpLine(value)));
  }
  return {};
}

}  // namespace

Json PairLine(const Request& request, std::string_view prompt, const Generation& generation,
              std::string_view method, bool agrees) {
  Json ids = Json::array();
  for (const Token token : generation.tokens) ids.push_back(Index(token));
  return {{"type", "result"},
          {"request", request.id},
          {"prompt", prompt},
          {"method", method},
          {"agrees", agrees},
          {"stop", Name(generation.stop)},
          {"stats", StatsJson(generation.stats)},
          {"token_ids", std::move(ids)},
          {"text", ReplaceInvalidUtf8(generation.text)}};
}

Result<PairResult> ParsePair(const Json& line) {
  PairResult pair;
  try {
    line.at("request").get_to(pair.request);
    line.at("prompt").get_to(pair.prompt);
    line.at("method").get_to(pair.method);
    line.at("token_ids").get_to(pair.token_ids);
    line.at("text").get_to(pair.text);
    const Json& stats = line.at("stats");
    stats.at("forwards").get_to(pair.forwards);
    stats.at("nodes").get_to(pair.nodes);
    stats.at("accepted_nodes").get_to(pair.accepted);
    stats.at("decode_ms").get_to(pair.decode_ms);
    stats.at("total_ms").get_to(pair.total_ms);
  } catch (const Json::exception& error) {
    return BadInput(error.what());
  }
  return pair;
}

bool SameAnswer(const PairResult& a, const PairResult& b) {
  return a.token_ids == b.token_ids && a.text == b.text;
}

std::string PromptHash(const std::vector<Token>& tokens) {
  return fmt::format("{:016x}", HashTokens(tokens));
}

Result<ResultsFile> ResultsFile::Open(const std::string& path, const Json& run) {
  ResultsFile results;
  results.path_ = path;
  std::error_code error;
  size_t kept = 0;  // bytes
  if (fs::exists(path, error)) {
    const Result<std::string> text = ReadFile(path);
    if (!text) return text.error();
    kept = text->rfind('\n') + 1;  // 0 where there is none
    if (kept == 0 && !text->empty()) return NoHeader(path);
    const Status read = results.Read(std::string_view(*text).substr(0, kept), run);
    if (!read) return read.error();
    if (kept < text->size()) fs::resize_file(path, kept, error);
  }
  results.out_.open(path, std::ios::binary | std::ios::app);
  if (!results.out_ || error) {
    return BadInput(fmt::format("--results {}: can't be written: {}", path,
                                error ? error.message() : std::strerror(errno)));
  }
  if (kept == 0) results.Append(run);
  return results;
}

Status ResultsFile::Read(std::string_view text, const Json& run) {
  size_t number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string where = fmt::format("{}: line {}", path_, ++number);
    const Result<Json> line = ParseJson(text.substr(0, end), where);
    text.remove_prefix(end + 1);
    if (number == 1) {
      if (!line || !line->is_object()) return NoHeader(path_);
      if (const Status same = CheckRun(path_, *line, run); !same) return same.error();
      continue;
    }
    Result<PairResult> pair = line ? ParsePair(*line) : line.error();
    if (!pair) {
      return BadInput(
          fmt::format("{} is not a finished pair: {}; take the line out, or name "
                      "another file with --results",
                      where, pair.error().message));
    }
    pair->resumed = true;
    pairs_[Key(pair->request, pair->prompt, pair->method)] = std::move(*pair);
  }
  return {};
}

const PairResult* ResultsFile::Find(const std::string& request, const std::string& prompt,
                                    std::string_view method) const {
  const auto found = pairs_.find(Key(request, prompt, method));
  return found == pairs_.end() ? nullptr : &found->second;
}

void ResultsFile::Append(const Json& line) {
  if (!path_.empty()) out_ << DumpLine(line) << '\n' << std::flush;
}

Status ResultsFile::status() const {
  if (path_.empty() || out_) return {};
  return BadInput(fmt::format("--results {}: can't be written; is the disk full?", path_));
}

}  // namespace schemafill
