/* SPDX-License-Identifier: MIT
 * What a frame needs itself stands apart from what lies below it: a frame is asked once, whoever stands on it. */
#include "format/matcher_end.h"

#include "format/grammar_least.h"

/* From the body of a key, or behind it, to the end of the object. */
static uint32_t key_least(qw_opening *m, const qw_frame *key)
{
    const qw_frame *f = &m->frames.v[key->parent];
    const qw_node_object *o = &m->g->objects[f->node];
    const qw_node_others *class = &o->others[key->pos];
    qw_expr used = class->endless ? QW_EXPR_NONE : qw_used_names(m, f);
    uint32_t least = m->g->nodes[class->value].least;
    int64_t count = f->count;

    least = qw_least_sum(least, qw_object_least(m->g, o, (uint32_t)o->n_keys, count + 1, used));
    least = qw_least_sum(least, key->count == QW_KEY_VALUE ? 1 : 2); /* the colon, and the quote before it */
    if (key->count != QW_KEY_BODY) return least;
    if (class->endless) return qw_least_sum(least, qw_endless_name(m->g, o, class, f->trace ? count : 0));
    return qw_least_sum(least, qw_expr_shortest(m->pool, qw_expr_minus(m->pool, class->keys, used)));
}

/* The rest of a text; a name that is taken must go on. */
static uint32_t text_least(qw_opening *m, const qw_frame *text)
{
    uint32_t least = qw_expr_shortest(m->pool, text->expr);
    const qw_frame *key = &m->frames.v[text->parent];
    const qw_frame *object;

    if (least || key->kind != QW_FRAME_KEY || key->count != QW_KEY_QUOTE) return least;
    object = &m->frames.v[key->parent];
    if (!m->g->objects[object->node].others[key->pos].endless) return 0;
    return qw_opening_name_is_taken(m, object, text->trace) ? 1 : 0;
}

static uint32_t own_least(qw_opening *m, const qw_frame *f)
{
    uint32_t least = 0;

    switch ((qw_frame_kind)f->kind) {
    case QW_FRAME_TEXT:
        return text_least(m, f);
    case QW_FRAME_EXPAND:
        return m->g->nodes[f->node].least;
    case QW_FRAME_SEQUENCE:
        for (uint32_t i = f->pos; i < m->g->nodes[f->node].b; i++)
            least = qw_least_sum(least, m->g->nodes[m->g->lists[m->g->nodes[f->node].a + i]].least);
        return least;
    case QW_FRAME_OBJECT: {
        const qw_node_object *o = &m->g->objects[f->node];
        bool counts = (int64_t)f->count < o->min && qw_names_run_out(m->g, o);

        return qw_object_least(m->g, o, f->pos, f->count, counts ? qw_used_names(m, f) : QW_EXPR_NONE);
    }
    case QW_FRAME_KEY:
        return key_least(m, f);
    case QW_FRAME_ARRAY:
        return qw_array_least(m->g, &m->g->arrays[f->node], f->count, f->counts);
    case QW_FRAME_ITEM:
        return qw_expr_shortest(m->pool, f->expr);
    case QW_FRAME_END:
    case QW_FRAME_TRACE:
    case QW_FRAME_NAME:
        break;
    }
    return 0;
}

/* A key needs what its object needs behind it: what goes on then lies below the object. */
static uint32_t below(const qw_opening *m, uint32_t id)
{
    const qw_frame *f = &m->frames.v[id];

    return f->kind == QW_FRAME_KEY ? m->frames.v[f->parent].parent : f->parent;
}

uint32_t qw_frame_least(qw_opening *m, uint32_t id)
{
    m->frames.least[0] = 1;
    while (!m->frames.least[id]) {
        uint32_t at = id, least;
        qw_frame f;

        while (!m->frames.least[below(m, at)]) at = below(m, at);
        f = m->frames.v[at];
        least = qw_least_sum(own_least(m, &f), m->frames.least[below(m, at)]);
        m->frames.least[at] = least;
    }
    return m->frames.least[id] == QW_NODE_ENDLESS ? QW_NODE_ENDLESS : m->frames.least[id] - 1;
}
