/* SPDX-License-Identifier: MIT
 * A parser by descent: a disjunction of sequences of quantified atoms. The first fault wins and names its place. */
#include "format/regex.h"

#include "base/alloc.h"
#include "base/print.h"
#include "format/anchored.h"
#include "format/regex_classes.h"
#include "tokenizer/unicode.h"

#include <stdarg.h>
#include <string.h>

enum { DEEPEST = 120, LONGEST = 1 << 18, NAMES_MAX = 64 };

#define END UINT32_MAX /* behind the last character */

typedef struct parts {
    qw_anchored *v;
    size_t n, cap;
} parts;

typedef struct parser {
    qw_expr_pool *pool;
    qw_spelling spelling;
    qw_text pattern;
    size_t at;    /* byte offset */
    int depth;    /* groups open */
    bool dot_all; /* flag s */
    parts stack;  /* items of open sequences, alternatives of open groups */
    qw_text names[NAMES_MAX];
    size_t n_names;
    qw_status status;
    qw_error *err;
} parser;

QW_PRINTF(2, 3) static void fail(parser *p, const char *format, ...)
{
    char why[200];
    size_t place = 1;
    va_list list;

    if (p->status) return;
    va_start(list, format);
    qw_print_list(why, sizeof why, format, list);
    va_end(list);
    for (size_t i = 0; i < p->at && i < p->pattern.n; i++) place += ((uint8_t)p->pattern.bytes[i] & 0xC0) != 0x80;
    p->status = qw_fail(p->err, QW_ERR_USAGE, "regular expression, character %zu: %s", place, why);
}

static void keep_status(parser *p, qw_status status)
{
    if (!p->status) p->status = status;
}

static uint32_t peek(const parser *p)
{
    uint32_t c;

    if (p->at >= p->pattern.n) return END;
    qw_utf8_step(p->pattern.bytes + p->at, p->pattern.n - p->at, &c);
    return c;
}

static uint32_t take(parser *p)
{
    uint32_t c;

    if (p->at >= p->pattern.n) return END;
    p->at += qw_utf8_step(p->pattern.bytes + p->at, p->pattern.n - p->at, &c);
    return c;
}

static bool take_if(parser *p, const char *text)
{
    size_t n = strlen(text);

    if (p->pattern.n - p->at < n || memcmp(p->pattern.bytes + p->at, text, n)) return false;
    p->at += n;
    return true;
}

static void push(parser *p, qw_anchored a)
{
    if (p->status) return;
    if (p->stack.n == p->stack.cap) {
        size_t cap = p->stack.cap ? 2 * p->stack.cap : 32;
        qw_anchored *v = qw_realloc(p->stack.v, cap, sizeof *v);

        if (!v) {
            keep_status(p, qw_fail_memory(p->err, "a regular expression", (double)(cap * sizeof *v)));
            return;
        }
        p->stack.v = v;
        p->stack.cap = cap;
    }
    p->stack.v[p->stack.n++] = a;
}

static qw_anchored character(parser *p, uint32_t c)
{
    char bytes[4];
    qw_text text = {bytes, qw_utf8_write(bytes, c)};

    if (c >= 0xD800 && c < 0xE000) {
        fail(p, "half a surrogate pair is no character of a text");
        return qw_anchored_plain(QW_EXPR_NONE);
    }
    return qw_anchored_plain(qw_expr_text(p->pool, text, p->spelling));
}

static qw_anchored class_of(parser *p, qw_char_set *set, bool inverted)
{
    qw_expr id = QW_EXPR_NONE;

    if (inverted) keep_status(p, qw_char_set_invert(set, p->err));
    else qw_char_set_normalise(set);
    if (!p->status) id = qw_expr_chars(p->pool, set->v, set->n, p->spelling);
    qw_char_set_free(set);
    return qw_anchored_plain(id);
}

static int hex_value(uint32_t c)
{
    if (c >= '0' && c <= '9') return (int)(c - '0');
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? (int)(c - 'a') + 10 : -1;
}

static uint32_t hex_digits(parser *p, int n)
{
    uint32_t value = 0;

    for (int i = 0; i < n; i++) {
        int digit = hex_value(peek(p));

        if (digit < 0) {
            fail(p, "an escape wants %d hexadecimal digits", n);
            return 0;
        }
        value = value << 4 | (uint32_t)digit;
        take(p);
    }
    return value;
}

