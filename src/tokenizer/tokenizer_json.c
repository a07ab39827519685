/* SPDX-License-Identifier: MIT
 * Reads a tokenizer.json of the tokenizers library. Vocabulary, merges and added tokens are scanned twice, once to count
 * and once to fill, and never become a tree; the parts that say how text is treated are checked by tokenizer_rules.c. */
#include "tokenizer/tokenizer_json.h"

#include "base/alloc.h"
#include "base/jsonscan.h"
#include "base/quote_text.h"
#include "tokenizer/tokenizer_build.h"
#include "tokenizer/tokenizer_rules.h"

#include <string.h>

static const char what[] = "tokenizer.json";

/* An entry of added_tokens; content as the file spells it. */
typedef struct entry {
    qw_text content, id;
    bool special, normalized, lstrip, rstrip, single_word;
} entry;

typedef struct reader {
    qw_scan vocab, merges, added; /* just before these values; at is NULL where the file has none */
    size_t n_merges, n_ids, n_escaped;
    bool nfc;
    qw_text *texts;
    int32_t *types;
    uint8_t *flags;
    qw_buf escaped; /* what texts with escapes stand for, in room for all of them: it never moves */
    qw_error *err;
} reader;

static size_t place(const qw_scan *s)
{
    return (size_t)(s->at - s->begin);
}

/* The next token, which must be of that kind. */
static qw_status expect(qw_scan *s, qw_scan_kind kind, const char *wanted, qw_scan_token *token, qw_error *err)
{
    QW_TRY(qw_scan_next(s, token, err));
    if (token->kind == kind) return QW_OK;
    return qw_fail(err, QW_ERR_FORMAT, "%s: before byte %zu, %s was expected", what, place(s), wanted);
}

/* Reads over a value and gives its text. */
static qw_status slice(qw_scan *s, qw_text *value, qw_error *err)
{
    const char *from = s->at;
    qw_scan_token token;

    QW_TRY(qw_scan_next(s, &token, err));
    QW_TRY(qw_scan_skip(s, &token, err));
    while (*from == ' ' || *from == '\n' || *from == '\r' || *from == '\t') from++;
    *value = (qw_text){from, (size_t)(s->at - from)};
    return QW_OK;
}

static qw_status read_bool(qw_scan *s, qw_text name, bool *value, qw_error *err)
{
    qw_scan_token token;
    char shown[64];

    QW_TRY(qw_scan_next(s, &token, err));
    if (token.kind != QW_SCAN_TRUE && token.kind != QW_SCAN_FALSE)
        return qw_fail(err, QW_ERR_FORMAT, "%s: before byte %zu, \"%s\" of an added token must be true or false", what,
                       place(s), qw_quote_text(shown, name));
    *value = token.kind == QW_SCAN_TRUE;
    return QW_OK;
}

static qw_status read_field(qw_scan *s, qw_text name, entry *e, qw_error *err)
{
    qw_scan_token token;

    if (qw_text_is(name, "special")) return read_bool(s, name, &e->special, err);
    if (qw_text_is(name, "normalized")) return read_bool(s, name, &e->normalized, err);
    if (qw_text_is(name, "lstrip")) return read_bool(s, name, &e->lstrip, err);
    if (qw_text_is(name, "rstrip")) return read_bool(s, name, &e->rstrip, err);
    if (qw_text_is(name, "single_word")) return read_bool(s, name, &e->single_word, err);
    if (qw_text_is(name, "content")) {
        QW_TRY(expect(s, QW_SCAN_STRING, "the content of an added token, a string,", &token, err));
        e->content = token.raw;
        return QW_OK;
    }
    if (qw_text_is(name, "id")) {
        QW_TRY(expect(s, QW_SCAN_NUMBER_TEXT, "the id of an added token, a number,", &token, err));
        e->id = token.raw;
        return QW_OK;
    }
    QW_TRY(qw_scan_next(s, &token, err));
    return qw_scan_skip(s, &token, err);
}

