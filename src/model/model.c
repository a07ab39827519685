/* SPDX-License-Identifier: MIT
 * The end of a model. */
#include "model/model.h"

#include "base/alloc.h"

void qw_model_free(qw_model *m)
{
    qw_weights_free(&m->weights, m->config.n_layer);
    qw_tokenizer_free(m->tokenizer);
    qw_buf_free(&m->name);
    qw_buf_free(&m->chat_template);
    qw_buf_free(&m->generation_config);
    qw_buf_free(&m->notes);
    *m = (qw_model){0};
}
