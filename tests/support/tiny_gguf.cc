#include "support/tiny_gguf.h"

#include <ggml.h>
#include <gguf.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <random>
#include <stdexcept>

namespace schemafill::testing {
namespace {

struct Deleter {
  void operator()(gguf_context* file) const { gguf_free(file); }
  void operator()(ggml_context* tensors) const { ggml_free(tensors); }
};
using GgufPtr = std::unique_ptr<gguf_context, Deleter>;

ggml_type TypeByName(const std::string& name) {
  for (int i = 0; i < GGML_TYPE_COUNT; ++i) {
    const auto type = static_cast<ggml_type>(i);
    std::string known = ggml_type_name(type) != nullptr ? ggml_type_name(type) : "";
    std::transform(known.begin(), known.end(), known.begin(),
                   [](unsigned char c) { return std::toupper(c); });
    if (known == name) return type;
  }
  throw std::runtime_error("no weight type " + name);
}

std::string Utf8(int code_point) {
  if (code_point < 0x80) return std::string(1, static_cast<char>(code_point));
  std::string text;
  text += static_cast<char>(0xc0 | code_point >> 6);
  text += static_cast<char>(0x80 | (code_point & 0x3f));
  return text;
}

// GPT-2's printable stand-in for a byte.
std::string ByteSymbol(int byte) {
  const auto is_printable = [](int b) {
    return (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
  };
  if (is_printable(byte)) return Utf8(byte);
  int rank = 0;
  for (int b = 0; b < byte; ++b) rank += is_printable(b) ? 0 : 1;
  return Utf8(256 + rank);
}

constexpr int kNormal = 1;
constexpr int kUnknown = 2;
constexpr int kControl = 3;
constexpr int kByte = 6;

// A file under construction: metadata, and tensors that it fills with random numbers.
class Writer {
 public:
  explicit Writer(uint32_t seed)
      : file_(gguf_init_empty()),
        tensors_(
            ggml_init({.mem_size = size_t{64} << 20, .mem_buffer = nullptr, .no_alloc = false})),
        random_(seed) {}

  gguf_context* file() { return file_.get(); }

  void Text(const std::string& key, const std::string& value) {
    gguf_set_val_str(file(), key.c_str(), value.c_str());
  }
  void Number(const std::string& key, uint32_t value) {
    gguf_set_val_u32(file(), key.c_str(), value);
  }
  void Fraction(const std::string& key, float value) {
    gguf_set_val_f32(file(), key.c_str(), value);
  }

  void Texts(const std::string& key, const std::vector<std::string>& values) {
    std::vector<const char*> pointers;
    for (const std::string& value : values) pointers.push_back(value.c_str());
    gguf_set_arr_str(file(), key.c_str(), pointers.data(), pointers.size());
  }

  void Ones(const std::string& name, int64_t size) {
    ggml_tensor* tensor = ggml_new_tensor_1d(tensors_.get(), GGML_TYPE_F32, size);
    std::fill_n(static_cast<float*>(tensor->data), size, 1.0f);
    Add(name, tensor);
  }

  // Random, scaled so that a product keeps the size of its input; `copies` of it one behind the
  // other.
  void Matrix(const std::string& name, int64_t inputs, int64_t outputs, ggml_type type,
              int64_t copies = 1) {
    const int64_t rows = outputs * copies;
    std::vector<float> values(inputs * rows);
    std::normal_distribution<float> normal(0.0f, 1.0f / std::sqrt(static_cast<float>(inputs)));
    for (float& value : values) value = normal(random_);
    ggml_tensor* tensor = ggml_new_tensor_3d(tensors_.get(), type, inputs, outputs, copies);
    ggml_quantize_chunk(type, values.data(), tensor->data, 0, rows, inputs, nullptr);
    Add(name, tensor);
  }

  void Bias(const std::string& name, int64_t size) {
    ggml_tensor* tensor = ggml_new_tensor_1d(tensors_.get(), GGML_TYPE_F32, size);
    std::normal_distribution<float> normal(0.0f, 0.1f);
    std::generate_n(static_cast<float*>(tensor->data), size, [&] { return normal(random_); });
    Add(name, tensor);
  }

  void Map(const std::string& name, int64_t first, int64_t size) {
    ggml_tensor* tensor = ggml_new_tensor_1d(tensors_.get(), GGML_TYPE_I64, size);
    for (int64_t i = 0; i < size; ++i) static_cast<int64_t*>(tensor->data)[i] = first + i;
    Add(name, tensor);
  }

  void Save(const std::string& path) {
    if (!gguf_write_to_file(file(), path.c_str(), /*only_meta=*/false)) {
      throw std::runtime_error("can't write " + path);
    }
  }

 private:
  void Add(const std::string& name, ggml_tensor* tensor) {
    ggml_set_name(tensor, name.c_str());
    gguf_add_tensor(file(), tensor);
  }

  GgufPtr file_;
  std::unique_ptr<ggml_context, Deleter> tensors_;
  std::mt19937 random_;
};

// Returns the number of tokens.
int WriteVocabulary(Writer& writer, const std::string& model,
                    const std::vector<std::string>& tokens, const std::vector<int32_t>& types,
                    int begin, int end) {
  writer.Text("tokenizer.ggml.model", model);
  writer.Texts("tokenizer.ggml.tokens", tokens);
  gguf_set_arr_data(writer.file(), "tokenizer.ggml.token_type", GGUF_TYPE_INT32, types.data(),
                    types.size());
  writer.Number("tokenizer.ggml.bos_token_id", begin);
  writer.Number("tokenizer.ggml.eos_token_id", end);
  return static_cast<int>(tokens.size());
}

int WriteBytePairs(Writer& writer, bool repeat_token) {
  std::vector<std::string> tokens = {"<|endoftext|>", "<|im_start|>", "<|im_end|>"};
  std::vector<int32_t> types(tokens.size(), kControl);
  for (int byte = 0; byte < 256; ++byte) tokens.push_back(ByteSymbol(byte));
  const std::string space = ByteSymbol(' ');
  const std::vector<std::string> merges = {"t h",  "th e",  space + " the", "u s",
                                           "us e", "use r", "{ \"",         "\" :"};
  for (const std::string& merge : merges) {
    std::string token = merge;
    token.erase(token.find(' ', 1), 1);
    tokens.push_back(token);
  }
  if (repeat_token) tokens.back() = tokens[tokens.size() - 2];
  types.resize(tokens.size(), kNormal);
  writer.Text("tokenizer.ggml.pre", "gpt-2");
  writer.Texts("tokenizer.ggml.merges", merges);
  return WriteVocabulary(writer, "gpt2", tokens, types, /*begin=*/1, /*end=*/2);
}

int WriteSentencePieces(Writer& writer) {
  std::vector<std::string> tokens = {"<unk>", "<s>", "</s>"};
  std::vector<int32_t> types = {kUnknown, kControl, kControl};
  std::vector<float> scores = {0, 0, 0};
  for (int byte = 0; byte < 256; ++byte) {
    char name[8];
    std::snprintf(name, sizeof(name), "<0x%02X>", byte);
    tokens.emplace_back(name);
    types.push_back(kByte);
    scores.push_back(0);
  }
  const std::string space = "\xe2\x96\x81";
  std::vector<std::string> pieces = {space, space + "t", "he", space + "the", space + "{",
                                     "{\"", "na",        "me", "name"};
  for (char c = '!'; c <= '~'; ++c) pieces.emplace_back(1, c);
  for (const std::string& piece : pieces) {
    tokens.push_back(piece);
    types.push_back(kNormal);
    scores.push_back(piece.size() > 3 ? -static_cast<float>(scores.size())
                                      : -1000.0f - static_cast<float>(scores.size()));
  }
  gguf_set_arr_data(writer.file(), "tokenizer.ggml.scores", GGUF_TYPE_FLOAT32, scores.data(),
                    scores.size());
  writer.Number("tokenizer.ggml.unknown_token_id", 0);
  return WriteVocabulary(writer, "llama", tokens, types, /*begin=*/1, /*end=*/2);
}

struct LayerSizes {
  int embedding, heads, kv_heads, feed_forward, experts;
  int head() const { return embedding / heads; }
};

void WriteSizes(Writer& writer, const std::string& architecture, int layers, int context,
                const LayerSizes& sizes) {
  const std::string prefix = architecture + ".";
  writer.Number(prefix + "block_count", layers);
  writer.Number(prefix + "context_length", context);
  writer.Number(prefix + "embedding_length", sizes.embedding);
  writer.Number(prefix + "feed_forward_length", sizes.feed_forward);
  writer.Number(prefix + "attention.head_count", sizes.heads);
  writer.Number(prefix + "attention.head_count_kv", sizes.kv_heads);
  writer.Number(prefix + "rope.dimension_count", sizes.head());
  if (sizes.experts > 0) {
    writer.Number(prefix + "expert_count", sizes.experts);
    writer.Number(prefix + "expert_used_count", 2);
  }
  writer.Fraction(prefix + "attention.layer_norm_rms_epsilon", 1e-5f);
  writer.Fraction(prefix + "rope.freq_base", 10000.0f);
}

// A decoder layer; `inputs` is the width of what attention reads.
void WriteLayer(Writer& writer, const std::string& prefix, const LayerSizes& sizes, int inputs,
                ggml_type type) {
  const int key_width = sizes.head() * sizes.kv_heads;
  writer.Ones(prefix + "attn_norm.weight", sizes.embedding);
  writer.Matrix(prefix + "attn_q.weight", inputs, sizes.embedding, type);
  writer.Matrix(prefix + "attn_k.weight", inputs, key_width, type);
  writer.Matrix(prefix + "attn_v.weight", inputs, key_width, type);
  writer.Matrix(prefix + "attn_output.weight", sizes.embedding, sizes.embedding, type);
  const std::string kind = sizes.experts > 0 ? "_exps.weight" : ".weight";
  const int copies = std::max(sizes.experts, 1);
  if (sizes.experts > 0)
    writer.Matrix(prefix + "ffn_gate_inp.weight", sizes.embedding, sizes.experts, GGML_TYPE_F32);
  writer.Matrix(prefix + "ffn_gate" + kind, sizes.embedding, sizes.feed_forward, type, copies);
  writer.Matrix(prefix + "ffn_up" + kind, sizes.embedding, sizes.feed_forward, type, copies);
  writer.Matrix(prefix + "ffn_down" + kind, sizes.feed_forward, sizes.embedding, type, copies);
}

void WriteTensors(Writer& writer, const TinyModelOptions& options, int vocabulary) {
  const LayerSizes sizes{options.embedding, options.heads, options.kv_heads, options.feed_forward,
                         options.experts};
  const ggml_type type = TypeByName(options.weights);
  writer.Matrix("token_embd.weight", options.embedding, vocabulary, type);
  writer.Ones("output_norm.weight", options.embedding);
  if (!options.tied_output) writer.Matrix("output.weight", options.embedding, vocabulary, type);
  for (int layer = 0; layer < options.layers; ++layer) {
    const std::string prefix = "blk." + std::to_string(layer) + ".";
    WriteLayer(writer, prefix, sizes, options.embedding, type);
    if (options.architecture != "cohere2")
      writer.Ones(prefix + "ffn_norm.weight", options.embedding);
    if (options.architecture == "qwen2") {
      writer.Bias(prefix + "attn_q.bias", options.embedding);
      writer.Bias(prefix + "attn_k.bias", sizes.head() * options.kv_heads);
      writer.Bias(prefix + "attn_v.bias", sizes.head() * options.kv_heads);
    } else if (options.architecture == "qwen3") {
      writer.Ones(prefix + "attn_q_norm.weight", sizes.head());
      writer.Ones(prefix + "attn_k_norm.weight", sizes.head());
    }
  }
}

}  // namespace

void WriteTinyModel(const std::string& path, const TinyModelOptions& options) {
  Writer writer(options.seed);
  writer.Text("general.type", "model");
  writer.Text("general.architecture", options.architecture);
  writer.Text("general.name", "tiny " + options.architecture);
  WriteSizes(
      writer, options.architecture, options.layers, options.context,
      {options.embedding, options.heads, options.kv_heads, options.feed_forward, options.experts});
  const int vocabulary = options.vocabulary == TinyVocabulary::kBytePairs
                             ? WriteBytePairs(writer, options.repeat_token)
                             : WriteSentencePieces(writer);
  if (!options.chat_template.empty()) writer.Text("tokenizer.chat_template", options.chat_template);
  for (const auto& [key, value] : options.texts) writer.Text(key, value);
  for (const auto& [key, value] : options.numbers) writer.Number(key, value);
  for (const auto& [key, value] : options.fractions) writer.Fraction(key, value);
  for (const auto& [key, value] : options.flags)
    gguf_set_val_bool(writer.file(), key.c_str(), value);
  for (const std::string& key : options.without) gguf_remove_key(writer.file(), key.c_str());
  const std::string& name = options.architecture;
  if (name == "llama" || name == "qwen2" || name == "qwen3" || name == "cohere2")
    WriteTensors(writer, options, vocabulary);
  writer.Save(path);
}

void WriteTinyHead(const std::string& path, const std::string& target,
                   const TinyHeadOptions& options) {
  Writer writer(options.seed);
  const GgufPtr source(gguf_init_from_file(target.c_str(), {.no_alloc = true, .ctx = nullptr}));
  if (source == nullptr) throw std::runtime_error("can't read " + target);
  gguf_set_kv(writer.file(), source.get());
  for (int64_t i = gguf_get_n_kv(source.get()) - 1; i >= 0; --i) {
    const std::string key = gguf_get_key(source.get(), i);
    if (key.rfind("tokenizer.", 0) != 0) gguf_remove_key(writer.file(), key.c_str());
  }
  const auto vocabulary = static_cast<int>(
      gguf_get_arr_n(source.get(), gguf_find_key(source.get(), "tokenizer.ggml.tokens")));
  writer.Text("general.architecture", "eagle3");
  const LayerSizes sizes{options.embedding, options.heads, options.kv_heads, options.feed_forward,
                         /*experts=*/0};
  WriteSizes(writer, "eagle3", /*layers=*/1, /*context=*/4096, sizes);
  writer.Number("eagle3.vocab_size", vocabulary);
  writer.Number("eagle3.target_hidden_size", options.target_hidden);
  gguf_set_arr_data(writer.file(), "eagle3.target_layers", GGUF_TYPE_INT32,
                    options.target_layers.data(), options.target_layers.size());
  writer.Matrix("fc.weight", int64_t{3} * options.target_hidden, options.embedding, GGML_TYPE_F32);
  writer.Ones("output_norm.weight", options.embedding);
  const int outputs = options.draft_vocabulary > 0 ? options.draft_vocabulary : vocabulary;
  if (options.own_output) writer.Matrix("output.weight", options.embedding, outputs, GGML_TYPE_F32);
  if (options.own_embedding)
    writer.Matrix("token_embd.weight", options.embedding, vocabulary, GGML_TYPE_F32);
  if (options.draft_vocabulary > 0) writer.Map("d2t", options.first_target_token, outputs);
  WriteLayer(writer, "blk.0.", sizes, 2 * options.embedding, GGML_TYPE_F32);
  writer.Ones("blk.0.attn_norm_2.weight", options.embedding);
  writer.Ones("blk.0.ffn_norm.weight", options.embedding);
  writer.Save(path);
}

}  // namespace schemafill::testing
