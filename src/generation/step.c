/* SPDX-License-Identifier: MIT
 * The step loop. A step builds a pass (prompts that are not in the cache yet come first, else one token for every row that
 * goes on), runs it, and takes the rows with fresh logits to their next token. */
#include "generation/step.h"

#include "base/alloc.h"
#include "base/arithmetic.h"
#include "base/json.h"

#include <string.h>

static int32_t in_cache(const qw_session *s, const qw_row *row)
{
    return s->kv.row[row->kv].n;
}

static int32_t n_new(const qw_row *row)
{
    return (int32_t)row->ids.n - row->n_prompt;
}

/* Adds the row's next n ids to the pass; false where the cache has no room. */
static bool add_tokens(qw_session *s, qw_row *row, int32_t n)
{
    qw_begun *pass = &s->job.pass;
    int32_t first = in_cache(s, row);

    if (!qw_kv_reserve(&s->kv, row->kv, n)) return false;
    for (int32_t i = 0; i < n; i++, pass->n++) {
        s->ids[pass->n] = row->ids.v[first + i];
        s->pass_row[pass->n] = row->kv;
        s->pass_pos[pass->n] = first + i;
    }
    return true;
}

/* Wants the logits of the pass's last token. */
static void want_last(qw_session *s, qw_row *row)
{
    qw_begun *pass = &s->job.pass;

    pass->scored[pass->n_wanted] = row;
    s->wanted[pass->n_wanted++] = pass->n - 1;
}

/* Takes the begun pass through as many layers as `budget` tokens through all layers cost, at least one; true where it is
 * through. A long pass reads the weights once for many tokens, its slices keep every step short. */
static bool run_slice(qw_session *s, int32_t budget, float *hidden)
{
    qw_begun *begun = &s->job.pass;
    qw_pass pass = {s->ids, {s->pass_row, s->pass_pos, begun->n}, s->wanted, begun->n_wanted, hidden};
    int32_t n_layer = s->model->config.n_layer, layers = (int32_t)((int64_t)budget * n_layer / begun->n);
    int32_t last = qw_min(n_layer, begun->layer + (layers < 1 ? 1 : layers));

    qw_forward(s->model, &s->scratch, &s->kv, s->pool, &pass, begun->layer, last);
    begun->layer = last;
    return last == n_layer;
}

static qw_status no_room(qw_error *err, const qw_session *s)
{
    return qw_fail(err, QW_ERR_CONTEXT,
                   "the context of %d tokens has no room left: load the model with a larger contextLength",
                   s->options.n_ctx);
}

/* True while another row computes this one's prompt: the end of that pass gives it to this row too (fork_followers). */
static bool waits_for_leader(const qw_session *s, const qw_row *row)
{
    const qw_row *leader = &s->job.rows[row->leader];

    return leader != row && !leader->finish;
}

/* Prompts' next tokens, at most max in all. */
static qw_status add_prompts(qw_session *s, int32_t max, qw_error *err)
{
    for (int32_t r = 0; r < s->job.n_rows && s->job.pass.n < max; r++) {
        qw_row *row = &s->job.rows[r];
        int32_t left = row->n_prompt - in_cache(s, row), n = qw_min(left, max - s->job.pass.n);

        if (left <= 0 || row->finish || waits_for_leader(s, row)) continue;
        if (!add_tokens(s, row, n)) return no_room(err, s);
        if (n == left) want_last(s, row);
    }
    return QW_OK;
}

/* Tokens of prompt that a pass takes, so that one layer of it stays within the budget. */
static int32_t pass_tokens(const qw_session *s, int32_t budget)
{
    int64_t most = (int64_t)budget * s->model->config.n_layer;

    return most < s->scratch.max_tokens ? (int32_t)most : s->scratch.max_tokens;
}

static float *logits_at(const qw_session *s, int32_t slot)
{
    return s->scratch.logits + (size_t)slot * (size_t)s->model->config.n_vocab;
}

