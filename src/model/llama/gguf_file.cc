#include "model/llama/gguf_file.h"

#include <fmt/format.h>
#include <ggml.h>
#include <gguf.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <system_error>

namespace schemafill {
namespace {

namespace fs = std::filesystem;

int64_t Product(const std::vector<int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies<>());
}

std::string SystemError() { return std::error_code(errno, std::generic_category()).message(); }

Error Lacks(const std::string& path, const std::string& name) {
  return BadInput(fmt::format("'{}' has no tensor {}", path, name));
}

Error CantBeRead(const std::string& path, const std::string& name) {
  return BadInput(fmt::format("'{}': tensor {} can't be read", path, name));
}

// Fills `bytes`, which has room for tensor.bytes.
bool ReadBytes(const std::string& path, const GgufTensor& tensor, void* bytes) {
  std::ifstream file(path, std::ios::binary);
  file.seekg(static_cast<std::streamoff>(tensor.offset));
  file.read(static_cast<char*>(bytes), static_cast<std::streamsize>(tensor.bytes));
  return static_cast<bool>(file);
}

}  // namespace

Result<std::vector<int64_t>> ReadIntegers(const GgufHeader& header, const std::string& path,
                                          const std::string& name) {
  const GgufTensor* tensor = header.FindTensor(name);
  if (tensor == nullptr) return Lacks(path, name);
  if (tensor->type != GGML_TYPE_I64) {
    return BadInput(fmt::format("'{}': tensor {} is of type {}, not of 64-bit integers", path, name,
                                ggml_type_name(tensor->type)));
  }
  std::vector<int64_t> values(tensor->bytes / sizeof(int64_t));
  if (!ReadBytes(path, *tensor, values.data())) return CantBeRead(path, name);
  return values;
}

Result<Weights> ReadWeights(const GgufHeader& header, const std::string& path,
                            const std::string& name) {
  const GgufTensor* tensor = header.FindTensor(name);
  if (tensor == nullptr) return Lacks(path, name);
  const ggml_type_traits* traits = ggml_get_type_traits(tensor->type);
  if (tensor->type != GGML_TYPE_F32 && traits->to_float == nullptr) {
    return BadInput(fmt::format("'{}': tensor {} is of type {}, which can't be turned into floats",
                                path, name, ggml_type_name(tensor->type)));
  }
  std::vector<char> bytes(tensor->bytes);
  if (!ReadBytes(path, *tensor, bytes.data())) return CantBeRead(path, name);
  Weights weights;
  int dimensions = GGML_MAX_DIMS;
  while (dimensions > 1 && tensor->shape[dimensions - 1] == 1) --dimensions;
  weights.shape.assign(tensor->shape.begin(), tensor->shape.begin() + dimensions);
  std::ranges::reverse(weights.shape);
  weights.values.resize(Product(weights.shape));
  if (tensor->type == GGML_TYPE_F32) {
    std::memcpy(weights.values.data(), bytes.data(), bytes.size());
  } else {
    traits->to_float(bytes.data(), weights.values.data(),
                     static_cast<int64_t>(weights.values.size()));
  }
  return weights;
}

struct GgufWriter::Impl {
  // Descriptions of the tensors; their data lie in `data`.
  struct ContextDeleter {
    void operator()(ggml_context* context) const { ggml_free(context); }
  };
  std::unique_ptr<gguf_context, LlamaDeleter> file{gguf_init_empty()};
  std::vector<std::unique_ptr<ggml_context, ContextDeleter>> descriptions;
  std::vector<std::unique_ptr<char[]>> data;

