/* SPDX-License-Identifier: MIT
 * The forward pass, top to bottom: one call a line, formulas above the code. */
#include "model/forward.h"

#include "base/alloc.h"
#include "base/arithmetic.h"
#include "base/assert.h"
#include "kernels/ops.h"

#include <string.h>

/* A pass under way: what the layer functions share. at: the tokens that are still computed. */
typedef struct run {
    const qw_model *m;
    qw_scratch *s;
    qw_kv *kv;
    qw_pool *pool;
    const qw_pass *pass;
    qw_positions at;
} run;

static int32_t heads_dim(const qw_config *c)
{
    return c->n_head * c->head_dim;
}

static int32_t kv_dim(const qw_config *c)
{
    return c->n_kv_head * c->head_dim;
}

/* Widest input of a product. */
static int32_t widest(const qw_config *c)
{
    return qw_max(qw_max(c->dim, c->ffn_dim), heads_dim(c));
}

/* The float arrays of a scratch and their sizes, in one list for planning, making and freeing. */
typedef struct array {
    float **at;
    size_t rows, cols;
} array;

enum { N_ARRAYS = 12 };

static void list_arrays(array list[N_ARRAYS], qw_scratch *s, const qw_config *c, int32_t threads)
{
    size_t n = (size_t)s->max_tokens, dim = (size_t)c->dim, q = (size_t)heads_dim(c), kv = (size_t)kv_dim(c);
    size_t ffn = (size_t)c->ffn_dim, wide = dim > q ? dim : q;
    array all[N_ARRAYS] = {
        {&s->inv_freq, 1, (size_t)c->head_dim / 2},
        {&s->x, n, dim},
        {&s->h, n, wide},
        {&s->q, n, q},
        {&s->k, n, kv},
        {&s->v, n, kv},
        {&s->att, n, q},
        {&s->gate, n, ffn},
        {&s->up, n, ffn},
        {&s->cos_sin, n, (size_t)c->head_dim},
        {&s->attention, (size_t)threads, qw_attention_scratch(c)},
        {&s->logits, (size_t)s->max_logits, (size_t)c->n_vocab},
    };

    memcpy(list, all, sizeof all);
}

double qw_scratch_bytes(const qw_config *c, int32_t max_tokens, int32_t max_logits, int32_t threads)
{
    qw_scratch s = {.max_tokens = max_tokens, .max_logits = max_logits};
    array list[N_ARRAYS];
    double bytes = (double)qw_activations_bytes(max_tokens, widest(c)) + 12.0 * max_tokens + 260;

    list_arrays(list, &s, c, threads);
    for (int i = 0; i < N_ARRAYS; i++) bytes += 4.0 * (double)list[i].rows * (double)list[i].cols + 128;
    return bytes;
}

qw_status qw_scratch_init(qw_scratch *s, const qw_config *c, int32_t max_tokens, int32_t max_logits, int32_t threads,
                          qw_error *err)
{
    array list[N_ARRAYS];

    *s = (qw_scratch){.max_tokens = max_tokens, .max_logits = max_logits};
    list_arrays(list, s, c, threads);
    for (int i = 0; i < N_ARRAYS; i++) {
        *list[i].at = qw_alloc_aligned(list[i].rows, list[i].cols * sizeof(float));
        if (!*list[i].at)
            return qw_fail_memory(err, "the scratch of a pass", qw_scratch_bytes(c, max_tokens, max_logits, threads));
    }
    s->row = qw_calloc((size_t)max_tokens, sizeof *s->row);
    s->pos = qw_calloc((size_t)max_tokens, sizeof *s->pos);
    s->tiles = qw_calloc((size_t)max_tokens + 1, sizeof *s->tiles);
    if (!s->row || !s->pos || !s->tiles) return qw_fail_memory(err, "the scratch of a pass", 12.0 * max_tokens);
    qw_config_inv_freq(c, s->inv_freq, &s->rope_scale);
    return qw_activations_init(&s->acts, max_tokens, widest(c), err);
}

