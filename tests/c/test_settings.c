/* SPDX-License-Identifier: MIT
 * Settings from call, model file and defaults: what is taken from where, what is refused and how it is said, what is
 * noted. */
#include "base/alloc.h"
#include "generation/settings_parse.h"
#include "byte_vocab.h"

#include <math.h>
#include <stdlib.h>

enum { N_VOCAB = 1000 };

/* A model with that generation_config.json (NULL: none), EOS ids 7 and 8, no pad. The text is borrowed. */
static qw_model model_with(const char *file)
{
    qw_model m = {.eos = {7, 8}, .n_eos = 2, .pad = -1};

    m.config.n_vocab = N_VOCAB;
    if (file) {
        m.generation_config.n = strlen(file);
        m.generation_config.bytes = malloc(m.generation_config.n + 1);
        memcpy(m.generation_config.bytes, file, m.generation_config.n + 1);
    }
    return m;
}

static qw_settings good(const char *call, const char *file)
{
    qw_model m = model_with(file);
    qw_settings s;
    qw_error err = {0};

    CHECK_EQ(qw_settings_parse(&s, qw_text_of(call), &m, &err), QW_OK);
    if (err.status) printf("  %s: %s\n", call, err.text);
    if (!s.notes.bytes) CHECK_EQ(qw_buf_append(&s.notes, "", 0, NULL), QW_OK);
    CHECK_EQ(qw_buf_append(&s.notes, "", 1, NULL), QW_OK); /* a C string for CHECK_HAS */
    free(m.generation_config.bytes);
    return s;
}

/* The call is refused with a usage error that has all of the parts (NULL: fewer). */
static void bad(const char *call, const char *part, const char *part2)
{
    qw_model m = model_with(NULL);
    qw_settings s;
    qw_error err = {0};

    CHECK_EQ(qw_settings_parse(&s, qw_text_of(call), &m, &err), QW_ERR_USAGE);
    if (!err.status) printf("  %s was taken\n", call);
    CHECK_HAS(err.text, part);
    if (part2) CHECK_HAS(err.text, part2);
    qw_settings_free(&s);
}

/* The call's notes are exactly that text. */
static void notes(const char *call, const char *file, const char *wanted)
{
    qw_settings s = good(call, file);

    CHECK_STR(s.notes.bytes, wanted);
    qw_settings_free(&s);
}

static void test_defaults(void)
{
    qw_settings s = good("{}", NULL);

    CHECK(!s.do_sample && !s.remove_invalid_values && !s.renormalize_logits && s.skip_special_tokens && !s.chat);
    CHECK_EQ(s.max_new_tokens, -1);
    CHECK_EQ(s.max_length, -1);
    CHECK_EQ(s.min_length, -1);
    CHECK_EQ(s.min_new_tokens, -1);
    CHECK(s.max_time < 0 && s.min_p < 0);
    CHECK_NEAR(s.temperature, 1, 0);
    CHECK_EQ(s.top_k, 50);
    CHECK_NEAR(s.top_p + s.typical_p + s.repetition_penalty, 3, 0);
    CHECK_NEAR(s.epsilon_cutoff + s.eta_cutoff + s.presence_penalty + s.frequency_penalty, 0, 0);
    CHECK_EQ(s.no_repeat_ngram_size + s.n_bad_words + s.n_sequence_bias + s.n_logit_bias, 0);
    CHECK_EQ(s.suppress.n + s.begin_suppress.n + s.forced_eos.n, 0);
    CHECK_EQ(s.eos.n, 2);
    CHECK_EQ(s.eos.v[1], 8);
    CHECK_EQ(s.pad, 7); /* the first EOS where there is none */
    CHECK_EQ(s.num_return_sequences, 1);
    CHECK_EQ(s.logprobs, -1);
    CHECK_EQ(s.n_ids, N_VOCAB);
    CHECK(!s.has_seed && !s.has_decay && s.rng_state.n == 0);
    CHECK_STR(s.notes.bytes, "");
    qw_settings_free(&s);
}

