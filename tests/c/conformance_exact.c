/* SPDX-License-Identifier: MIT
 * Bits that must not depend on anything: the same rows run whole, in small chunks, token by token through the cache, alone
 * and together, on one to three threads, over each type of cache. What comes out is printed as a hash as well, so that
 * builds and hosts can be compared: scripts/lib/exact.mjs computes the same from the public API. */
#include "conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, WHOLE = 512, ODD_CHUNK = 7, BATCH_STEPS = 8 };

/* Lengths of the rows: of a small model, and of the real one (a text of 64 tokens, then 16 steps). */
enum { TINY_ROW = 48, REAL_ROW = 80, REAL_STEPS = 16, SHORT_ROW = 20, SHORTER_ROW = 11 };

typedef struct exact {
    conf *c;
    const char *path, *quantize, *kv_type;
    conf_rows rows;
    int32_t steps;   /* of row 0 alone */
    bool all_chunks; /* token by token and in odd chunks on every thread count */
    size_t n_vocab;
    float *want; /* [all tokens][n_vocab], by row */
} exact;

/* Two lanes of multiply and shift over the bits of each float. */
static void print_hash(const exact *x, size_t n)
{
    uint32_t a = 0x811c9dc5u, b = 0x2545f491u, w;

    for (size_t i = 0; i < n; i++) {
        memcpy(&w, x->want + i, sizeof w);
        a = (a ^ w) * 0x9e3779b1u;
        a ^= a >> 15;
        b = (b + w) * 0x85ebca77u;
        b ^= b >> 13;
    }
    printf("hash %s, %s, %s cache: %08x%08x\n", x->c->where, x->quantize, x->kv_type, (unsigned)a, (unsigned)b);
}

static qw_engine *load(const exact *x, int32_t threads)
{
    char options[160];

    snprintf(options, sizeof options,
             "{\"quantize\": \"%s\", \"kvType\": \"%s\", \"threads\": %d, \"contextLength\": 512}", x->quantize,
             x->kv_type, (int)threads);
    return conf_load(x->c, x->path, options);
}

static size_t row_start(const exact *x, int32_t row)
{
    size_t at = 0;

    for (int32_t r = 0; r < row; r++) at += (size_t)x->rows.lengths.v[r];
    return at;
}

/* The rows one by one, each as one chunk: what all else must equal. */
static bool run_alone(exact *x, qw_engine *e)
{
    for (int32_t r = 0; r < (int32_t)x->rows.lengths.n; r++) {
        size_t at = row_start(x, r);
        conf_forward job = {.chunk = WHOLE, .logits = x->want + at * x->n_vocab};
        qw_error err = {0};

        job.prompts = (qw_prompts){x->rows.ids.v + at, x->rows.lengths.v + r, 1};
        qw_engine_forget(e);
        if (!conf_ok(x->c, conf_run_forward(e, &job, &err), &err, "a row alone")) return false;
    }
    print_hash(x, x->rows.ids.n * x->n_vocab);
    return true;
}

static void check_together(const exact *x, qw_engine *e, int32_t chunk, int32_t threads)
{
    size_t n = x->rows.ids.n * x->n_vocab;
    conf_forward job = {.prompts = conf_prompts(&x->rows), .chunk = chunk, .logits = conf_new(n, sizeof(float))};
    qw_error err = {0};
    char what[100];

    snprintf(what, sizeof what, "%s, %s cache: rows together, chunks of %d, %d threads", x->quantize, x->kv_type,
             (int)chunk, (int)threads);
    qw_engine_forget(e);
    if (conf_ok(x->c, conf_run_forward(e, &job, &err), &err, what)) conf_same_bits(x->c, what, job.logits, x->want, n);
    qw_free(job.logits);
}

/* The last n_steps ids of the first n_rows rows one at a time, the rest as their prompts. */
static void check_steps(const exact *x, qw_engine *e, int32_t n_rows, int32_t n_steps, int32_t threads)
{
    qw_prompts rows = {x->rows.ids.v, x->rows.lengths.v, n_rows};
    size_t block = (size_t)(n_steps + 1) * x->n_vocab;
    float *scores = conf_new((size_t)n_rows * block, sizeof *scores);
    qw_error err = {0};
    char what[100];

    snprintf(what, sizeof what, "%s, %s cache: %d steps of %d rows, %d threads", x->quantize, x->kv_type, (int)n_steps,
             (int)n_rows, (int)threads);
    qw_engine_forget(e);
    if (conf_ok(x->c, conf_run_forced(e, rows, n_steps, scores, &err), &err, what)) {
        for (int32_t r = 0; r < n_rows; r++)
            conf_same_bits(x->c, what, scores + (size_t)r * block,
                           x->want + (row_start(x, r + 1) - (size_t)n_steps - 1) * x->n_vocab, block);
    }
    qw_free(scores);
}

static void check_threads(exact *x, int32_t threads)
{
    qw_engine *e = load(x, threads);

    if (!e) return;
    if (!x->want) {
        x->n_vocab = conf_n_vocab(e);
        x->want = conf_new(x->rows.ids.n * x->n_vocab, sizeof *x->want);
        if (!run_alone(x, e)) {
            qw_engine_free(e);
            return;
        }
    }
    check_together(x, e, WHOLE, threads);
    if (x->all_chunks || threads == 1) check_together(x, e, ODD_CHUNK, threads);
    if (x->all_chunks) check_together(x, e, 1, threads);
    check_steps(x, e, 1, x->steps, threads);
    check_steps(x, e, (int32_t)x->rows.lengths.n, BATCH_STEPS, threads);
    qw_engine_free(e);
}

