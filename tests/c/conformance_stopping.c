/* SPDX-License-Identifier: MIT
 * stopping/: generations that end by EOS, length or stop string, on one and on two threads. Ids are exact; what is shown
 * ends before the stop string, which the reference leaves in. */
#include "conformance.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct stopping {
    qw_engine *engine;
    char checkpoint[64]; /* the loaded one's name */
    int32_t threads;
} stopping;

static qw_text text_of(const qw_buf *b)
{
    return (qw_text){b->bytes ? b->bytes : "", b->n};
}

static bool contains(qw_text text, qw_text part)
{
    for (size_t i = 0; i + part.n <= text.n; i++)
        if (memcmp(text.bytes + i, part.bytes, part.n) == 0) return true;
    return false;
}

/* One string or a list; calls append for each. */
static const qw_json *first_stop(const qw_json *settings)
{
    const qw_json *stops = qw_json_get(settings, "stop_strings");

    return stops && qw_json_kind_of(stops) == QW_JSON_ARRAY ? qw_json_first(stops) : stops;
}

/* stop.h's packed form. */
static qw_buf pack_stops(const qw_json *settings)
{
    qw_buf packed = {0};

    for (const qw_json *s = first_stop(settings); s; s = qw_json_next(s)) {
        qw_buf text = conf_text(s);
        uint8_t length[4];

        for (int i = 0; i < 4; i++) length[i] = (uint8_t)(text.n >> (8 * i));
        if (qw_buf_append(&packed, length, sizeof length, NULL) || qw_buf_append(&packed, text.bytes, text.n, NULL))
            abort();
        qw_buf_free(&text);
        if (qw_json_kind_of(qw_json_get(settings, "stop_strings")) == QW_JSON_STRING)
            break; /* the next is another setting */
    }
    return packed;
}

/* The settings without stop_strings. */
static qw_buf plain_settings(const qw_json *settings)
{
    qw_buf out = {0};
    const char *separator = "{";

    for (const qw_json *s = qw_json_first(settings); s; s = qw_json_next(s)) {
        if (strcmp(qw_json_key(s), "stop_strings") == 0) continue;
        if (qw_buf_printf(&out, NULL, "%s\"%s\": ", separator, qw_json_key(s))) abort();
        conf_write_json(&out, s);
        separator = ", ";
    }
    if (qw_buf_append(&out, "}", 1, NULL)) abort();
    return out;
}

/* True for a batch with a stop string and no EOS id: the reference lets a stopped row run on until all rows are done. */
static bool runs_on(const qw_json *line)
{
    const qw_json *settings = qw_json_get(line, "settings"), *eos = qw_json_get(settings, "eos_token_id");

    return qw_json_size(qw_json_get(line, "input_ids")) > 1 && qw_json_get(settings, "stop_strings") && eos &&
           qw_json_kind_of(eos) == QW_JSON_ARRAY && !qw_json_first(eos);
}

/* The bytes of the row's shown text, as the reference's text without special tokens has them before the stop string. */
static void check_text(conf *c, const qw_json *line, const qw_json *sequence, const qw_json *want_text)
{
    qw_buf got = conf_text(qw_json_get(sequence, "text")), want = conf_text(want_text);
    const qw_json *settings = qw_json_get(line, "settings");
    bool stopped = strcmp(qw_json_string(qw_json_get(sequence, "finish_reason")), "stop_string") == 0;

    if (!stopped) {
        conf_same_text(c, "text", text_of(&got), text_of(&want));
    } else {
        conf_check(c, got.n <= want.n && (got.n == 0 || memcmp(got.bytes, want.bytes, got.n) == 0),
                   "text: got '%s', wanted a beginning of '%s'", got.bytes, want.bytes);
        for (const qw_json *s = first_stop(settings); s; s = qw_json_next(s)) {
            qw_buf stop = conf_text(s);

            conf_check(c, !contains(text_of(&got), text_of(&stop)), "text: '%s' holds the stop string '%s'", got.bytes,
                       qw_json_string(s));
            qw_buf_free(&stop);
            if (qw_json_kind_of(qw_json_get(settings, "stop_strings")) == QW_JSON_STRING) break;
        }
    }
    qw_buf_free(&got);
    qw_buf_free(&want);
}

