/* SPDX-License-Identifier: MIT
 * The trie is walked with the matcher's states beside it. In the body of a free JSON string, where most steps of an answer
 * are, nearly all tokens are allowed and lead nowhere new: these are known beforehand, and only the others are walked. */
#include "format/mask.h"

#include "base/alloc.h"

#include <string.h>

static uint32_t expr_step(void *self, uint32_t state, uint8_t byte)
{
    return qw_expr_step(self, state, byte);
}

static bool expr_may_end(void *self, uint32_t state)
{
    return qw_expr_nullable(self, state);
}

qw_moves qw_expr_moves(qw_expr_pool *pool)
{
    return (qw_moves){pool, expr_step, expr_may_end, NULL};
}

uint32_t qw_moves_walk(const qw_moves *moves, uint32_t state, qw_text bytes)
{
    for (size_t i = 0; i < bytes.n && state != QW_STATE_DEAD; i++)
        state = moves->step(moves->self, state, (uint8_t)bytes.bytes[i]);
    return state;
}

/* A node on the way to the one at hand: the state behind it, and where its subtree ends. */
typedef struct level {
    uint32_t state, end;
} level;

/* Sets the bits of the tokens that a walk from path[0] on lives through; all of them, or those that lead to `only`. */
static void walk(const qw_vocabulary_trie *t, const qw_moves *moves, uint32_t only, uint32_t *bits, level *path)
{
    level *top = path;

    for (uint32_t node = 0; node < t->n_nodes;) {
        uint32_t state;

        while (top->end == node) top--;
        state = moves->step(moves->self, top->state, t->byte[node]);
        if (state == QW_STATE_DEAD) {
            node = t->next[node];
            continue;
        }
        for (uint32_t i = t->first[node]; i < t->first[node + 1] && (!only || state == only); i++)
            bits[t->ids[i] >> 5] |= 1u << (t->ids[i] & 31);
        *++top = (level){state, t->next[node++]};
    }
}

static qw_status begin_walk(const qw_vocabulary_trie *t, const qw_moves *moves, uint32_t state, uint32_t only,
                            uint32_t *bits, qw_error *err)
{
    level *path = qw_calloc(t->longest + 1, sizeof *path);

    if (!path) return qw_fail_memory(err, "a path of the trie", (double)(t->longest + 1) * sizeof *path);
    path[0] = (level){state, UINT32_MAX};
    if (state != QW_STATE_DEAD) walk(t, moves, only, bits, path);
    qw_free(path);
    return QW_OK;
}

/* The tokens that begin and end in the body of a free string are plain; the others get a trie of their own. */
static qw_status make_parts(qw_masks *out, const qw_tokenizer *tokenizer, qw_expr_pool *pool, qw_error *err)
{
    qw_expr body = qw_expr_any_text(pool, QW_SPELL_JSON);
    qw_moves moves = qw_expr_moves(pool);

    out->n_words = ((size_t)qw_tokenizer_n_ids(tokenizer) + 31) / 32;
    out->plain = qw_calloc(out->n_words, sizeof *out->plain);
    if (!out->plain) return qw_fail_memory(err, "the plain tokens", (double)out->n_words * sizeof *out->plain);
    QW_TRY(qw_vocabulary_trie_new(&out->all, tokenizer, NULL, err));
    QW_TRY(begin_walk(&out->all, &moves, body, body, out->plain, err));
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

qw_status qw_mask_make(const qw_masks *masks, const qw_moves *moves, uint32_t state, uint32_t *bits, qw_error *err)
{
    bool is_free = moves->is_free_string && moves->is_free_string(moves->self, state);

    if (is_free) memcpy(bits, masks->plain, masks->n_words * sizeof *bits);
    else memset(bits, 0, masks->n_words * sizeof *bits);
    return begin_walk(is_free ? &masks->others : &masks->all, moves, state, QW_STATE_DEAD, bits, err);
}
