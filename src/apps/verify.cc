// schemafill verify: proves on a data set that a method changes nothing. Every request is decoded
// plainly and by each method; token ids must be equal.
#include <fmt/format.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <vector>

#include "api/generation_json.h"
#include "apps/commands.h"
#include "apps/files.h"
#include "apps/options.h"
#include "apps/progress.h"
#include "catalog/dataset.h"

namespace schemafill {
namespace {

volatile std::sig_atomic_t interrupted = 0;

struct VerifyCommand {
  ModelOptions model;
  DecodeOptions decode;
  std::string dataset = "bfcl";
  std::string data_folder;
  std::vector<std::string> methods = {"schemafill"};
  int limit = 0;
  bool json = false;

  int Run() const;
};

// Sums over requests, as the paper pools them (5.1).
struct Tally {
  Method method = Method::kAr;
  int agreeing = 0;
  long tokens = 0;
  long forwards = 0;
  long nodes = 0;
  double decode_ms = 0;
  double total_ms = 0;
  std::string first_difference;  // of the first request that differs

  void Add(const GenerateStats& stats) {
    tokens += stats.tokens;
    forwards += stats.forwards;
    nodes += stats.nodes;
    decode_ms += stats.decode_ms();
    total_ms += stats.total_ms;
  }
};

std::string Difference(const std::string& id, const Generation& want, const Generation& got) {
  size_t at = 0;
  while (at < std::min(want.text.size(), got.text.size()) && want.text[at] == got.text[at]) ++at;
  const size_t from = at - std::min<size_t>(at, 30);
  return fmt::format(
      "{}: differs from ar at byte {}: ar has {} and the method {}", id, at,
      Json(want.text.substr(from, 60)).dump(-1, ' ', false, Json::error_handler_t::replace),
      Json(got.text.substr(from, 60)).dump(-1, ' ', false, Json::error_handler_t::replace));
}

double Share(int part, int whole) { return whole > 0 ? static_cast<double>(part) / whole : 0; }

Json TallyJson(const Tally& tally, const Tally& reference, int requests) {
  const auto ratio = [](double a, double b) { return b > 0 ? std::round(1000 * a / b) / 1000 : 0; };
  Json out = {{"agreement", Share(tally.agreeing, requests)},
              {"tokens", tally.tokens},
              {"forwards", tally.forwards},
              {"al", ratio(static_cast<double>(tally.tokens), static_cast<double>(tally.forwards))},
              {"nodes_per_verify",
               ratio(static_cast<double>(tally.nodes), static_cast<double>(tally.forwards))},
              {"decode_tps", ratio(1000.0 * static_cast<double>(tally.tokens), tally.decode_ms)},
              {"decode_speedup", ratio(reference.decode_ms, tally.decode_ms)}};
  if (!tally.first_difference.empty()) out["first_difference"] = tally.first_difference;
  return out;
}

void PrintTally(const Tally& tally, const Tally& reference, int requests) {
  fmt::print(
      "{:<12} agreement {:.4f}  AL {:.2f}  nodes/forward {:.1f}  decoding {:.0f} tokens/s, "
      "{:.2f}x\n",
      Name(tally.method), Share(tally.agreeing, requests),
      static_cast<double>(tally.tokens) / std::max(1L, tally.forwards),
      static_cast<double>(tally.nodes) / std::max(1L, tally.forwards),
      1000 * static_cast<double>(tally.tokens) / std::max(tally.decode_ms, 1e-9),
      reference.decode_ms / std::max(tally.decode_ms, 1e-9));
}

int VerifyCommand::Run() const {
  Result<GenerateOptions> options = ToGenerateOptions(decode);
  if (!options) return Report(options.error());
  std::vector<Tally> tallies(1);  // plain decoding first
  for (const std::string& name : methods) {
    const Result<Method> method = ParseMethod(name);
    if (!method) return Report(method.error());
    if (*method != Method::kAr) tallies.emplace_back().method = *method;
  }
  Result<Dataset> data = LoadDataset(
      dataset, data_folder.empty() ? AssetsFolder() / "bfcl" : std::filesystem::path(data_folder));
  if (!data) return Report(data.error());
  for (const std::string& line : data->skipped) fmt::print(stderr, "skipped: {}\n", line);
  if (limit > 0 && data->requests.size() > static_cast<size_t>(limit))
    data->requests.resize(static_cast<size_t>(limit));

  Result<LoadedTarget> target = LoadTargetFor(model, options->preset == Preset::kAuto);
  if (!target) return Report(target.error());
  fmt::print(stderr, "{}: {}\n", target->model->info().name,
             target->model->info().guarantee_reason);

  std::signal(SIGINT, [](int) { interrupted = 1; });
  Engine engine(*target->model, target->cost);
  ProgressBar bar(fmt::format("verify {}", data->name));
  int requests = 0;
  std::vector<std::string> failed;  // requests that could not run at all, the same for every method
  for (const Request& request : data->requests) {
    if (interrupted != 0) break;
    std::vector<Generation> results;
    for (Tally& tally : tallies) {
      options->method = tally.method;
      Result<Generation> result = engine.Generate(request, *options);
      if (!result) {
        failed.push_back(fmt::format("{}: {}", request.id, result.error().message));
        break;
      }
      results.push_back(std::move(*result));
    }
    if (results.size() < tallies.size()) continue;
    ++requests;
    for (size_t i = 0; i < tallies.size(); ++i) {
      tallies[i].Add(results[i].stats);
      if (results[i].tokens == results[0].tokens && results[i].text == results[0].text) {
        ++tallies[i].agreeing;
      } else if (tallies[i].first_difference.empty()) {
        tallies[i].first_difference = Difference(request.id, results[0], results[i]);
      }
    }
    bar.Show(Share(requests, static_cast<int>(data->requests.size())),
             fmt::format("{} of {}, {} agree", requests, data->requests.size(),
                         tallies.back().agreeing));
  }
  bar.Clear();
  for (const std::string& line : failed) fmt::print(stderr, "failed: {}\n", line);
  if (interrupted != 0) fmt::print(stderr, "interrupted after {} requests\n", requests);

  double agreement = requests > 0 ? 1 : 0;
  Json by_method = Json::object();
  for (const Tally& tally : tallies) {
    if (!json) PrintTally(tally, tallies.front(), requests);
    if (!tally.first_difference.empty())
      fmt::print(stderr, "{}: {}\n", Name(tally.method), tally.first_difference);
    agreement = std::min(agreement, Share(tally.agreeing, requests));
    by_method[std::string(Name(tally.method))] = TallyJson(tally, tallies.front(), requests);
  }
  if (json) {
    const Json line = {{"dataset", data->name},
                       {"requests", requests},
                       {"agreement", agreement},
                       {"failed", failed.size()},
                       {"skipped", data->skipped.size()},
                       {"interrupted", interrupted != 0},
                       {"preset", decode.preset},
                       {"model", target->model->info().name},
                       {"guarantee", target->model->info().guarantee_reason},
                       {"methods", by_method}};
    fmt::print("{}\n", line.dump());
  }
  return agreement < 1 || interrupted != 0 ? kExitCheckFailed : kExitOk;
}

}  // namespace

CommandRunner AddVerify(CLI::App& program) {
  auto command = std::make_shared<VerifyCommand>();
  CLI::App* app = program.add_subcommand(
      "verify", "Prove on a data set that a method gives plain decoding's bytes");
  app->add_option("--dataset", command->dataset,
                  "bfcl, single650, a BFCL file's name, or a file of JSON lines")
      ->capture_default_str();
  app->add_option("--data", command->data_folder,
                  "Folder with the BFCL files (default: what `make setup` made)");
  app->add_option("--limit", command->limit, "First N requests only; 0: all")
      ->check(CLI::NonNegativeNumber);
  app->add_option("--methods", command->methods, "Methods to compare with ar")
      ->delimiter(',')
      ->capture_default_str();
  app->add_flag("--json", command->json, "One JSON object as the last line");
  AddModelOptions(*app, &command->model);
  AddDecodeOptions(*app, &command->decode);
  return [command] { return command->Run(); };
}

}  // namespace schemafill
