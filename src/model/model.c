/* SPDX-License-Identifier: MIT
 * What a model holds of texts, and its end. */
#include "model/model.h"

#include "base/json.h"

void qw_model_free(qw_model *m)
{
    qw_weights_free(&m->weights, m->config.n_layer);
    qw_tokenizer_free(m->tokenizer);
    qw_buf_free(&m->name);
    qw_buf_free(&m->chat_template);
    qw_buf_free(&m->templates);
    qw_buf_free(&m->token_texts);
    qw_buf_free(&m->generation_config);
    qw_buf_free(&m->notes);
    *m = (qw_model){0};
}

qw_status qw_model_add_text(qw_buf *members, qw_text name, qw_text text, qw_error *err)
{
    if (members->n) QW_TRY(qw_buf_append(members, ",", 1, err));
    QW_TRY(qw_json_write_string(members, name, err));
    QW_TRY(qw_buf_append(members, ":", 1, err));
    return qw_json_write_string(members, text, err);
}
