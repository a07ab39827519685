/* SPDX-License-Identifier: MIT
 * Text is copied as it is up to a character that NFC might touch; from the character before that one to the next one of
 * the plain kind, it is decomposed, put into canonical order, and composed (UAX #15, section 1.2 and D117). */
#include "tokenizer/nfc.h"

#include "tokenizer/unicode.h"

#include <string.h>

enum {
    S_BASE = 0xAC00,
    L_BASE = 0x1100,
    V_BASE = 0x1161,
    T_BASE = 0x11A7, /* Hangul, the standard's section 3.12 */
    L_COUNT = 19,
    V_COUNT = 21,
    T_COUNT = 28,
    S_COUNT = L_COUNT * V_COUNT * T_COUNT,
    SHORT_RUN = 24, /* marks that are sorted by insertion; longer runs are counted */
};

/* A decomposed stretch: items are code point | combining class << 21. */
typedef struct stretch {
    qw_ids items, sorted;
} stretch;

static uint32_t code_of(int32_t item)
{
    return (uint32_t)item & 0x1FFFFF;
}

static uint32_t ccc_of(int32_t item)
{
    return (uint32_t)item >> 21;
}

static qw_status push(stretch *s, uint32_t c, qw_error *err)
{
    return qw_ids_push(&s->items, (int32_t)(c | qw_unicode_ccc(c) << 21), err);
}

static qw_status push_syllable(stretch *s, uint32_t index, qw_error *err)
{
    uint32_t trail = index % T_COUNT;

    QW_TRY(push(s, L_BASE + index / (V_COUNT * T_COUNT), err));
    QW_TRY(push(s, V_BASE + index / T_COUNT % V_COUNT, err));
    return trail ? push(s, T_BASE + trail, err) : QW_OK;
}

static qw_status push_decomposed(stretch *s, uint32_t c, qw_error *err)
{
    uint32_t parts[2], tails[3];
    size_t n_tails = 0, n;

    if (c - S_BASE < S_COUNT) return push_syllable(s, c - S_BASE, err);
    while (n_tails < 3 && (n = qw_unicode_decompose(c, parts)) > 0) {
        if (n == 2) tails[n_tails++] = parts[1];
        c = parts[0];
    }
    QW_TRY(push(s, c, err));
    while (n_tails) QW_TRY(push(s, tails[--n_tails], err));
    return QW_OK;
}

static void sort_by_insertion(int32_t *v, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        int32_t item = v[i];
        size_t at = i;
        for (; at && ccc_of(v[at - 1]) > ccc_of(item); at--) v[at] = v[at - 1];
        v[at] = item;
    }
}

static qw_status sort_by_counting(stretch *s, int32_t *v, size_t n, qw_error *err)
{
    size_t places[257] = {0};

    s->sorted.n = 0;
    QW_TRY(qw_ids_append(&s->sorted, v, n, err));
    for (size_t i = 0; i < n; i++) places[ccc_of(v[i]) + 1]++;
    for (size_t i = 1; i < 257; i++) places[i] += places[i - 1];
    for (size_t i = 0; i < n; i++) v[places[ccc_of(s->sorted.v[i])]++] = s->sorted.v[i];
    return QW_OK;
}

/* Canonical order: each run of marks by combining class, equals as they stand. */
static qw_status put_in_order(stretch *s, qw_error *err)
{
    for (size_t from = 0, to; from < s->items.n; from = to) {
        int32_t *v = s->items.v + from;
        to = from + 1;
        if (!ccc_of(*v)) continue;
        while (to < s->items.n && ccc_of(s->items.v[to])) to++;
        if (to - from <= SHORT_RUN) sort_by_insertion(v, to - from);
        else QW_TRY(sort_by_counting(s, v, to - from, err));
    }
    return QW_OK;
}

static uint32_t compose(uint32_t first, uint32_t second)
{
    if (first - L_BASE < L_COUNT && second - V_BASE < V_COUNT)
        return S_BASE + ((first - L_BASE) * V_COUNT + second - V_BASE) * T_COUNT;
    if (first - S_BASE < S_COUNT && (first - S_BASE) % T_COUNT == 0 && second - T_BASE - 1 < T_COUNT - 1)
        return first + second - T_BASE;
    return qw_unicode_compose(first, second);
}

/* Joins each character to the last starter, unless one with the same or a higher class, or a starter, stands between. */
static void compose_all(stretch *s)
{
    int32_t *v = s->items.v, *starter = NULL;
    int32_t between = -1; /* class of the item before, -1 where that is the starter itself */
    size_t n = 0;

    for (size_t i = 0; i < s->items.n; i++) {
        int32_t ccc = (int32_t)ccc_of(v[i]);
        uint32_t both = starter && between < ccc ? compose(code_of(*starter), code_of(v[i])) : 0;
        if (both) {
            *starter = (int32_t)both;
            continue;
        }
        v[n] = v[i];
        if (!ccc) starter = v + n;
        between = ccc ? ccc : -1;
        n++;
    }
    s->items.n = n;
}

static qw_status normalize(stretch *s, qw_text text, qw_buf *out, qw_error *err)
{
    uint32_t c;

    s->items.n = 0;
    for (size_t at = 0; at < text.n;) {
        at += qw_utf8_step(text.bytes + at, text.n - at, &c);
        QW_TRY(push_decomposed(s, c < QW_UTF8_BAD ? c : QW_UTF8_REPLACEMENT, err));
    }
    QW_TRY(put_in_order(s, err));
    compose_all(s);
    for (size_t i = 0; i < s->items.n; i++) {
        char bytes[4];
        QW_TRY(qw_buf_append(out, bytes, qw_utf8_write(bytes, code_of(s->items.v[i])), err));
    }
    return QW_OK;
}

/* From at on: the bytes of plain characters, or with careful set, of those that are not. *last is the start of the last. */
static size_t run_end(qw_text text, size_t at, bool careful, size_t *last)
{
    uint32_t c;

    *last = at;
    while (at < text.n) {
        size_t n = qw_utf8_step(text.bytes + at, text.n - at, &c);
        if (qw_unicode_nfc_careful(c) != careful) break;
        *last = at;
        at += n;
    }
    return at;
}

bool qw_nfc_is_plain(qw_text text)
{
    size_t last;

    return run_end(text, 0, false, &last) == text.n;
}

static qw_status append_all(stretch *s, qw_text text, qw_buf *out, qw_error *err)
{
    for (size_t at = 0; at < text.n;) {
        size_t from, ignored, plain = run_end(text, at, false, &from), end = run_end(text, plain, true, &ignored);
        QW_TRY(qw_buf_append(out, text.bytes + at, from - at, err));
        QW_TRY(normalize(s, (qw_text){text.bytes + from, end - from}, out, err));
        at = end;
    }
    return QW_OK;
}

qw_status qw_nfc_append(qw_text text, qw_buf *out, qw_error *err)
{
    stretch s = {0};
    qw_status status = append_all(&s, text, out, err);

    qw_ids_free(&s.items);
    qw_ids_free(&s.sorted);
    return status;
}
