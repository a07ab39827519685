/* SPDX-License-Identifier: MIT
 * tokenizer.json: ids of the reference for a file of the fixtures, both spellings of merges, options of added tokens, parts
 * that ask for another tokenizer, and files with faults of every kind. */
#include "base/alloc.h"
#include "check.h"
#include "fixture.h"
#include "mini_vocab.h"
#include "tokenizer/tokenizer_json.h"

static mini_vocab mini;

static qw_tokenizer *from_json(const qw_buf *json)
{
    qw_tokenizer *t;
    qw_error err = {0};

    CHECK_EQ(qw_tokenizer_from_json(&t, (qw_text){json->bytes, json->n}, &err), QW_OK);
    CHECK_STR(err.text, "");
    return t;
}

static qw_ids encode(const qw_tokenizer *t, const char *text, bool parse_special)
{
    const qw_encode_options options = {.parse_special = parse_special};
    qw_ids ids = {0};

    CHECK_EQ(qw_tokenizer_encode(t, qw_text_of(text), &options, &ids, NULL), QW_OK);
    return ids;
}

/* Wanted ids end with -1. */
static void check_encode(const qw_tokenizer *t, const char *text, bool parse_special, const int32_t *wanted)
{
    qw_ids ids = encode(t, text, parse_special);
    size_t n = 0;

    for (; wanted[n] >= 0; n++) CHECK_EQ(n < ids.n ? ids.v[n] : -1, wanted[n]);
    CHECK_EQ(ids.n, n);
    qw_ids_free(&ids);
}

