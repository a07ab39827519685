/* SPDX-License-Identifier: MIT
 * unicode.c and nfc.c: UTF-8 with every kind of fault, the classes of every code point, and NFC. */
#include "base/alloc.h"
#include "check.h"
#include "fixture.h"
#include "tokenizer/nfc.h"
#include "tokenizer/unicode.h"

static bool is_surrogate(uint32_t c)
{
    return c >= 0xD800 && c < 0xE000;
}

static void test_utf8_every_code_point_round_trips(void)
{
    int64_t wrong = 0;

    for (uint32_t c = 0; c < 0x110000; c++) {
        char bytes[4];
        uint32_t back;
        size_t n = qw_utf8_write(bytes, c), used = qw_utf8_step(bytes, n, &back);
        if (is_surrogate(c)) wrong += back != QW_UTF8_BAD || used != 1;
        else wrong += back != c || used != n;
    }
    CHECK_EQ(wrong, 0);
}

static void test_utf8_ill_formed_parts_are_maximal(void)
{
    static const struct {
        const char *bytes;
        size_t n, used;
        uint32_t c;
    } cases[] = {
        {"\x80", 1, 1, QW_UTF8_BAD},
        {"\xBF", 1, 1, QW_UTF8_BAD},
        {"\xC0\x80", 2, 1, QW_UTF8_BAD},
        {"\xC1\xBF", 2, 1, QW_UTF8_BAD},
        {"\xC2", 1, 1, QW_UTF8_SHORT},
        {"\xC2"
         "A",
         2, 1, QW_UTF8_BAD},
        {"\xE0\x9F\xBF", 3, 1, QW_UTF8_BAD},
        {"\xE0\xA0", 2, 2, QW_UTF8_SHORT},
        {"\xE4\xBD", 2, 2, QW_UTF8_SHORT},
        {"\xE4\xBD"
         "A",
         3, 2, QW_UTF8_BAD},
        {"\xE4\xBD\xC2", 3, 2, QW_UTF8_BAD},
        {"\xED\xA0\x80", 3, 1, QW_UTF8_BAD},
        {"\xED\x9F\xBF", 3, 3, 0xD7FF},
        {"\xF0\x8F\xBF\xBF", 4, 1, QW_UTF8_BAD},
        {"\xF0\x9F\x98", 3, 3, QW_UTF8_SHORT},
        {"\xF0\x9F\x98"
         "A",
         4, 3, QW_UTF8_BAD},
        {"\xF4\x8F\xBF\xBF", 4, 4, 0x10FFFF},
        {"\xF4\x90\x80\x80", 4, 1, QW_UTF8_BAD},
        {"\xF5\x80\x80\x80", 4, 1, QW_UTF8_BAD},
        {"\xFF", 1, 1, QW_UTF8_BAD},
        {"\0", 1, 1, 0},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t c;
        CHECK_EQ(qw_utf8_step(cases[i].bytes, cases[i].n, &c), cases[i].used);
        CHECK_EQ(c, cases[i].c);
    }
}

static void mark_ranges(const qw_json *ranges, uint8_t *classes, qw_char_class class)
{
    for (const qw_json *r = qw_json_first(ranges); r; r = qw_json_next(r)) {
        uint32_t first = (uint32_t)qw_json_number(qw_json_first(r));
        uint32_t last = (uint32_t)qw_json_number(qw_json_next(qw_json_first(r)));
        for (uint32_t c = first; c <= last && c < 0x110000; c++) classes[c] = (uint8_t) class;
    }
}

static void test_unicode_classes_equal_the_reference_for_every_code_point(void)
{
    qw_buf file = fixture_read("tokenizer/classes.json");
    uint8_t *classes = qw_calloc(0x110000, 1);
    int64_t wrong = 0;
    qw_json *root;

    CHECK_EQ(qw_json_parse(&root, (qw_text){file.bytes, file.n}, "classes.json", NULL), QW_OK);
    CHECK(qw_json_size(qw_json_get(root, "letter")) > 600);
    mark_ranges(qw_json_get(root, "letter"), classes, QW_CHAR_LETTER);
    mark_ranges(qw_json_get(root, "number"), classes, QW_CHAR_NUMBER);
    mark_ranges(qw_json_get(root, "space"), classes, QW_CHAR_SPACE);
    for (uint32_t c = 0; c < 0x110000; c++)
        if (!is_surrogate(c)) wrong += qw_unicode_class(c) != classes[c];
    CHECK_EQ(wrong, 0);
    CHECK_EQ(qw_unicode_class(QW_UTF8_BAD), QW_CHAR_OTHER);
    qw_json_free(root);
    qw_free(classes);
    qw_buf_free(&file);
}

