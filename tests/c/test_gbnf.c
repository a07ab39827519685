/* SPDX-License-Identifier: MIT
 * GBNF: every grammar of fixtures/format/gbnf with the texts and tokens that it takes and does not take (llama.cpp agrees),
 * and those that are refused, each with its place.
 * Usage: test_gbnf [FIXTURES]; else $QW_FIXTURES, else tests/fixtures. */
#include "base/alloc.h"
#include "byte_vocab.h"
#include "fixture.h"
#include "format/gbnf.h"
#include "format/special_tokens.h"

static qw_tokenizer *tokenizer;
static int nested, judged;

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

static void check_texts(qw_expr_pool *exprs, qw_expr id, const qw_json *line, const char *key, bool wanted)
{
    for (const qw_json *t = qw_json_first(qw_json_get(line, key)); t; t = qw_json_next(t)) {
        qw_buf bytes = bytes_of(t);
        bool taken = qw_expr_accepts(exprs, id, (qw_text){bytes.bytes, bytes.n});

        if (taken != wanted)
            printf("%s: %s \"%.*s\"\n", qw_json_string(qw_json_get(line, "name")), key, (int)bytes.n, bytes.bytes);
        CHECK_EQ(taken, wanted);
        judged++;
        qw_buf_free(&bytes);
    }
}

static void check_line(const qw_json *line)
{
    const char *why = qw_json_string(qw_json_get(line, "refused"));
    qw_text text = qw_text_of(qw_json_string(qw_json_get(line, "grammar")));
    qw_expr_pool *exprs;
    qw_error err = {0};
    qw_expr id;
    qw_status status;

    CHECK_EQ(qw_expr_pool_new(&exprs, 0, NULL), QW_OK);
    status = qw_gbnf_parse(exprs, text, qw_text_of("root"), tokenizer, &id, &err);
    if (*why) {
        CHECK_EQ(status, QW_ERR_USAGE);
        CHECK_HAS(err.text, "grammar");
        if (!strcmp(why, "left recursion")) CHECK_HAS(err.text, "left recursion");
        if (strcmp(why, "root missing")) CHECK_HAS(err.text, "line ");
    } else if (status) {
        if (!strstr(err.text, "leads back")) printf("%s: %s\n", qw_json_string(qw_json_get(line, "name")), err.text);
        CHECK_HAS(err.text, "leads back to itself");
        nested++;
    } else {
        check_texts(exprs, id, line, "accept", true);
        check_texts(exprs, id, line, "reject", false);
        CHECK_EQ(qw_expr_status(exprs, NULL), QW_OK);
    }
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
    CHECK(judged > 150);
    CHECK_EQ(nested, 9);
}

static void test_places(void)
{
    qw_expr_pool *exprs;
    qw_error err;
    qw_expr id;

    CHECK_EQ(qw_expr_pool_new(&exprs, 0, NULL), QW_OK);
    CHECK_EQ(
        qw_gbnf_parse(exprs, qw_text_of("root ::= a\na ::= \"\xc3\xa9\" b\n"), qw_text_of("root"), NULL, &id, &err),
        QW_ERR_USAGE);
    CHECK_HAS(err.text, "line 2, column 11");
    CHECK_HAS(err.text, "\"b\"");
    CHECK_EQ(qw_gbnf_parse(exprs, qw_text_of("root ::= \"a\"\nb ::= \"x\" | b\n"), qw_text_of("root"), NULL, &id, &err),
             QW_ERR_USAGE);
    CHECK_HAS(err.text, "line 2, column 13");
    CHECK_EQ(qw_gbnf_parse(exprs, qw_text_of("root ::= \"a\"\nb ::= \"x\"\n"), qw_text_of("b"), NULL, &id, &err),
             QW_OK);
    CHECK(qw_expr_accepts(exprs, id, qw_text_of("x")));
    CHECK_EQ(qw_gbnf_parse(exprs, qw_text_of("root ::= !<[3]> \"a\"\n"), qw_text_of("root"), NULL, &id, &err),
             QW_ERR_USAGE);
    qw_expr_pool_free(exprs);
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
