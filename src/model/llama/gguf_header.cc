#include "model/llama/gguf_header.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace schemafill {
namespace {

namespace fs = std::filesystem;

// Whether there is a file that starts like a GGUF.
Status CheckFile(const std::string& what, const std::string& path) {
  if (path.empty()) return BadInput(fmt::format("no {} file given", what));
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (!fs::exists(status)) {
    return BadInput(fmt::format("{} file '{}' does not exist; check the path", what, path));
  }
  if (fs::is_directory(status)) {
    return BadInput(
        fmt::format("{} file '{}' is a directory; give a .gguf file in it", what, path));
  }
  if (!fs::is_regular_file(status)) {
    return BadInput(
        fmt::format("{} file '{}' is not a regular file; give a .gguf file", what, path));
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return BadInput(fmt::format("{} file '{}' can't be opened; check its permissions", what, path));
  }
  char start[8] = {};
  file.read(start, sizeof(start));
  const std::string_view read(start, static_cast<size_t>(file.gcount()));
  if (read == "version ") {
    return BadInput(
        fmt::format("{} file '{}' is a Git LFS pointer; fetch the file itself with `git lfs pull`",
                    what, path));
  }
  if (read.substr(0, 4) != GGUF_MAGIC) {
    return BadInput(
        fmt::format("{} file '{}' is not a GGUF file; convert the model with llama.cpp's "
                    "convert_hf_to_gguf.py, or download a .gguf",
                    what, path));
  }
  return {};
}

Result<std::unique_ptr<gguf_context, LlamaDeleter>> ReadOneHeader(const std::string& what,
                                                                  const std::string& path) {
  if (Status status = CheckFile(what, path); !status) return status.error();
  InitRuntime();
  const LogSink no_sink;
  const LogScope log(no_sink);
  std::unique_ptr<gguf_context, LlamaDeleter> header(
      gguf_init_from_file(path.c_str(), {.no_alloc = true, .ctx = nullptr}));
  if (header == nullptr) {
    const std::string& detail = log.error();
    return BadInput(fmt::format("{} file '{}' has a damaged header{}; download it again", what,
                                path, detail.empty() ? "" : " (" + detail + ")"));
  }
  return header;
}

template <typename Value>
int64_t ElementOf(const void* data, size_t index) {
  return static_cast<int64_t>(static_cast<const Value*>(data)[index]);
}

std::optional<int64_t> IntegerAt(const void* data, gguf_type type, size_t index) {
  switch (type) {
    case GGUF_TYPE_UINT8:
      return ElementOf<uint8_t>(data, index);
    case GGUF_TYPE_INT8:
      return ElementOf<int8_t>(data, index);
    case GGUF_TYPE_UINT16:
      return ElementOf<uint16_t>(data, index);
    case GGUF_TYPE_INT16:
      return ElementOf<int16_t>(data, index);
    case GGUF_TYPE_UINT32:
      return ElementOf<uint32_t>(data, index);
    case GGUF_TYPE_INT32:
      return ElementOf<int32_t>(data, index);
    case GGUF_TYPE_UINT64:
      return ElementOf<uint64_t>(data, index);
    case GGUF_TYPE_INT64:
      return ElementOf<int64_t>(data, index);
    default:
      return std::nullopt;
  }
}

}  // namespace

Result<GgufHeader> GgufHeader::Read(const std::string& what, const std::string& path) {
  auto header = ReadOneHeader(what, path);
  if (!header) return header.error();
  GgufHeader result;
  result.header_ = std::move(header.value());
  if (Status status = result.ReadTensors(path, *result.header_); !status) return status.error();
  if (Status status = result.ReadOtherParts(what, path); !status) return status.error();
  return result;
}

Status GgufHeader::ReadTensors(const std::string& path, const gguf_context& header) {
  const size_t start = gguf_get_data_offset(&header);
  const auto file_size = static_cast<size_t>(fs::file_size(path));
  size_t end = start;
  for (int64_t i = 0; i < gguf_get_n_tensors(&header); ++i) {
    GgufTensor tensor;
    tensor.name = gguf_get_tensor_name(&header, i);
    tensor.type = gguf_get_tensor_type(&header, i);
    std::copy_n(gguf_get_tensor_ne(&header, i), GGML_MAX_DIMS, tensor.shape.begin());
    tensor.bytes = gguf_get_tensor_size(&header, i);
    tensor.offset = start + gguf_get_tensor_offset(&header, i);
    end = std::max(end, tensor.offset + tensor.bytes);
    tensors_.push_back(std::move(tensor));
  }
  if (!tensors_.empty() && end > file_size) {
    return BadInput(fmt::format(
        "'{}' is cut off: its tensors need {} bytes, the file has {}; download it again", path, end,
        file_size));
  }
  return {};
}

Status GgufHeader::ReadOtherParts(const std::string& what, const std::string& path) {
  const int parts = static_cast<int>(Integer("split.count").value_or(1));
  if (parts <= 1) return {};
  if (parts > 1000 || Integer("split.no").value_or(0) != 0) {
    return BadInput(
        fmt::format("'{}' is not the first part of a split {}; give the file whose name ends in "
                    "-00001-of-{:05}.gguf",
                    path, what, parts));
  }
  std::string prefix(path.size() + 1, '\0');
  prefix.resize(llama_split_prefix(prefix.data(), prefix.size(), path.c_str(), 0, parts));
  if (prefix.empty()) {
    return BadInput(fmt::format(
        "'{}' is part 1 of {}, but not named so; its name must end in -00001-of-{:05}.gguf", path,
        parts, parts));
  }
  for (int part = 1; part < parts; ++part) {
    std::string name(prefix.size() + 32, '\0');
    name.resize(llama_split_path(name.data(), name.size(), prefix.c_str(), part, parts));
    auto header = ReadOneHeader(what, name);
    if (!header) return header.error();
    if (Status status = ReadTensors(name, *header.value()); !status) return status.error();
  }
  return {};
}

