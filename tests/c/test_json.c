/* SPDX-License-Identifier: MIT
 * json.c and jsonscan.c: what counts as JSON, typed look-ups and their errors, exact integers, and the writer. */
#include "base/alloc.h"
#include "check.h"
#include "base/json.h"
#include "base/jsonscan.h"
#include "base/pool.h"
#include "base/quote_text.h"

#include <cJSON.h>
#include <stdlib.h>

static qw_status parse(const char *text, qw_json **out, qw_error *err)
{
    return qw_json_parse(out, qw_text_of(text), "test.json", err);
}

static void test_json_valid_texts_parse(void)
{
    static const char *const texts[] = {
        "{}",
        "[]",
        " 1 ",
        "-0.5e+3",
        "\"\\u00e9\\ud83d\\ude00\\n\"",
        "true",
        "null",
        "[1,[2,{\"a\":[]}]]\n",
        "\xEF\xBB\xBF{}",
        "\xEF\xBB\xBF-7",
        "{\"a\":1,\"a\":2}",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        qw_error err = {0};
        qw_json *root;
        CHECK_EQ(parse(texts[i], &root, &err), QW_OK);
        CHECK_STR(err.text, "");
        qw_json_free(root);
    }
}

static void test_json_invalid_texts_are_format_errors_with_the_place(void)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"", "too early"},
        {"{", "too early"},
        {"{\"a\"}", "byte 4"},
        {"{\"a\":1,}", "byte 7"},
        {"[1,]", "byte 3"},
        {"01", "byte 1"},
        {"1.", "too early"},
        {"1e", "too early"},
        {"-", "too early"},
        {"+1", "byte 0"},
        {"nul", "byte 0"},
        {"{} x", "byte 3"},
        {"\"\\ud800\"", "byte 1"},
        {"\"\\udc00x\"", "byte 1"},
        {"\"\\q\"", "byte 1"},
        {"\"a\nb\"", "byte 2"},
        {"[1 2]", "byte 3"},
        {"{1:2}", "byte 1"},
        {"[}", "byte 1"},
        {"{\"a\":1]", "byte 6"},
        {"\"abc", "too early"},
        {"NaN", "byte 0"},
        {"<!DOCTYPE html>", "byte 0"},
        {"1111111111111111111111111111111111111111111111111111111111111", "60 characters"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        qw_error err = {0};
        qw_json *root;
        CHECK_EQ(parse(bad[i].text, &root, &err), QW_ERR_FORMAT);
        CHECK(root == NULL);
        CHECK_HAS(err.text, "test.json");
        CHECK_HAS(err.text, bad[i].part);
    }
}

static void test_json_nesting_is_bounded(void)
{
    char text[300];
    qw_json *root;
    qw_error err = {0};

    for (int depth = 63; depth <= 66; depth++) {
        memset(text, '[', (size_t)depth);
        memset(text + depth, ']', (size_t)depth);
        text[2 * depth] = 0;
        CHECK_EQ(parse(text, &root, &err), depth <= 64 ? QW_OK : QW_ERR_FORMAT);
        qw_json_free(root);
    }
    CHECK_HAS(err.text, "64");
}

static void test_json_every_prefix_is_an_error_without_reading_past_it(void)
{
    static const char text[] = "{\"a\":[1.5e3,\"\\u00e9\\ud83d\\ude00\",true,null],\"b\":{\"c\":-0}}";

    for (size_t n = 0; n < sizeof text - 1; n++) {
        char *copy = malloc(n ? n : 1);
        qw_json *root;
        memcpy(copy, text, n);
        CHECK_EQ(qw_json_parse(&root, (qw_text){copy, n}, "t", NULL), QW_ERR_FORMAT);
        free(copy);
    }
}

