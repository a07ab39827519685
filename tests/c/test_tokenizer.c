/* SPDX-License-Identifier: MIT
 * The tokenizer over a small vocabulary: encoding against a plain quadratic merger, added tokens, blocked
 * places, decoding. */
#include "base/alloc.h"
#include "check.h"
#include "fixture.h"
#include "mini_vocab.h"
#include "tokenizer/bpe.h"
#include "tokenizer/nfc.h"
#include "tokenizer/unicode.h"

static mini_vocab mini;

static qw_tokenizer *mini_tokenizer(void)
{
    qw_tokenizer *t = NULL;
    qw_error err = {0};

    CHECK_EQ(qw_tokenizer_from_vocab(&t, &mini.vocab, &err), QW_OK);
    CHECK_STR(err.text, "");
    return t;
}

static qw_ids encode(const qw_tokenizer *t, qw_text text, bool parse_special)
{
    const qw_encode_options options = {.parse_special = parse_special};
    qw_ids ids = {0};

    CHECK_EQ(qw_tokenizer_encode(t, text, &options, &ids, NULL), QW_OK);
    return ids;
}

static qw_buf decode(const qw_tokenizer *t, const qw_ids *ids, bool skip_special)
{
    qw_buf out = {0};

    CHECK_EQ(qw_tokenizer_decode(t, ids->v, ids->n, skip_special, &out, NULL), QW_OK);
    return out;
}

static bool same_text(const qw_buf *a, const char *bytes, size_t n)
{
    return a->n == n && (!n || memcmp(a->bytes, bytes, n) == 0);
}

static void check_ids(const qw_ids *got, const int32_t *wanted, size_t n)
{
    CHECK_EQ(got->n, n);
    for (size_t i = 0; i < n && i < got->n; i++) CHECK_EQ(got->v[i], wanted[i]);
}

/* Wanted ids end with -1. */
static void check_encode(const qw_tokenizer *t, const char *text, bool parse_special, const int32_t *wanted)
{
    qw_ids ids = encode(t, qw_text_of(text), parse_special);
    size_t n = 0;

    while (wanted[n] >= 0) n++;
    check_ids(&ids, wanted, n);
    qw_ids_free(&ids);
}

static void test_tokenizer_bytes_have_qwens_ids(void)
{
    qw_tokenizer *t = mini_tokenizer();
    static const struct {
        char byte;
        int32_t id;
    } known[] = {{'!', 0},   {'G', 38},     {'\0', 188},   {'\n', 198},
                 {' ', 220}, {'\x8D', 235}, {'\xAD', 255}, {'\xC0', 124}};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        qw_text bytes = qw_tokenizer_token_bytes(t, known[i].id);
        CHECK_EQ(bytes.n, 1);
        CHECK_EQ(bytes.bytes[0], known[i].byte);
    }
    CHECK_EQ(qw_tokenizer_n_ids(t), MINI_UNUSED);
    CHECK(qw_tokenizer_bytes(t) > MINI_TOKENS);
    qw_tokenizer_free(t);
    qw_tokenizer_free(NULL);
}

static void test_tokenizer_ids_outside_the_vocabulary_are_unused_and_empty(void)
{
    static const int32_t outside[] = {-1, MINI_UNUSED, MINI_TOKENS, INT32_MAX, INT32_MIN};
    qw_tokenizer *t = mini_tokenizer();
    qw_buf out = {0};

    for (size_t i = 0; i < sizeof outside / sizeof *outside; i++) {
        CHECK_EQ(qw_tokenizer_type(t, outside[i]), QW_TOKEN_UNUSED);
        CHECK_EQ(qw_tokenizer_token_bytes(t, outside[i]).n, 0);
    }
    CHECK_EQ(qw_tokenizer_decode(t, outside, 5, false, &out, NULL), QW_OK);
    CHECK_EQ(out.n, 0);
    CHECK_EQ(qw_tokenizer_type(t, 0), QW_TOKEN_NORMAL);
    CHECK_EQ(qw_tokenizer_type(t, MINI_CONTROL), QW_TOKEN_CONTROL);
    CHECK_EQ(qw_tokenizer_type(t, MINI_USER), QW_TOKEN_USER_DEFINED);
    CHECK_EQ(qw_tokenizer_added_id(t, qw_text_of("<|im_end|>")), MINI_CONTROL + 2);
    CHECK_EQ(qw_tokenizer_added_id(t, qw_text_of("<tool_call>")), MINI_USER);
    CHECK_EQ(qw_tokenizer_added_id(t, qw_text_of("<|im_end|")), -1);
    CHECK_EQ(qw_tokenizer_added_id(t, qw_text_of("<|im_end|>x")), -1);
    CHECK_EQ(qw_tokenizer_added_id(t, qw_text_of("[PAD0]")), -1);
    CHECK_EQ(qw_tokenizer_added_id(t, qw_text_of("hello")), -1);
    CHECK_EQ(qw_tokenizer_added_id(t, qw_text_of("")), -1);
    qw_tokenizer_free(t);
}

