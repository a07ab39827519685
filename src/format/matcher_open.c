/* SPDX-License-Identifier: MIT
 * White space of a document, by setting: bounded (after { [ , and before } ]: nothing, a space, or a newline and up to four
 * spaces for each container open there; after : nothing or a space), compact (none), any (everywhere between two tokens). */
#include "format/matcher_open.h"

#include "base/alloc.h"

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

/* What the frame's bytes were, as an expression. */
static qw_expr traced(qw_opening *m, uint32_t trace)
{
    qw_expr id = QW_EXPR_EMPTY;

    for (; trace; trace = m->frames.v[trace].parent) {
        uint8_t byte = (uint8_t)m->frames.v[trace].pos;

        id = qw_expr_concat(m->pool, qw_expr_byte_range(m->pool, byte, byte), id);
    }
    return id;
}

/* Whether more texts of the class than `need` are left, taking the shortest first. */
static int64_t count_texts(qw_opening *m, qw_expr expr, int64_t need)
{
    int64_t n = 0;

    while (n < need && !m->status && !qw_expr_is_void(m->pool, expr)) {
        qw_expr id = expr, word;
        uint32_t left = qw_expr_shortest(m->pool, id);
        qw_buf text = {0};

        while (left > 0 && left != UINT32_MAX) {
            qw_expr next = QW_EXPR_NONE;
            char byte = 0;

            for (unsigned b = 0; b < 256 && next == QW_EXPR_NONE; b++) {
                next = qw_expr_step(m->pool, id, (uint8_t)b);
                if (next != QW_EXPR_NONE && qw_expr_shortest(m->pool, next) + 1 != left) next = QW_EXPR_NONE;
                byte = (char)b;
            }
            if (next == QW_EXPR_NONE || qw_buf_append(&text, &byte, 1, NULL)) break;
            id = next;
            left--;
        }
        word = qw_expr_literal(m->pool, (qw_text){text.bytes, text.n});
        qw_buf_free(&text);
        if (qw_expr_status(m->pool, NULL)) break;
        expr = qw_expr_minus(m->pool, expr, word);
        n++;
    }
    return n;
}

static bool lives(const qw_opening *m, qw_node node)
{
    return m->g->nodes[node].lives;
}

/* Whether the object can still be closed. */
static bool object_can(qw_opening *m, const qw_frame *f)
{
    const qw_node_object *o = &m->g->objects[f->node];
    int64_t required = 0, possible = 0, need;

    for (size_t i = f->pos; i < o->n_keys; i++) {
        required += o->keys[i].required;
        possible += lives(m, o->keys[i].value);
    }
    if (f->count + required > o->max) return false;
    need = o->min - f->count - possible;
    for (size_t i = 0; i < o->n_others && need > 0; i++)
        if (lives(m, o->others[i].value))
            need -= count_texts(m, qw_expr_minus(m->pool, o->others[i].keys, f->expr), need);
    return need <= 0;
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
        if (lives(m, key->value) && object_can(m, &next)) {
            value.parent = qw_opening_frame(m, &next);
            text = qw_expr_concat(m->pool, before, qw_expr_concat(m->pool, key->name, colon(m)));
            qw_opening_text(m, text, qw_opening_frame(m, &value), 0);
        }
        if (key->required) return false;
    }
    return true;
}

static void resume_object(qw_opening *m, uint32_t id)
{
    qw_frame f = m->frames.v[id];
    const qw_node_object *o = &m->g->objects[f.node];
    qw_expr before = comma(m, f.count > 0, f.depth);
    bool free = open_declared(m, id, before);

    if (free && (int64_t)f.count >= o->min) qw_opening_text(m, closing(m, f.count > 0, f.depth, "}"), f.parent, 0);
    for (uint32_t i = 0; free && i < o->n_others; i++) {
        qw_frame next = f, key = {.kind = QW_FRAME_KEY, .pos = i, .depth = f.depth, .parent = id};

        next.pos = (uint32_t)o->n_keys;
        next.count++;
        if ((int64_t)f.count >= o->max || !lives(m, o->others[i].value)) continue;
        if (qw_expr_is_void(m->pool, qw_expr_minus(m->pool, o->others[i].keys, f.expr))) continue;
        next.count = f.count;
        if (!object_can(m, &next)) continue;
        qw_opening_text(m, qw_expr_concat(m->pool, before, literal(m, "\"")), qw_opening_frame(m, &key), 0);
    }
}

