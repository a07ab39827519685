/* SPDX-License-Identifier: MIT
 * White space of a document, by setting: bounded (after { [ , and before } ]: nothing, a space, or a newline and up to four
 * spaces for each container open there; after : nothing or a space), compact (none), any (everywhere between two tokens). */
#include "format/matcher_open.h"

#include "base/alloc.h"
#include "format/grammar_least.h"

enum { DEEPEST = 400, FRAMES_MAX = 1 << 20 };

void qw_opening_fail(qw_opening *m, qw_status status, const char *why)
{
    if (m->status) return;
    m->status = status;
    m->why = why;
}

bool qw_opening_grow(qw_opening *m, void *array, size_t n, size_t *cap, size_t size)
{
    void **block = array, *grown;
    size_t wanted = *cap ? 2 * *cap : 64;

    if (m->status) return false;
    if (n < *cap) return true;
    grown = qw_realloc(*block, wanted, size);
    if (!grown) {
        qw_opening_fail(m, QW_ERR_MEMORY, "no memory left for the states of a format");
        return false;
    }
    *block = grown;
    *cap = wanted;
    return true;
}

uint32_t qw_opening_frame(qw_opening *m, const qw_frame *f)
{
    uint32_t id = qw_frames_intern(&m->frames, f);

    if (m->frames.failed) qw_opening_fail(m, QW_ERR_MEMORY, "no memory left for the states of a format");
    if (m->frames.n > FRAMES_MAX) qw_opening_fail(m, QW_ERR_USAGE, "the format has too many states: use fewer rules");
    return m->status ? 0 : id;
}

static void open_top(qw_opening *m, uint32_t id)
{
    if (qw_opening_grow(m, &m->open, m->n_open, &m->cap_open, sizeof *m->open)) m->open[m->n_open++] = id;
}

static void resume(qw_opening *m, uint32_t id, uint32_t trace);

void qw_opening_text(qw_opening *m, qw_expr expr, uint32_t parent, uint32_t trace)
{
    if (expr == QW_EXPR_NONE || m->status) return;
    if (expr != QW_EXPR_EMPTY)
        open_top(
            m, qw_opening_frame(m, &(qw_frame){.kind = QW_FRAME_TEXT, .expr = expr, .trace = trace, .parent = parent}));
    if (qw_expr_nullable(m->pool, expr)) resume(m, parent, trace);
}

static qw_expr literal(qw_opening *m, const char *text)
{
    return qw_expr_literal(m->pool, qw_text_of(text));
}

static qw_expr blanks(qw_opening *m)
{
    qw_byte_set set = {{(uint64_t)1 << ' ' | 1 << '\t' | 1 << '\n' | 1 << '\r', 0, 0, 0}};

    return qw_expr_repeat(m->pool, qw_expr_bytes(m->pool, &set), 0, QW_EXPR_UNBOUNDED);
}

/* After an opening or a comma and before a closing, with so many containers open. */
static qw_expr gap(qw_opening *m, uint32_t depth)
{
    qw_expr space = literal(m, " "), line = literal(m, "\n");

    if (m->g->whitespace == QW_SPACE_COMPACT) return QW_EXPR_EMPTY;
    if (m->g->whitespace == QW_SPACE_ANY) return blanks(m);
    line = qw_expr_concat(m->pool, line, qw_expr_repeat(m->pool, space, 0, 4 * depth));
    return qw_expr_or(m->pool, (qw_expr[]){QW_EXPR_EMPTY, space, line}, 3);
}

/* Before a comma or a colon. */
static qw_expr before_mark(qw_opening *m, const char *mark)
{
    qw_expr id = literal(m, mark);

    return m->g->whitespace == QW_SPACE_ANY ? qw_expr_concat(m->pool, blanks(m), id) : id;
}

static qw_expr colon(qw_opening *m)
{
    qw_expr after = m->g->whitespace == QW_SPACE_ANY       ? blanks(m)
                    : m->g->whitespace == QW_SPACE_COMPACT ? QW_EXPR_EMPTY
                                                           : qw_expr_repeat(m->pool, literal(m, " "), 0, 1);

    return qw_expr_concat(m->pool, before_mark(m, ":"), after);
}