/* As many biases as a vocabulary has ids, half of them said again: comparing each with each took minutes. */
static void test_a_long_sequence_bias_is_read_in_order(void)
{
    enum { N = 150000 };
    char pair[32];
    qw_buf json = {0};
    qw_settings s;
    int64_t wrong = 0;

    CHECK_EQ(qw_buf_append(&json, "{\"sequence_bias\":[", 18, NULL), QW_OK);
    for (int32_t i = 0; i < 2 * N; i++) {
        int n = snprintf(pair, sizeof pair, "%s[[%d,%d],%d]", i ? "," : "", (int)(i % N % N_VOCAB),
                         (int)(i % N / N_VOCAB), (int)i);
        if (qw_buf_append(&json, pair, (size_t)n, NULL)) wrong++;
    }
    CHECK_EQ(qw_buf_append(&json, "]}", 3, NULL), QW_OK);
    s = good(json.bytes, NULL);
    CHECK_EQ(s.n_sequence_bias, N);
    for (int32_t i = 0; i < s.n_sequence_bias; i++) {
        const qw_bias *b = &s.sequence_bias[i];
        wrong += b->ids.n != 2 || b->ids.v[0] != i % N_VOCAB || b->ids.v[1] != i / N_VOCAB;
        wrong += (int32_t)b->bias != i + N;
    }
    CHECK_EQ(wrong, 0);
    qw_settings_free(&s);
    qw_buf_free(&json);
}

/* What test_every_key gave, where each setting has one value. */
static void check_numbers(const qw_settings *s)
{
    CHECK_EQ(s->max_new_tokens, 0);
    CHECK_NEAR(s->max_time, 2.5, 0);
    CHECK(s->do_sample && s->remove_invalid_values && s->renormalize_logits && s->custom_processor && s->chat);
    CHECK(!s->skip_special_tokens);
    CHECK_NEAR(s->temperature, 0.5, 0);
    CHECK_EQ(s->top_k, 0);
    CHECK_NEAR(s->top_p, 0.25, 0);
    CHECK_NEAR(s->min_p, 0.125, 0);
    CHECK_NEAR(s->typical_p, 0.75, 0);
    CHECK_NEAR(s->epsilon_cutoff, 0.01, 0);
    CHECK_NEAR(s->eta_cutoff, 0.02, 0);
    CHECK_NEAR(s->repetition_penalty, 1.5, 0);
    CHECK_NEAR(s->presence_penalty, -0.5, 0);
    CHECK_NEAR(s->frequency_penalty, 2, 0);
    CHECK_EQ(s->no_repeat_ngram_size, 3);
    CHECK(s->has_decay);
    CHECK_EQ(s->decay_start, 5);
    CHECK_NEAR(s->decay_factor, 1.25, 0);
    CHECK_EQ(s->pad, 13);
    CHECK_EQ(s->num_return_sequences, 3);
    CHECK(s->has_seed);
    CHECK_EQ(s->seed, 4294967295u);
    CHECK_EQ(s->logprobs, 5);
}

/* And where it has several. */
static void check_lists(const qw_settings *s)
{
    CHECK_EQ(s->n_bad_words, 2);
    CHECK_EQ(s->bad_words[1].n, 2);
    CHECK_EQ(s->bad_words[1].v[1], 3);
    CHECK_EQ(s->n_sequence_bias, 2); /* of equal sequences the last bias counts */
    CHECK_NEAR(s->sequence_bias[0].bias, 2, 0);
    CHECK_NEAR(s->sequence_bias[1].bias, -INFINITY, 0);
    CHECK_EQ(s->n_logit_bias, 2);
    CHECK_EQ(s->logit_bias[1].ids.v[0], 999);
    CHECK_NEAR(s->logit_bias[1].bias, -2, 0);
    CHECK_EQ(s->suppress.n, 2);
    CHECK_EQ(s->begin_suppress.v[0], 3);
    CHECK_EQ(s->forced_eos.v[0], 4);
    CHECK_EQ(s->eos.n, 2);
    CHECK_EQ(s->eos.v[0], 11);
    CHECK_EQ(s->rng_state.n, 2);
}

