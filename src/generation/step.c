/* SPDX-License-Identifier: MIT
 * The step loop. A generation's step builds a pass (prompts that are not in the cache yet come first, else one token for
 * every row that goes on), runs it, and takes the rows with fresh scores to their next token. */
#include "generation/step.h"

#include "base/arithmetic.h"
#include "base/assert.h"
#include "generation/form.h"
#include "generation/pass.h"

#include <string.h>

static int32_t n_new(const qw_session *s, const qw_row *row)
{
    return qw_row_ids(s, row)->n - row->n_prompt;
}

/* Prompts' next tokens, at most max in all. */
static qw_status add_prompts(qw_session *s, int32_t max, qw_error *err)
{
    qw_pass_hand_on(s);
    for (int32_t r = 0; r < s->job.n_rows && s->pass.n < max; r++) {
        const qw_row *row = &s->job.rows[r];
        int32_t left = row->n_prompt - qw_row_cached(s, row), n = qw_min(left, max - s->pass.n);

        if (left <= 0 || row->finish || qw_pass_waits(s, row)) continue;
        if (!qw_pass_add(s, r, n)) return qw_pass_no_room(s, err);
        if (n == left && s->job.kind == QW_JOB_GENERATE) qw_pass_score_last(s, r);
    }
    return QW_OK;
}

/* Rows that have yet to choose their next token. */
static int32_t tokens_to_choose(const qw_session *s)
{
    int32_t n = 0;

    for (int32_t r = 0; r < s->job.n_rows; r++) {
        const qw_row *row = &s->job.rows[r];

        n += !row->finish && (n_new(s, row) == 0 || qw_row_ids(s, row)->n == qw_row_cached(s, row));
    }
    return n;
}

/* The row's event of this step, from what it holds and has shown now on. */
static qw_event *open_event(qw_session *s, int32_t r)
{
    const qw_row *row = &s->job.rows[r];
    qw_event *event = &s->job.events[s->job.n_events];

    QW_ASSERT(s->job.n_events < s->job.n_rows);
    s->job.n_events++;
    *event = (qw_event){.row = r, .id_at = qw_row_ids(s, row)->n, .text_at = row->shown.n};
    return event;
}

static void close_event(const qw_session *s, qw_event *event)
{
    const qw_row *row = &s->job.rows[event->row];

    event->n_ids = qw_row_ids(s, row)->n - event->id_at;
    event->n_text = row->shown.n - event->text_at;
    event->finish = row->finish;
}

static qw_status end_row(qw_session *s, int32_t r, qw_finish finish, qw_error *err)
{
    qw_row *row = &s->job.rows[r];
    qw_event *event;

    if (row->finish) return QW_OK;
    row->finish = finish;
    event = open_event(s, r);
    if (s->model->tokenizer) QW_TRY(qw_row_text_finish(&row->text, &row->shown, err));
    close_event(s, event);
    return QW_OK;
}

/* One token of every row that goes on; a row for whose next token the context has no room ends. */
static qw_status add_decoding(qw_session *s, qw_error *err)
{
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        if (s->job.rows[r].finish) continue;
        if (!qw_pass_has_room(s, 0) || !qw_pass_add(s, r, 1)) QW_TRY(end_row(s, r, QW_FINISH_LENGTH, err));
        else qw_pass_score_last(s, r);
    }
    return QW_OK;
}

static bool at_length(const qw_session *s, const qw_row *row)
{
    const qw_settings *g = &s->job.settings;

    if (g->max_new_tokens >= 0) return n_new(s, row) >= g->max_new_tokens;
    return g->max_length >= 0 && qw_row_ids(s, row)->n + row->n_pad >= g->max_length;
}

