/* SPDX-License-Identifier: MIT
 * The scanner of base/jsonscan.h checks the text; here its tokens become nodes. Objects of more than a few members get a
 * table of their keys, so that looking up a thousand properties costs no thousand squared. */
#include "format/schema_dom.h"

#include "base/jsonscan.h"

#include <string.h>

enum { TABLE_FROM = 8 };

typedef struct builder {
    qw_arena *arena;
    qw_dom *open; /* the container at hand */
    qw_dom *last[QW_SCAN_DEEPEST + 1];
    qw_dom *root;
    qw_buf unescaped;
    qw_text key;
    uint32_t n;
    int32_t depth;
    qw_error *err;
} builder;

static uint32_t hash_of(qw_text key)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < key.n; i++) h = (h ^ (unsigned char)key.bytes[i]) * 16777619u;
    return h ^ h >> 15;
}

const char *qw_dom_kind_name(qw_dom_kind kind)
{
    static const char *const names[] = {"null", "boolean", "boolean", "number", "string", "array", "object"};

    return names[kind];
}

const qw_dom *qw_dom_find(const qw_dom *node, qw_text key)
{
    if (!node || node->kind != QW_DOM_OBJECT) return NULL;
    if (node->table) {
        for (uint32_t at = hash_of(key) & node->mask; node->table[at]; at = (at + 1) & node->mask)
            if (qw_text_equal(node->table[at]->key, key)) return node->table[at];
        return NULL;
    }
    for (const qw_dom *child = node->first; child; child = child->next)
        if (qw_text_equal(child->key, key)) return child;
    return NULL;
}

const qw_dom *qw_dom_get(const qw_dom *node, const char *key)
{
    return qw_dom_find(node, qw_text_of(key));
}

const qw_dom *qw_dom_at(const qw_dom *node, uint64_t index)
{
    const qw_dom *child = node && node->kind == QW_DOM_ARRAY ? node->first : NULL;

    while (child && index--) child = child->next;
    return child;
}

/* The text of a key or string: as it stands where it has no escapes (the arena's copy of all), else its own. */
static qw_status text_of(builder *b, qw_text raw, qw_text *text)
{
    if (!raw.n || !memchr(raw.bytes, '\\', raw.n)) {
        *text = raw.n ? raw : (qw_text){"", 0};
        return QW_OK;
    }
    b->unescaped.n = 0;
    QW_TRY(qw_scan_unescape(&b->unescaped, raw, b->err));
    *text = qw_arena_text(b->arena, (qw_text){b->unescaped.bytes, b->unescaped.n});
    return text->bytes ? QW_OK : qw_fail_memory(b->err, "a text of the schema", (double)raw.n);
}

/* Takes a member out that has the key of a new one: the last counts. */
static void drop_earlier(qw_dom *object, qw_dom *later)
{
    qw_dom *before = NULL;

    for (qw_dom *child = (qw_dom *)object->first; child != later; child = (qw_dom *)child->next) {
        if (qw_text_equal(child->key, later->key)) {
            if (before) before->next = child->next;
            else object->first = child->next;
            object->n--;
            return;
        }
        before = child;
    }
}

static qw_status make_table(builder *b, qw_dom *object)
{
    uint32_t size = 16;

    while (size < object->n * 2) size *= 2;
    object->table = qw_arena_take(b->arena, size, sizeof *object->table);
    if (!object->table) return qw_fail_memory(b->err, "a table of keys of the schema", (double)size * sizeof(void *));
    object->mask = size - 1;
    for (qw_dom *child = (qw_dom *)object->first, *next; child; child = next) {
        uint32_t at = hash_of(child->key) & object->mask;
        next = (qw_dom *)child->next;
        while (object->table[at] && !qw_text_equal(object->table[at]->key, child->key)) at = (at + 1) & object->mask;
        if (object->table[at]) drop_earlier(object, child);
        object->table[at] = child;
    }
    return QW_OK;
}

/* After the last child: no key twice, and children numbered. */
static qw_status close_container(builder *b, const char *at)
{
    qw_dom *node = b->open;
    uint32_t index = 0;

    if (node->kind == QW_DOM_OBJECT && node->n > TABLE_FROM) QW_TRY(make_table(b, node));
    else if (node->kind == QW_DOM_OBJECT)
        for (qw_dom *child = (qw_dom *)node->first; child; child = (qw_dom *)child->next) drop_earlier(node, child);
    for (qw_dom *child = (qw_dom *)node->first; child; child = (qw_dom *)child->next) child->index = index++;
    node->text.n = (size_t)(at - node->text.bytes);
    b->open = (qw_dom *)node->parent;
    b->depth--;
    return QW_OK;
}

/* at: behind the token. */
static qw_status add_value(builder *b, const qw_scan_token *token, const char *at)
{
    static const qw_dom_kind kinds[] = {
        [QW_SCAN_BEGIN_OBJECT] = QW_DOM_OBJECT, [QW_SCAN_BEGIN_ARRAY] = QW_DOM_ARRAY, [QW_SCAN_STRING] = QW_DOM_STRING,
        [QW_SCAN_NUMBER_TEXT] = QW_DOM_NUMBER,  [QW_SCAN_TRUE] = QW_DOM_TRUE,         [QW_SCAN_FALSE] = QW_DOM_FALSE,
        [QW_SCAN_NULL] = QW_DOM_NULL,
    };
    qw_dom *node = qw_arena_take(b->arena, 1, sizeof *node);

    if (!node) return qw_fail_memory(b->err, "a value of the schema", sizeof *node);
    node->kind = kinds[token->kind];
    node->id = b->n++;
    node->parent = b->open;
    if (token->kind == QW_SCAN_STRING) QW_TRY(text_of(b, token->raw, &node->text));
    else if (token->kind == QW_SCAN_NUMBER_TEXT) node->text = token->raw;
    else if (node->kind >= QW_DOM_ARRAY) node->text = (qw_text){at - 1, 1};
    else node->text = qw_text_of(node->kind == QW_DOM_NULL ? "null" : node->kind == QW_DOM_TRUE ? "true" : "false");
    if (b->open) {
        node->key = b->key;
        if (b->last[b->depth]) b->last[b->depth]->next = node;
        else b->open->first = node;
        b->last[b->depth] = node;
        b->open->n++;
    } else {
        b->root = node;
    }
    if (node->kind < QW_DOM_ARRAY) return QW_OK;
    b->open = node;
    b->last[++b->depth] = NULL;
    return QW_OK;
}