static void test_every_key(void)
{
    qw_settings s =
        good("{\"max_new_tokens\":0,\"max_time\":2.5,\"do_sample\":true,\"temperature\":0.5,\"top_k\":0,\"top_p\":0.25,"
             "\"min_p\":0.125,\"typical_p\":0.75,\"epsilon_cutoff\":0.01,\"eta_cutoff\":0.02,"
             "\"remove_invalid_values\":true,\"renormalize_logits\":true,\"repetition_penalty\":1.5,"
             "\"presence_penalty\":-0.5,\"frequency_penalty\":2,\"no_repeat_ngram_size\":3,"
             "\"bad_words_ids\":[[1],[2,3]],\"sequence_bias\":[[[4,5],-1.5],[[6],\"-inf\"],[[4,5],2]],"
             "\"logit_bias\":{\"9\":1,\"999\":-2},\"suppress_tokens\":[1,2],\"begin_suppress_tokens\":[3],"
             "\"forced_eos_token_id\":4,\"exponential_decay_length_penalty\":[5,1.25],\"eos_token_id\":[11,12],"
             "\"pad_token_id\":13,\"num_return_sequences\":3,\"seed\":4294967295,\"logprobs\":5,"
             "\"skip_special_tokens\":false,\"custom_processor\":true,\"chat\":true,\"rng_state\":\"ab\"}",
             NULL);

    check_numbers(&s);
    check_lists(&s);
    qw_settings_free(&s);
    s = good("{\"max_length\":12,\"min_length\":3}", NULL);
    CHECK_EQ(s.max_length, 12);
    CHECK_EQ(s.min_length, 3);
    qw_settings_free(&s);
}

static void test_end_and_pad(void)
{
    qw_settings s = good("{\"eos_token_id\":[]}", NULL);

    CHECK_EQ(s.eos.n, 0);
    CHECK_EQ(s.pad, 0);
    qw_settings_free(&s);
    s = good("{\"eos_token_id\":21}", NULL);
    CHECK_EQ(s.eos.n, 1);
    CHECK_EQ(s.pad, 21);
    qw_settings_free(&s);
    /* The loader has read the file's ids; null and undefined are left out. */
    s = good("{\"eos_token_id\":null,\"top_k\":null}", "{\"eos_token_id\":99,\"pad_token_id\":98,\"top_k\":3}");
    CHECK_EQ(s.eos.v[0], 7);
    CHECK_EQ(s.pad, 7);
    CHECK_EQ(s.top_k, 3);
    qw_settings_free(&s);
}

static void test_file(void)
{
    static const char file[] = "{\"do_sample\":true,\"temperature\":0.7,\"top_k\":20,\"top_p\":0.8,"
                               "\"repetition_penalty\":1.1,\"transformers_version\":\"4.40.1\",\"bos_token_id\":5,"
                               "\"max_new_tokens\":64,\"bad_words_ids\":[[1]],\"suppress_tokens\":null}";
    qw_settings s = good("{}", file);

    CHECK(s.do_sample);
    CHECK_NEAR(s.temperature, 0.7, 0);
    CHECK_EQ(s.top_k, 20);
    CHECK_NEAR(s.repetition_penalty, 1.1, 0);
    CHECK_EQ(s.max_new_tokens, 64);
    CHECK_EQ(s.n_bad_words, 1);
    CHECK_STR(s.notes.bytes, "");
    qw_settings_free(&s);
    s = good("{\"top_k\":5,\"temperature\":1,\"bad_words_ids\":[[2],[3]],\"do_sample\":false}", file);
    CHECK(!s.do_sample);
    CHECK_EQ(s.top_k, 5);
    CHECK_NEAR(s.temperature, 1, 0);
    CHECK_NEAR(s.top_p, 0.8, 0);
    CHECK_EQ(s.n_bad_words, 2);
    qw_settings_free(&s);
}

/* A file never stops a call. */
static void test_bad_file(void)
{
    notes("{}", "{\"num_beams\":4,\"top_k\":-3,\"my_key\":1,\"seed\":1,\"top_p\":0.5,\"length_penalty\":2}",
          "generation_config.json: num_beams is not supported and was ignored\n"
          "generation_config.json: top_k is -3, wanted an integer >= 0 (0: off): ignored\n"
          "generation_config.json: unknown key my_key ignored\n"
          "generation_config.json: unknown key seed ignored\n");
    notes("{}", "{\"num_beams\":1,\"use_cache\":true,\"output_scores\":false,\"stop_strings\":null}", "");
    notes("{}", "{\"stop_strings\":[\"x\"]}",
          "generation_config.json: stop_strings need a tokenizer, and this model came without one: ignored\n");
    notes("{}", "[1]", "generation_config.json is no JSON object: ignored\n");
    {
        qw_settings s = good("{}", "{\"top_k\":");

        CHECK_HAS(s.notes.bytes, "generation_config.json");
        CHECK_EQ(s.top_k, 50);
        qw_settings_free(&s);
    }
}

