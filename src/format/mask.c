/* SPDX-License-Identifier: MIT
 * The trie is walked with the matcher's states beside it. In the body of a free JSON string, where most steps of an answer
 * are, nearly all tokens are allowed and lead nowhere new: these are known beforehand, and only the others are walked. */
#include "format/mask.h"

#include "base/alloc.h"
#include "format/matcher.h"
#include "format/special_tokens.h"

#include <string.h>

static uint32_t expr_step(void *self, uint32_t state, uint8_t byte)
{
    return qw_expr_step(self, state, byte);
}

static bool expr_may_end(void *self, uint32_t state)
{
    return qw_expr_nullable(self, state);
}

static uint32_t expr_shortest(void *self, uint32_t state)
{
    return qw_expr_shortest(self, state);
}

qw_moves qw_expr_moves(qw_expr_pool *pool)
{
    return (qw_moves){.self = pool, .step = expr_step, .may_end = expr_may_end, .shortest = expr_shortest};
}

static uint32_t matcher_step(void *self, uint32_t state, uint8_t byte)
{
    return qw_matcher_step(self, state, byte);
}

static bool matcher_may_end(void *self, uint32_t state)
{
    return qw_matcher_may_end(self, state);
}

static bool matcher_is_free_string(void *self, uint32_t state)
{
    return qw_matcher_is_free_string(self, state);
}

static uint32_t matcher_shortest(void *self, uint32_t state)
{
    return qw_matcher_shortest(self, state);
}

static bool matcher_walk(void *self, bool on)
{
    return qw_matcher_walk(self, on);
}

static bool matcher_is_unsure(void *self, uint32_t state)
{
    return qw_matcher_is_unsure(self, state);
}

qw_moves qw_matcher_moves(qw_matcher *matcher)
{
    return (qw_moves){matcher,          matcher_step, matcher_may_end,  matcher_is_free_string,
                      matcher_shortest, matcher_walk, matcher_is_unsure};
}

uint32_t qw_moves_walk(const qw_moves *moves, uint32_t state, qw_text bytes)
{
    for (size_t i = 0; i < bytes.n && state != QW_STATE_DEAD; i++)
        state = moves->step(moves->self, state, (uint8_t)bytes.bytes[i]);
    return state;
}

uint32_t qw_moves_token(const qw_moves *moves, const qw_tokenizer *tokenizer, uint32_t state, int32_t id)
{
    qw_text bytes = qw_tokenizer_token_bytes(tokenizer, id);
    char code[QW_SPECIAL_BYTES];
    uint32_t next;

    qw_special_token_bytes(code, id);
    next = qw_moves_walk(moves, state, (qw_text){code, sizeof code});
    if (next != QW_STATE_DEAD || qw_tokenizer_type(tokenizer, id) != QW_TOKEN_NORMAL) return next;
    return bytes.n && memchr(bytes.bytes, QW_SPECIAL_MARK, bytes.n) ? QW_STATE_DEAD
                                                                    : qw_moves_walk(moves, state, bytes);
}

/* A node on the way to the one at hand: the state behind it, and where its subtree ends. */
typedef struct level {
    uint32_t state, end;
} level;

static bool set_walk(const qw_moves *moves, bool on)
{
    return moves->walk && moves->walk(moves->self, on);
}

/* The tokens of a place that the walk is not sure of, each walked for itself. */
static void see_each(const qw_tokenizer *t, const qw_moves *moves, uint32_t from, const int32_t *ids, uint32_t n,
                     qw_mask_visit *see, void *context)
{
    set_walk(moves, false);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t state = qw_moves_walk(moves, from, qw_tokenizer_token_bytes(t, ids[i]));

        if (state != QW_STATE_DEAD) see(context, ids + i, 1, state);
    }
    set_walk(moves, true);
}

qw_status qw_mask_walk(const qw_vocabulary_trie *t, const qw_tokenizer *tokenizer, const qw_moves *moves,
                       uint32_t state, qw_mask_visit *see, void *context, qw_error *err)
{
    level *path = qw_calloc(t->longest + 1, sizeof *path), *top = path;
    bool before;

    if (!path) return qw_fail_memory(err, "a path of the trie", (double)(t->longest + 1) * sizeof *path);
    path[0] = (level){state, UINT32_MAX};
    before = set_walk(moves, true);
    for (uint32_t node = 0; state != QW_STATE_DEAD && node < t->n_nodes;) {
        uint32_t first = t->first[node], n = t->first[node + 1] - first, next;

        while (top->end == node) top--;
        /* A token of a lone byte FF is no text, and not the mark of one that is none. */
        next = t->byte[node] == QW_SPECIAL_MARK ? QW_STATE_DEAD : moves->step(moves->self, top->state, t->byte[node]);
        if (next == QW_STATE_DEAD) {
            node = t->next[node];
            continue;
        }
        if (n && moves->is_unsure && moves->is_unsure(moves->self, next))
            see_each(tokenizer, moves, state, t->ids + first, n, see, context);
        else if (n) see(context, t->ids + first, n, next);
        *++top = (level){next, t->next[node++]};
    }
    set_walk(moves, before);
    qw_free(path);
    return QW_OK;
}