static qw_expr comma(qw_opening *m, bool started, uint32_t depth)
{
    return started ? qw_expr_concat(m->pool, before_mark(m, ","), gap(m, depth)) : QW_EXPR_EMPTY;
}

static qw_expr closing(qw_opening *m, bool started, uint32_t depth, const char *mark)
{
    qw_expr id = literal(m, mark);

    return started ? qw_expr_concat(m->pool, gap(m, depth), id) : id;
}

static bool is_told(uint32_t trace)
{
    return trace != QW_TRACE_LOST && trace != QW_TRACE_UNSURE;
}

/* A trace's bytes behind those of another that it goes on from. */
static qw_expr traced_from(qw_opening *m, uint32_t trace, uint32_t from)
{
    qw_expr rest = QW_EXPR_EMPTY;

    for (; trace != from; trace = m->frames.v[trace].parent) {
        uint8_t byte = (uint8_t)m->frames.v[trace].pos;

        rest = qw_expr_concat(m->pool, qw_expr_byte_range(m->pool, byte, byte), rest);
    }
    return rest;
}

static qw_expr traced(qw_opening *m, uint32_t trace)
{
    return traced_from(m, trace, 0);
}

/* The bytes of a trace, in room of m's. */
static qw_text bytes_of(qw_opening *m, uint32_t trace)
{
    size_t n = 0;

    for (uint32_t t = trace; t; t = m->frames.v[t].parent) n++;
    if (qw_buf_reserve(&m->name, n, NULL)) {
        qw_opening_fail(m, QW_ERR_MEMORY, "no memory left for the states of a format");
        return (qw_text){"", 0};
    }
    for (size_t at = n; trace; trace = m->frames.v[trace].parent) m->name.bytes[--at] = (char)m->frames.v[trace].pos;
    return (qw_text){m->name.bytes, n};
}

qw_expr qw_used_names(qw_opening *m, const qw_frame *object)
{
    qw_expr used = QW_EXPR_NONE;

    for (uint32_t id = object->trace; id; id = m->frames.v[id].parent)
        if (is_told(m->frames.v[id].trace)) used = qw_expr_or2(m->pool, used, traced(m, m->frames.v[id].trace));
    return used;
}

bool qw_opening_name_is_taken(qw_opening *m, const qw_frame *object, uint32_t trace)
{
    if (!is_told(trace)) return false;
    for (uint32_t id = object->trace; id; id = m->frames.v[id].parent)
        if (m->frames.v[id].trace == trace) return true;
    return qw_expr_accepts(m->pool, m->g->objects[object->node].declared, bytes_of(m, trace));
}

/* Whether the trace goes on from another, or is that. */
static bool goes_on_from(const qw_opening *m, uint32_t trace, uint32_t from)
{
    while (trace && trace != from) trace = m->frames.v[trace].parent;
    return trace == from;
}

/* Whether a name that is taken begins with those bytes. */
static bool begins_taken(qw_opening *m, const qw_frame *object, uint32_t trace)
{
    for (uint32_t id = object->trace; id; id = m->frames.v[id].parent)
        if (goes_on_from(m, m->frames.v[id].trace, trace)) return true;
    return qw_expr_walk(m->pool, m->g->objects[object->node].declared, bytes_of(m, trace)) != QW_EXPR_NONE;
}

/* What is not told of the texts that a container holds: 0, or a trace. */
static uint32_t untold(const qw_opening *m, const qw_frame *container)
{
    uint32_t trace = container->kind == QW_FRAME_ARRAY ? container->trace : m->frames.v[container->trace].trace;

    return is_told(trace) ? 0 : trace;
}