void qw_scratch_free(qw_scratch *s)
{
    const qw_config none = {.n_kv_head = 1};
    array list[N_ARRAYS];

    list_arrays(list, s, &none, 0);
    for (int i = 0; i < N_ARRAYS; i++) qw_free(*list[i].at);
    qw_free(s->row);
    qw_free(s->pos);
    qw_free(s->tiles);
    qw_activations_free(&s->acts);
    *s = (qw_scratch){0};
}

/* y = x W^T + b for products that share their input. */
static void multiply(const run *r, const float *x, int32_t n, const qw_product *products, int32_t n_products)
{
    bool integer = false;

    for (int32_t i = 0; i < n_products; i++) integer = integer || qw_layout_is_integer(products[i].w->layout);
    qw_activations_set(&r->s->acts, r->pool, x, n, products[0].w->cols, integer);
    qw_matmul(r->pool, &r->s->acts, products, n_products);
}

static void put_keys_and_values(const run *r, int32_t l)
{
    size_t width = (size_t)kv_dim(&r->m->config);

    r->kv->key_bias[l] = r->m->weights.layer[l].bk;
    for (int32_t i = 0; i < r->at.n; i++)
        qw_kv_put(r->kv, l, r->at.row[i], r->at.pos[i], r->s->k + (size_t)i * width, r->s->v + (size_t)i * width);
}

static void keep_row(float *x, int32_t to, int32_t from, int32_t width)
{
    if (to != from) memcpy(x + (size_t)to * (size_t)width, x + (size_t)from * (size_t)width, (size_t)width * sizeof *x);
}

/* From here on only the tokens whose logits are wanted are computed. */
static void narrow_to_wanted(run *r)
{
    const qw_config *c = &r->m->config;
    const qw_pass *p = r->pass;
    qw_scratch *s = r->s;

    QW_ASSERT(p->n_wanted <= s->max_tokens);
    for (int32_t i = 0; i < p->n_wanted; i++) {
        QW_ASSERT(p->wanted[i] >= i && p->wanted[i] < r->at.n);
        keep_row(s->x, i, p->wanted[i], c->dim);
        keep_row(s->h, i, p->wanted[i], c->dim);
        keep_row(s->cos_sin, i, p->wanted[i], c->head_dim);
        s->row[i] = r->at.row[p->wanted[i]];
        s->pos[i] = r->at.pos[p->wanted[i]];
    }
    r->at = (qw_positions){s->row, s->pos, p->n_wanted};
}

/* Whether layer l is the last reader of tokens whose logits nobody wants: it takes their keys and values, and no layer after
 * it looks at them. */
static bool narrows_in(const run *r, int32_t l)
{
    return l == r->m->config.n_layer - 1 && !r->pass->hidden && r->pass->n_wanted < r->at.n;
}

/* k and v of h into the cache, then q; where the layer narrows, q of the wanted tokens only. */
static void project(run *r, int32_t l)
{
    const qw_config *c = &r->m->config;
    const qw_layer *w = &r->m->weights.layer[l];
    qw_scratch *s = r->s;
    bool narrows = narrows_in(r, l);
    qw_product kvq[] = {{s->k, &w->wk, w->bk}, {s->v, &w->wv, w->bv}, {s->q, &w->wq, w->bq}};

    multiply(r, s->h, r->at.n, kvq, narrows ? 2 : 3);
    qw_rope(r->pool, s->k, s->cos_sin, r->at.n, c->n_kv_head, c->head_dim);
    put_keys_and_values(r, l);
    if (narrows) {
        narrow_to_wanted(r);
        if (r->at.n) multiply(r, s->h, r->at.n, &kvq[2], 1);
    }
    qw_rope(r->pool, s->q, s->cos_sin, r->at.n, c->n_head, c->head_dim);
}

/* x += Wo . attention(rope(Wq h + bq), rope(Wk h + bk), Wv h + bv),  h = rmsnorm(x) */
static void layer_attention(run *r, int32_t l)
{
    const qw_config *c = &r->m->config;
    const qw_layer *w = &r->m->weights.layer[l];
    qw_scratch *s = r->s;
    qw_product o = {s->h, &w->wo, NULL};
    qw_attention_call call = {.config = c,
                              .kv = r->kv,
                              .q = s->q,
                              .out = s->att,
                              .scratch = s->attention,
                              .tiles = s->tiles,
                              .layer = l,
                              .window = c->sliding[l] ? c->sliding_window : 0};

    qw_rmsnorm(r->pool, s->h, s->x, w->norm_attn, c->rms_eps, r->at.n, c->dim);
    project(r, l);
    if (!r->at.n) return;
    call.tokens = r->at;
    qw_attention(r->pool, &call);
    multiply(r, s->att, r->at.n, &o, 1);
    qw_add(r->pool, s->x, s->h, r->at.n, c->dim);
}

