// Writes small GGUF files with random weights, so that tests can run architectures, weight types
// and tokenizers that no real model here has, and files with something wrong in them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace schemafill::testing {

enum class TinyVocabulary {
  kBytePairs,      // GPT-2 style: bytes, a few merges, <|im_start|>, <|im_end|>, <|endoftext|>
  kSentencePiece,  // Llama style: <s>, </s>, <unk>, byte fallback, "_" in front of text
};

struct TinyModelOptions {
  std::string architecture =
      "llama";  // "llama", "qwen2" or "qwen3" have tensors; others are a header alone
  std::string weights =
      "F32";  // of all matrices, by ggml's name: "F16", "BF16", "Q8_0", "Q4_K", ...
  TinyVocabulary vocabulary = TinyVocabulary::kBytePairs;
  std::string chat_template = {};  // empty: none
  int layers = 2;
  int embedding = 256;  // K-quants need multiples of 256
  int heads = 4;
  int kv_heads = 2;
  int feed_forward = 512;
  int experts = 0;  // 0: none; otherwise 2 of them are used a token
  int context = 2048;
  bool tied_output = false;  // no output matrix of its own
  uint32_t seed = 1;
  bool repeat_token = false;  // the last token of the vocabulary is the one before it again
  // Keys to set or replace, the "<architecture>." included, and keys to leave out.
  std::map<std::string, std::string> texts = {};
  std::map<std::string, uint32_t> numbers = {};
  std::map<std::string, float> fractions = {};
  std::map<std::string, bool> flags = {};
  std::vector<std::string> without = {};
};

// Writes the model to `path`. Throws std::runtime_error if it can't.
void WriteTinyModel(const std::string& path, const TinyModelOptions& options);

struct TinyHeadOptions {
  std::vector<int32_t> target_layers = {0, 1, 1};
  int target_hidden = 256;
  int embedding = 256;
  int heads = 4;
  int kv_heads = 2;
  int feed_forward = 512;
  int draft_vocabulary = 100;      // 0: the whole vocabulary, without a map
  int64_t first_target_token = 3;  // of the map: draft token i is target token first + i
  bool own_embedding = false;      // a token embedding of its own
  bool own_output = true;
  uint32_t seed = 2;
};

// Writes an EAGLE-3 head with the tokenizer of the model at `target`.
void WriteTinyHead(const std::string& path, const std::string& target,
                   const TinyHeadOptions& options);

}  // namespace schemafill::testing
