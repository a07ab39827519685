/* SPDX-License-Identifier: MIT
 * What the tests of loading ask of a loaded model: that it is equal to another, that the books are right, what was noted. */
#ifndef QW_MODEL_CHECKS_H
#define QW_MODEL_CHECKS_H

#include "check.h"
#include "model_files.h"

static inline uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    return h;
}

static inline uint64_t hash_mat(uint64_t h, const qw_mat *m)
{
    h = hash_bytes(h, &m->rows, sizeof m->rows);
    h = hash_bytes(h, &m->layout, sizeof m->layout);
    return hash_bytes(h, m->data, qw_mat_bytes(m->layout, m->rows, m->cols));
}

/* Everything that a load leaves behind, tokenizer by its vocabulary. */
static inline uint64_t hash_model(const qw_model *m)
{
    const qw_config *c = &m->config;
    const qw_weights *w = &m->weights;
    uint64_t h = hash_mat(hash_mat(1469598103934665603u, &w->embed), &w->head);
    size_t q = (size_t)(c->n_head * c->head_dim) * 4, kv = (size_t)(c->n_kv_head * c->head_dim) * 4,
           dim = (size_t)c->dim * 4;

    h = hash_bytes(h, w->norm_out, dim);
    for (int32_t l = 0; l < c->n_layer; l++) {
        const qw_layer *y = &w->layer[l];
        const qw_mat *mats[] = {&y->wq, &y->wk, &y->wv, &y->wo, &y->w_gate, &y->w_up, &y->w_down};
        h = hash_bytes(hash_bytes(h, y->norm_attn, dim), y->norm_ffn, dim);
        h = hash_bytes(hash_bytes(hash_bytes(h, y->bq, q), y->bk, kv), y->bv, kv);
        for (size_t i = 0; i < sizeof mats / sizeof *mats; i++) h = hash_mat(h, mats[i]);
    }
    h = hash_bytes(h, m->eos, (size_t)m->n_eos * sizeof *m->eos);
    h = hash_bytes(h, &m->pad, sizeof m->pad);
    h = hash_bytes(h, m->chat_template.bytes, m->chat_template.n);
    h = hash_bytes(h, m->notes.bytes, m->notes.n);
    for (int32_t i = 0; m->tokenizer && i < c->n_vocab; i++) {
        qw_text t = qw_tokenizer_token_bytes(m->tokenizer, i);
        h = hash_bytes(h, t.bytes, t.n);
    }
    return hash_bytes(h, &c->rope_theta, sizeof c->rope_theta);
}

/* The bytes of all weights by the types they have. */
static inline double kept_bytes(const qw_model *m)
{
    const qw_config *c = &m->config;
    double n = 0;

    for (int32_t i = 0; i < QW_DTYPE_NUMBERS; i++) n += m->kept_bytes[i];
    return n + (double)c->n_layer * (double)sizeof(qw_layer);
}

static inline bool notes_have(const qw_model *m, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= m->notes.n; i++)
        if (memcmp(m->notes.bytes + i, part, n) == 0) return true;
    return false;
}

/* Loads the same files with several chops; the models must be equal and the books right. Returns the hash. */
static inline uint64_t check_chops(const mem_file *files, size_t n, const char *main_name)
{
    static const size_t chops[] = {0, 1, 7, 4096, 100003};
    uint64_t first = 0;
    size_t total = 0;

    for (size_t i = 0; i < n; i++) total += files[i].content.n;
    for (size_t i = 0; i < sizeof chops / sizeof *chops; i++) {
        loading in = {.files = files, .n_files = n, .main_name = main_name, .chop = chops[i]};
        qw_model m;
        qw_error err = {0};
        int64_t live = qw_alloc_test_live();
        if (chops[i] == 1 && total > 500000) continue; /* takes long, and shows no more */
        CHECK_EQ(load_files(&in, &m, &err), QW_OK);
        CHECK_STR(err.text, "");
        if (err.text[0]) return 0;
        if (!i) first = hash_model(&m);
        CHECK(hash_model(&m) == first);
        CHECK(!in.descended);
        CHECK_NEAR(in.fed, in.read_bytes, 0);
        CHECK_NEAR(in.weight_bytes, kept_bytes(&m), 0);
        CHECK_NEAR(in.weight_bytes, (double)m.weights.bytes, 0);
        CHECK(in.wanted_most <= 1 << 20);
        CHECK(in.stage_bytes > 0 && in.file_bytes >= in.read_bytes);
        qw_model_free(&m);
        CHECK_EQ(qw_alloc_test_live(), live);
    }
    return first;
}

#endif
