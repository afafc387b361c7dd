// schemafill bench: the paper's tables on this machine. The methods take turns at each request, so
// that a machine which gets slower is slower for all of them; every answer is compared with plain
// decoding's.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <vector>

#include "apps/commands.h"
#include "apps/contenders.h"
#include "apps/data_options.h"
#include "apps/interrupt.h"
#include "apps/options.h"
#include "apps/progress.h"
#include "base/clock.h"
#include "base/version.h"
#include "catalog/dataset.h"
#include "catalog/prompt.h"
#include "measure/machine.h"
#include "measure/run_file.h"
#include "measure/tables.h"

namespace schemafill {
namespace {

// What a table of the paper runs, where the options don't say otherwise.
struct TablePlan {
  int table = 0;
  int figure = 0;
  std::vector<std::string> datasets;
  std::vector<std::string> methods;
  double temperature = 0;
  bool forecast_reference_calls = false;  // B = C (5.4)
};

const std::vector<TablePlan>& TablePlans() {
  static const std::vector<TablePlan> plans = {
      {.datasets = {"bfcl"}, .methods = {"schemafill", "oracle"}},
      {.table = 1,
       .datasets = {"bfcl", "single650"},
       .methods = {"eagle3", "toolspec", "parallel-fill", "schemafill", "oracle", "llamacpp",
                   "llamacpp-ngram", "llamacpp-eagle3"}},
      {.table = 2,
       .datasets = {"bfcl"},
       .methods = {"eagle3", "schemafill-b", "schemafill-c", "schemafill"}},
      {.table = 3,
       .datasets = {"call-counts"},
       .methods = {"schemafill"},
       .forecast_reference_calls = true},
      {.table = 4, .datasets = {"bfcl"}, .methods = {"schemafill"}},
      {.table = 5, .datasets = {"bfcl"}, .methods = {"schemafill"}},
      {.table = 6,
       .datasets = {"bfcl", "single650"},
       .methods = {"eagle3", "toolspec", "schemafill"},
       .temperature = 1},
      {.figure = 2, .datasets = {"bfcl"}, .methods = {"parallel-fill"}},
  };
  return plans;
}

struct BenchCommand {
  ModelOptions model;
  DecodeOptions decode;
  PeerOptions peers;
  DataOptions data;
  std::vector<std::string> methods;
  std::string results_file;
  int table = 0;
  int figure = 0;
  int launches = 1;
  bool temperature_given = false;
  bool json = false;

  int Run();
  Result<TablePlan> FindPlan() const;
  Result<std::vector<Dataset>> LoadSets(const TablePlan& plan) const;
  Result<Json> Header(const TablePlan& plan, const TargetModel& target) const;
};

// A request at one launch: what all methods do in turn.
struct Turn {
  const Dataset* dataset = nullptr;
  const Request* request = nullptr;
  int number = 0;  // of the request in its data set
  int launch = 0;
};

class Bench {
 public:
  Bench(Engine& engine, std::vector<Contender>& contenders, GenerateOptions options,
        bool forecast_reference_calls, RunFile& file)
      : engine_(engine),
        contenders_(contenders),
        options_(std::move(options)),
        forecast_reference_calls_(forecast_reference_calls),
        file_(file) {}

  // Methods' memories start empty.
  void BeginLaunch() {
    for (Contender& contender : contenders_) contender.memory = Memory();
  }

  // Untimed: code and caches get warm, and a method that changes the answer is found before hours
  // are spent on it. Errors: such a method.
  Status WarmUp(const Request& request);

  // False: interrupted, the turn is not complete.
  bool Run(const Turn& turn);

  const std::vector<Sample>& samples() const { return samples_; }

 private:
  Sample RunOne(const Request& request, Contender& contender, const Sample& which);
  GenerateOptions OptionsFor(const Request& request) const;

