#include "apps/options.h"

#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <system_error>

#include "apps/files.h"
#include "apps/progress.h"
#include "base/hash_file.h"
#include "base/random.h"
#include "json/json.h"
#include "model/llama/llama_model.h"
#include "plan/measure_cost.h"

namespace schemafill {
namespace fs = std::filesystem;

namespace {

// Where the cost curve of this model on this machine is kept: another file, device or thread count
// gets its own.
fs::path CostFile(const ModelInfo& info, const ModelOptions& options, const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  const auto time = fs::last_write_time(path, error).time_since_epoch().count();
  uint64_t key = 0;
  for (const char c : fmt::format("{}|{}|{}|{}|{}|{}", fs::absolute(path, error).string(), size,
                                  time, info.device, options.threads, options.context)) {
    key = MixBits(key ^ static_cast<unsigned char>(c));
  }
  return CacheFolder() / "cost" / fmt::format("{:016x}.json", key);
}

std::optional<CostCurve> ReadCost(const fs::path& file) {
  std::ifstream in(file);
  const Json points = Json::parse(in, nullptr, false);
  if (!points.is_array() || points.empty()) return std::nullopt;
  CostCurve curve;
  for (const Json& point : points) {
    if (!point.is_array() || point.size() != 2 || !point[0].is_number_integer() ||
        !point[1].is_number())
      return std::nullopt;
    curve.points.emplace_back(point[0].get<int>(), point[1].get<double>());
  }
  return curve;
}

// A cache that can't be written costs a second at the next start, no more.
void WriteCost(const fs::path& file, const CostCurve& curve) {
  std::error_code error;
  fs::create_directories(file.parent_path(), error);
  Json points = Json::array();
  for (const auto& [rows, ms] : curve.points) points.push_back({rows, ms});
  const fs::path temporary = file.string() + ".new";
  std::ofstream(temporary) << points.dump() << "\n";
  fs::rename(temporary, file, error);
}

Result<std::unique_ptr<DraftHead>> LoadHeadFor(const ModelOptions& options, TargetModel& target) {
  const std::string path = HeadPath(options);
  if (path.empty()) return std::unique_ptr<DraftHead>();
  return LoadHead(
      {.path = path, .context_size = target.info().context_size, .threads = options.threads},
      target);
}

}  // namespace

void AddModelOptions(CLI::App& command, ModelOptions* options) {
  command.add_option("--model", options->model,
                     "Target model, a GGUF file (default: the one that `make setup` made)");
  command.add_option("--head", options->head,
                     "EAGLE-3 head for the model, a GGUF file (default: the default model's own)");
  command.add_option("--threads", options->threads, "Threads (default: physical cores)")
      ->check(CLI::Range(0, 1024));
  command.add_option("--context", options->context, "Context size in tokens")
      ->check(CLI::Range(256, 1 << 20))
      ->capture_default_str();
}

void AddDecodeOptions(CLI::App& command, DecodeOptions* options) {
  command
      .add_option("--preset", options->preset,
                  "How much to draft: auto (what pays on this machine) or paper (fixed)")
      ->check(CLI::IsMember({"auto", "paper"}))
      ->capture_default_str();
  command.add_option("--seed", options->seed, "Seed for temperature > 0")->capture_default_str();
  command
      .add_option("--temperature", options->temperature,
                  "Temperature; 0 is greedy. A request's own comes first")
      ->check(CLI::Range(0.0, 2.0))
      ->capture_default_str();
  command
      .add_option("--top-k", options->top_k,
                  "Sample from the N likeliest tokens; 0: all. A request's own comes first")
      ->check(CLI::Range(0, 1 << 20))
      ->capture_default_str();
  command
      .add_option("--top-p", options->top_p,
                  "Sample from the likeliest tokens that sum to P; 1: all. A request's own comes "
                  "first")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--min-p", options->min_p,
                  "Sample from tokens with P times the likeliest one's chance; 0: all. A request's "
                  "own comes first")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  command
      .add_option("--max-tokens", options->max_tokens,
                  "Cut an answer after N tokens. A request's own limit comes first")
      ->check(CLI::Range(1, 1 << 20))
      ->capture_default_str();
  command.add_flag("--hybrid-prefill", options->hybrid_prefill,
                   "Run the prompt's last rows in one forward with the first draft. For devices "
                   "where a forward costs more than its rows; gives up the promise of equal bits");
}

