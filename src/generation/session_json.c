/* SPDX-License-Identifier: MIT
 * Nothing is decided here: what a step brought and what a job came to is written down as it stands. */
#include "generation/session_json.h"

#include "base/json.h"
#include "generation/step.h"

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
    *done = s->job.prefill ? -s->job.pass.n : 0;
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        const qw_row *row = &s->job.rows[r];
        int32_t n = s->kv.row[row->kv].n;

        if (row->leader != r) continue;
        *total += row->n_prompt;
        *cached += row->n_cached;
        *done += row->finish || n > row->n_prompt ? row->n_prompt : n;
    }
}

qw_status qw_session_write_events(const qw_session *s, qw_buf *out, qw_error *err)
{
    const qw_job *j = &s->job;
    int32_t total, cached, done;

    count_prompt(s, &total, &cached, &done);
    QW_TRY(qw_buf_printf(out, err, "{\"phase\":\"%s\",\"loaded\":%d,\"total\":%d,\"chunks\":[",
                         j->prefill ? "prefill" : "decode", done, total));
    QW_TRY(qw_buf_append(out, j->chunks.bytes, j->chunks.n, err));
    QW_TRY(qw_buf_printf(out, err, "],\"finished\":["));
    QW_TRY(qw_buf_append(out, j->finished.bytes, j->finished.n, err));
    return qw_buf_printf(out, err, "]}");
}

/* Ids as the items of a JSON array, `comma` before the first. */
static qw_status write_ids(qw_buf *out, const int32_t *ids, size_t n, bool comma, qw_error *err)
{
    for (size_t i = 0; i < n; i++) QW_TRY(qw_buf_printf(out, err, "%s%d", i || comma ? "," : "", ids[i]));
    return QW_OK;
}

static qw_status write_repeated(qw_buf *out, int32_t id, int32_t n, bool comma, qw_error *err)
{
    for (int32_t i = 0; i < n; i++) QW_TRY(write_ids(out, &id, 1, i > 0 || comma, err));
    return QW_OK;
}

static qw_status write_sequences(const qw_session *s, qw_buf *out, qw_error *err)
{
    for (int32_t r = 0; r < s->job.n_rows; r++) {
        const qw_row *row = &s->job.rows[r];

        QW_TRY(qw_buf_printf(out, err, "%s{\"index\":%d,\"text\":", r ? "," : "", r));
        QW_TRY(qw_json_write_string(out, (qw_text){row->shown.bytes, row->shown.n}, err));
        QW_TRY(qw_buf_printf(out, err, ",\"token_ids\":["));
        QW_TRY(write_ids(out, row->ids.v + row->n_prompt, row->ids.n - (size_t)row->n_prompt, false, err));
        QW_TRY(qw_buf_printf(out, err, "],\"finish_reason\":\"%s\"}", qw_finish_name(row->finish)));
    }
    return QW_OK;
}

/* Prompts padded on the left to one width, new tokens on the right to that of the longest row. */
static qw_status write_padded(const qw_session *s, qw_buf *out, qw_error *err)
{
    const qw_job *j = &s->job;
    int32_t longest = 0;

    for (int32_t r = 0; r < j->n_rows; r++)
        if ((int32_t)j->rows[r].ids.n + j->rows[r].n_pad > longest)
            longest = (int32_t)j->rows[r].ids.n + j->rows[r].n_pad;
    for (int32_t r = 0; r < j->n_rows; r++) {
        const qw_row *row = &j->rows[r];
        int32_t after = longest - row->n_pad - (int32_t)row->ids.n;

        QW_TRY(qw_buf_printf(out, err, "%s[", r ? "," : ""));
        QW_TRY(write_repeated(out, j->settings.pad, row->n_pad, false, err));
        QW_TRY(write_ids(out, row->ids.v, row->ids.n, row->n_pad > 0, err));
        QW_TRY(write_repeated(out, j->settings.pad, after, true, err));
        QW_TRY(qw_buf_append(out, "]", 1, err));
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
    for (int32_t r = 0; r < j->n_rows; r++) new_tokens += (int32_t)j->rows[r].ids.n - j->rows[r].n_prompt;
    QW_TRY(qw_buf_printf(out, err, "{\"sequences\":["));
    QW_TRY(write_sequences(s, out, err));
    QW_TRY(qw_buf_printf(out, err, "],\"padded_ids\":["));
    QW_TRY(write_padded(s, out, err));
    QW_TRY(qw_buf_printf(out, err, "],\"seed\":%u,\"rng_state\":\"", j->settings.seed));
    QW_TRY(write_rng_state(s, out, err));
    QW_TRY(qw_buf_printf(out, err, "\",\"notes\":"));
    QW_TRY(qw_write_lines(out, &j->settings.notes, err));
    return qw_buf_printf(out, err, ",\"usage\":{\"prompt_tokens\":%d,\"cached_tokens\":%d,\"completion_tokens\":%d}}",
                         total, cached, new_tokens);
}
