/* SPDX-License-Identifier: MIT
 * Logits processing against what Transformers' processors left (fixtures/processors).
 * Usage: test_processors [FIXTURES]; else $QW_FIXTURES, else tests/fixtures. */
#include "base/json.h"
#include "generation/logits.h"
#include "generation/settings_parse.h"
#include "check.h"

#include <math.h>
#include <stdlib.h>

static const char *fixtures = "tests/fixtures";

static char *read_all(const char *path, size_t *n)
{
    FILE *file = fopen(path, "rb");
    char *text = NULL;
    long size;

    *n = 0;
    if (!file) return NULL;
    if (fseek(file, 0, SEEK_END) == 0 && (size = ftell(file)) >= 0 && fseek(file, 0, SEEK_SET) == 0) {
        text = malloc((size_t)size + 1);
        if (text) *n = fread(text, 1, (size_t)size, file);
    }
    fclose(file);
    return text;
}

/* A number, or one of the words that JSON lacks. */
static float score_of(const qw_json *node)
{
    const char *word = qw_json_string(node);

    if (!strcmp(word, "-inf")) return -INFINITY;
    if (!strcmp(word, "inf")) return INFINITY;
    return !strcmp(word, "nan") ? NAN : (float)qw_json_number(node);
}

static void read_scores(const qw_json *array, float *out)
{
    for (const qw_json *item = qw_json_first(array); item; item = qw_json_next(item)) *out++ = score_of(item);
}

/* JSON text of a node that is an object of numbers, bools, strings and arrays of them: what a case's config is. */
static void write_json(qw_buf *out, const qw_json *node)
{
    qw_json_kind kind = qw_json_kind_of(node);

    if (kind == QW_JSON_NUMBER) CHECK_EQ(qw_json_write_number(out, qw_json_number(node), NULL), QW_OK);
    else if (kind == QW_JSON_STRING) CHECK_EQ(qw_json_write_string(out, qw_text_of(qw_json_string(node)), NULL), QW_OK);
    else if (kind == QW_JSON_BOOL)
        CHECK_EQ(qw_buf_printf(out, NULL, "%s", qw_json_bool(node) ? "true" : "false"), QW_OK);
    if (kind != QW_JSON_ARRAY && kind != QW_JSON_OBJECT) return;
    CHECK_EQ(qw_buf_append(out, kind == QW_JSON_ARRAY ? "[" : "{", 1, NULL), QW_OK);
    for (const qw_json *item = qw_json_first(node); item; item = qw_json_next(item)) {
        if (item != qw_json_first(node)) CHECK_EQ(qw_buf_append(out, ",", 1, NULL), QW_OK);
        if (kind == QW_JSON_OBJECT) CHECK_EQ(qw_buf_printf(out, NULL, "\"%s\":", qw_json_key(item)), QW_OK);
        write_json(out, item);
    }
    CHECK_EQ(qw_buf_append(out, kind == QW_JSON_ARRAY ? "]" : "}", 1, NULL), QW_OK);
}

static int by_value(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;

    return (x > y) - (x < y);
}

/* Absolute up to 1, relative above. */
static void check_scores(const char *name, const char *what, const float *got, const float *wanted, int32_t n)
{
    int32_t bad = 0;

    for (int32_t i = 0; i < n; i++) {
        double scale = fabsf(wanted[i]) > 1 ? (double)fabsf(wanted[i]) : 1.0;
        bool same = got[i] <= wanted[i] && got[i] >= wanted[i];

        if (same || fabs((double)got[i] - (double)wanted[i]) <= 1e-5 * scale) continue;
        if (bad++ == 0)
            printf("  %s: %s[%d]: got %.9g, wanted %.9g\n", name, what, (int)i, (double)got[i], (double)wanted[i]);
    }
    CHECK_EQ(bad, 0);
}

static void softmax(const float *scores, float *probs, int32_t n)
{
    double sum = 0, max = -INFINITY;

    for (int32_t i = 0; i < n; i++) max = (double)scores[i] > max ? (double)scores[i] : max;
    for (int32_t i = 0; i < n; i++) sum += exp((double)scores[i] - max);
    for (int32_t i = 0; i < n; i++) probs[i] = (float)(exp((double)scores[i] - max) / sum);
}

