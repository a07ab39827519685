/* SPDX-License-Identifier: MIT
 * Any bytes as the text files of a checkpoint, cut apart at FF FE: config.json, model.safetensors.index.json,
 * generation_config.json, tokenizer_config.json, chat_template.jinja, tokenizer.json, model.safetensors. */
#include "model_files.h"

enum { N_NAMES = 7 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const names[N_NAMES] = {
        "config.json",           "model.safetensors.index.json", "generation_config.json",
        "tokenizer_config.json", "chat_template.jinja",          "tokenizer.json",
        "model.safetensors"};
    mem_file files[N_NAMES];
    loading in = {.files = files, .main_name = "config.json"};
    qw_model m;
    qw_error err = {0};
    qw_status status;
    size_t from = 0;

    for (size_t i = 0; i <= size && in.n_files < N_NAMES; i++) {
        bool cut = i + 1 < size && data[i] == 0xFF && data[i + 1] == 0xFE;
        if (!cut && i < size) continue;
        files[in.n_files] = (mem_file){names[in.n_files], {(uint8_t *)(uintptr_t)(data + from), i - from, i - from}};
        in.n_files++;
        from = i + 2;
        i++;
    }
    status = load_files(&in, &m, &err);
    if (status && (!err.text[0] || err.status != status || status == QW_ERR_INTERNAL || status == QW_ERR_USAGE))
        abort();
    qw_model_free(&m);
    if (qw_alloc_test_live()) abort();
    return 0;
}