/* Rows that share a prompt take its keys, values and logits over from the row that computed it. */
static void fork_followers(qw_session *s)
{
    qw_begun *pass = &s->job.pass;
    int32_t computed = pass->n_wanted;

    for (int32_t i = 0; i < computed; i++)
        for (int32_t r = 0; r < s->job.n_rows; r++) {
            qw_row *row = &s->job.rows[r], *leader = pass->scored[i];

            if (row == leader || &s->job.rows[row->leader] != leader || in_cache(s, row) || row->finish) continue;
            qw_kv_fork(&s->kv, row->kv, leader->kv, row->n_prompt);
            memcpy(logits_at(s, pass->n_wanted), logits_at(s, i), (size_t)s->model->config.n_vocab * sizeof(float));
            pass->scored[pass->n_wanted++] = row;
        }
}

/* Tokens due but not in the cache yet, of rows that go on. A row that shares its leader's prompt computes none of it, but gets
 * the last page of it as its own with its first token. */
static int32_t pending_tokens(const qw_session *s)
{
    int32_t n = 0;

    for (int32_t r = 0; r < s->job.n_rows; r++) {
        const qw_row *row = &s->job.rows[r];
        int32_t cached = in_cache(s, row);

        if (row->finish) continue;
        if (row->leader != r && cached <= row->n_prompt) n += row->n_prompt % QW_KV_PAGE;
        if (cached || !waits_for_leader(s, row)) n += (int32_t)row->ids.n - cached;
    }
    return n;
}

/* True where the cache holds `more` tokens beside those that are due, and one on top of them. */
static bool has_room(qw_session *s, int32_t more)
{
    if (s->kv.used + pending_tokens(s) + more < s->options.n_ctx) return true;
    return qw_session_release_finished(s) && s->kv.used + pending_tokens(s) + more < s->options.n_ctx;
}

/* Rows that have yet to choose their next token. */
static int32_t tokens_to_choose(const qw_session *s)
{
    int32_t n = 0;

    for (int32_t r = 0; r < s->job.n_rows; r++) {
        const qw_row *row = &s->job.rows[r];

        n += !row->finish && (n_new(row) == 0 || (int32_t)row->ids.n == in_cache(s, row));
    }
    return n;
}

/* One token of every row that goes on; a row for whose next token the context has no room ends. */
static qw_status add_decoding(qw_session *s, qw_error *err)
{
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        qw_row *row = &s->job.rows[r];

        if (row->finish) continue;
        if (!has_room(s, 0) || !add_tokens(s, row, 1)) QW_TRY(qw_session_end_row(s, r, QW_FINISH_LENGTH, err));
        else want_last(s, row);
    }
    return QW_OK;
}

const char *qw_finish_name(qw_finish finish)
{
    static const char *const names[] = {"", "eos", "stop_string", "length", "time", "stopping", "aborted"};

    return names[finish];
}

static bool contains(const qw_id_list *list, int32_t id)
{
    for (int32_t i = 0; i < list->n; i++)
        if (list->v[i] == id) return true;
    return false;
}

static bool at_length(const qw_session *s, const qw_row *row)
{
    const qw_settings *g = &s->job.settings;

    if (g->max_new_tokens >= 0) return n_new(row) >= g->max_new_tokens;
    return g->max_length >= 0 && (int32_t)row->ids.n + row->n_pad >= g->max_length;
}

static qw_status separator(qw_buf *out, qw_error *err)
{
    return out->n ? qw_buf_append(out, ",", 1, err) : QW_OK;
}

static qw_status write_finished(qw_session *s, int32_t index, qw_error *err)
{
    QW_TRY(separator(&s->job.finished, err));
    return qw_buf_printf(&s->job.finished, err, "{\"index\":%d,\"finish_reason\":\"%s\"}", index,
                         qw_finish_name(s->job.rows[index].finish));
}

/* A chunk up to its token ids; the caller closes it. text is added to what the row has shown. */
static qw_status open_chunk(qw_session *s, int32_t index, const qw_buf *text, qw_error *err)
{
    qw_buf *out = &s->job.chunks;

    QW_TRY(qw_buf_append(&s->job.rows[index].shown, text->bytes, text->n, err));
    QW_TRY(separator(out, err));
    QW_TRY(qw_buf_printf(out, err, "{\"index\":%d,\"text\":", index));
    return qw_json_write_string(out, (qw_text){text->bytes, text->n}, err);
}

