/* SPDX-License-Identifier: MIT
 * GBNF: every grammar of fixtures/format/gbnf with the texts and tokens that it takes and does not take (llama.cpp agrees),
 * and those that are refused, each with its place.
 * Usage: test_gbnf [FIXTURES]; else $QW_FIXTURES, else tests/fixtures. */
#include "base/alloc.h"
#include "byte_vocab.h"
#include "fixture.h"
#include "format/gbnf.h"
#include "format/matcher.h"
#include "format/special_tokens.h"

static qw_tokenizer *tokenizer;
static int judged;

/* A text, or a list of texts and {"token": id}, as bytes of the language. */
static qw_buf bytes_of(const qw_json *text)
{
    qw_buf out = {0};

    if (qw_json_kind_of(text) == QW_JSON_STRING)
        CHECK_EQ(qw_buf_append(&out, qw_json_string(text), strlen(qw_json_string(text)), NULL), QW_OK);
    for (const qw_json *part = qw_json_first(text); part; part = qw_json_next(part)) {
        const qw_json *token = qw_json_get(part, "token");
        char special[QW_SPECIAL_BYTES];

        if (!token) {
            qw_buf piece = bytes_of(part);
            CHECK_EQ(qw_buf_append(&out, piece.bytes, piece.n, NULL), QW_OK);
            qw_buf_free(&piece);
            continue;
        }
        qw_special_token_bytes(special, (int32_t)qw_json_number(token));
        CHECK_EQ(qw_buf_append(&out, special, sizeof special, NULL), QW_OK);
    }
    return out;
}

static bool takes(qw_matcher *m, qw_text text)
{
    uint32_t state = qw_matcher_start(m);

    for (size_t i = 0; i < text.n && state != QW_MATCHER_DEAD; i++)
        state = qw_matcher_step(m, state, (uint8_t)text.bytes[i]);
    CHECK_EQ(qw_matcher_status(m, NULL), QW_OK);
    return state != QW_MATCHER_DEAD && qw_matcher_may_end(m, state);
}

static void check_texts(qw_matcher *m, const qw_json *line, const char *key, bool wanted)
{
    for (const qw_json *t = qw_json_first(qw_json_get(line, key)); t; t = qw_json_next(t)) {
        qw_buf bytes = bytes_of(t);
        bool taken = takes(m, (qw_text){bytes.bytes, bytes.n});

        if (taken != wanted) printf("%s: %s \"%.60s\"\n", qw_json_string(qw_json_get(line, "name")), key, bytes.bytes);
        CHECK_EQ(taken, wanted);
        judged++;
        qw_buf_free(&bytes);
    }
}

/* A matcher of the grammar, or NULL and the error. */
static qw_matcher *matcher_of(const char *text, const char *root, qw_grammar **grammar, qw_expr_pool **exprs,
                              qw_error *err)
{
    qw_matcher *m = NULL;
    qw_node start;

    CHECK_EQ(qw_expr_pool_new(exprs, 0, NULL), QW_OK);
    CHECK_EQ(qw_grammar_new(grammar, *exprs, QW_SPACE_BOUNDED, NULL), QW_OK);
    err->status = qw_gbnf_parse(*grammar, *exprs, qw_text_of(text), qw_text_of(root), tokenizer, &start, err);
    if (!err->status) err->status = qw_matcher_new(&m, *grammar, start, err);
    return m;
}

static void check_line(const qw_json *line)
{
    const char *why = qw_json_string(qw_json_get(line, "refused"));
    qw_expr_pool *exprs;
    qw_grammar *grammar;
    qw_error err = {0};
    qw_matcher *m = matcher_of(qw_json_string(qw_json_get(line, "grammar")), "root", &grammar, &exprs, &err);

    if (*why) {
        CHECK(!m);
        CHECK_EQ(err.status, QW_ERR_USAGE);
        CHECK_HAS(err.text, "grammar");
        if (!strcmp(why, "left recursion")) CHECK_HAS(err.text, "left recursion");
        if (strcmp(why, "root missing")) CHECK_HAS(err.text, "line ");
    } else {
        if (!m) printf("%s: %s\n", qw_json_string(qw_json_get(line, "name")), err.text);
        CHECK(m != NULL);
    }
    if (m) {
        check_texts(m, line, "accept", true);
        check_texts(m, line, "reject", false);
    }
    qw_matcher_free(m);
    qw_grammar_free(grammar);
    qw_expr_pool_free(exprs);
}

static void test_fixtures(void)
{
    qw_buf file = fixture_read("format/gbnf/gbnf.jsonl");

    for (char *at = file.bytes, *end; *at; at = end + (*end == '\n')) {
        qw_json *line = NULL;

        end = at + strcspn(at, "\n");
        CHECK_EQ(qw_json_parse(&line, (qw_text){at, (size_t)(end - at)}, "gbnf.jsonl", NULL), QW_OK);
        check_line(line);
        qw_json_free(line);
    }
    qw_buf_free(&file);
    CHECK(judged > 200);
}

static void check_place(const char *text, const char *place)
{
    qw_expr_pool *exprs;
    qw_grammar *grammar;
    qw_error err = {0};

    CHECK(matcher_of(text, "root", &grammar, &exprs, &err) == NULL);
    CHECK_EQ(err.status, QW_ERR_USAGE);
    CHECK_HAS(err.text, place);
    qw_grammar_free(grammar);
    qw_expr_pool_free(exprs);
}

static void test_places(void)
{
    check_place("root ::= a\na ::= \"\xc3\xa9\" b\n", "line 2, column 11");
    check_place("root ::= \"a\"\nb ::= \"x\" | b\n", "line 2, column 13");
    check_place("root ::= !<[3]> \"a\"\n", "(!<token>)*");
}

int main(int argc, char **argv)
{
    static pool vocabulary;

    fixture_init(argc, argv);
    pool_start(&vocabulary);
    tokenizer = pool_build(&vocabulary);
    CHECK(tokenizer != NULL);
    test_fixtures();
    test_places();
    qw_tokenizer_free(tokenizer);
    return check_done();
}