/* x += Wdown . (silu(Wgate h) * Wup h),  h = rmsnorm(x) */
static void layer_ffn(const run *r, int32_t l)
{
    const qw_config *c = &r->m->config;
    const qw_layer *w = &r->m->weights.layer[l];
    qw_scratch *s = r->s;
    int32_t n = r->at.n;
    qw_product gate_up[] = {{s->gate, &w->w_gate, NULL}, {s->up, &w->w_up, NULL}};
    qw_product down = {s->h, &w->w_down, NULL};

    if (!n) return;
    qw_rmsnorm(r->pool, s->h, s->x, w->norm_ffn, c->rms_eps, n, c->dim);
    multiply(r, s->h, n, gate_up, 2);
    qw_silu_mul(r->pool, s->gate, s->up, n, c->ffn_dim);
    multiply(r, s->gate, n, &down, 1);
    qw_add(r->pool, s->x, s->h, n, c->dim);
}

static void keep_hidden(const run *r, int32_t index, const float *x)
{
    size_t values = (size_t)r->pass->at.n * (size_t)r->m->config.dim;

    if (r->pass->hidden) memcpy(r->pass->hidden + (size_t)index * values, x, values * sizeof *x);
}

/* What the last layer leaves: hidden states of all tokens, then only the wanted ones' residual stream. */
static void end_layers(run *r)
{
    const qw_config *c = &r->m->config;
    qw_scratch *s = r->s;

    if (r->pass->hidden) {
        qw_rmsnorm(r->pool, s->h, s->x, r->m->weights.norm_out, c->rms_eps, r->at.n, c->dim);
        keep_hidden(r, c->n_layer + 1, s->h);
    }
    if (r->at.n > r->pass->n_wanted) narrow_to_wanted(r);
}

/* logits = head . rmsnorm(x) */
void qw_forward_logits(const qw_model *m, qw_scratch *s, qw_pool *pool, int32_t first, int32_t n)
{
    const qw_config *c = &m->config;
    const run r = {.m = m, .s = s, .pool = pool};
    qw_product head = {s->logits, &m->weights.head, NULL};

    QW_ASSERT(n <= s->max_logits && first + n <= s->max_tokens);
    if (!n) return;
    qw_rmsnorm(pool, s->h, s->x + (size_t)first * (size_t)c->dim, m->weights.norm_out, c->rms_eps, n, c->dim);
    multiply(&r, s->h, n, &head, 1);
}

static void embed(const run *r)
{
    const qw_config *c = &r->m->config;
    const qw_pass *p = r->pass;

    QW_ASSERT(p->at.n <= r->s->max_tokens);
    for (int32_t i = 0; i < p->at.n; i++) {
        QW_ASSERT(p->ids[i] >= 0 && p->ids[i] < c->n_vocab);
        qw_mat_row(r->s->x + (size_t)i * (size_t)c->dim, &r->m->weights.embed, p->ids[i]);
    }
    qw_rope_angles(r->s->cos_sin, p->at.pos, p->at.n, r->s->inv_freq, c->head_dim / 2, r->s->rope_scale);
    keep_hidden(r, 0, r->s->x);
}

void qw_forward(const qw_model *m, qw_scratch *s, qw_kv *kv, qw_pool *pool, const qw_pass *pass, int32_t first,
                int32_t last)
{
    run r = {m, s, kv, pool, pass, pass->at};

    QW_ASSERT(pass->at.n <= s->max_tokens && pass->n_wanted <= pass->at.n);
    if (first == 0) embed(&r);
    for (int32_t l = first; l < last; l++) {
        layer_attention(&r, l);
        layer_ffn(&r, l);
        keep_hidden(&r, l + 1, s->x);
    }
    if (last == m->config.n_layer) end_layers(&r);
}
