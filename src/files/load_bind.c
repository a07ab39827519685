/* SPDX-License-Identifier: MIT
 * Each file agrees with itself by now; here they are held against each other. */
#include "files/load_bind.h"

#include "base/alloc.h"

#include <string.h>

static bool is_gguf(const qw_loader *l)
{
    return l->sources[0].kind == QW_SOURCE_GGUF;
}

static qw_status check_index(const qw_loader *l, qw_error *err)
{
    const char **names;
    qw_status status;

    if (!l->hf.index) return QW_OK;
    names = qw_calloc(l->n_sources, sizeof *names);
    if (!names) return qw_fail_memory(err, "the list of files", (double)l->n_sources * sizeof *names);
    for (size_t i = 0; i < l->n_sources; i++) names[i] = l->sources[i].name.bytes + l->folder_n;
    status = qw_hf_check_index(l->hf.index, &l->tensors, names, err);
    qw_free(names);
    return status;
}

static qw_status check_vocabulary(qw_loader *l, qw_error *err)
{
    qw_model *m = &l->model;
    int32_t n_vocab = m->config.n_vocab, kept = 0;
    const qw_json *size = qw_json_get(l->hf.config, "vocab_size");
    double said = qw_json_number(size);

    if (m->tokenizer && qw_tokenizer_n_ids(m->tokenizer) > n_vocab)
        return qw_fail(err, QW_ERR_MODEL,
                       "the tokenizer has ids up to %d, the embedding %d rows: they are of two models",
                       qw_tokenizer_n_ids(m->tokenizer) - 1, n_vocab);
    if (size && (said < n_vocab || said > n_vocab))
        QW_TRY(qw_buf_printf(&m->notes, err,
                             "config.json: vocab_size is %.9g, the embedding has %d rows: these count\n", said,
                             n_vocab));
    for (int32_t i = 0; i < m->n_eos; i++) {
        if (m->eos[i] < n_vocab) m->eos[kept++] = m->eos[i];
        else QW_TRY(qw_buf_printf(&m->notes, err, "end token %d is no id of this model: it is ignored\n", m->eos[i]));
    }
    m->n_eos = kept;
    if (m->pad >= n_vocab) {
        QW_TRY(qw_buf_printf(&m->notes, err, "pad token %d is no id of this model: it is ignored\n", m->pad));
        m->pad = -1;
    }
    return QW_OK;
}

qw_status qw_load_bind(qw_loader *l, qw_error *err)
{
    qw_bind_options options = {l->quantize, !is_gguf(l)};

    if (l->set.n_tensors >= 0 && is_gguf(l) && (uint64_t)l->set.n_tensors != l->tensors.n)
        return qw_fail(err, QW_ERR_FORMAT,
                       "the set says that it has %lld tensors, its files hold %zu: one is of another set",
                       (long long)l->set.n_tensors, l->tensors.n);
    QW_TRY(qw_tensors_check(&l->tensors, err));
    QW_TRY(check_index(l, err));
    QW_TRY(qw_binding_make(&l->model, &l->binding, &l->tensors, &options, err));
    qw_tensors_free(&l->tensors);
    if (!is_gguf(l)) {
        QW_TRY(qw_hf_read_ends(&l->model, &l->hf, err));
        QW_TRY(qw_hf_read_template(&l->model, l->hf.tokenizer_config, err));
    }
    QW_TRY(check_vocabulary(l, err));
    if (!l->model.n_eos)
        QW_TRY(qw_buf_printf(&l->model.notes, err,
                             "the model names no end token: only lengths and stop strings end a text\n"));
    qw_hf_free(&l->hf);
    return QW_OK;
}
