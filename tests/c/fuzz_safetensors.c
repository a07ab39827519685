/* SPDX-License-Identifier: MIT
 * Any bytes as model.safetensors beside a sound config.json: the whole load. */
#include "model_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char config[] =
    "{\"model_type\":\"qwen2\",\"num_hidden_layers\":1,\"hidden_size\":4,\"intermediate_size\":4,"
    "\"num_attention_heads\":2,\"num_key_value_heads\":1,\"tie_word_embeddings\":true,\"rope_theta\":10000}";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mem_file files[] = {{"model.safetensors", {(uint8_t *)(uintptr_t)data, size, size}},
                        {"config.json", {(uint8_t *)(uintptr_t)config, sizeof config - 1, sizeof config - 1}}};
    loading in = {.files = files, .n_files = 2, .main_name = size % 2 ? "config.json" : "model.safetensors"};
    qw_model m;
    qw_error err = {0};
    qw_status status = load_files(&in, &m, &err);

    if (status && (!err.text[0] || err.status != status || status == QW_ERR_INTERNAL || status == QW_ERR_USAGE))
        abort();
    qw_model_free(&m);
    if (qw_alloc_test_live()) abort();
    return 0;
}
