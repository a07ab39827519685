/* SPDX-License-Identifier: MIT
 * Nothing is decided here: what a step brought and what a job came to is written down as it stands. */
#include "generation/session_json.h"

#include "base/json.h"
#include "generation/logprobs.h"

#include <string.h>

qw_status qw_write_lines(qw_buf *out, const qw_buf *lines, qw_error *err)
{
    size_t at = 0;
    bool first = true;

    QW_TRY(qw_buf_append(out, "[", 1, err));
    while (at < lines->n) {
        const char *line = lines->bytes + at, *end = memchr(line, '\n', lines->n - at);
        size_t n = end ? (size_t)(end - line) : lines->n - at;

        at += n + 1;
        if (!n) continue;
        if (!first) QW_TRY(qw_buf_append(out, ",", 1, err));
        QW_TRY(qw_json_write_string(out, (qw_text){line, n}, err));
        first = false;
    }
    return qw_buf_append(out, "]", 1, err);
}

/* Prompt tokens of the job, those of them that the cache had, and those that are in the cache now (a pass under way not
 * counted). */
static void count_prompt(const qw_session *s, int32_t *total, int32_t *cached, int32_t *done)
{
    *total = *cached = 0;
    *done = s->job.prefill ? -s->pass.n : 0;
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        const qw_row *row = &s->job.rows[r];
        int32_t n = qw_row_cached(s, row);

        if (row->leader != r) continue;
        *total += row->n_prompt;
        *cached += row->n_cached;
        *done += row->finish || n > row->n_prompt ? row->n_prompt : n;
    }
}

/* Ids as a JSON array. */
static qw_status write_ids(qw_buf *out, const int32_t *ids, int32_t n, qw_error *err)
{
    QW_TRY(qw_buf_append(out, "[", 1, err));
    for (int32_t i = 0; i < n; i++) QW_TRY(qw_buf_printf(out, err, "%s%d", i ? "," : "", ids[i]));
    return qw_buf_append(out, "]", 1, err);
}

/* Token ids and log-probabilities of the n most probable, as [[id, logprob], ...]. */
static qw_status write_top(const qw_session *s, const float *scores, int32_t n, qw_buf *out, qw_error *err)
{
    QW_TRY(qw_buf_append(out, "[", 1, err));
    qw_logprobs_top(scores, s->model->config.n_vocab, n, s->logits.order, s->logits.values);
    for (int32_t i = 0; i < n; i++) {
        QW_TRY(qw_buf_printf(out, err, "%s[%d,", i ? "," : "", s->logits.order[i]));
        QW_TRY(qw_json_write_number(out, (double)s->logits.values[i], err));
        QW_TRY(qw_buf_append(out, "]", 1, err));
    }
    return qw_buf_append(out, "]", 1, err);
}

/* ,"logprobs":[{...}] of the event's last id, from the scores before processing and after. */
static qw_status write_logprobs(const qw_session *s, const qw_event *event, int32_t id, qw_buf *out, qw_error *err)
{
    int32_t n_vocab = s->model->config.n_vocab, n = s->job.settings.logprobs;

    QW_TRY(qw_buf_printf(out, err, ",\"logprobs\":[{\"token_id\":%d,\"raw\":", id));
    QW_TRY(qw_json_write_number(out, (double)qw_logprob(event->raw, n_vocab, id), err));
    QW_TRY(qw_buf_printf(out, err, ",\"processed\":"));
    QW_TRY(qw_json_write_number(out, (double)qw_logprob(event->processed, n_vocab, id), err));
    QW_TRY(qw_buf_printf(out, err, ",\"top_raw\":"));
    QW_TRY(write_top(s, event->raw, n, out, err));
    QW_TRY(qw_buf_printf(out, err, ",\"top_processed\":"));
    QW_TRY(write_top(s, event->processed, n, out, err));
    return qw_buf_printf(out, err, "}]");
}

static qw_status write_chunk(const qw_session *s, const qw_event *event, qw_buf *out, qw_error *err)
{
    const qw_row *row = &s->job.rows[event->row];
    const int32_t *ids = qw_row_ids(s, row)->ids + event->id_at;
    qw_text text = {event->n_text ? row->shown.bytes + event->text_at : "", event->n_text};

    QW_TRY(qw_buf_printf(out, err, "{\"index\":%d,\"text\":", event->row));
    QW_TRY(qw_json_write_string(out, text, err));
    QW_TRY(qw_buf_printf(out, err, ",\"token_ids\":"));
    QW_TRY(write_ids(out, ids, event->n_ids, err));
    if (event->raw) QW_TRY(write_logprobs(s, event, ids[event->n_ids - 1], out, err));
    return qw_buf_append(out, "}", 1, err);
}

