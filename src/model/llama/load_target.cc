// Loading a target: look at the file, choose settings, load, look at the model, make a context,
// test it. Tested by tests/model/load_errors_test.cc and tests/model/llama_model_test.cc.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "model/llama/gguf_header.h"
#include "model/llama/llama_model.h"
#include "model/llama/llama_target.h"
#include "model/llama/runtime.h"
#include "model/llama/self_test.h"
#include "model/llama/settings.h"

namespace schemafill {
namespace {

constexpr int kMinContext = 256;
constexpr int kMaxRows = 512;
// Every label that a forward mentions costs libllama a pass over pairs of labels, and each Share a
// pass over the cells; a tree for a CPU has fewer leaves than this.
constexpr int kMaxSequences = 64;

std::string Gibibytes(size_t bytes) {
  return fmt::format("{:.1f} GiB", static_cast<double>(bytes) / (1 << 30));
}

// GPUs (or machines lent over RPC, which count as such) that libllama puts layers on when there are
// any.
std::vector<ggml_backend_dev_t> Accelerators() {
  std::vector<ggml_backend_dev_t> devices;
  for (size_t i = 0; i < ggml_backend_dev_count(); ++i) {
    const ggml_backend_dev_t device = ggml_backend_dev_get(i);
    const auto type = ggml_backend_dev_type(device);
    if (type == GGML_BACKEND_DEVICE_TYPE_GPU || type == GGML_BACKEND_DEVICE_TYPE_IGPU)
      devices.push_back(device);
  }
  return devices;
}

std::string DeviceNames(const std::vector<ggml_backend_dev_t>& devices) {
  if (devices.empty()) return "CPU";
  std::string names;
  for (const ggml_backend_dev_t device : devices) {
    names += (names.empty() ? "" : ", ") + std::string(ggml_backend_dev_name(device));
  }
  return names;
}

size_t FreeMemory(const std::vector<ggml_backend_dev_t>& devices) {
  if (devices.empty()) return AvailableMemory();
  size_t sum = 0;
  for (const ggml_backend_dev_t device : devices) {
    size_t free = 0;
    size_t total = 0;
    ggml_backend_dev_memory(device, &free, &total);
    if (free == 0) return 0;  // it doesn't say
    sum += free;
  }
  return sum;
}

// One load, step by step. Each step needs those before it.
class TargetLoader {
 public:
  explicit TargetLoader(const LoadOptions& options) : options_(options), log_(options.log) {}

  Result<std::unique_ptr<LlamaTarget>> Load() {
    if (Status status = CheckOptions(); !status) return status.error();
    auto header = GgufHeader::Read("model", options_.path);
    if (!header) return header.error();
    if (Status status = CheckArchitecture(*header, options_.path); !status) return status.error();
    devices_ = Accelerators();
    settings_ = ChooseSettings(*header, !devices_.empty());
    ChooseContextSize(*header);
    if (Status status = CheckMemory(*header); !status) return status.error();
    if (Status status = LoadModel(); !status) return status.error();
    if (Status status = CheckModel(); !status) return status.error();
    if (Status status = MakeContext(); !status) return status.error();
    ModelInfo info = DescribeModel(*header);
    auto target = std::make_unique<LlamaTarget>(
        LlamaTarget::Parts{std::move(model_), std::move(context_), std::move(info), options_.log});
    const std::string& note = target->llama_tokenizer().template_note();
    if (!note.empty()) Warn(note);
    TestTarget(*target, header->weight_bytes());
    return target;
  }

 private:
  Status CheckOptions() {
    if (options_.context_size < kMinContext) {
      return BadInput(fmt::format("a context of {} cells is too small; give {} or more",
                                  options_.context_size, kMinContext));
    }
    if (options_.threads < 0 || options_.threads > GGML_MAX_N_THREADS) {
      return BadInput(fmt::format("{} threads; give 1 to {}, or 0 for the number of cores",
                                  options_.threads, GGML_MAX_N_THREADS));
    }
    threads_ = options_.threads > 0 ? options_.threads : PhysicalCores();
    return {};
  }

  void ChooseContextSize(const GgufHeader& header) {
    const int64_t trained = header.Size("context_length").value_or(0);
    context_size_ = options_.context_size;
    if (trained <= 0 || trained >= context_size_) return;
    context_size_ = static_cast<int>(trained);
    if (options_.log) {
      options_.log(LogLevel::kInfo,
                   fmt::format("'{}' was trained for {} positions; the context is cut to that",
                               options_.path, trained));
    }
  }

  Status CheckMemory(const GgufHeader& header) {
    const size_t free = FreeMemory(devices_);
    const size_t weights = header.weight_bytes();
    const size_t cells = CellBytes(header, settings_.cache_types[0]) * context_size_;
    // Mostly two buffers for the logits of the largest forward.
    const size_t work = 2 * sizeof(float) * kMaxRows * header.ArraySize("tokenizer.ggml.tokens");
    if (free == 0 || weights + cells + work <= free) return {};
    return Unavailable(
        fmt::format("'{}' needs {} of memory for its weights, {} for {} cells and {} to work in, "
                    "{} has {} free; use a smaller context, a "
                    "smaller quantisation or a smaller model",
                    options_.path, Gibibytes(weights), Gibibytes(cells), context_size_,
                    Gibibytes(work), DeviceNames(devices_), Gibibytes(free)));
  }

  Status LoadModel() {
    llama_model_params params = llama_model_default_params();
    params.use_extra_bufts = settings_.repack;
    params.progress_callback_user_data = const_cast<ProgressSink*>(&options_.progress);
    params.progress_callback = [](float done, void* data) {
      const auto& progress = *static_cast<const ProgressSink*>(data);
      if (progress) progress("loading model", done);
      return true;
    };
    model_.reset(llama_model_load_from_file(options_.path.c_str(), params));
    if (model_ == nullptr)
      return Failure("can't be loaded", "convert it with a fitting version of llama.cpp");
    return {};
  }