static qw_buf nfc(qw_text text)
{
    qw_buf out = {0};

    CHECK_EQ(qw_nfc_append(text, &out, NULL), QW_OK);
    return out;
}

static bool same(qw_text a, const qw_buf *b)
{
    return a.n == b->n && (!a.n || memcmp(a.bytes, b->bytes, a.n) == 0);
}

static void test_nfc_known_texts(void)
{
    static const struct {
        const char *text, *wanted;
    } cases[] = {
        {"", ""},
        {"plain \xC3\xA9 \xE4\xBD\xA0", "plain \xC3\xA9 \xE4\xBD\xA0"},
        {"e\xCC\x81", "\xC3\xA9"},
        {"xe\xCC\x81x", "x\xC3\xA9x"},
        {"a\xCC\x81\xCC\xA3", "\xE1\xBA\xA1\xCC\x81"},            /* the dot below comes first */
        {"\xE2\x84\xAB", "\xC3\x85"},                             /* U+212B Angstrom */
        {"\xE2\x84\xA6", "\xCE\xA9"},                             /* U+2126 Ohm */
        {"\xCD\x84", "\xCC\x88\xCC\x81"},                         /* U+0344 is excluded */
        {"\xE0\xA5\x98", "\xE0\xA4\x95\xE0\xA4\xBC"},             /* U+0958 is excluded */
        {">\xCC\xB8", "\xE2\x89\xAF"},                            /* > and U+0338 */
        {"\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8", "\xEA\xB0\x81"}, /* Hangul L V T */
        {"\xEA\xB0\x80\xE1\x86\xA8", "\xEA\xB0\x81"},             /* LV T */
        {"\xEA\xB0\x81\xE1\x86\xA8", "\xEA\xB0\x81\xE1\x86\xA8"}, /* LVT T */
        {"\xCC\x81"
         "a",
         "\xCC\x81"
         "a"},
        {"a\xCC\x96\xCC\x96\xCC\x81", "\xC3\xA1\xCC\x96\xCC\x96"}, /* nothing of its class before the acute */
        {"a\xCD\x86\xCC\x81", "a\xCD\x86\xCC\x81"},                /* one of its class stands between */
        {"\xCC\xB8>\xCC\xB8\xCC\xB8", "\xCC\xB8\xE2\x89\xAF\xCC\xB8"},
        {"\xEF\xAC\xA0", "\xEF\xAC\xA0"},                         /* a compatibility form stays */
        {"\xF0\xAF\xA0\x80", "\xE4\xB8\xBD"},                     /* U+2F800 */
        {"\xF0\x9D\x85\x9E", "\xF0\x9D\x85\x97\xF0\x9D\x85\xA5"}, /* U+1D15E */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_text text = qw_text_of(cases[i].text), wanted = qw_text_of(cases[i].wanted);
        qw_buf out = nfc(text);
        CHECK(same(wanted, &out));
        CHECK(!qw_nfc_is_plain(text) || same(text, &out));
        qw_buf_free(&out);
    }
}

/* Every code point after a letter: NFC of NFC is itself, and what is called plain is left alone. */
static void test_nfc_is_idempotent_for_every_code_point(void)
{
    int64_t wrong = 0, changed = 0;

    for (uint32_t c = 0; c < 0x110000; c++) {
        char bytes[8] = "e";
        qw_text text = {bytes, 1 + qw_utf8_write(bytes + 1, c)};
        qw_buf once = {0}, twice = {0};
        if (is_surrogate(c)) continue;
        wrong += qw_nfc_append(text, &once, NULL) != QW_OK;
        wrong += qw_nfc_append((qw_text){once.bytes, once.n}, &twice, NULL) != QW_OK;
        wrong += !same((qw_text){once.bytes, once.n}, &twice);
        wrong += qw_nfc_is_plain(text) && !same(text, &once);
        changed += !same(text, &once);
        qw_buf_free(&once);
        qw_buf_free(&twice);
    }
    CHECK_EQ(wrong, 0);
    CHECK_EQ(changed, 1137); /* 1,120 that are not NFC themselves, and 17 marks that join the e */
}

