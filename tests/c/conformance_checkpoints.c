/* SPDX-License-Identifier: MIT
 * checkpoints/: every checkpoint in float32 (quantize none, f32 cache) on one and on two threads: logits of a row, of a
 * left-padded batch and of single steps through the cache, hidden states, greedy runs. */
#include "conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* fixtures/README.md, Tolerances. */
static const double LOGITS_TOLERANCE = 2e-4;
static const double LONG_LOGITS_TOLERANCE = 1e-3; /* rows of more than 100 positions: rope-1e6, yarn */
static const double HIDDEN_TOLERANCE = 2e-4;

enum { LONG_ROW = 100, CHUNK = 64, KEEP_FEW = 3 };

typedef struct checkpoint {
    const char *folder;
    const qw_json *expected;
    qw_engine *engine;
    double tolerance;
} checkpoint;

static double tolerance_of(const qw_json *expected)
{
    const qw_json *single = qw_json_get(qw_json_get(expected, "single"), "input_ids");
    const qw_json *batch = qw_json_first(qw_json_get(qw_json_get(expected, "batch"), "input_ids"));

    return qw_json_size(single) > LONG_ROW || (batch && qw_json_size(batch) > LONG_ROW) ? LONG_LOGITS_TOLERANCE
                                                                                        : LOGITS_TOLERANCE;
}

static void compare_logits(conf *c, const checkpoint *k, const qw_json *array, const float *got, size_t n,
                           const char *what)
{
    float *want = conf_read_f32(c, k->folder, array, n);

    if (want) conf_near(c, what, got, want, n, k->tolerance, false);
    qw_free(want);
}

/* Logits of the rows' last `keep` positions (0: all) against the array that key of object describes. */
static void check_forward(conf *c, const checkpoint *k, const qw_json *object, const char *key, int32_t keep)
{
    conf_rows rows = conf_rows_of(qw_json_get(object, "input_ids"), qw_json_get(object, "attention_mask"));
    size_t n = (keep ? (size_t)keep * rows.lengths.n : rows.ids.n) * conf_n_vocab(k->engine);
    conf_forward job = {
        .prompts = conf_prompts(&rows), .keep_last = keep, .chunk = CHUNK, .logits = conf_new(n, sizeof(float))};
    qw_error err = {0};

    if (conf_ok(c, conf_run_forward(k->engine, &job, &err), &err, key))
        compare_logits(c, k, qw_json_get(object, key), job.logits, n, key);
    qw_free(job.logits);
    conf_rows_free(&rows);
}

/* A part whose input_ids are one row, not a list of rows. */
static qw_status forward_row(const checkpoint *k, const qw_ids *ids, float *logits, float *hidden, qw_error *err)
{
    int32_t length = (int32_t)ids->n;
    conf_forward job = {.prompts = {ids->v, &length, 1}, .chunk = CHUNK, .logits = logits, .hidden = hidden};

    return conf_run_forward(k->engine, &job, err);
}

static void check_single(conf *c, const checkpoint *k)
{
    const qw_json *part = qw_json_get(k->expected, "single");
    qw_ids ids = conf_ids(qw_json_get(part, "input_ids"));
    size_t n = ids.n * conf_n_vocab(k->engine);
    float *logits = conf_new(n, sizeof *logits);
    qw_error err = {0};

    if (conf_ok(c, forward_row(k, &ids, logits, NULL, &err), &err, "single"))
        compare_logits(c, k, qw_json_get(part, "logits"), logits, n, "single");
    qw_free(logits);
    qw_ids_free(&ids);
}

static void check_hidden(conf *c, const checkpoint *k)
{
    const qw_json *part = qw_json_get(k->expected, "hidden");
    const qw_config *config = &qw_engine_model(k->engine)->config;
    qw_ids ids = conf_ids(qw_json_get(part, "input_ids"));
    size_t n = ((size_t)config->n_layer + 2) * ids.n * (size_t)config->dim;
    float *logits = conf_new(ids.n * conf_n_vocab(k->engine), sizeof *logits);
    float *hidden = conf_new(n, sizeof *hidden);
    float *want = conf_read_f32(c, k->folder, qw_json_get(part, "states"), n);
    qw_error err = {0};

    if (conf_ok(c, forward_row(k, &ids, logits, hidden, &err), &err, "hidden") && want)
        conf_near(c, "hidden", hidden, want, n, HIDDEN_TOLERANCE, false);
    qw_free(logits);
    qw_free(hidden);
    qw_free(want);
    qw_ids_free(&ids);
}

