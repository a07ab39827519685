/* SPDX-License-Identifier: MIT
 * Expressions against a twin that knows nothing of derivatives: random trees of all constructors, every text of up to five
 * letters, what is shortest and what is void. Then characters, counters, and decimal numbers by hand. */
#include "base/alloc.h"
#include "format/decimals.h"
#include "format/expression.h"

#include "check.h"

enum { LETTERS = 3, LONGEST = 5, N_TREES = 1500, N_NODES = 24 };

static uint32_t dice = 12345;

static uint32_t roll(uint32_t n)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 8) % n;
}

typedef enum tree_kind { T_EMPTY, T_SET, T_CONCAT, T_OR, T_AND, T_NOT, T_REPEAT } tree_kind;

typedef struct tree {
    tree_kind kind;
    int a, b;
    uint32_t min, max, set;
} tree;

static tree trees[N_NODES];
static int8_t known[N_NODES][LONGEST + 1][LONGEST + 1];
static const char *subject;

static bool takes(int t, int from, int to);

/* Whether from..to is n pieces of t, n from min to max; pieces after the first `min` are not empty. */
static bool takes_times(int t, int from, int to, uint32_t min, uint32_t max)
{
    if (from == to && min == 0) return true;
    if (max == 0) return false;
    for (int at = min ? from : from + 1; at <= to; at++) {
        uint32_t left = max == QW_EXPR_UNBOUNDED ? max : max - 1;

        if (takes(t, from, at) && takes_times(t, at, to, min ? min - 1 : 0, left)) return true;
    }
    return false;
}

static bool takes_new(const tree *t, int from, int to)
{
    switch (t->kind) {
    case T_EMPTY:
        return from == to;
    case T_SET:
        return to == from + 1 && t->set >> (subject[from] - 'a') & 1;
    case T_CONCAT:
        for (int at = from; at <= to; at++)
            if (takes(t->a, from, at) && takes(t->b, at, to)) return true;
        return false;
    case T_OR:
        return takes(t->a, from, to) || takes(t->b, from, to);
    case T_AND:
        return takes(t->a, from, to) && takes(t->b, from, to);
    case T_NOT:
        return !takes(t->a, from, to);
    case T_REPEAT:
        return takes_times(t->a, from, to, t->min, t->max);
    }
    return false;
}

static bool takes(int t, int from, int to)
{
    int8_t *k = &known[t][from][to];

    if (!*k) *k = takes_new(&trees[t], from, to) ? 1 : -1;
    return *k > 0;
}

static qw_expr make_tree(qw_expr_pool *pool, qw_expr *ids, int n)
{
    for (int i = 0; i < n; i++) {
        tree *t = &trees[i];
        qw_byte_set set = {{0}};

        *t = (tree){.kind = i < 3 ? T_SET : (tree_kind)roll(7), .set = roll(7) + 1, .min = roll(4)};
        t->max = roll(4) == 0 ? QW_EXPR_UNBOUNDED : t->min + roll(3);
        if (i) {
            t->a = (int)roll((uint32_t)i);
            t->b = (int)roll((uint32_t)i);
        }
        for (unsigned c = 0; c < LETTERS; c++)
            if (t->set >> c & 1) qw_byte_set_add(&set, (uint8_t)('a' + c));
        if (t->kind == T_EMPTY) ids[i] = QW_EXPR_EMPTY;
        else if (t->kind == T_SET) ids[i] = qw_expr_bytes(pool, &set);
        else if (t->kind == T_CONCAT) ids[i] = qw_expr_concat(pool, ids[t->a], ids[t->b]);
        else if (t->kind == T_OR) ids[i] = qw_expr_or2(pool, ids[t->a], ids[t->b]);
        else if (t->kind == T_AND) ids[i] = qw_expr_and2(pool, ids[t->a], ids[t->b]);
        else if (t->kind == T_NOT) ids[i] = qw_expr_not(pool, ids[t->a]);
        else ids[i] = qw_expr_repeat(pool, ids[t->a], t->min, t->max);
    }
    return ids[n - 1];
}