/* Merge i of the mini vocabulary whose parts are tokens a and b, or -1. */
static int32_t mini_rank(int32_t a, int32_t b)
{
    for (int32_t i = 0; i < MINI_MERGES; i++) {
        qw_text left = mini.tokens[a], right = mini.tokens[b];
        const char *merge = mini_merges[i];
        if (strlen(merge) == left.n + 1 + right.n && memcmp(merge, left.bytes, left.n) == 0 &&
            memcmp(merge + left.n + 1, right.bytes, right.n) == 0)
            return i;
    }
    return -1;
}

/* One word, merged by looking at all pairs again for each merge. */
static size_t merge_plainly(int32_t *ids, size_t n)
{
    for (;;) {
        int32_t best = MINI_MERGES;
        size_t at = 0;
        for (size_t i = 0; i + 1 < n; i++) {
            int32_t rank = mini_rank(ids[i], ids[i + 1]);
            if (rank >= 0 && rank < best) best = rank, at = i;
        }
        if (best == MINI_MERGES) return n;
        ids[at] = 256 + best;
        memmove(ids + at + 1, ids + at + 2, (n - at - 2) * sizeof *ids);
        n--;
    }
}

static void test_tokenizer_merges_as_a_plain_merger_does(void)
{
    qw_tokenizer *t = mini_tokenizer();
    uint32_t seed = 3;

    for (int round = 0; round < 3000; round++) {
        static const char letters[] = "aaaabcdxyzhelookpqr";
        char word[40];
        int32_t wanted[40];
        size_t n = 1 + (size_t)round % 40;
        qw_ids ids;
        for (size_t i = 0; i < n; i++) {
            seed = seed * 1664525 + 1013904223;
            word[i] = letters[(seed >> 20) % (sizeof letters - 1)];
            wanted[i] = mini.ids[(unsigned char)word[i]];
        }
        ids = encode(t, (qw_text){word, n}, true);
        check_ids(&ids, wanted, merge_plainly(wanted, n));
        qw_ids_free(&ids);
    }
    check_encode(t, "xyz", true, (int32_t[]){256 + 20, -1});
    check_encode(t, "kpqr", true, (int32_t[]){256 + 24, 256 + 22, -1});
    check_encode(t, "abcd", true, (int32_t[]){256 + 13, mini.ids['d'], -1});
    qw_tokenizer_free(t);
}

static void test_tokenizer_pieces_are_not_merged_across(void)
{
    qw_tokenizer *t = mini_tokenizer();

    check_encode(t, "", true, (int32_t[]){-1});
    check_encode(t, "12", true,
                 (int32_t[]){mini.ids['1'], mini.ids['2'], -1}); /* each number alone, whatever merges say */
    check_encode(t, " the", true, (int32_t[]){256 + 3, -1});
    check_encode(t, "hello\n\nhello", true, (int32_t[]){256 + 8, 256 + 9, 256 + 8, -1});
    check_encode(t, "n's", true, (int32_t[]){mini.ids['n'], 256 + 19, -1});
    check_encode(t, "e\xCC\x81", true, (int32_t[]){256 + 10, -1}); /* NFC, then the two bytes of U+00E9 */
    qw_tokenizer_free(t);
}

static void test_tokenizer_added_tokens_are_cut_out_first(void)
{
    qw_tokenizer *t = mini_tokenizer();
    const int32_t end = MINI_CONTROL + 2, lt = mini.ids['<'], call = MINI_USER;
    qw_ids ids;

    check_encode(t, "<|im_end|>", true, (int32_t[]){end, -1});
    check_encode(t, "aa<|im_end|>aa", true, (int32_t[]){256 + 4, end, 256 + 4, -1});
    check_encode(t, "<<|im_end|><|im_end|>", true, (int32_t[]){lt, end, end, -1});
    check_encode(t, "<|im_end|", true,
                 (int32_t[]){lt, mini.ids['|'], mini.ids['i'], mini.ids['m'], mini.ids['_'], mini.ids['e'],
                             mini.ids['n'], mini.ids['d'], mini.ids['|'], -1});
    check_encode(t, "<tool_call>", true, (int32_t[]){call, -1});
    check_encode(t, "<tool_call>", false, (int32_t[]){call, -1});
    check_encode(t, "aa<|im_end|>\xCC\xB8", true, (int32_t[]){256 + 4, end, mini.ids[0xCC], mini.ids[0xB8], -1});
    ids = encode(t, qw_text_of("<|im_end|>"), false);
    CHECK_EQ(ids.n, 10);
    CHECK_EQ(ids.v[0], lt);
    qw_ids_free(&ids);
    qw_tokenizer_free(t);
}

