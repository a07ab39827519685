/* SPDX-License-Identifier: MIT
 * Any bytes as config.json; where they describe a Qwen2, its rotary frequencies must come out as numbers. */
#include "base/alloc.h"
#include "files/hf.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qw_model m = {0};
    qw_error err = {0};
    qw_json *root;
    float inv_freq[128], scale;

    if (!qw_json_parse(&root, (qw_text){(const char *)data, size}, "config.json", &err) &&
        !qw_hf_read_config(&m, root, &err)) {
        m.config.n_vocab = 1;
        if (!qw_config_check(&m.config, &err)) {
            qw_config_inv_freq(&m.config, inv_freq, &scale);
            for (int32_t i = 0; i < m.config.head_dim / 2; i++)
                if (!(inv_freq[i] >= 0 && inv_freq[i] <= 1e7f)) abort();
        }
    }
    qw_json_free(root);
    qw_model_free(&m);
    if (qw_alloc_test_live()) abort();
    return 0;
}
