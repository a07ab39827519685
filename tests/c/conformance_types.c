/* SPDX-License-Identifier: MIT
 * types/: blocks of every type that published files hold, value for value, and models made of them: with weights dequantised to
 * float32 against the golden logits, then as they are kept, by divergence from that. */
#include "conformance.h"

#include "files/woven.h"
#include "kernels/quant.h"
#include "model/tensors.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* fixtures/types/README.md. */
static const double LOGITS_TOLERANCE = 2e-4;
static const double KL_FACTOR = 1.5, KL_AT_MOST = 0.005; /* mean per position, of the model's own int8 figure */
static const double SURE_GAP = 0.5;                      /* no argmax may differ where the reference's lead is larger */

enum { N_ROW = 48, CHUNK = 64, PATHS = 2 };

static int32_t number(const qw_json *object, const char *key)
{
    return (int32_t)qw_json_number(qw_json_get(object, key));
}

static void unhex(qw_buf *out, const char *hex)
{
    for (; hex[0] && hex[1]; hex += 2) {
        char pair[3] = {hex[0], hex[1], 0}, byte = (char)strtoul(pair, NULL, 16);
        if (qw_buf_append(out, &byte, 1, NULL)) abort();
    }
}

static void check_not_finite(conf *c, const qw_json *entry, qw_dtype type)
{
    const qw_json *block = qw_json_first(qw_json_get(entry, "not_finite"));

    for (; block; block = qw_json_next(block)) {
        qw_buf bytes = {0};
        unhex(&bytes, qw_json_string(block));
        conf_check(c, !qw_tensor_finite((const uint8_t *)bytes.bytes, bytes.n, type),
                   "a scale that is not finite: got accepted, wanted refused (%s)", qw_json_string(block));
        qw_buf_free(&bytes);
    }
}

/* The raw rows of an entry, unwoven where they are woven. */
static bool read_rows(conf *c, const char *folder, const qw_json *entry, qw_buf *bytes)
{
    const qw_weave *weave = qw_weave_of((uint32_t)number(entry, "ggml_type"));
    size_t row = qw_dtype_row_bytes(QW_Q4_0, number(entry, "cols"));
    char path[512];

    if (!conf_read(c, conf_path(path, sizeof path, folder, qw_json_string(qw_json_get(entry, "file"))), bytes))
        return false;
    return !weave || !qw_unweave((uint8_t *)bytes->bytes, weave, number(entry, "rows"), row, NULL);
}

static void check_blocks_of(conf *c, const char *folder, const qw_json *entry)
{
    uint32_t file_type = (uint32_t)number(entry, "ggml_type");
    bool woven = qw_weave_of(file_type);
    qw_dtype type = woven ? QW_Q4_0 : (qw_dtype)file_type;
    qw_buf bytes = {0};
    const char *name = qw_json_string(qw_json_get(entry, "type"));

    conf_where(c, "types/blocks, %s", name);
    if (!conf_check(c, woven || qw_dtype_known(file_type), "type %u: got unknown, wanted known", (unsigned)file_type))
        return;
    if (read_rows(c, folder, entry, &bytes)) {
        size_t n = bytes.n / qw_dtype_block_bytes(type) * (size_t)qw_dtype_block(type), same = 0;
        float *want = conf_read_f32(c, folder, qw_json_get(entry, "values"), n);
        float *got = conf_new(n, sizeof *got);
        qw_dequantize(got, (const uint8_t *)bytes.bytes, type, (int64_t)n);
        for (size_t i = 0; want && i < n; i++) same += got[i] == want[i];
        conf_check(c, same == n, "values: got %zu equal, wanted %zu", same, n);
        conf_check(c, qw_tensor_finite((const uint8_t *)bytes.bytes, bytes.n, type), "got refused, wanted finite");
        qw_free(got);
        qw_free(want);
    }
    check_not_finite(c, entry, type);
    qw_buf_free(&bytes);
}

/* Prompt and greedy tokens of a model's case, and the logits of both paths: weights in float32, and as kept. */
typedef struct row {
    qw_ids ids;
    size_t n_vocab, n_prompt;
    float *logits[PATHS];
} row;

static bool run_row(conf *c, qw_engine *const engines[PATHS], const qw_json *prompt, row *r)
{
    qw_ids greedy = conf_ids(qw_json_get(qw_json_get(prompt, "greedy"), "new_ids"));
    qw_error err = {0};
    bool ok = true;
    int32_t length;

    *r = (row){.ids = conf_ids(qw_json_get(prompt, "input_ids")), .n_vocab = conf_n_vocab(engines[0])};
    r->n_prompt = r->ids.n;
    if (qw_ids_append(&r->ids, greedy.v, greedy.n, NULL)) abort();
    length = (int32_t)r->ids.n;
    for (int i = 0; i < PATHS && ok; i++) {
        conf_forward job = {.prompts = {r->ids.v, &length, 1}, .chunk = CHUNK};
        job.logits = r->logits[i] = conf_new(r->ids.n * r->n_vocab, sizeof(float));
        ok = conf_ok(c, conf_run_forward(engines[i], &job, &err), &err, "forward");
    }
    qw_ids_free(&greedy);
    return ok;
}