/* Bits that are set by a walk. */
typedef struct painting {
    const qw_moves *moves;
    uint32_t *bits;
    uint32_t only;     /* not dead: the tokens that lead to this state alone */
    uint32_t farthest; /* bytes to the end behind any of them */
    bool measures;
} painting;

static void paint(void *context, const int32_t *ids, uint32_t n, uint32_t state)
{
    painting *p = context;

    if (p->only && p->only != state) return;
    for (uint32_t i = 0; i < n; i++) p->bits[ids[i] >> 5] |= 1u << (ids[i] & 31);
    if (p->measures) {
        uint32_t left = p->moves->shortest(p->moves->self, state);

        if (left > p->farthest) p->farthest = left;
    }
}

/* Tokens that are no text: their codes are walked as a tree of three bytes below the mark. */
static void paint_special(painting *p, uint32_t state, int32_t n_ids)
{
    const qw_moves *m = p->moves;
    uint32_t at[4] = {m->step(m->self, state, QW_SPECIAL_MARK)};

    for (int32_t id = 0; at[0] != QW_STATE_DEAD && id < n_ids; id++) {
        char code[QW_SPECIAL_BYTES];
        int32_t skip = 0;

        qw_special_token_bytes(code, id);
        for (int i = 0; i < 3 && !skip; i++) {
            if (i < 2 && id & ((1 << (14 - 7 * i)) - 1) && at[i + 1] != QW_STATE_DEAD) continue;
            at[i + 1] = m->step(m->self, at[i], (uint8_t)code[i + 1]);
            if (at[i + 1] == QW_STATE_DEAD) skip = 1 << (14 - 7 * i);
        }
        if (skip) id |= skip - 1;
        else paint(p, &id, 1, at[3]);
    }
}

/* The tokens that begin and end in the body of a free string are plain; the others get a trie of their own. */
static qw_status make_parts(qw_masks *out, const qw_tokenizer *tokenizer, qw_expr_pool *pool, qw_error *err)
{
    qw_expr body = qw_expr_any_text(pool, QW_SPELL_JSON);
    qw_moves moves = qw_expr_moves(pool);
    painting p = {.moves = &moves, .only = body};

    out->tokenizer = tokenizer;
    out->n_words = ((size_t)qw_tokenizer_n_ids(tokenizer) + 31) / 32;
    p.bits = out->plain = qw_calloc(out->n_words, sizeof *out->plain);
    if (!out->plain) return qw_fail_memory(err, "the plain tokens", (double)out->n_words * sizeof *out->plain);
    QW_TRY(qw_vocabulary_trie_new(&out->all, tokenizer, NULL, err));
    QW_TRY(qw_mask_walk(&out->all, tokenizer, &moves, body, paint, &p, err));
    QW_TRY(qw_expr_status(pool, err));
    return qw_vocabulary_trie_new(&out->others, tokenizer, out->plain, err);
}

qw_status qw_masks_new(qw_masks *out, const qw_tokenizer *tokenizer, qw_error *err)
{
    qw_expr_pool *pool;
    qw_status status;

    *out = (qw_masks){0};
    QW_TRY(qw_expr_pool_new(&pool, 0, err));
    status = make_parts(out, tokenizer, pool, err);
    qw_expr_pool_free(pool);
    if (status) qw_masks_free(out);
    return status;
}

void qw_masks_free(qw_masks *masks)
{
    qw_vocabulary_trie_free(&masks->all);
    qw_vocabulary_trie_free(&masks->others);
    qw_free(masks->plain);
    *masks = (qw_masks){0};
}

size_t qw_masks_bytes(const qw_masks *masks)
{
    return qw_vocabulary_trie_bytes(&masks->all) + qw_vocabulary_trie_bytes(&masks->others) +
           masks->n_words * sizeof *masks->plain;
}

/* A key whose name may turn out to be taken needs so many bytes more than it does now. */
enum { NAME_SLACK = 2 };

qw_status qw_mask_make(const qw_masks *masks, const qw_moves *moves, uint32_t state, uint32_t *bits, uint32_t *farthest,
                       qw_error *err)
{
    bool is_free = moves->is_free_string && moves->is_free_string(moves->self, state);
    painting p = {.moves = moves, .bits = bits, .measures = farthest != NULL};

    if (is_free) memcpy(bits, masks->plain, masks->n_words * sizeof *bits);
    else memset(bits, 0, masks->n_words * sizeof *bits);
    if (is_free && farthest) p.farthest = moves->shortest(moves->self, state) + NAME_SLACK;
    QW_TRY(qw_mask_walk(is_free ? &masks->others : &masks->all, masks->tokenizer, moves, state, paint, &p, err));
    if (state != QW_STATE_DEAD) paint_special(&p, state, qw_tokenizer_n_ids(masks->tokenizer));
    if (farthest) *farthest = p.farthest;
    return QW_OK;
}