uint32_t qw_opening_trace(qw_opening *m, const qw_frame *below, uint32_t trace, uint8_t byte)
{
    const qw_frame *container = below->kind == QW_FRAME_KEY ? &m->frames.v[below->parent] : below;
    qw_frame longer = {.kind = QW_FRAME_TRACE, .pos = byte, .parent = trace}, object = *container;

    if (!m->walking) return qw_opening_frame(m, &longer);
    if (trace == QW_TRACE_UNSURE || untold(m, container)) {
        m->unsure = true;
        return QW_TRACE_UNSURE;
    }
    if (below->kind == QW_FRAME_ARRAY || trace == QW_TRACE_LOST) return QW_TRACE_LOST;
    trace = qw_opening_frame(m, &longer);
    return begins_taken(m, &object, trace) ? trace : QW_TRACE_LOST;
}

/* Whether the object can still be closed. */
static bool object_can(qw_opening *m, const qw_frame *f)
{
    const qw_node_object *o = &m->g->objects[f->node];
    bool counts = (int64_t)f->count < o->min && qw_names_run_out(m->g, o);

    return qw_object_can_end(m->g, o, f->pos, f->count, counts ? qw_used_names(m, f) : QW_EXPR_NONE);
}

/* The next declared keys, up to the first that must be there; false where one must. */
static bool open_declared(qw_opening *m, uint32_t id, qw_expr before)
{
    qw_frame f = m->frames.v[id];
    const qw_node_object *o = &m->g->objects[f.node];

    for (uint32_t i = f.pos; i < o->n_keys; i++) {
        const qw_node_key *key = &o->keys[i];
        qw_frame next = f, value = {.kind = QW_FRAME_EXPAND, .node = key->value, .depth = f.depth};
        qw_expr text;

        next.pos = i + 1;
        next.count++;
        if (qw_node_lives(m->g, key->value) && object_can(m, &next)) {
            value.parent = qw_opening_frame(m, &next);
            text = qw_expr_concat(m->pool, before, qw_expr_concat(m->pool, key->name, colon(m)));
            qw_opening_text(m, text, qw_opening_frame(m, &value), 0);
        }
        if (key->required) return false;
    }
    return true;
}

/* Names of the class that may be written in the object. */
static qw_expr body_of(qw_opening *m, const qw_node_others *class, const qw_frame *object)
{
    return class->endless ? class->keys : qw_expr_minus(m->pool, class->keys, qw_used_names(m, object));
}

bool qw_opening_name_can_end(qw_opening *m, const qw_frame *key, qw_expr body, uint32_t trace)
{
    const qw_frame *object = &m->frames.v[key->parent];
    const qw_node_others *class = &m->g->objects[object->node].others[key->pos];

    if (class->free || !class->endless || !is_told(trace)) return true;
    for (uint32_t id = object->trace; id; id = m->frames.v[id].parent) {
        uint32_t name = m->frames.v[id].trace;

        if (goes_on_from(m, name, trace)) body = qw_expr_minus(m->pool, body, traced_from(m, name, trace));
    }
    return !qw_expr_is_void(m->pool, body);
}

static void resume_object(qw_opening *m, uint32_t id)
{
    qw_frame f = m->frames.v[id];
    const qw_node_object *o = &m->g->objects[f.node];
    qw_expr before = comma(m, f.count > 0, f.depth);
    bool free = open_declared(m, id, before);

    if (free && (int64_t)f.count >= o->min) qw_opening_text(m, closing(m, f.count > 0, f.depth, "}"), f.parent, 0);
    if (!free || !o->n_others || (int64_t)f.count >= o->max) return;
    for (uint32_t i = 0; i < o->n_others; i++) {
        qw_frame next = f, key = {.kind = QW_FRAME_KEY, .pos = i, .depth = f.depth, .parent = id};

        next.pos = (uint32_t)o->n_keys;
        if (!qw_node_lives(m->g, o->others[i].value)) continue;
        if (qw_expr_is_void(m->pool, body_of(m, &o->others[i], &f))) continue;
        if (!object_can(m, &next)) continue;
        qw_opening_text(m, qw_expr_concat(m->pool, before, literal(m, "\"")), qw_opening_frame(m, &key), 0);
    }
}

