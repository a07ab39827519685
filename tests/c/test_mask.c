/* SPDX-License-Identifier: MIT
 * Masks against every token tried alone: random vocabularies, states of some languages, and the body of a free JSON string
 * by the short way and by the long one. */
#include "base/alloc.h"
#include "format/mask.h"

#include "byte_vocab.h"

enum { N_WORDS = 220, WORD_MAX = 7, WORDS = (POOL + 31) / 32 };

static uint32_t dice = 7;

static uint32_t roll(uint32_t n)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 8) % n;
}

/* All bytes, and words of what JSON is made of: quotes, escapes, halves of characters. */
static qw_tokenizer *random_vocabulary(void)
{
    static const char letters[] = "ab\"\\{}[]:, 01\n\xc3\xa9\xf0\x9f\x98\x80n";
    static pool p;

    pool_start(&p);
    for (int i = 0; i < N_WORDS; i++) {
        char word[WORD_MAX];
        uint32_t n = 2 + roll(WORD_MAX - 1);

        for (uint32_t k = 0; k < n; k++) word[k] = letters[roll(sizeof letters - 1)];
        pool_add(&p, word, n, QW_TOKEN_NORMAL);
    }
    pool_add(&p, "<|end|>", 7, QW_TOKEN_CONTROL);
    return pool_build(&p);
}

static bool has(const uint32_t *bits, int32_t id)
{
    return bits[id >> 5] >> (id & 31) & 1;
}

/* The mask of a state has the tokens that it takes, one by one, and no other. Returns how many. */
static int check_mask(const qw_masks *masks, const qw_tokenizer *t, const qw_moves *moves, uint32_t state)
{
    uint32_t bits[WORDS];
    int wrong = 0, n = 0;

    memset(bits, 0xFF, sizeof bits);
    CHECK_EQ(qw_mask_make(masks, moves, state, bits, NULL, NULL), QW_OK);
    for (int32_t id = 0; id < qw_tokenizer_n_ids(t); id++) {
        bool ordinary = qw_tokenizer_type(t, id) == QW_TOKEN_NORMAL;
        bool wanted = ordinary && qw_moves_walk(moves, state, qw_tokenizer_token_bytes(t, id)) != QW_STATE_DEAD;

        wrong += has(bits, id) != wanted;
        n += wanted;
    }
    CHECK_EQ(wrong, 0);
    return n;
}

/* A JSON string of at most ten characters, one of any length, and a number, in every state that a random walk comes by. */
static void test_masks_are_those_of_every_token_alone(void)
{
    qw_tokenizer *t = random_vocabulary();
    qw_expr_pool *exprs = NULL;
    qw_masks masks;
    qw_moves moves;
    qw_expr quote, languages[3];

    CHECK_EQ(qw_expr_pool_new(&exprs, 0, NULL), QW_OK);
    CHECK_EQ(qw_masks_new(&masks, t, NULL), QW_OK);
    moves = qw_expr_moves(exprs);
    quote = qw_expr_literal(exprs, qw_text_of("\""));
    languages[0] = qw_expr_repeat(exprs, qw_expr_any_char(exprs, QW_SPELL_JSON), 2, 10);
    languages[1] = qw_expr_any_text(exprs, QW_SPELL_JSON);
    languages[2] = qw_expr_repeat(exprs, qw_expr_byte_range(exprs, '0', '9'), 1, QW_EXPR_UNBOUNDED);
    for (int i = 0; i < 3; i++) {
        qw_expr start = qw_expr_concat(exprs, quote, qw_expr_concat(exprs, languages[i], quote));

        for (int round = 0; round < 20; round++) {
            uint32_t state = start;
            for (int step = 0; step < 12 && state != QW_STATE_DEAD; step++) {
                int n = check_mask(&masks, t, &moves, state);
                CHECK(n > 0 || qw_expr_nullable(exprs, state));
                for (int tries = 0; tries < 400; tries++) {
                    int32_t id = (int32_t)roll((uint32_t)qw_tokenizer_n_ids(t));
                    uint32_t next = qw_moves_walk(&moves, state, qw_tokenizer_token_bytes(t, id));
                    if (next == QW_STATE_DEAD) continue;
                    state = next;
                    break;
                }
            }
        }
    }
    CHECK_EQ(check_mask(&masks, t, &moves, QW_STATE_DEAD), 0);
    CHECK_EQ(qw_expr_status(exprs, NULL), QW_OK);
    qw_masks_free(&masks);
    qw_expr_pool_free(exprs);
    qw_tokenizer_free(t);
}

static qw_expr free_body;

static bool is_free(void *self, uint32_t state)
{
    (void)self;
    return state == free_body;
}

static void test_a_free_string_is_masked_alike_by_the_short_way(void)
{
    qw_tokenizer *t = random_vocabulary();
    qw_expr_pool *exprs = NULL;
    qw_masks masks;
    qw_moves moves;
    qw_expr body, quote;

    CHECK_EQ(qw_expr_pool_new(&exprs, 0, NULL), QW_OK);
    CHECK_EQ(qw_masks_new(&masks, t, NULL), QW_OK);
    body = qw_expr_any_text(exprs, QW_SPELL_JSON);
    quote = qw_expr_literal(exprs, qw_text_of("\""));
    moves = qw_expr_moves(exprs);
    moves.is_free_string = is_free;
    free_body = qw_expr_concat(exprs, body, quote);
    CHECK(check_mask(&masks, t, &moves, free_body) > 100);
    CHECK(masks.others.n_ids > 0 && masks.others.n_ids < masks.all.n_ids);
    CHECK(qw_masks_bytes(&masks) > (size_t)masks.all.n_nodes * 9);
    qw_masks_free(&masks);
    qw_expr_pool_free(exprs);
    qw_tokenizer_free(t);
}

static void test_without_memory_nothing_is_left_behind(void)
{
    qw_tokenizer *t = random_vocabulary();
    int64_t live = qw_alloc_test_live();

    for (int64_t n = 0; n < 20; n++) {
        qw_masks masks;
        qw_status status;

        qw_alloc_test_fail(n);
        status = qw_masks_new(&masks, t, NULL);
        qw_alloc_test_fail(-1);
        CHECK(status == QW_OK || status == QW_ERR_MEMORY);
        if (!status) qw_masks_free(&masks);
        CHECK_EQ(qw_alloc_test_live(), live);
    }
    qw_tokenizer_free(t);
}

int main(void)
{
    test_masks_are_those_of_every_token_alone();
    test_a_free_string_is_masked_alike_by_the_short_way();
    test_without_memory_nothing_is_left_behind();
    return check_done();
}
