/* SPDX-License-Identifier: MIT
 * Stop strings and the release of text. 5,000 random rows over two vocabularies against the twin (stop_twin.h), then
 * Transformers' own cases (fixtures/stopping), and by hand what users met elsewhere.
 * Usage: test_stop [FIXTURES [GGUF]]; else $QW_FIXTURES, else tests/fixtures, and models/austen-tiny-q8_0.gguf. */
#include "base/alloc.h"
#include "files/gguf_values.h"
#include "base/json.h"
#include "generation/sampler.h"
#include "stop_twin.h"
#include "tokenizer/tokenizer_json.h"
#include "tokenizer/tokenizer_vocab.h"

#include <stdlib.h>

static const char *fixtures = "tests/fixtures", *model_path = "models/austen-tiny-q8_0.gguf";

static qw_rng dice;

static int32_t roll(int32_t n)
{
    return (int32_t)(qw_rng_uniform(&dice) * n);
}

static qw_buf read_all(const char *path)
{
    FILE *file = fopen(path, "rb");
    qw_buf text = {0};
    char chunk[65536];

    CHECK(file != NULL);
    for (size_t n; file && (n = fread(chunk, 1, sizeof chunk, file)) > 0;)
        CHECK_EQ(qw_buf_append(&text, chunk, n, NULL), QW_OK);
    if (file) fclose(file);
    return text;
}

/* Few letters, so that stop strings begin often; characters of 2 to 4 bytes in pieces; special and other added tokens.
 * */
static qw_tokenizer *made_up(void)
{
    static const char source[] = "abba\xc3\xa9 ab\xe2\x82\xac"
                                 "a\xf0\x9f\x98\x82 <|";
    static pool p;

    pool_start(&p);
    for (int32_t i = 0; i < 200; i++) {
        size_t at = (size_t)roll((int32_t)sizeof source - 6);

        pool_add(&p, source + at, 2 + (size_t)roll(4), QW_TOKEN_NORMAL);
    }
    pool_add(&p, "<|im_end|>", 10, QW_TOKEN_CONTROL);
    pool_add(&p, "<ab>", 4, QW_TOKEN_CONTROL);
    pool_add(&p, "<a", 2, QW_TOKEN_USER_DEFINED);
    return pool_build(&p);
}

static qw_tokenizer *from_gguf(const char *path)
{
    qw_buf bytes = read_all(path);
    qw_gguf_source source = {{bytes.bytes, bytes.n}, bytes.n, 0, path};
    qw_gguf g = {0};
    qw_tensors tensors = {0};
    qw_text *tokens = NULL, *merges = NULL;
    int32_t *types = NULL;
    qw_vocab vocab = {0};
    qw_tokenizer *t = NULL;
    uint64_t need = 0;
    size_t n_types = 0;

    if (bytes.n == 0) return NULL;
    CHECK_EQ(qw_gguf_parse(&g, &source, &tensors, &need, NULL), QW_OK);
    CHECK_EQ(qw_gguf_get_texts(&g, "tokenizer.ggml.tokens", &tokens, &vocab.n_tokens, NULL), QW_OK);
    CHECK_EQ(qw_gguf_get_texts(&g, "tokenizer.ggml.merges", &merges, &vocab.n_merges, NULL), QW_OK);
    CHECK_EQ(qw_gguf_get_ints(&g, "tokenizer.ggml.token_type", &types, &n_types, NULL), QW_OK);
    CHECK_EQ(n_types, vocab.n_tokens);
    vocab.tokens = tokens;
    vocab.merges = merges;
    vocab.types = types;
    CHECK_EQ(qw_tokenizer_from_vocab(&t, &vocab, NULL), QW_OK);
    qw_free(tokens);
    qw_free(merges);
    qw_free(types);
    qw_gguf_free(&g);
    qw_tensors_free(&tensors);
    qw_buf_free(&bytes);
    return t;
}

