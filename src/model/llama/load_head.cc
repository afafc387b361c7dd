// Loading a head: everything that libllama takes for granted about a head and its target is checked
// before it sees them. Tested by tests/model/llama_head_test.cc.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "base/check.h"
#include "model/llama/gguf_file.h"
#include "model/llama/gguf_header.h"
#include "model/llama/llama_head.h"
#include "model/llama/llama_internal.h"
#include "model/llama/llama_model.h"
#include "model/llama/llama_target.h"
#include "model/llama/runtime.h"
#include "model/llama/settings.h"

namespace schemafill {
namespace {

// The output of every row of a step takes a full vocabulary twice over in libllama's buffers.
constexpr int kMaxRows = 128;

class HeadLoader {
 public:
  HeadLoader(const LoadOptions& options, const LlamaTarget& target)
      : options_(options), target_(target), log_(options.log) {}

  Result<std::unique_ptr<DraftHead>> Load() {
    auto header = GgufHeader::Read("head", options_.path);
    if (!header) return header.error();
    if (Status status = CheckKind(*header); !status) return status.error();
    prompt_rows_ = static_cast<int>(header->Integer("schemafill.prompt_rows").value_or(0));
    if (Status status = CheckShapes(*header); !status) return status.error();
    if (Status status = CheckMap(*header); !status) return status.error();
    if (Status status = LoadModel(); !status) return status.error();
    if (Status status = CheckVocabulary(); !status) return status.error();
    if (Status status = MakeContext(); !status) return status.error();
    HeadInfo info;
    for (const int64_t layer : layers_) info.target_layers.push_back(static_cast<int>(layer));
    info.target_embedding_size = target_.info().embedding_size;
    info.embedding_size = llama_model_n_embd(model_.get());
    info.prompt_rows = std::max(0, prompt_rows_);
    info.max_rows = static_cast<int>(llama_n_ubatch(context_.get()));
    info.max_sequences = target_.info().max_sequences;
    return std::unique_ptr<DraftHead>(std::make_unique<LlamaHead>(
        LlamaHead::Parts{std::move(model_), std::move(context_), std::move(info),
                         target_.info().vocab_size, options_.log}));
  }

 private:
  Status CheckKind(const GgufHeader& header) const {
    const std::string architecture = header.architecture();
    if (architecture != "eagle3") {
      return BadInput(fmt::format(
          "'{}' is of architecture '{}', not an EAGLE-3 head ('eagle3'); train one with "
          "`schemafill train-head`",
          options_.path, architecture));
    }
    if (!target_.has_features()) {
      return Unavailable(fmt::format(
          "libllama gives no hidden states of the target's architecture '{}', which a head "
          "needs; run without --head",
          target_.info().architecture));
    }
    return CheckValues(header, options_.path);
  }

  Error Misfit(const std::string& what) const {
    return BadInput(fmt::format(
        "head '{}' doesn't fit its target: {}; use the head that was trained for this model",
        options_.path, what));
  }

  Error Broken(const std::string& what) const {
    return BadInput(
        fmt::format("head '{}' is broken: {}; train or convert it again", options_.path, what));
  }

  Status CheckShapes(const GgufHeader& header) {
    const ModelInfo& target = target_.info();
    const int64_t hidden = header.Size("target_hidden_size").value_or(0);
    if (hidden != target.embedding_size) {
      return Misfit(fmt::format("it reads hidden states of {} numbers, the target's have {}",
                                hidden, target.embedding_size));
    }
    layers_ = header.Sizes("target_layers");
    if (layers_.size() != 3)
      return Broken(fmt::format("it names {} target layers, not 3", layers_.size()));
    for (const int64_t layer : layers_) {
      if (layer >= 0 && layer < target.layers) continue;
      return Misfit(fmt::format("it reads layers {}, the target has layers 0 to {}",
                                fmt::join(layers_, ", "), target.layers - 1));
    }
    const int64_t vocabulary = header.ArraySize("tokenizer.ggml.tokens");
    if (vocabulary != target.vocab_size) {
      return Misfit(fmt::format("its vocabulary has {} tokens, the target's {}", vocabulary,
                                target.vocab_size));
    }
    if (header.Size("block_count") != 1) return Broken("it has more than one layer");
    if (header.Size("attention.key_length") != header.Size("attention.value_length")) {
      return Broken("its keys and values are of different length");
    }
    const int64_t embedding = header.Size("embedding_length").value_or(0);
    const bool borrows = header.FindTensor("token_embd.weight") == nullptr ||
                         header.FindTensor("output.weight") == nullptr;
    if (borrows && embedding != target.embedding_size) {
      return Misfit(fmt::format("it borrows the target's embeddings of {} numbers, its own have {}",
                                target.embedding_size, embedding));
    }
    return {};
  }

