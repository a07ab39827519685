/* SPDX-License-Identifier: MIT
 * In ab, what b says of the text's beginning holds only where a took nothing, and what a says of its end where b does. */
#include "format/anchored.h"

qw_anchored qw_anchored_plain(qw_expr id)
{
    return (qw_anchored){id, QW_EXPR_NONE, QW_EXPR_NONE, QW_EXPR_NONE};
}

static bool is_plain(qw_anchored a)
{
    return a.at_start == QW_EXPR_NONE && a.at_end == QW_EXPR_NONE && a.as_all == QW_EXPR_NONE;
}

/* id where the condition holds, else nothing. */
static qw_expr where(bool condition, qw_expr id)
{
    return condition ? id : QW_EXPR_NONE;
}

qw_anchored qw_anchored_concat(qw_expr_pool *pool, qw_anchored a, qw_anchored b)
{
    qw_anchored out;
    bool a_start = qw_expr_nullable(pool, a.anywhere) || qw_expr_nullable(pool, a.at_start);
    bool b_end = qw_expr_nullable(pool, b.anywhere) || qw_expr_nullable(pool, b.at_end);
    bool a_over = qw_expr_nullable(pool, a.at_end) || qw_expr_nullable(pool, a.as_all);
    bool b_new = qw_expr_nullable(pool, b.at_start) || qw_expr_nullable(pool, b.as_all);

    if (is_plain(a) && is_plain(b)) return qw_anchored_plain(qw_expr_concat(pool, a.anywhere, b.anywhere));
    out.anywhere = qw_expr_concat(pool, a.anywhere, b.anywhere);
    out.at_start = qw_expr_or2(pool, qw_expr_concat(pool, a.at_start, b.anywhere), where(a_start, b.at_start));
    out.at_end = qw_expr_or2(pool, qw_expr_concat(pool, a.anywhere, b.at_end), where(b_end, a.at_end));
    out.as_all = qw_expr_or(pool,
                            (qw_expr[]){qw_expr_concat(pool, a.at_start, b.at_end), where(b_end, a.as_all),
                                        where(a_start, b.as_all), where(a_over && b_new, QW_EXPR_EMPTY)},
                            4);
    return out;
}

static qw_expr or_of(qw_expr_pool *pool, const qw_anchored *parts, size_t n, int which, qw_expr *room)
{
    for (size_t i = 0; i < n; i++) {
        const qw_anchored *a = &parts[i];

        room[i] = which == 0 ? a->anywhere : which == 1 ? a->at_start : which == 2 ? a->at_end : a->as_all;
    }
    return qw_expr_or(pool, room, n);
}

qw_anchored qw_anchored_or(qw_expr_pool *pool, const qw_anchored *parts, size_t n, qw_expr *room)
{
    return (qw_anchored){or_of(pool, parts, n, 0, room), or_of(pool, parts, n, 1, room), or_of(pool, parts, n, 2, room),
                         or_of(pool, parts, n, 3, room)};
}

static qw_anchored star(qw_expr_pool *pool, qw_anchored a)
{
    qw_expr many = qw_expr_repeat(pool, a.anywhere, 0, QW_EXPR_UNBOUNDED);
    qw_expr begun = qw_expr_concat(pool, a.at_start, many);

    return (qw_anchored){many, begun, qw_expr_concat(pool, many, a.at_end),
                         qw_expr_or2(pool, qw_expr_concat(pool, begun, a.at_end), a.as_all)};
}

qw_anchored qw_anchored_repeat(qw_expr_pool *pool, qw_anchored a, uint32_t min, uint32_t max)
{
    qw_anchored out = qw_anchored_plain(QW_EXPR_EMPTY), maybe = a;

    if (is_plain(a)) return qw_anchored_plain(qw_expr_repeat(pool, a.anywhere, min, max));
    if (min > QW_ANCHORED_COUNT || (max != QW_EXPR_UNBOUNDED && max > QW_ANCHORED_COUNT)) {
        qw_expr_fail(pool, QW_ERR_USAGE, "^ or $ within a repetition of more than 16 is not taken: put it outside");
        return out;
    }
    maybe.anywhere = qw_expr_or2(pool, a.anywhere, QW_EXPR_EMPTY);
    if (max == QW_EXPR_UNBOUNDED) out = star(pool, a);
    else
        for (uint32_t i = min; i < max; i++) out = qw_anchored_concat(pool, maybe, out);
    for (uint32_t i = 0; i < min; i++) out = qw_anchored_concat(pool, a, out);
    return out;
}

qw_expr qw_anchored_search(qw_expr_pool *pool, qw_anchored a, qw_expr any)
{
    qw_expr anywhere = qw_expr_concat(pool, any, qw_expr_concat(pool, a.anywhere, any));

    return qw_expr_or(
        pool,
        (qw_expr[]){anywhere, qw_expr_concat(pool, a.at_start, any), qw_expr_concat(pool, any, a.at_end), a.as_all}, 4);
}

qw_expr qw_anchored_whole(qw_expr_pool *pool, qw_anchored a)
{
    return qw_expr_or(pool, (qw_expr[]){a.anywhere, a.at_start, a.at_end, a.as_all}, 4);
}
