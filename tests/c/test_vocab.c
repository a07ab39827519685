/* SPDX-License-Identifier: MIT
 * What is wrong with a vocabulary, and what its making costs where it is made to be slow. */
#include "base/alloc.h"
#include "check.h"
#include "mini_vocab.h"
#include "tokenizer/bpe.h"

static mini_vocab mini;

static void test_tokenizer_vocab_memory_failure_is_a_memory_error(void)
{
    qw_tokenizer *t;
    qw_error err;

    qw_alloc_test_fail(-1);
    CHECK_EQ(qw_tokenizer_from_vocab(&t, &mini.vocab, &err), QW_OK);
    qw_tokenizer_free(t);
    for (int64_t n = 0, made = qw_alloc_test_count(); n < made; n++) {
        int64_t live = qw_alloc_test_live();
        qw_status status;
        qw_alloc_test_fail(n);
        status = qw_tokenizer_from_vocab(&t, &mini.vocab, &err);
        CHECK(status == QW_ERR_MEMORY || (status == QW_OK && t)); /* the text's block may be refused its cut to size */
        qw_tokenizer_free(t);
        CHECK_EQ(qw_alloc_test_live(), live);
    }
    qw_alloc_test_fail(-1);
}

static void check_refused(const mini_vocab *m, qw_status wanted, const char *part, const char *other)
{
    qw_error err = {0};
    qw_tokenizer *t;

    CHECK_EQ(qw_tokenizer_from_vocab(&t, &m->vocab, &err), wanted);
    CHECK(!t);
    CHECK_HAS(err.text, part);
    CHECK_HAS(err.text, other);
    qw_tokenizer_free(t);
}

/* The index of texts while a tokenizer is built: FNV-1a, folded. */
static uint32_t hash_of_text(const char *text, size_t n)
{
    uint64_t hash = 0xCBF29CE484222325u;

    for (size_t i = 0; i < n; i++) hash = (hash ^ (unsigned char)text[i]) * 0x100000001B3u;
    return (uint32_t)(hash ^ hash >> 32);
}

enum { CRAFTED = 1200, CRAFTED_LETTERS = 5 };

/* Texts that all want the same place of the index: a million of them took hours. */
static void test_tokenizer_texts_made_to_collide_are_refused(void)
{
    static char texts[CRAFTED][CRAFTED_LETTERS];
    static qw_text tokens[256 + CRAFTED];
    mini_vocab m = mini;
    uint32_t found = 0;

    for (uint32_t i = 0; i < 256; i++) tokens[i] = mini.tokens[i];
    for (uint32_t i = 0; found < CRAFTED; i++) {
        for (int k = 0; k < CRAFTED_LETTERS; k++) texts[found][k] = (char)('!' + (i >> 6 * k & 63));
        if (hash_of_text(texts[found], CRAFTED_LETTERS) % 8192 != 4711) continue;
        tokens[256 + found] = (qw_text){texts[found], CRAFTED_LETTERS};
        found++;
    }
    m.vocab = (qw_vocab){tokens, NULL, 256 + CRAFTED, m.merges, MINI_MERGES};
    check_refused(&m, QW_ERR_FORMAT, "made to collide", "steps");
}

/* The same for the table of merges, in which every pair of a text is looked up. */
static void test_bpe_merges_made_to_collide_are_refused(void)
{
    qw_bpe bpe = {0};
    uint32_t put = 0;
    bool taken = true;

    CHECK_EQ(qw_bpe_init(&bpe, CRAFTED, NULL), QW_OK);
    for (uint32_t right = 0; taken && put < CRAFTED; right++) {
        uint64_t key = ((uint64_t)1 << 32 | right) * 0x9E3779B97F4A7C15u;
        if (((uint32_t)(key >> 32 ^ key >> 15) & (bpe.n_slots - 1)) != 99) continue;
        taken = qw_bpe_put(&bpe, &(qw_merge){1, right, put, 2});
        put += taken;
    }
    CHECK(!taken);
    CHECK(put > 200 && put < 1000);
    qw_bpe_free(&bpe);
}