/* The next of added_tokens, or *some false at the end of the array. */
static qw_status next_added(qw_scan *s, entry *e, bool *some, qw_error *err)
{
    qw_scan_token token;
    char shown[64];

    *e = (entry){.special = false};
    QW_TRY(qw_scan_next(s, &token, err));
    *some = token.kind != QW_SCAN_END_ARRAY;
    if (!*some) return QW_OK;
    if (token.kind != QW_SCAN_BEGIN_OBJECT)
        return qw_fail(err, QW_ERR_FORMAT, "%s: before byte %zu, added_tokens holds what is no object", what, place(s));
    for (;;) {
        QW_TRY(qw_scan_next(s, &token, err));
        if (token.kind == QW_SCAN_END_OBJECT) break;
        QW_TRY(read_field(s, token.raw, e, err));
    }
    if (!e->content.bytes || !e->id.bytes)
        return qw_fail(err, QW_ERR_FORMAT, "%s: before byte %zu, an added token has no \"%s\"", what, place(s),
                       e->content.bytes ? "id" : "content");
    if (e->single_word)
        return qw_fail(err, QW_ERR_MODEL, "%s: added token \"%s\" is \"single_word\", which is not supported", what,
                       qw_quote_text(shown, e->content));
    return QW_OK;
}

/* The next "text": id of the vocabulary, or *some false at the end of the object. */
static qw_status next_word(qw_scan *s, qw_text *text, qw_text *id, bool *some, qw_error *err)
{
    qw_scan_token token;

    QW_TRY(qw_scan_next(s, &token, err));
    *some = token.kind != QW_SCAN_END_OBJECT;
    if (!*some) return QW_OK;
    *text = token.raw;
    QW_TRY(expect(s, QW_SCAN_NUMBER_TEXT, "an id of model.vocab, a number,", &token, err));
    *id = token.raw;
    return QW_OK;
}

static qw_status parse_id(qw_text text, qw_text id, size_t *value, qw_error *err)
{
    char shown[2][64];
    uint64_t v;

    if (!qw_scan_uint(id, &v) || v >= QW_MAX_TOKENS)
        return qw_fail(err, QW_ERR_FORMAT, "%s: the id of \"%s\" is %s, an integer from 0 to %d was expected", what,
                       qw_quote_text(shown[0], text), qw_quote_text(shown[1], id), QW_MAX_TOKENS - 1);
    *value = (size_t)v;
    return QW_OK;
}

static bool has_escape(qw_text raw)
{
    return raw.n && memchr(raw.bytes, '\\', raw.n);
}

static qw_status count(reader *r, qw_text text, qw_text id)
{
    size_t value;

    QW_TRY(parse_id(text, id, &value, r->err));
    if (value >= r->n_ids) r->n_ids = value + 1;
    if (has_escape(text)) r->n_escaped += text.n;
    return QW_OK;
}

static qw_status survey_vocab(reader *r, qw_scan *s)
{
    qw_scan_token token;
    qw_text text, id;
    bool some;

    r->vocab = *s;
    QW_TRY(expect(s, QW_SCAN_BEGIN_OBJECT, "model.vocab, an object of ids,", &token, r->err));
    for (;;) {
        QW_TRY(next_word(s, &text, &id, &some, r->err));
        if (!some) return QW_OK;
        QW_TRY(count(r, text, id));
    }
}

static qw_status survey_merges(reader *r, qw_scan *s)
{
    qw_scan_token token;

    r->merges = *s;
    r->n_merges = 0;
    QW_TRY(expect(s, QW_SCAN_BEGIN_ARRAY, "model.merges, an array,", &token, r->err));
    for (;; r->n_merges++) {
        QW_TRY(qw_scan_next(s, &token, r->err));
        if (token.kind == QW_SCAN_END_ARRAY) return QW_OK;
        QW_TRY(qw_scan_skip(s, &token, r->err));
    }
}

static qw_status survey_added(reader *r, qw_scan *s)
{
    qw_scan_token token;
    bool some;
    entry e;

    r->added = *s;
    QW_TRY(expect(s, QW_SCAN_BEGIN_ARRAY, "added_tokens, an array,", &token, r->err));
    for (;;) {
        QW_TRY(next_added(s, &e, &some, r->err));
        if (!some) return QW_OK;
        QW_TRY(count(r, e.content, e.id));
    }
}