  Engine& engine_;
  std::vector<Contender>& contenders_;
  const GenerateOptions options_;
  const bool forecast_reference_calls_;
  RunFile& file_;
  std::vector<Sample> samples_;
  std::map<std::string, Sample> plain_;        // answers of `ar`, by RequestKey
  std::optional<GenerateStats> prompt_stats_;  // of our method that took this turn's prompt in
};

GenerateOptions Bench::OptionsFor(const Request& request) const {
  GenerateOptions options = options_;
  if (forecast_reference_calls_ && request.reference_calls)
    options.forecast_calls = *request.reference_calls;
  return options;
}

Status Bench::WarmUp(const Request& request) {
  Sample plain;
  for (Contender& contender : contenders_) {
    const Result<Generation> generation =
        RunContender(contender, engine_, request, OptionsFor(request), plain.token_ids);
    if (!generation)
      return BadInput(
          fmt::format("{}: {}: {}", contender.name, request.id, generation.error().message));
    const Sample sample = MakeSample({}, *generation);
    if (&contender == &contenders_.front()) plain = sample;
    if (contender.method.exact() && !SameAnswer(plain, sample)) {
      return Unavailable(
          fmt::format("{} gives another answer than ar to {}; nothing was timed. `schemafill "
                      "verify` shows the difference",
                      contender.name, request.id));
    }
  }
  return {};
}

Sample Bench::RunOne(const Request& request, Contender& contender, const Sample& which) {
  const Sample& plain = plain_[RequestKey(which)];
  const Stopwatch watch;
  const Result<Generation> generation =
      RunContender(contender, engine_, request, OptionsFor(request), plain.token_ids);
  Sample sample = which;
  if (generation) {
    sample = MakeSample(std::move(sample), *generation);
  } else {
    sample.error = generation.error().message;
    sample.stats.total_ms = watch.ElapsedMs();
  }
  if (contender.peer != nullptr || !generation) return sample;

  // The prompt is taken in once for all of ours, as its cells are the same; that time counts in
  // each.
  GenerateStats& stats = sample.stats;
  if (!prompt_stats_ || stats.reused_tokens + 1 < stats.prompt_tokens) {
    prompt_stats_ = stats;
  } else {
    stats.total_ms += prompt_stats_->prefill_ms - stats.prefill_ms;
    stats.prefill_ms = prompt_stats_->prefill_ms;
    stats.reused_tokens = prompt_stats_->reused_tokens;
  }
  return sample;
}

bool Bench::Run(const Turn& turn) {
  const Prompt prompt = BuildPrompt(*turn.request, engine_.model().tokenizer());
  Sample which{.dataset = turn.dataset->name,
               .request = turn.request->id,
               .prompt = PromptHash(prompt.tokens),
               .launch = turn.launch,
               .calls = turn.request->reference_calls};
  const std::string key = RequestKey(which);
  prompt_stats_.reset();
  const size_t count = contenders_.size();
  const bool first = plain_.count(key) == 0;
  // `ar` goes first where its answer isn't known yet; each of the others comes first as often.
  const size_t shift = static_cast<size_t>(turn.number + turn.launch);
  std::vector<Sample> samples(count);
  for (size_t place = 0; place < count; ++place) {
    const size_t at = !first       ? (place + shift) % count
                      : place == 0 ? 0
                                   : 1 + (place - 1 + shift) % (count - 1);
    Contender& contender = contenders_[at];
    Sample& sample = samples[at];
    which.method = contender.name;
    if (const Sample* finished = file_.Find(which)) {
      sample = *finished;
      Remember(sample.text, &contender.memory);
    } else {
      if (Interrupted()) return false;
      sample = RunOne(*turn.request, contender, which);
    }
    if (first && at == 0) plain_[key] = sample;
    sample.agrees = sample.error.empty() && SameAnswer(plain_[key], sample);
    if (!sample.resumed) file_.Append(sample);
  }
  samples_.insert(samples_.end(), samples.begin(), samples.end());
  return true;
}

Result<TablePlan> BenchCommand::FindPlan() const {
  if (table != 0 && figure != 0) return BadInput("give --table or --figure, not both");
  // Figure 4 is drawn from what Table 3 runs.
  const int wanted_table = figure == 4 ? 3 : table;
  const int wanted_figure = figure == 4 ? 0 : figure;
  for (const TablePlan& plan : TablePlans()) {
    if (plan.table == wanted_table && plan.figure == wanted_figure) return plan;
  }
  if (figure != 0) return BadInput(fmt::format("--figure {}: there are 2 and 4", figure));
  return BadInput(fmt::format("--table {}: there are 1 to 6", table));
}

Result<std::vector<Dataset>> BenchCommand::LoadSets(const TablePlan& plan) const {
  std::vector<std::string> names = plan.datasets;
  if (!data.dataset.empty()) {
    names.clear();
    std::istringstream given(data.dataset);
    for (std::string name; std::getline(given, name, ',');) names.push_back(name);
  }
  std::vector<Dataset> sets;
  for (const std::string& name : names) {
    DataOptions options = data;
    options.dataset = name;
    Result<Dataset> set = LoadData(options);
    if (!set) return set.error();
    sets.push_back(std::move(*set));
  }
  return sets;
}

Result<Json> BenchCommand::Header(const TablePlan& plan, const TargetModel& target) const {
  Result<Json> settings = SettingsJson(model, decode);
  if (!settings) return settings.error();
  (*settings)["table"] = plan.table;
  (*settings)["figure"] = plan.figure;
  (*settings)["per_count"] = data.per_count;
  (*settings)["data_seed"] = data.seed;
  const ModelInfo& info = target.info();
  std::error_code error;
  return Json{{"type", "bench"},
              {"settings", std::move(*settings)},
              {"version", Version()},
              {"model", info.name},
              {"weights", info.weights},
              {"model_bytes", std::filesystem::file_size(ModelPath(model), error)},
              {"device", info.device},
              {"threads", info.threads},
              {"guarantee", info.guarantee_reason},
              {"limit", data.limit},
              {"launches", launches},
              {"machine", MachineJson()}};
}

int BenchCommand::Run() {
  const Result<TablePlan> plan = FindPlan();
  if (!plan) return Report(plan.error());
  if (!temperature_given) decode.temperature = plan->temperature;
  const Result<GenerateOptions> options = ToGenerateOptions(decode);
  if (!options) return Report(options.error());
  Result<std::vector<Contender>> contenders =
      ParseContenders(methods.empty() ? plan->methods : methods);
  if (!contenders) return Report(contenders.error());
  const Result<std::vector<Dataset>> sets = LoadSets(*plan);
  if (!sets) return Report(sets.error());

  Result<LoadedTarget> target = LoadTargetFor(model, NeedsCost(*contenders, options->preset));
  if (!target) return Report(target.error());
  if (const Status started = StartPeers(peers, model, *target->model, *contenders); !started)
    return Report(started.error());
  const Result<Json> header = Header(*plan, *target->model);
  if (!header) return Report(header.error());
  Result<RunFile> file = RunFile();
  if (!results_file.empty()) file = RunFile::Open(results_file, *header);
  if (!file) return Report(file.error());

  CatchInterrupt();
  Engine engine(*target->model, target->cost, target->head.get());
  Bench bench(engine, *contenders, *options, plan->forecast_reference_calls, *file);
  if (!sets->front().requests.empty()) {
    ProgressBar warm_up("warming up");
    warm_up.Show(0);
    if (const Status warm = bench.WarmUp(sets->front().requests.front()); !warm)
      return Report(warm.error());
  }
  size_t turns = 0, done = 0;
  for (const Dataset& dataset : *sets)
    turns += dataset.requests.size() * static_cast<size_t>(launches);
  ProgressBar bar("bench");
  for (const Dataset& dataset : *sets) {
    for (int launch = 0; launch < launches && !Interrupted(); ++launch) {
      bench.BeginLaunch();
      int number = 0;
      for (const Request& request : dataset.requests) {
        if (!bench.Run({&dataset, &request, number++, launch})) break;
        if (const Status written = file->status(); !written) {
          bar.Clear();
          return Report(written.error());
        }
        bar.Show(static_cast<double>(++done) / static_cast<double>(turns),
                 fmt::format("{} of {}: {}", done, turns, request.id));
      }
    }
  }
  bar.Clear();
  if (Interrupted()) {
    fmt::print(stderr, "interrupted after {} of {} turns{}\n", done, turns,
               results_file.empty() ? "" : "; the same command goes on from there");
  }

  const RunRecord run{*header, bench.samples()};
  if (json) {
    for (const Json& line : MethodsJson(run)) fmt::print("{}\n", line.dump());
    fmt::print("{}\n", header->dump());
  } else {
    for (const Table& shown : TablesOf(run)) fmt::print("{}\n", ToText(shown));
    fmt::print("{} {}, {}, {} threads; {}\n", header->value("model", ""),
               header->value("weights", ""), header->value("device", ""),
               header->value("threads", 0), MachineText(header->at("machine")));
  }
  const bool all_agree =
      std::all_of(run.samples.begin(), run.samples.end(), [&](const Sample& sample) {
        const auto contender =
            std::find_if(contenders->begin(), contenders->end(),
                         [&](const Contender& c) { return c.name == sample.method; });
        return sample.agrees || !sample.error.empty() || !contender->method.exact();
      });
  if (!all_agree) fmt::print(stderr, "an exact method gave another answer than ar\n");
  return all_agree && !Interrupted() ? kExitOk : kExitCheckFailed;
}

}  // namespace

CommandRunner AddBench(CLI::App& program) {
  auto command = std::make_shared<BenchCommand>();
  CLI::App* app = program.add_subcommand("bench", "The paper's tables on this machine");
  app->add_option(
      "--table", command->table,
      "Table of the paper, 1 to 6: sets data sets, methods and temperature unless given");
  app->add_option("--figure", command->figure, "Figure of the paper, 2 or 4, in its place");
  command->data.dataset.clear();  // the table's, or bfcl
  AddDataOptions(*app, &command->data);
  app->add_option("--methods", command->methods,
                  "Methods beside ar (default: the table's, else schemafill and oracle); "
                  "METHOD@auto or METHOD@paper has a preset of its own")
      ->delimiter(',');
  app->add_option("--launches", command->launches, "How often each request is run by each method")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app->add_option("--results", command->results_file,
                  "Append a JSON line for each finished request and method to this file; what it "
                  "holds already is not run again. `report` reads it");
  app->add_flag("--json", command->json,
                "JSON lines: one object a method, then one with the machine");
  AddModelOptions(*app, &command->model);
  AddDecodeOptions(*app, &command->decode);
  AddPeerOptions(*app, &command->peers);
  return [command, app] {
    command->temperature_given = app->count("--temperature") > 0;
    return command->Run();
  };
}

}  // namespace schemafill
