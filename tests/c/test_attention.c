/* Attention against plain double-precision softmax, and the same bits for every way to cut the work. */
#include "model/attention.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TOKENS = 150, MAX_DIM = 80 };

typedef struct trial {
    qw_config config;
    qw_kv kv;
    float *q, *k, *v, *out;
} trial;

static uint32_t state = 1;

static float random_value(void)
{
    state = state * 1664525u + 1013904223u;
    return ((float)(state >> 8) / 16777216.0f - 0.5f) * 4.0f;
}

static float *random_array(size_t n)
{
    float *x = malloc(n * sizeof *x);

    for (size_t i = 0; i < n; i++) x[i] = random_value();
    return x;
}

static void start(trial *t, int32_t n_head, int32_t n_kv_head, int32_t head_dim, qw_kv_type type)
{
    t->config = (qw_config){.n_layer = 1, .n_head = n_head, .n_kv_head = n_kv_head, .head_dim = head_dim};
    CHECK_EQ(qw_kv_init(&t->kv, &t->config, type, 2 * TOKENS, 2, NULL), QW_OK);
    t->q = random_array((size_t)(TOKENS * n_head * head_dim));
    t->k = random_array((size_t)(TOKENS * n_kv_head * head_dim));
    t->v = random_array((size_t)(TOKENS * n_kv_head * head_dim));
    t->out = calloc((size_t)(TOKENS * n_head * head_dim), sizeof(float));
}

static void finish(trial *t)
{
    qw_kv_free(&t->kv);
    free(t->q);
    free(t->k);
    free(t->v);
    free(t->out);
}

/* All tokens through the cache in row `row`, `chunk` at a time. */
static void run(trial *t, int32_t row, int32_t chunk, int32_t window, int32_t threads)
{
    const qw_config *c = &t->config;
    size_t q_width = (size_t)(c->n_head * c->head_dim), kv_width = (size_t)(c->n_kv_head * c->head_dim);
    float *scratch = malloc(qw_attention_scratch(c) * (size_t)threads * sizeof(float));
    int32_t rows[TOKENS], pos[TOKENS];
    qw_pool *pool;

    CHECK_EQ(qw_pool_new(&pool, threads, NULL), QW_OK);
    for (int32_t i = 0; i < TOKENS; i++) rows[i] = row, pos[i] = i;
    for (int32_t first = 0; first < TOKENS; first += chunk) {
        int32_t n = TOKENS - first < chunk ? TOKENS - first : chunk, tiles[TOKENS + 1];
        qw_attention_call call = {c,
                                  &t->kv,
                                  {rows + first, pos + first, n},
                                  t->q + (size_t)first * q_width,
                                  t->out + (size_t)first * q_width,
                                  scratch,
                                  tiles,
                                  0,
                                  window};

        CHECK(qw_kv_reserve(&t->kv, row, n));
        for (int32_t i = first; i < first + n; i++)
            qw_kv_put(&t->kv, 0, row, i, t->k + (size_t)i * kv_width, t->v + (size_t)i * kv_width);
        qw_attention(pool, &call);
    }
    qw_kv_truncate(&t->kv, row, 0);
    qw_pool_free(pool);
    free(scratch);
}

/* out[head_dim] of token pos and query head h, in double. */
static void reference(const trial *t, int32_t pos, int32_t h, int32_t window, double *out)
{
    const qw_config *c = &t->config;
    int32_t d = c->head_dim, g = h / (c->n_head / c->n_kv_head), first = window && pos >= window ? pos - window + 1 : 0;
    const float *q = t->q + ((size_t)pos * (size_t)c->n_head + (size_t)h) * (size_t)d;
    double score[TOKENS], max = -INFINITY, sum = 0;

    for (int32_t i = first; i <= pos; i++) {
        const float *k = t->k + ((size_t)i * (size_t)c->n_kv_head + (size_t)g) * (size_t)d;

        score[i] = 0;
        for (int32_t j = 0; j < d; j++) score[i] += (double)q[j] * (double)k[j];
        score[i] /= sqrt((double)d);
        if (score[i] > max) max = score[i];
    }
    for (int32_t j = 0; j < d; j++) out[j] = 0;
    for (int32_t i = first; i <= pos; i++) {
        const float *v = t->v + ((size_t)i * (size_t)c->n_kv_head + (size_t)g) * (size_t)d;
        double p = exp(score[i] - max);

        sum += p;
        for (int32_t j = 0; j < d; j++) out[j] += p * (double)v[j];
    }
    for (int32_t j = 0; j < d; j++) out[j] /= sum;
}