static void row_free(row *r)
{
    for (int i = 0; i < PATHS; i++) qw_free(r->logits[i]);
    qw_ids_free(&r->ids);
}

/* The float32 path against the golden logits, and its choices against the greedy tokens. */
static void check_reference(conf *c, const char *folder, const qw_json *prompt, const row *r)
{
    size_t n = r->n_prompt * r->n_vocab;
    float *want = conf_read_f32(c, folder, qw_json_get(prompt, "logits"), n);
    int32_t choices[N_ROW];
    size_t n_new = r->ids.n - r->n_prompt;

    if (want) conf_near(c, "logits", r->logits[0], want, n, LOGITS_TOLERANCE, false);
    for (size_t i = 0; i < n_new; i++)
        choices[i] = conf_argmax(r->logits[0] + (r->n_prompt - 1 + i) * r->n_vocab, r->n_vocab);
    conf_same_ids(c, "greedy", choices, n_new, r->ids.v + r->n_prompt, n_new);
    qw_free(want);
}

static double lead(const float *x, size_t n, int32_t over)
{
    return (double)x[conf_argmax(x, n)] - (double)x[over];
}

/* Sums the divergence over the row's positions; counts what int8 activations may not change. */
static double check_kept(conf *c, const row *r)
{
    double sum = 0, missed = 0;

    for (size_t i = 0; i < r->ids.n; i++) {
        const float *want = r->logits[0] + i * r->n_vocab, *got = r->logits[1] + i * r->n_vocab;
        double gap = lead(want, r->n_vocab, conf_argmax(got, r->n_vocab));
        sum += conf_divergence(want, got, r->n_vocab);
        missed = gap > missed ? gap : missed;
    }
    conf_check(c, missed <= SURE_GAP, "as kept, an argmax differs at a lead of %.3f, wanted at most %.1f", missed,
               SURE_GAP);
    return sum;
}

static void check_model(conf *c, const char *name, const char *folder, const qw_json *expected)
{
    static const char *const options[PATHS] = {"{\"quantize\": \"f32\", \"kvType\": \"f32\"}", "{\"kvType\": \"f32\"}"};
    double peer = qw_json_number(qw_json_get(qw_json_get(expected, "int8_activations"), "kl_mean")), sum = 0;
    qw_engine *engines[PATHS] = {NULL, NULL};
    char path[512];
    size_t n = 0;

    conf_path(path, sizeof path, folder, "model.gguf");
    for (int i = 0; i < PATHS; i++) engines[i] = conf_load(c, path, options[i]);
    for (const qw_json *p = qw_json_first(qw_json_get(expected, "prompts")); p && engines[0] && engines[1];
         p = qw_json_next(p)) {
        row r;
        conf_where(c, "types/models/%s, prompt %zu", name, n / N_ROW);
        if (run_row(c, engines, p, &r)) {
            check_reference(c, folder, p, &r);
            sum += check_kept(c, &r);
            n += r.ids.n;
        }
        row_free(&r);
    }
    conf_where(c, "types/models/%s", name);
    conf_check(c, n && sum / (double)n <= KL_FACTOR * peer && sum / (double)n <= KL_AT_MOST,
               "mean divergence as kept: got %.5f over %zu positions, wanted at most %.5f", n ? sum / (double)n : 0, n,
               KL_FACTOR * peer);
    for (int i = 0; i < PATHS; i++) qw_engine_free(engines[i]);
}

void conf_types(conf *c)
{
    char blocks[400], models[400], folder[480], path[512];
    qw_json *expected;
    conf_names names;

    conf_where(c, "types");
    conf_path(blocks, sizeof blocks, c->folder, "types/blocks");
    expected = conf_read_json(c, conf_path(path, sizeof path, blocks, "expected.json"));
    for (const qw_json *e = qw_json_first(qw_json_get(expected, "types")); e; e = qw_json_next(e))
        check_blocks_of(c, blocks, e);
    qw_json_free(expected);
    names = conf_folders(conf_path(models, sizeof models, c->folder, "types/models"));
    for (size_t i = 0; i < names.n; i++) {
        conf_path(folder, sizeof folder, models, names.v[i]);
        conf_where(c, "types/models/%s", names.v[i]);
        expected = conf_read_json(c, conf_path(path, sizeof path, folder, "expected.json"));
        if (expected) check_model(c, names.v[i], folder, expected);
        qw_json_free(expected);
    }
    conf_names_free(&names);
}