static qw_status survey_model(reader *r, qw_scan *s)
{
    qw_scan_token key;
    qw_text value;

    QW_TRY(expect(s, QW_SCAN_BEGIN_OBJECT, "model, an object,", &key, r->err));
    for (;;) {
        QW_TRY(qw_scan_next(s, &key, r->err));
        if (key.kind == QW_SCAN_END_OBJECT) return QW_OK;
        if (qw_text_is(key.raw, "vocab")) {
            QW_TRY(survey_vocab(r, s));
        } else if (qw_text_is(key.raw, "merges")) {
            QW_TRY(survey_merges(r, s));
        } else {
            QW_TRY(slice(s, &value, r->err));
            QW_TRY(qw_tokenizer_rules_check_model(key.raw, value, r->err));
        }
    }
}

static qw_status survey(reader *r, qw_text json)
{
    qw_tokenizer_rules rules = {.decoder = {NULL, 0}};
    qw_scan_token key;
    qw_text ignored;
    qw_scan s;

    qw_scan_init(&s, json, what);
    QW_TRY(expect(&s, QW_SCAN_BEGIN_OBJECT, "an object", &key, r->err));
    for (;;) {
        qw_text *rule;
        QW_TRY(qw_scan_next(&s, &key, r->err));
        if (key.kind == QW_SCAN_END_OBJECT) break;
        rule = qw_tokenizer_rules_member(&rules, key.raw);
        if (qw_text_is(key.raw, "added_tokens")) QW_TRY(survey_added(r, &s));
        else if (qw_text_is(key.raw, "model")) QW_TRY(survey_model(r, &s));
        else QW_TRY(slice(&s, rule ? rule : &ignored, r->err));
    }
    QW_TRY(qw_scan_next(&s, &key, r->err)); /* nothing may follow */
    if (!r->vocab.at || !r->merges.at)
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: model.%s is missing", what, r->vocab.at ? "merges" : "vocab");
    return qw_tokenizer_rules_check(&rules, &r->nfc, r->err);
}

static qw_status reserve(reader *r)
{
    r->texts = qw_calloc(r->n_ids, sizeof *r->texts);
    r->types = qw_calloc(r->n_ids, sizeof *r->types);
    r->flags = qw_calloc(r->n_ids, sizeof *r->flags);
    r->escaped.bytes = qw_calloc(r->n_escaped, 1);
    if (!r->texts || !r->types || !r->flags || !r->escaped.bytes)
        return qw_fail_memory(r->err, "the vocabulary", (double)r->n_ids * sizeof *r->texts + (double)r->n_escaped);
    r->escaped.cap = r->n_escaped;
    return QW_OK;
}

/* What a raw text stands for: itself where it has no escape, else text appended to room. */
static qw_status unescape(qw_buf *room, qw_text raw, qw_text *text, qw_error *err)
{
    size_t from = room->n;

    *text = raw;
    if (!has_escape(raw)) return QW_OK;
    QW_TRY(qw_scan_unescape(room, raw, err));
    *text = (qw_text){room->bytes + from, room->n - from};
    return QW_OK;
}

static qw_status fill_vocab(reader *r)
{
    qw_scan_token token;
    qw_text raw, id;
    char shown[2][64];
    bool some;

    QW_TRY(qw_scan_next(&r->vocab, &token, r->err));
    for (;;) {
        size_t i;
        QW_TRY(next_word(&r->vocab, &raw, &id, &some, r->err));
        if (!some) return QW_OK;
        QW_TRY(parse_id(raw, id, &i, r->err));
        if (r->texts[i].bytes)
            return qw_fail(r->err, QW_ERR_FORMAT, "%s: \"%s\" and \"%s\" both have id %zu", what,
                           qw_quote_text(shown[0], r->texts[i]), qw_quote_text(shown[1], raw), i);
        QW_TRY(unescape(&r->escaped, raw, r->texts + i, r->err));
        r->types[i] = QW_TOKEN_NORMAL;
    }
}