static double worst_error(const trial *t, int32_t window)
{
    const qw_config *c = &t->config;
    double wanted[MAX_DIM], worst = 0;

    for (int32_t pos = 0; pos < TOKENS; pos++)
        for (int32_t h = 0; h < c->n_head; h++) {
            reference(t, pos, h, window, wanted);
            for (int32_t j = 0; j < c->head_dim; j++) {
                size_t at = ((size_t)pos * (size_t)c->n_head + (size_t)h) * (size_t)c->head_dim + (size_t)j;
                double error = fabs((double)t->out[at] - wanted[j]);
                if (!(error <= worst)) worst = error;
            }
        }
    return worst;
}

typedef struct shape {
    int32_t n_head, n_kv_head, head_dim, window;
} shape;

static const shape shapes[] = {{4, 2, 16, 0}, {14, 2, 64, 0}, {3, 3, 8, 0},  {5, 1, 80, 0},
                               {6, 2, 12, 0}, {4, 2, 32, 16}, {4, 1, 20, 33}};

static void test_result_is_that_of_plain_softmax(void)
{
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const shape *s = &shapes[i];
        trial t;

        start(&t, s->n_head, s->n_kv_head, s->head_dim, QW_KV_F32);
        run(&t, 0, TOKENS, s->window, 1);
        CHECK_NEAR(worst_error(&t, s->window), 0, 5e-6);
        finish(&t);
    }
}

static void test_bits_do_not_depend_on_chunks_threads_or_row(void)
{
    static const qw_kv_type types[] = {QW_KV_F32, QW_KV_F16, QW_KV_Q8_0};
    static const int32_t ways[][3] = {{0, 128, 2}, {1, 7, 3}, {0, 32, 1}, {1, 33, 8}};

    for (size_t i = 0; i < 3 * sizeof shapes / sizeof *shapes; i++) {
        const shape *s = &shapes[i / 3];
        size_t bytes = (size_t)(TOKENS * s->n_head * s->head_dim) * sizeof(float);
        float *wanted;
        trial t;

        start(&t, s->n_head, s->n_kv_head, s->head_dim, types[i % 3]);
        run(&t, 0, 1, s->window, 1);
        wanted = malloc(bytes);
        memcpy(wanted, t.out, bytes);
        for (size_t w = 0; w < sizeof ways / sizeof *ways; w++) {
            memset(t.out, 0, bytes);
            CHECK(qw_kv_reserve(&t.kv, 1 - ways[w][0], 37)); /* other pages */
            run(&t, ways[w][0], ways[w][1], s->window, ways[w][2]);
            CHECK_EQ(memcmp(t.out, wanted, bytes), 0);
            qw_kv_truncate(&t.kv, 1 - ways[w][0], 0);
        }
        free(wanted);
        finish(&t);
    }
}

/* Large scores overflowed half precision in other engines: q = k = 40 over 128 dimensions sums to 204,800. */
static void test_large_scores_stay_finite(void)
{
    trial t;

    start(&t, 2, 1, 64, QW_KV_F16);
    for (int32_t i = 0; i < TOKENS * 64; i++) t.k[i] = 40;
    for (int32_t i = 0; i < TOKENS * 128; i++) t.q[i] = 40;
    run(&t, 0, 100, 0, 1);
    CHECK_NEAR(worst_error(&t, 0), 0, 2e-3);
    finish(&t);
}

int main(void)
{
    test_result_is_that_of_plain_softmax();
    test_bits_do_not_depend_on_chunks_threads_or_row();
    test_large_scores_stay_finite();
    return check_done();
}
