/* SPDX-License-Identifier: MIT
 * gguf_model.c through the loader: which keys and tensors a GGUF file must have, may have, and must not have. */
#include "files/loader.h"

#include "check.h"
#include "model_checks.h"
#include "model_files.h"

/* Loads a tiny file in which one key is left out, or is another text or number. */
static qw_status load_with(const char *key, const char *text, const uint32_t *number, qw_model *m, qw_error *err)
{
    gguf g = gguf_new();
    bytes file;
    qw_status status;

    g.skip = key;
    gguf_tiny_config(&g, 1);
    gguf_tiny_tokenizer(&g);
    g.skip = NULL;
    if (text) gguf_text(&g, key, text);
    if (number) gguf_u32(&g, key, *number);
    gguf_tiny_tensors(&g, QW_F32, 1);
    file = gguf_file(&g);
    status = load_one("t.gguf", file, m, err);
    free(file.v);
    return status;
}

static void test_loader_gguf_text_keys_are_judged(void)
{
    static const struct {
        const char *key, *text;
        qw_status status;
        const char *part; /* of the error, or of the notes */
    } cases[] = {
        {"general.architecture", "llama", QW_ERR_MODEL, "\"llama\""},
        {"general.architecture", "qwen2moe", QW_ERR_MODEL, "\"qwen2moe\""},
        {"general.architecture", NULL, QW_ERR_MODEL, "general.architecture"},
        {"tokenizer.ggml.model", "llama", QW_ERR_MODEL, "tokenizer.ggml.model is \"llama\""},
        {"tokenizer.ggml.model", NULL, QW_ERR_MODEL, "tokenizer.ggml.model"},
        {"tokenizer.ggml.pre", NULL, QW_OK, "no tokenizer.ggml.pre"},
        {"tokenizer.ggml.pre", "default", QW_OK, "\"default\", not qwen2"},
        {"tokenizer.ggml.pre", "xyz", QW_OK, "\"xyz\", not qwen2"},
        {"qwen2.rope.scaling.type", "none", QW_OK, ""},
        {"qwen2.rope.scaling.type", "linear", QW_OK, ""}, /* by the default factor 1 */
        {"qwen2.rope.scaling.type", "longrope", QW_ERR_MODEL, "\"longrope\""},
        {"qwen2.rope.scaling.type", "yarn", QW_ERR_MODEL, "qwen2.rope.scaling.factor"},
        {"qwen2.rope.freq_base", NULL, QW_OK, "10000"},
        {"qwen2.block_count", NULL, QW_ERR_MODEL, "qwen2.block_count"},
        {"qwen2.block_count", "1", QW_ERR_FORMAT, "qwen2.block_count must be an integer"},
        {"qwen2.context_length", NULL, QW_ERR_MODEL, "qwen2.context_length"},
        {"qwen2.embedding_length", NULL, QW_ERR_MODEL, "qwen2.embedding_length"},
        {"qwen2.feed_forward_length", NULL, QW_ERR_MODEL, "qwen2.feed_forward_length"},
        {"qwen2.attention.head_count", NULL, QW_ERR_MODEL, "qwen2.attention.head_count"},
        {"qwen2.attention.layer_norm_rms_epsilon", NULL, QW_ERR_MODEL, "layer_norm_rms_epsilon"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_with(cases[i].key, cases[i].text, NULL, &m, &err), cases[i].status);
        if (cases[i].status) CHECK_HAS(err.text, cases[i].part);
        else CHECK(cases[i].part[0] ? notes_have(&m, cases[i].part) : m.notes.n == 0);
        qw_model_free(&m);
    }
}