static qw_status write_chunks(const qw_session *s, qw_buf *out, qw_error *err)
{
    bool first = true;

    for (int32_t i = 0; i < s->job.n_events; i++) {
        const qw_event *event = &s->job.events[i];

        if (!event->n_ids && !event->n_text) continue;
        if (!first) QW_TRY(qw_buf_append(out, ",", 1, err));
        QW_TRY(write_chunk(s, event, out, err));
        first = false;
    }
    return QW_OK;
}

static qw_status write_finished(const qw_session *s, qw_buf *out, qw_error *err)
{
    bool first = true;

    for (int32_t i = 0; i < s->job.n_events; i++) {
        const qw_event *event = &s->job.events[i];

        if (!event->finish) continue;
        QW_TRY(qw_buf_printf(out, err, "%s{\"index\":%d,\"finish_reason\":\"%s\"}", first ? "" : ",", event->row,
                             qw_finish_name(event->finish)));
        first = false;
    }
    return QW_OK;
}

qw_status qw_session_write_events(const qw_session *s, qw_buf *out, qw_error *err)
{
    int32_t total, cached, done;

    count_prompt(s, &total, &cached, &done);
    QW_TRY(qw_buf_printf(out, err, "{\"phase\":\"%s\",\"loaded\":%d,\"total\":%d,\"chunks\":[",
                         s->job.prefill ? "prefill" : "decode", done, total));
    QW_TRY(write_chunks(s, out, err));
    QW_TRY(qw_buf_printf(out, err, "],\"finished\":["));
    QW_TRY(write_finished(s, out, err));
    return qw_buf_printf(out, err, "]}");
}

static qw_status write_sequences(const qw_session *s, qw_buf *out, qw_error *err)
{
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        const qw_row *row = &s->job.rows[r];
        const qw_timeline *line = qw_row_ids(s, row);

        QW_TRY(qw_buf_printf(out, err, "%s{\"index\":%d,\"text\":", r ? "," : "", r));
        QW_TRY(qw_json_write_string(out, (qw_text){row->shown.bytes, row->shown.n}, err));
        QW_TRY(qw_buf_printf(out, err, ",\"token_ids\":"));
        QW_TRY(write_ids(out, line->ids + row->n_prompt, line->n - row->n_prompt, err));
        QW_TRY(qw_buf_printf(out, err, ",\"finish_reason\":\"%s\"", qw_finish_name(row->finish)));
        if (s->job.format)
            QW_TRY(qw_buf_printf(out, err, ",\"format\":{\"complete\":%s}",
                                 qw_format_may_end(s->job.format, row->form) ? "true" : "false"));
        QW_TRY(qw_buf_append(out, "}", 1, err));
    }
    return QW_OK;
}

static qw_status write_rng_state(const qw_session *s, qw_buf *out, qw_error *err)
{
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        if (r) QW_TRY(qw_buf_append(out, ",", 1, err));
        QW_TRY(qw_rng_write(&s->job.rows[r].rng, 1, out, err));
    }
    return QW_OK;
}

qw_status qw_session_write_result(const qw_session *s, qw_buf *out, qw_error *err)
{
    const qw_job *j = &s->job;
    int32_t total, cached, done, new_tokens = 0;

    count_prompt(s, &total, &cached, &done);
    for (int32_t r = 0; r < j->n_rows; r++) new_tokens += qw_row_ids(s, &j->rows[r])->n - j->rows[r].n_prompt;
    QW_TRY(qw_buf_printf(out, err, "{\"sequences\":["));
    QW_TRY(write_sequences(s, out, err));
    QW_TRY(qw_buf_printf(out, err, "],\"pad_token_id\":%d,\"seed\":%u,\"rng_state\":\"", j->settings.pad,
                         j->settings.seed));
    QW_TRY(write_rng_state(s, out, err));
    QW_TRY(qw_buf_printf(out, err, "\",\"notes\":"));
    QW_TRY(qw_write_lines(out, &j->settings.notes, err));
    return qw_buf_printf(out, err, ",\"usage\":{\"prompt_tokens\":%d,\"cached_tokens\":%d,\"completion_tokens\":%d}}",
                         total, cached, new_tokens);
}
