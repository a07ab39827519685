/* SPDX-License-Identifier: MIT
 * Objects and arrays byte by byte: order and repetition of keys, counts, white space, items that are counted or must
 * differ, and that no state that lives is a dead end. */
#include "base/alloc.h"
#include "format/matcher.h"
#include "format/numbers.h"

#include "check.h"

typedef struct world {
    qw_expr_pool *exprs;
    qw_grammar *g;
    qw_node string, digit, any;
    qw_expr body;
} world;

static uint32_t dice = 99;

static uint32_t roll(uint32_t n)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 8) % n;
}

static qw_expr quoted(world *w, qw_expr body)
{
    qw_expr quote = qw_expr_literal(w->exprs, qw_text_of("\""));

    return qw_expr_concat(w->exprs, quote, qw_expr_concat(w->exprs, body, quote));
}

static world begin(qw_whitespace space)
{
    world w;

    CHECK_EQ(qw_expr_pool_new(&w.exprs, 0, NULL), QW_OK);
    CHECK_EQ(qw_grammar_new(&w.g, w.exprs, space, NULL), QW_OK);
    w.body = qw_expr_any_text(w.exprs, QW_SPELL_JSON);
    w.string = qw_grammar_text(w.g, quoted(&w, w.body));
    w.digit = qw_grammar_text(w.g, qw_expr_byte_range(w.exprs, '0', '9'));
    w.any = qw_grammar_choice(w.g, (qw_node[]){w.string, w.digit}, 2);
    return w;
}

static void end(world *w)
{
    qw_grammar_free(w->g);
    qw_expr_pool_free(w->exprs);
    CHECK_EQ(qw_alloc_test_live(), 0);
}

static qw_matcher *matcher_of(world *w, qw_node node)
{
    qw_matcher *m = NULL;

    CHECK_EQ(qw_matcher_new(&m, w->g, node, NULL), QW_OK);
    return m;
}

static bool takes(qw_matcher *m, const char *text)
{
    uint32_t state = qw_matcher_start(m);

    for (; *text && state != QW_MATCHER_DEAD; text++) state = qw_matcher_step(m, state, (uint8_t)*text);
    CHECK_EQ(qw_matcher_status(m, NULL), QW_OK);
    return state != QW_MATCHER_DEAD && qw_matcher_may_end(m, state);
}

/* Whatever is chosen, a byte leads on or the text may end. */
static void check_walks(qw_matcher *m)
{
    for (int walk = 0; walk < 40; walk++) {
        uint32_t state = qw_matcher_start(m);

        for (int n = 0; n < 120; n++) {
            uint32_t from = roll(256), next = QW_MATCHER_DEAD;

            for (uint32_t i = 0; i < 256 && next == QW_MATCHER_DEAD; i++)
                next = qw_matcher_step(m, state, (uint8_t)(from + i));
            if (next == QW_MATCHER_DEAD) {
                CHECK(qw_matcher_may_end(m, state));
                break;
            }
            state = next;
        }
    }
}

static void test_object(void)
{
    world w = begin(QW_SPACE_BOUNDED);
    qw_object_key keys[] = {{qw_text_of("a"), w.digit, true}, {qw_text_of("b"), w.string, false}};
    qw_object_others others = {w.body, w.digit};
    qw_matcher *m = matcher_of(&w, qw_grammar_object(w.g, &(qw_object_spec){keys, 2, &others, 1, 0, INT64_MAX}));

    CHECK(takes(m, "{\"a\":1}") && takes(m, "{ \"a\": 1 }") && takes(m, "{\n    \"a\": 1,\n    \"b\": \"x\"\n}"));
    CHECK(takes(m, "{\"a\":1,\"c\":2,\"\":3}"));
    CHECK(!takes(m, "{}") && !takes(m, "{\"b\":\"x\",\"a\":1}") && !takes(m, "{\"a\":1,\"a\":2}"));
    CHECK(!takes(m, "{\"a\":1,\"c\":2,\"b\":\"x\"}") && !takes(m, "{\"a\":1,\"c\":2,\"c\":2}"));
    CHECK(!takes(m, "{\"a\":1,\"c\":2,\"b\":2}") && !takes(m, "{\"a\" :1}") && !takes(m, "{\n     \"a\":1}"));
    check_walks(m);
    qw_matcher_free(m);
    end(&w);
}

