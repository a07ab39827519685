/* SPDX-License-Identifier: MIT
 * processors/: one application of the processors to given scores, straight through logits.h. */
#include "conformance.h"

#include "generation/logits.h"
#include "generation/settings_parse.h"
#include "base/exact_math.h"

#include <stdlib.h>
#include <string.h>

static const double PROCESSORS_TOLERANCE = 1e-5; /* fixtures/README.md: `after` relative above 1, `probs` absolute */

typedef struct processing {
    qw_model model;
    qw_settings settings;
    qw_logits_scratch scratch;
    float *scores;
    size_t n_vocab;
} processing;

static float *floats_of(const qw_json *array, size_t n)
{
    float *v = conf_new(n, sizeof *v);
    size_t i = 0;

    for (const qw_json *x = qw_json_first(array); x && i < n; x = qw_json_next(x)) v[i++] = conf_float(x);
    return v;
}

static int ascending(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Softmax of x in double, in place; -inf has probability 0. */
static void softmax(float *x, size_t n)
{
    double *p = conf_new(n, sizeof *p);
    double best = -1.0 / 0.0, sum = 0;

    for (size_t i = 0; i < n; i++) best = (double)x[i] > best ? (double)x[i] : best;
    for (size_t i = 0; i < n; i++) sum += p[i] = qw_exp((double)x[i] - best);
    for (size_t i = 0; i < n; i++) x[i] = (float)(p[i] / sum);
    qw_free(p);
}

static void compare(conf *c, const processing *p, const qw_json *line, const char *key)
{
    float *want = floats_of(qw_json_get(line, key), p->n_vocab);
    float *got = conf_new(p->n_vocab, sizeof *got);

    memcpy(got, p->scores, p->n_vocab * sizeof *got);
    if (strcmp(key, "probs") == 0) softmax(got, p->n_vocab);
    if (qw_json_bool(qw_json_get(line, "ties"))) {
        qsort(want, p->n_vocab, sizeof *want, ascending);
        qsort(got, p->n_vocab, sizeof *got, ascending);
    }
    conf_near(c, key, got, want, p->n_vocab, PROCESSORS_TOLERANCE, strcmp(key, "after") == 0);
    qw_free(want);
    qw_free(got);
}

static qw_status process(processing *p, const qw_json *line, qw_error *err)
{
    const qw_json *masked = qw_json_get(line, "attention_mask");
    qw_ids ids = conf_ids(qw_json_get(line, "input_ids"));
    qw_history h = {ids.v, (int32_t)ids.n, (int32_t)qw_json_number(qw_json_get(line, "prompt_len")), 0, 0, false};
    const qw_json *mask = qw_json_first(masked);
    qw_status status;

    for (; mask && qw_json_number(mask) == 0; mask = qw_json_next(mask)) h.n_masked++;
    status = qw_logits_process(&p->settings, &h, &p->scratch, p->scores, err);
    if (!status) status = qw_logits_warp(&p->settings, &h, &p->scratch, p->scores, err);
    qw_ids_free(&ids);
    return status;
}

static void check_case(conf *c, const qw_json *line, void *arg)
{
    processing p = {.n_vocab = (size_t)qw_json_number(qw_json_get(line, "vocab"))};
    qw_buf settings = {0};
    qw_error err = {0};
    qw_status status;

    (void)arg;
    conf_where(c, "processors/%s", qw_json_string(qw_json_get(line, "name")));
    p.model.config.n_vocab = (int32_t)p.n_vocab;
    p.model.pad = -1;
    p.scores = floats_of(qw_json_get(line, "scores"), p.n_vocab);
    conf_write_json(&settings, qw_json_get(line, "config"));
    status = qw_settings_parse(&p.settings, (qw_text){settings.bytes, settings.n}, &p.model, &err);
    if (!status) status = qw_logits_scratch_init(&p.scratch, p.model.config.n_vocab, &err);
    if (!status) status = process(&p, line, &err);
    if (conf_ok(c, status, &err, "processing")) {
        compare(c, &p, line, "after");
        compare(c, &p, line, "probs");
    }
    qw_logits_scratch_free(&p.scratch);
    qw_settings_free(&p.settings);
    qw_buf_free(&settings);
    qw_free(p.scores);
}

void conf_processors(conf *c)
{
    char path[512];

    conf_each_line(c, conf_path(path, sizeof path, c->folder, "processors/cases.jsonl"), check_case, NULL);
}