static void test_json_look_ups_check_kind_and_range(void)
{
    static const char text[] = "{\"i\":7,\"f\":1.5,\"big\":9007199254740993,\"s\":\"x\",\"b\":true,\"n\":null,\"i\":8}";
    qw_json *root;
    qw_error err = {0};
    qw_json_in in = {.what = "settings", .status = QW_ERR_USAGE, .err = &err};
    int64_t i = -1;
    double d = -1;
    bool b = false;
    const char *s = NULL;

    CHECK_EQ(parse(text, &root, &err), QW_OK);
    in.object = root;
    CHECK_EQ(qw_json_size(root), 7);
    CHECK_EQ(qw_json_get_int(&in, "i", 0, 10, &i), QW_OK);
    CHECK_EQ(i, 8); /* the last twin counts */
    CHECK_EQ(qw_json_get_int(&in, "absent", 0, 10, &i), QW_OK);
    CHECK_EQ(qw_json_get_int(&in, "n", 0, 10, &i), QW_OK);
    CHECK_EQ(i, 8);
    CHECK_EQ(qw_json_get_int(&in, "i", 9, 10, &i), QW_ERR_USAGE);
    CHECK_HAS(err.text, "settings: i must be an integer from 9 to 10, got 8");
    CHECK_EQ(qw_json_get_int(&in, "f", 0, 10, &i), QW_ERR_USAGE);
    CHECK_EQ(qw_json_get_int(&in, "big", 0, INT64_MAX, &i), QW_OK); /* rounded by cJSON to 2^53, as JSON.parse does */
    CHECK_EQ(qw_json_get_int(&in, "s", 0, 10, &i), QW_ERR_USAGE);
    CHECK_HAS(err.text, "s must be a number, got string");
    CHECK_EQ(qw_json_get_double(&in, "f", 0, 2, &d), QW_OK);
    CHECK_NEAR(d, 1.5, 0);
    CHECK_EQ(qw_json_get_double(&in, "f", 2, 3, &d), QW_ERR_USAGE);
    CHECK_EQ(qw_json_get_bool(&in, "b", &b), QW_OK);
    CHECK(b);
    CHECK_EQ(qw_json_get_bool(&in, "i", &b), QW_ERR_USAGE);
    CHECK_EQ(qw_json_get_string(&in, "s", &s), QW_OK);
    CHECK_STR(s, "x");
    CHECK(qw_json_get(root, "n") == NULL && qw_json_get(NULL, "n") == NULL);
    qw_json_free(root);
}

static void test_json_memory_failure_is_a_memory_error(void)
{
#ifdef QW_TEST_ALLOC
    static const char text[] = "{\"a\":[1,2,\"x\"],\"b\":{}}";
    int64_t live = qw_alloc_test_live();
    qw_json *root;

    for (int64_t n = 0;; n++) {
        qw_error err = {0};
        qw_status status;
        qw_alloc_test_fail(n);
        status = parse(text, &root, &err);
        qw_alloc_test_fail(-1);
        qw_json_free(root);
        CHECK_EQ(qw_alloc_test_live(), live);
        if (status == QW_OK) {
            CHECK(n > 5);
            break;
        }
        CHECK_EQ(status, QW_ERR_MEMORY);
    }
#endif
}

static void test_json_scan_keeps_integers_exact(void)
{
    uint64_t v = 0;

    CHECK(qw_scan_uint(qw_text_of("9007199254740993"), &v) && v == 9007199254740993u);
    CHECK(qw_scan_uint(qw_text_of("18446744073709551615"), &v) && v == UINT64_MAX);
    CHECK(!qw_scan_uint(qw_text_of("18446744073709551616"), &v));
    CHECK(!qw_scan_uint(qw_text_of("-4"), &v));
    CHECK(!qw_scan_uint(qw_text_of("1e3"), &v));
    CHECK(!qw_scan_uint(qw_text_of("4.0"), &v));
    CHECK(!qw_scan_uint(qw_text_of(""), &v));
}

static void test_json_unescape_gives_utf8(void)
{
    qw_buf out = {0};

    CHECK_EQ(qw_scan_unescape(&out, qw_text_of("a\\u00e9\\u20ac\\ud83d\\ude00\\t\\\\"), NULL), QW_OK);
    CHECK_EQ(qw_buf_append(&out, "", 1, NULL), QW_OK);
    CHECK_STR(out.bytes, "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80\t\\");
    qw_buf_free(&out);
}

