/* SPDX-License-Identifier: MIT
 * The scanner's state is what may come next; containers are a bit each on a stack, so nesting costs no memory. */
#include "base/jsonscan.h"

#include "base/quote_text.h"

#include <string.h>

enum state {
    WANT_VALUE,       /* a value must come                    */
    WANT_FIRST_VALUE, /* a value or ]                         */
    WANT_FIRST_KEY,   /* a key or }                           */
    WANT_KEY,         /* a key: a comma was read              */
    WANT_SEPARATOR,   /* a comma or the container's end       */
    WANT_END,         /* the value is whole: only blanks may follow */
};

void qw_scan_init(qw_scan *s, qw_text text, const char *what)
{
    if (!text.n) text.bytes = "";
    *s = (qw_scan){.begin = text.bytes, .at = text.bytes, .end = text.bytes + text.n, .what = what};
    s->state = WANT_VALUE;
    s->max_depth = QW_SCAN_DEPTH;
    if (text.n >= 3 && memcmp(text.bytes, "\xEF\xBB\xBF", 3) == 0) s->at += 3;
}

void qw_scan_init_deep(qw_scan *s, qw_text text, const char *what)
{
    qw_scan_init(s, text, what);
    s->max_depth = QW_SCAN_DEEPEST;
}

static qw_status scan_fail(const qw_scan *s, const char *wanted, qw_error *err)
{
    char shown[64];
    size_t left = (size_t)(s->end - s->at);

    if (!left) return qw_fail(err, QW_ERR_FORMAT, "%s: the JSON text ends too early, %s was expected", s->what, wanted);
    return qw_fail(err, QW_ERR_FORMAT, "%s: not JSON at byte %zu, %s was expected, got \"%s\"", s->what,
                   (size_t)(s->at - s->begin), wanted, qw_quote_text(shown, (qw_text){s->at, left < 16 ? left : 16}));
}

static void skip_blanks(qw_scan *s)
{
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t')) s->at++;
}

static bool is_digit(const qw_scan *s)
{
    return s->at < s->end && *s->at >= '0' && *s->at <= '9';
}

static bool digits(qw_scan *s)
{
    const char *from = s->at;

    while (is_digit(s)) s->at++;
    return s->at > from;
}

static qw_status scan_number(qw_scan *s, qw_text *raw, qw_error *err)
{
    const char *from = s->at;

    if (*s->at == '-') s->at++;
    if (s->at < s->end && *s->at == '0') {
        s->at++;
        if (is_digit(s)) return scan_fail(s, "a number without leading zeros", err);
    } else if (!digits(s)) {
        return scan_fail(s, "a digit", err);
    }
    if (s->at < s->end && *s->at == '.') {
        s->at++;
        if (!digits(s)) return scan_fail(s, "a digit", err);
    }
    if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
        s->at++;
        if (s->at < s->end && (*s->at == '+' || *s->at == '-')) s->at++;
        if (!digits(s)) return scan_fail(s, "a digit", err);
    }
    *raw = (qw_text){from, (size_t)(s->at - from)};
    if (raw->n <= QW_SCAN_NUMBER) return QW_OK;
    s->at = from;
    return scan_fail(s, "a number of at most 60 characters", err);
}

