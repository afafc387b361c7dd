// Every function of llama.cpp that is newer than its stable core and that we use, with the type we use it with. Only
// compiled and linked.
#include "model/llama/llama_internal.h"

template <typename Function>
void Use(Function* function) {
  static volatile void* sink;
  sink = reinterpret_cast<void*>(function);
  (void)sink;
}

int main() {
  Use<void(llama_context*, uint32_t, bool)>(llama_set_embeddings_layer_inp);
  Use<float*(llama_context*, uint32_t)>(llama_get_embeddings_layer_inp);
  Use<void(llama_context*, bool, bool)>(llama_set_embeddings_nextn);
  Use<float*(llama_context*)>(llama_get_embeddings_nextn);
  Use<float*(llama_context*, int32_t)>(llama_get_embeddings_nextn_ith);
  Use<const int32_t*(const llama_model*)>(llama_model_target_layer_ids);
  Use<uint32_t(const llama_model*)>(llama_model_target_layer_ids_n);

  Use<llama_batch_ext*(llama_context*)>(llama_batch_ext_init);
  Use<void(llama_batch_ext*)>(llama_batch_ext_free);
  Use<void(llama_batch_ext*)>(llama_batch_ext_clear);
  Use<int32_t(llama_batch_ext*, llama_seq_id, llama_token)>(llama_batch_ext_add_token);
  Use<int32_t(llama_batch_ext*, llama_seq_id, llama_embd)>(llama_batch_ext_add_embd);
  Use<int32_t(llama_context*, llama_process_type, llama_batch_ext*)>(llama_process);
  Use(llama_batch_ext_add_seq);
  Use(llama_batch_ext_set_embd_token);
  Use(llama_batch_ext_set_output_embd);
  Use(llama_batch_ext_set_output_logits);
  Use(llama_batch_ext_set_pos);

  llama_context_params params = llama_context_default_params();
  params.kv_unified = true;
  params.ctx_other = nullptr;
  return params.n_seq_max == 0;
}
