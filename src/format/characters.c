/* SPDX-License-Identifier: MIT
 * Classes of code points as bytes: a tree of leading bytes in which equal tails are shared, for UTF-8 itself or inside a
 * JSON string. Surrogates and overlong forms are never made. */
#include "format/characters.h"

#include "format/expression_pool.h"
#include "tokenizer/unicode.h"

#include <string.h>

typedef struct ranges {
    const qw_char_range *v;
    size_t n;
} ranges;

qw_expr qw_expr_byte_range(qw_expr_pool *pool, uint8_t first, uint8_t last)
{
    qw_byte_set set = {{0}};

    for (unsigned b = first; b <= last; b++) qw_byte_set_add(&set, (uint8_t)b);
    return qw_expr_bytes(pool, &set);
}

qw_expr qw_expr_literal(qw_expr_pool *pool, qw_text text)
{
    qw_expr id = QW_EXPR_EMPTY;

    for (size_t i = text.n; i-- > 0;) {
        qw_expr byte = qw_expr_byte_range(pool, (uint8_t)text.bytes[i], (uint8_t)text.bytes[i]);

        id = id == QW_EXPR_EMPTY ? byte : qw_expr_intern(pool, QW_EXPR_NODE_CONCAT, byte, id, 0);
        if (pool->status) return QW_EXPR_NONE;
    }
    return id;
}

/* The ranges that touch first..last, as a part of the list. */
static ranges touching(ranges all, uint32_t first, uint32_t last)
{
    size_t low = 0, high = all.n, n = 0;

    while (low < high) {
        size_t middle = (low + high) / 2;
        if (all.v[middle].last < first) low = middle + 1;
        else high = middle;
    }
    while (low + n < all.n && all.v[low + n].first <= last) n++;
    return (ranges){n ? all.v + low : NULL, n};
}

static qw_expr any_tail(qw_expr_pool *pool, int left)
{
    qw_expr byte = qw_expr_byte_range(pool, 0x80, 0xBF), id = byte;

    while (--left > 0) id = qw_expr_concat(pool, byte, id);
    return id;
}

/* The last byte of the characters from base to base + 63 that are in the ranges. */
static qw_expr last_bytes(qw_expr_pool *pool, ranges all, uint32_t base)
{
    qw_byte_set set = {{0}};

    for (size_t i = 0; i < all.n; i++) {
        uint32_t first = all.v[i].first > base ? all.v[i].first : base;
        uint32_t last = all.v[i].last < base + 63 ? all.v[i].last : base + 63;

        for (uint32_t c = first; c <= last; c++) qw_byte_set_add(&set, (uint8_t)(0x80 + c - base));
    }
    return qw_expr_bytes(pool, &set);
}

/* Leading bytes first to last before the same tail, put on the stack. */
static void push_branch(qw_expr_pool *pool, uint32_t first, uint32_t last, qw_expr tail)
{
    qw_expr id = qw_expr_concat(pool, qw_expr_byte_range(pool, (uint8_t)first, (uint8_t)last), tail);

    if (tail != QW_EXPR_NONE) qw_expr_push(pool, &pool->stack, id);
}

/* The last `left` bytes of the characters from base on, of which there are 64^left. */
static qw_expr tails(qw_expr_pool *pool, ranges all, uint32_t base, int left)
{
    uint32_t size = left == 1 ? 1 : left == 2 ? 64 : 4096, last = base + 64 * size - 1;
    uint32_t begin = base ? 0 : left == 2 ? 32 : 16, pending = begin; /* from 0 on: the overlong forms left out */
    qw_expr rest = QW_EXPR_NONE;
    size_t stack = pool->stack.n;

    all = touching(all, base, last);
    if (all.n == 0 || (left == 1 && base >= 0xD800 && base < 0xE000)) return QW_EXPR_NONE;
    if (base && last != 0xDFFF && all.v[0].first <= base && all.v[0].last >= last) return any_tail(pool, left);
    if (left == 1) return last_bytes(pool, all, base);
    for (uint32_t i = begin; i < 64; i++) {
        qw_expr tail = tails(pool, all, base + i * size, left - 1);

        if (i > begin && tail == rest) continue;
        push_branch(pool, 0x80 + pending, 0x80 + i - 1, rest);
        pending = i;
        rest = tail;
    }
    push_branch(pool, 0x80 + pending, 0xBF, rest);
    return qw_expr_or_top(pool, stack);
}

/* Characters of more than one byte, put on the stack. */
static void long_characters(qw_expr_pool *pool, ranges all)
{
    uint32_t pending = 0xC2;
    qw_expr rest = QW_EXPR_NONE;

    for (uint32_t lead = 0xC2; lead <= 0xF4; lead++) {
        int left = lead < 0xE0 ? 1 : lead < 0xF0 ? 2 : 3;
        uint32_t base = lead < 0xE0 ? (lead & 31) << 6 : lead < 0xF0 ? (lead & 15) << 12 : (lead & 7) << 18;
        qw_expr tail;

        tail = tails(pool, all, base, left);
        if (tail == rest) continue;
        push_branch(pool, pending, lead - 1, rest);
        pending = lead;
        rest = tail;
    }
    push_branch(pool, pending, 0xF4, rest);
}

