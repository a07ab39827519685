/* SPDX-License-Identifier: MIT
 * Reads as llama.cpp's parser does: a rule ends at the end of its line, but goes on over lines inside a group and after a
 * bar; a rule that is defined twice has its last body. */
#include "format/gbnf_syntax.h"

#include "base/alloc.h"
#include "base/print.h"
#include "format/regex_classes.h"
#include "format/special_tokens.h"
#include "tokenizer/unicode.h"

#include <stdarg.h>
#include <string.h>

enum { DEEPEST = 100, LONGEST = 1 << 18, RULES_MAX = 2048, END = 0x7FFFFFFF };

typedef struct reader {
    qw_gbnf_syntax *s;
    const qw_tokenizer *tokenizer;
    size_t at;
    int depth;
    uint32_t *stack; /* parts of open sequences and choices */
    size_t n, cap;
    qw_expr not_token; /* the last !<token>, which stands only under * and + */
    qw_status status;
    qw_error *err;
} reader;

static void place_of(qw_text text, uint32_t place, size_t *line, size_t *column)
{
    *line = *column = 1;
    for (size_t i = 0; i < place && i < text.n; i++) {
        if (text.bytes[i] == '\n') {
            ++*line;
            *column = 1;
        } else *column += ((uint8_t)text.bytes[i] & 0xC0) != 0x80;
    }
}

qw_status qw_gbnf_fail(const qw_gbnf_syntax *s, uint32_t place, qw_error *err, const char *format, ...)
{
    char why[240];
    size_t line, column;
    va_list list;

    va_start(list, format);
    qw_print_list(why, sizeof why, format, list);
    va_end(list);
    place_of(s->text, place, &line, &column);
    return qw_fail(err, QW_ERR_USAGE, "grammar, line %zu, column %zu: %s", line, column, why);
}

static void fail(reader *r, const char *why)
{
    if (!r->status) r->status = qw_gbnf_fail(r->s, (uint32_t)r->at, r->err, "%s", why);
}

static bool grow(reader *r, void *array, size_t n, size_t *cap, size_t size)
{
    void **block = array, *grown;
    size_t wanted = *cap ? 2 * *cap : 64;

    if (r->status) return false;
    if (n < *cap) return true;
    grown = qw_realloc(*block, wanted, size);
    if (!grown) {
        r->status = qw_fail_memory(r->err, "a grammar", (double)(wanted * size));
        return false;
    }
    *block = grown;
    *cap = wanted;
    return true;
}

static uint32_t add_part(reader *r, qw_gbnf_part part)
{
    qw_gbnf_syntax *s = r->s;

    if (!grow(r, &s->parts, s->n_parts, &s->cap_parts, sizeof part)) return 0;
    s->parts[s->n_parts] = part;
    return (uint32_t)s->n_parts++;
}

static uint32_t expr_part(reader *r, qw_expr id)
{
    return add_part(r, (qw_gbnf_part){.kind = QW_GBNF_EXPR, .a = id, .place = (uint32_t)r->at});
}

static void push(reader *r, uint32_t part)
{
    if (grow(r, &r->stack, r->n, &r->cap, sizeof *r->stack)) r->stack[r->n++] = part;
}

/* The parts above base as a list. */
static uint32_t list_part(reader *r, qw_gbnf_kind kind, size_t base)
{
    qw_gbnf_syntax *s = r->s;
    qw_gbnf_part part = {
        .kind = kind, .a = (uint32_t)s->n_lists, .b = (uint32_t)(r->n - base), .place = (uint32_t)r->at};

    for (size_t i = base; i < r->n; i++) {
        if (!grow(r, &s->lists, s->n_lists, &s->cap_lists, sizeof *s->lists)) return 0;
        s->lists[s->n_lists++] = r->stack[i];
    }
    return add_part(r, part);
}

static bool all_exprs(const reader *r, size_t base)
{
    for (size_t i = base; i < r->n; i++)
        if (r->s->parts[r->stack[i]].kind != QW_GBNF_EXPR) return false;
    return true;
}