std::string GgufHeader::Text(const std::string& key) const {
  const int64_t id = gguf_find_key(header_.get(), key.c_str());
  if (id < 0 || gguf_get_kv_type(header_.get(), id) != GGUF_TYPE_STRING) return "";
  return gguf_get_val_str(header_.get(), id);
}

std::vector<int64_t> GgufHeader::Integers(const std::string& key) const {
  const int64_t id = gguf_find_key(header_.get(), key.c_str());
  if (id < 0) return {};
  gguf_type type = gguf_get_kv_type(header_.get(), id);
  const bool is_array = type == GGUF_TYPE_ARRAY;
  if (is_array) type = gguf_get_arr_type(header_.get(), id);
  if (type == GGUF_TYPE_STRING || type == GGUF_TYPE_ARRAY) return {};
  const size_t count = is_array ? gguf_get_arr_n(header_.get(), id) : 1;
  const void* data =
      is_array ? gguf_get_arr_data(header_.get(), id) : gguf_get_val_data(header_.get(), id);
  std::vector<int64_t> values;
  for (size_t i = 0; i < count; ++i) {
    const std::optional<int64_t> value = IntegerAt(data, type, i);
    if (!value) return {};
    values.push_back(*value);
  }
  return values;
}

std::optional<int64_t> GgufHeader::Integer(const std::string& key) const {
  const int64_t id = gguf_find_key(header_.get(), key.c_str());
  if (id < 0 || gguf_get_kv_type(header_.get(), id) == GGUF_TYPE_ARRAY) return std::nullopt;
  const std::vector<int64_t> values = Integers(key);
  if (values.empty()) return std::nullopt;
  return values[0];
}

std::optional<bool> GgufHeader::Flag(const std::string& key) const {
  const int64_t id = gguf_find_key(header_.get(), key.c_str());
  if (id < 0 || gguf_get_kv_type(header_.get(), id) != GGUF_TYPE_BOOL) return std::nullopt;
  return gguf_get_val_bool(header_.get(), id);
}

std::optional<double> GgufHeader::Fraction(const std::string& key) const {
  const int64_t id = gguf_find_key(header_.get(), key.c_str());
  if (id < 0) return std::nullopt;
  const gguf_type type = gguf_get_kv_type(header_.get(), id);
  if (type == GGUF_TYPE_FLOAT32) return gguf_get_val_f32(header_.get(), id);
  if (type == GGUF_TYPE_FLOAT64) return gguf_get_val_f64(header_.get(), id);
  return std::nullopt;
}

std::vector<std::string_view> GgufHeader::Texts(const std::string& key) const {
  const int64_t id = gguf_find_key(header_.get(), key.c_str());
  if (id < 0 || gguf_get_kv_type(header_.get(), id) != GGUF_TYPE_ARRAY ||
      gguf_get_arr_type(header_.get(), id) != GGUF_TYPE_STRING) {
    return {};
  }
  std::vector<std::string_view> texts;
  for (size_t i = 0; i < gguf_get_arr_n(header_.get(), id); ++i) {
    texts.emplace_back(gguf_get_arr_str(header_.get(), id, i));
  }
  return texts;
}

int64_t GgufHeader::ArraySize(const std::string& key) const {
  const int64_t id = gguf_find_key(header_.get(), key.c_str());
  if (id < 0 || gguf_get_kv_type(header_.get(), id) != GGUF_TYPE_ARRAY) return 0;
  return static_cast<int64_t>(gguf_get_arr_n(header_.get(), id));
}

std::optional<int64_t> GgufHeader::Size(const std::string& key) const {
  return Integer(architecture() + "." + key);
}

std::vector<int64_t> GgufHeader::Sizes(const std::string& key) const {
  return Integers(architecture() + "." + key);
}

void GgufHeader::CopyKeys(std::string_view prefix, gguf_context* to) const {
  std::unique_ptr<gguf_context, LlamaDeleter> copy(gguf_init_empty());
  gguf_set_kv(copy.get(), header_.get());
  for (int64_t id = 0; id < gguf_get_n_kv(header_.get()); ++id) {
    const std::string key = gguf_get_key(header_.get(), id);
    if (!key.starts_with(prefix)) gguf_remove_key(copy.get(), key.c_str());
  }
  gguf_set_kv(to, copy.get());
}

const GgufTensor* GgufHeader::FindTensor(const std::string& name) const {
  const auto found = std::find_if(tensors_.begin(), tensors_.end(),
                                  [&](const GgufTensor& tensor) { return tensor.name == name; });
  return found == tensors_.end() ? nullptr : &*found;
}

size_t GgufHeader::weight_bytes() const {
  size_t bytes = 0;
  for (const GgufTensor& tensor : tensors_) bytes += tensor.bytes;
  return bytes;
}

}  // namespace schemafill