/* The prefill's logits come from a forward pass, those of the steps (and once more the prefill's last) from forced steps. */
static void check_incremental(conf *c, const checkpoint *k)
{
    const qw_json *part = qw_json_get(k->expected, "incremental");
    qw_ids ids = conf_ids(qw_json_get(part, "prefill_ids"));
    qw_ids steps = conf_ids(qw_json_get(part, "step_ids"));
    size_t n_vocab = conf_n_vocab(k->engine), n_prefill = ids.n, n = (ids.n + steps.n) * n_vocab;
    float *logits = conf_new(n + n_vocab, sizeof *logits);
    qw_error err = {0};
    qw_status status = forward_row(k, &ids, logits, NULL, &err);
    int32_t length;

    if (!status) status = qw_ids_append(&ids, steps.v, steps.n, &err);
    length = (int32_t)ids.n;
    qw_engine_forget(k->engine);
    if (!status)
        status = conf_run_forced(k->engine, (qw_prompts){ids.v, &length, 1}, (int32_t)steps.n,
                                 logits + (n_prefill - 1) * n_vocab, &err);
    if (conf_ok(c, status, &err, "incremental"))
        compare_logits(c, k, qw_json_get(part, "logits"), logits, n, "incremental");
    qw_free(logits);
    qw_ids_free(&ids);
    qw_ids_free(&steps);
}

/* Padded rows of the result against the reference's sequences. */
static void compare_sequences(conf *c, const conf_generation *g, const qw_json *result, const qw_json *sequences,
                              const char *what)
{
    int32_t row = 0;

    for (const qw_json *want_row = qw_json_first(sequences); want_row; want_row = qw_json_next(want_row), row++) {
        qw_ids got = {0}, want = conf_ids(want_row);

        if (row < qw_json_size(qw_json_get(result, "sequences"))) got = conf_padded(g, result, row);
        conf_same_ids(c, what, got.v, got.n, want.v, want.n);
        qw_ids_free(&got);
        qw_ids_free(&want);
    }
}

/* settings NULL: only the lengths are set, the rest comes from generation_config.json. */
static void check_greedy(conf *c, const checkpoint *k, const qw_json *run, const qw_json *settings, const char *what)
{
    const qw_json *input = qw_json_get(run, "input_ids");
    conf_rows rows = conf_rows_of(input, qw_json_get(run, "attention_mask"));
    conf_generation g = {.prompts = conf_prompts(&rows), .padding_width = rows.width};
    qw_json *result = NULL;
    qw_buf text = {0};
    qw_error err = {0};

    if (settings) conf_write_json(&text, settings);
    else if (qw_buf_printf(&text, NULL, "{\"max_new_tokens\": 48, \"do_sample\": false}")) abort();
    g.settings = (qw_text){text.bytes, text.n};
    if (conf_ok(c, conf_run_generation(k->engine, &g, &result, &err), &err, what))
        compare_sequences(c, &g, result, qw_json_get(run, "sequences"), what);
    qw_json_free(result);
    qw_job_end(k->engine);
    qw_buf_free(&text);
    conf_rows_free(&rows);
}

