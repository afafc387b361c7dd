// The functions of libllama that we use beyond llama.h, in this one place. The library exports them
// (C++ linkage) but declares them only in its internal staging header, so they may change with any
// version. When CMake configures, it compiles and links cmake/llama_check/ against this file and
// says what to do if they are not as declared here.
//
// "Features" are one layer's hidden states, float [rows, n_embd], a row for every row of the last
// batch, with or without logits. Pointers belong to the context and hold until its next forward.
#pragma once

#include <llama.h>

#include <cstdint>

// Turns the collection of the *input* features of `layer` on or off. Costs one copy out a forward
// while on.
LLAMA_API void llama_set_embeddings_layer_inp(struct llama_context* ctx, uint32_t layer,
                                              bool enable);
LLAMA_API float* llama_get_embeddings_layer_inp(struct llama_context* ctx, uint32_t layer);

// An EAGLE-3 head's own features: the fused ones after ENCODE, those of its decoder layer after
// DECODE. `masked`: only for rows with output. The plain getter gives all rows, `_ith` the row of
// output `i`.
LLAMA_API void llama_set_embeddings_nextn(struct llama_context* ctx, bool enable, bool masked);
LLAMA_API float* llama_get_embeddings_nextn(struct llama_context* ctx);
LLAMA_API float* llama_get_embeddings_nextn_ith(struct llama_context* ctx, int32_t i);

// The target's layers whose input features the head `model` reads,
// [llama_model_target_layer_ids_n].
LLAMA_API const int32_t* llama_model_target_layer_ids(const struct llama_model* model);
LLAMA_API uint32_t llama_model_target_layer_ids_n(const struct llama_model* model);