qw_status qw_session_end_row(qw_session *s, int32_t index, qw_finish finish, qw_error *err)
{
    qw_row *row = &s->job.rows[index];
    qw_buf text = {0};
    qw_status status = QW_OK;

    if (row->finish) return QW_OK;
    row->finish = finish;
    row->scores = NULL;
    if (s->model->tokenizer) status = qw_row_text_finish(&row->text, &text, err);
    if (status == QW_OK && text.n) {
        status = open_chunk(s, index, &text, err);
        if (status == QW_OK) status = qw_buf_printf(&s->job.chunks, err, ",\"token_ids\":[]}");
    }
    qw_buf_free(&text);
    return status ? status : write_finished(s, index, err);
}

/* Token ids and log-probabilities of the n most probable, as [[id, logprob], ...]. */
static qw_status write_top(qw_session *s, const float *scores, int32_t n, qw_error *err)
{
    qw_buf *out = &s->job.chunks;

    QW_TRY(qw_buf_append(out, "[", 1, err));
    qw_logprobs_top(scores, s->model->config.n_vocab, n, s->logits.order, s->logits.values);
    for (int32_t i = 0; i < n; i++) {
        QW_TRY(qw_buf_printf(out, err, "%s[%d,", i ? "," : "", s->logits.order[i]));
        QW_TRY(qw_json_write_number(out, (double)s->logits.values[i], err));
        QW_TRY(qw_buf_append(out, "]", 1, err));
    }
    return qw_buf_append(out, "]", 1, err);
}

static float *raw_of(const qw_session *s, const qw_row *row)
{
    return s->raw + (size_t)(row - s->job.rows) * (size_t)s->model->config.n_vocab;
}

/* ,"logprobs":[{...}] of the chosen token, from the logits before processing and after. */
static qw_status write_logprobs(qw_session *s, const qw_row *row, int32_t id, qw_error *err)
{
    qw_buf *out = &s->job.chunks;
    const float *raw = raw_of(s, row), *scores = row->scores;
    int32_t n_vocab = s->model->config.n_vocab, n = s->job.settings.logprobs;

    QW_TRY(qw_buf_printf(out, err, ",\"logprobs\":[{\"token_id\":%d,\"raw\":", id));
    QW_TRY(qw_json_write_number(out, (double)qw_logprob(raw, n_vocab, id), err));
    QW_TRY(qw_buf_printf(out, err, ",\"processed\":"));
    QW_TRY(qw_json_write_number(out, (double)qw_logprob(scores, n_vocab, id), err));
    QW_TRY(qw_buf_printf(out, err, ",\"top_raw\":"));
    QW_TRY(write_top(s, raw, n, err));
    QW_TRY(qw_buf_printf(out, err, ",\"top_processed\":"));
    QW_TRY(write_top(s, scores, n, err));
    return qw_buf_printf(out, err, "}]");
}

/* The text that the row's new token brings, and why the row ends with it, if it does. */
static qw_status take_token(qw_session *s, qw_row *row, int32_t id, qw_buf *text, qw_error *err)
{
    const qw_settings *g = &s->job.settings;

    QW_TRY(qw_ids_push(&row->ids, id, err));
    if (s->model->tokenizer)
        QW_TRY(qw_row_text_push(&row->text, s->job.stops, s->model->tokenizer, id, g->skip_special_tokens, text, err));
    if (contains(&g->eos, id)) row->finish = QW_FINISH_EOS;
    else if (row->text.stopped) row->finish = QW_FINISH_STOP_STRING;
    else if (at_length(s, row)) row->finish = QW_FINISH_LENGTH;
    if (row->finish && !row->text.stopped && s->model->tokenizer) return qw_row_text_finish(&row->text, text, err);
    return QW_OK;
}

static qw_status write_token(qw_session *s, int32_t index, int32_t id, const qw_buf *text, qw_error *err)
{
    const qw_row *row = &s->job.rows[index];

    QW_TRY(open_chunk(s, index, text, err));
    QW_TRY(qw_buf_printf(&s->job.chunks, err, ",\"token_ids\":[%d]", id));
    if (s->job.settings.logprobs >= 0) QW_TRY(write_logprobs(s, row, id, err));
    QW_TRY(qw_buf_append(&s->job.chunks, "}", 1, err));
    return row->finish ? write_finished(s, index, err) : QW_OK;
}

