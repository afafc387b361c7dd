// schemafill verify: proves on a data set that a method changes nothing. Every request is decoded
// plainly and by each method; token ids must be equal. Of a lossy method the agreement is a figure
// like the others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <vector>

#include "apps/commands.h"
#include "apps/contenders.h"
#include "apps/data_options.h"
#include "apps/interrupt.h"
#include "apps/options.h"
#include "apps/progress.h"
#include "catalog/dataset.h"
#include "catalog/prompt.h"
#include "measure/figures.h"
#include "measure/run_file.h"

namespace schemafill {
namespace {

struct VerifyCommand {
  DataOptions data;
  ModelOptions model;
  DecodeOptions decode;
  PeerOptions peers;
  std::vector<std::string> methods = {"schemafill"};
  std::string results_file;
  bool json = false;

  int Run() const;
  Result<RunFile> OpenResults(const Dataset& set) const;
};

struct Tally {
  Contender contender;
  Figures figures;
  int resumed = 0;
  std::string first_difference;  // of the first request that differs

  bool lossy() const { return contender.method.lossy(); }
  double SpeedUp(const Tally& reference) const {
    return figures.decode_ms() > 0 ? reference.figures.decode_ms() / figures.decode_ms() : 0;
  }
};

std::string Difference(const Sample& want, const Sample& got) {
  size_t at = 0;
  while (at < std::min(want.text.size(), got.text.size()) && want.text[at] == got.text[at]) ++at;
  const size_t from = at - std::min<size_t>(at, 30);
  return fmt::format("{}: differs from ar at byte {}: ar has {} and the method {}", want.request,
                     at, DumpLine(want.text.substr(from, 60)), DumpLine(got.text.substr(from, 60)));
}

double Share(size_t part, size_t whole) {
  return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
}

Json TallyJson(const Tally& tally, const Tally& reference) {
  const auto rounded = [](double value) { return std::round(1000 * value) / 1000; };
  const Figures& figures = tally.figures;
  Json out = {{"agreement", figures.agreement()},
              {"lossy", tally.lossy()},
              {"tokens", figures.tokens},
              {"forwards", figures.forwards},
              {"nodes", figures.nodes},
              {"accepted_nodes", figures.accepted},
              {"al", tally.lossy() ? Json() : Json(rounded(figures.al()))},
              {"nodes_per_verify", rounded(figures.nodes_per_verify())},
              {"decode_ms", rounded(figures.decode_ms())},
              {"total_ms", rounded(figures.total_ms)},
              {"decode_tps", rounded(figures.decode_tps())},
              {"decode_speedup", rounded(tally.SpeedUp(reference))},
              {"resumed", tally.resumed}};
  if (!tally.first_difference.empty()) out["first_difference"] = tally.first_difference;
  return out;
}

void PrintTable(const std::vector<Tally>& tallies) {
  size_t width = 16;
  for (const Tally& tally : tallies) width = std::max(width, tally.contender.name.size() + 2);
  fmt::print("{:<{}}{:>9}{:>8}{:>9}{:>7}{:>13}{:>9}{:>9}\n", "method", width, "agreement", "tokens",
             "forwards", "AL", "nodes/verify", "tokens/s", "speed-up");
  bool any_lossy = false;
  for (const Tally& tally : tallies) {
    const Figures& figures = tally.figures;
    any_lossy |= tally.lossy();
    fmt::print("{:<{}}{:>9.4f}{:>8}{:>9}{:>7}{:>13.2f}{:>9.0f}{:>8.2f}x\n",
               fmt::format("{}{}", tally.contender.name, tally.lossy() ? "*" : ""), width,
               figures.agreement(), figures.tokens, figures.forwards,
               tally.lossy() ? "-" : fmt::format("{:.2f}", figures.al()),
               figures.nodes_per_verify(), figures.decode_tps(), tally.SpeedUp(tallies.front()));
  }
  if (any_lossy)
    fmt::print("* lossy: nothing verifies its values; ar's calls and keys are supplied, untimed\n");
}

Result<RunFile> VerifyCommand::OpenResults(const Dataset& set) const {
  if (results_file.empty()) return RunFile();
  Result<Json> settings = SettingsJson(model, decode);
  if (!settings) return settings.error();
  (*settings)["dataset"] = set.name;
  return RunFile::Open(results_file,
                       {{"type", "verify"},
                        {"settings", std::move(*settings)},
                        {"model", std::filesystem::path(ModelPath(model)).filename().string()}});
}

// The samples of one request, plain decoding first; methods share its prompt's cells. Fewer than
// asked for where the user interrupted. Errors: the request could not run, the same for every
// method.
Result<std::vector<Sample>> RunRequest(Engine& engine, const std::string& dataset,
                                       const Request& request, std::vector<Tally>& tallies,
                                       const GenerateOptions& options, RunFile& results) {
  const std::string prompt = PromptHash(BuildPrompt(request, engine.model().tokenizer()).tokens);
  std::vector<Sample> samples;
  for (Tally& tally : tallies) {
    Contender& contender = tally.contender;
    const Sample which{
        .dataset = dataset, .request = request.id, .prompt = prompt, .method = contender.name};
    if (const Sample* finished = results.Find(which)) {
      Remember(finished->text, &contender.memory);
      samples.push_back(*finished);
      samples.back().agrees = SameAnswer(samples.front(), samples.back());
      continue;
    }
    if (Interrupted()) break;
    const std::span<const int> plain =
        samples.empty() ? std::span<const int>() : samples.front().token_ids;
    const Result<Generation> generation = RunContender(contender, engine, request, options, plain);
    if (!generation) return generation.error();
    Sample sample = MakeSample(which, *generation);
    sample.agrees = samples.empty() || SameAnswer(samples.front(), sample);
    results.Append(sample);
    samples.push_back(std::move(sample));
  }
  return samples;
}

void AddRequest(const std::vector<Sample>& samples, std::vector<Tally>& tallies) {
  for (size_t i = 0; i < tallies.size(); ++i) {
    Tally& tally = tallies[i];
    tally.figures.Add(samples[i]);
    tally.resumed += samples[i].resumed ? 1 : 0;
    if (!samples[i].agrees && tally.first_difference.empty())
      tally.first_difference = Difference(samples[0], samples[i]);
  }
}

int VerifyCommand::Run() const {
  Result<GenerateOptions> options = ToGenerateOptions(decode);
  if (!options) return Report(options.error());
  Result<std::vector<Contender>> contenders = ParseContenders(methods);
  if (!contenders) return Report(contenders.error());
  const Result<Dataset> set = LoadData(data);
  if (!set) return Report(set.error());

  Result<LoadedTarget> target = LoadTargetFor(model, NeedsCost(*contenders, options->preset));
  if (!target) return Report(target.error());
  Result<RunFile> results = OpenResults(*set);
  if (!results) return Report(results.error());
  fmt::print(stderr, "{}: {}\n", target->model->info().name,
             target->model->info().guarantee_reason);
  if (const Status started = StartPeers(peers, model, *target->model, *contenders); !started)
    return Report(started.error());
  std::vector<Tally> tallies;
  for (Contender& contender : *contenders) tallies.emplace_back().contender = std::move(contender);

  CatchInterrupt();
  Engine engine(*target->model, target->cost, target->head.get());
  ProgressBar bar(fmt::format("verify {}", set->name));
  size_t requests = 0;
  std::vector<std::string> failed;  // requests that could not run at all
  for (const Request& request : set->requests) {
    const Result<std::vector<Sample>> samples =
        RunRequest(engine, set->name, request, tallies, *options, *results);
    if (const Status written = results->status(); !written) {
      bar.Clear();
      return Report(written.error());
    }
    if (!samples) {
      failed.push_back(fmt::format("{}: {}", request.id, samples.error().message));
      continue;
    }
    if (samples->size() < tallies.size()) break;
    ++requests;
    AddRequest(*samples, tallies);
    bar.Show(Share(requests, set->requests.size()),
             fmt::format("{} of {}, {} agree", requests, set->requests.size(),
                         tallies.back().figures.agreeing));
  }
  bar.Clear();
  for (const std::string& line : failed) fmt::print(stderr, "failed: {}\n", line);
  if (Interrupted()) {
    fmt::print(stderr, "interrupted after {} requests{}\n", requests,
               results_file.empty() ? "" : "; the same command goes on from there");
  }

  double agreement = requests > 0 ? 1 : 0;
  Json by_method = Json::object();
  if (!json) PrintTable(tallies);
  for (const Tally& tally : tallies) {
    const std::string& name = tally.contender.name;
    if (!tally.first_difference.empty())
      fmt::print(stderr, "{}: {}\n", name, tally.first_difference);
    if (tally.contender.method.exact() && requests > 0)
      agreement = std::min(agreement, tally.figures.agreement());
    by_method[name] = TallyJson(tally, tallies.front());
  }
  if (json) {
    const Json line = {{"dataset", set->name},
                       {"requests", requests},
                       {"agreement", agreement},  // of the methods that promise it
                       {"failed", failed.size()},
                       {"skipped", set->skipped.size()},
                       {"interrupted", Interrupted()},
                       {"preset", decode.preset},
                       {"max_tokens", decode.max_tokens},
                       {"model", target->model->info().name},
                       {"guarantee", target->model->info().guarantee_reason},
                       {"methods", by_method}};
    fmt::print("{}\n", line.dump());
  }
  return agreement < 1 || Interrupted() ? kExitCheckFailed : kExitOk;
}

}  // namespace

CommandRunner AddVerify(CLI::App& program) {
  auto command = std::make_shared<VerifyCommand>();
  CLI::App* app = program.add_subcommand(
      "verify", "Prove on a data set that a method gives plain decoding's bytes");
  AddDataOptions(*app, &command->data);
  app->add_option("--methods", command->methods,
                  "Methods to compare with ar; llamacpp, llamacpp-ngram and llamacpp-eagle3 are "
                  "llama.cpp's own server")
      ->delimiter(',')
      ->capture_default_str();
  app->add_option("--results", command->results_file,
                  "Append a JSON line for each finished request and method to this file; what it "
                  "holds already is not run again");
  app->add_flag("--json", command->json, "One JSON object as the last line");
  AddModelOptions(*app, &command->model);
  AddDecodeOptions(*app, &command->decode);
  AddPeerOptions(*app, &command->peers);
  return [command] { return command->Run(); };
}

}  // namespace schemafill
