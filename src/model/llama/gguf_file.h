// Weights of a GGUF file as floats, and GGUF files that we write: adapters and heads.
// Tested by tests/model/gguf_file_test.cc.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/llama/gguf_header.h"

namespace schemafill {

struct Weights {
  std::vector<int64_t> shape;  // slowest first: a linear map is [out, in]
  std::vector<float> values;   // row by row
};

// The tensor's values, whatever type they are stored in. `path` is the file that `header` was read
// from. Errors: no such tensor, not readable, a type that can't be turned into floats.
Result<Weights> ReadWeights(const GgufHeader& header, const std::string& path,
                            const std::string& name);

// The same of a tensor of 64-bit integers.
Result<std::vector<int64_t>> ReadIntegers(const GgufHeader& header, const std::string& path,
                                          const std::string& name);

// Keys and tensors of a new file. Values are copied on the way in.
class GgufWriter {
 public:
  explicit GgufWriter(const std::string& architecture);
  ~GgufWriter();
  GgufWriter(const GgufWriter&) = delete;
  GgufWriter& operator=(const GgufWriter&) = delete;

  void SetText(const std::string& key, const std::string& value);
  void SetInteger(const std::string& key, uint32_t value);
  void SetIntegers(const std::string& key, const std::vector<int32_t>& values);
  void SetFraction(const std::string& key, float value);
  // The vocabulary of another file: all its keys that begin with "tokenizer.".
  void CopyTokenizer(const GgufHeader& from);

  // Shapes are slowest first. Stored as F16 if `half`, else as F32.
  void AddFloats(const std::string& name, const Weights& weights, bool half);
  // Rows as Q8_0. REQUIRES: rows of a multiple of 32 values.
  void AddQ8(const std::string& name, const Weights& weights);
  void AddIntegers(const std::string& name, const std::vector<int64_t>& values);

  // Writes beside `path`, then renames: the file is there when it is complete. Errors: not
  // writable, disk full.
  Status Write(const std::string& path) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace schemafill
