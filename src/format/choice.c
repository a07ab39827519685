/* SPDX-License-Identifier: MIT
 * The sorted texts are walked once: what the next one no longer shares with the last is folded from its end, so that a
 * node is made after all its branches, and equal ends are one node (Daciuk et al., "Incremental construction of minimal
 * acyclic finite-state automata", 2000). */
#include "format/choice.h"

#include "base/alloc.h"
#include "format/characters.h"
#include "format/expression_pool.h"
#include "tokenizer/unicode.h"

#include <stdlib.h>
#include <string.h>

typedef struct edge {
    uint8_t byte;
    qw_expr target;
} edge;

typedef struct level {
    size_t first_edge;
    bool ends; /* a text ends here */
} level;

/* Nodes on the way to the last text: one level for each of its bytes. */
typedef struct trie {
    qw_expr_pool *pool;
    level *levels;
    edge *edges;
    size_t n_levels, n_edges, cap_edges;
} trie;

static int by_bytes(const void *a, const void *b)
{
    const qw_text *x = a, *y = b;
    int order = memcmp(x->bytes, y->bytes, x->n < y->n ? x->n : y->n);

    return order ? order : (x->n > y->n) - (x->n < y->n);
}

static qw_expr fold(trie *t)
{
    qw_expr_pool *pool = t->pool;
    const level *top = &t->levels[--t->n_levels];
    size_t base = pool->stack.n;

    if (top->ends) qw_expr_push(pool, &pool->stack, QW_EXPR_EMPTY);
    for (size_t i = top->first_edge; i < t->n_edges; i++) {
        qw_byte_set set = {{0}};
        qw_expr target = t->edges[i].target, id;

        if (target == QW_EXPR_NONE) continue;
        for (size_t k = i; k < t->n_edges; k++) {
            if (t->edges[k].target != target) continue;
            qw_byte_set_add(&set, t->edges[k].byte);
            t->edges[k].target = QW_EXPR_NONE;
        }
        id = qw_expr_concat(pool, qw_expr_bytes(pool, &set), target);
        qw_expr_push(pool, &pool->stack, id);
    }
    t->n_edges = top->first_edge;
    return qw_expr_or_top(pool, base);
}

/* Folds what lies deeper than n bytes of last. */
static void fold_to(trie *t, qw_text last, size_t n)
{
    while (t->n_levels > n + 1 && !t->pool->status) {
        qw_expr id = fold(t);

        if (!qw_expr_grow(t->pool, &t->edges, t->n_edges, &t->cap_edges, sizeof *t->edges)) return;
        t->edges[t->n_edges++] = (edge){(uint8_t)last.bytes[t->n_levels - 1], id};
    }
}

static size_t common(qw_text a, qw_text b)
{
    size_t n = 0;

    while (n < a.n && n < b.n && a.bytes[n] == b.bytes[n]) n++;
    return n;
}

static qw_expr build(qw_expr_pool *pool, const qw_text *sorted, size_t n, level *levels)
{
    trie t = {.pool = pool, .levels = levels, .n_levels = 1};
    qw_text last = {"", 0};
    qw_expr id = QW_EXPR_NONE;

    levels[0] = (level){0, false};
    for (size_t i = 0; i < n && !pool->status; i++) {
        fold_to(&t, last, common(last, sorted[i]));
        last = sorted[i];
        while (!pool->status && t.n_levels <= last.n) t.levels[t.n_levels++] = (level){t.n_edges, false};
        t.levels[last.n].ends = true;
    }
    fold_to(&t, last, 0);
    if (!pool->status) id = fold(&t);
    pool->bytes -= t.cap_edges * sizeof *t.edges;
    qw_free(t.edges);
    return id;
}

/* Appends the spelling of text; usage error with its index where it is no UTF-8. */
static qw_status spell(qw_buf *out, qw_text text, size_t index, qw_spelling spelling, qw_error *err)
{
    for (size_t at = 0; at < text.n;) {
        char bytes[QW_SPELLED_MAX];
        uint32_t c;

        at += qw_utf8_step(text.bytes + at, text.n - at, &c);
        if (c >= QW_UTF8_BAD)
            return qw_fail(err, QW_ERR_USAGE, "choice %zu is no valid UTF-8 text: give whole characters", index);
        QW_TRY(qw_buf_append(out, bytes, qw_spell_char(bytes, c, spelling), err));
    }
    return QW_OK;
}

/* The spelled texts one after the other in bytes, and where they are in spelled; *longest is that of any. */
static qw_status spell_all(qw_buf *bytes, qw_text *spelled, const qw_text *texts, size_t n, qw_spelling spelling,
                           qw_error *err)
{
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        at = bytes->n;
        QW_TRY(spell(bytes, texts[i], i, spelling, err));
        spelled[i].n = bytes->n - at;
    }
    at = 0;
    for (size_t i = 0; i < n; i++) {
        spelled[i].bytes = spelled[i].n ? bytes->bytes + at : "";
        at += spelled[i].n;
    }
    return QW_OK;
}

qw_status qw_choice_expr(qw_expr_pool *pool, const qw_text *texts, size_t n, qw_spelling spelling, qw_expr *out,
                         qw_error *err)
{
    qw_buf bytes = {0};
    qw_text *spelled;
    level *levels = NULL;
    size_t longest = 0;
    qw_status status;

    *out = QW_EXPR_NONE;
    if (n == 0) return qw_fail(err, QW_ERR_USAGE, "a choice among 0 texts cannot be made: give at least one");
    spelled = qw_calloc(n, sizeof *spelled);
    if (!spelled) return qw_fail_memory(err, "choices", (double)(n * sizeof *spelled));
    status = spell_all(&bytes, spelled, texts, n, spelling, err);
    for (size_t i = 0; i < n; i++)
        if (spelled[i].n > longest) longest = spelled[i].n;
    if (!status) levels = qw_calloc(longest + 1, sizeof *levels);
    if (!status && !levels) status = qw_fail_memory(err, "choices", (double)((longest + 1) * sizeof *levels));
    if (!status) {
        qsort(spelled, n, sizeof *spelled, by_bytes);
        *out = build(pool, spelled, n, levels);
        qw_expr_mark(pool, *out, spelling);
        status = qw_expr_status(pool, err);
    }
    qw_free(levels);
    qw_free(spelled);
    qw_buf_free(&bytes);
    return status;
}
