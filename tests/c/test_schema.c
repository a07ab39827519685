/* SPDX-License-Identifier: MIT
 * schema*.c: which texts a schema takes and which not, keyword by keyword, and what is said of schemas that are refused. */
#include "base/alloc.h"
#include "check.h"
#include "format/matcher.h"
#include "format/schema.h"

/* A schema compiled, and what came of it. */
typedef struct compiled {
    qw_expr_pool *pool;
    qw_grammar *grammar;
    qw_matcher *matcher;
    qw_buf report;
    qw_error err;
    qw_status status;
} compiled;

static compiled compile(const char *schema, const qw_schema_options *options)
{
    static const qw_schema_options none;
    compiled s = {0};
    qw_node start;

    CHECK_EQ(qw_expr_pool_new(&s.pool, 0, &s.err), QW_OK);
    CHECK_EQ(qw_grammar_new(&s.grammar, s.pool, QW_SPACE_BOUNDED, &s.err), QW_OK);
    s.status =
        qw_schema_compile(s.grammar, s.pool, qw_text_of(schema), options ? options : &none, &start, &s.report, &s.err);
    if (!s.status) s.status = qw_matcher_new(&s.matcher, s.grammar, start, &s.err);
    return s;
}

static void drop(compiled *s)
{
    qw_matcher_free(s->matcher);
    qw_grammar_free(s->grammar);
    qw_expr_pool_free(s->pool);
    qw_buf_free(&s->report);
}

static bool accepts(compiled *s, const char *text)
{
    uint32_t state = qw_matcher_start(s->matcher);

    for (; *text && state != QW_MATCHER_DEAD; text++) state = qw_matcher_step(s->matcher, state, (uint8_t)*text);
    return state != QW_MATCHER_DEAD && qw_matcher_may_end(s->matcher, state);
}

/* texts: those that meet the schema, NULL, those that do not, NULL. */
static void check_texts(const char *schema, const char *const *texts)
{
    compiled s = compile(schema, NULL);
    bool wanted = true;

    CHECK_EQ(s.status, QW_OK);
    if (s.status) printf("  %s: %s\n", schema, s.err.text);
    for (int seen = 0; !s.status && seen < 2; texts++) {
        if (!*texts) {
            seen++;
            wanted = false;
        } else if (accepts(&s, *texts) != wanted) {
            CHECK_STR(*texts, wanted ? "accepted" : "refused");
            printf("  by %s\n", schema);
        } else {
            CHECK(true);
        }
    }
    drop(&s);
}
#define CHECK_TEXTS(schema, ...) check_texts(schema, (const char *const[]){__VA_ARGS__, NULL})

static void test_scalars(void)
{
    CHECK_TEXTS("{\"type\":[\"integer\",\"null\"],\"minimum\":3}", "3", "17", "null", NULL, "2", "3.0", "true",
                "\"3\"");
    CHECK_TEXTS("{\"enum\":[\"a\\\"b\",1.0,null,[1]]}", "\"a\\\"b\"", "1", "null", "[1]", NULL, "1.0", "\"a\"", "[2]");
    CHECK_TEXTS("{\"type\":\"string\",\"minLength\":2,\"maxLength\":3,\"pattern\":\"^a\"}", "\"ab\"", "\"a\xC3\xA9z\"",
                NULL, "\"a\"", "\"abcd\"", "\"ba\"");
    CHECK_TEXTS("{\"type\":\"number\",\"multipleOf\":0.01,\"exclusiveMaximum\":1}", "0.07", "-3", NULL, "1", "0.075");
    CHECK_TEXTS("{\"type\":\"string\",\"format\":\"date\"}", "\"2024-02-29\"", NULL, "\"2023-02-29\"", "\"x\"");
    CHECK_TEXTS("{\"$schema\":\"http://json-schema.org/draft-04/schema#\",\"type\":\"integer\",\"minimum\":1,"
                "\"exclusiveMinimum\":true}",
                "2", NULL, "1");
}