/* The value of 4 hex digits, or -1. */
static int32_t hex4(const char *p, const char *end)
{
    int32_t v = 0;

    if (end - p < 4) return -1;
    for (int i = 0; i < 4; i++) {
        char c = p[i];
        if (c >= '0' && c <= '9') v = v * 16 + (c - '0');
        else if ((c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')) v = v * 16 + ((c | 32) - 'a' + 10);
        else return -1;
    }
    return v;
}

/* Length of the escape at p (a backslash) with its code point, or 0 where it is none. A lone surrogate is none: it has
 * no UTF-8. */
static size_t escape(const char *p, const char *end, int32_t *code)
{
    static const char names[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char *name;
    int32_t low;

    if (end - p < 2) return 0;
    if (p[1] != 'u') {
        name = p[1] ? strchr(names, p[1]) : NULL;
        if (name) *code = meant[name - names];
        return name ? 2 : 0;
    }
    *code = hex4(p + 2, end);
    if (*code < 0 || (*code >= 0xDC00 && *code < 0xE000)) return 0;
    if (*code < 0xD800 || *code >= 0xE000) return 6;
    if (end - p < 12 || p[6] != '\\' || p[7] != 'u') return 0;
    low = hex4(p + 8, end);
    if (low < 0xDC00 || low >= 0xE000) return 0;
    *code = 0x10000 + ((*code - 0xD800) << 10) + (low - 0xDC00);
    return 12;
}

static qw_status scan_string(qw_scan *s, qw_text *raw, qw_error *err)
{
    const char *from = ++s->at;

    while (s->at < s->end && *s->at != '"') {
        int32_t code;
        size_t n = *s->at == '\\' ? escape(s->at, s->end, &code) : (unsigned char)*s->at >= 0x20;
        if (!n) return scan_fail(s, *s->at == '\\' ? "a valid escape" : "a character that is not a control", err);
        s->at += n;
    }
    if (s->at == s->end) return scan_fail(s, "a closing quote", err);
    *raw = (qw_text){from, (size_t)(s->at - from)};
    s->at++;
    return QW_OK;
}

static void value_done(qw_scan *s)
{
    s->state = s->depth ? WANT_SEPARATOR : WANT_END;
}

static qw_status open_container(qw_scan *s, qw_scan_token *token, bool object, qw_error *err)
{
    uint64_t bit = (uint64_t)1 << (s->depth & 63), *word;

    if (s->depth == s->max_depth)
        return scan_fail(s, s->depth == QW_SCAN_DEPTH ? "nesting of at most 64" : "nesting of at most 512", err);
    word = &s->in_object[s->depth / 64];
    *word = object ? *word | bit : *word & ~bit;
    s->depth++;
    s->at++;
    s->state = object ? WANT_FIRST_KEY : WANT_FIRST_VALUE;
    token->kind = object ? QW_SCAN_BEGIN_OBJECT : QW_SCAN_BEGIN_ARRAY;
    return QW_OK;
}

static qw_status close_container(qw_scan *s, qw_scan_token *token, bool object)
{
    s->depth--;
    s->at++;
    value_done(s);
    token->kind = object ? QW_SCAN_END_OBJECT : QW_SCAN_END_ARRAY;
    return QW_OK;
}

static bool literal(qw_scan *s, const char *word)
{
    size_t n = strlen(word);

    if ((size_t)(s->end - s->at) < n || memcmp(s->at, word, n) != 0) return false;
    s->at += n;
    value_done(s);
    return true;
}

static qw_status scan_value(qw_scan *s, qw_scan_token *token, qw_error *err)
{
    if (s->at == s->end) return scan_fail(s, "a value", err);
    switch (*s->at) {
    case '{':
        return open_container(s, token, true, err);
    case '[':
        return open_container(s, token, false, err);
    case '"':
        token->kind = QW_SCAN_STRING;
        QW_TRY(scan_string(s, &token->raw, err));
        value_done(s);
        return QW_OK;
    case 't':
        token->kind = QW_SCAN_TRUE;
        return literal(s, "true") ? QW_OK : scan_fail(s, "a value", err);
    case 'f':
        token->kind = QW_SCAN_FALSE;
        return literal(s, "false") ? QW_OK : scan_fail(s, "a value", err);
    case 'n':
        token->kind = QW_SCAN_NULL;
        return literal(s, "null") ? QW_OK : scan_fail(s, "a value", err);
    default:
        if (*s->at != '-' && !is_digit(s)) return scan_fail(s, "a value", err);
        token->kind = QW_SCAN_NUMBER_TEXT;
        QW_TRY(scan_number(s, &token->raw, err));
        value_done(s);
        return QW_OK;
    }
}

static qw_status scan_key(qw_scan *s, qw_scan_token *token, qw_error *err)
{
    if (s->at == s->end || *s->at != '"') return scan_fail(s, "a key", err);
    token->kind = QW_SCAN_KEY;
    QW_TRY(scan_string(s, &token->raw, err));
    skip_blanks(s);
    if (s->at == s->end || *s->at != ':') return scan_fail(s, "a colon", err);
    s->at++;
    s->state = WANT_VALUE;
    return QW_OK;
}

qw_status qw_scan_next(qw_scan *s, qw_scan_token *token, qw_error *err)
{
    int32_t outer = s->depth - 1; /* the container at hand, if there is one */
    bool object = s->depth && (s->in_object[outer / 64] >> (outer & 63) & 1);
    char close = object ? '}' : ']';
    char next;

    *token = (qw_scan_token){QW_SCAN_END, {s->at, 0}};
    skip_blanks(s);
    next = s->at < s->end ? *s->at : 0;
    switch (s->state) {
    case WANT_FIRST_VALUE:
        return next == ']' ? close_container(s, token, false) : scan_value(s, token, err);
    case WANT_FIRST_KEY:
        return next == '}' ? close_container(s, token, true) : scan_key(s, token, err);
    case WANT_KEY:
        return scan_key(s, token, err);
    case WANT_SEPARATOR:
        if (next == close) return close_container(s, token, object);
        if (next != ',') return scan_fail(s, object ? "a comma or }" : "a comma or ]", err);
        s->at++;
        skip_blanks(s);
        return object ? scan_key(s, token, err) : scan_value(s, token, err);
    case WANT_END:
        return s->at == s->end ? QW_OK : scan_fail(s, "the end of the text", err);
    default:
        return scan_value(s, token, err);
    }
}

qw_status qw_scan_skip(qw_scan *s, const qw_scan_token *first, qw_error *err)
{
    int32_t depth = s->depth;
    qw_scan_token token;

    if (first->kind != QW_SCAN_BEGIN_OBJECT && first->kind != QW_SCAN_BEGIN_ARRAY) return QW_OK;
    while (s->depth >= depth) QW_TRY(qw_scan_next(s, &token, err));
    return QW_OK;
}

qw_status qw_scan_unescape(qw_buf *out, qw_text raw, qw_error *err)
{
    const char *at = raw.bytes, *end = raw.bytes + raw.n;

    while (at < end) {
        const char *stop = memchr(at, '\\', (size_t)(end - at));
        char utf8[4];
        int32_t code = 0;
        size_t n;

        QW_TRY(qw_buf_append(out, at, (size_t)((stop ? stop : end) - at), err));
        if (!stop) return QW_OK;
        n = escape(stop, end, &code);
        if (!n) return qw_fail(err, QW_ERR_INTERNAL, "an escape was not checked before it was read");
        QW_TRY(qw_buf_append(out, utf8, qw_utf8_write(utf8, (uint32_t)code), err));
        at = stop + n;
    }
    return QW_OK;
}

bool qw_scan_uint(qw_text number, uint64_t *value)
{
    uint64_t v = 0;

    if (!number.n) return false;
    for (size_t i = 0; i < number.n; i++) {
        uint64_t d = (uint64_t)(unsigned char)number.bytes[i] - '0';
        if (d > 9 || v > (UINT64_MAX - d) / 10) return false;
        v = v * 10 + d;
    }
    *value = v;
    return true;
}
