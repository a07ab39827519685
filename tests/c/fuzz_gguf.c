/* SPDX-License-Identifier: MIT
 * Any bytes as a GGUF file: the whole load, fed in pieces whose size the input's length decides. */
#include "model_files.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mem_file file = {"t.gguf", {(uint8_t *)(uintptr_t)data, size, size}};
    loading in = {.files = &file, .n_files = 1, .main_name = "t.gguf", .chop = size % 7 ? 0 : 1 + size % 1000};
    qw_model m;
    qw_error err = {0};
    qw_status status = load_files(&in, &m, &err);

    if (status && (!err.text[0] || err.status != status || status == QW_ERR_INTERNAL || status == QW_ERR_USAGE))
        abort();
    qw_model_free(&m);
    if (qw_alloc_test_live()) abort();
    return 0;
}
