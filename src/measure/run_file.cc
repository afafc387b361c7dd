#include "measure/run_file.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "api/generation_json.h"
#include "base/lines.h"
#include "base/read_file.h"
#include "base/utf8.h"
#include "model/hash_tokens.h"

namespace schemafill {
namespace fs = std::filesystem;

namespace {

std::string Key(const Sample& sample) {
  return fmt::format("{}\n{}\n{}", RequestKey(sample), sample.method, sample.launch);
}

Error NoHeader(const std::string& path) {
  return BadInput(
      fmt::format("{}: line 1 is not the header of a run's file; name another file", path));
}

// A file of another run must not be mixed with this one.
Status CheckSame(const std::string& path, const Json& have, const Json& want) {
  if (have.value("type", Json()) != want.at("type"))
    return BadInput(fmt::format("{}: is a file of `{}`, not of `{}`; name another file", path,
                                have.value("type", "?"), want.value("type", "?")));
  const Json settings = have.value("settings", Json::object());
  for (const auto& [name, value] : want.at("settings").items()) {
    const Json old = settings.value(name, Json());
    if (old == value) continue;
    return BadInput(fmt::format("{}: was made with {} {}, and this run has {}; name another file",
                                path, name, DumpLine(old), DumpLine(value)));
  }
  return {};
}

// Whether what is read of a header is of its type.
bool IsHeader(const Json& line) {
  if (!line.is_object()) return false;
  const Json settings = line.value("settings", Json());
  if (!settings.is_object()) return false;
  for (const char* name : {"table", "figure"}) {
    if (!settings.value(name, Json(0)).is_number_integer()) return false;
  }
  return line.value("model_bytes", Json(0)).is_number() &&
         line.value("machine", Json::object()).is_object();
}

// Whole lines only.
Result<RunRecord> ParseRun(std::string_view text, const std::string& path) {
  RunRecord run;
  for (Lines lines(text); lines.Next();) {
    const std::string where = fmt::format("{}: line {}", path, lines.number());
    Result<Json> line = ParseJson(lines.line(), where);
    if (run.header.is_null()) {
      if (!line || !IsHeader(*line)) return NoHeader(path);
      run.header = std::move(*line);
      continue;
    }
    Result<Sample> sample = line ? ParseSample(*line) : line.error();
    if (!sample) {
      return BadInput(
          fmt::format("{} is not a finished sample: {}; take the line out, or name another file",
                      where, sample.error().message));
    }
    sample->resumed = true;
    run.samples.push_back(std::move(*sample));
  }
  if (run.header.is_null()) return NoHeader(path);
  return run;
}

}  // namespace

std::string RequestKey(const Sample& sample) {
  return fmt::format("{}\n{}\n{}", sample.dataset, sample.request, sample.prompt);
}

Sample MakeSample(Sample sample, const Generation& generation) {
  sample.stop = Name(generation.stop);
  for (const Token token : generation.tokens) sample.token_ids.push_back(Index(token));
  sample.text = ReplaceInvalidUtf8(generation.text);
  // As the file says it: what was just run and what was read back count the same.
  sample.stats = ParseStats(StatsJson(generation.stats));
  sample.stats.nodes_by_forward = generation.stats.nodes_by_forward;
  return sample;
}

Json SampleJson(const Sample& sample) {
  Json line = {{"type", "sample"},        {"dataset", sample.dataset}, {"request", sample.request},
               {"prompt", sample.prompt}, {"method", sample.method},   {"launch", sample.launch}};
  if (sample.calls) line["calls"] = *sample.calls;
  line["agrees"] = sample.agrees;
  if (!sample.error.empty()) line["error"] = sample.error;
  line["stop"] = sample.stop;
  line["stats"] = StatsJson(sample.stats);
  line["nodes_by_forward"] = sample.stats.nodes_by_forward;
  line["token_ids"] = sample.token_ids;
  line["text"] = sample.text;
  return line;
}

Result<Sample> ParseSample(const Json& line) {
  Sample sample;
  try {
    line.at("dataset").get_to(sample.dataset);
    line.at("request").get_to(sample.request);
    line.at("prompt").get_to(sample.prompt);
    line.at("method").get_to(sample.method);
    line.at("launch").get_to(sample.launch);
    if (line.contains("calls")) sample.calls = line.at("calls").get<int>();
    line.at("agrees").get_to(sample.agrees);
    sample.error = line.value("error", std::string());
    line.at("stop").get_to(sample.stop);
    line.at("token_ids").get_to(sample.token_ids);
    line.at("text").get_to(sample.text);
    sample.stats = ParseStats(line.at("stats"));
    line.at("nodes_by_forward").get_to(sample.stats.nodes_by_forward);
  } catch (const Json::exception& error) {
    return BadInput(error.what());
  }
  return sample;
}

bool SameAnswer(const Sample& a, const Sample& b) {
  return a.token_ids == b.token_ids && a.text == b.text;
}

std::string PromptHash(const std::vector<Token>& tokens) {
  return fmt::format("{:016x}", HashTokens(tokens));
}

Result<RunRecord> ReadRun(const std::string& path) {
  const Result<std::string> text = ReadFile(path);
  if (!text) return text.error();
  // A run that was cut off ends in the middle of a line.
  return ParseRun(std::string_view(*text).substr(0, text->rfind('\n') + 1), path);
}

Result<RunFile> RunFile::Open(const std::string& path, const Json& header) {
  RunFile file;
  file.path_ = path;
  std::error_code error;
  size_t kept = 0;  // bytes
  if (fs::exists(path, error)) {
    const Result<std::string> text = ReadFile(path);
    if (!text) return text.error();
    kept = text->rfind('\n') + 1;  // 0 where there is none
    if (kept == 0 && !text->empty()) return NoHeader(path);
    if (kept > 0) {
      Result<RunRecord> run = ParseRun(std::string_view(*text).substr(0, kept), path);
      if (!run) return run.error();
      if (const Status same = CheckSame(path, run->header, header); !same) return same.error();
      for (Sample& sample : run->samples) {
        std::string key = Key(sample);
        file.samples_[std::move(key)] = std::move(sample);
      }
    }
    if (kept < text->size()) fs::resize_file(path, kept, error);
  }
  file.out_.open(path, std::ios::binary | std::ios::app);
  if (!file.out_ || error) {
    return BadInput(fmt::format("--results {}: can't be written: {}", path,
                                error ? error.message() : std::strerror(errno)));
  }
  if (kept == 0) file.Write(header);
  return file;
}

const Sample* RunFile::Find(const Sample& identity) const {
  const auto found = samples_.find(Key(identity));
  return found == samples_.end() ? nullptr : &found->second;
}

void RunFile::Append(const Sample& sample) { Write(SampleJson(sample)); }

void RunFile::Write(const Json& line) {
  if (!path_.empty()) out_ << DumpLine(line) << '\n' << std::flush;
}

Status RunFile::status() const {
  if (path_.empty() || out_) return {};
  return BadInput(fmt::format("--results {}: can't be written; is the disk full?", path_));
}

}  // namespace schemafill