static void test_tokenizer_no_added_token_starts_at_a_blocked_place(void)
{
    static const char text[] = "<|im_start|>a<|im_end|><tool_call><|im_end|>";
    static const int32_t blocked[] = {-5, 2, 13, 14, 15, 23, 1000};
    const int32_t start = MINI_CONTROL + 1, end = MINI_CONTROL + 2;
    qw_encode_options options = {.parse_special = true, .blocked = blocked, .n_blocked = 7};
    qw_tokenizer *t = mini_tokenizer();
    int32_t every[sizeof text];
    qw_ids ids = {0};

    CHECK_EQ(qw_tokenizer_encode(t, qw_text_of(text), &options, &ids, NULL), QW_OK);
    CHECK_EQ(ids.n, 1 + 1 + 10 + 10 + 1); /* "ll" is a merge */
    CHECK_EQ(ids.v[0], start);
    CHECK_EQ(ids.v[2], mini.ids['<']);
    CHECK_EQ(ids.v[12], mini.ids['<']); /* 23 is blocked for the user-defined token too */
    CHECK_EQ(ids.v[22], end);
    ids.n = 0;
    for (size_t i = 0; i < sizeof text; i++) every[i] = (int32_t)i;
    options = (qw_encode_options){.parse_special = true, .blocked = every, .n_blocked = sizeof text};
    CHECK_EQ(qw_tokenizer_encode(t, qw_text_of(text), &options, &ids, NULL), QW_OK);
    for (size_t i = 0; i < ids.n; i++) CHECK(qw_tokenizer_type(t, ids.v[i]) != QW_TOKEN_CONTROL);
    qw_ids_free(&ids);
    qw_tokenizer_free(t);
}

static void test_tokenizer_ill_formed_text_counts_as_replacement_characters(void)
{
    static const struct {
        const char *text;
        size_t n, parts;
    } cases[] = {
        {"\xE2\x80", 2, 1}, {"\xFF\xFE", 2, 2}, {"\xC0\xAF", 2, 2}, {"\xED\xA0\x80", 3, 3}, {"\xF4\x90\x80\x80", 4, 4}};
    qw_tokenizer *t = mini_tokenizer();

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_ids ids = encode(t, (qw_text){cases[i].text, cases[i].n}, true);
        CHECK_EQ(ids.n, 3 * cases[i].parts);
        for (size_t k = 0; k < ids.n; k++) CHECK_EQ(ids.v[k], mini.ids[(unsigned char)"\xEF\xBF\xBD"[k % 3]]);
        qw_ids_free(&ids);
    }
    qw_tokenizer_free(t);
}

static void test_tokenizer_nul_is_a_byte_like_others(void)
{
    qw_tokenizer *t = mini_tokenizer();
    qw_ids ids = encode(t, (qw_text){"1\0aa", 4}, true);
    qw_buf text = decode(t, &ids, false);

    check_ids(&ids, (int32_t[]){mini.ids['1'], 188, 256 + 4}, 3);
    CHECK(same_text(&text, "1\0aa", 4));
    qw_buf_free(&text);
    qw_ids_free(&ids);
    qw_tokenizer_free(t);
}

/* Twice the text must not cost four times as much: a quadratic merger would not end within the test's time here. */
static void test_tokenizer_long_runs_encode_and_decode(void)
{
    static const struct {
        const char *unit;
        int32_t ids;
    } runs[] = {{"a", 125000},         {"_", 1000000},    {"\n", 500000},
                {" ", 1000000},        {"hello", 200000}, {"\xE4\xBD\xA0", 333333},
                {"\xCC\x81", 1000000}, {"<", 1000000},    {"<|im_end|>", 100000}};
    qw_tokenizer *t = mini_tokenizer();

    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        size_t unit = strlen(runs[i].unit);
        qw_status status = QW_OK;
        qw_buf text = {0}, back;
        qw_ids ids;
        while (text.n + unit <= 1000000 && !status) status = qw_buf_append(&text, runs[i].unit, unit, NULL);
        CHECK_EQ(status, QW_OK);
        ids = encode(t, (qw_text){text.bytes, text.n}, true);
        back = decode(t, &ids, false);
        CHECK_EQ(ids.n, runs[i].ids);
        CHECK(same_text(&back, text.bytes, text.n));
        qw_buf_free(&text);
        qw_buf_free(&back);
        qw_ids_free(&ids);
    }
    qw_tokenizer_free(t);
}