/* A stop string: a piece of what will be seen, such a piece with another end, or letters. */
static void roll_stop(qw_buf *out, const seen *x)
{
    static const char letters[] = "ab<|\xc3\xa9\xe2\x82\xac ";
    size_t n = 1 + (size_t)roll(roll(4) ? 6 : 30);

    *out = (qw_buf){0};
    if (x->bytes.n > 0 && roll(5)) {
        size_t at = (size_t)roll((int32_t)x->bytes.n);

        if (n > x->bytes.n - at) n = x->bytes.n - at;
        CHECK_EQ(qw_buf_append(out, x->bytes.bytes + at, n, NULL), QW_OK);
        if (roll(3) == 0) out->bytes[n - 1] = letters[roll((int32_t)sizeof letters - 1)];
        return;
    }
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(qw_buf_append(out, &letters[roll((int32_t)sizeof letters - 1)], 1, NULL), QW_OK);
}

static void test_random(const qw_tokenizer *t, int32_t n_samples)
{
    int32_t n_ids = qw_tokenizer_n_ids(t), n_stopped = 0, n_with_stops = 0;

    for (int32_t k = 0; k < n_samples; k++) {
        sample s = {.skip_special = roll(2), .n_prompt = roll(6)};
        seen x;

        s.n = s.n_prompt + 1 + roll(MAX_IDS - 6);
        for (int32_t i = 0; i < s.n; i++) s.ids[i] = roll(12) ? roll(n_ids) : n_ids - 1 - roll(4);
        look(&x, t, &s);
        s.n_stops = roll(3) ? 1 + roll(MAX_STOPS) : 0;
        for (int32_t i = 0; i < s.n_stops; i++) roll_stop(&s.stops[i], &x);
        n_with_stops += s.n_stops > 0;
        n_stopped += check_sample(t, &s);
        for (int32_t i = 0; i < s.n_stops; i++) qw_buf_free(&s.stops[i]);
        qw_buf_free(&x.bytes);
        qw_buf_free(&x.shown);
    }
    /* Both outcomes are met often, or the test shows little. */
    CHECK(n_stopped > n_with_stops / 10 && n_stopped < n_with_stops * 99 / 100);
}

/* Tokens as texts ("" ends them; the first n_prompt are the prompt), stop strings likewise: what each push releases,
 * joined by '|', then what finish does; '!' where it stopped. */
static void stream(const char *const *tokens, int32_t n_prompt, const char *const *stop, const char *wanted)
{
    static pool p;
    sample s = {.n_prompt = n_prompt};
    qw_tokenizer *t;
    qw_stops *stops;
    qw_row_text r = {0};
    qw_buf got = {0};

    pool_start(&p);
    for (; *tokens[s.n]; s.n++) s.ids[s.n] = pool_add(&p, tokens[s.n], strlen(tokens[s.n]), QW_TOKEN_NORMAL);
    for (; *stop[s.n_stops]; s.n_stops++)
        CHECK_EQ(qw_buf_append(&s.stops[s.n_stops], stop[s.n_stops], strlen(stop[s.n_stops]), NULL), QW_OK);
    t = pool_build(&p);
    stops = pack(&s);
    CHECK_EQ(qw_row_text_start(&r, stops, t, s.ids, (size_t)n_prompt, NULL), QW_OK);
    for (int32_t i = n_prompt; i < s.n; i++) {
        CHECK_EQ(qw_row_text_push(&r, stops, t, s.ids[i], true, &got, NULL), QW_OK);
        CHECK_EQ(qw_buf_append(&got, "|", 1, NULL), QW_OK);
    }
    CHECK_EQ(qw_row_text_finish(&r, &got, NULL), QW_OK);
    CHECK_EQ(qw_buf_append(&got, r.stopped ? "!" : "", 2 - !r.stopped, NULL), QW_OK);
    CHECK_STR(got.bytes, wanted);
    for (int32_t i = 0; i < s.n_stops; i++) qw_buf_free(&s.stops[i]);
    qw_row_text_free(&r);
    qw_stops_free(stops);
    qw_tokenizer_free(t);
    qw_buf_free(&got);
}

#define LIST(...) ((const char *const[]){__VA_ARGS__, ""})