static void test_tokenizer_added_tokens_have_a_sane_length(void)
{
    static char text[2000];
    mini_vocab m = mini;

    memset(text, 'x', sizeof text);
    m.vocab = (qw_vocab){m.tokens, m.types, MINI_TOKENS, m.merges, MINI_MERGES};
    m.tokens[MINI_USER] = (qw_text){text, sizeof text};
    check_refused(&m, QW_ERR_FORMAT, "2000 bytes", "at most 1024");
}

static void test_tokenizer_bad_vocabularies_are_format_errors_that_name_the_entry(void)
{
    mini_vocab m = mini;

    m.vocab = (qw_vocab){m.tokens, m.types, MINI_TOKENS, m.merges, MINI_MERGES};
    m.tokens[260] = m.tokens[256];
    check_refused(&m, QW_ERR_FORMAT, "256 and 260", "\"he\"");
    m.tokens[260] = mini.tokens[260];
    m.tokens[38] = (qw_text){"", 0};
    check_refused(&m, QW_ERR_FORMAT, "\"G\"", "0x47");
    m.tokens[38] = mini.tokens[38];
    m.types[258] = QW_TOKEN_UNUSED;
    check_refused(&m, QW_ERR_FORMAT, "merge 2", "what they make");
    m.types[258] = 7;
    check_refused(&m, QW_ERR_FORMAT, "token 258", "type 7");
    m.types[258] = -2;
    check_refused(&m, QW_ERR_FORMAT, "token 258", "type -2");
    m.types[258] = QW_TOKEN_BYTE;
    check_refused(&m, QW_ERR_FORMAT, "token 258", "type 6");
    m.types[258] = QW_TOKEN_NORMAL;
    m.tokens[MINI_USER] = (qw_text){"\xE4\xBD", 2};
    check_refused(&m, QW_ERR_FORMAT, "added token 285", "UTF-8");
    m.tokens[MINI_USER] = mini.tokens[MINI_USER];
    m.vocab.n_merges = 0;
    check_refused(&m, QW_ERR_FORMAT, "no merges", "");
    m.vocab.n_merges = MINI_MERGES;
    m.vocab.n_tokens = 0;
    check_refused(&m, QW_ERR_FORMAT, "0 tokens", "1048576");
    m.vocab.n_tokens = ((size_t)1 << 20) + 1;
    check_refused(&m, QW_ERR_FORMAT, "1048577 tokens", "1048576");
}

static void test_tokenizer_bad_merges_are_format_errors_that_name_the_index(void)
{
    static const struct {
        const char *merge, *part;
    } bad[] = {
        {NULL, "merge 5 is \"\""},
        {"", "merge 5 is \"\""},
        {"aaaa", "merge 5 is \"aaaa\""},
        {"aa  aa", "merge 5 is \"aa  aa\""},
        {"a a a", "merge 5"},
        {" aa", "the first"},
        {"aa ", "the second"},
        {"aa bb", "the second"},
        {"bb aa", "the first"},
        {"a b", "what they make"},
        {"\xFF a", "merge 5"},
    };
    mini_vocab m = mini;

    m.vocab.merges = m.merges;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        m.merges[5] = bad[i].merge ? qw_text_of(bad[i].merge) : (qw_text){NULL, 0};
        check_refused(&m, QW_ERR_FORMAT, bad[i].part, "merge 5");
    }
}

int main(void)
{
    mini_init(&mini);
    test_tokenizer_vocab_memory_failure_is_a_memory_error();
    test_tokenizer_texts_made_to_collide_are_refused();
    test_bpe_merges_made_to_collide_are_refused();
    test_tokenizer_added_tokens_have_a_sane_length();
    test_tokenizer_bad_vocabularies_are_format_errors_that_name_the_entry();
    test_tokenizer_bad_merges_are_format_errors_that_name_the_index();
    return check_done();
}