static void test_key_counts(void)
{
    world w = begin(QW_SPACE_COMPACT);
    qw_object_key keys[] = {{qw_text_of("a"), w.digit, false}, {qw_text_of("b"), w.digit, false}};
    qw_expr few = qw_expr_byte_range(w.exprs, 'b', 'd');
    qw_object_others others = {few, w.digit};
    qw_matcher *m = matcher_of(&w, qw_grammar_object(w.g, &(qw_object_spec){keys, 2, &others, 1, 3, 3}));

    CHECK(takes(m, "{\"a\":1,\"b\":1,\"c\":1}") && takes(m, "{\"b\":1,\"d\":1,\"c\":1}"));
    CHECK(!takes(m, "{\"a\":1,\"b\":1}") && !takes(m, "{\"a\":1,\"b\":1,\"c\":1,\"d\":1}"));
    CHECK(!takes(m, "{\"c\":1,\"d\":1}"));
    check_walks(m);
    qw_matcher_free(m);
    CHECK_EQ(qw_matcher_new(&m, w.g, qw_grammar_object(w.g, &(qw_object_spec){keys, 2, NULL, 0, 3, 9}), NULL),
             QW_ERR_USAGE);
    end(&w);
}

static void test_arrays(void)
{
    world w = begin(QW_SPACE_COMPACT);
    qw_array_item digit = {w.digit, 0}, string = {w.string, 0}, counted[] = {{w.digit, 1}, {w.string, 0}};
    qw_array_slot prefix = {&string, 1};
    qw_array_counter two = {1, 2};
    qw_array_spec plain = {&prefix, 1, {&digit, 1}, 1, 3, NULL, 0, false};
    qw_array_spec contains = {NULL, 0, {counted, 2}, 0, 4, &two, 1, false};
    qw_array_spec unique = {NULL, 0, {&digit, 1}, 2, 10, NULL, 0, true};
    qw_matcher *m = matcher_of(&w, qw_grammar_array(w.g, &plain));

    CHECK(takes(m, "[\"\"]") && takes(m, "[\"x\",1,2]") && !takes(m, "[]") && !takes(m, "[1]") &&
          !takes(m, "[\"\",1,2,3]"));
    qw_matcher_free(m);
    m = matcher_of(&w, qw_grammar_array(w.g, &contains));
    CHECK(takes(m, "[1]") && takes(m, "[\"\",\"\",\"\",1]") && takes(m, "[1,2]"));
    CHECK(!takes(m, "[]") && !takes(m, "[\"\"]") && !takes(m, "[1,2,3]"));
    check_walks(m);
    qw_matcher_free(m);
    m = matcher_of(&w, qw_grammar_array(w.g, &unique));
    CHECK(takes(m, "[1,2]") && !takes(m, "[1,1]") && !takes(m, "[1]") && takes(m, "[0,1,2,3,4,5,6,7,8,9]"));
    check_walks(m);
    qw_matcher_free(m);
    end(&w);
}

/* Values within values; the state of a free string is one state, whatever was read. */
static void test_recursion(void)
{
    world w = begin(QW_SPACE_ANY);
    qw_node value = qw_grammar_rule(w.g);
    qw_array_item item = {value, 0};
    qw_object_others others = {w.body, value};
    qw_node array = qw_grammar_array(w.g, &(qw_array_spec){NULL, 0, {&item, 1}, 0, INT64_MAX, NULL, 0, false});
    qw_node object = qw_grammar_object(w.g, &(qw_object_spec){NULL, 0, &others, 1, 0, INT64_MAX});
    qw_matcher *m;
    uint32_t state;

    qw_grammar_define(w.g, value, qw_grammar_choice(w.g, (qw_node[]){w.any, array, object}, 3));
    m = matcher_of(&w, value);
    CHECK(takes(m, "[[],{},[{\"a\":[1,\"x\"]}]]") && takes(m, "{ \"a\" : [\t1 , 2 ] }") && !takes(m, "[[]"));
    state = qw_matcher_step(m, qw_matcher_step(m, qw_matcher_start(m), '['), '"');
    CHECK(qw_matcher_is_free_string(m, state));
    CHECK_EQ(qw_matcher_step(m, state, 'x'), state);
    CHECK(!qw_matcher_is_free_string(m, qw_matcher_start(m)));
    check_walks(m);
    qw_matcher_free(m);
    end(&w);
}

int main(void)
{
    test_object();
    test_key_counts();
    test_arrays();
    test_recursion();
    return check_done();
}
