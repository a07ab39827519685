/* SPDX-License-Identifier: MIT
 * tokenizer/: encode, decode and stream vectors of the real vocabulary. Ids and bytes are exact; the pieces of a stream are
 * those of a WHATWG decoder that is fed token by token. */
#include "conformance.h"

#include "../../src/show.h"

#include <stdio.h>
#include <string.h>

static qw_text text_of(const qw_buf *b)
{
    return (qw_text){b->bytes ? b->bytes : "", b->n};
}

static void check_encode(conf *c, const qw_json *line, void *arg)
{
    qw_encode_options options = {.parse_special = qw_json_bool(qw_json_get(line, "parse_special"))};
    qw_buf text = conf_text(qw_json_get(line, "text"));
    qw_ids want = conf_ids(qw_json_get(line, "ids"));
    const int32_t *got;
    qw_error err = {0};
    char shown[64];
    size_t n;

    conf_where(c, "tokenizer/encode %s '%s'", qw_json_string(qw_json_get(line, "group")),
               qw_show(shown, text_of(&text)));
    if (conf_ok(c, qw_engine_tokenize(arg, text_of(&text), &options, &got, &n, &err), &err, "encode"))
        conf_same_ids(c, "ids", got, n, want.v, want.n);
    qw_buf_free(&text);
    qw_ids_free(&want);
}

static void check_decode(conf *c, const qw_json *line, void *arg)
{
    bool skip = qw_json_bool(qw_json_get(line, "skip_special_tokens"));
    qw_buf want = conf_text(qw_json_get(line, "text"));
    qw_ids ids = conf_ids(qw_json_get(line, "ids"));
    qw_error err = {0};
    qw_text got;

    conf_where(c, "tokenizer/decode of %zu ids from %d on", ids.n, ids.n ? (int)ids.v[0] : -1);
    if (conf_ok(c, qw_engine_detokenize(arg, ids.v, ids.n, skip, &got, &err), &err, "decode"))
        conf_same_text(c, "text", got, text_of(&want));
    qw_buf_free(&want);
    qw_ids_free(&ids);
}

/* Appends piece and a separator that no UTF-8 text holds, so that one comparison tells where pieces end too. */
static qw_status add_piece(qw_buf *all, const qw_buf *piece)
{
    QW_TRY(qw_buf_append(all, piece->bytes, piece->n, NULL));
    return qw_buf_append(all, "\xff", 1, NULL);
}

static qw_status stream_of(const qw_tokenizer *t, const qw_ids *ids, bool skip, qw_buf *all, qw_error *err)
{
    qw_decoder decoder = {0};

    for (size_t i = 0; i < ids->n; i++) {
        if (!skip || qw_tokenizer_type(t, ids->v[i]) != QW_TOKEN_CONTROL)
            QW_TRY(qw_decoder_push(&decoder, qw_tokenizer_token_bytes(t, ids->v[i]), all, err));
        QW_TRY(qw_buf_append(all, "\xff", 1, err));
    }
    QW_TRY(qw_decoder_flush(&decoder, all, err));
    return qw_buf_append(all, "\xff", 1, err);
}

static void check_stream(conf *c, const qw_json *line, void *arg)
{
    qw_ids ids = conf_ids(qw_json_get(line, "ids"));
    qw_buf flush = conf_text(qw_json_get(line, "flush"));
    qw_buf want = {0}, got = {0};
    qw_error err = {0};
    qw_status status = QW_OK;

    for (const qw_json *p = qw_json_first(qw_json_get(line, "pieces")); p && !status; p = qw_json_next(p)) {
        qw_buf piece = conf_text(p);

        status = add_piece(&want, &piece);
        qw_buf_free(&piece);
    }
    if (!status) status = add_piece(&want, &flush);
    conf_where(c, "tokenizer/stream of %zu ids from %d on", ids.n, ids.n ? (int)ids.v[0] : -1);
    if (!status)
        status = stream_of(qw_engine_model(arg)->tokenizer, &ids,
                           qw_json_bool(qw_json_get(line, "skip_special_tokens")), &got, &err);
    if (conf_ok(c, status, &err, "stream")) conf_same_text(c, "pieces", text_of(&got), text_of(&want));
    qw_ids_free(&ids);
    qw_buf_free(&flush);
    qw_buf_free(&want);
    qw_buf_free(&got);
}

static void count_line(conf *c, const qw_json *line, void *arg)
{
    (void)c;
    (void)line;
    ++*(int64_t *)arg;
}

void conf_tokenizer(conf *c)
{
    static const struct {
        const char *name;
        conf_line_fn *fn;
    } files[] = {{"encode.jsonl", check_encode}, {"decode.jsonl", check_decode}, {"stream.jsonl", check_stream}};
    qw_engine *e = NULL;
    char path[512];

    conf_where(c, "tokenizer");
    if (c->model && !(e = conf_load(c, c->model, "{\"contextLength\": 32, \"maxRows\": 1}"))) return;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char folder[400];
        int64_t lines = 0;

        conf_path(path, sizeof path, conf_path(folder, sizeof folder, c->folder, "tokenizer"), files[i].name);
        if (e) {
            conf_each_line(c, path, files[i].fn, e);
        } else {
            conf_each_line(c, path, count_line, &lines);
            conf_where(c, "tokenizer/%s", files[i].name);
            conf_skip(c, lines, "no vocabulary: --model FILE");
        }
    }
    qw_engine_free(e);
}