/* Takes the parts above base off as one: an expression where all are. */
static uint32_t reduce(reader *r, qw_gbnf_kind kind, size_t base)
{
    uint32_t out = 0;

    if (!r->status && r->n == base + 1) out = r->stack[base];
    else if (!r->status && all_exprs(r, base)) {
        qw_expr id = kind == QW_GBNF_CHOICE ? QW_EXPR_NONE : QW_EXPR_EMPTY;

        for (size_t i = base; i < r->n; i++) r->stack[i] = r->s->parts[r->stack[i]].a;
        if (kind == QW_GBNF_CHOICE) id = qw_expr_or(r->s->pool, r->stack + base, r->n - base);
        for (size_t i = r->n; kind == QW_GBNF_SEQUENCE && i-- > base;) id = qw_expr_concat(r->s->pool, r->stack[i], id);
        out = expr_part(r, id);
    } else if (!r->status) out = list_part(r, kind, base);
    r->n = base;
    return out;
}

static int peek(const reader *r)
{
    return r->at < r->s->text.n ? (uint8_t)r->s->text.bytes[r->at] : END;
}

static bool take(reader *r, const char *text)
{
    size_t n = strlen(text);

    if (r->s->text.n - r->at < n || memcmp(r->s->text.bytes + r->at, text, n)) return false;
    r->at += n;
    return true;
}

static void space(reader *r, bool lines)
{
    for (;;) {
        int c = peek(r);

        if (c == '#') {
            while (peek(r) != END && peek(r) != '\n' && peek(r) != '\r') r->at++;
        } else if (c == ' ' || c == '\t' || (lines && (c == '\n' || c == '\r'))) r->at++;
        else return;
    }
}

static uint32_t hex_escape(reader *r, int n)
{
    uint32_t value = 0;

    for (int i = 0; i < n; i++, r->at++) {
        int c = peek(r), low = c | 0x20;

        if (c >= '0' && c <= '9') value = value << 4 | (uint32_t)(c - '0');
        else if (low >= 'a' && low <= 'f') value = value << 4 | (uint32_t)(low - 'a' + 10);
        else {
            fail(r, "an escape wants more hexadecimal digits");
            return 0;
        }
    }
    if (value > 0x10FFFF || (value >= 0xD800 && value < 0xE000)) fail(r, "this escape is no character");
    return value;
}

/* A character of a literal or a class. */
static uint32_t character(reader *r)
{
    uint32_t c = 0;
    size_t begin = r->at;

    if (peek(r) == END) {
        fail(r, "the grammar ends inside a literal or a class");
        return 0;
    }
    if (!take(r, "\\")) {
        r->at += qw_utf8_step(r->s->text.bytes + r->at, r->s->text.n - r->at, &c);
        if (c >= QW_UTF8_BAD) fail(r, "the grammar is no valid UTF-8 here");
        return c;
    }
    if (take(r, "x")) return hex_escape(r, 2);
    if (take(r, "u")) return hex_escape(r, 4);
    if (take(r, "U")) return hex_escape(r, 8);
    if (take(r, "t")) return '\t';
    if (take(r, "r")) return '\r';
    if (take(r, "n")) return '\n';
    c = (uint32_t)peek(r);
    if (c == '\\' || c == '"' || c == '[' || c == ']') {
        r->at++;
        return c;
    }
    r->at = begin;
    fail(r, "this escape is not known: \\x \\u \\U \\t \\r \\n \\\\ \\\" \\[ \\] are");
    return 0;
}

/* After the quote. */
static uint32_t literal(reader *r)
{
    size_t base = r->n;

    while (!r->status && !take(r, "\"")) {
        uint32_t c = character(r);
        char bytes[4];
        qw_text text = {bytes, qw_utf8_write(bytes, c)};

        if (!r->status) push(r, expr_part(r, qw_expr_text(r->s->pool, text, QW_SPELL_RAW)));
    }
    return reduce(r, QW_GBNF_SEQUENCE, base);
}

/* After the bracket. */
static uint32_t class_of(reader *r)
{
    qw_char_set set = {0};
    bool inverted = take(r, "^");
    qw_expr id = QW_EXPR_NONE;

    while (!r->status && !take(r, "]")) {
        uint32_t first = character(r), last = first;
        const char *next = r->s->text.bytes + r->at;

        if (peek(r) == '-' && r->at + 1 < r->s->text.n && next[1] != ']') {
            r->at++;
            last = character(r);
            if (last < first) fail(r, "a range is out of order");
        }
        if (!r->status) r->status = qw_char_set_add(&set, first, last, r->err);
    }
    if (inverted && !r->status) r->status = qw_char_set_invert(&set, r->err);
    else qw_char_set_normalise(&set);
    if (!r->status) id = qw_expr_chars(r->s->pool, set.v, set.n, QW_SPELL_RAW);
    qw_char_set_free(&set);
    return expr_part(r, id);
}