static qw_status fill_added_token(reader *r, const entry *e)
{
    char shown[2][64];
    qw_text text;
    size_t i;

    QW_TRY(parse_id(e->content, e->id, &i, r->err));
    QW_TRY(unescape(&r->escaped, e->content, &text, r->err));
    if (r->texts[i].bytes && !qw_text_equal(text, r->texts[i]))
        return qw_fail(r->err, QW_ERR_FORMAT, "%s: added token \"%s\" has id %zu, and so has \"%s\"", what,
                       qw_quote_text(shown[0], text), i, qw_quote_text(shown[1], r->texts[i]));
    r->texts[i] = text;
    r->types[i] = e->special ? QW_TOKEN_CONTROL : QW_TOKEN_USER_DEFINED;
    r->flags[i] = (uint8_t)((e->lstrip ? QW_ADDED_LSTRIP : 0) | (e->rstrip ? QW_ADDED_RSTRIP : 0) |
                            (e->normalized ? QW_ADDED_NORMALIZED : 0));
    return QW_OK;
}

static qw_status fill_added(reader *r)
{
    qw_scan_token token;
    bool some;
    entry e;

    if (!r->added.at) return QW_OK;
    QW_TRY(qw_scan_next(&r->added, &token, r->err));
    for (;;) {
        QW_TRY(next_added(&r->added, &e, &some, r->err));
        if (!some) return QW_OK;
        QW_TRY(fill_added_token(r, &e));
    }
}

/* "a b" or ["a", "b"]; room is for what has escapes. */
static qw_status add_merge(reader *r, qw_builder *b, const qw_scan_token *first, qw_buf *room)
{
    qw_scan_token tokens[3];
    qw_text left, right;

    room->n = 0;
    if (first->kind == QW_SCAN_STRING) {
        QW_TRY(unescape(room, first->raw, &left, r->err));
        return qw_builder_merge_line(b, left, r->err);
    }
    for (int i = 0; i < 3 && first->kind == QW_SCAN_BEGIN_ARRAY; i++) {
        QW_TRY(qw_scan_next(&r->merges, &tokens[i], r->err));
        if (tokens[i].kind != (i < 2 ? QW_SCAN_STRING : QW_SCAN_END_ARRAY)) break;
        if (i < 2) continue;
        if (room->cap < tokens[0].raw.n + tokens[1].raw.n) { /* so that the second text does not move the first */
            QW_TRY(qw_buf_append(room, tokens[0].raw.bytes, tokens[0].raw.n, r->err));
            QW_TRY(qw_buf_append(room, tokens[1].raw.bytes, tokens[1].raw.n, r->err));
            room->n = 0;
        }
        QW_TRY(unescape(room, tokens[0].raw, &left, r->err));
        QW_TRY(unescape(room, tokens[1].raw, &right, r->err));
        return qw_builder_merge(b, left, right, r->err);
    }
    return qw_fail(r->err, QW_ERR_FORMAT, "%s: merge %u is neither a string nor a pair of strings", what, b->rank);
}

static qw_status add_merges(reader *r, qw_builder *b, qw_buf *room)
{
    qw_scan_token token;

    QW_TRY(qw_scan_next(&r->merges, &token, r->err));
    for (;;) {
        QW_TRY(qw_scan_next(&r->merges, &token, r->err));
        if (token.kind == QW_SCAN_END_ARRAY) return QW_OK;
        QW_TRY(add_merge(r, b, &token, room));
    }
}

static qw_status build(reader *r, qw_builder *b, qw_buf *room, qw_tokenizer **out)
{
    const qw_token_list list = {r->texts, r->types, r->flags, r->n_ids, r->nfc, what};

    QW_TRY(qw_builder_start(b, &list, r->n_merges, r->err));
    QW_TRY(add_merges(r, b, room));
    return qw_builder_finish(b, out, r->err);
}

qw_status qw_tokenizer_from_json(qw_tokenizer **out, qw_text json, qw_error *err)
{
    reader r = {.err = err};
    qw_builder b = {0};
    qw_buf room = {0};
    qw_status status = survey(&r, json);

    *out = NULL;
    if (!status) status = reserve(&r);
    if (!status) status = fill_vocab(&r);
    if (!status) status = fill_added(&r);
    if (!status) status = build(&r, &b, &room, out);
    qw_builder_free(&b);
    qw_buf_free(&room);
    qw_buf_free(&r.escaped);
    qw_free(r.texts);
    qw_free(r.types);
    qw_free(r.flags);
    return status;
}