static void test_random(void)
{
    int64_t wrong = 0, short_wrong = 0, dead = 0;

    for (int i = 0; i < N_TREES; i++) {
        qw_expr_pool *pool;
        qw_expr ids[N_NODES], id;
        uint32_t shortest = UINT32_MAX, told;
        int n = 4 + (int)roll(N_NODES - 4);

        CHECK_EQ(qw_expr_pool_new(&pool, 0, NULL), QW_OK);
        id = make_tree(pool, ids, n);
        for (uint32_t code = 0, length = 0, many = 1; length <= LONGEST; code++) {
            char text[LONGEST + 1] = {0};
            bool wanted;

            if (code == many) {
                code = 0;
                many *= LETTERS;
                if (++length > LONGEST) break;
            }
            for (uint32_t k = 0, rest = code; k < length; k++, rest /= LETTERS) text[k] = (char)('a' + rest % LETTERS);
            memset(known, 0, sizeof known);
            subject = text;
            wanted = takes(n - 1, 0, (int)length);
            if (wanted && length < shortest) shortest = length;
            wrong += qw_expr_accepts(pool, id, (qw_text){text, length}) != wanted;
        }
        told = qw_expr_shortest(
            pool, qw_expr_and2(pool, id, qw_expr_repeat(pool, qw_expr_byte_range(pool, 'a', 'c'), 0, 99)));
        short_wrong += told <= LONGEST || shortest <= LONGEST ? told != shortest : false;
        dead += told == UINT32_MAX;
        CHECK_EQ(qw_expr_status(pool, NULL), QW_OK);
        qw_expr_pool_free(pool);
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(short_wrong, 0);
    CHECK(dead > N_TREES / 100);
}

static void test_laws(void)
{
    qw_expr_pool *pool;
    qw_expr a, b, ab, many;

    CHECK_EQ(qw_expr_pool_new(&pool, 0, NULL), QW_OK);
    a = qw_expr_literal(pool, qw_text_of("a"));
    b = qw_expr_literal(pool, qw_text_of("b"));
    ab = qw_expr_concat(pool, a, b);
    CHECK_EQ(ab, qw_expr_literal(pool, qw_text_of("ab")));
    CHECK_EQ(qw_expr_or2(pool, ab, qw_expr_or2(pool, a, ab)), qw_expr_or2(pool, a, ab));
    CHECK_EQ(qw_expr_not(pool, qw_expr_not(pool, ab)), ab);
    many = qw_expr_repeat(pool, a, 0, QW_EXPR_UNBOUNDED);
    CHECK_EQ(qw_expr_repeat(pool, many, 0, QW_EXPR_UNBOUNDED), many);
    CHECK_EQ(qw_expr_repeat(pool, qw_expr_or2(pool, a, QW_EXPR_EMPTY), 3, 5), qw_expr_repeat(pool, a, 0, 5));
    CHECK_EQ(qw_expr_repeat(pool, qw_expr_repeat(pool, a, 2, 2), 3, 3), qw_expr_repeat(pool, a, 6, 6));
    CHECK(qw_expr_repeat(pool, qw_expr_repeat(pool, a, 2, 2), 0, 3) != qw_expr_repeat(pool, a, 0, 6));
    CHECK_EQ(qw_expr_concat(pool, qw_expr_repeat(pool, a, 0, 1), qw_expr_repeat(pool, a, 1, 4)),
             qw_expr_repeat(pool, a, 1, 5));
    CHECK_EQ(qw_expr_minus(pool, ab, ab), QW_EXPR_NONE);
    CHECK_EQ(qw_expr_and2(pool, many, QW_EXPR_EMPTY), QW_EXPR_EMPTY);
    CHECK(qw_expr_is_void(pool, qw_expr_and2(pool, qw_expr_repeat(pool, ab, 1, 9), many)));
    qw_expr_pool_free(pool);
}

/* A million characters are one counter: few nodes, and the end is known without walking there. */
static void test_counters(void)
{
    qw_expr_pool *pool;
    qw_expr any, id, letters;
    qw_byte_set set;

    CHECK_EQ(qw_expr_pool_new(&pool, 0, NULL), QW_OK);
    any = qw_expr_any_char(pool, QW_SPELL_JSON);
    id = qw_expr_repeat(pool, any, 1, 1000000);
    letters = qw_expr_repeat(pool, qw_expr_byte_range(pool, 'a', 'z'), 0, QW_EXPR_UNBOUNDED);
    CHECK_EQ(qw_expr_shortest(pool, id), 1);
    CHECK(qw_expr_accepts(pool, id, qw_text_of("\xc3\xa9\\n\\u001f")));
    CHECK(!qw_expr_accepts(pool, id, qw_text_of("")));
    id = qw_expr_and2(pool, qw_expr_repeat(pool, any, 1000, 2000), letters);
    CHECK_EQ(qw_expr_shortest(pool, id), 1000);
    qw_expr_first_bytes(pool, id, &set);
    CHECK(qw_byte_set_has(&set, 'q') && !qw_byte_set_has(&set, '\\') && !qw_byte_set_has(&set, 0xC3));
    id = qw_expr_and2(pool, qw_expr_repeat(pool, any, 0, 4), qw_expr_literal(pool, qw_text_of("abcde")));
    CHECK(qw_expr_is_void(pool, id));
    CHECK_EQ(qw_expr_step(pool, id, 'a'), QW_EXPR_NONE);
    CHECK(qw_expr_pool_bytes(pool) < 1 << 20);
    CHECK_EQ(qw_expr_status(pool, NULL), QW_OK);
    qw_expr_pool_free(pool);
}

static void test_characters(void)
{
    static const qw_char_range greek[] = {{0x370, 0x3FF}, {0x1F00, 0x1FFF}, {0x1F600, 0x1F64F}};
    qw_expr_pool *pool;
    qw_expr raw, json, chars;

    CHECK_EQ(qw_expr_pool_new(&pool, 0, NULL), QW_OK);
    raw = qw_expr_any_text(pool, QW_SPELL_RAW);
    json = qw_expr_any_text(pool, QW_SPELL_JSON);
    CHECK(qw_expr_accepts(pool, raw, qw_text_of("a\n\"\xe2\x82\xac\xf0\x9f\x98\x80")));
    for (int i = 0; i < 3; i++) /* overlong forms */
        CHECK_EQ(qw_expr_walk(pool, raw, qw_text_of(i == 0 ? "\xc1" : i == 1 ? "\xe0\x9f" : "\xf0\x8f")), QW_EXPR_NONE);
    CHECK(qw_expr_accepts(pool, raw, qw_text_of("\xc2\x80\xe0\xa0\x80\xf0\x90\x80\x80\xed\x9f\xbf\xf4\x8f\xbf\xbf")));
    CHECK_EQ(qw_expr_walk(pool, raw, qw_text_of("\xed\xa0")), QW_EXPR_NONE); /* a surrogate */
    CHECK_EQ(qw_expr_walk(pool, raw, qw_text_of("\xf4\x90")), QW_EXPR_NONE); /* above U+10FFFF */
    CHECK(qw_expr_accepts(pool, json, qw_text_of("\\\"\\\\\\b\\t\\n\\f\\r\\u0000\\u001f/\x7f")));
    CHECK_EQ(qw_expr_walk(pool, json, qw_text_of("\\u000a")), QW_EXPR_NONE); /* \n is its spelling */
    CHECK_EQ(qw_expr_walk(pool, json, qw_text_of("\\u001F")), QW_EXPR_NONE);
    CHECK_EQ(qw_expr_walk(pool, json, qw_text_of("\\/")), QW_EXPR_NONE);
    CHECK_EQ(qw_expr_walk(pool, json, qw_text_of("\"")), QW_EXPR_NONE);
    CHECK_EQ(qw_expr_walk(pool, json, qw_text_of("ab\\n\xe2\x82\xac")), json);
    chars = qw_expr_chars(pool, greek, 3, QW_SPELL_RAW);
    CHECK(qw_expr_accepts(pool, chars, qw_text_of("\xce\xb1")) &&
          qw_expr_accepts(pool, chars, qw_text_of("\xf0\x9f\x98\x80")));
    CHECK(!qw_expr_accepts(pool, chars, qw_text_of("\xd0\x90")));
    CHECK(qw_expr_accepts(pool, qw_expr_text(pool, qw_text_of("\x01\"\xc3\xa9"), QW_SPELL_JSON),
                          qw_text_of("\\u0001\\\"\xc3\xa9")));
    /* what is whole characters dissolves in all text */
    CHECK_EQ(
        qw_expr_or2(pool, json, qw_expr_concat(pool, json, qw_expr_text(pool, qw_text_of("\xc3\xa9"), QW_SPELL_JSON))),
        json);
    qw_expr_pool_free(pool);
}

static bool number(qw_expr_pool *pool, const qw_decimal_spec *spec, const char *text)
{
    return qw_expr_accepts(pool, qw_expr_decimal(pool, spec), qw_text_of(text));
}

static void test_decimals(void)
{
    qw_i128 unit = (qw_i128)qw_decimal_power(17), huge = (qw_i128)qw_decimal_power(37);
    qw_decimal_spec all = {-huge, huge, 1, false}, whole = {-huge, huge, 1, true};
    qw_decimal_spec positive = {1, unit, 1, false}, sevens = {-huge, huge, 7 * (qw_u128)unit, true};
    qw_decimal_spec quarters = {-3 * unit / 2, 2 * unit, (qw_u128)unit / 4, false};
    qw_expr_pool *pool;
    qw_expr id;

    CHECK_EQ(qw_expr_pool_new(&pool, 0, NULL), QW_OK);
    CHECK(number(pool, &all, "0") && number(pool, &all, "-0.5") &&
          number(pool, &all, "9999999999999999999.00000000000000001"));
    CHECK(!number(pool, &all, "-0") && !number(pool, &all, "01") && !number(pool, &all, "1.") &&
          !number(pool, &all, "-0.0"));
    CHECK(!number(pool, &all, "10000000000000000000") && !number(pool, &all, "0.000000000000000001"));
    CHECK(number(pool, &whole, "-12") && !number(pool, &whole, "1.0"));
    CHECK(number(pool, &positive, "0.00000000000000001") && number(pool, &positive, "1.0") &&
          !number(pool, &positive, "0"));
    id = qw_expr_decimal(pool, &positive);
    CHECK_EQ(qw_expr_walk(pool, id, qw_text_of("0.00000000000000000")), QW_EXPR_NONE);
    CHECK_EQ(qw_expr_walk(pool, id, qw_text_of("1.01")), QW_EXPR_NONE);
    CHECK_EQ(qw_expr_shortest(pool, qw_expr_walk(pool, id, qw_text_of("0"))), 2);
    for (int i = 0; i < 100000; i += 997) {
        char text[16];

        snprintf(text, sizeof text, "%d", i);
        CHECK_EQ(number(pool, &sevens, text), i % 7 == 0);
    }
    CHECK(number(pool, &quarters, "1.25") && number(pool, &quarters, "-1.50") && !number(pool, &quarters, "2.25"));
    CHECK_EQ(qw_expr_walk(pool, qw_expr_decimal(pool, &quarters), qw_text_of("1.3")), QW_EXPR_NONE);
    CHECK_EQ(qw_expr_and2(pool, qw_expr_decimal(pool, &all), qw_expr_decimal(pool, &whole)),
             qw_expr_decimal(pool, &whole));
    qw_expr_pool_free(pool);
}

/* Limits are errors by name, and stay until they are cleared. */
static void test_limits(void)
{
    qw_expr_pool *pool;
    qw_error err;
    qw_expr id;

    CHECK_EQ(qw_expr_pool_new(&pool, 16384, NULL), QW_OK);
    id = QW_EXPR_EMPTY;
    for (unsigned i = 0; i < 1000; i++)
        id = qw_expr_concat(pool, qw_expr_byte_range(pool, (uint8_t)i, (uint8_t)(i + 9)), id);
    CHECK_EQ(qw_expr_status(pool, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "memory");
    CHECK_EQ(id, QW_EXPR_NONE);
    qw_expr_clear(pool);
    CHECK_EQ(qw_expr_status(pool, &err), QW_OK);
    qw_expr_pool_free(pool);
    CHECK_EQ(qw_expr_pool_new(&pool, 0, NULL), QW_OK);
    CHECK_EQ(qw_expr_repeat(pool, qw_expr_literal(pool, qw_text_of("a")), UINT32_MAX - 1, UINT32_MAX), QW_EXPR_NONE);
    CHECK_EQ(qw_expr_status(pool, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "2^31");
    qw_expr_pool_free(pool);
}

static void test_memory(void)
{
    for (int64_t n = 0; n < 60; n++) {
        qw_expr_pool *pool = NULL;

        qw_alloc_test_fail(n);
        if (qw_expr_pool_new(&pool, 0, NULL) == QW_OK) {
            qw_expr id = qw_expr_any_text(pool, QW_SPELL_JSON);

            qw_expr_is_void(pool, qw_expr_minus(pool, id, qw_expr_text(pool, qw_text_of("name"), QW_SPELL_JSON)));
            CHECK(!qw_expr_status(pool, NULL) || qw_expr_status(pool, NULL) == QW_ERR_MEMORY);
        }
        qw_alloc_test_fail(-1);
        qw_expr_pool_free(pool);
        CHECK_EQ(qw_alloc_test_live(), 0);
    }
}

int main(void)
{
    test_laws();
    test_random();
    test_counters();
    test_characters();
    test_decimals();
    test_limits();
    test_memory();
    return check_done();
}