static void test_ranges(void)
{
    bad("{\"temperature\":-1}", "temperature is -1", "a number >= 0 (0: greedy");
    bad("{\"temperature\":\"nan\"}", "temperature is nan", ">= 0");
    bad("{\"temperature\":\"inf\"}", "temperature is inf", NULL);
    bad("{\"temperature\":\"0.7\"}", "temperature is \"0.7\"", "without the quotes");
    bad("{\"temperature\":[1]}", "temperature is an array of 1", NULL);
    bad("{\"top_p\":1.5}", "top_p is 1.5", "from 0 to 1");
    bad("{\"top_p\":-0.1}", "top_p is -0.1", NULL);
    bad("{\"top_k\":-1}", "top_k is -1", "(0: off)");
    bad("{\"top_k\":2.5}", "top_k is 2.5", "an integer");
    bad("{\"min_p\":1.01}", "min_p is 1.01", NULL);
    bad("{\"typical_p\":0}", "typical_p is 0", "(1: off)");
    bad("{\"repetition_penalty\":0}", "repetition_penalty is 0", "> 0");
    bad("{\"presence_penalty\":2.1}", "presence_penalty is 2.1", "-2 to 2");
    bad("{\"max_new_tokens\":-1}", "max_new_tokens is -1", "leave it out");
    bad("{\"max_new_tokens\":1.5}", "max_new_tokens is 1.5", "an integer");
    bad("{\"max_new_tokens\":1e12}", "max_new_tokens is 1e+12", NULL);
    bad("{\"max_new_tokens\":true}", "max_new_tokens is true", NULL);
    bad("{\"max_time\":-1}", "max_time is -1", NULL);
    bad("{\"do_sample\":1}", "do_sample is 1", "true or false");
    bad("{\"do_sample\":\"true\"}", "do_sample is \"true\"", "without the quotes");
    bad("{\"seed\":4294967296}", "seed is 4294967296", NULL);
    bad("{\"seed\":-1}", "seed is -1", NULL);
    bad("{\"rng_state\":3}", "rng_state is 3", NULL);
    bad("{\"num_return_sequences\":0}", "num_return_sequences is 0", NULL);
    bad("{\"logprobs\":1001}", "logprobs is 1001", "0 to 1000");
    bad("{\"min_new_tokens\":5,\"max_new_tokens\":4}", "min_new_tokens is 5", "max_new_tokens, which is 4");
    bad("{\"num_return_sequences\":2}", "num_return_sequences is 2", "set do_sample");
}

static void test_ids(void)
{
    bad("{\"eos_token_id\":1000}", "eos_token_id names the token id 1000", "0 to 999");
    bad("{\"eos_token_id\":-1}", "eos_token_id names the token id -1", NULL);
    bad("{\"eos_token_id\":\"7\"}", "eos_token_id is \"7\"", "[]: none");
    bad("{\"eos_token_id\":[1,2.5]}", "token id 2.5", NULL);
    bad("{\"pad_token_id\":1e10}", "pad_token_id names the token id 1e", NULL);
    bad("{\"bad_words_ids\":[[]]}", "bad_words_ids is an array of 0", "non-empty");
    bad("{\"bad_words_ids\":[1]}", "bad_words_ids is 1", NULL);
    bad("{\"bad_words_ids\":[[1,\"x\"]]}", "token id \"x\"", NULL);
    bad("{\"sequence_bias\":[[[1],\"inf\"]]}", "bias \"inf\"", "-Infinity to forbid");
    bad("{\"sequence_bias\":[[[1]]]}", "sequence_bias is an array of 1", "[[token ids], bias]");
    bad("{\"sequence_bias\":[[[],1]]}", "sequence_bias is an array of 2", NULL);
    bad("{\"sequence_bias\":{\"1\":2}}", "sequence_bias is an object", NULL);
    bad("{\"logit_bias\":{\"x\":2}}", "token id x", NULL);
    bad("{\"logit_bias\":{\"1000\":2}}", "token id 1000", NULL);
    bad("{\"logit_bias\":{\"99999999999\":2}}", "token id 99999999999", NULL);
    bad("{\"logit_bias\":{\"\":2}}", "token id ", NULL);
    bad("{\"logit_bias\":{\"1\":null}}", "bias null", NULL);
    bad("{\"suppress_tokens\":5}", "suppress_tokens is 5", "an array");
    bad("{\"exponential_decay_length_penalty\":[1]}", "exponential_decay_length_penalty", "[start, factor]");
    bad("{\"exponential_decay_length_penalty\":[1.5,2]}", "exponential_decay_length_penalty is 1.5", NULL);
    bad("{\"exponential_decay_length_penalty\":[1,-2]}", "exponential_decay_length_penalty is -2", NULL);
    bad("{\"forced_eos_token_id\":[4,5],\"suppress_tokens\":[5,4]}", "forced_eos_token_id", "suppress_tokens");
}