static void test_json_writer_round_trips(void)
{
    static const double numbers[] = {0, 1, -1.5, 0.1, 1e300, 4.9406564584124654e-324, 1.0 / 3, 123456789012345678.0};
    static const char text[] = "a\"\\\n\x01\0b\xC3\xA9";
    qw_buf out = {0};

    CHECK_EQ(qw_json_write_string(&out, (qw_text){text, sizeof text - 1}, NULL), QW_OK);
    CHECK_EQ(qw_buf_append(&out, "", 1, NULL), QW_OK);
    CHECK_STR(out.bytes, "\"a\\\"\\\\\\n\\u0001\\u0000b\xC3\xA9\"");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        out.n = 0;
        CHECK_EQ(qw_json_write_number(&out, numbers[i], NULL), QW_OK);
        CHECK_EQ(qw_buf_append(&out, "", 1, NULL), QW_OK);
        CHECK_NEAR(strtod(out.bytes, NULL), numbers[i], 0);
    }
    out.n = 0;
    CHECK_EQ(qw_json_write_number(&out, strtod("nan", NULL), NULL), QW_OK);
    CHECK_EQ(qw_json_write_number(&out, -1e308 * 10, NULL), QW_OK);
    CHECK_EQ(qw_json_write_number(&out, 1e308 * 10, NULL), QW_OK);
    CHECK_EQ(qw_json_write_number(&out, 0.1, NULL), QW_OK);
    CHECK_EQ(qw_buf_append(&out, "", 1, NULL), QW_OK);
    CHECK_STR(out.bytes, "\"nan\"\"-inf\"\"inf\"0.1");
    qw_buf_free(&out);
}

static void test_json_shown_text_is_cut_between_characters(void)
{
    char shown[64], text[200];

    CHECK_STR(qw_quote_text(shown, qw_text_of("a\x01z")), "a?z");
    memset(text, 'x', sizeof text);
    memcpy(text + 59, "\xE2\x82\xAC", 3);
    CHECK_EQ(strlen(qw_quote_text(shown, (qw_text){text, sizeof text})), 61);
    CHECK_STR(shown + 58, "x..");
}

static void parse_some(void *arg, int32_t first, int32_t last, int32_t thread)
{
    bool *parsed = arg;

    (void)thread;
    for (int32_t i = first; i < last; i++) {
        qw_json *json = NULL;

        parsed[i] = parse("[1, {\"a\": \"b\"}]", &json, NULL) == QW_OK;
        qw_json_free(json);
    }
}

/* Several threads parse first at once: each in our memory, none while the hooks are half set. */
static void test_json_the_first_parses_may_come_together(void)
{
    enum { N = 64 };
    bool parsed[N] = {false};
    qw_pool *pool;
    qw_error err;
    int64_t live, made;

    if (qw_pool_new(&pool, 4, &err)) CHECK_EQ(qw_pool_new(&pool, 1, &err), QW_OK); /* a build without threads */
    live = qw_alloc_test_live();
    qw_alloc_test_fail(-1); /* counts from here */
    qw_pool_run(pool, N, 1, parse_some, parsed);
    made = qw_alloc_test_count();
    for (int i = 0; i < N; i++) CHECK(parsed[i]);
    CHECK(made >= N * 4); /* an array, two values, an object with its key and text */
    CHECK_EQ(qw_alloc_test_live(), live);
    qw_pool_free(pool);
}

static void *no_memory(size_t bytes)
{
    (void)bytes;
    return NULL;
}

/* The hooks are one place for the whole process: what a host puts there afterwards is not written over by a parse. */
static void test_json_hooks_are_set_once(void)
{
    cJSON_Hooks refusing = {no_memory, free};
    qw_json *json = NULL;
    qw_error err;

    CHECK_EQ(parse("[1]", &json, &err), QW_OK);
    qw_json_free(json);
    cJSON_InitHooks(&refusing);
    CHECK_EQ(parse("[1]", &json, &err), QW_ERR_MEMORY);
    cJSON_InitHooks(NULL);
}

int main(void)
{
    test_json_the_first_parses_may_come_together(); /* before any other */
    test_json_valid_texts_parse();
    test_json_invalid_texts_are_format_errors_with_the_place();
    test_json_nesting_is_bounded();
    test_json_every_prefix_is_an_error_without_reading_past_it();
    test_json_look_ups_check_kind_and_range();
    test_json_memory_failure_is_a_memory_error();
    test_json_scan_keeps_integers_exact();
    test_json_unescape_gives_utf8();
    test_json_writer_round_trips();
    test_json_shown_text_is_cut_between_characters();
    test_json_hooks_are_set_once(); /* after all others: it leaves cJSON the C library's memory */
    return check_done();
}
