// What a GGUF file says about itself, read without its weights.
//
// libllama ends the process on some contradictions in a header (its GGML_ASSERTs), so everything
// that a user's file may have wrong is looked at here first. Every getter checks types, since
// gguf.h aborts on a wrong one. Tested by tests/model/load_errors_test.cc.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/llama/runtime.h"

namespace schemafill {

struct GgufTensor {
  std::string name;
  ggml_type type = GGML_TYPE_F32;
  std::array<int64_t, GGML_MAX_DIMS> shape{};  // fastest first, 1 beyond the tensor's dimensions
  size_t bytes = 0;
  size_t offset = 0;  // in the file
};

class GgufHeader {
 public:
  // Reads the header of `path`; of a model split over several files, those of all parts. Errors: no
  // such file, not a readable file, not a GGUF, damaged, cut off. `what` names the file's part in
  // messages ("model", "head").
  static Result<GgufHeader> Read(const std::string& what, const std::string& path);

  // Of the key; absent or of another type: empty.
  std::string Text(const std::string& key) const;
  std::optional<int64_t> Integer(const std::string& key) const;
  std::vector<int64_t> Integers(
      const std::string& key) const;  // of an array, or of a single number
  std::optional<double> Fraction(const std::string& key) const;
  std::optional<bool> Flag(const std::string& key) const;
  std::vector<std::string_view> Texts(
      const std::string& key) const;  // of an array; belong to the header
  // Elements of an array of any type; 0 if it is absent.
  int64_t ArraySize(const std::string& key) const;

  std::string architecture() const { return Text("general.architecture"); }
  // The value of "<architecture>.<key>".
  std::optional<int64_t> Size(const std::string& key) const;
  std::vector<int64_t> Sizes(const std::string& key) const;

  // Copies the keys that begin with `prefix` and their values.
  void CopyKeys(std::string_view prefix, gguf_context* to) const;

  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  const GgufTensor* FindTensor(const std::string& name) const;
  size_t weight_bytes() const;

 private:
  GgufHeader() = default;

  Result<void> ReadTensors(const std::string& path, const gguf_context& header);
  Result<void> ReadOtherParts(const std::string& what, const std::string& path);

  std::unique_ptr<gguf_context, LlamaDeleter> header_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace schemafill
