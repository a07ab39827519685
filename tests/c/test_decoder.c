/* SPDX-License-Identifier: MIT
 * The decoder of a stream: whole characters from bytes that come in any pieces. */
#include "check.h"
#include "tokenizer/tokenizer.h"

/* Bytes given one at a time; parts are what each gives, then the flush, separated by '|'. */
static void check_stream(const char *bytes, size_t n, const char *parts)
{
    qw_decoder d = {0};
    qw_buf out = {0};

    for (size_t i = 0; i < n; i++) {
        CHECK_EQ(qw_decoder_push(&d, (qw_text){bytes + i, 1}, &out, NULL), QW_OK);
        CHECK_EQ(qw_buf_append(&out, "|", 1, NULL), QW_OK);
    }
    CHECK_EQ(qw_decoder_flush(&d, &out, NULL), QW_OK);
    CHECK_EQ(d.n_held, 0);
    CHECK_EQ(qw_buf_append(&out, "", 1, NULL), QW_OK);
    CHECK_STR(out.bytes, parts);
    qw_buf_free(&out);
}

#define FFFD "\xEF\xBF\xBD"

static void test_decoder_gives_whole_characters_as_the_whatwg_decoder_does(void)
{
    check_stream("", 0, "");
    CHECK_EQ(qw_decoder_push(&(qw_decoder){0}, (qw_text){NULL, 0}, &(qw_buf){0}, NULL), QW_OK);
    check_stream("ab", 2, "a|b|");
    check_stream("\xF0\x9F\x98\x82", 4, "|||\xF0\x9F\x98\x82|");
    check_stream("\xE5\xA5\xBD!", 4, "||\xE5\xA5\xBD|!|");
    check_stream("\xC0"
                 "A",
                 2, FFFD "|A|");
    check_stream("\xF5"
                 "A",
                 2, FFFD "|A|");
    check_stream("\xED\xA0\x80", 3, "|" FFFD FFFD "|" FFFD "|");
    check_stream("\xF0\x9F", 2, "||" FFFD);
    check_stream("\xF0\x9F\x98"
                 "A",
                 4, "|||" FFFD "A|");
    check_stream("\xE4\xE4\xBD\xA0", 4, "|" FFFD "||\xE4\xBD\xA0|");
    check_stream("\xEF\xBB\xBF", 3, "||\xEF\xBB\xBF|");
}

/* However the bytes are cut, the decoder gives the same text. */
static void test_decoder_does_not_depend_on_the_cuts(void)
{
    static const uint8_t kinds[] = {'a', 0x80, 0xBF, 0xC3, 0xE0, 0xA0, 0xED, 0x9F, 0xF0, 0x90, 0xF4, 0x8F, 0xFF};
    uint32_t seed = 5;

    for (int round = 0; round < 4000; round++) {
        qw_buf whole = {0}, cut = {0};
        qw_decoder one = {0}, many = {0};
        char bytes[12];
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (char)kinds[((seed = seed * 1664525 + 1013904223) >> 16) % 13];
        CHECK_EQ(qw_decoder_push(&one, (qw_text){bytes, sizeof bytes}, &whole, NULL), QW_OK);
        for (size_t at = 0, n; at < sizeof bytes; at += n) {
            n = 1 + ((seed = seed * 1664525 + 1013904223) >> 16) % 4;
            if (n > sizeof bytes - at) n = sizeof bytes - at;
            CHECK_EQ(qw_decoder_push(&many, (qw_text){bytes + at, n}, &cut, NULL), QW_OK);
        }
        CHECK_EQ(qw_decoder_flush(&one, &whole, NULL), QW_OK);
        CHECK_EQ(qw_decoder_flush(&many, &cut, NULL), QW_OK);
        CHECK(whole.n == cut.n && (!cut.n || memcmp(whole.bytes, cut.bytes, cut.n) == 0));
        qw_buf_free(&whole);
        qw_buf_free(&cut);
    }
}

int main(void)
{
    test_decoder_gives_whole_characters_as_the_whatwg_decoder_does();
    test_decoder_does_not_depend_on_the_cuts();
    return check_done();
}
