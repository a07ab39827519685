/* SPDX-License-Identifier: MIT
 * Regular expressions and choices: every pattern of fixtures/format/regex with the texts that it takes and does not take
 * (Node's RegExp agrees), every choice of fixtures/format/choice, the text formats, and hostile patterns by hand.
 * Usage: test_regex [FIXTURES]; else $QW_FIXTURES, else tests/fixtures. */
#include "base/alloc.h"
#include "format/characters.h"
#include "format/choice.h"
#include "format/regex.h"
#include "format/text_formats.h"
#include "tokenizer/unicode.h"

#include "fixture.h"

static qw_expr_pool *new_pool(void)
{
    qw_expr_pool *pool = NULL;

    CHECK_EQ(qw_expr_pool_new(&pool, 0, NULL), QW_OK);
    return pool;
}

/* The text as the body of a JSON string in our spelling. */
static qw_buf body_of(qw_text text)
{
    qw_buf out = {0};

    for (size_t at = 0; at < text.n;) {
        char bytes[QW_SPELLED_MAX];
        uint32_t c;

        at += qw_utf8_step(text.bytes + at, text.n - at, &c);
        CHECK_EQ(qw_buf_append(&out, bytes, qw_spell_char(bytes, c, QW_SPELL_JSON), NULL), QW_OK);
    }
    return out;
}

/* Both spellings of the language judge the text alike. */
static void check_text(qw_expr_pool *pool, const qw_expr ids[2], const char *text, bool wanted, const char *what)
{
    qw_buf body = body_of(qw_text_of(text));
    bool raw = qw_expr_accepts(pool, ids[QW_SPELL_RAW], qw_text_of(text));
    bool json = qw_expr_accepts(pool, ids[QW_SPELL_JSON], (qw_text){body.bytes, body.n});

    if (raw != wanted || json != wanted) printf("%.80s on \"%.80s\": raw %d, json %d\n", what, text, raw, json);
    CHECK(raw == wanted);
    CHECK(json == wanted);
    qw_buf_free(&body);
}

static void check_texts(qw_expr_pool *pool, const qw_expr ids[2], const qw_json *line, const char *what)
{
    for (const qw_json *t = qw_json_first(qw_json_get(line, "accept")); t; t = qw_json_next(t))
        check_text(pool, ids, qw_json_string(t), true, what);
    for (const qw_json *t = qw_json_first(qw_json_get(line, "reject")); t; t = qw_json_next(t))
        check_text(pool, ids, qw_json_string(t), false, what);
}

static void check_regex(const qw_json *line)
{
    const char *pattern = qw_json_string(qw_json_get(line, "regex")),
               *expect = qw_json_string(qw_json_get(line, "expect"));
    qw_regex_mode mode = strcmp(qw_json_string(qw_json_get(line, "mode")), "whole") ? QW_REGEX_SEARCH : QW_REGEX_WHOLE;
    qw_text flags = qw_text_of(qw_json_string(qw_json_get(line, "flags")));
    qw_expr_pool *pool = new_pool();
    qw_expr ids[2];
    qw_error err;
    qw_status status = QW_OK;

    for (int spelling = 0; spelling < 2 && !status; spelling++)
        status = qw_regex_parse(pool, qw_text_of(pattern), flags, mode, (qw_spelling)spelling, &ids[spelling], &err);
    if (status) {
        if (strcmp(expect, "ok") == 0) printf("%.80s: %s\n", pattern, err.text);
        CHECK(strcmp(expect, "ok") != 0);
        CHECK_EQ(status, QW_ERR_USAGE);
        CHECK_HAS(err.text, "regular expression");
    } else {
        if (strcmp(expect, "refuse") == 0) printf("%s is not refused\n", pattern);
        CHECK(strcmp(expect, "refuse") != 0);
        check_texts(pool, ids, line, pattern);
        CHECK_EQ(qw_expr_status(pool, NULL), QW_OK);
    }
    qw_expr_pool_free(pool);
}

/* Whether JSON text holds what a C string of cJSON's cannot: U+0000, or half a surrogate pair. */
static bool is_by_hand(const char *line, size_t n)
{
    for (size_t i = 0; i + 6 <= n; i++) {
        if (line[i] != '\\') continue;
        if (line[i + 1] == 'u' && (!memcmp(line + i + 2, "0000", 4) || !memcmp(line + i + 2, "d800", 4))) return true;
        i++;
    }
    return false;
}