static void test_spanning(void)
{
    stream(LIST("DEF", "G", "HI", "J"), 0, LIST("DEFGHIJ"), "||||!");
    stream(LIST("ok", "\nUser", ":"), 0, LIST("\nUser:"), "ok|||!");
    stream(LIST("al", "pha be", "ta gam", "ma del"), 0, LIST("beta gamma"), "al|pha |||!");
    stream(LIST("x", "ab", "c", "d"), 0, LIST("bcd"), "x|a|||!");
}

static void test_release(void)
{
    stream(LIST("ple", "as"), 0, LIST("assistant"), "ple||as");
    stream(LIST("?\n"), 0, LIST("\n"), "?|!");
    stream(LIST("DEF", "X"), 0, LIST("DEFG"), "|DEFX|");
    stream(LIST("a", "a", "a", "b"), 0, LIST("aab"), "||a||!");
    stream(LIST("abab", "ac"), 0, LIST("ababc"), "|ababac|");
    stream(LIST("\xf0\x9f", "\x98", "\x82", "\xe5"), 0, LIST("zz"), "||\xf0\x9f\x98\x82||\xef\xbf\xbd");
}

static void test_order(void)
{
    /* One token completes several: the text ends before the one that begins first, whatever the list's order. */
    stream(LIST("--foo bar"), 0, LIST("bar", "foo"), "--|!");
    stream(LIST("--abc"), 0, LIST("b", "abc"), "--|!");
    stream(LIST("--a", "b", "c"), 0, LIST("b", "abc"), "--|a||!"); /* the shorter is complete before the longer */
}

static void test_prompt(void)
{
    stream(LIST("say sto", "p it"), 1, LIST("stop"), "|!");
    stream(LIST("stop", "it"), 1, LIST("stop"), "it|");
    stream(LIST("sto", "re"), 1, LIST("stop"), "re|");
    stream(LIST("a", "s", "t", "op", "x"), 3, LIST("stop"), "||!");
    stream(LIST("st", "o", "ne"), 1, LIST("stop"), "|one|");
}

static void test_special_tokens(void)
{
    static pool p;
    sample s = {.n_stops = 1, .skip_special = true};
    qw_tokenizer *t;
    int32_t end, euro[2];

    pool_start(&p);
    end = pool_add(&p, "<|im_end|>", 10, QW_TOKEN_CONTROL);
    euro[0] = pool_add(&p, "x\xe2\x82", 3, QW_TOKEN_NORMAL);
    euro[1] = pool_add(&p, "\xac y", 3, QW_TOKEN_NORMAL);
    t = pool_build(&p);
    /* Its text counts though it is hidden, alone and as part of a longer string. */
    CHECK_EQ(qw_buf_append(&s.stops[0], "<|im_end|>", 10, NULL), QW_OK);
    s.n = 2;
    s.ids[0] = 'h';
    s.ids[1] = end;
    CHECK(check_sample(t, &s));
    s.stops[0].n = 0;
    CHECK_EQ(qw_buf_append(&s.stops[0], "h<|im_end|>\xac", 12, NULL), QW_OK);
    s.n = 3;
    s.ids[2] = euro[1];
    CHECK(check_sample(t, &s));
    /* A character on both sides of a hidden token is whole, as in detokenize(). */
    s.n_stops = 0;
    s.ids[0] = euro[0];
    CHECK(!check_sample(t, &s));
    qw_buf_free(&s.stops[0]);
    qw_tokenizer_free(t);
}

static qw_status make(const char *packed, size_t n, qw_error *err)
{
    qw_stops *stops = NULL;
    qw_status status = qw_stops_new(&stops, (qw_text){packed, n}, err);

    CHECK_EQ(stops != NULL, status == QW_OK);
    qw_stops_free(stops);
    return status;
}