static qw_history history_of(const qw_row *row)
{
    return (qw_history){row->ids.v, (int32_t)row->ids.n, row->n_prompt, row->n_pad, 0, false};
}

/* The row's processed scores to its next token: warpers, choice, stop rules, text. */
static qw_status choose(qw_session *s, qw_row *row, qw_error *err)
{
    const qw_settings *g = &s->job.settings;
    int32_t index = (int32_t)(row - s->job.rows), n_vocab = s->model->config.n_vocab, id = 0;
    qw_history h = history_of(row);
    qw_buf text = {0};
    qw_status status;

    QW_TRY(qw_logits_warp(g, &h, &s->logits, row->scores, err));
    if (g->do_sample) QW_TRY(qw_choose_sample(row->scores, n_vocab, n_new(row), &row->rng, &id, err));
    else QW_TRY(qw_choose_greedy(row->scores, n_vocab, n_new(row), &id, err));
    status = take_token(s, row, id, &text, err);
    if (status == QW_OK) status = write_token(s, index, id, &text, err);
    qw_buf_free(&text);
    row->scores = NULL;
    return status;
}

/* The row's fresh logits through the processors, and on where no caller's processor is to see them first. */
static qw_status score(qw_session *s, qw_row *row, float *scores, qw_error *err)
{
    const qw_settings *g = &s->job.settings;
    qw_history h = history_of(row);

    if (at_length(s, row)) return qw_session_end_row(s, (int32_t)(row - s->job.rows), QW_FINISH_LENGTH, err);
    h.at_end = g->forced_eos.n > 0 && !has_room(s, tokens_to_choose(s));
    row->scores = scores;
    if (g->logprobs >= 0) memcpy(raw_of(s, row), scores, (size_t)s->model->config.n_vocab * sizeof *scores);
    QW_TRY(qw_logits_process(g, &h, &s->logits, scores, err));
    return g->custom_processor ? QW_OK : choose(s, row, err);
}

static qw_status choose_edited(qw_session *s, qw_error *err)
{
    for (int32_t r = 0; r < s->job.n_rows; r++)
        if (s->job.rows[r].scores) QW_TRY(choose(s, &s->job.rows[r], err));
    return QW_OK;
}

static bool waits_for_scores(const qw_session *s)
{
    for (int32_t r = 0; r < s->job.n_rows; r++)
        if (s->job.rows[r].scores) return true;
    return false;
}

static qw_progress generation_progress(const qw_session *s)
{
    if (waits_for_scores(s)) return QW_PROGRESS_SCORES;
    for (int32_t r = 0; r < s->job.n_rows; r++)
        if (!s->job.rows[r].finish) return QW_PROGRESS_MORE;
    return QW_PROGRESS_DONE;
}

/* Begins a pass: prompts that are not in the cache yet come first, else one token for every row that goes on. */
static qw_status begin_pass(qw_session *s, int32_t budget, qw_error *err)
{
    s->job.pass = (qw_begun){0};
    QW_TRY(add_prompts(s, pass_tokens(s, budget), err));
    s->job.prefill = s->job.pass.n > 0;
    return s->job.prefill ? QW_OK : add_decoding(s, err);
}

/* True where the begun pass is through, or there was none to begin. */
static bool pass_ends(qw_session *s, int32_t budget)
{
    qw_begun *pass = &s->job.pass;

    if (pass->n && !run_slice(s, s->job.prefill ? budget : pass->n, NULL)) return false;
    pass->n = 0;
    return true;
}

static qw_status check_cache(const qw_session *s, qw_error *err)
{
    static const char *const types[] = {"f32", "f16", "q8_0"};

    if (!s->kv.overflow) return QW_OK;
    return qw_fail(err, QW_ERR_MODEL,
                   "a key or value is NaN or beyond what a %s cache holds: load the model with kvType \"f32\"",
                   types[s->kv.type]);
}

