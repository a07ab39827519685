/* SPDX-License-Identifier: MIT
 * Encoding is a chain: cut out added tokens, repair and normalise each stretch between them, cut out those that are looked
 * for after that, split, merge. Each step hands slices of its text to the next; nothing recurses over the text. */
#include "tokenizer/tokenizer.h"

#include "base/alloc.h"
#include "tokenizer/nfc.h"
#include "tokenizer/pretokenize.h"
#include "tokenizer/tokenizer_state.h"
#include "tokenizer/unicode.h"

#include <string.h>

enum { MAX_TEXT = 1 << 28 }; /* repaired and normalised it is still below 2^32 bytes */

void qw_tokenizer_free(qw_tokenizer *t)
{
    if (!t) return;
    qw_bpe_free(&t->bpe);
    qw_added_free(&t->raw);
    qw_added_free(&t->normalized);
    qw_free(t->types);
    qw_free(t->offsets);
    qw_free(t->bytes);
    qw_free(t);
}

size_t qw_tokenizer_bytes(const qw_tokenizer *t)
{
    return t->held;
}

int32_t qw_tokenizer_n_ids(const qw_tokenizer *t)
{
    return t->n_ids;
}

static int32_t exact_id(const qw_added_set *set, qw_text text)
{
    const qw_added *found = text.n ? qw_added_find(set, text, 0) : NULL;

    return found && found->text.n == text.n ? found->id : -1;
}

int32_t qw_tokenizer_added_id(const qw_tokenizer *t, qw_text text)
{
    int32_t id = exact_id(&t->raw, text);

    return id < 0 ? exact_id(&t->normalized, text) : id;
}

qw_token_type qw_tokenizer_type(const qw_tokenizer *t, int32_t id)
{
    return id < 0 || (size_t)id >= t->n_tokens ? QW_TOKEN_UNUSED : (qw_token_type)t->types[id];
}

qw_text qw_tokenizer_token_bytes(const qw_tokenizer *t, int32_t id)
{
    if (id < 0 || (size_t)id >= t->n_tokens) return (qw_text){"", 0};
    return (qw_text){t->bytes + t->offsets[id], t->offsets[id + 1] - t->offsets[id]};
}

/* What one call of encode works with. */
typedef struct encoder {
    const qw_tokenizer *t;
    qw_encode_options options;
    size_t blocked; /* options.blocked before this index lie behind */
    qw_ids *ids;
    qw_buf repaired, normal;
    qw_bpe_work work;
    qw_error *err;
} encoder;

typedef qw_status stretch_fn(encoder *e, qw_text text);

static bool is_blocked(encoder *e, size_t at)
{
    const qw_encode_options *o = &e->options;

    while (e->blocked < o->n_blocked && (o->blocked[e->blocked] < 0 || (size_t)o->blocked[e->blocked] < at))
        e->blocked++;
    return e->blocked < o->n_blocked && (size_t)o->blocked[e->blocked] == at;
}

/* Where the white space that ends at `at` begins, not before from. */
static size_t space_before(qw_text text, size_t from, size_t at)
{
    while (at > from) {
        size_t back = at - 1;
        uint32_t c;
        while (back > from && at - back < 4 && ((unsigned char)text.bytes[back] & 0xC0) == 0x80) back--;
        if (back + qw_utf8_step(text.bytes + back, at - back, &c) != at || qw_unicode_class(c) != QW_CHAR_SPACE) break;
        at = back;
    }
    return at;
}

static size_t space_after(qw_text text, size_t at)
{
    while (at < text.n) {
        uint32_t c;
        size_t n = qw_utf8_step(text.bytes + at, text.n - at, &c);
        if (qw_unicode_class(c) != QW_CHAR_SPACE) break;
        at += n;
    }
    return at;
}

/* The next token of set at or after *at, or NULL; *at is its place. A control token that is not wanted is passed over as a
 * whole, as the reference does; a token whose place is blocked hides nothing that begins inside it. */
static const qw_added *next_added(encoder *e, const qw_added_set *set, qw_text text, size_t *at)
{
    while (*at < text.n) {
        const qw_added *found = qw_added_find(set, text, *at);
        bool blocked = found && set == &e->t->raw && is_blocked(e, *at);

        if (found && !blocked && (!found->control || e->options.parse_special)) return found;
        *at += found && !blocked && !e->options.parse_special ? found->text.n : 1;
    }
    return NULL;
}

/* Appends the ids of the tokens of set that text holds, and hands the stretches between them on. White space that a token
 * takes after itself may still begin the next token, as in the reference. */
static qw_status cut(encoder *e, const qw_added_set *set, qw_text text, stretch_fn *stretch)
{
    size_t from = 0, at = 0;

    for (const qw_added *found; (found = next_added(e, set, text, &at)) != NULL;) {
        size_t start = found->lstrip ? space_before(text, from, at) : at;
        if (start > from) QW_TRY(stretch(e, (qw_text){text.bytes + from, start - from}));
        QW_TRY(qw_ids_push(e->ids, found->id, e->err));
        at += found->text.n;
        from = found->rstrip ? space_after(text, at) : at;
    }
    return from < text.n ? stretch(e, (qw_text){text.bytes + from, text.n - from}) : QW_OK;
}

