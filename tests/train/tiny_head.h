// A tiny target and heads for it.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "model/llama/llama_model.h"
#include "support/temp_dir.h"
#include "support/tiny_gguf.h"
#include "train/head_net.h"
#include "train/head_samples.h"

namespace schemafill::testing {

inline constexpr int kTinyWidth = 64;

inline TinyModelOptions TinyTarget() {
  return {.layers = 4,
          .embedding = kTinyWidth,
          .heads = 4,
          .kv_heads = 2,
          .feed_forward = 96,
          .context = 512};
}

// Writes the target to `path` and reads it back.
struct TinyTargetFile {
  explicit TinyTargetFile(const std::string& file, const TinyModelOptions& options = TinyTarget())
      : path(file) {
    WriteTinyModel(path, options);
    header = std::make_unique<GgufHeader>(std::move(GgufHeader::Read("target", path).value()));
    weights = ReadTargetWeights(*header, path).value();
  }

  HeadNet NewHead(uint64_t seed = 7, int vocabulary = 100) const {
    HeadConfig config{.shape = ReadModelShape(*header, path).value(), .target_layers = {1, 2, 3}};
    // Not in steps of one, so that outputs and tokens can't be mixed up.
    for (int i = 0; i < vocabulary; ++i) config.vocabulary.push_back(Token{5 + 2 * i});
    return HeadNet(std::move(config), weights, {1, 1, 1}, seed);
  }

  std::unique_ptr<TargetModel> Load() const {
    auto target = LoadTarget({.path = path, .context_size = 256, .threads = 1});
    EXPECT_TRUE(target.ok()) << target.error().message;
    return std::move(target.value());
  }

  std::string path;
  std::unique_ptr<GgufHeader> header;
  TargetWeights weights;
};

}  // namespace schemafill::testing