/* The text that the row's new token brings, and why the row ends with it, if it does. */
static qw_status take_token(qw_session *s, qw_row *row, int32_t id, qw_error *err)
{
    const qw_settings *g = &s->job.settings;
    const qw_tokenizer *t = s->model->tokenizer;

    qw_timeline_append(&s->timelines, row->timeline, &id, 1);
    if (s->job.format && !qw_id_list_has(&g->eos, id)) row->form = qw_format_after(s->job.format, row->form, id);
    if (t) QW_TRY(qw_row_text_push(&row->text, s->job.stops, t, id, g->skip_special_tokens, &row->shown, err));
    if (qw_id_list_has(&g->eos, id)) row->finish = QW_FINISH_EOS;
    else if (row->text.stopped) row->finish = QW_FINISH_STOP_STRING;
    else if (at_length(s, row)) row->finish = QW_FINISH_LENGTH;
    if (row->finish && !row->text.stopped && t) return qw_row_text_finish(&row->text, &row->shown, err);
    return QW_OK;
}

/* How many tokens the row may still get. */
static int32_t tokens_left(const qw_session *s, const qw_row *row)
{
    const qw_settings *g = &s->job.settings;
    int32_t n = qw_row_ids(s, row)->n, left = s->options.n_ctx - n;

    if (g->max_new_tokens >= 0) return qw_min(left, g->max_new_tokens - n_new(s, row));
    return g->max_length >= 0 ? qw_min(left, g->max_length - n - row->n_pad) : left;
}

static qw_status apply_form(const qw_session *s, const qw_row *row, float *scores, qw_error *err)
{
    qw_form_place place = {row->form, n_new(s, row), tokens_left(s, row)};

    return qw_form_apply(s->job.format, &place, &s->job.settings, s->model->tokenizer, scores, s->model->config.n_vocab,
                         err);
}

/* Of a row up to the id whose successor is scored. */
static qw_history history_of(const qw_session *s, const qw_score *score)
{
    const qw_row *row = &s->job.rows[score->row];

    return (qw_history){qw_row_ids(s, row)->ids, score->offset + 1, row->n_prompt, row->n_pad, 0, false};
}

static float *raw_of(const qw_session *s, int32_t i)
{
    return s->job.raw + (size_t)i * (size_t)s->model->config.n_vocab;
}

/* The i-th scores, processed, to their row's next token: warpers, choice, stop rules, text. */
static qw_status choose(qw_session *s, int32_t i, qw_error *err)
{
    const qw_settings *g = &s->job.settings;
    const qw_score *score = &s->pass.scores[i];
    qw_row *row = &s->job.rows[score->row];
    qw_history h = history_of(s, score);
    int32_t n_vocab = s->model->config.n_vocab, step = h.n - h.n_prompt, id = 0;
    float *scores = qw_session_logits(s, i);
    qw_event *event;

    if (s->job.format) QW_TRY(apply_form(s, row, scores, err));
    QW_TRY(qw_logits_warp(g, &h, &s->logits, scores, err));
    if (g->do_sample) QW_TRY(qw_choose_sample(scores, n_vocab, step, &row->rng, &id, err));
    else QW_TRY(qw_choose_greedy(scores, n_vocab, step, &id, err));
    event = open_event(s, score->row);
    QW_TRY(take_token(s, row, id, err));
    close_event(s, event);
    if (g->logprobs < 0) return QW_OK;
    event->raw = raw_of(s, i);
    event->processed = scores;
    return QW_OK;
}

/* The i-th logits through the processors, and on where no caller's processor is to see them first. */
static qw_status process(qw_session *s, int32_t i, qw_error *err)
{
    const qw_settings *g = &s->job.settings;
    const qw_score *score = &s->pass.scores[i];
    qw_history h = history_of(s, score);
    float *scores = qw_session_logits(s, i);

    if (at_length(s, &s->job.rows[score->row])) return end_row(s, score->row, QW_FINISH_LENGTH, err);
    h.at_end = g->forced_eos.n > 0 && !qw_pass_has_room(s, tokens_to_choose(s));
    if (g->logprobs >= 0) memcpy(raw_of(s, i), scores, (size_t)s->model->config.n_vocab * sizeof *scores);
    QW_TRY(qw_logits_process(g, &h, &s->logits, scores, err));
    return g->custom_processor ? QW_OK : choose(s, i, err);
}

