/* SPDX-License-Identifier: MIT
 * Of each kind of file: whether it is what its name says, how far its header reaches, what it holds, and which files follow
 * from it. */
#include "files/load_headers.h"

#include "base/alloc.h"
#include "base/quote_text.h"
#include "files/gguf_model.h"
#include "files/load_files.h"
#include "files/safetensors.h"
#include "tokenizer/tokenizer_json.h"

#include <string.h>

enum { MAX_INDEX_FILES = 1000 };

static qw_text text_of(const qw_buf *b)
{
    return (qw_text){b->bytes, b->n};
}

/* Whether text begins like a web page, as far as there is text: at least 5 characters of one of the beginnings. */
static bool begins_html(const char *text, size_t n)
{
    static const char *const begins[] = {"<!doctype", "<html", "<head", "<?xml"};

    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++) {
        size_t k = 0, length = strlen(begins[i]);
        while (k < length && k < n && (text[k] | (text[k] >= 'A' && text[k] <= 'Z' ? 32 : 0)) == begins[i][k]) k++;
        if (k == length || (k == n && k >= 5)) return true;
    }
    return false;
}

/* Fails for a Git LFS pointer; *html: the bytes are a web page's. */
static qw_status sniff(const qw_source *s, bool *html, qw_error *err)
{
    static const char lfs[] = "version https://git-lfs";
    const char *head = s->head.bytes;
    size_t i = 0, n = s->head.n < sizeof lfs - 1 ? s->head.n : sizeof lfs - 1;

    *html = false;
    if (n >= 8 && memcmp(head, lfs, n) == 0)
        return qw_fail(err, QW_ERR_FORMAT,
                       "%s: a Git LFS pointer, not the file: fetch the file itself (git lfs pull, or the address that "
                       "ends in /resolve/main/...)",
                       s->name.bytes);
    if (n >= 3 && memcmp(head, "\xEF\xBB\xBF", 3) == 0) i = 3;
    while (i < s->head.n && (head[i] == ' ' || head[i] == '\n' || head[i] == '\r' || head[i] == '\t')) i++;
    *html = i < s->head.n && begins_html(head + i, s->head.n - i);
    return QW_OK;
}

static qw_status fail_html(const qw_source *s, qw_error *err)
{
    return qw_fail(err, QW_ERR_FORMAT, "%s: got HTML, not the file: the server answers with a web page", s->name.bytes);
}

qw_status qw_load_absent(qw_loader *l, qw_source *s, qw_error *err)
{
    if (s->kind == QW_SOURCE_INDEX) return qw_load_ask(l, QW_SOURCE_SAFETENSORS, "model.safetensors", false, err);
    if (s->kind == QW_SOURCE_TOKENIZER)
        return qw_buf_printf(&l->model.notes, err, "there is no tokenizer.json: only ids can be used\n");
    return QW_OK;
}

/* An optional file that is a web page is absent, and no longer counts. */
static qw_status absent_html(qw_loader *l, qw_source *s, qw_error *err)
{
    char shown[64];

    if (!s->optional) return fail_html(s, err);
    QW_TRY(qw_buf_printf(&l->model.notes, err, "%s: got HTML, not the file: it counts as absent\n",
                         qw_quote_text(shown, qw_text_of(qw_load_base_name(l, s)))));
    s->bytes = 0;
    qw_buf_free(&s->head);
    return qw_load_absent(l, s, err);
}

/* Keeps what of the head is tensor data, from offset `from` of the file on. */
static qw_status keep_rest(qw_source *s, uint64_t from, qw_error *err)
{
    qw_buf rest = {0};
    qw_status status = QW_OK;

    if (from < s->head.n) status = qw_buf_append(&rest, s->head.bytes + from, s->head.n - (size_t)from, err);
    qw_buf_free(&s->head);
    s->head = rest;
    s->head_at = from;
    return status;
}

/* What the tokenizer's arrays take while it is built, on top of the header. */
static void count_vocabulary(qw_loader *l, const qw_gguf *g)
{
    const qw_gguf_value *tokens = qw_gguf_find(g, "tokenizer.ggml.tokens"),
                        *merges = qw_gguf_find(g, "tokenizer.ggml.merges");
    double items = (tokens ? (double)tokens->n : 0) + (merges ? (double)merges->n : 0);

    l->header_peak += items * (sizeof(qw_text) + sizeof(int32_t));
}

static qw_status read_gguf(qw_loader *l, const qw_gguf *g, const qw_source *s, qw_error *err)
{
    QW_TRY(qw_gguf_set_check(&l->set, g, (int64_t)l->current, s->name.bytes, err));
    if (l->current) return QW_OK;
    count_vocabulary(l, g);
    return qw_gguf_read_model(&l->model, g, err);
}

static qw_status look_gguf(qw_loader *l, qw_source *s, bool *done, qw_error *err)
{
    qw_gguf_source source = {text_of(&s->head), s->bytes, (int32_t)l->current, s->name.bytes};
    qw_gguf g;
    uint64_t need, data_start;
    qw_status status;
    bool html;

    QW_TRY(sniff(s, &html, err));
    if (html) return fail_html(s, err);
    QW_TRY(qw_gguf_parse(&g, &source, &l->tensors, &need, err));
    if (need) { /* further than the least, so that a long header takes few attempts */
        uint64_t piece = s->head.n < QW_PIECE_BYTES ? s->head.n : QW_PIECE_BYTES;
        uint64_t ahead = s->head.n + (s->head.n / 8 > piece ? s->head.n / 8 : piece);
        s->goal = need > ahead ? need : ahead > s->bytes ? s->bytes : ahead;
        return QW_OK;
    }
    status = read_gguf(l, &g, s, err);
    data_start = g.data_start;
    qw_gguf_free(&g);
    *done = true;
    return status ? status : keep_rest(s, data_start, err);
}