/* greedy.single has one row that is not in a list. */
static void check_greedy_single(conf *c, const checkpoint *k, const qw_json *greedy)
{
    const qw_json *run = qw_json_get(greedy, "single");
    qw_ids ids = conf_ids(qw_json_get(run, "input_ids"));
    int32_t length = (int32_t)ids.n;
    conf_generation g = {.prompts = {ids.v, &length, 1}};
    qw_json *result = NULL;
    qw_buf text = {0};
    qw_error err = {0};

    conf_write_json(&text, qw_json_get(greedy, "settings"));
    g.settings = (qw_text){text.bytes, text.n};
    if (conf_ok(c, conf_run_generation(k->engine, &g, &result, &err), &err, "greedy.single"))
        compare_sequences(c, &g, result, qw_json_get(run, "sequences"), "greedy.single");
    qw_json_free(result);
    qw_job_end(k->engine);
    qw_buf_free(&text);
    qw_ids_free(&ids);
}

static void check_all(conf *c, const checkpoint *k)
{
    const qw_json *greedy = qw_json_get(k->expected, "greedy"), *batch = qw_json_get(k->expected, "batch");
    const qw_json *defaults = qw_json_get(k->expected, "greedy_file_defaults");
    bool tied = qw_json_bool(qw_json_get(qw_json_get(k->expected, "loading"), "lm_head_is_embedding"));
    bool got = qw_engine_model(k->engine)->weights.head_is_embed;

    conf_check(c, got == tied, "LM head is the embedding: got %d, wanted %d", got, tied);
    check_single(c, k);
    check_hidden(c, k);
    check_forward(c, k, batch, "logits_last", 1);
    check_forward(c, k, batch, "logits_to_keep_3", KEEP_FEW);
    check_incremental(c, k);
    check_greedy_single(c, k, greedy);
    check_greedy(c, k, qw_json_get(greedy, "batch"), qw_json_get(greedy, "settings"), "greedy.batch");
    for (const qw_json *run = qw_json_first(qw_json_get(k->expected, "greedy_processors")); run;
         run = qw_json_next(run))
        check_greedy(c, k, run, qw_json_get(run, "settings"), qw_json_string(qw_json_get(run, "name")));
    if (defaults) check_greedy(c, k, defaults, NULL, "greedy_file_defaults");
}

/* untied-missing-head: the reference has no logits; the engine must refuse and name the tensor. */
static void check_refused(conf *c, const char *folder, const char *options)
{
    qw_engine *e = NULL;
    qw_error err = {0};
    qw_status status = qw_engine_new(&e, qw_text_of(options), &err);

    if (!status) status = qw_file_load(e, folder, 0, &err);
    conf_check(c, status == QW_ERR_MODEL && strstr(err.text, "lm_head.weight"),
               "a head that is missing: got %s (%s), wanted model and lm_head.weight", qw_status_name(status),
               err.text);
    qw_engine_free(e);
}

static void check_checkpoint(conf *c, const char *name, int32_t threads)
{
    char parent[400], folder[500], path[600], options[160];
    qw_json *expected;
    checkpoint k = {.folder = folder};

    conf_where(c, "checkpoints/%s, %d thread%s", name, (int)threads, threads > 1 ? "s" : "");
    conf_path(folder, sizeof folder, conf_path(parent, sizeof parent, c->folder, "checkpoints"), name);
    expected = conf_read_json(c, conf_path(path, sizeof path, folder, "expected.json"));
    snprintf(options, sizeof options,
             "{\"quantize\": \"none\", \"kvType\": \"f32\", \"contextLength\": 4096, \"threads\": %d}", (int)threads);
    if (expected && !qw_json_get(expected, "single")) {
        check_refused(c, folder, options);
    } else if (expected && (k.engine = conf_load(c, folder, options)) != NULL) {
        k.expected = expected;
        k.tolerance = tolerance_of(expected);
        check_all(c, &k);
        qw_engine_free(k.engine);
    }
    qw_json_free(expected);
}

void conf_checkpoints(conf *c)
{
    char path[400];
    conf_names names = conf_folders(conf_path(path, sizeof path, c->folder, "checkpoints"));

    conf_where(c, "checkpoints");
    if (!names.n) conf_check(c, false, "%s: 0 checkpoints, wanted some", path);
    for (size_t i = 0; i < names.n; i++)
        for (int32_t threads = 1; threads <= 2 && threads <= c->max_threads; threads++)
            check_checkpoint(c, names.v[i], threads);
    conf_names_free(&names);
}