/* The body of a key, then its quote, then, when all of its name is known, what follows. */
static void resume_key(qw_opening *m, uint32_t id, uint32_t trace)
{
    qw_frame key = m->frames.v[id], f = m->frames.v[key.parent];
    const qw_node_object *o = &m->g->objects[f.node];
    const qw_node_others *class = &o->others[key.pos];
    qw_frame value = {.kind = QW_FRAME_EXPAND, .node = class->value, .depth = f.depth};
    qw_frame name = {.kind = QW_FRAME_NAME, .trace = key.trace, .parent = f.trace};

    switch ((qw_key_part)key.count++) {
    case QW_KEY_BODY:
        qw_opening_text(m, body_of(m, class, &f), qw_opening_frame(m, &key), 0);
        break;
    case QW_KEY_QUOTE:
        key.trace = trace;
        qw_opening_text(m, literal(m, "\""), qw_opening_frame(m, &key), 0);
        break;
    case QW_KEY_VALUE:
        if (class->endless && qw_opening_name_is_taken(m, &f, key.trace)) break;
        f.trace = qw_opening_frame(m, &name);
        f.pos = (uint32_t)o->n_keys;
        f.count++;
        value.parent = qw_opening_frame(m, &f);
        qw_opening_text(m, colon(m), qw_opening_frame(m, &value), 0);
        break;
    }
}

/* The expression of an item of an array without repetition; NONE where it is no single text. */
static qw_expr text_of(qw_opening *m, qw_node node, int depth)
{
    const qw_grammar_node *n = &m->g->nodes[node];
    qw_expr out = QW_EXPR_NONE;

    if (n->kind == QW_NODE_TEXT) return n->a;
    if (n->kind == QW_NODE_RULE && depth < 32) return text_of(m, n->a, depth + 1);
    for (uint32_t i = 0; n->kind == QW_NODE_CHOICE && i < n->b; i++)
        out = qw_expr_or2(m->pool, out, text_of(m, m->g->lists[n->a + i], depth + 1));
    return out;
}

static void open_item(qw_opening *m, qw_frame f, const qw_array_item *item)
{
    const qw_node_array *a = &m->g->arrays[f.node];
    qw_frame next = f, value = {.kind = QW_FRAME_EXPAND, .node = item->value, .depth = f.depth};
    qw_expr before = comma(m, f.count > 0, f.depth);

    if (!qw_node_lives(m->g, item->value) || !qw_item_counts(a, item, &next.counts)) return;
    next.count++;
    if (qw_array_least(m->g, a, next.count, next.counts) == QW_NODE_ENDLESS) return;
    if (a->unique) {
        qw_expr left = qw_expr_minus(m->pool, text_of(m, item->value, 0), f.expr);

        if (a->min > next.count && qw_count_texts(m->pool, left, a->min - f.count) < a->min - f.count) return;
        if (qw_expr_is_void(m->pool, left)) return;
        next.pos = 1; /* its text is being read: it is added to expr */
        value.kind = QW_FRAME_ITEM;
        value.expr = left;
    }
    value.parent = qw_opening_frame(m, &next);
    qw_opening_text(m, before, qw_opening_frame(m, &value), 0);
}

static void resume_array(qw_opening *m, uint32_t id, uint32_t trace)
{
    qw_frame f = m->frames.v[id];
    const qw_node_array *a = &m->g->arrays[f.node];
    const qw_array_slot *slot;
    bool may_close;

    if (f.pos) {
        if (is_told(trace)) f.expr = qw_expr_or2(m->pool, f.expr, traced(m, trace));
        else f.trace = trace;
        f.pos = 0;
        id = qw_opening_frame(m, &f);
    }
    slot = qw_slot_at(a, f.count);
    may_close = f.count >= a->min;
    for (size_t k = 0; k < a->n_counters; k++) may_close &= qw_counted(f.counts, k) >= a->counters[k].min;
    if (may_close) qw_opening_text(m, closing(m, f.count > 0, f.depth, "]"), f.parent, 0);
    for (size_t i = 0; f.count < a->max && i < slot->n; i++) open_item(m, f, &slot->items[i]);
}

