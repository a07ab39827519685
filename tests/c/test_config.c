/* SPDX-License-Identifier: MIT
 * config.c and hf_config.c: ranges, rotary frequencies against values computed in NumPy by Transformers' formulas, and
 * config.json in its two forms. */
#include "model/config.h"

#include "check.h"
#include "files/hf.h"

#include <stdio.h>
#include <stdlib.h>

static qw_config sound(void)
{
    return (qw_config){.n_layer = 24,
                       .dim = 896,
                       .n_head = 14,
                       .n_kv_head = 2,
                       .head_dim = 64,
                       .ffn_dim = 4864,
                       .n_vocab = 151936,
                       .n_ctx_train = 32768,
                       .rms_eps = 1e-6f,
                       .rope_theta = 1e6};
}

static void test_config_sound_sizes_pass(void)
{
    qw_config c = sound();
    qw_error err = {0};

    CHECK_EQ(qw_config_check(&c, &err), QW_OK);
    c.yarn = true;
    c.yarn_factor = 4;
    c.yarn_original_ctx = 32768;
    c.yarn_beta_fast = 32;
    c.yarn_beta_slow = 1;
    CHECK_EQ(qw_config_check(&c, &err), QW_OK);
}

static void check_refused(const qw_config *c, const char *part)
{
    qw_error err = {0};

    CHECK_EQ(qw_config_check(c, &err), QW_ERR_MODEL);
    CHECK_HAS(err.text, part);
}

static void test_config_sizes_out_of_range_are_refused_by_name(void)
{
    static const int32_t bad[] = {0, -1, INT32_MAX, INT32_MIN};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        qw_config c = sound();
        c.n_layer = bad[i];
        check_refused(&c, "layers");
        c = sound();
        c.dim = bad[i];
        check_refused(&c, "embedding length");
        c = sound();
        c.n_head = bad[i];
        check_refused(&c, "heads");
        c = sound();
        c.n_kv_head = bad[i];
        check_refused(&c, "key/value heads");
        c = sound();
        c.head_dim = bad[i];
        check_refused(&c, "head size");
        c = sound();
        c.ffn_dim = bad[i];
        check_refused(&c, "feed-forward");
        c = sound();
        c.n_vocab = bad[i];
        check_refused(&c, "vocabulary");
        c = sound();
        c.n_ctx_train = bad[i];
        check_refused(&c, "context length");
    }
}

static void test_config_fields_must_fit_each_other(void)
{
    const float nan = strtof("nan", NULL);
    qw_config c = sound();

    c.n_kv_head = 4;
    check_refused(&c, "14 heads are not a multiple of its 4");
    c = sound();
    c.head_dim = 63;
    check_refused(&c, "63 is odd");
    c.head_dim = 258;
    check_refused(&c, "258");
    c = sound();
    c.rms_eps = nan;
    check_refused(&c, "epsilon");
    c.rms_eps = 0;
    check_refused(&c, "epsilon");
    c = sound();
    c.rope_theta = (double)nan;
    check_refused(&c, "theta");
    c.rope_theta = 1;
    check_refused(&c, "theta");
    c = sound();
    c.sliding_window = -1;
    check_refused(&c, "sliding window");
    c = sound();
    c.yarn = true;
    c.yarn_factor = (double)nan;
    c.yarn_original_ctx = 64;
    check_refused(&c, "YaRN");
}

static void check_inv_freq(double theta, int32_t head_dim, const qw_config *yarn, const float wanted[8])
{
    qw_config c = yarn ? *yarn : (qw_config){0};
    float inv_freq[128], scale = 0;

    c.rope_theta = theta;
    c.head_dim = head_dim;
    qw_config_inv_freq(&c, inv_freq, &scale);
    for (int32_t i = 0; i < 8; i++) CHECK_NEAR(inv_freq[i * (head_dim / 16)], wanted[i], 0);
    CHECK_NEAR(scale, yarn ? 0.1 * 1.3862943611198906 + 1 : 1, 6e-8);
}