static void test_nfc_puts_every_hangul_syllable_together(void)
{
    int64_t wrong = 0;

    for (uint32_t i = 0; i < 11172; i++) {
        char apart[12], whole[4];
        size_t n = qw_utf8_write(apart, 0x1100 + i / 588);
        qw_buf out;
        n += qw_utf8_write(apart + n, 0x1161 + i / 28 % 21);
        if (i % 28) n += qw_utf8_write(apart + n, 0x11A7 + i % 28);
        out = nfc((qw_text){apart, n});
        wrong += !same((qw_text){whole, qw_utf8_write(whole, 0xAC00 + i)}, &out);
        qw_buf_free(&out);
    }
    CHECK_EQ(wrong, 0);
}

/* Appends the marks of text whose class is ccc, in their order. */
static void append_class(qw_buf *out, qw_text text, uint32_t ccc)
{
    for (size_t at = 0; at < text.n;) {
        uint32_t c;
        size_t n = qw_utf8_step(text.bytes + at, text.n - at, &c);
        if (qw_unicode_ccc(c) == ccc && qw_buf_append(out, text.bytes + at, n, NULL)) return; /* the comparison fails */
        at += n;
    }
}

static void test_nfc_orders_runs_of_marks_of_any_length(void)
{
    static const uint32_t marks[] = {0x334, 0x5B0, 0x327, 0x316, 0x315, 0x35C, 0x345}; /* by class */
    uint32_t seed = 7;
    int64_t failed = 0;

    for (size_t length = 0; length < 500000; length = length < 40 ? length + 1 : length * 5) {
        qw_buf text = {0}, wanted = {0}, out;
        for (size_t i = 0; i < length; i++) {
            char bytes[4];
            seed = seed * 1664525 + 1013904223;
            failed += qw_buf_append(&text, bytes, qw_utf8_write(bytes, marks[(seed >> 24) % 7]), NULL) != QW_OK;
        }
        for (size_t i = 0; i < 7; i++) append_class(&wanted, (qw_text){text.bytes, text.n}, qw_unicode_ccc(marks[i]));
        out = nfc((qw_text){text.bytes, text.n});
        CHECK(same((qw_text){wanted.bytes, wanted.n}, &out));
        qw_buf_free(&text);
        qw_buf_free(&wanted);
        qw_buf_free(&out);
    }
    CHECK_EQ(failed, 0);
}

/* The fixture says of each text whether NFC changes it; in group "special" that is said of the stretches between tokens. */
static void check_line(const qw_json *line, void *arg)
{
    qw_buf text = fixture_text(line), out;

    if (strcmp(qw_json_string(qw_json_get(line, "group")), "special") != 0) {
        out = nfc((qw_text){text.bytes, text.n});
        CHECK_EQ(!same((qw_text){text.bytes, text.n}, &out), qw_json_bool(qw_json_get(line, "nfc_changes")));
        ++*(int64_t *)arg;
        qw_buf_free(&out);
    }
    qw_buf_free(&text);
}

static void test_nfc_changes_what_the_fixture_says(void)
{
    int64_t n = 0;

    CHECK_EQ(fixture_each_line("tokenizer/encode.jsonl", check_line, &n), 4559);
    CHECK_EQ(n, 4559 - 574);
}

static void test_nfc_memory_failure_is_a_memory_error(void)
{
    char text[400];
    qw_buf out = {0};
    qw_error err;

    for (size_t i = 0; i < sizeof text; i += 2) memcpy(text + i, i % 4 ? "\xCC\x81" : "\xCC\x96", 2);
    qw_alloc_test_fail(-1);
    CHECK_EQ(qw_nfc_append((qw_text){text, sizeof text}, &out, &err), QW_OK);
    qw_buf_free(&out);
    for (int64_t n = 0, made = qw_alloc_test_count(); n < made; n++) {
        int64_t live = qw_alloc_test_live();
        qw_alloc_test_fail(n);
        CHECK_EQ(qw_nfc_append((qw_text){text, sizeof text}, &out, &err), QW_ERR_MEMORY);
        qw_buf_free(&out);
        CHECK_EQ(qw_alloc_test_live(), live);
    }
    qw_alloc_test_fail(-1);
}

int main(int argc, char **argv)
{
    fixture_init(argc, argv);
    test_utf8_every_code_point_round_trips();
    test_utf8_ill_formed_parts_are_maximal();
    test_unicode_classes_equal_the_reference_for_every_code_point();
    test_nfc_known_texts();
    test_nfc_is_idempotent_for_every_code_point();
    test_nfc_puts_every_hangul_syllable_together();
    test_nfc_orders_runs_of_marks_of_any_length();
    test_nfc_changes_what_the_fixture_says();
    test_nfc_memory_failure_is_a_memory_error();
    return check_done();
}