static void test_foreign_keys(void)
{
    bad("{\"maxTokens\":4}", "unknown key maxTokens", "generation_config.json");
    bad("{\"stop_strings\":[\"a\"]}", "unknown key stop_strings", NULL);
    bad("{\"num_beams\":2}", "num_beams is 2", "leave it out");
    bad("{\"penalty_alpha\":0.6}", "penalty_alpha is 0.6", NULL);
    bad("{\"assistant_model\":\"x\"}", "assistant_model is \"x\"", NULL);
    bad("{\"output_scores\":true}", "output_scores is true", "use logprobs");
    bad("{\"force_words_ids\":[[1]]}", "force_words_ids is an array of 1", NULL);
    notes("{\"num_beams\":1,\"num_beam_groups\":1,\"use_cache\":true,\"output_scores\":false,\"early_stopping\":false,"
          "\"length_penalty\":1.0,\"penalty_alpha\":null,\"diversity_penalty\":0.0,\"guidance_scale\":1,"
          "\"_from_model_config\":true,\"transformers_version\":\"5.24.0\",\"bos_token_id\":3,\"force_words_ids\":[]}",
          NULL, "");
    notes(
        "{\"use_cache\":false,\"length_penalty\":0.8}", NULL,
        "use_cache has no effect: the KV cache is always used\nlength_penalty has no effect: it acts on beams only\n");
}

static void test_not_an_object(void)
{
    bad("[]", "an object is wanted, got", NULL);
    bad("{\"top_k\":", "no valid JSON", NULL);
    bad("3", "an object is wanted", NULL);
    notes("", NULL, "");
}

static void test_sampling_rules(void)
{
    qw_settings s = good("{\"temperature\":0.7}", NULL);

    CHECK(!s.do_sample);
    CHECK_STR(s.notes.bytes, "temperature 0.7 has no effect without do_sample: decoding is greedy\n");
    qw_settings_free(&s);
    s = good("{\"temperature\":0.7,\"chat\":true}", NULL);
    CHECK(s.do_sample);
    CHECK_STR(s.notes.bytes, "");
    qw_settings_free(&s);
    s = good("{\"temperature\":0,\"chat\":true}", "{\"do_sample\":true}");
    CHECK(!s.do_sample);
    qw_settings_free(&s);
    s = good("{\"chat\":true}", "{\"do_sample\":true,\"temperature\":0.5}");
    CHECK(s.do_sample);
    qw_settings_free(&s);
    s = good("{\"chat\":true}", "{\"temperature\":0.5}");
    CHECK(!s.do_sample);
    CHECK_STR(s.notes.bytes, "");
    qw_settings_free(&s);
    s = good("{\"chat\":true,\"temperature\":0.7,\"do_sample\":false}", NULL);
    CHECK(!s.do_sample);
    CHECK_HAS(s.notes.bytes, "temperature 0.7 has no effect");
    qw_settings_free(&s);
    s = good("{\"temperature\":0,\"do_sample\":true,\"top_p\":0.5,\"num_return_sequences\":2}", NULL);
    CHECK(!s.do_sample); /* greedy, as asked for: nothing to remark */
    CHECK_STR(s.notes.bytes, "");
    qw_settings_free(&s);
    s = good("{\"temperature\":1e-9,\"do_sample\":true}", NULL);
    CHECK(!s.do_sample);
    qw_settings_free(&s);
    s = good("{\"temperature\":0.001,\"do_sample\":true}", NULL);
    CHECK(s.do_sample);
    qw_settings_free(&s);
    notes("{\"top_k\":4,\"min_p\":0.1}", NULL,
          "top_k has no effect without do_sample: decoding is greedy\n"
          "min_p has no effect without do_sample: decoding is greedy\n");
}

