/* SPDX-License-Identifier: MIT
 * A form is an expression, or a grammar with its matcher; its state in the middle of an answer is a number of either. */
#include "format/format.h"

#include "base/alloc.h"
#include "format/ends.h"
#include "format/matcher.h"

#include <string.h>

struct qw_format {
    const qw_masks *masks;
    qw_expr_pool *pool;
    qw_grammar *grammar;
    qw_matcher *matcher; /* NULL: an expression */
    qw_moves moves;
    qw_ends ends;
    uint32_t start;
    uint32_t masked;   /* the state whose mask bits holds; dead: none */
    uint32_t farthest; /* bytes to the end behind any token of it */
    uint32_t *bits, *within;
};

static qw_status whitespace_of(qw_text name, qw_whitespace *out, qw_error *err)
{
    static const char *const names[] = {
        [QW_SPACE_BOUNDED] = "bounded", [QW_SPACE_COMPACT] = "compact", [QW_SPACE_ANY] = "any"};

    *out = QW_SPACE_BOUNDED;
    if (!name.n) return QW_OK;
    for (int i = 0; i < 3; i++) {
        if (!qw_text_is(name, names[i])) continue;
        *out = (qw_whitespace)i;
        return QW_OK;
    }
    return qw_fail(err, QW_ERR_USAGE, "whitespace is \"%.*s\", wanted bounded, compact or any",
                   (int)(name.n < 40 ? name.n : 40), name.bytes);
}

static qw_status reserve_masks(qw_format *f, qw_error *err)
{
    f->bits = qw_calloc(f->masks->n_words, sizeof *f->bits);
    f->within = qw_calloc(f->masks->n_words, sizeof *f->within);
    return f->bits && f->within ? QW_OK
                                : qw_fail_memory(err, "a mask", 2.0 * (double)f->masks->n_words * sizeof *f->bits);
}

static qw_status use_expression(qw_format *f, qw_expr expr, qw_error *err)
{
    f->moves = qw_expr_moves(f->pool);
    f->start = expr;
    if (!qw_expr_is_void(f->pool, expr)) return qw_expr_status(f->pool, err);
    QW_TRY(qw_expr_status(f->pool, err));
    return qw_fail(err, QW_ERR_USAGE, "response_format: no text has this form");
}

static qw_status use_grammar(qw_format *f, qw_node node, qw_error *err)
{
    QW_TRY(qw_matcher_new(&f->matcher, f->grammar, node, err));
    f->moves = qw_matcher_moves(f->matcher);
    f->start = qw_matcher_start(f->matcher);
    return QW_OK;
}

/* *any: there is nothing to hold. */
static qw_status make(qw_format *f, qw_text json, qw_text whitespace, qw_buf *notes, bool *any, qw_error *err)
{
    qw_format_maker maker = {.tokenizer = f->masks->tokenizer, .notes = notes};
    qw_whitespace space;
    qw_language language;

    QW_TRY(whitespace_of(whitespace, &space, err));
    QW_TRY(qw_expr_pool_new(&f->pool, 0, err));
    QW_TRY(qw_grammar_new(&f->grammar, f->pool, space, err));
    maker.pool = f->pool;
    maker.grammar = f->grammar;
    QW_TRY(qw_format_read(&maker, json, &language, err));
    *any = language.any_text;
    if (*any) return QW_OK;
    QW_TRY(reserve_masks(f, err));
    return language.node ? use_grammar(f, language.node, err) : use_expression(f, language.expr, err);
}

qw_status qw_format_new(qw_format **out, qw_text json, qw_text whitespace, const qw_masks *masks, qw_buf *notes,
                        qw_error *err)
{
    qw_format *f = qw_calloc(1, sizeof *f);
    bool any = false;
    qw_status status;

    *out = NULL;
    if (!f) return qw_fail_memory(err, "the form of the answer", sizeof *f);
    f->masks = masks;
    status = make(f, json, whitespace, notes, &any, err);
    if (status || any) qw_format_free(f);
    else *out = f;
    return status;
}

void qw_format_free(qw_format *f)
{
    if (!f) return;
    qw_matcher_free(f->matcher);
    qw_grammar_free(f->grammar);
    qw_expr_pool_free(f->pool);
    qw_ends_free(&f->ends);
    qw_free(f->bits);
    qw_free(f->within);
    qw_free(f);
}

const qw_moves *qw_format_moves(const qw_format *f)
{
    return &f->moves;
}

uint32_t qw_format_start(const qw_format *f)
{
    return f->start;
}

uint32_t qw_format_after(const qw_format *f, uint32_t state, int32_t id)
{
    return qw_moves_token(&f->moves, f->masks->tokenizer, state, id);
}

bool qw_format_may_end(const qw_format *f, uint32_t state)
{
    return f->moves.may_end(f->moves.self, state);
}

/* What went wrong in a walk, which itself only gives dead states. */
qw_status qw_format_status(const qw_format *f, qw_error *err)
{
    return f->matcher ? qw_matcher_status(f->matcher, err) : qw_expr_status(f->pool, err);
}

/* Behind a walk over the vocabulary: states that no row stands on are let go where they are many. */
static void let_go(qw_format *f, qw_matcher_mark mark)
{
    if (f->matcher && qw_matcher_release(f->matcher, mark)) qw_ends_cut(&f->ends, mark.n_states);
}

static qw_matcher_mark here(const qw_format *f)
{
    return f->matcher ? qw_matcher_here(f->matcher) : (qw_matcher_mark){0};
}

qw_status qw_format_mask(qw_format *f, uint32_t state, const uint32_t **bits, qw_error *err)
{
    qw_matcher_mark mark = here(f);

    *bits = f->bits;
    if (f->masked == state && state != QW_STATE_DEAD) return QW_OK;
    f->masked = QW_STATE_DEAD;
    QW_TRY(qw_mask_make(f->masks, &f->moves, state, f->bits, &f->farthest, err));
    QW_TRY(qw_format_status(f, err));
    f->masked = state;
    let_go(f, mark);
    return QW_OK;
}

qw_status qw_format_mask_within(qw_format *f, uint32_t state, uint32_t most, const uint32_t **bits, qw_error *err)
{
    qw_matcher_mark mark;

    QW_TRY(qw_format_mask(f, state, bits, err));
    *bits = NULL;
    if (f->farthest <= most) return QW_OK; /* a token for each byte is enough */
    mark = here(f);
    QW_TRY(qw_ends_mask(&f->ends, f->masks, &f->moves, state, most, f->within, err));
    QW_TRY(qw_format_status(f, err));
    *bits = f->within;
    let_go(f, mark);
    return QW_OK;
}
