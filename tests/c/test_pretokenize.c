/* SPDX-License-Identifier: MIT
 * pretokenize.c: the pieces of Qwen2's pattern. */
#include "base/alloc.h"
#include "check.h"
#include "tokenizer/pretokenize.h"

enum { MAX_PIECES = 14 };

static void check_pieces(const char *text, const char *const *pieces)
{
    qw_text all = qw_text_of(text);
    size_t at = 0, i = 0;

    for (; at < all.n && i < MAX_PIECES && pieces[i]; i++) {
        size_t end = qw_pretokenize_next(all, at), wanted = strlen(pieces[i]);
        bool same = end - at == wanted && memcmp(text + at, pieces[i], wanted) == 0;
        if (!same) printf("\"%s\": got \"%.*s\", wanted \"%s\"\n", text, (int)(end - at), text + at, pieces[i]);
        CHECK(same);
        at = end;
    }
    CHECK_EQ(at, all.n);
    CHECK(i == MAX_PIECES || !pieces[i]);
}

static const struct {
    const char *text, *pieces[MAX_PIECES];
} known_texts[] = {
    {"", {NULL}},
    {"a->b", {"a", "->", "b"}},
    {"(x):\n", {"(x", "):\n"}},
    {"1234 \xEF\xBC\x95\xEF\xBC\x96 \xC2\xBD \xE2\x85\xAB \xD9\xA3",
     {"1", "2", "3", "4", " ", "\xEF\xBC\x95", "\xEF\xBC\x96", " ", "\xC2\xBD", " ", "\xE2\x85\xAB", " ", "\xD9\xA3"}},
    {"DON'T I'LL'VE", {"DON", "'T", " I", "'LL", "'VE"}},
    {"'s't're've'm'll'd", {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}},
    {"'S'T'Re'vE'M'Ll'D", {"'S", "'T", "'Re", "'vE", "'M", "'Ll", "'D"}},
    {"'\xC5\xBF"
     "a",
     {"'\xC5\xBF", "a"}}, /* U+017F is an s */
    {"'lx'rx'vx'x'", {"'lx", "'rx", "'vx", "'x", "'"}},
    {"'\xC5\xBE'l", {"'\xC5\xBE", "'l"}},
    {"don\xE2\x80\x99t", {"don", "\xE2\x80\x99t"}}, /* another apostrophe opens a word */
    {"it'sx", {"it", "'s", "x"}},
    {"a\r\n\r\nb", {"a", "\r\n\r\n", "b"}},
    {"x  \n\n   y", {"x", "  \n\n", "  ", " y"}},
    {"\t\tif x:\n\t\t\treturn", {"\t", "\tif", " x", ":\n", "\t\t", "\treturn"}},
    {"   lead", {"  ", " lead"}},
    {"trail   ", {"trail", "   "}},
    {" ", {" "}},
    {" 1", {" ", "1"}},
    {"  1", {" ", " ", "1"}},
    {" !", {" !"}},
    {"\t!", {"\t", "!"}},
    {"\n\n !\r\n\r\nx", {"\n\n", " !\r\n\r\n", "x"}},
    {"!\n \nx", {"!\n", " \n", "x"}},
    {"\nx", {"\n", "x"}},
    {"\r", {"\r"}},
    {"\xC2\xA0"
     "a\xE3\x80\x80\xE5\x85\xA8",
     {"\xC2\xA0"
      "a",
      "\xE3\x80\x80\xE5\x85\xA8"}},
    {"\xC2\x85\xE2\x80\xA8\x1C", {"\xC2\x85", "\xE2\x80\xA8", "\x1C"}}, /* U+0085, U+2028; U+001C is no space */
    {"\xE4\xBD\xA0\xEF\xBC\x8C\xE4\xB8\x96\xEF\xBC\x81\n\xE5\x86\x8D",
     {"\xE4\xBD\xA0", "\xEF\xBC\x8C\xE4\xB8\x96", "\xEF\xBC\x81\n", "\xE5\x86\x8D"}},
    {"\xE0\xA4\x95\xE0\xA5\x8D\xE0\xA4\xB7\xE0\xA4\xBF", /* marks are no letters, and open a word */
     {"\xE0\xA4\x95", "\xE0\xA5\x8D\xE0\xA4\xB7", "\xE0\xA4\xBF"}},
    {"\xCC\x81\xCC\x81"
     "a",
     {"\xCC\x81\xCC\x81", "a"}},
    {"_____a__", {"_____", "a", "__"}},
    {"a\xFF"
     "b",
     {"a", "\xFF"
           "b"}},
};

static void test_pretokenize_pieces_of_known_texts(void)
{
    for (size_t i = 0; i < sizeof known_texts / sizeof *known_texts; i++)
        check_pieces(known_texts[i].text, known_texts[i].pieces);
}

static void test_pretokenize_nul_is_a_character(void)
{
    qw_text text = {"1\0a\0", 4};

    CHECK_EQ(qw_pretokenize_next(text, 0), 1);
    CHECK_EQ(qw_pretokenize_next(text, 1), 3);
    CHECK_EQ(qw_pretokenize_next(text, 3), 4);
}

/* Runs of a megabyte: a rule that read each run again for each of its pieces would not come to an end here. */
static void test_pretokenize_long_runs_cost_one_or_two_readings(void)
{
    static const struct {
        char c;
        int64_t pieces;
    } runs[] = {{'a', 1}, {'_', 1}, {'\n', 1}, {' ', 1}, {'7', 1000000}};
    qw_text text = {NULL, 1000000};
    char *bytes = qw_calloc(text.n, 1);

    text.bytes = bytes;
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        int64_t pieces = 0;
        memset(bytes, runs[i].c, text.n);
        for (size_t at = 0; at < text.n; pieces++) at = qw_pretokenize_next(text, at);
        CHECK_EQ(pieces, runs[i].pieces);
    }
    qw_free(bytes);
}

int main(void)
{
    test_pretokenize_pieces_of_known_texts();
    test_pretokenize_nul_is_a_character();
    test_pretokenize_long_runs_cost_one_or_two_readings();
    return check_done();
}