  // Room for a tensor's bytes in the file's own type.
  char* Add(const std::string& name, ggml_type type, const std::vector<int64_t>& shape) {
    std::unique_ptr<ggml_context, ContextDeleter> context(ggml_init(
        {.mem_size = ggml_tensor_overhead() + 64, .mem_buffer = nullptr, .no_alloc = true}));
    std::vector<int64_t> fastest_first(shape.rbegin(), shape.rend());
    ggml_tensor* tensor =
        ggml_new_tensor(context.get(), type, static_cast<int>(shape.size()), fastest_first.data());
    ggml_set_name(tensor, name.c_str());
    auto bytes = std::make_unique<char[]>(ggml_nbytes(tensor));
    tensor->data = bytes.get();
    gguf_add_tensor(file.get(), tensor);
    descriptions.push_back(std::move(context));
    data.push_back(std::move(bytes));
    return data.back().get();
  }
};

GgufWriter::GgufWriter(const std::string& architecture) : impl_(std::make_unique<Impl>()) {
  SetText("general.architecture", architecture);
}

GgufWriter::~GgufWriter() = default;

void GgufWriter::SetText(const std::string& key, const std::string& value) {
  gguf_set_val_str(impl_->file.get(), key.c_str(), value.c_str());
}

void GgufWriter::SetInteger(const std::string& key, uint32_t value) {
  gguf_set_val_u32(impl_->file.get(), key.c_str(), value);
}

void GgufWriter::SetIntegers(const std::string& key, const std::vector<int32_t>& values) {
  gguf_set_arr_data(impl_->file.get(), key.c_str(), GGUF_TYPE_INT32, values.data(), values.size());
}

void GgufWriter::SetFraction(const std::string& key, float value) {
  gguf_set_val_f32(impl_->file.get(), key.c_str(), value);
}

void GgufWriter::CopyTokenizer(const GgufHeader& from) {
  from.CopyKeys("tokenizer.", impl_->file.get());
}

void GgufWriter::AddFloats(const std::string& name, const Weights& weights, bool half) {
  Check(static_cast<int64_t>(weights.values.size()) == Product(weights.shape),
        "AddFloats: values of another shape");
  char* bytes = impl_->Add(name, half ? GGML_TYPE_F16 : GGML_TYPE_F32, weights.shape);
  const auto count = static_cast<int64_t>(weights.values.size());
  if (half) {
    ggml_fp32_to_fp16_row(weights.values.data(), reinterpret_cast<ggml_fp16_t*>(bytes), count);
  } else {
    std::memcpy(bytes, weights.values.data(), count * sizeof(float));
  }
}

void GgufWriter::AddQ8(const std::string& name, const Weights& weights) {
  const int64_t columns = weights.shape.back();
  Check(columns % 32 == 0, "AddQ8: rows are no multiple of 32");
  char* bytes = impl_->Add(name, GGML_TYPE_Q8_0, weights.shape);
  ggml_quantize_chunk(GGML_TYPE_Q8_0, weights.values.data(), bytes, 0,
                      static_cast<int64_t>(weights.values.size()) / columns, columns, nullptr);
}

void GgufWriter::AddIntegers(const std::string& name, const std::vector<int64_t>& values) {
  char* bytes = impl_->Add(name, GGML_TYPE_I64, {static_cast<int64_t>(values.size())});
  std::memcpy(bytes, values.data(), values.size() * sizeof(int64_t));
}

Status GgufWriter::Write(const std::string& path) const {
  const std::string temporary = fmt::format("{}.{}.part", path, getpid());
  errno = 0;
  std::FILE* file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) {
    return BadInput(
        fmt::format("'{}' can't be written ({}); check the folder", path, SystemError()));
  }
  bool written = gguf_write_to_file_ptr(impl_->file.get(), file, /*only_meta=*/false);
  written = std::fflush(file) == 0 && written;
  const std::string reason = SystemError();
  std::fclose(file);
  std::error_code error;
  if (written) fs::rename(temporary, path, error);
  if (written && !error) return {};
  const std::string why = error ? error.message() : reason;
  fs::remove(temporary, error);
  return Unavailable(
      fmt::format("'{}' could not be written ({}); free some disk space", path, why));
}

}  // namespace schemafill