static bool is_word(int c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
}

static uint32_t rule_named(reader *r, qw_text name, uint32_t place)
{
    qw_gbnf_syntax *s = r->s;

    for (size_t i = 0; i < s->n_rules; i++)
        if (qw_text_equal(s->rules[i].name, name)) return (uint32_t)i;
    if (s->n_rules == RULES_MAX) fail(r, "a grammar may have 2048 rules: this is one more");
    if (!grow(r, &s->rules, s->n_rules, &s->cap_rules, sizeof *s->rules)) return 0;
    s->rules[s->n_rules] = (qw_gbnf_rule){name, UINT32_MAX, place};
    return (uint32_t)s->n_rules++;
}

static uint32_t name(reader *r)
{
    size_t begin = r->at;

    while (is_word(peek(r))) r->at++;
    if (r->at == begin) fail(r, "a name is wanted here");
    return rule_named(r, (qw_text){r->s->text.bytes + begin, r->at - begin}, (uint32_t)begin);
}

/* After < or !<. */
static uint32_t token(reader *r, bool negated)
{
    size_t begin = r->at - 1;
    int64_t id = 0;
    qw_expr special;

    if (take(r, "[")) {
        while (peek(r) >= '0' && peek(r) <= '9') id = id > END ? id : id * 10 + (r->s->text.bytes[r->at++] - '0');
        if (!take(r, "]>")) fail(r, "a token is written <[id]> or <name>");
        if (id > QW_SPECIAL_ID_MAX || (r->tokenizer && id >= qw_tokenizer_n_ids(r->tokenizer)))
            fail(r, "the vocabulary has no token of that id");
    } else {
        while (peek(r) != '>' && peek(r) != '\n' && peek(r) != END) r->at++;
        if (!take(r, ">")) fail(r, "a token is written <[id]> or <name>");
        id =
            r->tokenizer ? qw_tokenizer_added_id(r->tokenizer, (qw_text){r->s->text.bytes + begin, r->at - begin}) : -1;
        if (id < 0) fail(r, "the vocabulary has no special token of that name");
    }
    if (r->status) return 0;
    special = qw_expr_special_token(r->s->pool, (int32_t)id);
    if (negated) {
        qw_expr seven = qw_expr_byte_range(r->s->pool, 0x80, 0xFF), mark = qw_expr_byte_range(r->s->pool, 0xFF, 0xFF);
        qw_expr any = qw_expr_concat(r->s->pool, mark, qw_expr_repeat(r->s->pool, seven, 3, 3));

        any = qw_expr_minus(r->s->pool, any, special);
        special = r->not_token = qw_expr_or2(r->s->pool, qw_expr_any_char(r->s->pool, QW_SPELL_RAW), any);
    }
    return expr_part(r, special);
}

static uint32_t alternatives(reader *r, bool nested);

static uint32_t group(reader *r)
{
    uint32_t out = 0;

    if (++r->depth > DEEPEST) fail(r, "groups are nested too deeply");
    space(r, true);
    if (!r->status) out = alternatives(r, true);
    if (!take(r, ")")) fail(r, "a group is not closed");
    r->depth--;
    return out;
}

/* {m}, {m,} or {m,n}, after the brace. */
static void counts(reader *r, uint32_t *min, uint32_t *max)
{
    uint64_t v[2] = {0, 0};
    bool digits[2] = {false, false}, comma = false;

    for (int i = 0; i < 2; i++) {
        space(r, true);
        for (; peek(r) >= '0' && peek(r) <= '9'; r->at++, digits[i] = true)
            v[i] = v[i] > END ? v[i] : v[i] * 10 + (uint64_t)(peek(r) - '0');
        space(r, true);
        if (i == 0) comma = take(r, ",");
        if (!comma) break;
    }
    if (!digits[0]) fail(r, "a count wants its lower number: {m}, {m,} or {m,n}");
    if (!take(r, "}")) fail(r, "a count is not closed");
    if (v[0] >= END || v[1] >= END) fail(r, "a count is too large");
    if (digits[1] && v[1] < v[0]) fail(r, "the counts are out of order");
    *min = (uint32_t)v[0];
    *max = !comma ? *min : digits[1] ? (uint32_t)v[1] : QW_EXPR_UNBOUNDED;
}

