/* SPDX-License-Identifier: MIT
 * After a byte the texts on top of the stacks are stepped; where one may end, matcher_open.c finds what is on top next.
 * Steps are kept in one table for all states. */
#include "format/matcher.h"

#include "base/alloc.h"
#include "format/grammar_least.h"
#include "format/matcher_end.h"

#include <stdlib.h>
#include <string.h>

enum { STATES_MAX = 1 << 20, MANY_STATES = 1 << 14 };

typedef struct step {
    uint32_t from, to; /* states; from 0: free */
    uint16_t byte;     /* 256 above it in a walk */
} step;

typedef struct span {
    size_t first;
    uint32_t n;
} span;

struct qw_matcher {
    qw_opening o;
    span *states;
    uint32_t *tops; /* of all states */
    uint32_t *state_table;
    step *steps;
    size_t n_states, cap_states, n_tops, cap_tops, cap_state_table, n_steps, cap_steps;
    uint32_t start;
};

qw_status qw_matcher_status(const qw_matcher *m, qw_error *err)
{
    return m->o.status ? qw_fail(err, m->o.status, "%s", m->o.why) : qw_expr_status(m->o.pool, err);
}

static int by_value(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

static uint32_t hash_tops(const uint32_t *v, size_t n)
{
    uint32_t hash = (uint32_t)n;

    for (size_t i = 0; i < n; i++) {
        hash = (hash ^ v[i]) * 0x9E3779B1u;
        hash ^= hash >> 15;
    }
    return hash;
}

static void put_state(qw_matcher *m, uint32_t s)
{
    size_t at = hash_tops(m->tops + m->states[s].first, m->states[s].n) & (m->cap_state_table - 1);

    while (m->state_table[at]) at = (at + 1) & (m->cap_state_table - 1);
    m->state_table[at] = s + 1;
}

static bool grow_states(qw_matcher *m)
{
    size_t cap = m->cap_state_table ? 2 * m->cap_state_table : 256;
    uint32_t *table;

    if (2 * m->n_states + 2 < m->cap_state_table) return true;
    table = qw_calloc(cap, sizeof *table);
    if (!table) {
        qw_opening_fail(&m->o, QW_ERR_MEMORY, "no memory left for the states of a format");
        return false;
    }
    qw_free(m->state_table);
    m->state_table = table;
    m->cap_state_table = cap;
    for (uint32_t s = 0; s < m->n_states; s++) put_state(m, s);
    return true;
}

/* The state of the tops that were collected. */
static uint32_t close_state(qw_matcher *m)
{
    size_t n = 0, at;

    if (m->o.n_open) qsort(m->o.open, m->o.n_open, sizeof *m->o.open, by_value);
    for (size_t i = 0; i < m->o.n_open; i++)
        if (!n || m->o.open[n - 1] != m->o.open[i]) m->o.open[n++] = m->o.open[i];
    m->o.n_open = 0;
    m->o.n_seen = 0;
    m->o.depth = 0;
    if (m->o.status || qw_expr_status(m->o.pool, NULL) || !grow_states(m)) return QW_MATCHER_DEAD;
    at = hash_tops(m->o.open, n) & (m->cap_state_table - 1);
    for (; m->state_table[at]; at = (at + 1) & (m->cap_state_table - 1)) {
        span s = m->states[m->state_table[at] - 1];

        if (s.n == n && (n == 0 || !memcmp(m->tops + s.first, m->o.open, n * sizeof *m->o.open)))
            return m->state_table[at] - 1;
    }
    if (m->n_states == STATES_MAX)
        qw_opening_fail(&m->o, QW_ERR_USAGE, "the format has too many states: use fewer rules");
    if (!qw_opening_grow(&m->o, &m->states, m->n_states, &m->cap_states, sizeof *m->states)) return QW_MATCHER_DEAD;
    m->states[m->n_states] = (span){m->n_tops, (uint32_t)n};
    for (size_t i = 0; i < n; i++) {
        if (!qw_opening_grow(&m->o, &m->tops, m->n_tops, &m->cap_tops, sizeof *m->tops)) return QW_MATCHER_DEAD;
        m->tops[m->n_tops++] = m->o.open[i];
    }
    m->state_table[at] = (uint32_t)m->n_states + 1;
    return (uint32_t)m->n_states++;
}

static uint32_t step_new(qw_matcher *m, uint32_t state, uint8_t byte)
{
    span s = m->states[state];

    for (uint32_t i = 0; i < s.n && !m->o.status; i++) {
        qw_frame top = m->o.frames.v[m->tops[s.first + i]];
        qw_frame below = m->o.frames.v[top.parent];
        bool is_name = below.kind == QW_FRAME_KEY && below.count == QW_KEY_QUOTE;
        uint32_t trace = 0;
        qw_expr next;

        if (top.kind != QW_FRAME_TEXT) continue;
        next = qw_expr_step(m->o.pool, top.expr, byte);
        if (next == QW_EXPR_NONE) continue;
        if (is_name || (below.kind == QW_FRAME_ARRAY && below.pos))
            trace = qw_opening_trace(&m->o, &below, top.trace, byte);
        if (is_name && !qw_opening_name_can_end(&m->o, &below, next, trace)) continue;
        qw_opening_text(&m->o, next, top.parent, trace);
    }
    return close_state(m);
}

static size_t slot_of(const qw_matcher *m, uint32_t state, uint16_t byte)
{
    uint32_t hash = (state * 0x9E3779B1u) ^ (byte * 0x85EBCA6Bu);
    size_t at = (hash ^ hash >> 15) & (m->cap_steps - 1);

    while (m->steps[at].from && (m->steps[at].from != state || m->steps[at].byte != byte))
        at = (at + 1) & (m->cap_steps - 1);
    return at;
}

static bool grow_steps(qw_matcher *m)
{
    size_t cap = m->cap_steps ? 2 * m->cap_steps : 1024, old = m->cap_steps;
    step *before = m->steps, *v;

    if (2 * m->n_steps + 2 < m->cap_steps) return true;
    v = qw_calloc(cap, sizeof *v);
    if (!v) {
        qw_opening_fail(&m->o, QW_ERR_MEMORY, "no memory left for the states of a format");
        return false;
    }
    m->steps = v;
    m->cap_steps = cap;
    for (size_t i = 0; i < old; i++)
        if (before[i].from) m->steps[slot_of(m, before[i].from, before[i].byte)] = before[i];
    qw_free(before);
    return true;
}

uint32_t qw_matcher_step(qw_matcher *m, uint32_t state, uint8_t byte)
{
    size_t at;
    uint32_t to;
    uint16_t key;

    if (state == QW_MATCHER_DEAD || m->o.status || !grow_steps(m)) return QW_MATCHER_DEAD;
    key = (uint16_t)(byte | (m->o.walking ? 256 : 0));
    at = slot_of(m, state, key);
    if (m->steps[at].from) return m->steps[at].to;
    to = step_new(m, state, byte);
    if (m->o.status || qw_expr_status(m->o.pool, NULL)) return QW_MATCHER_DEAD;
    m->steps[at] = (step){state, to, key};
    m->n_steps++;
    return to;
}

uint32_t qw_matcher_start(const qw_matcher *m)
{
    return m->start;
}

bool qw_matcher_may_end(const qw_matcher *m, uint32_t state)
{
    span s = m->states[state];

    return s.n && m->tops[s.first] == 0;
}

/* Whether the text on top is the rest of a string of any characters, or of a key of any name. */
static bool is_free_text(qw_matcher *m, const qw_frame *top)
{
    qw_expr any = qw_expr_any_text(m->o.pool, QW_SPELL_JSON), quote;
    const qw_frame *below = &m->o.frames.v[top->parent];

    if (below->kind == QW_FRAME_KEY && below->count == QW_KEY_QUOTE) {
        const qw_node_object *object = &m->o.g->objects[m->o.frames.v[below->parent].node];

        return top->expr == any && object->others[below->pos].free;
    }
    if (below->kind == QW_FRAME_ARRAY && below->pos) return false;
    quote = qw_expr_step(m->o.pool, top->expr, '"');
    return quote != QW_EXPR_NONE &&
           top->expr == qw_expr_concat(m->o.pool, any,
                                       qw_expr_concat(m->o.pool, qw_expr_byte_range(m->o.pool, '"', '"'), quote));
}

bool qw_matcher_is_free_string(qw_matcher *m, uint32_t state)
{
    span s = m->states[state];

    for (uint32_t i = 0; i < s.n; i++) {
        qw_frame top = m->o.frames.v[m->tops[s.first + i]];

        if (top.kind == QW_FRAME_TEXT && is_free_text(m, &top)) return true;
    }
    return false;
}

uint32_t qw_matcher_shortest(qw_matcher *m, uint32_t state)
{
    span s = m->states[state];
    uint32_t least = UINT32_MAX;

    for (uint32_t i = 0; i < s.n; i++) {
        uint32_t one = qw_frame_least(&m->o, m->tops[s.first + i]);

        if (one < least) least = one;
    }
    return least;
}

bool qw_matcher_walk(qw_matcher *m, bool on)
{
    bool before = m->o.walking;

    m->o.walking = on;
    return before;
}

/* A frame of a container that holds a text of which nothing is told. */
static bool holds_unsure(const qw_matcher *m, const qw_frame *f)
{
    if (f->kind == QW_FRAME_OBJECT) return m->o.frames.v[f->trace].trace == QW_TRACE_UNSURE;
    return (f->kind == QW_FRAME_TEXT || f->kind == QW_FRAME_KEY || f->kind == QW_FRAME_ARRAY) &&
           f->trace == QW_TRACE_UNSURE;
}

bool qw_matcher_is_unsure(const qw_matcher *m, uint32_t state)
{
    span s = m->states[state];

    for (uint32_t i = 0; m->o.unsure && i < s.n; i++)
        for (uint32_t id = m->tops[s.first + i]; id; id = m->o.frames.v[id].parent)
            if (holds_unsure(m, &m->o.frames.v[id])) return true;
    return false;
}

qw_matcher_mark qw_matcher_here(const qw_matcher *m)
{
    return (qw_matcher_mark){m->n_states, m->n_tops, m->o.frames.n};
}

bool qw_matcher_release(qw_matcher *m, qw_matcher_mark mark)
{
    if (m->n_states < MANY_STATES) return false;
    qw_frames_cut(&m->o.frames, mark.n_frames);
    m->n_states = mark.n_states;
    m->n_tops = mark.n_tops;
    memset(m->state_table, 0, m->cap_state_table * sizeof *m->state_table);
    for (uint32_t s = 0; s < m->n_states; s++) put_state(m, s);
    if (m->steps) memset(m->steps, 0, m->cap_steps * sizeof *m->steps);
    m->n_steps = 0;
    return true;
}

qw_status qw_matcher_new(qw_matcher **out, qw_grammar *grammar, qw_node node, qw_error *err)
{
    qw_matcher *m = qw_calloc(1, sizeof *m);
    qw_status status;

    *out = NULL;
    if (!m) return qw_fail_memory(err, "a matcher", (double)sizeof *m);
    m->o.g = grammar;
    m->o.pool = grammar->pool;
    qw_grammar_finish(grammar);
    qw_opening_frame(&m->o, &(qw_frame){.kind = QW_FRAME_END, .depth = grammar->depth});
    for (uint32_t i = QW_TRACE_LOST; i <= QW_TRACE_UNSURE; i++)
        qw_opening_frame(&m->o, &(qw_frame){.kind = QW_FRAME_TRACE, .pos = 256 + i});
    close_state(m); /* nothing: the dead state */
    qw_opening_expand(&m->o, node, 0);
    m->start = close_state(m);
    status = qw_grammar_status(grammar, err);
    if (!status) status = qw_matcher_status(m, err);
    if (!status && m->start == QW_MATCHER_DEAD)
        status = qw_fail(err, QW_ERR_USAGE, "no text satisfies the format: its rules contradict each other");
    if (status) qw_matcher_free(m);
    else *out = m;
    return status;
}

void qw_matcher_free(qw_matcher *m)
{
    if (!m) return;
    qw_frames_free(&m->o.frames);
    qw_free(m->states);
    qw_free(m->tops);
    qw_free(m->state_table);
    qw_free(m->steps);
    qw_free(m->o.open);
    qw_free(m->o.seen);
    qw_buf_free(&m->o.name);
    qw_free(m);
}