/* Ids by tokenizers 0.23.3 from the same file. */
static void test_tokenizer_json_gives_the_references_ids(void)
{
    static const struct {
        const char *text;
        bool parse_special;
        int32_t ids[32];
    } cases[] = {
        {"It is a truth universally acknowledged", true, {40,  83, 375, 258, 256, 81,  325, 71,  476, 72,  308, 82,
                                                          409, 88, 258, 66,  74,  460, 75,  274, 70,  274, -1}},
        {"  two  blanks\n\n\nand 1234\t\xC2\xBD", false, {220, 256, 86,  78, 220, 269, 75, 295, 74,  82,  321,
                                                          198, 446, 220, 16, 17,  18,  19, 197, 126, 121, -1}},
        {"<|im_start|>user\nhi<|im_end|>\n", true, {510, 480, 268, 198, 71, 72, 511, 198, -1}},
        {"<|im_start|>user\nhi<|im_end|>\n", false, {27, 91, 320, 62,  312, 414, 91,  29, 480, 268, 198, 71,
                                                     72, 27, 91,  320, 62,  68,  266, 91, 29,  198, -1}},
        {"cafe\xCC\x81 na\xC3\xAFve \xE4\xBD\xA0\xE5\xA5\xBD\xEF\xBC\x8C",
         true,
         {66, 64, 69, 127, 102, 286, 64, 127, 107, 310, 220, 160, 121, 254, 161, 98, 121, 171, 120, 234, -1}},
        {"don't DON'T they'Re", true, {67, 276, 6, 83, 220, 35, 46, 45, 6, 51, 438, 6, 49, 68, -1}},
        {"<|im_end|>\xCC\xB8", false, {27, 91, 320, 62, 68, 266, 91, 158, 231, 107, -1}},
    };
    qw_buf json = fixture_read("checkpoints/mha/tokenizer.json");
    qw_tokenizer *t = from_json(&json);

    CHECK_EQ(qw_tokenizer_n_ids(t), 512);
    CHECK_EQ(qw_tokenizer_added_id(t, qw_text_of("<|im_end|>")), 511);
    CHECK_EQ(qw_tokenizer_type(t, 511), QW_TOKEN_CONTROL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check_encode(t, cases[i].text, cases[i].parse_special, cases[i].ids);
    qw_tokenizer_free(t);
    qw_buf_free(&json);
}

static void check_same_line(const qw_json *line, void *arg)
{
    qw_tokenizer *const *both = arg;
    qw_buf text = fixture_text(line);
    const qw_encode_options options = {.parse_special = qw_json_bool(qw_json_get(line, "parse_special"))};
    qw_ids a = {0}, b = {0};

    CHECK_EQ(qw_tokenizer_encode(both[0], (qw_text){text.bytes, text.n}, &options, &a, NULL), QW_OK);
    CHECK_EQ(qw_tokenizer_encode(both[1], (qw_text){text.bytes, text.n}, &options, &b, NULL), QW_OK);
    CHECK(a.n == b.n && (!a.n || memcmp(a.v, b.v, a.n * sizeof *a.v) == 0));
    qw_ids_free(&a);
    qw_ids_free(&b);
    qw_buf_free(&text);
}

/* Whatever way the file is written, it is the tokenizer that GGUF's keys make. */
static void test_tokenizer_json_spellings_make_the_same_tokenizer(void)
{
    for (int i = 0; i < 8; i++) {
        qw_buf json = mini_json(&mini, (mini_json_options){(i & 1) > 0, (i & 2) > 0, (i & 4) > 0});
        qw_tokenizer *both[2] = {from_json(&json), NULL};
        CHECK_EQ(qw_tokenizer_from_vocab(&both[1], &mini.vocab, NULL), QW_OK);
        CHECK_EQ(qw_tokenizer_n_ids(both[0]), qw_tokenizer_n_ids(both[1]));
        for (int32_t id = 0; id < MINI_TOKENS; id++) {
            qw_text a = qw_tokenizer_token_bytes(both[0], id), b = qw_tokenizer_token_bytes(both[1], id);
            CHECK(a.n == b.n && memcmp(a.bytes, b.bytes, a.n) == 0);
            CHECK_EQ(qw_tokenizer_type(both[0], id), qw_tokenizer_type(both[1], id));
        }
        CHECK_EQ(fixture_each_line("tokenizer/encode.jsonl", check_same_line, both), 4559);
        qw_tokenizer_free(both[0]);
        qw_tokenizer_free(both[1]);
        qw_buf_free(&json);
    }
}

/* The mini file with the first `old` replaced. qw_buf_free. */
static qw_buf changed(const char *old, const char *new)
{
    qw_buf json = mini_json(&mini, (mini_json_options){.pairs = true}), out = {0};
    const char *at = strstr(json.bytes, old);

    CHECK(at);
    if (at) {
        CHECK_EQ(qw_buf_append(&out, json.bytes, (size_t)(at - json.bytes), NULL), QW_OK);
        mini_append(&out, new);
        mini_append(&out, at + strlen(old));
        CHECK_EQ(qw_buf_append(&out, "", 1, NULL), QW_OK);
        out.n--;
    }
    qw_buf_free(&json);
    return out;
}

static void check_change(const char *old, const char *new, qw_status wanted, const char *part)
{
    qw_buf json = changed(old, new);
    qw_error err = {0};
    qw_tokenizer *t;
    qw_status status = qw_tokenizer_from_json(&t, (qw_text){json.bytes, json.n}, &err);

    if (status != wanted) printf("%s -> %s: %s\n", old, new, err.text);
    CHECK_EQ(status, wanted);
    CHECK_HAS(err.text, part);
    CHECK_EQ(!t, wanted != QW_OK);
    qw_tokenizer_free(t);
    qw_buf_free(&json);
}

/* One change each of a file that is read. */
static const struct {
    const char *old, *new, *part;
} format_faults[] = {
    {"{\"version\"", "[{\"version\"", "tokenizer.json"},
    {"\"G\": 38", "\"G\": -1", "\"G\" is -1"},
    {"\"G\": 38", "\"G\": 38.5", "\"G\" is 38.5"},
    {"\"G\": 38", "\"G\": 1e3", "\"G\" is 1e3"},
    {"\"G\": 38", "\"G\": 4294967296", "\"G\" is 4294967296"},
    {"\"G\": 38", "\"G\": 1048576", "0 to 1048575"},
    {"\"G\": 38", "\"G\": 99999999999999999999", "\"G\" is 9999"},
    {"\"G\": 38", "\"G\": \"38\"", "an id of model.vocab"},
    {"\"G\": 38", "\"G\": [38]", "an id of model.vocab"},
    {"\"G\": 38", "\"G\": 39", "\"G\" and \"H\" both have id 39"},
    {"\"G\": 38", "\"x\": 38", "both \"x\""},
    {"\"G\": 38", "\"GG\": 38", "0x47"},
    {"\"vocab\": {", "\"vocab\": [], \"v\": {", "model.vocab, an object"},
    {"\"vocab\": {", "\"v\": {", "model.vocab is missing"},
    {"\"merges\": [", "\"m\": [", "model.merges is missing"},
    {"\"merges\": [", "\"merges\": [], \"m\": [", "no merges"},
    {"\"merges\": [", "\"merges\": {}, \"m\": [", "model.merges, an array"},
    {"\"merges\": [[\"h\", \"e\"]", "\"merges\": [[\"h\", \"e\"], 7", "merge 1 is neither"},
    {"\"merges\": [[\"h\", \"e\"]", "\"merges\": [[\"h\", \"e\", \"l\"]", "merge 0 is neither"},
    {"\"merges\": [[\"h\", \"e\"]", "\"merges\": [[\"h\"]", "merge 0 is neither"},
    {"\"merges\": [[\"h\", \"e\"]", "\"merges\": [[]", "merge 0 is neither"},
    {"\"merges\": [[\"h\", \"e\"]", "\"merges\": [[\"h\", 5]", "merge 0 is neither"},
    {"\"merges\": [[\"h\", \"e\"]", "\"merges\": [{\"h\": \"e\"}", "merge 0 is neither"},
    {"\"merges\": [[\"h\", \"e\"]", "\"merges\": [null", "merge 0 is neither"},
    {"\"merges\": [[\"h\", \"e\"]", "\"merges\": [\"he\"", "merge 0 is \"he\""},
    {"\"merges\": [[\"h\", \"e\"]", "\"merges\": [\"h e l\"", "merge 0 is \"h e l\""},
    {"\"merges\": [[\"h\", \"e\"]", "\"merges\": [[\"h\", \"z\"]", "what they make is not in the vocabulary"},
    {"\"merges\": [[\"h\", \"e\"]", "\"merges\": [[\"\", \"he\"]", "the first is not in the vocabulary"},
    {"\"added_tokens\": [{", "\"added_tokens\": [5, {", "what is no object"},
    {"\"added_tokens\": [{", "\"added_tokens\": {\"x\": {", "added_tokens, an array"},
    {"\"id\": 282, ", "", "no \"id\""},
    {"\"id\": 282, ", "\"id\": 283, ", "has id 283, and so has"},
    {"\"id\": 282, ", "\"id\": 38, ", "has id 38, and so has \"G\""},
    {"\"id\": 282, ", "\"id\": -3, ", "is -3"},
    {"\"id\": 282, ", "\"id\": \"a\", ", "the id of an added token"},
    {"\"content\": \"<|endoftext|>\", ", "", "no \"content\""},
    {"\"content\": \"<|endoftext|>\", ", "\"content\": 5, ", "the content of an added token"},
    {"\"content\": \"<|endoftext|>\", ", "\"content\": \"<|im_end|>\", ", "both \"<|im_end|>\""},
    {"\"content\": \"<|endoftext|>\", ", "\"content\": \"hello\", ", "both \"hello\""},
    {"\"content\": \"<|endoftext|>\", ", "\"content\": \"a\xFF\", ", "added token 282 is not UTF-8"},
    {"\"special\": true", "\"special\": 1", "\"special\" of an added token must be true or false"},
    {"\"model\": {", "\"model\": [], \"n\": {", "model, an object"},
    {"}}\n", "}}\n{}", "the end of the text"},
};

static void test_tokenizer_json_faults_are_format_errors_that_name_them(void)
{
    for (size_t i = 0; i < sizeof format_faults / sizeof *format_faults; i++)
        check_change(format_faults[i].old, format_faults[i].new, QW_ERR_FORMAT, format_faults[i].part);
}

static void test_tokenizer_json_of_another_kind_is_a_model_error_that_names_it(void)
{
    static const struct {
        const char *old, *new, *part;
    } other[] = {
        {"\"type\": \"BPE\"", "\"type\": \"WordPiece\"", "model.type is \"WordPiece\""},
        {"\"dropout\": null", "\"dropout\": 0.1", "model.dropout is 0.1"},
        {"\"continuing_subword_prefix\": \"\"", "\"continuing_subword_prefix\": \"##\"", "continuing_subword_prefix"},
        {"\"end_of_word_suffix\": \"\"", "\"end_of_word_suffix\": \"</w>\"", "end_of_word_suffix"},
        {"\"ignore_merges\": false", "\"ignore_merges\": true", "model.ignore_merges is true"},
        {"{\"type\": \"NFC\"}", "{\"type\": \"NFKC\"}", "normalizer is \"NFKC\""},
        {"{\"type\": \"NFC\"}", "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"Lowercase\"}]}", "Lowercase"},
        {"{\"type\": \"NFC\"}", "7", "normalizer is \"\""},
        {"\"pre_tokenizer\"", "\"pre_tokenizer\": null, \"p\"", "pre_tokenizer"},
        {"\"pre_tokenizer\"", "\"p\"", "pre_tokenizer"},
        {"\"type\": \"Split\"", "\"type\": \"Digits\"", "Digits"},
        {"}, {\"type\": \"ByteLevel\", \"add", "}, {\"type\": \"Metaspace\", \"add", "Metaspace"},
        {"|\\\\p{N}|", "|\\\\p{N}{1,3}|", "the pattern of pre_tokenizer"},
        {"\"Isolated\"", "\"Removed\"", "Removed"},
        {"\"invert\": false", "\"invert\": true", "invert"},
        {"\"add_prefix_space\": false", "\"add_prefix_space\": true", "add_prefix_space"},
        {"\"use_regex\": false", "\"use_regex\": true", "use_regex"},
        {", \"use_regex\": false", "", "use_regex"},
        {"\"post_processor\": {\"type\": \"ByteLevel\"", "\"post_processor\": {\"type\": \"BertProcessing\"",
         "BertProcessing"},
        {"\"post_processor\": {\"type\": \"ByteLevel\"",
         "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"SpecialToken\": {\"id\": \"x\"}}]",
         "adds tokens"},
        {"\"post_processor\": {\"type\": \"ByteLevel\"",
         "\"post_processor\": {\"type\": \"Sequence\", \"processors\": [{\"type\": \"ByteLevel\"}, {\"type\": \"X\"}]",
         "\"X\""},
        {"\"decoder\": {\"type\": \"ByteLevel\"}", "\"decoder\": {\"type\": \"WordPiece\"}",
         "decoder is \"WordPiece\""},
        {"\"single_word\": false", "\"single_word\": true", "single_word"},
        {"\"content\": \"<tool_call>\", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": "
         "false",
         "\"content\": \"e\xCC\x81\", \"normalized\": true", "not in NFC"},
    };

    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        check_change(other[i].old, other[i].new, QW_ERR_MODEL, other[i].part);
}

static void test_tokenizer_json_variants_are_accepted(void)
{
    static const struct {
        const char *old, *new;
    } fine[] = {
        {"\"type\": \"BPE\", ", ""},
        {"\"continuing_subword_prefix\": \"\"", "\"continuing_subword_prefix\": null"},
        {"{\"type\": \"NFC\"}", "{\"type\": \"Sequence\", \"normalizers\": [{\"type\": \"NFC\"}]}"},
        {"\"post_processor\": {\"type\": \"ByteLevel\"", "\"post_processor\": null, \"p\": {\"type\": \"ByteLevel\""},
        {"\"post_processor\": {\"type\": \"ByteLevel\"",
         "\"post_processor\": {\"type\": \"TemplateProcessing\", \"single\": [{\"Sequence\": {\"id\": \"A\"}}]"},
        {"\"G\": 38", "\"G\" :\n38 "},
        {"\"version\"", "\"unknown\": [{\"a\": [[]]}], \"version\""},
        {"\"added_tokens\": [", "\"added_tokens\": [{\"content\": \"\", \"id\": 300, \"special\": true}, "},
        {"\"content\": \"<|endoftext|>\"", "\"content\": \"\\u0000<|endoftext|>\""},
    };

    for (size_t i = 0; i < sizeof fine / sizeof *fine; i++) check_change(fine[i].old, fine[i].new, QW_OK, "");
}

static void test_tokenizer_json_without_normalizer_leaves_text_alone(void)
{
    qw_buf json = changed("{\"type\": \"NFC\"}", "null");
    qw_tokenizer *t = from_json(&json);

    check_encode(t, "e\xCC\x81", true, (int32_t[]){mini.ids['e'], mini.ids[0xCC], mini.ids[0x81], -1});
    check_encode(t, "\xE4\xBD", true, (int32_t[]){mini.ids[0xEF], mini.ids[0xBF], mini.ids[0xBD], -1});
    qw_tokenizer_free(t);
    qw_buf_free(&json);
}

/* lstrip and rstrip take white space into the token; a normalized token is found after NFC only. */
static void test_tokenizer_json_options_of_added_tokens(void)
{
    static const char plain[] =
        "\"content\": \"<tool_call>\", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
        "\"normalized\": false";
    const int32_t call = MINI_USER, aa = 260, mark = mini.ids[0xCC], blank = mini.ids[' '];
    qw_buf json = changed(plain, "\"content\": \"<tool_call>\", \"lstrip\": true, \"rstrip\": true");
    qw_tokenizer *t = from_json(&json);

    check_encode(t, "aa \xE3\x80\x80<tool_call>\n\n aa", true, (int32_t[]){aa, call, aa, -1});
    check_encode(t, "  <tool_call>  <tool_call>  ", true, (int32_t[]){call, call, -1});
    check_encode(t, "aa\xE3\x80<tool_call>", false,
                 (int32_t[]){aa, mini.ids[0xEF], mini.ids[0xBF], mini.ids[0xBD], call, -1});
    qw_tokenizer_free(t);
    qw_buf_free(&json);
    json = changed(plain, "\"content\": \"<tool_call>\", \"normalized\": true");
    t = from_json(&json);
    check_encode(t, "aa<tool_call> aa", false, (int32_t[]){aa, call, blank, aa, -1});
    CHECK_EQ(qw_tokenizer_added_id(t, qw_text_of("<tool_call>")), call);
    qw_tokenizer_free(t);
    qw_buf_free(&json);
    json = changed(plain, "\"content\": \"e>\", \"normalized\": true");
    t = from_json(&json);
    check_encode(t, "e>\xCC\x96", false, (int32_t[]){call, mark, mini.ids[0x96], -1});
    check_encode(t, "e>\xCC\xB8", false, /* U+226F: no > is left */
                 (int32_t[]){mini.ids['e'], mini.ids[0xE2], mini.ids[0x89], mini.ids[0xAF], -1});
    qw_tokenizer_free(t);
    qw_buf_free(&json);
}

static void test_tokenizer_json_the_longest_added_token_wins(void)
{
    qw_buf json = changed("\"added_tokens\": [", "\"added_tokens\": [{\"content\": \"<tool\", \"id\": 300}, "
                                                 "{\"content\": \"end|>\", \"id\": 301}, ");
    qw_tokenizer *t = from_json(&json);
    const qw_encode_options options = {.parse_special = true, .blocked = (int32_t[]){0}, .n_blocked = 1};
    qw_ids ids = {0};

    check_encode(t, "<tool_call><tool_<tool", true, (int32_t[]){MINI_USER, 300, mini.ids['_'], 300, -1});
    check_encode(t, "<|im_end|>end|>", true, (int32_t[]){MINI_CONTROL + 2, 301, -1});
    ids = encode(t, "<|im_end|>", false); /* a control token that is not wanted hides what begins inside it */
    CHECK_EQ(ids.n, 10);
    qw_ids_free(&ids);
    CHECK_EQ(qw_tokenizer_encode(t, qw_text_of("<|im_end|>"), &options, &ids, NULL),
             QW_OK); /* a blocked one does not */
    CHECK_EQ(ids.n, 6);
    CHECK_EQ(ids.n ? ids.v[ids.n - 1] : -1, 301);
    qw_ids_free(&ids);
    qw_tokenizer_free(t);
    qw_buf_free(&json);
}

/* An added token that the vocabulary has too keeps its id, and merges still lead to it. */
static void test_tokenizer_json_added_token_may_be_in_the_vocabulary(void)
{
    qw_buf json =
        changed("\"added_tokens\": [", "\"added_tokens\": [{\"content\": \"hello\", \"id\": 264, \"special\": true}, ");
    qw_tokenizer *t = from_json(&json);

    CHECK_EQ(qw_tokenizer_type(t, 264), QW_TOKEN_CONTROL);
    check_encode(t, "hellohello", true, (int32_t[]){264, 264, -1});
    check_encode(t, "hello", false, (int32_t[]){264, -1});
    qw_tokenizer_free(t);
    qw_buf_free(&json);
}

static void test_tokenizer_json_every_prefix_is_a_format_error(void)
{
    qw_buf json = mini_json(&mini, (mini_json_options){.escapes = false});
    size_t whole = json.n - 1; /* without the last newline it is whole */
    int64_t wrong = 0;

    for (size_t n = 0; n < whole; n++) {
        char *exact = qw_calloc(n, 1);
        qw_tokenizer *t;
        memcpy(exact, json.bytes, n);
        wrong += qw_tokenizer_from_json(&t, (qw_text){exact, n}, NULL) != QW_ERR_FORMAT || t;
        qw_free(exact);
    }
    CHECK_EQ(wrong, 0);
    qw_buf_free(&json);
}

/* One byte changed, everywhere: whatever it is taken for, nothing is read outside, and what loads can be used. */
static void test_tokenizer_json_changed_bytes_do_no_harm(void)
{
    static const char values[] = {'"', '\\', '0', '-', '[', '}', ',', ' ', 'e', '\xFF', 0};
    qw_buf json = mini_json(&mini, (mini_json_options){.pairs = true});
    int64_t loaded = 0, refused = 0;

    for (size_t i = 0; i < json.n; i++) {
        char kept = json.bytes[i];
        qw_tokenizer *t;
        qw_error err;
        qw_status status;
        json.bytes[i] = values[i % sizeof values];
        status = qw_tokenizer_from_json(&t, (qw_text){json.bytes, json.n}, &err);
        CHECK(status == QW_OK || status == QW_ERR_FORMAT || status == QW_ERR_MODEL);
        refused += status != QW_OK;
        if (t) {
            qw_ids ids = encode(t, "hello <tool_call> e\xCC\x81", true);
            loaded += ids.n > 0;
            qw_ids_free(&ids);
        }
        qw_tokenizer_free(t);
        json.bytes[i] = kept;
    }
    CHECK(loaded > 100 && refused > 1000);
    qw_buf_free(&json);
}

static void test_tokenizer_json_memory_failure_is_a_memory_error(void)
{
    qw_buf json = mini_json(&mini, (mini_json_options){.pairs = true, .escapes = true});
    qw_tokenizer *t;
    qw_error err;

    qw_alloc_test_fail(-1);
    CHECK_EQ(qw_tokenizer_from_json(&t, (qw_text){json.bytes, json.n}, &err), QW_OK);
    qw_tokenizer_free(t);
    for (int64_t n = 0, made = qw_alloc_test_count(); n < made; n++) {
        int64_t live = qw_alloc_test_live();
        qw_status status;
        qw_alloc_test_fail(n);
        status = qw_tokenizer_from_json(&t, (qw_text){json.bytes, json.n}, &err);
        CHECK(status == QW_ERR_MEMORY || (status == QW_OK && t)); /* the text's block may be refused its cut to size */
        qw_tokenizer_free(t);
        CHECK_EQ(qw_alloc_test_live(), live);
    }
    qw_alloc_test_fail(-1);
    qw_buf_free(&json);
}

int main(int argc, char **argv)
{
    fixture_init(argc, argv);
    mini_init(&mini);
    test_tokenizer_json_gives_the_references_ids();
    test_tokenizer_json_spellings_make_the_same_tokenizer();
    test_tokenizer_json_faults_are_format_errors_that_name_them();
    test_tokenizer_json_of_another_kind_is_a_model_error_that_names_it();
    test_tokenizer_json_variants_are_accepted();
    test_tokenizer_json_without_normalizer_leaves_text_alone();
    test_tokenizer_json_options_of_added_tokens();
    test_tokenizer_json_the_longest_added_token_wins();
    test_tokenizer_json_added_token_may_be_in_the_vocabulary();
    test_tokenizer_json_every_prefix_is_a_format_error();
    test_tokenizer_json_changed_bytes_do_no_harm();
    test_tokenizer_json_memory_failure_is_a_memory_error();
    return check_done();
}