static bool quantifier(reader *r, uint32_t *min, uint32_t *max)
{
    int c = peek(r);

    if (c != '*' && c != '+' && c != '?' && c != '{') return false;
    r->at++;
    *min = c == '+';
    *max = c == '?' ? 1 : QW_EXPR_UNBOUNDED;
    if (c == '{') counts(r, min, max);
    return true;
}

static uint32_t repeated(reader *r, uint32_t part, uint32_t min, uint32_t max)
{
    const qw_gbnf_part *p = &r->s->parts[part];

    if (p->kind == QW_GBNF_EXPR) return expr_part(r, qw_expr_repeat(r->s->pool, p->a, min, max));
    return add_part(r, (qw_gbnf_part){QW_GBNF_REPEAT, part, 0, min, max, (uint32_t)r->at});
}

/* One element with its counts; false where none begins. */
static bool element(reader *r, bool nested)
{
    int c = peek(r);
    uint32_t part, min, max;
    bool counted = false;
    qw_expr negated;

    if (take(r, "\"")) part = literal(r);
    else if (take(r, "[")) part = class_of(r);
    else if (take(r, "(")) part = group(r);
    else if (take(r, ".")) part = expr_part(r, qw_expr_any_char(r->s->pool, QW_SPELL_RAW));
    else if (take(r, "<")) part = token(r, false);
    else if (take(r, "!<")) part = token(r, true);
    else if (is_word(c)) {
        part = add_part(r, (qw_gbnf_part){.kind = QW_GBNF_RULE, .a = 0, .place = (uint32_t)r->at});
        c = (int)name(r);
        if (!r->status) r->s->parts[part].a = (uint32_t)c;
    } else return false;
    negated = r->not_token;
    space(r, nested);
    while (!r->status && quantifier(r, &min, &max)) {
        counted |= max == QW_EXPR_UNBOUNDED && min <= 1;
        part = repeated(r, part, min, max);
        space(r, nested);
    }
    if (!r->status && negated && r->s->parts[part].kind == QW_GBNF_EXPR && r->s->parts[part].a == negated && !counted &&
        !(nested && peek(r) == ')'))
        fail(r, "!<token> is taken only as (!<token>)* or (!<token>)+");
    push(r, part);
    return !r->status;
}

static uint32_t sequence(reader *r, bool nested)
{
    size_t base = r->n;

    while (!r->status && element(r, nested)) continue;
    return reduce(r, QW_GBNF_SEQUENCE, base);
}

static uint32_t alternatives(reader *r, bool nested)
{
    size_t base = r->n;

    push(r, sequence(r, nested));
    while (!r->status && take(r, "|")) {
        space(r, true);
        push(r, sequence(r, nested));
    }
    return reduce(r, QW_GBNF_CHOICE, base);
}

static void rule(reader *r)
{
    uint32_t at = name(r), body;

    space(r, false);
    if (!take(r, "::=")) fail(r, "::= is wanted here");
    space(r, true);
    if (r->status) return;
    body = alternatives(r, false);
    if (r->status) return;
    r->s->rules[at].body = body;
    if (peek(r) != END && !take(r, "\r\n") && !take(r, "\n") && !take(r, "\r"))
        fail(r, "the end of the rule's line is wanted here");
    space(r, true);
}

qw_status qw_gbnf_read(qw_gbnf_syntax *out, qw_expr_pool *pool, qw_text text, const qw_tokenizer *tokenizer,
                       qw_error *err)
{
    reader r = {.s = out, .tokenizer = tokenizer, .err = err};

    *out = (qw_gbnf_syntax){.pool = pool, .text = text};
    if (text.n > LONGEST)
        return qw_fail(err, QW_ERR_USAGE, "a grammar of %zu bytes is too long: at most %d", text.n, (int)LONGEST);
    space(&r, true);
    while (!r.status && !qw_expr_status(pool, NULL) && peek(&r) != END) rule(&r);
    qw_free(r.stack);
    return r.status ? r.status : qw_expr_status(pool, err);
}

void qw_gbnf_syntax_free(qw_gbnf_syntax *s)
{
    qw_free(s->parts);
    qw_free(s->rules);
    qw_free(s->lists);
    *s = (qw_gbnf_syntax){0};
}