static void test_logic(void)
{
    CHECK_TEXTS("{\"type\":\"integer\",\"oneOf\":[{\"minimum\":1},{\"maximum\":5}]}", "0", "6", NULL, "1", "5");
    CHECK_TEXTS("{\"not\":{\"type\":[\"string\",\"integer\",\"array\",\"object\"]}}", "null", "true", "1.5", NULL, "1",
                "1.0", "\"\"", "{}");
    CHECK_TEXTS("{\"type\":\"string\",\"not\":{\"const\":\"a\"}}", "\"b\"", "\"\"", NULL, "\"a\"");
    CHECK_TEXTS("{\"type\":\"integer\",\"if\":{\"minimum\":10},\"then\":{\"multipleOf\":10},\"else\":{\"minimum\":5}}",
                "7", "20", NULL, "4", "15");
    CHECK_TEXTS("{\"allOf\":[{\"type\":\"object\",\"properties\":{\"a\":{\"minimum\":1}}},"
                "{\"properties\":{\"a\":{\"type\":\"integer\",\"maximum\":2}},\"required\":[\"a\"]}]}",
                "{\"a\":1}", "{\"a\":2,\"b\":null}", NULL, "{\"a\":3}", "{}", "{\"a\":1.5}");
}

static void test_objects(void)
{
    CHECK_TEXTS("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"null\"},\"b\":{\"type\":\"null\"}},"
                "\"required\":[\"b\"],"
                "\"additionalProperties\":false}",
                "{\"b\":null}", "{ \"a\": null, \"b\": null }", NULL, "{\"a\":null}", "{\"b\":null,\"c\":null}", "{}");
    CHECK_TEXTS("{\"type\":\"object\",\"patternProperties\":{\"^x\":{\"type\":\"null\"}},\"additionalProperties\":"
                "{\"type\":\"boolean\"},\"maxProperties\":2}",
                "{}", "{\"xa\":null,\"b\":true}", NULL, "{\"xa\":true}", "{\"b\":null}",
                "{\"a\":true,\"b\":true,\"c\":true}");
    CHECK_TEXTS("{\"type\":\"object\",\"propertyNames\":{\"maxLength\":1}}", "{\"a\":1}", NULL, "{\"ab\":1}");
    CHECK_TEXTS("{\"type\":\"object\",\"properties\":{\"a\":{},\"b\":{}},\"dependentRequired\":{\"a\":[\"b\"]},"
                "\"additionalProperties\":false}",
                "{}", "{\"b\":1}", "{\"a\":1,\"b\":1}", NULL, "{\"a\":1}");
    CHECK_TEXTS("{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"null\"}},\"not\":{\"required\":[\"a\"]}}", "{}",
                "{\"b\":1}", NULL, "{\"a\":null}");
}

static void test_arrays(void)
{
    CHECK_TEXTS(
        "{\"type\":\"array\",\"prefixItems\":[{\"type\":\"null\"}],\"items\":{\"type\":\"integer\"},\"minItems\":2,"
        "\"maxItems\":3}",
        "[null,1]", "[null, 1, 2]", NULL, "[null]", "[1,1]", "[null,1,2,3]");
    CHECK_TEXTS("{\"type\":\"array\",\"items\":{\"type\":\"integer\"},\"contains\":{\"minimum\":5},\"maxContains\":1}",
                "[1,5]", "[7]", NULL, "[]", "[1]", "[5,6]");
    CHECK_TEXTS("{\"type\":\"array\",\"items\":{\"type\":\"boolean\"},\"uniqueItems\":true}", "[]", "[true,false]",
                NULL, "[true,true]");
}