static void test_loader_gguf_numbers_are_judged(void)
{
    static const struct {
        const char *key;
        uint32_t number;
        qw_status status;
        const char *part;
    } cases[] = {
        {"qwen2.block_count", 2, QW_ERR_MODEL, "no tensor blk.1."},
        {"qwen2.block_count", 0, QW_ERR_FORMAT, "qwen2.block_count"},
        {"qwen2.block_count", 513, QW_ERR_MODEL, "qwen2.block_count"},
        {"qwen2.block_count", 0x7FFFFFFF, QW_ERR_MODEL, "qwen2.block_count"},
        {"qwen2.embedding_length", 64, QW_ERR_MODEL, "32"},
        {"qwen2.feed_forward_length", 63, QW_ERR_MODEL, "tensor blk.0.ffn_gate.weight: 63 x 32 expected, got 64 x 32"},
        {"qwen2.feed_forward_length", 0xFFFFFFFF, QW_ERR_FORMAT, "qwen2.feed_forward_length"},
        {"qwen2.attention.head_count", 3, QW_ERR_MODEL, "multiple"},
        {"qwen2.attention.head_count", 4, QW_ERR_MODEL, "tensor blk.0.attn_k.weight: 8 x 32 expected, got 16 x 32"},
        {"qwen2.attention.head_count_kv", 2, QW_ERR_MODEL, "32 x 32 expected, got 16 x 32"},
        {"qwen2.attention.head_count_kv", 0, QW_ERR_MODEL, "head_count_kv"},
        {"qwen2.attention.key_length", 16, QW_ERR_MODEL, ""},
        {"qwen2.attention.value_length", 8, QW_ERR_MODEL, "value 8"},
        {"qwen2.rope.dimension_count", 8, QW_ERR_MODEL, "rotated 8"},
        {"qwen2.rope.dimension_count", 16, QW_OK, ""},
        {"qwen2.rope.scale_linear", 4, QW_ERR_MODEL, "scale_linear"},
        {"qwen2.attention.sliding_window", 64, QW_OK, ""}, /* as long as the context: nothing slides */
        {"tokenizer.ggml.eos_token_id", 9999, QW_OK, "9999"},
        {"tokenizer.ggml.add_bos_token", 1, QW_ERR_FORMAT, "add_bos_token"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_model m;
        qw_error err = {0};
        qw_status status = load_with(cases[i].key, NULL, &cases[i].number, &m, &err);
        if (strcmp(cases[i].key, "qwen2.attention.key_length") == 0) {
            CHECK_EQ(status, QW_OK); /* the same size, spelled out */
            CHECK_EQ(m.config.head_dim, 16);
        } else {
            CHECK_EQ(status, cases[i].status);
            CHECK_HAS(err.text, status ? cases[i].part : "");
            CHECK(status || !cases[i].part[0] || notes_have(&m, cases[i].part));
            CHECK_EQ(m.config.sliding_window, 0);
        }
        qw_model_free(&m);
    }
}

static void test_loader_gguf_window_and_yarn_are_read(void)
{
    gguf g = gguf_new();
    bytes file;
    qw_model m;
    qw_error err = {0};

    gguf_tiny_config(&g, 2);
    gguf_u32(&g, "qwen2.attention.sliding_window", 8);
    gguf_array(&g, "qwen2.attention.sliding_window_pattern", 7, 2);
    put_uint(&g.values, 0, 1);
    put_uint(&g.values, 1, 1);
    gguf_text(&g, "qwen2.rope.scaling.type", "yarn");
    gguf_f32(&g, "qwen2.rope.scaling.factor", 4);
    gguf_u32(&g, "qwen2.rope.scaling.original_context_length", 16);
    gguf_f32(&g, "qwen2.rope.scaling.attn_factor", 2);
    gguf_tiny_tensors(&g, QW_F32, 2);
    file = gguf_file(&g);
    CHECK_EQ(load_one("t.gguf", file, &m, &err), QW_OK);
    CHECK_STR(err.text, "");
    CHECK_EQ(m.config.sliding_window, 8);
    CHECK(!m.config.sliding[0] && m.config.sliding[1]);
    CHECK(m.config.yarn && m.config.yarn_truncate && m.config.yarn_original_ctx == 16);
    CHECK_NEAR(m.config.yarn_attention_factor, 2 * (0.1 * 1.3862943611198906 + 1), 1e-12);
    CHECK(!m.tokenizer && notes_have(&m, "no tokenizer") && notes_have(&m, "no end token"));
    CHECK_EQ(m.n_eos, 0);
    CHECK_EQ(m.pad, -1);
    qw_model_free(&m);
    free(file.v);
}

static void test_loader_gguf_head_of_its_own_is_used(void)
{
    gguf g = gguf_new();
    bytes file;
    qw_model m;
    qw_error err = {0};

    gguf_tiny_config(&g, 1);
    gguf_tiny_tokenizer(&g);
    gguf_tiny_tensors(&g, QW_F32, 1);
    gguf_tensor(&g, "output.weight", QW_F32, TINY_DIM, TINY_VOCAB);
    gguf_tensor(&g, "rope_freqs.weight", QW_F32, 8, 0);
    file = gguf_file(&g);
    CHECK_EQ(load_one("t.gguf", file, &m, &err), QW_OK);
    CHECK(!m.weights.head_is_embed && !m.config.tied && m.weights.head.data != m.weights.embed.data);
    CHECK(notes_have(&m, "1 tensor is not used, Qwen2 has no such weight: rope_freqs.weight"));
    qw_model_free(&m);
    free(file.v);
}

/* Without a head of its own the embedding is the head, in its own type: the same as a file that holds the embedding twice.
 * A file with neither is refused. */
static void test_loader_gguf_head_is_the_embedding_where_there_is_none(void)
{
    static const uint32_t types[] = {QW_F32, QW_Q8_0, QW_Q5_0};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        uint64_t head[2] = {0, 1};
        for (int twice = 0; twice < 2; twice++) {
            gguf g = gguf_new();
            bytes file;
            qw_model m;
            qw_error err = {0};
            gguf_tiny_config(&g, 1);
            gguf_tiny_tokenizer(&g);
            gguf_tiny_tensors(&g, types[i], 1);
            g.seed = gguf_new().seed; /* the embedding's bytes again */
            if (twice) gguf_tensor(&g, "output.weight", types[i], TINY_DIM, TINY_VOCAB);
            file = gguf_file(&g);
            CHECK_EQ(load_one("t.gguf", file, &m, &err), QW_OK);
            CHECK_EQ(m.weights.head_is_embed, !twice);
            head[twice] = hash_mat(0, &m.weights.head);
            qw_model_free(&m);
            free(file.v);
        }
        CHECK(head[0] == head[1]);
    }
    {
        gguf g = gguf_new();
        bytes file;
        qw_model m;
        qw_error err = {0};
        gguf_tiny_config(&g, 1);
        gguf_tiny_layers(&g, QW_F32, 0, 1, NULL);
        gguf_tensor(&g, "output_norm.weight", QW_F32, TINY_DIM, 0);
        file = gguf_file(&g);
        CHECK_EQ(load_one("t.gguf", file, &m, &err), QW_ERR_MODEL);
        CHECK_HAS(err.text, "token_embd.weight");
        free(file.v);
    }
}