/* Calls check on each line of a file of the fixtures but on as many as are tested by hand. */
static void for_lines(const char *name, void (*check)(const qw_json *line), int by_hand)
{
    qw_buf file = fixture_read(name);
    int left_out = 0;

    for (char *at = file.bytes, *end; *at; at = end + (*end == '\n')) {
        qw_json *line = NULL;

        end = at + strcspn(at, "\n");
        if (is_by_hand(at, (size_t)(end - at))) {
            left_out++;
            continue;
        }
        CHECK_EQ(qw_json_parse(&line, (qw_text){at, (size_t)(end - at)}, name, NULL), QW_OK);
        if (line) check(line);
        qw_json_free(line);
    }
    CHECK_EQ(left_out, by_hand);
    qw_buf_free(&file);
}

/* Choices that are no texts are refused where their JSON is read, and many of them have a test of their own. */
static void check_choice(const qw_json *line)
{
    enum { MOST = 64 };
    qw_text texts[MOST];
    size_t n = 0;
    qw_expr_pool *pool = new_pool();
    qw_expr ids[2];
    bool refused = qw_json_get(line, "refused") != NULL;
    qw_status status = QW_OK;

    for (const qw_json *c = qw_json_first(qw_json_get(line, "choices")); c && n < MOST; c = qw_json_next(c))
        texts[n++] = qw_text_of(qw_json_string(c));
    for (int spelling = 0; spelling < 2 && qw_json_get(line, "choices") && !(refused && n); spelling++) {
        status = qw_choice_expr(pool, texts, n, (qw_spelling)spelling, &ids[spelling], NULL);
        CHECK_EQ(status, refused ? QW_ERR_USAGE : QW_OK);
        if (!status && spelling == 1) check_texts(pool, ids, line, qw_json_string(qw_json_get(line, "name")));
    }
    qw_expr_pool_free(pool);
}

static void test_by_hand(void)
{
    static const qw_text nul = {"\t\n\r\f\v\0", 6}, broken[] = {{"a", 1}, {"\xed\xa0\x80", 3}};
    qw_expr_pool *pool = new_pool();
    qw_buf body = body_of(nul);
    qw_error err;
    qw_expr id;

    for (int spelling = 0; spelling < 2; spelling++) {
        qw_text text = spelling ? (qw_text){body.bytes, body.n} : nul;

        CHECK_EQ(qw_regex_parse(pool, qw_text_of("\\t\\n\\r\\f\\v\\0"), qw_text_of(""), QW_REGEX_WHOLE,
                                (qw_spelling)spelling, &id, NULL),
                 QW_OK);
        CHECK(qw_expr_accepts(pool, id, text));
        CHECK(!qw_expr_accepts(pool, id, qw_text_of("tnrfv0")));
    }
    CHECK_EQ(qw_choice_expr(pool, broken, 2, QW_SPELL_RAW, &id, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "choice 1");
    CHECK_EQ(qw_regex_parse(pool, qw_text_of("\xc3\xa9(?=a)"), qw_text_of(""), QW_REGEX_WHOLE, QW_SPELL_RAW, &id, &err),
             QW_ERR_USAGE);
    CHECK_HAS(err.text, "lookahead");
    CHECK_HAS(err.text, "character 5");
    qw_buf_free(&body);
    qw_expr_pool_free(pool);
}

/* Ten thousand names: few bytes each, and the first ones after a prefix are exactly those that follow. */
static void test_many_choices(void)
{
    enum { MANY = 10000 };
    static char names[MANY][16];
    static qw_text texts[MANY];
    qw_expr_pool *pool = new_pool();
    qw_byte_set set;
    qw_expr id;

    for (int i = 0; i < MANY; i++)
        texts[i] = (qw_text){names[i], (size_t)snprintf(names[i], sizeof names[i], "name-%d", (i * 7919) % MANY)};
    CHECK_EQ(qw_choice_expr(pool, texts, MANY, QW_SPELL_JSON, &id, NULL), QW_OK);
    CHECK_EQ(qw_expr_shortest(pool, id), 6);
    CHECK(qw_expr_accepts(pool, id, qw_text_of("name-9999")));
    CHECK(!qw_expr_accepts(pool, id, qw_text_of("name-10000")));
    CHECK(!qw_expr_accepts(pool, id, qw_text_of("name-01")));
    qw_expr_first_bytes(pool, qw_expr_walk(pool, id, qw_text_of("name-")), &set);
    CHECK_EQ(set.bits[0], (uint64_t)0x3FF << '0');
    CHECK(qw_expr_pool_bytes(pool) < 64 * 1024); /* equal ends are one */
    qw_expr_pool_free(pool);
}

typedef struct sample {
    const char *format, *text;
    bool valid;
} sample;

static const sample samples[] = {
    {"date", "2024-02-29", true},
    {"date", "2023-02-29", false},
    {"date", "1900-02-29", false},
    {"date", "2000-02-29", true},
    {"time", "23:59:59.123Z", true},
    {"time", "23:59:60Z", false},
    {"date-time", "2024-12-31T00:00:00+05:30", true},
    {"date-time", "2024-12-31t00:00:00z", false},
    {"duration", "P1Y2M3DT4H5M6S", true},
    {"duration", "P1Y3D", false},
    {"duration", "P2W", true},
    {"duration", "PT", false},
    {"email", "a.b@example.com", true},
    {"email", "a..b@example.com", false},
    {"email", "a@localhost", false},
    {"hostname", "ex-ample.org", true},
    {"hostname", "ab--c.org", false},
    {"hostname", "-a.org", false},
    {"ipv4", "255.0.10.9", true},
    {"ipv4", "256.0.0.1", false},
    {"ipv4", "01.1.1.1", false},
    {"ipv6", "::1", true},
    {"ipv6", "2001:db8::192.0.2.1", true},
    {"ipv6", "1::2::3", false},
    {"uuid", "2EB8AA08-AA98-11EA-B4AA-73B441D16380", true},
    {"uuid", "2eb8aa08-aa98-11ea-b4aa73b441d16380", false},
    {"uri", "https://a:b@[::1]:80/x?y#z", true},
    {"uri", "//example.org", false},
    {"uri", "http:// x", false},
    {"uri", "a:%zz", false},
};

static void test_formats(void)
{
    qw_expr_pool *pool = new_pool();
    qw_expr ids[2], again;

    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        qw_text name = qw_text_of(samples[i].format);

        CHECK_EQ(qw_text_format_kind(name), QW_FORMAT_ENFORCED);
        CHECK_EQ(qw_text_format(pool, name, QW_SPELL_RAW, &ids[0], NULL), QW_OK);
        CHECK_EQ(qw_text_format(pool, name, QW_SPELL_JSON, &ids[1], NULL), QW_OK);
        CHECK_EQ(qw_text_format(pool, name, QW_SPELL_JSON, &again, NULL), QW_OK);
        CHECK_EQ(again, ids[1]);
        check_text(pool, ids, samples[i].text, samples[i].valid, samples[i].format);
    }
    CHECK_EQ(qw_text_format_kind(qw_text_of("json-pointer")), QW_FORMAT_REFUSED);
    CHECK_EQ(qw_text_format_kind(qw_text_of("color")), QW_FORMAT_UNKNOWN);
    CHECK_EQ(qw_text_format(pool, qw_text_of("iri"), QW_SPELL_RAW, &again, NULL), QW_ERR_USAGE);
    qw_expr_pool_free(pool);
}

