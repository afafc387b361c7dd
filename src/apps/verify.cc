// schemafill verify: proves on a data set that a method changes nothing. Every request is decoded
// plainly and by each method; token ids must be equal. Of a lossy method the agreement is a figure
// like the others.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <memory>
#include <vector>

#include "apps/commands.h"
#include "apps/data_options.h"
#include "apps/options.h"
#include "apps/peers.h"
#include "apps/progress.h"
#include "apps/results.h"
#include "base/hash_file.h"
#include "catalog/dataset.h"
#include "catalog/prompt.h"

namespace schemafill {
namespace {

volatile std::sig_atomic_t interrupted = 0;

// Ctrl-C: the answer in hand is finished and kept; a second one ends the program at once.
extern "C" void Interrupt(int) {
  interrupted = 1;
  std::signal(SIGINT, SIG_DFL);
}

struct VerifyCommand {
  DataOptions data;
  ModelOptions model;
  DecodeOptions decode;
  PeerOptions peers;
  std::vector<std::string> methods = {"schemafill"};
  std::string results_file;
  bool json = false;

  int Run() const;
  Result<ResultsFile> OpenResults(const Dataset& set) const;
};

// Sums over requests, as the paper pools them (5.1).
struct Tally {
  AnyMethod method;
  std::unique_ptr<Peer> peer;  // its server, where it has one
  Memory memory;               // of its own: what `ar` has just answered nobody may recall
  int agreeing = 0;
  int resumed = 0;
  long tokens = 0;
  long forwards = 0;
  long nodes = 0;
  long accepted = 0;
  double decode_ms = 0;
  double total_ms = 0;
  std::string first_difference;  // of the first request that differs

  void Add(const PairResult& pair) {
    resumed += pair.resumed ? 1 : 0;
    tokens += static_cast<long>(pair.token_ids.size());
    forwards += pair.forwards;
    nodes += pair.nodes;
    accepted += pair.accepted;
    decode_ms += pair.decode_ms;
    total_ms += pair.total_ms;
  }

  double al() const { return Ratio(tokens, forwards); }
  double nodes_per_verify() const { return Ratio(nodes, forwards); }
  double decode_tps() const { return decode_ms > 0 ? 1000 * tokens / decode_ms : 0; }
  double SpeedUp(const Tally& reference) const {
    return decode_ms > 0 ? reference.decode_ms / decode_ms : 0;
  }