static qw_status process_all(qw_session *s, qw_error *err)
{
    for (int32_t i = 0; i < s->pass.n_scores; i++) {
        int32_t r = s->pass.scores[i].row;

        if (s->job.rows[r].finish) continue; /* ended by the caller meanwhile */
        if (s->job.prefill && !qw_pass_has_room(s, 0)) QW_TRY(end_row(s, r, QW_FINISH_LENGTH, err));
        else QW_TRY(process(s, i, err));
    }
    if (!s->job.settings.custom_processor) s->pass.n_scores = 0;
    return QW_OK;
}

static qw_status choose_edited(qw_session *s, qw_error *err)
{
    for (int32_t i = 0; i < s->pass.n_scores; i++)
        if (!s->job.rows[s->pass.scores[i].row].finish) QW_TRY(choose(s, i, err));
    s->pass.n_scores = 0;
    return QW_OK;
}

const qw_score *qw_session_waiting(const qw_session *s, int32_t i, float **logits)
{
    bool waits = s->job.state == QW_JOB_RUNNING && s->job.kind == QW_JOB_GENERATE && !s->pass.n;

    for (int32_t j = 0; waits && j < s->pass.n_scores; j++) {
        if (s->job.rows[s->pass.scores[j].row].finish || i-- > 0) continue;
        *logits = qw_session_logits(s, j);
        return &s->pass.scores[j];
    }
    return NULL;
}

static bool waits_for_choice(const qw_session *s)
{
    float *logits;

    return qw_session_waiting(s, 0, &logits) != NULL;
}

/* Begins a pass: prompts that are not in the cache yet come first, else one token for every row that goes on. */
static qw_status begin_pass(qw_session *s, int32_t budget, qw_error *err)
{
    s->pass.n_wanted = s->pass.n_scores = s->pass.layer = 0;
    QW_TRY(add_prompts(s, qw_pass_tokens(s, budget), err));
    s->job.prefill = s->pass.n > 0;
    return s->job.prefill ? QW_OK : add_decoding(s, err);
}

static qw_status check_cache(const qw_session *s, qw_error *err)
{
    static const char *const types[] = {"f32", "f16", "q8_0"};

    if (!s->timelines.kv.overflow) return QW_OK;
    return qw_fail(err, QW_ERR_MODEL,
                   "a key or value is NaN or beyond what a %s cache holds: load the model with kvType \"f32\"",
                   types[s->timelines.kv.type]);
}

static qw_status step_generate(qw_session *s, int32_t budget, qw_progress *progress, qw_error *err)
{
    *progress = QW_PROGRESS_MORE;
    if (waits_for_choice(s)) {
        QW_TRY(choose_edited(s, err));
    } else {
        if (!s->pass.n) QW_TRY(begin_pass(s, budget, err));
        if (s->pass.n) {
            if (!qw_pass_run(s, s->job.prefill ? budget : s->pass.n, NULL)) return QW_OK;
            qw_forward_logits(s->model, &s->scratch, s->pool, 0, s->pass.n_wanted);
            s->pass.n = 0;
        }
        if (s->job.prefill) qw_pass_share(s);
        QW_TRY(process_all(s, err));
    }
    if (waits_for_choice(s)) *progress = QW_PROGRESS_SCORES;
    else if (!qw_job_goes_on(&s->job)) *progress = QW_PROGRESS_DONE;
    return QW_OK;
}

static qw_status step_prefill(qw_session *s, int32_t budget, qw_progress *progress, qw_error *err)
{
    const qw_row *row = &s->job.rows[0];

    if (!s->pass.n) QW_TRY(begin_pass(s, budget, err));
    *progress = QW_PROGRESS_MORE;
    if (!qw_pass_run(s, budget, NULL)) return QW_OK;
    s->pass.n = 0;
    if (qw_row_cached(s, row) == row->n_prompt) *progress = QW_PROGRESS_DONE;
    return QW_OK;
}