/* What could cost without bound costs little, or is refused; the pool says which. */
static void test_hostile(void)
{
    static const char *const patterns[] = {"(a*)*",
                                           "(a|a)*",
                                           "(a*)*b",
                                           "a{1,1000000}",
                                           "(a{0,1000}){0,1000}",
                                           "((a{0,100}){0,100}){0,100}",
                                           "(?:(?:a{2,3}){2,3}){2,1000000}",
                                           "(.*,){11}P",
                                           "(x+x+)+y",
                                           ".*a.{1000}",
                                           "(a?b?c?d?e?){100}"};
    qw_expr_pool *pool = new_pool();
    qw_buf longer = {0};
    qw_error err;
    qw_expr id;

    for (size_t i = 0; i < sizeof patterns / sizeof *patterns; i++) {
        CHECK_EQ(
            qw_regex_parse(pool, qw_text_of(patterns[i]), qw_text_of(""), QW_REGEX_WHOLE, QW_SPELL_JSON, &id, NULL),
            QW_OK);
        qw_expr_walk(pool, id, qw_text_of("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"));
        CHECK_EQ(qw_expr_status(pool, NULL), QW_OK);
    }
    CHECK(qw_expr_pool_bytes(pool) < 8 << 20);
    CHECK_EQ(qw_buf_reserve(&longer, 1 << 20, NULL), QW_OK);
    while (longer.n < 1 << 20) CHECK_EQ(qw_buf_append(&longer, "aaaaaaaaaaaaaaa|", 16, NULL), QW_OK);
    CHECK_EQ(qw_regex_parse(pool, (qw_text){longer.bytes, longer.n}, qw_text_of(""), QW_REGEX_WHOLE, QW_SPELL_RAW, &id,
                            &err),
             QW_ERR_USAGE);
    CHECK_HAS(err.text, "too long");
    qw_buf_free(&longer);
    qw_expr_pool_free(pool);
}

int main(int argc, char **argv)
{
    fixture_init(argc, argv);
    for_lines("format/regex/regex.jsonl", check_regex, 1);
    for_lines("format/choice/choice.jsonl", check_choice, 1);
    test_by_hand();
    test_many_choices();
    test_formats();
    test_hostile();
    return check_done();
}