/* Before the body of a key, and behind it, when its trace is known. */
static void resume_key(qw_opening *m, uint32_t id, uint32_t trace)
{
    qw_frame key = m->frames.v[id], f = m->frames.v[key.parent];
    const qw_node_object *o = &m->g->objects[f.node];
    qw_frame value = {.kind = QW_FRAME_EXPAND, .node = o->others[key.pos].value, .depth = f.depth};

    if (key.count == 0) {
        key.count = 1;
        qw_opening_text(m, qw_expr_minus(m->pool, o->others[key.pos].keys, f.expr), qw_opening_frame(m, &key), 0);
        return;
    }
    f.expr = qw_expr_or2(m->pool, f.expr, traced(m, trace));
    f.pos = (uint32_t)o->n_keys;
    f.count++;
    value.parent = qw_opening_frame(m, &f);
    qw_opening_text(m, qw_expr_concat(m->pool, literal(m, "\""), colon(m)), qw_opening_frame(m, &value), 0);
}

static uint32_t counted(uint64_t counts, size_t k)
{
    return (uint32_t)(counts >> (8 * k) & 255);
}

static const qw_array_slot *slot_at(const qw_node_array *a, uint32_t count)
{
    return &a->slots[count < a->n_prefix ? count : a->n_prefix];
}

/* Whether the item may come next; its counters are added to *counts. */
static bool item_counts(const qw_node_array *a, const qw_array_item *item, uint64_t *counts)
{
    for (size_t k = 0; k < a->n_counters; k++) {
        uint32_t n = counted(*counts, k);

        if (!(item->counts >> k & 1)) continue;
        if (n + 1 > a->counters[k].max) return false;
        if (n < 255) *counts += (uint64_t)1 << (8 * k);
    }
    return true;
}

static bool slot_lives(const qw_opening *m, const qw_array_slot *slot)
{
    for (size_t i = 0; i < slot->n; i++)
        if (lives(m, slot->items[i].value)) return true;
    return false;
}

/* Whether the array can still be closed: each item goes where most is still missing. */
static bool array_can(qw_opening *m, const qw_frame *f)
{
    const qw_node_array *a = &m->g->arrays[f->node];
    uint64_t counts = f->counts;
    int64_t count = f->count;

    if (!a->n_counters && count >= (int64_t)a->n_prefix)
        return count >= a->min || (a->max >= a->min && slot_lives(m, &a->slots[a->n_prefix]));
    for (;;) {
        const qw_array_slot *slot = slot_at(a, (uint32_t)(count < INT32_MAX ? count : INT32_MAX));
        int best_gain = -1;
        uint64_t best = 0;
        bool missing = false;

        for (size_t k = 0; k < a->n_counters; k++) missing |= counted(counts, k) < a->counters[k].min;
        if (!missing && count >= a->min) return true;
        if (count >= a->max) return false;
        for (size_t i = 0; i < slot->n; i++) {
            uint64_t next = counts;
            int gain = 0;

            if (!lives(m, slot->items[i].value) || !item_counts(a, &slot->items[i], &next)) continue;
            for (size_t k = 0; k < a->n_counters; k++)
                gain += (slot->items[i].counts >> k & 1) && counted(counts, k) < a->counters[k].min;
            if (!missing) gain = slot->items[i].counts ? 0 : 1;
            if (gain > best_gain) {
                best_gain = gain;
                best = next;
            }
        }
        if (best_gain < 0 || (missing && best_gain == 0 && count >= (int64_t)a->n_prefix)) return false;
        counts = best;
        count++;
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

    if (!lives(m, item->value) || !item_counts(a, item, &next.counts)) return;
    next.count++;
    if (!array_can(m, &next)) return;
    if (a->unique) {
        qw_expr left = qw_expr_minus(m->pool, text_of(m, item->value, 0), f.expr);

        if (a->min > next.count && count_texts(m, left, a->min - f.count) < a->min - f.count) return;
        if (qw_expr_is_void(m->pool, left)) return;
        next.pos = 1; /* its text is being read: it is added to expr */
        value.kind = QW_FRAME_KEY;
        value.expr = left;
        value.count = 2;
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
        f.expr = qw_expr_or2(m->pool, f.expr, traced(m, trace));
        f.pos = 0;
        id = qw_opening_frame(m, &f);
    }
    slot = slot_at(a, f.count);
    may_close = f.count >= a->min;
    for (size_t k = 0; k < a->n_counters; k++) may_close &= counted(f.counts, k) >= a->counters[k].min;
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
        if (f.count == 2) qw_opening_text(m, f.expr, f.parent, 0);
        else resume_key(m, id, trace);
        break;
    case QW_FRAME_ARRAY:
        resume_array(m, id, trace);
        break;
    case QW_FRAME_TEXT:
    case QW_FRAME_TRACE:
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

    if (m->status || !node.lives) return;
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