/* The next tokens of the first row that is not through, with the logits that are wanted of them. */
static qw_status begin_forward(qw_session *s, int32_t budget, qw_error *err)
{
    qw_job *j = &s->job;
    qw_begun *pass = &s->pass;
    int32_t r = 0, max = qw_pass_tokens(s, budget), first, n;

    while (qw_row_cached(s, &j->rows[r]) == j->rows[r].n_prompt) r++;
    if (j->hidden_states) max = qw_min(max, j->hidden_tokens);
    first = qw_row_cached(s, &j->rows[r]);
    n = qw_min(max, j->rows[r].n_prompt - first);
    pass->n_wanted = pass->n_told = pass->layer = 0;
    for (int32_t i = 0; i < n; i++)
        if (j->keep[j->rows[r].prompt_at + first + i]) pass->wanted[pass->n_wanted++] = i;
    j->out_row = r;
    j->out_pos = first;
    return qw_pass_add(s, r, n) ? QW_OK : qw_pass_no_room(s, err);
}

static bool forward_goes_on(const qw_session *s)
{
    const qw_row *last = &s->job.rows[s->job.n_rows - 1];

    return s->pass.n > 0 || qw_row_cached(s, last) < last->n_prompt;
}

/* A slice of a pass; once it is through, the logits of as many tokens as there is room for, a step after the other. */
static qw_status step_forward(qw_session *s, int32_t budget, qw_progress *progress, qw_error *err)
{
    qw_job *j = &s->job;
    qw_begun *pass = &s->pass;

    *progress = QW_PROGRESS_MORE;
    j->out_logits = j->out_hidden = 0;
    if (!pass->n) QW_TRY(begin_forward(s, budget, err));
    if (pass->layer < s->model->config.n_layer) {
        if (!qw_pass_run(s, budget, j->hidden_states)) return QW_OK;
        j->out_hidden = pass->n;
    }
    j->out_logits = qw_min(s->scratch.max_logits, pass->n_wanted - pass->n_told);
    qw_forward_logits(s->model, &s->scratch, s->pool, pass->n_told, j->out_logits);
    pass->n_told += j->out_logits;
    if (pass->n_told == pass->n_wanted) pass->n = 0;
    if (!forward_goes_on(s)) *progress = QW_PROGRESS_DONE;
    return QW_OK;
}

qw_status qw_session_step(qw_session *s, int32_t max_tokens, qw_progress *progress, qw_error *err)
{
    int32_t budget = qw_max(1, qw_min(max_tokens, s->scratch.max_tokens));
    qw_status status;

    *progress = QW_PROGRESS_DONE;
    s->job.n_events = 0;
    if (s->job.state != QW_JOB_RUNNING) return QW_OK;
    if (s->job.kind == QW_JOB_GENERATE) status = step_generate(s, budget, progress, err);
    else if (s->job.kind == QW_JOB_PREFILL) status = step_prefill(s, budget, progress, err);
    else status = step_forward(s, budget, progress, err);
    if (status == QW_OK) status = check_cache(s, err);
    if (status == QW_ERR_MODEL) qw_session_forget(s); /* keys and values may not be finite */
    else if (status) qw_session_end(s);
    else if (*progress == QW_PROGRESS_DONE) s->job.state = QW_JOB_ENDED;
    return status;
}

qw_status qw_session_end_rows(qw_session *s, int32_t index, qw_finish finish, qw_error *err)
{
    qw_job *j = &s->job;

    if (j->state == QW_JOB_NONE || j->kind != QW_JOB_GENERATE)
        return qw_fail(err, QW_ERR_USAGE, "row %d cannot be ended: no generation is under way; end the job itself",
                       index);
    if (index < -1 || index >= j->n_rows)
        return qw_fail(err, QW_ERR_USAGE, "row %d cannot be ended: the job has %d rows", index, j->n_rows);
    j->n_events = 0;
    for (int32_t r = 0; r < j->n_rows; r++)
        if (index < 0 || r == index) QW_TRY(end_row(s, r, finish, err));
    if (!qw_job_goes_on(j)) j->state = QW_JOB_ENDED;
    return QW_OK;
}