static qw_status look_safetensors(qw_loader *l, qw_source *s, bool *done, qw_error *err)
{
    qw_safetensors_source source = {text_of(&s->head), s->bytes, (int32_t)l->current, s->name.bytes};
    uint64_t end;
    bool html;

    if (s->head.n >= 8) QW_TRY(sniff(s, &html, err));
    if (s->head.n >= 8 && html) return fail_html(s, err);
    QW_TRY(qw_safetensors_header_end(&source, &end, err));
    if (s->head.n < end) {
        s->goal = end;
        return QW_OK;
    }
    source.head.n = (size_t)end;
    QW_TRY(qw_safetensors_parse(&source, &l->tensors, err));
    *done = true;
    QW_TRY(keep_rest(s, end, err));
    return l->current ? QW_OK : qw_load_ask_checkpoint(l, QW_SOURCE_SAFETENSORS, err);
}

/* The shards that the index names, but for the one that was given. */
static qw_status look_index(qw_loader *l, qw_error *err)
{
    const char **files = NULL;
    size_t n = 0;
    qw_status status = qw_hf_index_files(l->hf.index, &files, &n, err);

    if (!status && n > MAX_INDEX_FILES)
        status = qw_fail(err, QW_ERR_FORMAT, "the index names %zu files, at most %d are read", n, MAX_INDEX_FILES);
    if (!status && !l->current) status = qw_load_ask_checkpoint(l, QW_SOURCE_INDEX, err);
    for (size_t i = 0; !status && i < n; i++)
        if (strcmp(files[i], qw_load_base_name(l, &l->sources[0])) != 0)
            status = qw_load_ask(l, QW_SOURCE_SAFETENSORS, files[i], false, err);
    qw_free(files);
    return status;
}

static qw_status look_config(qw_loader *l, qw_error *err)
{
    const qw_json *name = qw_json_get(l->hf.config, "_name_or_path");
    qw_text text = qw_text_of(qw_json_string(name));

    QW_TRY(qw_hf_read_config(&l->model, l->hf.config, err));
    if (!text.n && l->folder_n) { /* the folder's own name */
        text = (qw_text){l->sources[0].name.bytes, l->folder_n - 1};
        for (size_t i = text.n; i-- > 0;)
            if (text.bytes[i] == '/') text = (qw_text){text.bytes + i + 1, text.n - i - 1};
    }
    QW_TRY(qw_buf_append(&l->model.name, text.bytes, text.n, err));
    return l->current ? QW_OK : qw_load_ask_checkpoint(l, QW_SOURCE_CONFIG, err);
}

static qw_status look_text(qw_loader *l, qw_source *s, qw_error *err)
{
    qw_text text = text_of(&s->head);
    const char *name = s->name.bytes;

    switch (s->kind) {
    case QW_SOURCE_CONFIG:
        QW_TRY(qw_json_parse(&l->hf.config, text, name, err));
        return look_config(l, err);
    case QW_SOURCE_INDEX:
        QW_TRY(qw_json_parse(&l->hf.index, text, name, err));
        return look_index(l, err);
    case QW_SOURCE_GENERATION_CONFIG:
        QW_TRY(qw_json_parse(&l->hf.generation, text, name, err));
        return qw_buf_append(&l->model.generation_config, text.bytes, text.n, err);
    case QW_SOURCE_TOKENIZER_CONFIG:
        return qw_json_parse(&l->hf.tokenizer_config, text, name, err);
    case QW_SOURCE_CHAT_TEMPLATE:
        return qw_buf_append(&l->model.chat_template, text.bytes, text.n, err);
    default:
        return qw_tokenizer_from_json(&l->model.tokenizer, text, err);
    }
}

static qw_status look_unknown(qw_source *s, qw_error *err)
{
    bool html;

    QW_TRY(sniff(s, &html, err));
    if (html) return fail_html(s, err);
    if (s->head.n >= 4 && memcmp(s->head.bytes, "GGUF", 4) == 0) s->kind = QW_SOURCE_GGUF;
    else if (s->head.n >= 9 && s->head.bytes[8] == '{') s->kind = QW_SOURCE_SAFETENSORS;
    else if (s->head.n && s->head.bytes[0] == '{') s->kind = QW_SOURCE_CONFIG;
    else
        return qw_fail(err, QW_ERR_FORMAT, "%s: neither GGUF, nor safetensors, nor the config.json of a checkpoint",
                       s->name.bytes);
    return qw_load_begin(s, err);
}

qw_status qw_load_look(qw_loader *l, qw_source *s, bool *done, qw_error *err)
{
    size_t i = (size_t)(s - l->sources);
    bool html;
    qw_status status;

    if (s->kind == QW_SOURCE_GGUF) return look_gguf(l, s, done, err);
    if (s->kind == QW_SOURCE_SAFETENSORS) return look_safetensors(l, s, done, err);
    if (s->kind == QW_SOURCE_UNKNOWN) return look_unknown(s, err);
    *done = true;
    QW_TRY(sniff(s, &html, err));
    if (html) return absent_html(l, s, err);
    status = look_text(l, s, err);
    qw_buf_free(&l->sources[i].head); /* the list may have moved */
    return status;
}