static void test_config_rotary_frequencies_are_the_reference_s(void)
{
    static const float plain16[] = {0x1p+0f,        0x1.43d136p-2f, 0x1.99999ap-4f,  0x1.030dc6p-5f,
                                    0x1.47ae14p-7f, 0x1.9e7c70p-9f, 0x1.0624dep-10f, 0x1.4b96c0p-12f};
    static const float plain64[] = {0x1p+0f,         0x1.6c310ep-3f,  0x1.030dc6p-5f,  0x1.708938p-8f,
                                    0x1.0624dep-10f, 0x1.74eea6p-13f, 0x1.094564p-15f, 0x1.796182p-18f};
    static const float yarn32[] = {0x1p+0f,        0x1.c55818p-3f,  0x1.47ae14p-5f,  0x1.030dc6p-7f,
                                   0x1.47ae14p-9f, 0x1.9e7c70p-11f, 0x1.0624dep-12f, 0x1.4b96c0p-14f};
    static const float exact32[] = {0x1p+0f,        0x1.96b2f6p-3f,  0x1.a35a42p-6f,  0x1.030dc6p-7f,
                                    0x1.47ae14p-9f, 0x1.9e7c70p-11f, 0x1.0624dep-12f, 0x1.4b96c0p-14f};
    static const float yarn128[] = {0x1p+0f,         0x1.6c310ep-3f,  0x1.030dc6p-5f,  0x1.6046eep-8f,
                                    0x1.3c1d64p-11f, 0x1.74eea6p-15f, 0x1.094564p-17f, 0x1.796182p-20f};
    qw_config yarn = {.yarn = true,
                      .yarn_factor = 4,
                      .yarn_beta_fast = 32,
                      .yarn_beta_slow = 1,
                      .yarn_original_ctx = 64,
                      .yarn_truncate = true};

    check_inv_freq(10000, 16, NULL, plain16);
    check_inv_freq(1e6, 64, NULL, plain64);
    check_inv_freq(10000, 32, &yarn, yarn32);
    yarn.yarn_truncate = false;
    check_inv_freq(10000, 32, &yarn, exact32);
    yarn.yarn_truncate = true;
    yarn.yarn_original_ctx = 32768;
    check_inv_freq(1e6, 128, &yarn, yarn128);
}

static void test_config_yarn_attention_factor_replaces_the_default(void)
{
    qw_config yarn = {.yarn = true,
                      .yarn_factor = 4,
                      .yarn_beta_fast = 32,
                      .yarn_beta_slow = 1,
                      .yarn_original_ctx = 64,
                      .yarn_attention_factor = 1.25,
                      .rope_theta = 10000,
                      .head_dim = 32};
    float inv_freq[128], scale;

    qw_config_inv_freq(&yarn, inv_freq, &scale);
    CHECK_NEAR(scale, 1.25, 0);
    yarn.yarn_attention_factor = 0;
    yarn.yarn_factor = 0.5;
    qw_config_inv_freq(&yarn, inv_freq, &scale);
    CHECK_NEAR(scale, 1, 0);
}

#define SIZES                                                                                                          \
    "\"model_type\":\"qwen2\",\"num_hidden_layers\":4,\"hidden_size\":64,\"intermediate_size\":96,"                    \
    "\"num_attention_heads\":4,\"num_key_value_heads\":2,\"max_position_embeddings\":512,"

/* Reads {SIZES rest}. */
static qw_status read(const char *rest, qw_model *m, qw_error *err)
{
    char text[1024];
    qw_json *root;
    qw_status status;

    *m = (qw_model){0};
    snprintf(text, sizeof text, "{%s%s}", SIZES, rest);
    CHECK_EQ(qw_json_parse(&root, qw_text_of(text), "config.json", err), QW_OK);
    status = qw_hf_read_config(m, root, err);
    qw_json_free(root);
    return status;
}

