/* SPDX-License-Identifier: MIT
 * Defaults, and what settings own. */
#include "generation/settings.h"

#include "base/alloc.h"

#include <string.h>

enum { TOP_K_DEFAULT = 50 };

void qw_settings_init(qw_settings *s, const qw_model *model)
{
    memset(s, 0, sizeof *s);
    s->max_new_tokens = s->max_length = s->min_length = s->min_new_tokens = -1;
    s->max_time = -1;
    s->skip_special_tokens = s->finish_in_budget = true;
    s->temperature = s->top_p = s->typical_p = 1;
    s->min_p = -1;
    s->top_k = TOP_K_DEFAULT;
    s->repetition_penalty = 1;
    s->num_return_sequences = 1;
    s->logprobs = -1;
    s->pad = model->pad;
    s->n_ids = model->config.n_vocab;
}

void qw_settings_free(qw_settings *s)
{
    qw_id_list *lists[] = {&s->suppress, &s->begin_suppress, &s->forced_eos, &s->eos};

    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) qw_free(lists[i]->v);
    for (int32_t i = 0; i < s->n_bad_words; i++) qw_free(s->bad_words[i].v);
    for (int32_t i = 0; i < s->n_sequence_bias; i++) qw_free(s->sequence_bias[i].ids.v);
    for (int32_t i = 0; i < s->n_logit_bias; i++) qw_free(s->logit_bias[i].ids.v);
    qw_free(s->bad_words);
    qw_free(s->sequence_bias);
    qw_free(s->logit_bias);
    qw_buf_free(&s->rng_state);
    qw_buf_free(&s->response_format);
    qw_buf_free(&s->whitespace);
    qw_buf_free(&s->notes);
    memset(s, 0, sizeof *s);
}