/* A list under items and dependencies are older than 2020-12; without $schema they mean what they meant. */
static void test_older_keywords(void)
{
    CHECK_TEXTS("{\"type\":\"array\",\"items\":[{\"type\":\"null\"}],\"additionalItems\":false}", "[]", "[null]", NULL,
                "[1]", "[null,1]");
    CHECK_TEXTS("{\"type\":\"object\",\"dependencies\":{\"a\":[\"b\"]}}", "{}", "{\"b\":1}", NULL, "{\"a\":1}");
}

static void test_references(void)
{
    CHECK_TEXTS("{\"$ref\":\"#/$defs/"
                "tree\",\"$defs\":{\"tree\":{\"type\":\"object\",\"properties\":{\"v\":{\"type\":\"integer\"},"
                "\"next\":{\"$ref\":\"#/$defs/tree\"}},\"required\":[\"v\"],\"additionalProperties\":false}}}",
                "{\"v\":1}", "{\"v\":1,\"next\":{\"v\":2}}", NULL, "{\"v\":1,\"next\":{}}", "{\"next\":{\"v\":1}}");
    CHECK_TEXTS("{\"$ref\":\"#here\",\"$defs\":{\"a\":{\"$anchor\":\"here\",\"type\":\"null\"}}}", "null", NULL, "1");
    CHECK_TEXTS("{\"type\":\"null\",\"allOf\":[{\"$ref\":\"#\"}]}", "null", NULL, "1");
}

static void check_refused(const char *schema, const char *part)
{
    compiled s = compile(schema, NULL);

    CHECK_EQ(s.status, QW_ERR_USAGE);
    CHECK_HAS(s.err.text, part);
    drop(&s);
}

static void test_refusals_name_place_and_reason(void)
{
    check_refused("{\"type\":\"string\",\"minLength\":2,\"maxLength\":1}", "no value meets the schema");
    check_refused("{\"type\":\"string\",\"const\":1}", "no value meets the schema");
    check_refused("{\"properties\":{\"a/b\":{\"$ref\":\"http://example.com/x\"}}}", "/properties/a~1b/$ref");
    check_refused("{\"type\":\"string\",\"pattern\":\"(?=a)\"}", "/pattern");
    check_refused("{\"type\":\"array\",\"items\":{\"type\":\"number\"},\"uniqueItems\":true}", "uniqueItems");
    check_refused("{\"type\":", "JSON");
    check_refused("[]", "a schema must be");
}

static void test_report_lists_all(void)
{
    static const char schema[] = "{\"properties\":{\"a\":{\"$ref\":\"#/nowhere\"},\"b\":{\"format\":\"regex\"},"
                                 "\"c\":{\"format\":\"of our own\"}}}";
    qw_schema_options lenient = {.lenient = true};
    compiled s = compile(schema, NULL);

    CHECK_EQ(s.status, QW_ERR_USAGE);
    CHECK(s.report.n > 0);
    CHECK_EQ(qw_buf_append(&s.report, "", 1, NULL), QW_OK);
    CHECK_HAS(s.report.bytes, "{\"ok\":false");
    CHECK_HAS(s.report.bytes, "{\"pointer\":\"/properties/a/$ref\",\"keyword\":\"$ref\"");
    CHECK_HAS(s.report.bytes, "{\"pointer\":\"/properties/b/format\",\"keyword\":\"format\"");
    CHECK_HAS(s.report.bytes, "/properties/c/format: ");
    drop(&s);
    s = compile(schema, &lenient);
    CHECK_EQ(s.status, QW_OK);
    CHECK_EQ(qw_buf_append(&s.report, "", 1, NULL), QW_OK);
    CHECK_HAS(s.report.bytes, "{\"ok\":true");
    CHECK_HAS(s.report.bytes, "/properties/a/$ref: ");
    drop(&s);
}

int main(void)
{
    test_scalars();
    test_logic();
    test_objects();
    test_arrays();
    test_older_keywords();
    test_references();
    test_refusals_name_place_and_reason();
    test_report_lists_all();
    CHECK_EQ(qw_alloc_test_live(), 0);
    return check_done();
}