 private:
  static double Ratio(long part, long whole) {
    return whole > 0 ? static_cast<double>(part) / static_cast<double>(whole) : 0;
  }
};

std::string Difference(const PairResult& want, const PairResult& got) {
  size_t at = 0;
  while (at < std::min(want.text.size(), got.text.size()) && want.text[at] == got.text[at]) ++at;
  const size_t from = at - std::min<size_t>(at, 30);
  return fmt::format("{}: differs from ar at byte {}: ar has {} and the method {}", want.request,
                     at, DumpLine(want.text.substr(from, 60)), DumpLine(got.text.substr(from, 60)));
}

double Share(int part, int whole) { return whole > 0 ? static_cast<double>(part) / whole : 0; }

Json TallyJson(const Tally& tally, const Tally& reference, int requests) {
  const auto rounded = [](double value) { return std::round(1000 * value) / 1000; };
  const bool lossy = tally.method.lossy();
  Json out = {{"agreement", Share(tally.agreeing, requests)},
              {"lossy", lossy},
              {"tokens", tally.tokens},
              {"forwards", tally.forwards},
              {"nodes", tally.nodes},
              {"accepted_nodes", tally.accepted},
              {"al", lossy ? Json() : Json(rounded(tally.al()))},
              {"nodes_per_verify", rounded(tally.nodes_per_verify())},
              {"decode_ms", rounded(tally.decode_ms)},
              {"total_ms", rounded(tally.total_ms)},
              {"decode_tps", rounded(tally.decode_tps())},
              {"decode_speedup", rounded(tally.SpeedUp(reference))},
              {"resumed", tally.resumed}};
  if (!tally.first_difference.empty()) out["first_difference"] = tally.first_difference;
  return out;
}

void PrintTable(const std::vector<Tally>& tallies, int requests) {
  size_t width = 16;
  for (const Tally& tally : tallies) width = std::max(width, tally.method.name().size() + 2);
  fmt::print("{:<{}}{:>9}{:>8}{:>9}{:>7}{:>13}{:>9}{:>9}\n", "method", width, "agreement", "tokens",
             "forwards", "AL", "nodes/verify", "tokens/s", "speed-up");
  bool any_lossy = false;
  for (const Tally& tally : tallies) {
    const bool lossy = tally.method.lossy();
    any_lossy |= lossy;
    fmt::print("{:<{}}{:>9.4f}{:>8}{:>9}{:>7}{:>13.2f}{:>9.0f}{:>8.2f}x\n",
               fmt::format("{}{}", tally.method.name(), lossy ? "*" : ""), width,
               Share(tally.agreeing, requests), tally.tokens, tally.forwards,
               lossy ? "-" : fmt::format("{:.2f}", tally.al()), tally.nodes_per_verify(),
               tally.decode_tps(), tally.SpeedUp(tallies.front()));
  }
  if (any_lossy)
    fmt::print("* lossy: nothing verifies its values; ar's calls and keys are supplied, untimed\n");
}

// What the figures of a results file depend on.
Result<ResultsFile> VerifyCommand::OpenResults(const Dataset& set) const {
  if (results_file.empty()) return ResultsFile();
  const std::string path = ModelPath(model);
  const Result<std::string> model_hash = HashFile(path);
  if (!model_hash) return model_hash.error();
  Result<std::string> head_hash = std::string();
  if (!HeadPath(model).empty()) head_hash = HashFile(HeadPath(model));
  if (!head_hash) return head_hash.error();
  Json run = {{"type", "verify"},
              {"dataset", set.name},
              {"model", std::filesystem::path(path).filename().string()},
              {"model_hash", *model_hash},
              {"head_hash", *head_hash},
              {"preset", decode.preset},
              {"max_tokens", decode.max_tokens},
              {"hybrid_prefill", decode.hybrid_prefill},
              {"seed", decode.seed},
              {"temperature", decode.temperature},
              {"threads", model.threads},
              {"context", model.context}};
  // Greedy decoding has nothing to cut, so files of greedy runs don't depend on these.
  if (decode.temperature > 0)
    run.update({{"top_k", decode.top_k}, {"top_p", decode.top_p}, {"min_p", decode.min_p}});
  return ResultsFile::Open(results_file, run);
}

// A finished answer goes into the method's memory as it would have then. What tokens were recycled
// is lost.
void Remember(const PairResult& pair, Memory* memory) {
  Answer answer;
  answer.Feed(pair.text);
  memory->recall.Add(answer);
}

// The pairs of one request, plain decoding first; methods share its prompt's cells. Fewer than
// asked for where the user interrupted. Errors: the request could not run, the same for every
// method.
Result<std::vector<PairResult>> RunRequest(Engine& engine, const Request& request,
                                           std::vector<Tally>& tallies, GenerateOptions options,
                                           ResultsFile& results) {
  const std::string prompt = PromptHash(BuildPrompt(request, engine.model().tokenizer()).tokens);
  std::vector<PairResult> pairs;
  for (Tally& tally : tallies) {
    if (const PairResult* finished = results.Find(request.id, prompt, tally.method.name())) {
      Remember(*finished, &tally.memory);
      pairs.push_back(*finished);
      continue;
    }
    if (interrupted != 0) break;
    options.method = tally.method.spec;
    options.memory = &tally.memory;
    const Result<Generation> generation = tally.peer != nullptr
                                              ? tally.peer->Generate(request, options)
                                              : engine.Generate(request, options);
    if (!generation) return generation.error();
    Json line = PairLine(request, prompt, *generation, tally.method.name(), true);
    Result<PairResult> pair = ParsePair(line);
    pairs.push_back(std::move(pair.value()));
    line["agrees"] = SameAnswer(pairs.front(), pairs.back());
    results.Append(line);
  }
  return pairs;
}

void AddRequest(const std::vector<PairResult>& pairs, std::vector<Tally>& tallies) {
  for (size_t i = 0; i < tallies.size(); ++i) {
    tallies[i].Add(pairs[i]);
    if (SameAnswer(pairs[i], pairs[0])) {
      ++tallies[i].agreeing;
    } else if (tallies[i].first_difference.empty()) {
      tallies[i].first_difference = Difference(pairs[0], pairs[i]);
    }
  }
}

// Plain decoding first, each method once.
Result<std::vector<Tally>> ParseMethods(const std::vector<std::string>& names) {
  std::vector<Tally> tallies(1);
  for (const std::string& name : names) {
    const Result<AnyMethod> method = ParseAnyMethod(name);
    if (!method) return method.error();
    const auto same = [&](const Tally& tally) { return tally.method == *method; };
    if (std::none_of(tallies.begin(), tallies.end(), same)) tallies.emplace_back().method = *method;
  }
  return tallies;
}

// Starts the servers of peers. Where there is no llama-server, says so and takes them out.
Status StartPeers(const PeerOptions& options, const ModelOptions& model, const TargetModel& target,
                  std::vector<Tally>& tallies) {
  const Result<std::string> program = FindLlamaServer(options);
  if (!program) return program.error();
  std::string skipped;
  for (Tally& tally : tallies) {
    if (tally.method.peer == nullptr) continue;
    if (program->empty()) {
      skipped += fmt::format("{}{}", skipped.empty() ? "" : ", ", tally.method.name());
      continue;
    }
    Result<std::unique_ptr<Peer>> peer = Peer::Start(*tally.method.peer, *program, model, target);
    if (!peer) return peer.error();
    tally.peer = std::move(*peer);
  }
  if (!skipped.empty()) fmt::print(stderr, "skipped: {}: {}\n", skipped, NoLlamaServer());
  std::erase_if(tallies, [](const Tally& tally) {
    return tally.method.peer != nullptr && tally.peer == nullptr;
  });
  return {};
}

int VerifyCommand::Run() const {
  Result<GenerateOptions> options = ToGenerateOptions(decode);
  if (!options) return Report(options.error());
  Result<std::vector<Tally>> tallies = ParseMethods(methods);
  if (!tallies) return Report(tallies.error());
  const Result<Dataset> set = LoadData(data);
  if (!set) return Report(set.error());

  Result<LoadedTarget> target = LoadTargetFor(model, options->preset == Preset::kAuto);
  if (!target) return Report(target.error());
  Result<ResultsFile> results = OpenResults(*set);
  if (!results) return Report(results.error());
  fmt::print(stderr, "{}: {}\n", target->model->info().name,
             target->model->info().guarantee_reason);
  if (const Status started = StartPeers(peers, model, *target->model, *tallies); !started)
    return Report(started.error());

  std::signal(SIGINT, Interrupt);
  Engine engine(*target->model, target->cost, target->head.get());
  ProgressBar bar(fmt::format("verify {}", set->name));
  int requests = 0;
  std::vector<std::string> failed;  // requests that could not run at all
  for (const Request& request : set->requests) {
    const Result<std::vector<PairResult>> pairs =
        RunRequest(engine, request, *tallies, *options, *results);
    if (const Status written = results->status(); !written) {
      bar.Clear();
      return Report(written.error());
    }
    if (!pairs) {
      failed.push_back(fmt::format("{}: {}", request.id, pairs.error().message));
      continue;
    }
    if (pairs->size() < tallies->size()) break;
    ++requests;
    AddRequest(*pairs, *tallies);
    bar.Show(Share(requests, static_cast<int>(set->requests.size())),
             fmt::format("{} of {}, {} agree", requests, set->requests.size(),
                         tallies->back().agreeing));
  }
  bar.Clear();
  for (const std::string& line : failed) fmt::print(stderr, "failed: {}\n", line);
  if (interrupted != 0) {
    fmt::print(stderr, "interrupted after {} requests{}\n", requests,
               results_file.empty() ? "" : "; the same command goes on from there");
  }

  double agreement = requests > 0 ? 1 : 0;
  Json by_method = Json::object();
  if (!json) PrintTable(*tallies, requests);
  for (const Tally& tally : *tallies) {
    if (!tally.first_difference.empty())
      fmt::print(stderr, "{}: {}\n", tally.method.name(), tally.first_difference);
    if (tally.method.exact()) agreement = std::min(agreement, Share(tally.agreeing, requests));
    by_method[std::string(tally.method.name())] = TallyJson(tally, tallies->front(), requests);
  }
  if (json) {
    const Json line = {{"dataset", set->name},
                       {"requests", requests},
                       {"agreement", agreement},  // of the methods that promise it
                       {"failed", failed.size()},
                       {"skipped", set->skipped.size()},
                       {"interrupted", interrupted != 0},
                       {"preset", decode.preset},
                       {"max_tokens", decode.max_tokens},
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