/* Every text of the fixture comes back as its NFC. */
static void check_round_trip(const qw_json *line, void *arg)
{
    qw_buf text = fixture_text(line), normal = {0}, back, back_normal = {0};
    qw_ids ids = encode(arg, (qw_text){text.bytes, text.n}, qw_json_bool(qw_json_get(line, "parse_special")));

    back = decode(arg, &ids, false);
    CHECK_EQ(qw_nfc_append((qw_text){text.bytes, text.n}, &normal, NULL), QW_OK);
    CHECK_EQ(qw_nfc_append((qw_text){back.bytes, back.n}, &back_normal, NULL), QW_OK);
    CHECK(same_text(&normal, back_normal.bytes, back_normal.n));
    qw_buf_free(&text);
    qw_buf_free(&normal);
    qw_buf_free(&back);
    qw_buf_free(&back_normal);
    qw_ids_free(&ids);
}

static void test_tokenizer_texts_of_the_fixture_round_trip(void)
{
    qw_tokenizer *t = mini_tokenizer();

    CHECK_EQ(fixture_each_line("tokenizer/encode.jsonl", check_round_trip, t), 4559);
    qw_tokenizer_free(t);
}

#define FFFD "\xEF\xBF\xBD"

static void test_tokenizer_skipped_tokens_do_not_break_a_character(void)
{
    qw_tokenizer *t = mini_tokenizer();
    int32_t v[] = {mini.ids[0xE4], MINI_CONTROL, mini.ids[0xBD], MINI_UNUSED, mini.ids[0xA0], MINI_USER};
    const qw_ids ids = {v, 6, 6};
    qw_buf skipped = decode(t, &ids, true), all = decode(t, &ids, false);

    CHECK(same_text(&skipped, "\xE4\xBD\xA0<tool_call>", 14));
    CHECK(same_text(&all, FFFD "<|endoftext|>" FFFD FFFD "<tool_call>", 33));
    qw_buf_free(&skipped);
    qw_buf_free(&all);
    qw_tokenizer_free(t);
}

static void test_tokenizer_encode_memory_failure_leaves_the_ids(void)
{
    const qw_encode_options options = {.parse_special = true};
    qw_tokenizer *t = mini_tokenizer();
    qw_text text = {0};
    qw_buf room = {0};
    qw_ids ids = {0};
    qw_error err;

    mini_append(&room, "hello e\xCC\x81 \xFF <|im_end|> ");
    for (int i = 0; i < 400; i++) mini_append(&room, "ab"); /* a piece that needs more room than those before */
    text = (qw_text){room.bytes, room.n};
    qw_alloc_test_fail(-1);
    CHECK_EQ(qw_tokenizer_encode(t, text, &options, &ids, &err), QW_OK);
    qw_ids_free(&ids);
    for (int64_t n = 0, made = qw_alloc_test_count(); n < made; n++) {
        int64_t live = qw_alloc_test_live();
        qw_alloc_test_fail(n);
        CHECK_EQ(qw_tokenizer_encode(t, text, &options, &ids, &err), QW_ERR_MEMORY);
        CHECK_EQ(ids.n, 0);
        qw_ids_free(&ids);
        CHECK_EQ(qw_alloc_test_live(), live);
    }
    qw_alloc_test_fail(-1);
    qw_buf_free(&room);
    qw_tokenizer_free(t);
}

int main(int argc, char **argv)
{
    fixture_init(argc, argv);
    mini_init(&mini);
    test_tokenizer_bytes_have_qwens_ids();
    test_tokenizer_ids_outside_the_vocabulary_are_unused_and_empty();
    test_tokenizer_merges_as_a_plain_merger_does();
    test_tokenizer_pieces_are_not_merged_across();
    test_tokenizer_added_tokens_are_cut_out_first();
    test_tokenizer_no_added_token_starts_at_a_blocked_place();
    test_tokenizer_ill_formed_text_counts_as_replacement_characters();
    test_tokenizer_nul_is_a_byte_like_others();
    test_tokenizer_long_runs_encode_and_decode();
    test_tokenizer_texts_of_the_fixture_round_trip();
    test_tokenizer_skipped_tokens_do_not_break_a_character();
    test_tokenizer_encode_memory_failure_leaves_the_ids();
    return check_done();
}
