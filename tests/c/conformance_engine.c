/* SPDX-License-Identifier: MIT
 * Running an engine for the conformance runner, through qw.h alone: forward jobs collected, a generation whose choices
 * are forced by way of the custom processor (each step is a real one through the KV cache), a generation run to its end. */
#include "conformance.h"

#include <string.h>

enum { GENERATE_CHUNK = 512 };

static void push(qw_ids *ids, int32_t id)
{
    if (qw_ids_push(ids, id, NULL)) conf_new(SIZE_MAX, 1);
}

conf_rows conf_rows_of(const qw_json *input_ids, const qw_json *mask)
{
    const qw_json *mask_row = qw_json_first(mask);
    conf_rows rows = {0};

    for (const qw_json *row = qw_json_first(input_ids); row; row = qw_json_next(row)) {
        const qw_json *kept = qw_json_first(mask_row);
        size_t before = rows.ids.n;

        rows.width = qw_json_size(row);
        for (const qw_json *id = qw_json_first(row); id; id = qw_json_next(id)) {
            if (!kept || qw_json_number(kept) != 0) push(&rows.ids, (int32_t)qw_json_number(id));
            kept = kept ? qw_json_next(kept) : NULL;
        }
        push(&rows.lengths, (int32_t)(rows.ids.n - before));
        mask_row = mask_row ? qw_json_next(mask_row) : NULL;
    }
    return rows;
}

void conf_rows_free(conf_rows *rows)
{
    qw_ids_free(&rows->ids);
    qw_ids_free(&rows->lengths);
}

qw_prompts conf_prompts(const conf_rows *rows)
{
    return (qw_prompts){rows->ids.v, rows->lengths.v, (int32_t)rows->lengths.n};
}

qw_engine *conf_load(conf *c, const char *path, const char *options)
{
    qw_engine *e = NULL;
    qw_error err = {0};
    qw_status status = qw_engine_new(&e, qw_text_of(options), &err);

    if (!status) status = qw_file_load(e, path, 0, &err);
    if (conf_ok(c, status, &err, path)) return e;
    qw_engine_free(e);
    return NULL;
}

size_t conf_n_vocab(const qw_engine *e)
{
    return (size_t)qw_engine_model(e)->config.n_vocab;
}

/* Where the next logits of each row go. */
typedef struct collector {
    const conf_forward *job;
    int32_t *kept, *first; /* [n_rows] how many logits the row gives, and gave */
    size_t n_vocab, n_states, dim;
} collector;

static int32_t kept_of(const conf_forward *job, int32_t row)
{
    int32_t n = job->prompts.lengths[row];

    return job->keep_last && job->keep_last < n ? job->keep_last : n;
}

static void take_hidden(const collector *k, const qw_forward_out *out)
{
    size_t n = (size_t)k->job->prompts.lengths[0];

    for (size_t s = 0; s < k->n_states; s++)
        memcpy(k->job->hidden + (s * n + (size_t)out->pos) * k->dim, out->hidden + s * (size_t)out->n_hidden * k->dim,
               (size_t)out->n_hidden * k->dim * sizeof(float));
}

static qw_status take_output(collector *k, const qw_engine *e, qw_error *err)
{
    qw_forward_out out;
    size_t at = 0;

    qw_forward_output(e, &out);
    if (k->job->hidden && out.hidden) take_hidden(k, &out);
    if (out.n == 0) return QW_OK;
    if (out.row < 0 || out.row >= k->job->prompts.n_rows || k->first[out.row] + out.n > kept_of(k->job, out.row))
        return qw_fail(err, QW_ERR_INTERNAL, "%d logits of row %d after more than it was asked for", (int)out.n,
                       (int)out.row);

    for (int32_t r = 0; r < out.row; r++) at += (size_t)kept_of(k->job, r);
    at = (at + (size_t)k->first[out.row]) * k->n_vocab;
    if (k->job->each) k->job->each(k->job->arg, out.row, k->first[out.row], out.n, out.logits);
    else memcpy(k->job->logits + at, out.logits, (size_t)out.n * k->n_vocab * sizeof(float));
    k->first[out.row] += out.n;
    return QW_OK;
}