static bool notes_have(const qw_model *m, const char *part)
{
    char text[1024] = "";

    if (m->notes.n) memcpy(text, m->notes.bytes, m->notes.n < sizeof text ? m->notes.n : sizeof text - 1);
    return strstr(text, part) != NULL;
}

static void test_config_json_sizes_and_defaults(void)
{
    qw_model m;
    qw_error err = {0};

    CHECK_EQ(read("\"rope_theta\":1e6,\"tie_word_embeddings\":true,\"rms_norm_eps\":1e-5", &m, &err), QW_OK);
    CHECK_EQ(m.config.n_layer, 4);
    CHECK_EQ(m.config.dim, 64);
    CHECK_EQ(m.config.ffn_dim, 96);
    CHECK_EQ(m.config.n_head, 4);
    CHECK_EQ(m.config.n_kv_head, 2);
    CHECK_EQ(m.config.head_dim, 16);
    CHECK_EQ(m.config.n_ctx_train, 512);
    CHECK(m.config.tied && m.notes.n == 0 && !m.config.yarn && !m.config.sliding_window);
    CHECK_NEAR(m.config.rms_eps, 1e-5, 1e-12);
    CHECK_EQ(read("\"rope_theta\":1e6,\"head_dim\":32", &m, &err), QW_OK);
    CHECK_EQ(m.config.head_dim, 32);
    CHECK(!m.config.tied);
    CHECK_NEAR(m.config.rms_eps, 1e-6, 1e-12);
    CHECK_EQ(read("\"rope_theta\":1e6,\"head_dim\":null,\"num_key_value_heads\":null", &m, &err), QW_OK);
    CHECK_EQ(m.config.head_dim, 16);
    CHECK_EQ(m.config.n_kv_head, 4);
}

/* Whatever the dtype keys say, each tensor's own type counts. */
static void test_config_json_dtype_keys_do_not_matter(void)
{
    static const char *const texts[] = {"\"dtype\":\"bfloat16\",", "\"torch_dtype\":\"float16\",",
                                        "\"dtype\":\"float32\",\"torch_dtype\":\"float16\",", ""};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char text[200];
        qw_model m;
        qw_error err = {0};
        snprintf(text, sizeof text, "%s\"rope_theta\":10000", texts[i]);
        CHECK_EQ(read(text, &m, &err), QW_OK);
    }
}

static void test_config_json_rope_theta_is_found_wherever_it_is(void)
{
    static const struct {
        const char *text;
        double theta;
        bool noted;
    } good[] = {
        {"\"rope_theta\":1000000", 1e6, false},
        {"\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":1000000.0}", 1e6, false},
        {"\"rope_theta\":1000000,\"rope_parameters\":{\"rope_type\":\"default\",\"rope_theta\":1000000.0}", 1e6, false},
        {"\"rope_theta\":1000000,\"rope_scaling\":null", 1e6, false},
        {"\"rope_theta\":1000000,\"rope_parameters\":null", 1e6, false},
        {"\"rope_theta\":1000000,\"rope_parameters\":{},\"rope_scaling\":{\"type\":\"default\"}", 1e6, false},
        {"\"rope_parameters\":{\"rope_type\":\"default\"}", 10000, true},
        {"\"use_cache\":true", 10000, true},
    };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(read(good[i].text, &m, &err), QW_OK);
        CHECK_STR(err.text, "");
        CHECK_NEAR(m.config.rope_theta, good[i].theta, 0);
        CHECK_EQ(notes_have(&m, "rope_theta"), good[i].noted);
        qw_buf_free(&m.notes);
    }
}