  // The map from draft tokens to target tokens: libllama writes through it unchecked.
  Status CheckMap(const GgufHeader& header) const {
    const GgufTensor* map = header.FindTensor("d2t");
    if (map == nullptr) return {};
    if (map->type != GGML_TYPE_I64) return Broken("its token map d2t is not of 64-bit integers");
    const GgufTensor* output = header.FindTensor("output.weight");
    const int64_t outputs = output != nullptr ? output->shape[1] : target_.info().vocab_size;
    if (map->shape[0] != outputs) {
      return Broken(
          fmt::format("its token map d2t has {} entries for {} outputs", map->shape[0], outputs));
    }
    const Result<std::vector<int64_t>> tokens = ReadIntegers(header, options_.path, "d2t");
    if (!tokens) return Broken("its token map d2t can't be read");
    for (const int64_t token : *tokens) {
      if (token >= 0 && token < target_.info().vocab_size) continue;
      return Broken(fmt::format("its token map d2t has token {}, the vocabulary {} tokens", token,
                                target_.info().vocab_size));
    }
    return {};
  }

  Error Failure(const std::string& what) const {
    const std::string detail = log_.error().empty() ? "" : " (" + log_.error() + ")";
    return Unavailable(
        fmt::format("head '{}' {}{}; train or convert it again", options_.path, what, detail));
  }

  Status LoadModel() {
    llama_model_params params = llama_model_default_params();
    params.progress_callback_user_data = const_cast<ProgressSink*>(&options_.progress);
    params.progress_callback = [](float done, void* data) {
      const auto& progress = *static_cast<const ProgressSink*>(data);
      if (progress) progress("loading head", done);
      return true;
    };
    model_.reset(llama_model_load_from_file(options_.path.c_str(), params));
    if (model_ == nullptr) return Failure("can't be loaded");
    return {};
  }

  Status CheckVocabulary() const {
    const llama_vocab* own = llama_model_get_vocab(model_.get());
    const llama_vocab* targets = llama_model_get_vocab(target_.model());
    for (llama_token token = 0; token < target_.info().vocab_size; ++token) {
      const char* own_text = llama_vocab_get_text(own, token);
      const char* text = llama_vocab_get_text(targets, token);
      if (std::strcmp(own_text, text) == 0) continue;
      return Misfit(fmt::format("its token {} is '{}', the target's '{}'", token, own_text, text));
    }
    return {};
  }

  Status MakeContext() {
    llama_context_params params = llama_context_default_params();
    params.n_ctx = llama_n_ctx(target_.context());
    params.n_batch = params.n_ubatch = kMaxRows;
    params.n_seq_max = target_.info().max_sequences + 1;  // one without cells, for fusion
    params.n_threads = params.n_threads_batch = llama_n_threads(target_.context());
    params.flash_attn_type = LLAMA_FLASH_ATTN_TYPE_ENABLED;
    params.kv_unified = true;
    params.no_perf = true;
    params.ctx_other = target_.context();
    context_.reset(llama_init_from_model(model_.get(), params));
    if (context_ == nullptr) return Failure("gets no context");
    return {};
  }

  const LoadOptions& options_;
  const LlamaTarget& target_;
  LogScope log_;
  std::vector<int64_t> layers_;
  int prompt_rows_ = 0;
  LlamaModelPtr model_;
  LlamaContextPtr context_;
};

}  // namespace

Result<std::unique_ptr<DraftHead>> LoadHead(const LoadOptions& options, TargetModel& target) {
  const auto* llama_target = dynamic_cast<const LlamaTarget*>(&target);
  Check(llama_target != nullptr, "LoadHead for a target that LoadTarget didn't load");
  return HeadLoader(options, *llama_target).Load();
}

}  // namespace schemafill