Result<GenerateOptions> ToGenerateOptions(const DecodeOptions& options) {
  const Result<Preset> preset = ParsePreset(options.preset);
  if (!preset) return preset.error();
  GenerateOptions generate;
  generate.preset = *preset;
  generate.sampling.seed = options.seed;
  generate.sampling.temperature = options.temperature;
  generate.sampling.top_k = options.top_k;
  generate.sampling.top_p = options.top_p;
  generate.sampling.min_p = options.min_p;
  generate.max_tokens = options.max_tokens;
  generate.hybrid_prefill = options.hybrid_prefill;
  return generate;
}

std::string ModelPath(const ModelOptions& options) {
  if (!options.model.empty()) return options.model;
  return (AssetsFolder() / "models" / "default.gguf").string();
}

std::string HeadPath(const ModelOptions& options) {
  if (!options.head.empty() || !options.model.empty()) return options.head;
  const fs::path own = AssetsFolder() / "models" / "default-head.gguf";
  return fs::exists(own) ? own.string() : std::string();
}

Result<Json> SettingsJson(const ModelOptions& model, const DecodeOptions& decode) {
  const Result<std::string> model_hash = HashFile(ModelPath(model));
  if (!model_hash) return model_hash.error();
  Result<std::string> head_hash = std::string();
  if (const std::string head = HeadPath(model); !head.empty()) head_hash = HashFile(head);
  if (!head_hash) return head_hash.error();
  Json settings = {{"model_hash", *model_hash},
                   {"head_hash", *head_hash},
                   {"preset", decode.preset},
                   {"max_tokens", decode.max_tokens},
                   {"hybrid_prefill", decode.hybrid_prefill},
                   {"seed", decode.seed},
                   {"temperature", decode.temperature},
                   {"threads", model.threads},
                   {"context", model.context}};
  // Greedy decoding has nothing to cut, so files of greedy runs don't depend on these.
  if (decode.temperature > 0) {
    settings.update({{"top_k", decode.top_k}, {"top_p", decode.top_p}, {"min_p", decode.min_p}});
  }
  return settings;
}

Result<LoadedTarget> LoadTargetFor(const ModelOptions& options, bool measure_cost) {
  const std::string path = ModelPath(options);
  if (options.model.empty() && !fs::exists(path)) {
    return BadInput(
        fmt::format("no default model at {}: run `make setup`, or give --model FILE.gguf", path));
  }
  ProgressBar bar("loading model");
  Result<std::unique_ptr<TargetModel>> model =
      LoadTarget({.path = path,
                  .context_size = options.context,
                  .threads = options.threads,
                  .log =
                      [](LogLevel level, std::string_view line) {
                        if (level == LogLevel::kWarning) fmt::print(stderr, "warning: {}\n", line);
                      },
                  .progress = [&](std::string_view, double done) { bar.Show(done); }});
  bar.Clear();
  if (!model) return model.error();
  LoadedTarget loaded{.model = std::move(*model), .head = nullptr, .cost = {}};
  Result<std::unique_ptr<DraftHead>> head = LoadHeadFor(options, *loaded.model);
  if (!head) return head.error();
  loaded.head = std::move(*head);
  if (!measure_cost) return loaded;
  const fs::path file = CostFile(loaded.model->info(), options, path);
  if (const std::optional<CostCurve> kept = ReadCost(file)) {
    loaded.cost = *kept;
  } else {
    const MeasuredCost measured = MeasureCost(*loaded.model);
    loaded.cost = measured.curve;
    if (measured.steady) WriteCost(file, loaded.cost);
  }
  return loaded;
}

int Report(const Error& error) {
  fmt::print(stderr, "error: {}\n", error.message);
  return kExitBadInput;
}

}  // namespace schemafill
