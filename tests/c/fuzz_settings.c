/* SPDX-License-Identifier: MIT
 * Any bytes as settings: a line for the model's generation_config.json, the rest as the call's. What is taken must
 * leave scores that can be chosen from, whatever the scores were. */
#include "base/alloc.h"
#include "generation/logits.h"
#include "generation/sampler.h"
#include "generation/settings_parse.h"

#include <float.h>
#include <stdlib.h>
#include <string.h>

enum { N_VOCAB = 40 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void process(const qw_settings *s, const uint8_t *data, size_t size)
{
    static const int32_t ids[] = {1, 2, 1, 2, 3, 3, 1};
    qw_history h = {ids, 7, 2 + (int32_t)(size % 6), (int32_t)(size % 3), (int32_t)(size % 2), false};
    qw_logits_scratch scratch;
    qw_rng rng;
    qw_error err;
    float scores[N_VOCAB];
    int32_t id = -1;
    qw_status status;

    for (size_t i = 0; i < N_VOCAB; i++) scores[i] = size ? (float)data[i % size] / 16 - 4 : 0;
    if (size > 4) memcpy(&scores[2], data + size - 4, 4); /* any float, NaN and the infinities too */
    qw_rng_seed(&rng, (uint32_t)size);
    if (qw_logits_scratch_init(&scratch, N_VOCAB, NULL)) abort();
    status = qw_logits_process(s, &h, &scratch, scores, &err);
    if (status && status != QW_ERR_MODEL) abort();
    if (!status) status = qw_logits_warp(s, &h, &scratch, scores, &err);
    for (int32_t i = 0; !status && i < N_VOCAB; i++)
        if (!(scores[i] <= FLT_MAX)) abort();
    if (!status) status = qw_choose_sample(scores, N_VOCAB, 0, &rng, &id, &err);
    if (!status && (id < 0 || id >= N_VOCAB || !(scores[id] >= -FLT_MAX))) abort();
    if (status && status != QW_ERR_MODEL && status != QW_ERR_USAGE) abort();
    qw_logits_scratch_free(&scratch);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *line = size ? memchr(text, '\n', size) : NULL;
    size_t n_file = line ? (size_t)(line - text) : 0, at = line ? n_file + 1 : 0;
    char *copy = malloc(n_file + 1);
    qw_model model = {.eos = {3}, .n_eos = 1, .pad = -1};
    qw_settings s;
    qw_buf defaults = {0};
    qw_error err = {0};
    qw_status status;

    if (!copy) return 0;
    if (n_file) memcpy(copy, text, n_file);
    model.config.n_vocab = N_VOCAB;
    model.generation_config = (qw_buf){copy, n_file, n_file};
    status = qw_settings_parse(&s, (qw_text){text + at, size - at}, &model, &err);
    if (status && status != QW_ERR_USAGE) abort();
    if (!status) process(&s, data, size);
    qw_settings_free(&s);
    if (qw_settings_write_file_defaults(&model, &defaults, &err)) abort();
    qw_buf_free(&defaults);
    free(copy);
    if (qw_alloc_test_live()) abort();
    return 0;
}