static void test_config_json_yarn_in_both_spellings(void)
{
    static const char *const texts[] = {
        "\"rope_theta\":10000,\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4.0,\"original_max_position_embeddings\":"
        "128}",
        "\"rope_theta\":10000,\"rope_scaling\":{\"rope_type\":\"yarn\",\"factor\":4.0,\"original_max_position_"
        "embeddings\":128}",
        "\"rope_parameters\":{\"rope_type\":\"yarn\",\"rope_theta\":10000,\"factor\":4,\"original_max_position_"
        "embeddings\":128}",
        "\"rope_parameters\":{\"rope_type\":\"yarn\",\"rope_theta\":10000,\"original_max_position_embeddings\":128}",
        "\"rope_theta\":10000,\"original_max_position_embeddings\":128,\"rope_scaling\":{\"type\":\"yarn\",\"factor\":"
        "4.0}",
    };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(read(texts[i], &m, &err), QW_OK);
        CHECK_STR(err.text, "");
        CHECK(m.config.yarn && m.config.yarn_truncate);
        CHECK_NEAR(m.config.yarn_factor, 4, 0);
        CHECK_EQ(m.config.yarn_original_ctx, 128);
        CHECK_NEAR(m.config.yarn_beta_fast, 32, 0);
        CHECK_NEAR(m.config.yarn_beta_slow, 1, 0);
        CHECK_NEAR(m.config.yarn_attention_factor, 0, 0);
    }
    {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(read("\"rope_theta\":10000,\"rope_scaling\":{\"type\":\"yarn\",\"factor\":2,\"beta_fast\":16,\"beta_"
                      "slow\":2,"
                      "\"attention_factor\":1.5,\"truncate\":false}",
                      &m, &err),
                 QW_OK);
        CHECK_NEAR(m.config.yarn_beta_fast, 16, 0);
        CHECK_NEAR(m.config.yarn_beta_slow, 2, 0);
        CHECK_NEAR(m.config.yarn_attention_factor, 1.5, 0);
        CHECK(!m.config.yarn_truncate);
        CHECK_EQ(m.config.yarn_original_ctx, 512);
        CHECK_EQ(read("\"rope_theta\":10000,\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4,\"mscale\":0.5,\"mscale_"
                      "all_dim\":1}",
                      &m, &err),
                 QW_OK);
        CHECK_NEAR(m.config.yarn_attention_factor, 1.0693147180559945 / 1.1386294361119891, 1e-15);
    }
}

static void test_config_json_sliding_layers(void)
{
    static const struct {
        const char *text;
        int32_t window;
        const char *sliding; /* by layer */
    } good[] = {
        {"\"use_sliding_window\":true,\"sliding_window\":8,\"max_window_layers\":2", 8, "0011"},
        {"\"use_sliding_window\":true,\"sliding_window\":8,\"max_window_layers\":0", 8, "1111"},
        {"\"use_sliding_window\":true,\"sliding_window\":8,\"max_window_layers\":4", 0, "0000"},
        {"\"use_sliding_window\":true,\"sliding_window\":8", 0, "0000"}, /* by default from layer 28 on */
        {"\"use_sliding_window\":true,\"max_window_layers\":3", 4096, "0001"},
        {"\"use_sliding_window\":true,\"sliding_window\":null,\"max_window_layers\":2", 0, "0000"},
        {"\"use_sliding_window\":false,\"sliding_window\":8,\"max_window_layers\":2", 0, "0000"},
        {"\"sliding_window\":8,\"max_window_layers\":2", 0, "0000"},
        {"\"use_sliding_window\":true,\"sliding_window\":8,\"max_window_layers\":0,\"layer_types\":[\"full_attention\","
         "\"sliding_attention\",\"full_attention\",\"sliding_attention\"]",
         8, "0101"},
        {"\"layer_types\":[\"full_attention\",\"full_attention\",\"full_attention\",\"full_attention\"]", 0, "0000"},
    };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        char text[400];
        qw_model m;
        qw_error err = {0};
        snprintf(text, sizeof text, "\"rope_theta\":10000,%s", good[i].text);
        CHECK_EQ(read(text, &m, &err), QW_OK);
        CHECK_STR(err.text, "");
        CHECK_EQ(m.config.sliding_window, good[i].window);
        for (int32_t l = 0; l < 4; l++) CHECK_EQ(m.config.sliding[l], good[i].sliding[l] == '1');
    }
}