static void resume_sequence(qw_opening *m, uint32_t id)
{
    qw_frame f = m->frames.v[id];
    const qw_grammar_node *node = &m->g->nodes[f.node];
    uint32_t parent = f.parent, part = m->g->lists[node->a + f.pos];

    if (f.pos + 1 < node->b) {
        f.pos++;
        parent = qw_opening_frame(m, &f);
    }
    qw_opening_expand(m, part, parent);
}

/* Goes on with what the frame waits for. trace: what the text above read, where that is kept. */
static void resume(qw_opening *m, uint32_t id, uint32_t trace)
{
    qw_frame f = m->frames.v[id];

    if (m->status) return;
    if (++m->depth > DEEPEST) qw_opening_fail(m, QW_ERR_USAGE, "the format nests too deeply");
    switch ((qw_frame_kind)f.kind) {
    case QW_FRAME_END:
        open_top(m, 0);
        break;
    case QW_FRAME_EXPAND:
        qw_opening_expand(m, f.node, f.parent);
        break;
    case QW_FRAME_SEQUENCE:
        resume_sequence(m, id);
        break;
    case QW_FRAME_OBJECT:
        resume_object(m, id);
        break;
    case QW_FRAME_KEY:
        resume_key(m, id, trace);
        break;
    case QW_FRAME_ITEM:
        qw_opening_text(m, f.expr, f.parent, 0);
        break;
    case QW_FRAME_ARRAY:
        resume_array(m, id, trace);
        break;
    case QW_FRAME_TEXT:
    case QW_FRAME_TRACE:
    case QW_FRAME_NAME:
        break;
    }
    m->depth--;
}

/* Whether the node was opened over that frame since the last byte; a rule may come back to itself without a byte. */
static bool was_seen(qw_opening *m, qw_node node, uint32_t parent)
{
    uint64_t key = (uint64_t)node << 32 | parent;

    for (size_t i = 0; i < m->n_seen; i++)
        if (m->seen[i] == key) return true;
    if (qw_opening_grow(m, &m->seen, m->n_seen, &m->cap_seen, sizeof key)) m->seen[m->n_seen++] = key;
    return false;
}

static void expand_container(qw_opening *m, const qw_grammar_node *node, uint32_t parent)
{
    bool object = node->kind == QW_NODE_OBJECT;
    qw_frame f = {.kind = object ? QW_FRAME_OBJECT : QW_FRAME_ARRAY, .node = node->a, .parent = parent};

    f.depth = m->frames.v[parent].depth + 1;
    qw_opening_text(m, qw_expr_concat(m->pool, literal(m, object ? "{" : "["), gap(m, f.depth)),
                    qw_opening_frame(m, &f), 0);
}

void qw_opening_expand(qw_opening *m, qw_node at, uint32_t parent)
{
    qw_grammar_node node = m->g->nodes[at];

    if (m->status || node.least == QW_NODE_ENDLESS) return;
    if (++m->depth > DEEPEST) qw_opening_fail(m, QW_ERR_USAGE, "the format nests too deeply");
    switch (node.kind) {
    case QW_NODE_VOID:
        break;
    case QW_NODE_TEXT:
        qw_opening_text(m, node.a, parent, 0);
        break;
    case QW_NODE_RULE:
        if (!was_seen(m, at, parent)) qw_opening_expand(m, node.a, parent);
        break;
    case QW_NODE_SEQUENCE: {
        qw_frame f = {.kind = QW_FRAME_SEQUENCE, .node = at, .pos = 0, .parent = parent};

        f.depth = m->frames.v[parent].depth;
        resume_sequence(m, qw_opening_frame(m, &f));
        break;
    }
    case QW_NODE_CHOICE:
        for (uint32_t i = 0; i < node.b; i++) qw_opening_expand(m, m->g->lists[node.a + i], parent);
        break;
    case QW_NODE_OBJECT:
    case QW_NODE_ARRAY:
        expand_container(m, &node, parent);
        break;
    }
    m->depth--;
}