static qw_status score_all(qw_session *s, qw_error *err)
{
    const qw_begun *pass = &s->job.pass;

    for (int32_t i = 0; i < pass->n_wanted; i++) {
        qw_row *row = pass->scored[i];

        if (row->finish) continue; /* ended by the caller meanwhile */
        if (s->job.prefill && !has_room(s, 0))
            QW_TRY(qw_session_end_row(s, (int32_t)(row - s->job.rows), QW_FINISH_LENGTH, err));
        else QW_TRY(score(s, row, logits_at(s, i), err));
    }
    return QW_OK;
}

static qw_status step_generate(qw_session *s, int32_t budget, qw_progress *progress, qw_error *err)
{
    *progress = QW_PROGRESS_MORE;
    if (waits_for_scores(s)) {
        QW_TRY(choose_edited(s, err));
    } else {
        if (!s->job.pass.n) QW_TRY(begin_pass(s, budget, err));
        if (!pass_ends(s, budget)) return QW_OK;
        if (s->job.prefill) fork_followers(s);
        QW_TRY(score_all(s, err));
    }
    *progress = generation_progress(s);
    return QW_OK;
}

static qw_status step_prefill(qw_session *s, int32_t budget, qw_progress *progress, qw_error *err)
{
    const qw_row *row = &s->job.rows[0];

    if (!s->job.pass.n) QW_TRY(begin_pass(s, budget, err));
    s->job.pass.n_wanted = 0;
    *progress = pass_ends(s, budget) && in_cache(s, row) == row->n_prompt ? QW_PROGRESS_DONE : QW_PROGRESS_MORE;
    return QW_OK;
}

/* The row's next tokens, at most max, as many as the logits that they want fit. */
static qw_status add_kept(qw_session *s, qw_row *row, int32_t max, qw_error *err)
{
    qw_begun *pass = &s->job.pass;
    int32_t first = in_cache(s, row), n = 0;

    *pass = (qw_begun){0};
    for (; n < max && first + n < row->n_prompt; n++) {
        if (!s->job.keep[row->keep_at + first + n]) continue;
        if (pass->n_wanted == s->scratch.max_logits) break;
        s->wanted[pass->n_wanted++] = n;
    }
    return add_tokens(s, row, n) ? QW_OK : no_room(err, s);
}

/* A whole pass over the next tokens of the first row that is not through. */
static qw_status step_forward(qw_session *s, int32_t max_tokens, qw_progress *progress, qw_error *err)
{
    qw_job *j = &s->job;
    int32_t r = 0;

    while (r < j->n_rows && in_cache(s, &j->rows[r]) == j->rows[r].n_prompt) r++;
    *progress = QW_PROGRESS_DONE;
    j->out_n = j->out_tokens = 0;
    if (r == j->n_rows) return QW_OK;
    j->out_row = r;
    j->out_pos = in_cache(s, &j->rows[r]);
    QW_TRY(add_kept(s, &j->rows[r], j->hidden ? qw_min(max_tokens, j->hidden_tokens) : max_tokens, err));
    j->out_n = j->pass.n_wanted;
    j->out_tokens = j->pass.n;
    run_slice(s, j->pass.n, j->hidden ? j->hidden_states : NULL);
    j->pass.n = 0;
    if (in_cache(s, &j->rows[r]) < j->rows[r].n_prompt || r + 1 < j->n_rows) *progress = QW_PROGRESS_MORE;
    return QW_OK;
}

void qw_session_clear_events(qw_session *s)
{
    s->job.chunks.n = s->job.finished.n = 0;
}

qw_status qw_session_step(qw_session *s, int32_t max_tokens, qw_progress *progress, qw_error *err)
{
    qw_status status = QW_OK;

    *progress = QW_PROGRESS_DONE;
    max_tokens = max_tokens < 1 ? 1 : qw_min(max_tokens, s->scratch.max_tokens);
    qw_session_clear_events(s);
    if (s->job.kind == QW_JOB_GENERATE) status = step_generate(s, max_tokens, progress, err);
    if (s->job.kind == QW_JOB_PREFILL) status = step_prefill(s, max_tokens, progress, err);
    if (s->job.kind == QW_JOB_FORWARD) status = step_forward(s, max_tokens, progress, err);
    if (status == QW_OK) status = check_cache(s, err);
    if (status == QW_ERR_MODEL) qw_session_forget(s); /* keys and values may not be finite */
    else if (status) qw_session_end(s);
    return status;
}