static qw_status step_forward(collector *k, qw_engine *e, qw_error *err)
{
    qw_step_result result = QW_STEP_MORE;

    while (result != QW_STEP_DONE) {
        QW_TRY(qw_step(e, k->job->chunk, &result, err));
        QW_TRY(take_output(k, e, err));
    }
    for (int32_t r = 0; r < k->job->prompts.n_rows; r++)
        if (k->first[r] != kept_of(k->job, r))
            return qw_fail(err, QW_ERR_INTERNAL, "row %d gave %d logits, wanted %d", (int)r, (int)k->first[r],
                           (int)kept_of(k->job, r));
    return QW_OK;
}

qw_status conf_run_forward(qw_engine *e, const conf_forward *job, qw_error *err)
{
    const qw_config *config = &qw_engine_model(e)->config;
    collector k = {
        .job = job, .n_vocab = conf_n_vocab(e), .n_states = (size_t)config->n_layer + 2, .dim = (size_t)config->dim};
    size_t n_ids = 0, at = 0;
    uint8_t *keep;
    qw_status status;

    for (int32_t r = 0; r < job->prompts.n_rows; r++) n_ids += (size_t)job->prompts.lengths[r];
    keep = conf_new(n_ids, 1);
    for (int32_t r = 0; r < job->prompts.n_rows; r++) {
        at += (size_t)job->prompts.lengths[r];
        memset(keep + at - kept_of(job, r), 1, (size_t)kept_of(job, r));
    }
    k.first = conf_new((size_t)job->prompts.n_rows, sizeof *k.first);
    status = qw_forward_begin(e, &job->prompts, keep, job->hidden != NULL, err);
    if (!status) status = step_forward(&k, e, err);
    qw_job_end(e);
    qw_free(k.first);
    qw_free(keep);
    return status;
}

typedef struct forced {
    qw_prompts rows; /* whole */
    int32_t *prompt_lengths;
    int32_t n_steps;
    float *scores;
    int64_t taken;
} forced;

static const int32_t *row_ids(const qw_prompts *p, int32_t row)
{
    const int32_t *ids = p->ids;

    for (int32_t r = 0; r < row; r++) ids += p->lengths[r];
    return ids;
}

/* Keeps a row's scores and leaves it no choice but its next id. */
static qw_status force_row(forced *f, const qw_scores *s, size_t n_vocab, qw_error *err)
{
    int32_t step;

    if (s->index < 0 || s->index >= f->rows.n_rows)
        return qw_fail(err, QW_ERR_INTERNAL, "row %d of %d", (int)s->index, (int)f->rows.n_rows);
    step = s->n_ids - f->prompt_lengths[s->index];
    if (step < 0 || step > f->n_steps)
        return qw_fail(err, QW_ERR_INTERNAL, "step %d of %d", (int)step, (int)f->n_steps);
    memcpy(f->scores + ((size_t)s->index * (size_t)(f->n_steps + 1) + (size_t)step) * n_vocab, s->scores,
           n_vocab * sizeof(float));
    f->taken++;
    if (step == f->n_steps) return QW_OK;
    for (size_t i = 0; i < n_vocab; i++) s->scores[i] = -1.0f / 0.0f;
    s->scores[row_ids(&f->rows, s->index)[s->n_ids]] = 0;
    return QW_OK;
}

static qw_status step_forced(forced *f, qw_engine *e, qw_error *err)
{
    qw_step_result result = QW_STEP_MORE;
    qw_scores s;

    while (result != QW_STEP_DONE) {
        QW_TRY(qw_step(e, GENERATE_CHUNK, &result, err));
        for (int32_t i = 0; result == QW_STEP_SCORES && qw_job_scores(e, i, &s); i++)
            QW_TRY(force_row(f, &s, conf_n_vocab(e), err));
    }
    if (f->taken != (int64_t)f->rows.n_rows * (f->n_steps + 1))
        return qw_fail(err, QW_ERR_INTERNAL, "%.0f scores were given, wanted %.0f", (double)f->taken,
                       (double)f->rows.n_rows * (f->n_steps + 1));
    return QW_OK;
}