static void test_loader_gguf_missing_tensors_are_named(void)
{
    char name[64];

    for (size_t i = 0; i < TINY_LAYER_TENSORS; i++) {
        gguf g = gguf_new();
        bytes file;
        qw_model m;
        qw_error err = {0};
        snprintf(name, sizeof name, "blk.0.%s", tiny_layer[i].name);
        gguf_tiny_config(&g, 1);
        gguf_tensor(&g, "token_embd.weight", QW_F32, TINY_DIM, TINY_VOCAB);
        gguf_tiny_layers(&g, QW_F32, 0, 1, name);
        gguf_tensor(&g, "output_norm.weight", QW_F32, TINY_DIM, 0);
        file = gguf_file(&g);
        CHECK_EQ(load_one("t.gguf", file, &m, &err), QW_ERR_MODEL);
        CHECK_HAS(err.text, name);
        free(file.v);
    }
}

int main(void)
{
    test_loader_gguf_text_keys_are_judged();
    test_loader_gguf_numbers_are_judged();
    test_loader_gguf_window_and_yarn_are_read();
    test_loader_gguf_head_of_its_own_is_used();
    test_loader_gguf_head_is_the_embedding_where_there_is_none();
    test_loader_gguf_missing_tensors_are_named();
    return check_done();
}
