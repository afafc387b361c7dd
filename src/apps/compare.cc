// schemafill compare: two builds, or two settings of one, in one interleaved run. Each side is the
// program's own `bench`, called for a few requests at a time in turns, so that a machine which gets
// slower is slower for both.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <sstream>
#include <thread>
#include <vector>

#include "apps/child_process.h"
#include "apps/commands.h"
#include "apps/interrupt.h"
#include "apps/options.h"
#include "apps/progress.h"
#include "measure/figures.h"
#include "measure/run_file.h"
#include "measure/statistics.h"

namespace schemafill {
namespace {

namespace fs = std::filesystem;

constexpr int kResamples = 2000;

// One of the two that are compared.
struct Side {
  std::string program;
  std::vector<std::string> options;
  std::string results;  // its run's file

  // Runs `bench` up to request `limit`; what its file holds already is not run again.
  Status Run(const std::vector<std::string>& bench, int limit) const;
};

struct CompareCommand {
  std::string other;
  std::string options;
  std::string other_options;
  std::string method = "schemafill";
  std::string dataset = "bfcl";
  std::string folder;
  int limit = 20;
  int block = 5;
  bool json = false;

  int Run() const;
  Result<std::array<Side, 2>> MakeSides(const fs::path& place) const;
  int Print(const std::array<Side, 2>& sides) const;
};

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

Status Side::Run(const std::vector<std::string>& bench, int limit) const {
  std::vector<std::string> command = {program,     "bench", "--limit", std::to_string(limit),
                                      "--results", results};
  command.insert(command.end(), bench.begin(), bench.end());
  command.insert(command.end(), options.begin(), options.end());
  Result<std::unique_ptr<ChildProcess>> child = ChildProcess::Start(command);
  if (!child) return child.error();
  std::optional<std::string> ended;
  while (!(ended = (*child)->Ended())) std::this_thread::sleep_for(std::chrono::milliseconds(50));
  // 1: some answer differs from plain decoding's, which the table shows.
  if (*ended == "ended with exit code 0" || *ended == "ended with exit code 1") return {};
  return BadInput(fmt::format("{} bench {}{}", program, *ended, (*child)->LogHint()));
}

Result<std::array<Side, 2>> CompareCommand::MakeSides(const fs::path& place) const {
  std::error_code error;
  const fs::path self = fs::read_symlink("/proc/self/exe", error);
  const std::string second = other.empty() ? self.string() : other;
  if (!fs::is_regular_file(second, error))
    return BadInput(fmt::format("{}: there is no such program", second));
  if (other.empty() && options == other_options) {
    return BadInput(
        "both sides are the same: name another build, or give --options or --other-options");
  }
  fs::create_directories(place, error);
  if (error) return BadInput(fmt::format("{}: can't be made: {}", place.string(), error.message()));
  return std::array<Side, 2>{Side{self.string(), Words(options), (place / "this.jsonl").string()},
                             Side{second, Words(other_options), (place / "other.jsonl").string()}};
}

int CompareCommand::Run() const {
  const bool keep = !folder.empty();
  const fs::path place =
      keep ? fs::path(folder)
           : fs::temp_directory_path() / fmt::format("schemafill-compare-{}", getpid());
  const Result<std::array<Side, 2>> sides = MakeSides(place);
  if (!sides) return Report(sides.error());
  const std::vector<std::string> bench = {"--dataset", dataset, "--methods", method};

  CatchInterrupt();
  ProgressBar bar("compare");
  for (int done = 0, round = 0; done < limit && !Interrupted(); ++round) {
    done = std::min(limit, done + block);
    for (size_t turn = 0; turn < sides->size(); ++turn) {
      // Each comes first as often.
      const Side& side = (*sides)[(turn + static_cast<size_t>(round)) % sides->size()];
      if (const Status ran = side.Run(bench, done); !ran) {
        bar.Clear();
        return Report(ran.error());
      }
    }
    bar.Show(static_cast<double>(done) / limit, fmt::format("{} of {} requests", done, limit));
  }
  bar.Clear();
  const int code = Print(*sides);
  std::error_code ignored;
  if (!keep) fs::remove_all(place, ignored);
  return code;
}

int CompareCommand::Print(const std::array<Side, 2>& sides) const {
  // By request: both sides' samples.
  std::map<std::string, std::array<Sample, 2>> pairs;
  for (size_t side = 0; side < sides.size(); ++side) {
    Result<RunRecord> run = ReadRun(sides[side].results);
    if (!run) return Report(run.error());
    for (Sample& sample : run->samples) {
      if (sample.method == method) pairs[RequestKey(sample)][side] = sample;
    }
  }
  std::array<Figures, 2> figures;
  std::vector<RatioTerm> decode, total;
  int same = 0;
  for (const auto& [key, pair] : pairs) {
    if (pair[0].method.empty() || pair[1].method.empty()) continue;
    for (size_t side = 0; side < sides.size(); ++side) figures[side].Add(pair[side]);
    same += SameAnswer(pair[0], pair[1]) ? 1 : 0;
    decode.push_back({pair[1].stats.decode_ms(), pair[0].stats.decode_ms()});
    total.push_back({pair[1].stats.total_ms, pair[0].stats.total_ms});
  }
  const RatioInterval decoding = RatioOfSums(decode, kResamples, 0);
  const RatioInterval whole = RatioOfSums(total, kResamples, 0);
  const int requests = figures[0].samples;
  if (json) {
    const auto side = [](const Figures& f) {
      return Json{{"al", f.al()}, {"tps", f.tps()}, {"decode_tps", f.decode_tps()}};
    };
    const auto ratio = [](const RatioInterval& r) {
      return Json{{"ratio", r.ratio}, {"low", r.interval.low}, {"high", r.interval.high}};
    };
    const Json line = {{"method", method},
                       {"dataset", dataset},
                       {"requests", requests},
                       {"same_answers", same},
                       {"this", side(figures[0])},
                       {"other", side(figures[1])},
                       {"decode_speedup", ratio(decoding)},
                       {"speedup", ratio(whole)}};
    fmt::print("{}\n", line.dump());
  } else {
    fmt::print("{} on {}, {} requests, {} answered the same by both\n", method, dataset, requests,
               same);
    fmt::print("{:<22}{:>10}{:>10}  {}\n", "", "this", "other", "this over other (95 %)");
    const auto line = [](std::string_view name, double ours, double theirs,
                         const RatioInterval& r) {
      fmt::print("{:<22}{:>10.1f}{:>10.1f}  {:.3f} ({:.3f} to {:.3f})\n", name, ours, theirs,
                 r.ratio, r.interval.low, r.interval.high);
    };
    line("decoding, tokens/s", figures[0].decode_tps(), figures[1].decode_tps(), decoding);
    line("end to end, tokens/s", figures[0].tps(), figures[1].tps(), whole);
    fmt::print("{:<22}{:>10.2f}{:>10.2f}\n", "AL", figures[0].al(), figures[1].al());
  }
  return Interrupted() ? kExitCheckFailed : kExitOk;
}

}  // namespace

CommandRunner AddCompare(CLI::App& program) {
  auto command = std::make_shared<CompareCommand>();
  CLI::App* app =
      program.add_subcommand("compare", "Two builds, or two settings, in one interleaved run");
  app->add_option("other", command->other,
                  "The other build's program (default: this one, with --other-options)");
  app->add_option("--options", command->options, "Options of `bench` for this side, in quotes");
  app->add_option("--other-options", command->other_options, "The same for the other side");
  app->add_option("--method", command->method, "The method that is timed")->capture_default_str();
  app->add_option("--dataset", command->dataset, "Data set, as for `bench`")->capture_default_str();
  app->add_option("--limit", command->limit, "First N requests")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--block", command->block, "Requests of a turn; each turn loads the model anew")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  app->add_option("--folder", command->folder,
                  "Keep both sides' results here; the same command goes on from there");
  app->add_flag("--json", command->json, "One JSON object");
  return [command] { return command->Run(); };
}

}  // namespace schemafill