/* A row that the reference lets run on past its stop: its new ids up to the stop, which must lie in the last token. */
static void check_stopped_row(conf *c, const stopping *s, const qw_json *sequence, const qw_json *line)
{
    qw_buf stop = conf_text(first_stop(qw_json_get(line, "settings")));
    qw_ids got = conf_ids(qw_json_get(sequence, "token_ids"));
    qw_text text;
    qw_error err = {0};
    bool before = true, after = false;

    if (got.n && qw_engine_detokenize(s->engine, got.v, got.n - 1, false, &text, &err) == QW_OK)
        before = contains(text, text_of(&stop));
    if (got.n && qw_engine_detokenize(s->engine, got.v, got.n, false, &text, &err) == QW_OK)
        after = contains(text, text_of(&stop));
    conf_check(c, after && !before,
               "stopped row of %zu ids: the stop string is in its text %d, in that before the last token %d", got.n,
               after, before);
    qw_buf_free(&stop);
    qw_ids_free(&got);
}

static void compare_row(conf *c, const stopping *s, const qw_json *line, const qw_json *sequence, qw_ids got,
                        const qw_json *want_row)
{
    qw_ids want = conf_ids(want_row), new_ids = conf_ids(qw_json_get(sequence, "token_ids"));
    bool stopped = strcmp(qw_json_string(qw_json_get(sequence, "finish_reason")), "stop_string") == 0;

    if (stopped && runs_on(line)) {
        size_t n = (size_t)qw_json_size(qw_json_first(qw_json_get(line, "input_ids"))) + new_ids.n;

        check_stopped_row(c, s, sequence, line);
        want.n = n < want.n ? n : want.n;
        got.n = n < got.n ? n : got.n;
    }
    conf_same_ids(c, "sequence", got.v, got.n, want.v, want.n);
    qw_ids_free(&got);
    qw_ids_free(&want);
    qw_ids_free(&new_ids);
}

static void compare(conf *c, const stopping *s, const conf_generation *g, const qw_json *line, const qw_json *result)
{
    const qw_json *want = qw_json_get(line, "sequences"), *sequences = qw_json_get(result, "sequences");
    const qw_json *sequence = qw_json_first(sequences);
    const qw_json *text = qw_json_first(qw_json_get(line, "new_text_skip_special"));
    int32_t row = 0;

    if (!conf_check(c, qw_json_size(sequences) == qw_json_size(want), "rows: got %d, wanted %d",
                    (int)qw_json_size(sequences), (int)qw_json_size(want)))
        return;
    for (const qw_json *w = qw_json_first(want); w && sequence && text; w = qw_json_next(w)) {
        compare_row(c, s, line, sequence, conf_padded(g, result, row++), w);
        if (!runs_on(line)) check_text(c, line, sequence, text);
        sequence = qw_json_next(sequence);
        text = qw_json_next(text);
    }
}

static bool load_checkpoint(conf *c, stopping *s, const char *name)
{
    char folder[500], parent[400], options[160];

    if (s->engine && strcmp(s->checkpoint, name) == 0) return true;
    qw_engine_free(s->engine);
    snprintf(options, sizeof options, "{\"quantize\": \"none\", \"kvType\": \"f32\", \"threads\": %d}",
             (int)s->threads);
    s->engine = conf_load(
        c, conf_path(folder, sizeof folder, conf_path(parent, sizeof parent, c->folder, "checkpoints"), name), options);
    snprintf(s->checkpoint, sizeof s->checkpoint, "%s", name);
    return s->engine != NULL;
}

static void check_case(conf *c, const qw_json *line, void *arg)
{
    stopping *s = arg;
    conf_rows rows = conf_rows_of(qw_json_get(line, "input_ids"), qw_json_get(line, "attention_mask"));
    qw_buf settings = plain_settings(qw_json_get(line, "settings")), stops = pack_stops(qw_json_get(line, "settings"));
    conf_generation g = {conf_prompts(&rows), text_of(&settings), text_of(&stops), rows.width};
    qw_json *result = NULL;
    qw_error err = {0};

    conf_where(c, "stopping/%s, %d thread%s", qw_json_string(qw_json_get(line, "name")), (int)s->threads,
               s->threads > 1 ? "s" : "");
    if (load_checkpoint(c, s, qw_json_string(qw_json_get(line, "checkpoint")))) {
        if (conf_ok(c, conf_run_generation(s->engine, &g, &result, &err), &err, "generate"))
            compare(c, s, &g, line, result);
        qw_job_end(s->engine);
    }
    qw_json_free(result);
    qw_buf_free(&settings);
    qw_buf_free(&stops);
    conf_rows_free(&rows);
}

void conf_stopping(conf *c)
{
    char path[512];

    for (int32_t threads = 1; threads <= 2 && threads <= c->max_threads; threads++) {
        stopping s = {.threads = threads};

        conf_each_line(c, conf_path(path, sizeof path, c->folder, "stopping/cases.jsonl"), check_case, &s);
        qw_engine_free(s.engine);
    }
}