static qw_expr escaped(qw_expr_pool *pool, const char *before, qw_expr last)
{
    return qw_expr_concat(pool, qw_expr_literal(pool, qw_text_of(before)), last);
}

/* The letter after a backslash, where a JSON string has one for that character; else 0. */
static char escape_of(uint32_t c)
{
    static const char from[] = "\"\\\b\t\n\f\r", to[] = "\"\\btnfr";

    for (size_t i = 0; c && from[i]; i++)
        if (c == (uint8_t)from[i]) return to[i];
    return 0;
}

static const char hex[] = "0123456789abcdef";

size_t qw_spell_char(char out[QW_SPELLED_MAX], uint32_t c, qw_spelling spelling)
{
    if (spelling == QW_SPELL_RAW || (c >= 32 && !escape_of(c))) return qw_utf8_write(out, c);
    out[0] = '\\';
    out[1] = escape_of(c);
    if (out[1]) return 2;
    memcpy(out + 1, "u00", 3);
    out[4] = hex[c >> 4];
    out[5] = hex[c & 15];
    return 6;
}

/* How JSON strings spell the ASCII characters that they escape, put on the stack. */
static void json_escapes(qw_expr_pool *pool, const qw_byte_set *ascii)
{
    qw_byte_set letters = {{0}}, digits[2] = {{{0}}, {{0}}};
    qw_expr id;

    for (unsigned c = 0; c < 128; c++) {
        if (!qw_byte_set_has(ascii, (uint8_t)c)) continue;
        if (escape_of(c)) qw_byte_set_add(&letters, (uint8_t)escape_of(c));
        else if (c < 32) qw_byte_set_add(&digits[c >> 4], (uint8_t)hex[c & 15]);
    }
    id = escaped(pool, "\\", qw_expr_bytes(pool, &letters));
    qw_expr_push(pool, &pool->stack, id);
    for (int high = 0; high < 2; high++) {
        id = escaped(pool, high ? "\\u001" : "\\u000", qw_expr_bytes(pool, &digits[high]));
        qw_expr_push(pool, &pool->stack, id);
    }
}

qw_expr qw_expr_chars(qw_expr_pool *pool, const qw_char_range *v, size_t n, qw_spelling spelling)
{
    size_t base = pool->stack.n;
    ranges all = {v, n};
    qw_byte_set ascii = {{0}};
    qw_expr id;

    for (unsigned c = 0; c < 128; c++)
        if (touching(all, c, c).n) qw_byte_set_add(&ascii, (uint8_t)c);
    if (spelling == QW_SPELL_JSON) {
        json_escapes(pool, &ascii);
        ascii.bits[0] &= ~(0xFFFFFFFFu | (uint64_t)1 << '"');
        ascii.bits[1] &= ~((uint64_t)1 << ('\\' - 64));
    }
    id = qw_expr_bytes(pool, &ascii);
    qw_expr_push(pool, &pool->stack, id);
    long_characters(pool, all);
    id = qw_expr_or_top(pool, base);
    qw_expr_mark(pool, id, spelling);
    return id;
}

qw_expr qw_expr_any_char(qw_expr_pool *pool, qw_spelling spelling)
{
    static const qw_char_range every[] = {{0, 0xD7FF}, {0xE000, 0x10FFFF}};

    if (!pool->any_char[spelling]) pool->any_char[spelling] = qw_expr_chars(pool, every, 2, spelling);
    return pool->any_char[spelling];
}

qw_expr qw_expr_any_text(qw_expr_pool *pool, qw_spelling spelling)
{
    if (!pool->any_text[spelling])
        pool->any_text[spelling] = qw_expr_repeat(pool, qw_expr_any_char(pool, spelling), 0, QW_EXPR_UNBOUNDED);
    return pool->any_text[spelling];
}

qw_expr qw_expr_text(qw_expr_pool *pool, qw_text text, qw_spelling spelling)
{
    size_t base = pool->stack.n;
    qw_expr id = QW_EXPR_EMPTY;

    for (size_t at = 0; at < text.n;) {
        uint32_t c;

        at += qw_utf8_step(text.bytes + at, text.n - at, &c);
        if (c >= QW_UTF8_BAD || !qw_expr_push(pool, &pool->stack, c)) {
            pool->stack.n = base;
            return QW_EXPR_NONE;
        }
    }
    for (size_t n = pool->stack.n; n-- > base;) {
        char bytes[QW_SPELLED_MAX];
        qw_expr one = qw_expr_literal(pool, (qw_text){bytes, qw_spell_char(bytes, pool->stack.v[n], spelling)});

        qw_expr_mark(pool, one, spelling);
        id = qw_expr_concat(pool, one, id);
    }
    pool->stack.n = base;
    return id;
}