  void Warn(const std::string& note) const {
    if (options_.log)
      options_.log(LogLevel::kWarning, fmt::format("'{}': {}", options_.path, note));
  }

  Error Failure(const std::string& what, const std::string& remedy) const {
    const std::string detail = log_.error().empty() ? "" : " (" + log_.error() + ")";
    return Unavailable(fmt::format("'{}' {}{}; {}", options_.path, what, detail, remedy));
  }

  // What the header didn't tell.
  Status CheckModel() const {
    const llama_model* model = model_.get();
    if (llama_model_is_recurrent(model) || llama_model_is_hybrid(model)) {
      return Failure("has a recurrent memory, which can't take a rejected draft back",
                     "use a model with attention in every layer");
    }
    if (llama_model_has_encoder(model) || !llama_model_has_decoder(model) ||
        llama_model_is_diffusion(model)) {
      return Failure("doesn't write text from left to right", "use a decoder-only model");
    }
    // Its cells are reused while the request runs, so neither their order nor the prompt's cells
    // last.
    if (llama_model_n_swa(model) > 0) {
      return Failure("has sliding-window attention, whose cells don't stay in place",
                     "use a model with full attention in every layer");
    }
    if (llama_vocab_type(llama_model_get_vocab(model)) == LLAMA_VOCAB_TYPE_NONE) {
      return Failure("has no vocabulary", "convert the model again");
    }
    return {};
  }

  Status MakeContext() {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = context_size_;
    params.n_batch = params.n_ubatch = kMaxRows;
    params.n_seq_max = kMaxSequences + 1;  // one for companion rows
    params.n_threads = params.n_threads_batch = threads_;
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    params.kv_unified = true;
    params.no_perf = true;
    for (const CacheTypes& types : settings_.cache_types) {
      params.type_k = types.k;
      params.type_v = types.v;
      context_.reset(llama_init_from_model(model_.get(), params));
      if (context_ == nullptr) continue;
      types_ = types;
      if (types.k != settings_.cache_types[0].k || types.v != settings_.cache_types[0].v) {
        Warn(fmt::format("libllama refuses the usual cache types; using K {}, V {}",
                         ggml_type_name(types.k), ggml_type_name(types.v)));
      }
      return {};
    }
    return Failure("gets no context", "use a smaller context, or another model");
  }

  ModelInfo DescribeModel(const GgufHeader& header) const {
    const llama_model* model = model_.get();
    ModelInfo info;
    info.name = header.Text("general.name");
    info.architecture = header.architecture();
    info.weights = llama_ftype_name(llama_model_ftype(model));
    if (info.weights.rfind("(guessed) ", 0) == 0) info.weights.erase(0, 10);
    info.device = DeviceNames(devices_);
    info.vocab_size = llama_vocab_n_tokens(llama_model_get_vocab(model));
    info.embedding_size = llama_model_n_embd(model);
    info.layers = llama_model_n_layer(model);
    info.context_size = static_cast<int>(llama_n_ctx(context_.get())) - (settings_.min_rows - 1);
    info.max_rows = static_cast<int>(llama_n_ubatch(context_.get())) - (settings_.min_rows - 1);
    info.min_rows = settings_.min_rows;
    info.threads = threads_;
    info.max_sequences = kMaxSequences;
    info.cell_bytes = CellBytes(header, types_);
    return info;
  }

  // Asks the model itself. Where one row is rounded otherwise than several although the rules
  // didn't say so (kernels that they don't know), forwards of 2 or 4 rows and more are tried.
  void TestTarget(LlamaTarget& target, size_t weight_bytes) const {
    SelfTestSize size;
    if (weight_bytes > size_t{1} << 30) size = {.prompt = 8, .path = 3};
    // Attention over few cells may be exact where it isn't over many, and a GPU can afford them.
    if (!devices_.empty()) size.prompt = 600;
    SelfTestResult result = RunSelfTest(target, size);
    for (int rows = 2; !result.equal && devices_.empty() && rows <= 4; rows *= 2) {
      if (rows <= settings_.min_rows) continue;
      target.SetMinRows(rows);
      result = RunSelfTest(target, size);
    }
    if (!result.equal) target.SetMinRows(settings_.min_rows);
    std::string reason =
        fmt::format("self-test: {} ({}, K {}, V {})", result.summary, target.info().device,
                    ggml_type_name(types_.k), ggml_type_name(types_.v));
    // The CPU then changes its way of adding from 512 cells on, beyond what was tested.
    const bool changes_later = devices_.empty() && types_.k == GGML_TYPE_F16;
    if (changes_later) reason += "; not exact with an F16 key cache beyond 512 cells";
    target.SetGuarantee(
        result.equal && !changes_later ? Guarantee::kBitExact : Guarantee::kMeasured,
        std::move(reason));
  }

  const LoadOptions& options_;
  LogScope log_;
  int threads_ = 1;
  int context_size_ = 0;
  TargetSettings settings_;
  CacheTypes types_;
  std::vector<ggml_backend_dev_t> devices_;
  LlamaModelPtr model_;
  LlamaContextPtr context_;
};

}  // namespace

Result<std::unique_ptr<TargetModel>> LoadTarget(const LoadOptions& options) {
  InitRuntime();
  auto target = TargetLoader(options).Load();
  if (!target) return target.error();
  return std::unique_ptr<TargetModel>(std::move(target.value()));
}

}  // namespace schemafill