static qw_status encode_pieces(encoder *e, qw_text text)
{
    for (size_t at = 0; at < text.n;) {
        size_t end = qw_pretokenize_next(text, at);
        QW_TRY(qw_bpe_encode(&e->t->bpe, (qw_text){text.bytes + at, end - at}, &e->work, e->ids, e->err));
        at = end;
    }
    return QW_OK;
}

static bool is_well_formed(qw_text text)
{
    uint32_t c = 0;

    for (size_t at = 0; at < text.n && c < QW_UTF8_BAD;) at += qw_utf8_step(text.bytes + at, text.n - at, &c);
    return c < QW_UTF8_BAD;
}

static qw_status encode_stretch(encoder *e, qw_text text)
{
    if (!is_well_formed(text)) {
        qw_decoder decoder = {0};
        e->repaired.n = 0;
        QW_TRY(qw_decoder_push(&decoder, text, &e->repaired, e->err));
        QW_TRY(qw_decoder_flush(&decoder, &e->repaired, e->err));
        text = (qw_text){e->repaired.bytes, e->repaired.n};
    }
    if (e->t->nfc && !qw_nfc_is_plain(text)) {
        e->normal.n = 0;
        QW_TRY(qw_nfc_append(text, &e->normal, e->err));
        text = (qw_text){e->normal.bytes, e->normal.n};
    }
    return e->t->normalized.n ? cut(e, &e->t->normalized, text, encode_pieces) : encode_pieces(e, text);
}

qw_status qw_tokenizer_encode(const qw_tokenizer *t, qw_text text, const qw_encode_options *options, qw_ids *ids,
                              qw_error *err)
{
    encoder e = {.t = t, .options = *options, .ids = ids, .err = err};
    size_t n = ids->n;
    qw_status status;

    if (text.n > MAX_TEXT)
        return qw_fail(err, QW_ERR_USAGE, "a text of %zu bytes: at most %d can be encoded at once", text.n, MAX_TEXT);
    status = cut(&e, &t->raw, text, encode_stretch);

    if (status) ids->n = n;
    qw_buf_free(&e.repaired);
    qw_buf_free(&e.normal);
    qw_bpe_work_free(&e.work);
    return status;
}

static const char replacement[] = "\xEF\xBF\xBD";

/* Completes or refuses the held character with the bytes that follow; returns how many of them it used. */
static qw_status complete(qw_decoder *d, qw_text bytes, size_t *used, qw_buf *out, qw_error *err)
{
    for (*used = 0; *used < bytes.n && d->n_held;) {
        uint32_t c;
        d->held[d->n_held] = (uint8_t)bytes.bytes[*used];
        qw_utf8_step((const char *)d->held, d->n_held + 1u, &c);
        if (c == QW_UTF8_BAD) return qw_decoder_flush(d, out, err); /* the new byte is for the next character */
        ++*used;
        d->n_held++;
        if (c == QW_UTF8_SHORT) continue;
        QW_TRY(qw_buf_append(out, d->held, d->n_held, err));
        d->n_held = 0;
    }
    return QW_OK;
}

qw_status qw_decoder_push(qw_decoder *d, qw_text bytes, qw_buf *out, qw_error *err)
{
    size_t from, at;

    QW_TRY(complete(d, bytes, &at, out, err));
    for (from = at; at < bytes.n;) {
        uint32_t c;
        size_t n = qw_utf8_step(bytes.bytes + at, bytes.n - at, &c);
        at += n;
        if (c < QW_UTF8_BAD) continue;
        QW_TRY(qw_buf_append(out, bytes.bytes + from, at - n - from, err));
        from = at;
        if (c == QW_UTF8_BAD) QW_TRY(qw_buf_append(out, replacement, 3, err));
        if (c == QW_UTF8_SHORT) memcpy(d->held, bytes.bytes + at - n, n);
        if (c == QW_UTF8_SHORT) d->n_held = (uint8_t)n;
    }
    return at > from ? qw_buf_append(out, bytes.bytes + from, at - from, err) : QW_OK;
}

qw_status qw_decoder_flush(qw_decoder *d, qw_buf *out, qw_error *err)
{
    bool held = d->n_held > 0;

    d->n_held = 0;
    return held ? qw_buf_append(out, replacement, 3, err) : QW_OK;
}

qw_status qw_tokenizer_decode(const qw_tokenizer *t, const int32_t *ids, size_t n, bool skip_special, qw_buf *out,
                              qw_error *err)
{
    qw_decoder decoder = {0};
    qw_status status = QW_OK;
    size_t before = out->n;

    for (size_t i = 0; i < n && !status; i++)
        if (!skip_special || qw_tokenizer_type(t, ids[i]) != QW_TOKEN_CONTROL)
            status = qw_decoder_push(&decoder, qw_tokenizer_token_bytes(t, ids[i]), out, err);
    if (!status) status = qw_decoder_flush(&decoder, out, err);
    if (status) out->n = before;
    return status;
}