static void test_packed(void)
{
    static char large[QW_STOP_BYTES_MAX + 5];
    qw_error err;

    CHECK_EQ(make(NULL, 0, &err), QW_OK);
    CHECK_EQ(make("\1\0\0\0a\2\0\0\0bc", 11, &err), QW_OK);
    CHECK_EQ(make("\1\0\0\0a\0\0\0\0", 9, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "empty");
    CHECK_EQ(make("\2\0\0\0a", 5, &err), QW_ERR_USAGE);
    CHECK_EQ(make("\377\377\377\377a", 5, &err), QW_ERR_USAGE);
    CHECK_EQ(make("\1\0\0", 3, &err), QW_ERR_USAGE);
    memcpy(large, "\0\0\1\0", 4); /* 65536 */
    CHECK_EQ(make(large, sizeof large - 1, &err), QW_OK);
    memcpy(large, "\1\0\1\0", 4);
    CHECK_EQ(make(large, sizeof large, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "65537 bytes, at most 65536");
}

#ifdef QW_TEST_ALLOC
static void test_memory(void)
{
    int64_t live = qw_alloc_test_live();

    for (int64_t n = 0; n < 4; n++) {
        qw_error err;
        qw_status status;

        qw_alloc_test_fail(n);
        status = make("\1\0\0\0a\2\0\0\0bc", 11, &err);
        qw_alloc_test_fail(-1);
        CHECK_EQ(status, n < 3 ? QW_ERR_MEMORY : QW_OK);
        CHECK_EQ(qw_alloc_test_live(), live);
    }
}
#endif

/* 64 KiB of one letter, which nearly come, many times: matching stays linear. */
static void test_long(void)
{
    static pool p;
    sample s = {.n_stops = 1};
    qw_tokenizer *t;
    qw_stops *stops;
    qw_row_text r = {0};
    qw_buf got = {0};

    for (int32_t i = 0; i < QW_STOP_BYTES_MAX; i++) CHECK_EQ(qw_buf_append(&s.stops[0], "a", 1, NULL), QW_OK);
    pool_start(&p);
    t = pool_build(&p);
    stops = pack(&s);
    CHECK_EQ(qw_row_text_start(&r, stops, t, NULL, 0, NULL), QW_OK);
    for (int32_t i = 0; i < 3 * QW_STOP_BYTES_MAX; i++) {
        int32_t id = i % QW_STOP_BYTES_MAX == QW_STOP_BYTES_MAX - 1 && i < 2 * QW_STOP_BYTES_MAX ? 'b' : 'a';

        CHECK_EQ(qw_row_text_push(&r, stops, t, id, true, &got, NULL), QW_OK);
        CHECK_EQ(r.stopped, i == 3 * QW_STOP_BYTES_MAX - 1);
    }
    CHECK_EQ(got.n, 2 * QW_STOP_BYTES_MAX);
    qw_buf_free(&s.stops[0]);
    qw_row_text_free(&r);
    qw_stops_free(stops);
    qw_tokenizer_free(t);
    qw_buf_free(&got);
}

static int32_t read_ids(const qw_json *array, int32_t *out)
{
    int32_t n = 0;

    for (const qw_json *id = qw_json_first(array); id && n < MAX_IDS; id = qw_json_next(id))
        out[n++] = (int32_t)qw_json_number(id);
    return n;
}

static void read_stops(sample *s, const qw_json *value)
{
    const qw_json *item = qw_json_kind_of(value) == QW_JSON_ARRAY ? qw_json_first(value) : value;

    for (; item && s->n_stops < MAX_STOPS; item = qw_json_next(item)) {
        const char *text = qw_json_string(item);

        CHECK_EQ(qw_buf_append(&s->stops[s->n_stops++], text, strlen(text), NULL), QW_OK);
        if (qw_json_kind_of(value) != QW_JSON_ARRAY) break;
    }
}

/* The text of one row of what Transformers generated, and whether a stop string ends it: s->n is where. */
static bool check_row(const qw_tokenizer *t, sample *s, const qw_json *ids, const qw_json *text)
{
    int32_t new_ids[MAX_IDS], n_new = read_ids(ids, new_ids), n_prompt = s->n_prompt;
    qw_buf got = {0};

    CHECK_EQ(qw_tokenizer_decode(t, new_ids, (size_t)n_new, false, &got, NULL), QW_OK);
    CHECK_EQ(qw_buf_append(&got, "", 1, NULL), QW_OK);
    CHECK_STR(got.bytes, qw_json_string(text));
    qw_buf_free(&got);
    if (n_prompt + n_new > MAX_IDS) { /* a stop string is never that long */
        memmove(s->ids, s->ids + n_prompt + n_new - MAX_IDS, (size_t)(MAX_IDS - n_new) * sizeof *s->ids);
        s->n_prompt = n_prompt = MAX_IDS - n_new;
    }
    memcpy(s->ids + n_prompt, new_ids, (size_t)n_new * sizeof *new_ids);
    for (int32_t n = 1; n <= n_new; n++) {
        s->n = n_prompt + n;
        if (check_sample(t, s)) return true;
    }
    return false;
}

static bool check_case(const qw_json *c)
{
    char path[1024];
    qw_buf json;
    qw_tokenizer *t = NULL;
    const qw_json *prompt = qw_json_first(qw_json_get(c, "input_ids")),
                  *text = qw_json_first(qw_json_get(c, "new_text"));
    const qw_json *settings = qw_json_get(c, "settings"), *eos = qw_json_get(settings, "eos_token_id");
    bool any = false, single = qw_json_size(qw_json_get(c, "input_ids")) == 1;
    bool no_eos = qw_json_kind_of(eos) == QW_JSON_ARRAY && qw_json_size(eos) == 0;

    snprintf(path, sizeof path, "%s/checkpoints/%s/tokenizer.json", fixtures,
             qw_json_string(qw_json_get(c, "checkpoint")));
    json = read_all(path);
    CHECK_EQ(qw_tokenizer_from_json(&t, text_of(&json), NULL), QW_OK);
    for (const qw_json *ids = qw_json_first(qw_json_get(c, "new_ids")); t && ids; ids = qw_json_next(ids)) {
        sample s = {0};
        bool stopped;

        s.n_prompt = read_ids(prompt, s.ids);
        read_stops(&s, qw_json_get(settings, "stop_strings"));
        stopped = check_row(t, &s, ids, text);
        any = any || stopped;
        /* A single row goes on to its length where nothing stops it, and not past a stop string. */
        if (single && stopped) CHECK_EQ(s.n - s.n_prompt, qw_json_size(ids));
        if (single && !stopped && no_eos && s.n_stops > 0)
            CHECK_EQ(s.n - s.n_prompt, (int32_t)qw_json_number(qw_json_get(settings, "max_new_tokens")));
        for (int32_t i = 0; i < s.n_stops; i++) qw_buf_free(&s.stops[i]);
        prompt = qw_json_next(prompt);
        text = qw_json_next(text);
    }
    qw_tokenizer_free(t);
    qw_buf_free(&json);
    return any;
}

static void test_fixtures(void)
{
    char path[1024];
    qw_buf text;
    int32_t n_stopped = 0;

    snprintf(path, sizeof path, "%s/stopping/cases.jsonl", fixtures);
    text = read_all(path);
    for (char *line = text.bytes, *end; line && line < text.bytes + text.n; line = end + 1) {
        qw_json *c = NULL;

        end = memchr(line, '\n', (size_t)(text.bytes + text.n - line));
        if (!end) end = text.bytes + text.n;
        CHECK_EQ(qw_json_parse(&c, (qw_text){line, (size_t)(end - line)}, path, NULL), QW_OK);
        if (c) n_stopped += check_case(c);
        qw_json_free(c);
    }
    CHECK(n_stopped >= 10);
    qw_buf_free(&text);
}

int main(int argc, char **argv)
{
    qw_tokenizer *t;

    if (argc > 1) fixtures = argv[1];
    else if (getenv("QW_FIXTURES")) fixtures = getenv("QW_FIXTURES");
    if (argc > 2) model_path = argv[2];
    qw_rng_seed(&dice, 20);
    t = made_up();
    test_random(t, 2500);
    qw_tokenizer_free(t);
    t = from_gguf(model_path);
    CHECK(t != NULL);
    if (t) test_random(t, 2500);
    qw_tokenizer_free(t);
    test_spanning();
    test_release();
    test_order();
    test_prompt();
    test_special_tokens();
    test_packed();
#ifdef QW_TEST_ALLOC
    test_memory();
#endif
    test_long();
    test_fixtures();
    return check_done();
}