/* On each number of threads from `least` to `most`, as far as the build has them. */
static void check_variant(exact *x, const char *quantize, const char *kv_type, int32_t least, int32_t most)
{
    x->quantize = quantize;
    x->kv_type = kv_type;
    for (int32_t t = least; t <= most && t <= x->c->max_threads; t++) check_threads(x, t);
    qw_free(x->want);
    x->want = NULL;
}

/* Three rows: the beginnings of the same ids at different places, so that no row is the prefix of another. */
static void make_rows(exact *x, const qw_ids *ids, int32_t longest)
{
    const int32_t limits[ROWS] = {longest, SHORT_ROW, SHORTER_ROW}, starts[ROWS] = {0, 3, 1};

    for (int32_t r = 0; r < ROWS; r++) {
        size_t n = ids->n - (size_t)starts[r];

        if (n > (size_t)limits[r]) n = (size_t)limits[r];
        if (qw_ids_append(&x->rows.ids, ids->v + starts[r], n, NULL) || qw_ids_push(&x->rows.lengths, (int32_t)n, NULL))
            abort();
    }
    x->steps = x->rows.lengths.v[0] - 1;
}

static void check_checkpoint(conf *c, const char *parent, const char *name)
{
    char folder[500], path[600];
    exact x = {.c = c, .path = folder, .all_chunks = true};
    qw_json *expected;
    qw_ids ids;

    conf_path(folder, sizeof folder, parent, name);
    conf_where(c, "exact/%s", name);
    expected = conf_read_json(c, conf_path(path, sizeof path, folder, "expected.json"));
    if (expected && qw_json_get(expected, "single")) { /* without: one that is refused */
        ids = conf_ids(qw_json_get(qw_json_get(expected, "single"), "input_ids"));
        make_rows(&x, &ids, TINY_ROW);
        check_variant(&x, "none", "f32", 1, 3);
        check_variant(&x, "q8_0", "f16", 1, 3);
        check_variant(&x, "q4_0", "q8_0", 1, 3);
        qw_ids_free(&ids);
    }
    conf_rows_free(&x.rows);
    qw_json_free(expected);
}

static void check_tiny(conf *c)
{
    static const char text[] =
        "It is a truth universally acknowledged, that a single man in possession of a good fortune, must be in "
        "want of a wife. However little known the feelings or views of such a man may be on his first "
        "entering a neighbourhood, this truth is so well fixed in the minds of the surrounding families.";
    exact x = {.c = c, .path = c->tiny, .all_chunks = true};
    qw_tokenize_options options = {.parse_special = false};
    qw_ids ids = {0};
    const int32_t *borrowed;
    qw_error err = {0};
    qw_engine *e;
    size_t n;

    conf_where(c, "exact/tiny");
    e = conf_load(c, c->tiny, "{}");
    if (e && conf_ok(c, qw_engine_tokenize(e, qw_text_of(text), &options, &borrowed, &n, &err), &err, "tokenize") &&
        qw_ids_append(&ids, borrowed, n, NULL) == QW_OK) {
        make_rows(&x, &ids, TINY_ROW);
        check_variant(&x, "q8_0", "f32", 1, 3);
        check_variant(&x, "q8_0", "f16", 1, 3);
        check_variant(&x, "q8_0", "q8_0", 1, 3);
    }
    qw_engine_free(e);
    qw_ids_free(&ids);
    conf_rows_free(&x.rows);
}

/* quick: over the usual cache on all threads; that numbers of threads and other caches are equal, the small models show. */
static void check_real(conf *c)
{
    exact x = {.c = c, .path = c->model};
    char path[512];
    qw_json *texts;
    qw_ids ids;

    conf_where(c, "exact/real");
    texts = conf_read_json(c, conf_path(path, sizeof path, c->folder, "real/teacher.json"));
    ids = conf_ids(qw_json_get(qw_json_first(texts), "input_ids"));
    if (conf_check(c, ids.n >= REAL_ROW, "ids of the first text: got %zu, wanted at least %d", ids.n, REAL_ROW)) {
        make_rows(&x, &ids, REAL_ROW);
        x.steps = REAL_STEPS;
        check_variant(&x, "q8_0", "f16", c->quick ? 3 : 1, 3);
        if (!c->quick) check_variant(&x, "q8_0", "f32", 1, 1);
        if (!c->quick) check_variant(&x, "q8_0", "q8_0", 1, 1);
    }
    qw_ids_free(&ids);
    qw_json_free(texts);
    conf_rows_free(&x.rows);
}

void conf_exact(conf *c)
{
    char parent[400], path[512];
    conf_names names = conf_folders(conf_path(parent, sizeof parent, c->folder, "checkpoints"));

    for (size_t i = 0; i < names.n; i++) check_checkpoint(c, parent, names.v[i]);
    conf_names_free(&names);
    if (c->tiny) check_tiny(c);
    if (!conf_exists(conf_path(path, sizeof path, c->folder, "real/teacher.json"))) return;
    conf_where(c, "exact/real");
    if (c->model) check_real(c);
    else conf_skip(c, 1, "needs the real model: --model FILE");
}
