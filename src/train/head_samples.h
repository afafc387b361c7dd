// The file of samples that a head learns from: texts that the target wrote, with the features of
// their rows.
//
//   "SFHEADS1"  u32 bytes of the origin  origin as JSON
//   then a record a sample:
//   u64 request  i32 tokens  i32 prompt_tokens  i32 first_row  i32 rows
//   i32 token [tokens]  f16 feature [rows, layers * width]  u64 request
//
// in the machine's byte order. Records are only appended, so whatever interrupts a run leaves whole
// records and perhaps a part of one, which the next Open cuts off.
// Tested by tests/train/head_samples_test.cc.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "json/json.h"
#include "model/types.h"

namespace schemafill {

// What samples depend on. Those of one origin are no use for another.
struct SampleOrigin {
  std::string target = {};  // hash of its file
  int width = 0;            // of its hidden states
  std::vector<int> layers = {};
  int prompt_rows = 0;  // of each prompt the last rows that have features
};

struct HeadSample {
  uint64_t request = 0;            // hash of the prompt's tokens
  std::vector<Token> tokens = {};  // prompt and continuation
  int prompt_tokens = 0;
  int first_row = 0;  // the first token with features
  int rows = 0;       // tokens with features: all up to the last but two, which no row needs
};

// Not thread-safe but for Features, and no two processes at once: the file is locked.
class HeadSamples {
 public:
  // Opens the file, or makes it. Errors: not such a file, of another origin (both are named), in
  // use, not writable.
  static Result<HeadSamples> Open(const std::string& path, const SampleOrigin& origin);

  const SampleOrigin& origin() const { return origin_; }
  const std::vector<HeadSample>& samples() const { return samples_; }

  // `features` is [rows, layers * width]. Errors: no disk space; the file then holds what it held.
  Status Append(const HeadSample& sample, std::span<const float> features);

  // [rows, layers * width] float32 of sample `index`, read from the file. Throws InternalError if
  // the file shrank meanwhile.
  torch::Tensor Features(int index) const;

 private:
  struct Closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };

  HeadSamples(std::string path, SampleOrigin origin)
      : path_(std::move(path)), origin_(std::move(origin)) {}
  Status ReadOrigin();
  Status WriteOrigin();
  Status ReadRecords();
  bool ReadRecord(int64_t end, HeadSample* sample, int64_t* features);
  int64_t FeatureWidth() const { return int64_t{origin_.width} * std::ssize(origin_.layers); }

  std::string path_;
  SampleOrigin origin_;
  std::unique_ptr<std::FILE, Closer> file_;
  std::vector<HeadSample> samples_;
  std::vector<int64_t> places_;  // of each sample's features in the file
  int64_t end_ = 0;              // of the last whole record
};

}  // namespace schemafill