static void test_config_json_what_is_not_supported_is_named(void)
{
    static const struct {
        const char *text, *part;
    } bad[] = {
        {"\"model_type\":\"llama\"", "\"llama\""},
        {"\"model_type\":\"qwen2_moe\"", "\"qwen2_moe\""},
        {"\"architectures\":[\"Qwen3ForCausalLM\"]", "Qwen3ForCausalLM"},
        {"\"model_type\":null", "neither model_type nor architectures"},
        {"\"hidden_act\":\"gelu\"", "hidden_act is \"gelu\""},
        {"\"quantization_config\":{\"quant_method\":\"awq\"}", "awq"},
        {"\"partial_rotary_factor\":0.5", "partial_rotary_factor"},
        {"\"use_mrope\":true", "use_mrope"},
        {"\"rope_theta\":10000,\"rope_parameters\":{\"rope_theta\":1000000}", "remove the wrong one"},
        {"\"rope_theta\":10000,\"rope_scaling\":{\"rope_type\":\"foo\"}", "\"foo\""},
        {"\"rope_theta\":10000,\"rope_scaling\":{\"type\":\"linear\",\"factor\":2}", "\"linear\""},
        {"\"rope_theta\":10000,\"rope_scaling\":{\"type\":\"yarn\",\"rope_type\":\"default\"}", "differ"},
        {"\"rope_scaling\":{\"type\":\"yarn\",\"factor\":2},\"rope_parameters\":{\"type\":\"yarn\",\"factor\":4}",
         "factor"},
        {"\"rope_scaling\":7", "objects"},
        {"\"rope_parameters\":{\"full_attention\":{\"rope_theta\":10000}}", "kind of layer"},
        {"\"num_hidden_layers\":0", "num_hidden_layers"},
        {"\"num_hidden_layers\":513", "num_hidden_layers"},
        {"\"num_hidden_layers\":1.5", "num_hidden_layers"},
        {"\"num_hidden_layers\":\"4\"", "num_hidden_layers"},
        {"\"hidden_size\":null", "no hidden_size"},
        {"\"intermediate_size\":1e99", "intermediate_size"},
        {"\"num_attention_heads\":3", "multiple"},
        {"\"num_attention_heads\":-4", "num_attention_heads"},
        {"\"num_key_value_heads\":0", "num_key_value_heads"},
        {"\"tie_word_embeddings\":1", "tie_word_embeddings"},
        {"\"rope_theta\":\"1e6\"", "rope_theta"},
        {"\"rope_theta\":0", "rope_theta"},
        {"\"layer_types\":[\"full_attention\"]", "layer_types has 1 items"},
        {"\"layer_types\":[\"full_attention\",\"full_attention\",\"chunked_attention\",\"full_attention\"]",
         "chunked_attention"},
        {"\"layer_types\":[\"full_attention\",\"full_attention\",\"full_attention\",\"sliding_attention\"]",
         "use_sliding_window"},
        {"\"use_sliding_window\":true,\"sliding_window\":0", "sliding_window"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(read(bad[i].text, &m, &err), QW_ERR_MODEL);
        CHECK_HAS(err.text, bad[i].part);
        qw_buf_free(&m.notes);
    }
}

int main(void)
{
    test_config_sound_sizes_pass();
    test_config_sizes_out_of_range_are_refused_by_name();
    test_config_fields_must_fit_each_other();
    test_config_rotary_frequencies_are_the_reference_s();
    test_config_yarn_attention_factor_replaces_the_default();
    test_config_json_sizes_and_defaults();
    test_config_json_dtype_keys_do_not_matter();
    test_config_json_rope_theta_is_found_wherever_it_is();
    test_config_json_yarn_in_both_spellings();
    test_config_json_sliding_layers();
    test_config_json_what_is_not_supported_is_named();
    return check_done();
}