/* After \u. */
static uint32_t unicode_escape(parser *p)
{
    uint32_t value = 0, low;
    size_t back;

    if (!take_if(p, "{")) {
        value = hex_digits(p, 4);
        back = p->at;
        if (value < 0xD800 || value >= 0xDC00 || !take_if(p, "\\u")) return value;
        low = hex_digits(p, 4);
        if (low >= 0xDC00 && low < 0xE000) return 0x10000 + ((value - 0xD800) << 10) + (low - 0xDC00);
        p->at = back;
        return value;
    }
    if (hex_value(peek(p)) < 0) fail(p, "\\u{ wants hexadecimal digits");
    while (hex_value(peek(p)) >= 0 && value <= 0x10FFFF) value = value << 4 | (uint32_t)hex_value(take(p));
    if (value > 0x10FFFF) fail(p, "no code point is above U+10FFFF");
    if (!take_if(p, "}")) fail(p, "\\u{ is not closed");
    return value;
}

static bool is_letter(uint32_t c)
{
    return (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
}

/* The character of an escape whose letter was taken. */
static uint32_t escaped_character(parser *p, uint32_t c)
{
    static const char from[] = "tnrfv", to[] = "\t\n\r\f\v";
    const char *found = c && c < 128 ? strchr(from, (int)c) : NULL;

    if (found) return (uint8_t)to[found - from];
    if (c == 'x') return hex_digits(p, 2);
    if (c == 'u') return unicode_escape(p);
    if (c == 'c') {
        c = take(p);
        if (!is_letter(c)) fail(p, "\\c wants a letter");
        return c & 31;
    }
    if (c == '0') {
        if (peek(p) >= '0' && peek(p) <= '9') fail(p, "an octal escape is not taken: use \\x");
        return 0;
    }
    if (c == END) fail(p, "the pattern ends in a backslash");
    else if (c >= '1' && c <= '9') fail(p, "a backreference (\\%c) is not regular and is not taken", (char)c);
    else if (is_letter(c)) fail(p, "\\%c is no escape of ECMA-262's regular expressions", (char)c);
    else if (c >= 128) fail(p, "a character that needs no backslash is escaped");
    return c;
}

/* After \p or \P. */
static void property(parser *p, qw_char_set *set, bool inverted)
{
    size_t begin = p->at + 1;
    bool known;
    qw_text name;

    if (!take_if(p, "{")) {
        fail(p, "\\p wants a name in braces");
        return;
    }
    while (peek(p) != '}' && peek(p) != END) take(p);
    name = (qw_text){p->pattern.bytes + begin, p->at - begin};
    keep_status(p, qw_char_set_add_property(set, name, inverted, &known, p->err));
    if (!p->status && !known)
        fail(p, "the Unicode property \"%.*s\" is not known here: general categories, Any, ASCII and Assigned are",
             (int)(name.n < 60 ? name.n : 60), name.bytes);
    if (!take_if(p, "}")) fail(p, "\\p{ is not closed");
}

/* Adds a class escape, whose letter c was taken, to set; false where c is none. */
static bool class_escape(parser *p, uint32_t c, qw_char_set *set)
{
    if (c == 'p' || c == 'P') property(p, set, c == 'P');
    else if (c && c < 128 && strchr("dDwWsS", (int)c)) keep_status(p, qw_char_set_add_escape(set, (char)c, p->err));
    else return false;
    return true;
}

/* One end of a range in [...], or a class (true) that is added at once. */
static bool class_atom(parser *p, qw_char_set *set, uint32_t *c)
{
    *c = take(p);
    if (*c != '\\') return false;
    *c = take(p);
    if (class_escape(p, *c, set)) return true;
    *c = *c == 'b' ? '\b' : escaped_character(p, *c);
    return false;
}

/* After [. */
static qw_anchored character_class(parser *p)
{
    bool inverted = take_if(p, "^");
    qw_char_set set = {0};
    uint32_t first, last;

    while (!p->status && !take_if(p, "]")) {
        bool is_class = class_atom(p, &set, &first), dash;

        if (first == END) fail(p, "a class [ is not closed");
        dash = peek(p) == '-' && p->at + 1 < p->pattern.n && p->pattern.bytes[p->at + 1] != ']';
        last = first;
        if (dash) {
            take(p);
            is_class |= class_atom(p, &set, &last);
            if (is_class) fail(p, "a class cannot be an end of a range: escape the dash");
            else if (last < first) fail(p, "a range is out of order");
        }
        if (!is_class && !p->status) keep_status(p, qw_char_set_add(&set, first, last, p->err));
    }
    return class_of(p, &set, inverted);
}

static qw_anchored escape(parser *p)
{
    qw_char_set set = {0};
    uint32_t c = take(p);

    if (c == 'b' || c == 'B') fail(p, "a word boundary (\\%c) is not taken", (char)c);
    if (c == 'k') fail(p, "a backreference (\\k) is not regular and is not taken");
    if (class_escape(p, c, &set)) return class_of(p, &set, false);
    return character(p, escaped_character(p, c));
}

static qw_anchored disjunction(parser *p);

static void group_name(parser *p)
{
    size_t begin = p->at;
    qw_text name;

    while (peek(p) != '>' && peek(p) != END) take(p);
    name = (qw_text){p->pattern.bytes + begin, p->at - begin};
    if (!take_if(p, ">") || !name.n) fail(p, "a group's name is not closed");
    for (size_t i = 0; i < p->n_names; i++)
        if (qw_text_equal(p->names[i], name)) fail(p, "two groups have the same name");
    if (p->n_names == NAMES_MAX) fail(p, "more than %d groups have names: use (?:", NAMES_MAX);
    else p->names[p->n_names++] = name;
}

/* After (. */
static qw_anchored group(parser *p)
{
    qw_anchored inside = qw_anchored_plain(QW_EXPR_NONE);

    if (take_if(p, "?=") || take_if(p, "?!")) fail(p, "a lookahead is not taken: say the same with what may follow");
    else if (take_if(p, "?<=") || take_if(p, "?<!"))
        fail(p, "a lookbehind is not taken: say the same with what stands before");
    else if (take_if(p, "?<")) group_name(p);
    else if (!take_if(p, "?:") && peek(p) == '?') fail(p, "(? begins no group of ECMA-262's that is taken here");
    if (++p->depth > DEEPEST) fail(p, "groups are nested more than %d deep", DEEPEST);
    if (!p->status) inside = disjunction(p);
    p->depth--;
    if (!take_if(p, ")")) fail(p, "a group ( is not closed");
    return inside;
}

/* A quantifier's {m,n} at the place, taken; false where the brace is itself. */
static bool braces(parser *p, uint32_t *min, uint32_t *max)
{
    uint64_t counts[2] = {0, 0};
    size_t at = p->at + 1, digits[2] = {0, 0};
    const char *text = p->pattern.bytes;
    int n = 0;

    for (; at < p->pattern.n && text[at] != '}'; at++) {
        if (text[at] == ',' && n == 0) n = 1;
        else if (text[at] >= '0' && text[at] <= '9') {
            counts[n] = counts[n] > UINT32_MAX ? counts[n] : counts[n] * 10 + (uint64_t)(text[at] - '0');
            digits[n]++;
        } else return false;
    }
    if (at == p->pattern.n || !digits[0]) return false;
    if (n == 0) counts[1] = counts[0];
    if (counts[0] > 0x7FFFFFFF || counts[1] > 0x7FFFFFFF) fail(p, "a count above 2147483647 is too large");
    if (n && digits[1] && counts[1] < counts[0]) fail(p, "the counts of a repetition are out of order");
    p->at = at + 1;
    *min = (uint32_t)counts[0];
    *max = n && !digits[1] ? QW_EXPR_UNBOUNDED : (uint32_t)counts[1];
    return true;
}

static bool quantifier(parser *p, uint32_t *min, uint32_t *max)
{
    uint32_t c = peek(p);

    *min = c == '+';
    *max = c == '?' ? 1 : QW_EXPR_UNBOUNDED;
    if (c == '{') return braces(p, min, max);
    if (c != '*' && c != '+' && c != '?') return false;
    take(p);
    return true;
}

static qw_anchored atom(parser *p, bool *assertion)
{
    uint32_t c = take(p), min, max;
    qw_char_set set = {0};
    qw_anchored out = qw_anchored_plain(QW_EXPR_NONE);

    *assertion = c == '^' || c == '$';
    if (c == '^') out.at_start = QW_EXPR_EMPTY;
    else if (c == '$') out.at_end = QW_EXPR_EMPTY;
    else if (c == '(') return group(p);
    else if (c == '[') return character_class(p);
    else if (c == '\\') return escape(p);
    else if (c == '.' && p->dot_all) return qw_anchored_plain(qw_expr_any_char(p->pool, p->spelling));
    else if (c == '.') {
        keep_status(p, qw_char_set_add_escape(&set, '.', p->err));
        return class_of(p, &set, false);
    } else if (c == '*' || c == '+' || c == '?' || (c == '{' && (p->at--, braces(p, &min, &max))))
        fail(p, "there is nothing to repeat");
    else {
        if (c == '{') p->at++;
        return character(p, c);
    }
    return out;
}

static qw_anchored term(parser *p)
{
    bool assertion;
    uint32_t min, max;
    qw_anchored out = atom(p, &assertion);

    if (!quantifier(p, &min, &max)) return out;
    if (assertion) fail(p, "there is nothing to repeat");
    take_if(p, "?"); /* lazy: the same texts */
    return qw_anchored_repeat(p->pool, out, min, max);
}

static qw_anchored sequence(parser *p)
{
    size_t base = p->stack.n;
    qw_anchored out = qw_anchored_plain(QW_EXPR_EMPTY);

    while (!p->status && !qw_expr_status(p->pool, NULL) && peek(p) != END && peek(p) != '|' && peek(p) != ')')
        push(p, term(p));
    for (size_t i = p->stack.n; i-- > base;) out = qw_anchored_concat(p->pool, p->stack.v[i], out);
    p->stack.n = base;
    return out;
}

static qw_anchored disjunction(parser *p)
{
    size_t base = p->stack.n, n;
    qw_anchored out = qw_anchored_plain(QW_EXPR_NONE);
    qw_expr *room;

    do push(p, sequence(p));
    while (!p->status && take_if(p, "|"));
    n = p->stack.n - base;
    if (n == 1) out = p->stack.v[base];
    else if (n && !p->status) {
        room = qw_calloc(n, sizeof *room);
        if (!room) keep_status(p, qw_fail_memory(p->err, "a regular expression", (double)(n * sizeof *room)));
        else out = qw_anchored_or(p->pool, p->stack.v + base, n, room);
        qw_free(room);
    }
    p->stack.n = base;
    return out;
}

static qw_status read_flags(parser *p, qw_text flags)
{
    for (size_t i = 0; i < flags.n; i++) {
        char c = flags.bytes[i];

        if (c == 's') p->dot_all = true;
        else if (c != 'd' && c != 'g' && c != 'u' && c != 'y')
            return qw_fail(p->err, QW_ERR_USAGE, "regular expression: the flag %c is not taken (d, g, s, u, y are)", c);
    }
    return QW_OK;
}

static bool is_utf8(qw_text text)
{
    uint32_t c = 0;

    for (size_t at = 0; at < text.n && c < QW_UTF8_BAD;) at += qw_utf8_step(text.bytes + at, text.n - at, &c);
    return c < QW_UTF8_BAD;
}

qw_status qw_regex_parse(qw_expr_pool *pool, qw_text pattern, qw_text flags, qw_regex_mode mode, qw_spelling spelling,
                         qw_expr *out, qw_error *err)
{
    parser p = {.pool = pool, .spelling = spelling, .pattern = pattern, .err = err};
    qw_expr any = qw_expr_any_text(pool, spelling);
    qw_anchored all;

    *out = QW_EXPR_NONE;
    QW_TRY(read_flags(&p, flags));
    if (pattern.n > LONGEST)
        return qw_fail(err, QW_ERR_USAGE, "a regular expression of %zu bytes is too long: at most %d", pattern.n,
                       (int)LONGEST);
    if (!is_utf8(pattern)) return qw_fail(err, QW_ERR_USAGE, "a regular expression is no valid UTF-8");
    all = disjunction(&p);
    if (!p.status && peek(&p) == ')') fail(&p, "a ) closes no group");
    qw_free(p.stack.v);
    if (p.status) return p.status;
    *out = mode == QW_REGEX_SEARCH ? qw_anchored_search(pool, all, any) : qw_anchored_whole(pool, all);
    if (!qw_expr_status(pool, NULL) && qw_expr_is_void(pool, *out))
        return qw_fail(err, QW_ERR_USAGE, "the regular expression matches no text: look at its ^, $ and []");
    return qw_expr_status(pool, err);
}