static qw_status build(builder *b, qw_scan *scan)
{
    for (;;) {
        qw_scan_token token;
        QW_TRY(qw_scan_next(scan, &token, b->err));
        if (token.kind == QW_SCAN_END) return QW_OK;
        if (token.kind == QW_SCAN_KEY) QW_TRY(text_of(b, token.raw, &b->key));
        else if (token.kind == QW_SCAN_END_OBJECT || token.kind == QW_SCAN_END_ARRAY)
            QW_TRY(close_container(b, scan->at));
        else QW_TRY(add_value(b, &token, scan->at));
    }
}

qw_status qw_dom_parse(qw_arena *arena, qw_text text, const char *what, const qw_dom **root, qw_error *err)
{
    builder b = {.arena = arena, .err = err};
    qw_text copy = qw_arena_text(arena, text);
    qw_status status;
    qw_scan scan;

    *root = NULL;
    if (!copy.bytes) return qw_fail_memory(err, what, (double)text.n);
    qw_scan_init_deep(&scan, copy, what);
    status = build(&b, &scan);
    qw_buf_free(&b.unescaped);
    if (!status) *root = b.root;
    return status;
}

/* A number as digits without zeros at either end times ten to the exponent. */
typedef struct decimal {
    char digits[QW_SCAN_NUMBER];
    int32_t n;
    int64_t exponent;
    bool negative;
} decimal;

static decimal decimal_of(qw_text text)
{
    decimal d = {0};
    bool fraction = false;
    size_t i = 0;
    int64_t exponent = 0;

    if (text.bytes[0] == '-') d.negative = text.bytes[i++] == '-';
    for (; i < text.n && (text.bytes[i] | 32) != 'e'; i++) {
        if (text.bytes[i] == '.') {
            fraction = true;
            continue;
        }
        if (fraction) d.exponent--;
        if (d.n || text.bytes[i] != '0') d.digits[d.n++] = text.bytes[i];
    }
    if (i < text.n) {
        bool minus = text.bytes[++i] == '-';
        if (minus || text.bytes[i] == '+') i++;
        for (; i < text.n; i++)
            if (exponent < 1000000) exponent = exponent * 10 + (text.bytes[i] - '0');
        d.exponent += minus ? -exponent : exponent;
    }
    while (d.n && d.digits[d.n - 1] == '0') {
        d.n--;
        d.exponent++;
    }
    return d.n ? d : (decimal){0};
}

static bool same_number(qw_text a, qw_text b)
{
    decimal x = decimal_of(a), y = decimal_of(b);

    return x.n == y.n && x.exponent == y.exponent && x.negative == y.negative &&
           memcmp(x.digits, y.digits, (size_t)x.n) == 0;
}

bool qw_dom_count(const qw_dom *node, int64_t *value)
{
    int64_t v = 0;
    decimal d;

    if (!node || node->kind != QW_DOM_NUMBER) return false;
    d = decimal_of(node->text);
    if (d.negative || d.exponent < 0 || d.n + d.exponent > 16) return false;
    for (int64_t i = 0; i < d.n + d.exponent; i++) v = v * 10 + (i < d.n ? d.digits[i] - '0' : 0);
    *value = v;
    return v <= (int64_t)1 << 53;
}

bool qw_dom_equal(const qw_dom *a, const qw_dom *b)
{
    if (a == b) return true;
    if (a->kind != b->kind || a->n != b->n) return false;
    if (a->kind == QW_DOM_STRING) return qw_text_equal(a->text, b->text);
    if (a->kind == QW_DOM_NUMBER) return same_number(a->text, b->text);
    for (const qw_dom *x = a->first, *y = b->first; x; x = x->next, y = y->next) {
        const qw_dom *other = a->kind == QW_DOM_OBJECT ? qw_dom_find(b, x->key) : y;
        if (!other || !qw_dom_equal(x, other)) return false;
    }
    return true;
}

/* One step of a pointer: "/" and the key with ~ as ~0 and / as ~1, or the index. */
static qw_status pointer_step(qw_buf *out, const qw_dom *node, qw_error *err)
{
    if (node->parent->kind == QW_DOM_ARRAY) return qw_buf_printf(out, err, "/%u", (unsigned)node->index);
    QW_TRY(qw_buf_append(out, "/", 1, err));
    for (size_t i = 0; i < node->key.n; i++) {
        char c = node->key.bytes[i];
        if (c == '~' || c == '/') QW_TRY(qw_buf_append(out, c == '~' ? "~0" : "~1", 2, err));
        else QW_TRY(qw_buf_append(out, &c, 1, err));
    }
    return QW_OK;
}

qw_status qw_dom_pointer(qw_buf *out, const qw_dom *node, qw_error *err)
{
    const qw_dom *way[QW_SCAN_DEEPEST + 1];
    int32_t n = 0;

    for (; node->parent && n <= QW_SCAN_DEEPEST; node = node->parent) way[n++] = node;
    while (n--) QW_TRY(pointer_step(out, way[n], err));
    return QW_OK;
}
