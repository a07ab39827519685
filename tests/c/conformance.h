/* SPDX-License-Identifier: MIT
 * The conformance runner: every part compares the engine with golden data of the reference, through qw.h wherever that is
 * possible. This header holds what the parts share: counting, reading fixtures, and running an engine. */
#ifndef CONFORMANCE_H
#define CONFORMANCE_H

#include "base/alloc.h"
#include "engine/engine.h"
#include "hosts/file_source.h"
#include "base/json.h"
#include "qw.h"

typedef struct conf {
    int64_t passed, failed, skipped;
    const char *folder;  /* of the fixtures at hand */
    const char *model;   /* vocabulary and real model, or NULL where there is none */
    const char *tiny;    /* a small GGUF for the exactness part, or NULL */
    bool quick;          /* the real model's bits over one cache and number of threads */
    bool reference;      /* the real model against a float32 path of the same weights too: 3 GB */
    int32_t max_threads; /* 1 in builds without threads */
    char where[200];     /* what is being checked, for failures */
} conf;

void conf_where(conf *c, const char *format, ...) QW_PRINTF(2, 3);
/* Counts one check; a failure prints `where` and the text, which holds both values. Returns ok. */
bool conf_check(conf *c, bool ok, const char *format, ...) QW_PRINTF(3, 4);
/* A step that must succeed before anything can be compared: only its failure counts. Returns true where it went well. */
bool conf_ok(conf *c, qw_status status, const qw_error *err, const char *what);
void conf_skip(conf *c, int64_t n, const char *why);

bool conf_same_ids(conf *c, const char *what, const int32_t *got, size_t n_got, const int32_t *want, size_t n_want);
bool conf_same_text(conf *c, const char *what, qw_text got, qw_text want);
/* Every |got - want| <= tolerance (relative where |want| > 1 and relative is set); equal infinities are near. */
bool conf_near(conf *c, const char *what, const float *got, const float *want, size_t n, double tolerance,
               bool relative);
bool conf_same_bits(conf *c, const char *what, const float *got, const float *want, size_t n);

/* Fixtures: all read failures count as failed checks. */

/* Memory for n things or the end of the program; freed with qw_free. */
void *conf_new(size_t n, size_t size);
bool conf_exists(const char *path);
/* folder/name into a buffer that holds `size` bytes. */
const char *conf_path(char *buffer, size_t size, const char *folder, const char *name);
/* The names in a folder, sorted, hidden ones left out. */
typedef struct conf_names {
    char *v[64];
    size_t n;
} conf_names;
conf_names conf_folders(const char *path);
void conf_names_free(conf_names *names);
bool conf_read(conf *c, const char *path, qw_buf *out);
/* NULL where it cannot be read or parsed. The caller's: qw_json_free. */
qw_json *conf_read_json(conf *c, const char *path);
/* Calls fn for each line of a .jsonl file. */
typedef void conf_line_fn(conf *c, const qw_json *line, void *arg);
void conf_each_line(conf *c, const char *path, conf_line_fn *fn, void *arg);
/* The text of a node read by the two above, U+0000 included, and a NUL behind it. The caller's: qw_buf_free. */
qw_buf conf_text(const qw_json *node);
/* A node as JSON again. */
void conf_write_json(qw_buf *out, const qw_json *node);
/* The ids of an array. The caller's: qw_ids_free. */
qw_ids conf_ids(const qw_json *array);
/* The raw array that {"file", "shape"} describes, where it holds n floats; else NULL and a failure. The caller's: qw_free. */
float *conf_read_f32(conf *c, const char *folder, const qw_json *array, size_t n);
/* A number, or one of "inf", "-inf", "nan". */
float conf_float(const qw_json *node);

/* log of the sum of exponentials, in double. */
double conf_log_sum_exp(const float *x, size_t n);
int32_t conf_argmax(const float *x, size_t n);
/* KL(reference || got) over the whole vocabulary, in nats. */
double conf_divergence(const float *reference, const float *got, size_t n);

/* Rows without their left padding. */
typedef struct conf_rows {
    qw_ids ids, lengths;
    int32_t width; /* with padding */
} conf_rows;

/* mask may be NULL: no padding. Where it is shorter than a row, it covers the row's beginning. */
conf_rows conf_rows_of(const qw_json *input_ids, const qw_json *mask);
void conf_rows_free(conf_rows *rows);
qw_prompts conf_prompts(const conf_rows *rows);

/* A loaded engine, or NULL and a failure. options: qw_engine_new's. */
qw_engine *conf_load(conf *c, const char *path, const char *options);
size_t conf_n_vocab(const qw_engine *e);

typedef void conf_logits_fn(void *arg, int32_t row, int32_t first, int32_t n, const float *logits);

/* A forward job: logits of each row's last `keep_last` tokens (0: of all), to `each` (n of them from the first-th kept one of
 * the row on) or, where that is NULL, to logits [all kept, by row][n_vocab]; hidden [n_layer + 2][n][dim] of a single row, or NULL. */
typedef struct conf_forward {
    qw_prompts prompts;
    int32_t keep_last, chunk;
    float *logits, *hidden;
    conf_logits_fn *each;
    void *arg;
} conf_forward;
qw_status conf_run_forward(qw_engine *e, const conf_forward *job, qw_error *err);

/* Runs whole rows as a generation whose choices are forced: the last n_steps ids of each row are fed one at a time, the others
 * as its prompt. scores [rows][n_steps + 1][n_vocab]: after the prompt and after each step. */
qw_status conf_run_forced(qw_engine *e, qw_prompts rows, int32_t n_steps, float *scores, qw_error *err);

/* Runs a generation to its end. *result: qw_job_result, the caller's. */
typedef struct conf_generation {
    qw_prompts prompts;
    qw_text settings, stops;
    int32_t padding_width;
} conf_generation;
qw_status conf_run_generation(qw_engine *e, const conf_generation *g, qw_json **result, qw_error *err);
/* A row of its result as the reference has it: the prompt padded on the left, the new ids on the right, to the batch's widths. The
 * caller's. */
qw_ids conf_padded(const conf_generation *g, const qw_json *result, int32_t row);

/* Parts, each over c->folder. */

void conf_tokenizer(conf *c);
void conf_checkpoints(conf *c);
void conf_processors(conf *c);
void conf_stopping(conf *c);
void conf_real(conf *c);
/* Bits that must not depend on threads, chunks, batches and builds; prints a line "hash NAME HEX" each. */
void conf_exact(conf *c);
void conf_types(conf *c);

#endif