typedef struct fixture {
    const char *name;
    int32_t n, n_ids, n_prompt, n_pad;
    int32_t ids[256];
    float scores[4096], after[4096], probs[4096];
    bool ties;
} fixture;

static void load_case(fixture *f, const qw_json *c)
{
    int32_t n_real = 0;

    f->name = qw_json_string(qw_json_get(c, "name"));
    f->n = (int32_t)qw_json_number(qw_json_get(c, "vocab"));
    f->n_prompt = (int32_t)qw_json_number(qw_json_get(c, "prompt_len"));
    f->ties = qw_json_bool(qw_json_get(c, "ties"));
    f->n_pad = 0;
    for (const qw_json *m = qw_json_first(qw_json_get(c, "attention_mask")); m; m = qw_json_next(m))
        f->n_pad += qw_json_number(m) < 1;
    for (const qw_json *id = qw_json_first(qw_json_get(c, "input_ids")); id && n_real < 256; id = qw_json_next(id))
        f->ids[n_real++] = (int32_t)qw_json_number(id);
    f->n_ids = n_real;
    if (f->n > 4096) f->n = 0;
    read_scores(qw_json_get(c, "scores"), f->scores);
    read_scores(qw_json_get(c, "after"), f->after);
    read_scores(qw_json_get(c, "probs"), f->probs);
}

static void run_case(const qw_json *c)
{
    static fixture f;
    static float got_probs[4096];
    qw_model model = {.pad = -1};
    qw_logits_scratch scratch = {0};
    qw_settings s;
    qw_buf config = {0};
    qw_error err = {0};
    qw_status status;

    load_case(&f, c);
    CHECK(f.n > 0);
    model.config.n_vocab = f.n;
    write_json(&config, qw_json_get(c, "config"));
    status = qw_settings_parse(&s, (qw_text){config.bytes, config.n}, &model, &err);
    if (!status) status = qw_logits_scratch_init(&scratch, f.n, &err);
    if (!status) {
        qw_history h = {f.ids, f.n_ids, f.n_prompt, 0, f.n_pad, false};

        status = qw_logits_process(&s, &h, &scratch, f.scores, &err);
        if (!status) status = qw_logits_warp(&s, &h, &scratch, f.scores, &err);
    }
    CHECK_EQ(status, QW_OK);
    if (status) printf("  %s: %s\n", f.name, err.text);
    for (int32_t i = 0; scratch.seen && i < (f.n + 31) / 32; i++) CHECK_EQ(scratch.seen[i], 0);
    softmax(f.scores, got_probs, f.n);
    if (f.ties) {
        qsort(f.scores, (size_t)f.n, sizeof(float), by_value);
        qsort(f.after, (size_t)f.n, sizeof(float), by_value);
        qsort(got_probs, (size_t)f.n, sizeof(float), by_value);
        qsort(f.probs, (size_t)f.n, sizeof(float), by_value);
    }
    check_scores(f.name, "after", f.scores, f.after, f.n);
    check_scores(f.name, "probs", got_probs, f.probs, f.n);
    qw_settings_free(&s);
    qw_logits_scratch_free(&scratch);
    qw_buf_free(&config);
}

static void test_fixtures(void)
{
    char path[1024];
    size_t n;
    char *text;
    int32_t n_cases = 0;

    snprintf(path, sizeof path, "%s/processors/cases.jsonl", fixtures);
    text = read_all(path, &n);
    CHECK(text != NULL);
    for (char *line = text, *end; text && line < text + n; line = end + 1) {
        qw_json *c = NULL;

        end = memchr(line, '\n', (size_t)(text + n - line));
        if (!end) end = text + n;
        if (end == line) continue;
        CHECK_EQ(qw_json_parse(&c, (qw_text){line, (size_t)(end - line)}, path, NULL), QW_OK);
        if (c) run_case(c);
        qw_json_free(c);
        n_cases++;
    }
    CHECK(n_cases > 100);
    free(text);
}

int main(int argc, char **argv)
{
    if (argc > 1) fixtures = argv[1];
    else if (getenv("QW_FIXTURES")) fixtures = getenv("QW_FIXTURES");
    test_fixtures();
    return check_done();
}