qw_status conf_run_forced(qw_engine *e, qw_prompts rows, int32_t n_steps, float *scores, qw_error *err)
{
    forced f = {.rows = rows, .n_steps = n_steps, .scores = scores};
    qw_ids ids = {0};
    qw_buf settings = {0};
    qw_prompts prompts;
    qw_status status;

    f.prompt_lengths = conf_new((size_t)rows.n_rows, sizeof *f.prompt_lengths);
    for (int32_t r = 0; r < rows.n_rows; r++) {
        f.prompt_lengths[r] = rows.lengths[r] - n_steps;
        for (int32_t i = 0; i < f.prompt_lengths[r]; i++) push(&ids, row_ids(&rows, r)[i]);
    }
    prompts = (qw_prompts){ids.v, f.prompt_lengths, rows.n_rows};
    status =
        qw_buf_printf(&settings, err,
                      "{\"do_sample\": false, \"max_new_tokens\": %d, \"eos_token_id\": [], \"repetition_penalty\": 1, "
                      "\"custom_processor\": true}",
                      (int)n_steps + 1);
    if (!status)
        status = qw_generate_begin(e, &prompts, (qw_text){settings.bytes, settings.n}, (qw_text){"", 0}, 0, err);
    if (!status) status = step_forced(&f, e, err);
    qw_job_end(e);
    qw_free(f.prompt_lengths);
    qw_ids_free(&ids);
    qw_buf_free(&settings);
    return status;
}

qw_status conf_run_generation(qw_engine *e, const conf_generation *g, qw_json **result, qw_error *err)
{
    qw_step_result more = QW_STEP_MORE;
    qw_text json;

    *result = NULL;
    QW_TRY(qw_generate_begin(e, &g->prompts, g->settings, g->stops, g->padding_width, err));
    while (more == QW_STEP_MORE) QW_TRY(qw_step(e, GENERATE_CHUNK, &more, err));
    QW_TRY(qw_job_result(e, &json, err));
    return qw_json_parse(result, json, "result", err);
}

/* New ids of the longest sequence. */
static int32_t longest_answer(const qw_json *result)
{
    int32_t longest = 0;

    for (const qw_json *s = qw_json_first(qw_json_get(result, "sequences")); s; s = qw_json_next(s)) {
        int32_t n = qw_json_size(qw_json_get(s, "token_ids"));

        if (n > longest) longest = n;
    }
    return longest;
}

qw_ids conf_padded(const conf_generation *g, const qw_json *result, int32_t row)
{
    const qw_json *sequences = qw_json_get(result, "sequences"), *sequence = qw_json_first(sequences);
    int32_t prompt = row / (qw_json_size(sequences) / g->prompts.n_rows), width = g->padding_width;
    int32_t pad = (int32_t)qw_json_number(qw_json_get(result, "pad_token_id")), length = g->prompts.lengths[prompt];
    qw_ids padded = {0};

    for (int32_t r = 0; r < row; r++) sequence = qw_json_next(sequence);
    for (int32_t r = 0; r < g->prompts.n_rows; r++)
        if (g->prompts.lengths[r] > width) width = g->prompts.lengths[r];
    for (int32_t i = 0; i < width - length; i++) push(&padded, pad);
    for (int32_t i = 0; i < length; i++) push(&padded, row_ids(&g->prompts, prompt)[i]);
    for (const qw_json *id = qw_json_first(qw_json_get(sequence, "token_ids")); id; id = qw_json_next(id))
        push(&padded, (int32_t)qw_json_number(id));
    for (int32_t n = qw_json_size(qw_json_get(sequence, "token_ids")); n < longest_answer(result); n++)
        push(&padded, pad);
    return padded;
}