static void test_length_rules(void)
{
    notes("{\"max_new_tokens\":4,\"max_length\":9,\"min_new_tokens\":1,\"min_length\":2}", NULL,
          "max_new_tokens 4 takes precedence over max_length 9\n"
          "min_new_tokens 1 takes precedence over min_length 2\n");
    notes("{\"max_new_tokens\":4}", "{\"min_new_tokens\":6}",
          "min_new_tokens 6 is more than max_new_tokens 4 allows\n");
    notes("{\"forced_eos_token_id\":4}", NULL, "");
    notes("{\"eos_token_id\":[],\"exponential_decay_length_penalty\":[1,2]}", NULL,
          "exponential_decay_length_penalty has no effect without an EOS id\n");
    notes("{\"seed\":4,\"rng_state\":\"00\"}", NULL, "seed 4 has no effect beside rng_state\n");
}

/* What a chat must never choose: ids that the tokenizer has no text for. */
static void test_chat_ids(void)
{
    static pool p;
    qw_model m = model_with(NULL);
    qw_settings s;

    pool_start(&p);
    m.tokenizer = pool_build(&p);
    CHECK_EQ(qw_settings_parse(&s, qw_text_of("{\"chat\":true}"), &m, NULL), QW_OK);
    CHECK_EQ(s.n_ids, 257);
    qw_settings_free(&s);
    CHECK_EQ(qw_settings_parse(&s, qw_text_of("{}"), &m, NULL), QW_OK);
    CHECK_EQ(s.n_ids, N_VOCAB);
    qw_settings_free(&s);
    qw_tokenizer_free(m.tokenizer);
}

static void test_file_defaults(void)
{
    static pool p;
    qw_model m =
        model_with("{\"do_sample\":true,\"temperature\":0.7,\"top_k\":-1,\"eos_token_id\":[7,8],\"num_beams\":1,"
                   "\"bad_words_ids\":[[1],[2,3]],\"suppress_tokens\":[],\"transformers_version\":\"5\","
                   "\"top_p\":null,\"seed\":3,\"stop_strings\":[\"a\\n\",\"b\"],\"logit_bias\":{\"1\":0.1}}");
    qw_buf out = {0};

    pool_start(&p);
    m.tokenizer = pool_build(&p);
    CHECK_EQ(qw_settings_write_file_defaults(&m, &out, NULL), QW_OK);
    qw_tokenizer_free(m.tokenizer);
    CHECK_EQ(qw_buf_append(&out, "", 1, NULL), QW_OK);
    CHECK_STR(out.bytes, "{\"do_sample\":true,\"temperature\":0.7,\"eos_token_id\":[7,8],\"bad_words_ids\":[[1],[2,3]],"
                         "\"suppress_tokens\":[],\"stop_strings\":[\"a\\n\",\"b\"],\"logit_bias\":{\"1\":0.1}}");
    qw_buf_free(&out);
    free(m.generation_config.bytes);
    m = model_with(NULL);
    CHECK_EQ(qw_settings_write_file_defaults(&m, &out, NULL), QW_OK);
    CHECK(out.n == 2 && memcmp(out.bytes, "{}", 2) == 0);
    qw_buf_free(&out);
}

#ifdef QW_TEST_ALLOC
/* Every allocation refused in turn: a memory error, and nothing leaks. */
static void test_memory(void)
{
    static const char call[] =
        "{\"bad_words_ids\":[[1],[2,3]],\"sequence_bias\":[[[4,5],-1.5],[[4,5],1]],\"top_k\":1,"
        "\"logit_bias\":{\"9\":1},\"suppress_tokens\":[1,2],\"eos_token_id\":3,\"rng_state\":\"ab\"}";
    qw_model m = model_with("{\"bad_words_ids\":[[9]],\"num_beams\":2}");
    int64_t live = qw_alloc_test_live();
    bool done = false;

    for (int64_t n = 0; !done && n < 10000; n++) {
        qw_settings s;
        qw_status status;

        qw_alloc_test_fail(n);
        status = qw_settings_parse(&s, qw_text_of(call), &m, NULL);
        qw_alloc_test_fail(-1);
        done = status == QW_OK;
        CHECK(done || status == QW_ERR_MEMORY);
        qw_settings_free(&s);
        CHECK_EQ(qw_alloc_test_live(), live);
    }
    CHECK(done);
    free(m.generation_config.bytes);
}
#endif

int main(void)
{
    test_defaults();
    test_a_long_sequence_bias_is_read_in_order();
    test_every_key();
    test_end_and_pad();
    test_file();
    test_bad_file();
    test_ranges();
    test_ids();
    test_foreign_keys();
    test_not_an_object();
    test_sampling_rules();
    test_length_rules();
    test_chat_ids();
    test_file_defaults();
#ifdef QW_TEST_ALLOC
    test_memory();
#endif
    return check_done();
}
