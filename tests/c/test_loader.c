/* SPDX-License-Identifier: MIT
 * loader.c and its parts: whole models from memory, however the bytes come; what is missing, what is something else, what
 * is hostile; and memory that is refused. */
#include "loader.h"

#include "check.h"
#include "model_files.h"

static const char *root;

/* ---- comparing models */

static uint64_t hash_bytes(uint64_t h, const void *data, size_t n)
{
    const uint8_t *p = data;

    for (size_t i = 0; i < n; i++) h = (h ^ p[i]) * 1099511628211u;
    return h;
}

static uint64_t hash_mat(uint64_t h, const qw_mat *m)
{
    h = hash_bytes(h, &m->rows, sizeof m->rows);
    h = hash_bytes(h, &m->layout, sizeof m->layout);
    return hash_bytes(h, m->data, qw_mat_bytes(m->layout, m->rows, m->cols));
}

/* Everything that a load leaves behind, tokenizer by its vocabulary. */
static uint64_t hash_model(const qw_model *m)
{
    const qw_config *c = &m->config;
    const qw_weights *w = &m->weights;
    uint64_t h = hash_mat(hash_mat(1469598103934665603u, &w->embed), &w->head);
    size_t q = (size_t)(c->n_head * c->head_dim) * 4, kv = (size_t)(c->n_kv_head * c->head_dim) * 4,
           dim = (size_t)c->dim * 4;

    h = hash_bytes(h, w->norm_out, dim);
    for (int32_t l = 0; l < c->n_layer; l++) {
        const qw_layer *y = &w->layer[l];
        const qw_mat *mats[] = {&y->wq, &y->wk, &y->wv, &y->wo, &y->w_gate, &y->w_up, &y->w_down};
        h = hash_bytes(hash_bytes(h, y->norm_attn, dim), y->norm_ffn, dim);
        h = hash_bytes(hash_bytes(hash_bytes(h, y->bq, q), y->bk, kv), y->bv, kv);
        for (size_t i = 0; i < sizeof mats / sizeof *mats; i++) h = hash_mat(h, mats[i]);
    }
    h = hash_bytes(h, m->eos, (size_t)m->n_eos * sizeof *m->eos);
    h = hash_bytes(h, &m->pad, sizeof m->pad);
    h = hash_bytes(h, m->chat_template.bytes, m->chat_template.n);
    h = hash_bytes(h, m->notes.bytes, m->notes.n);
    for (int32_t i = 0; m->tokenizer && i < c->n_vocab; i++) {
        qw_text t = qw_tokenizer_token_bytes(m->tokenizer, i);
        h = hash_bytes(h, t.bytes, t.n);
    }
    return hash_bytes(h, &c->rope_theta, sizeof c->rope_theta);
}

/* The bytes of all weights by the layouts they have. */
static double kept_bytes(const qw_model *m)
{
    const qw_config *c = &m->config;
    double n = 0;

    for (int32_t i = 0; i <= QW_LAYOUT_K2M; i++) n += m->layout_bytes[i];
    return n + (double)c->n_layer * (double)sizeof(qw_layer);
}

static bool notes_have(const qw_model *m, const char *part)
{
    size_t n = strlen(part);

    for (size_t i = 0; i + n <= m->notes.n; i++)
        if (memcmp(m->notes.bytes + i, part, n) == 0) return true;
    return false;
}

/* Loads the same files with several chops; the models must be equal and the books right. Returns the hash. */
static uint64_t check_chops(const mem_file *files, size_t n, const char *main_name)
{
    static const size_t chops[] = {0, 1, 7, 4096, 100003};
    uint64_t first = 0;
    size_t total = 0;

    for (size_t i = 0; i < n; i++) total += files[i].content.n;
    for (size_t i = 0; i < sizeof chops / sizeof *chops; i++) {
        loading in = {.files = files, .n_files = n, .main_name = main_name, .chop = chops[i]};
        qw_model m;
        qw_error err = {0};
        int64_t live = qw_alloc_test_live();
        if (chops[i] == 1 && total > 500000) continue; /* takes long, and shows no more */
        CHECK_EQ(load_files(&in, &m, &err), QW_OK);
        CHECK_STR(err.text, "");
        if (err.text[0]) return 0;
        if (!i) first = hash_model(&m);
        CHECK(hash_model(&m) == first);
        CHECK(!in.descended);
        CHECK_NEAR(in.fed, in.read_bytes, 0);
        CHECK_NEAR(in.weight_bytes, kept_bytes(&m), 0);
        CHECK_NEAR(in.weight_bytes, (double)m.weights.bytes, 0);
        CHECK(in.wanted_most <= 1 << 20);
        CHECK(in.stage_bytes > 0 && in.file_bytes >= in.read_bytes);
        qw_model_free(&m);
        CHECK_EQ(qw_alloc_test_live(), live);
    }
    return first;
}

static void test_loader_gguf_is_the_same_however_it_is_fed(void)
{
    static const uint32_t types[] = {QW_F32, QW_F16, QW_BF16, QW_Q8_0, QW_Q4_0, QW_Q4_1, QW_Q5_0, QW_Q5_1};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        mem_file file = {"tiny.gguf", tiny_gguf(types[i], 12)};
        check_chops(&file, 1, "tiny.gguf");
        free(file.content.v);
    }
}

static void test_loader_gguf_contents_arrive(void)
{
    bytes file = tiny_gguf(QW_F32, 2);
    qw_model m;
    qw_error err = {0};

    CHECK_EQ(load_one("dir/tiny.gguf", file, &m, &err), QW_OK);
    CHECK_STR(err.text, "");
    CHECK_EQ(m.config.n_layer, 2);
    CHECK_EQ(m.config.dim, TINY_DIM);
    CHECK_EQ(m.config.head_dim, TINY_HEAD);
    CHECK_EQ(m.config.n_kv_head, 1);
    CHECK_EQ(m.config.n_vocab, TINY_VOCAB);
    CHECK_EQ(m.config.n_ctx_train, 64);
    CHECK_NEAR(m.config.rms_eps, 1e-6, 1e-12);
    CHECK(m.weights.head_is_embed && m.config.tied);
    CHECK(m.weights.head.data == m.weights.embed.data && m.weights.embed.data);
    CHECK_EQ(m.n_eos, 2); /* the key's <|endoftext|>, and <|im_end|> */
    CHECK_EQ(m.eos[0], 257);
    CHECK_EQ(m.eos[1], 259);
    CHECK_EQ(m.pad, 257);
    CHECK(m.name.n == 4 && memcmp(m.name.bytes, "Tiny", 4) == 0);
    CHECK(m.chat_template.n == 14 && m.generation_config.n == 0 && m.notes.n == 0);
    CHECK(m.tokenizer && qw_tokenizer_n_ids(m.tokenizer) == TINY_VOCAB);
    CHECK_NEAR(m.n_parameters, 260 * 32 + 32 + 2 * (32 * 32 * 2 + 2 * 16 * 32 + 3 * 32 * 64 + 64 + 32 + 32), 0);
    qw_model_free(&m);
    free(file.v);
}

static void test_loader_sniffs_a_file_of_any_name(void)
{
    bytes file = tiny_gguf(QW_F32, 1);
    mem_file named = {"tiny.gguf", file}, unnamed = {"download", file};
    qw_model m;
    qw_error err = {0};
    bytes text = text_bytes("just some text, longer than 16 bytes");

    CHECK(check_chops(&named, 1, "tiny.gguf") == check_chops(&unnamed, 1, "download"));
    CHECK_EQ(load_one("download", text, &m, &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "download: neither GGUF");
    free(text.v);
    free(file.v);
}

/* ---- shards */

static void shard_keys(gguf *g, uint32_t no, uint32_t count, uint32_t n_tensors)
{
    gguf_u32(g, "split.no", no);
    gguf_u32(g, "split.count", count);
    gguf_u32(g, "split.tensors.count", n_tensors);
}

/* Three shards of the tiny model with two layers. */
static void make_shards(mem_file files[3], uint32_t claimed_tensors)
{
    gguf g = gguf_new();

    gguf_tiny_config(&g, 2);
    gguf_tiny_tokenizer(&g);
    shard_keys(&g, 0, 3, claimed_tensors);
    gguf_tensor(&g, "token_embd.weight", QW_Q8_0, TINY_DIM, TINY_VOCAB);
    files[0] = (mem_file){"d/tiny-00001-of-00003.gguf", gguf_file(&g)};
    shard_keys(&g, 1, 3, claimed_tensors);
    gguf_tiny_layers(&g, QW_Q8_0, 0, 1, NULL);
    files[1] = (mem_file){"d/tiny-00002-of-00003.gguf", gguf_file(&g)};
    shard_keys(&g, 2, 3, claimed_tensors);
    gguf_tiny_layers(&g, QW_Q8_0, 1, 1, NULL);
    gguf_tensor(&g, "output_norm.weight", QW_F32, TINY_DIM, 0);
    files[2] = (mem_file){"d/tiny-00003-of-00003.gguf", gguf_file(&g)};
}

static void test_loader_any_shard_brings_the_whole_set(void)
{
    mem_file files[3];
    uint64_t first;

    make_shards(files, 26);
    first = check_chops(files, 3, "d/tiny-00001-of-00003.gguf");
    CHECK(first != 0);
    CHECK(check_chops(files, 3, "d/tiny-00002-of-00003.gguf") == first);
    CHECK(check_chops(files, 3, "d/tiny-00003-of-00003.gguf") == first);
    free_files(files, 3);
}

static qw_status load_shards(mem_file *files, size_t n, const char *main_name, qw_error *err)
{
    loading in = {.files = files, .n_files = n, .main_name = main_name};
    qw_model m;
    qw_status status = load_files(&in, &m, err);

    qw_model_free(&m);
    return status;
}

static void test_loader_shards_that_do_not_fit_are_refused(void)
{
    mem_file files[3];
    qw_error err = {0};
    bytes kept;

    make_shards(files, 26);
    CHECK_EQ(load_shards(files, 2, "d/tiny-00001-of-00003.gguf", &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "d/tiny-00003-of-00003.gguf: the file is missing");
    kept = files[1].content;
    files[1].content = files[2].content;
    CHECK_EQ(load_shards(files, 3, "d/tiny-00001-of-00003.gguf", &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "part 3 of 3");
    files[1].content = kept;
    files[0].name = "part1.gguf";
    CHECK_EQ(load_shards(files, 1, "part1.gguf", &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "part 1 of 3");
    free_files(files, 3);

    make_shards(files, 27);
    CHECK_EQ(load_shards(files, 3, "d/tiny-00001-of-00003.gguf", &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "27 tensors");
    free_files(files, 3);

    files[0] =
        (mem_file){"tiny-00001-of-00002.gguf", tiny_gguf(QW_F32, 1)}; /* one file that claims by its name to be two */
    files[1] = (mem_file){"tiny-00002-of-00002.gguf", tiny_gguf(QW_F32, 1)};
    CHECK_EQ(load_shards(files, 2, "tiny-00001-of-00002.gguf", &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "part 1 of 1");
    free_files(files, 2);
}

static void test_loader_one_of_one_is_an_ordinary_file(void)
{
    mem_file file = {"tiny-00001-of-00001.gguf", tiny_gguf(QW_F32, 1)};

    CHECK(check_chops(&file, 1, "tiny-00001-of-00001.gguf") != 0);
    free(file.content.v);
}

/* ---- GGUF's keys */

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

/* ---- checkpoints */

static void test_loader_checkpoints_are_the_same_however_they_are_fed(void)
{
    static const char *const names[] = {
        "mha",     "mqa",  "tied-bf16", "tied-extra-head", "tied-head-only", "untied-gqa4-2-f32",
        "sharded", "yarn", "sliding"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mem_file files[16];
        size_t n = read_checkpoint(root, names[i], files);
        uint64_t h;
        CHECK(n >= 5);
        h = check_chops(files, n, "config.json");
        if (strcmp(names[i], "sharded") == 0) {
            CHECK(check_chops(files, n, "model-00002-of-00003.safetensors") == h);
            CHECK(check_chops(files, n, "model.safetensors.index.json") == h);
        } else {
            CHECK(check_chops(files, n, "model.safetensors") == h);
        }
        free_files(files, n);
    }
}

static void test_loader_checkpoint_texts_and_ends_arrive(void)
{
    mem_file files[16];
    size_t n = read_checkpoint(root, "tied-bf16", files);
    loading in = {.files = files, .n_files = n, .main_name = "config.json"};
    qw_model m;
    qw_error err = {0};
    bytes *generation = file_bytes_of(files, n, "generation_config.json");

    CHECK_EQ(load_files(&in, &m, &err), QW_OK);
    CHECK_STR(err.text, "");
    CHECK_EQ(m.config.n_vocab, 544);
    CHECK_EQ(m.n_eos, 2);
    CHECK_EQ(m.eos[0], 511);
    CHECK_EQ(m.eos[1], 34);
    CHECK_EQ(m.pad, 509);
    CHECK(m.chat_template.n > 50 && memcmp(m.chat_template.bytes, "{% for", 6) == 0);
    CHECK(m.generation_config.n == generation->n &&
          memcmp(m.generation_config.bytes, generation->v, generation->n) == 0);
    CHECK(m.tokenizer && qw_tokenizer_n_ids(m.tokenizer) == 512);
    qw_model_free(&m);
    free_files(files, n);
}

/* The status of loading a checkpoint in which one file is another text (NULL: absent). */
static qw_status load_changed(const char *name, const char *file, const char *text, qw_model *m, qw_error *err)
{
    mem_file files[17];
    size_t n = read_checkpoint(root, name, files), i = 0;
    loading in = {.files = files, .main_name = "config.json"};
    qw_status status;

    while (i < n && strcmp(files[i].name, file) != 0) i++;
    if (i < n) free(files[i].content.v);
    else files[n++].name = file;
    files[i].content = text ? text_bytes(text) : (bytes){0};
    in.n_files = n;
    if (!text) files[i] = files[in.n_files = --n];
    status = load_files(&in, m, err);
    free_files(files, n);
    return status;
}

static const char html[] = "\n<!DOCTYPE html><html><body>Not found</body></html>";
static const char lfs[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0123456789\nsize 1234\n";

static void test_loader_html_and_lfs_pointers_are_recognised(void)
{
    static const char *const pages[] = {lfs,
                                        html,
                                        "<HTML>\n<body>404</body>",
                                        "\xEF\xBB\xBF<html lang=en><p>",
                                        "<!doctype html><p>",
                                        "<?xml version=\"1.0\"?><Error/>"};
    static const struct {
        const char *file;
        bool optional;
    } cases[] = {{"config.json", false},
                 {"model.safetensors", false},
                 {"generation_config.json", true},
                 {"tokenizer.json", true},
                 {"tokenizer_config.json", true},
                 {"chat_template.jinja", true},
                 {"model.safetensors.index.json", true}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_model m;
        qw_error err = {0};
        char part[80];
        snprintf(part, sizeof part, "%s: got HTML", cases[i].file);
        CHECK_EQ(load_changed("mha", cases[i].file, html, &m, &err), cases[i].optional ? QW_OK : QW_ERR_FORMAT);
        if (cases[i].optional) CHECK(notes_have(&m, part));
        else CHECK_HAS(err.text, part);
        qw_model_free(&m);
        CHECK_EQ(load_changed("mha", cases[i].file, lfs, &m, &err), QW_ERR_FORMAT);
        CHECK_HAS(err.text, cases[i].file);
        CHECK_HAS(err.text, "Git LFS pointer, not the file");
    }
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        static const char *const names[] = {"m.gguf", "m.safetensors", "m"};
        for (size_t k = 0; k < 3; k++) {
            bytes content = text_bytes(pages[i]);
            qw_model m;
            qw_error err = {0};
            CHECK_EQ(load_one(names[k], content, &m, &err), QW_ERR_FORMAT);
            CHECK_HAS(err.text, i == 0 ? "Git LFS pointer, not the file" : "got HTML");
            free(content.v);
        }
    }
}

static void test_loader_empty_files_are_refused(void)
{
    static const char *const names[] = {"config.json", "model.safetensors", "tokenizer.json", "generation_config.json",
                                        "tokenizer_config.json"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_changed("mha", names[i], "", &m, &err), QW_ERR_FORMAT);
        CHECK_HAS(err.text, names[i]);
    }
}

static void test_loader_missing_files_are_errors_or_notes(void)
{
    static const struct {
        const char *file;
        qw_status status;
        const char *part;
    } cases[] = {
        {"config.json", QW_ERR_FORMAT, "config.json: the file is missing"},
        {"model.safetensors", QW_ERR_FORMAT, "model.safetensors: the file is missing"},
        {"tokenizer.json", QW_OK, "no tokenizer.json"},
        {"generation_config.json", QW_OK, NULL},
        {"tokenizer_config.json", QW_OK, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_changed("mha", cases[i].file, NULL, &m, &err), cases[i].status);
        if (cases[i].status) CHECK_HAS(err.text, cases[i].part);
        else if (cases[i].part) CHECK(notes_have(&m, cases[i].part) && !m.tokenizer);
        qw_model_free(&m);
    }
}

static void test_loader_end_tokens_fall_back_from_file_to_file(void)
{
    static const struct {
        const char *file, *text;
        int32_t n_eos, first, pad;
    } cases[] = {
        {"generation_config.json", NULL, 1, 511,
         509}, /* config.json's; its pad is tokenizer_config.json's <|endoftext|> */
        {"generation_config.json", "{}", 1, 511, 509},
        {"generation_config.json", "{\"eos_token_id\":7,\"pad_token_id\":null}", 1, 7, 509},
        {"generation_config.json", "{\"eos_token_id\":[3,3,4],\"pad_token_id\":8}", 2, 3, 8},
        {"generation_config.json", "{\"eos_token_id\":[]}", 0, 0, 509},
        {"generation_config.json", "{\"eos_token_id\":[600,5]}", 1, 5, 509}, /* 600 is no id */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_changed("mha", cases[i].file, cases[i].text, &m, &err), QW_OK);
        CHECK_STR(err.text, "");
        CHECK_EQ(m.n_eos, cases[i].n_eos);
        CHECK_EQ(m.eos[0], cases[i].first);
        CHECK_EQ(m.pad, cases[i].pad);
        qw_model_free(&m);
    }
    {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_changed("mha", "generation_config.json", "{\"eos_token_id\":\"x\"}", &m, &err), QW_ERR_MODEL);
        CHECK_HAS(err.text, "eos_token_id");
        CHECK_EQ(load_changed("mha", "generation_config.json", "{\"eos_token_id\":1.5}", &m, &err), QW_ERR_MODEL);
    }
}

static void test_loader_chat_template_comes_from_the_best_place(void)
{
    static const struct {
        const char *file, *text, *wanted;
    } cases[] = {
        {"chat_template.jinja", "from the file", "from the file"},
        {"chat_template.jinja", "<human>: {{ x }}", "<human>: {{ x }}"}, /* no web page */
        {"tokenizer_config.json", "{\"chat_template\":\"a string\"}", "a string"},
        {"tokenizer_config.json",
         "{\"chat_template\":[{\"name\":\"tool_use\",\"template\":\"no\"},{\"name\":\"default\",\"template\":\"yes\"}]"
         "}",
         "yes"},
        {"tokenizer_config.json", "{\"chat_template\":[{\"name\":\"tool_use\",\"template\":\"no\"}]}", ""},
        {"tokenizer_config.json", "{}", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_changed("mha", cases[i].file, cases[i].text, &m, &err), QW_OK);
        CHECK(m.chat_template.n == strlen(cases[i].wanted));
        CHECK(!m.chat_template.n || memcmp(m.chat_template.bytes, cases[i].wanted, m.chat_template.n) == 0);
        qw_model_free(&m);
    }
}

static void test_loader_a_bad_index_is_refused(void)
{
    static const struct {
        const char *text;
        qw_status status;
        const char *part;
    } cases[] = {
        {"{}", QW_ERR_FORMAT, "weight_map"},
        {"{\"weight_map\":{}}", QW_ERR_FORMAT, "weight_map"},
        {"{\"weight_map\":{\"a\":\"../x.safetensors\"}}", QW_ERR_FORMAT, "../x.safetensors"},
        {"{\"weight_map\":{\"a\":\"https://a.example/x.safetensors\"}}", QW_ERR_FORMAT, "beside it"},
        {"{\"weight_map\":{\"a\":\"model.bin\"}}", QW_ERR_FORMAT, "model.bin"},
        {"{\"weight_map\":{\"a\":7}}", QW_ERR_FORMAT, "beside it"},
        {"{\"weight_map\":{\"a\":\"model-00001-of-00003.safetensors\"}}", QW_ERR_MODEL, "tensor a is in"},
        {"{\"weight_map\":{\"lm_head.weight\":\"model-00001-of-00003.safetensors\",\"b\":\"model-00003-of-00003."
         "safetensors\"}}",
         QW_ERR_MODEL, "model-00003-of-00003.safetensors"},
        {"{\"weight_map\":{\"a\":\"gone.safetensors\"}}", QW_ERR_FORMAT, "gone.safetensors: the file is missing"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_changed("sharded", "model.safetensors.index.json", cases[i].text, &m, &err), cases[i].status);
        CHECK_HAS(err.text, cases[i].part);
    }
}

/* ---- the dialogue */

static void test_loader_headers_only_knows_the_same_figures(void)
{
    mem_file file = {"t.gguf", tiny_gguf(QW_Q8_0, 12)};
    loading whole = {.files = &file, .n_files = 1, .main_name = "t.gguf"};
    loading plan = {.files = &file, .n_files = 1, .main_name = "t.gguf", .options = {QW_QUANTIZE_NONE, true}};
    qw_loader *l = NULL;
    qw_model m, none;
    qw_error err = {0};

    CHECK_EQ(load_files(&whole, &m, &err), QW_OK);
    CHECK_EQ(run_loader(&plan, &l, &err), QW_OK);
    CHECK_NEAR(qw_loader_weight_bytes(l), whole.weight_bytes, 0);
    CHECK_NEAR(qw_loader_read_bytes(l), whole.fed, 0);
    CHECK_NEAR(qw_loader_file_bytes(l), (double)file.content.n, 0);
    CHECK_NEAR(qw_loader_stage_bytes(l), whole.stage_bytes, 0);
    CHECK_EQ(qw_loader_model(l)->config.n_vocab, TINY_VOCAB);
    CHECK(qw_loader_model(l)->tokenizer && !qw_loader_model(l)->weights.embed.data);
    CHECK_NEAR(qw_loader_model(l)->n_parameters, m.n_parameters, 0);
    CHECK_EQ(qw_loader_take(l, &none, &err), QW_ERR_INTERNAL);
    qw_loader_free(l);
    qw_model_free(&m);
    free(file.content.v);
}

static void test_loader_misuse_is_an_error(void)
{
    qw_load_options options = {QW_QUANTIZE_NONE, false};
    qw_loader *l;
    qw_model m;
    qw_error err = {0};
    qw_want w;

    CHECK_EQ(qw_loader_new(&l, &options, (qw_text){"", 0}, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_loader_new(&l, &options, (qw_text){"a\0b", 3}, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_loader_new(&l, &options, qw_text_of("t.gguf"), &err), QW_OK);
    qw_loader_want(l, &w);
    CHECK_EQ(w.kind, QW_WANT_OPEN);
    CHECK_STR(w.name, "t.gguf");
    CHECK(!w.optional);
    CHECK_EQ(qw_loader_feed(l, 1, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_loader_take(l, &m, &err), QW_ERR_INTERNAL);
    CHECK_EQ(qw_loader_opened(l, 100, &err), QW_OK);
    CHECK_EQ(qw_loader_opened(l, 100, &err), QW_ERR_USAGE);
    qw_loader_free(l);
    CHECK_EQ(qw_loader_new(&l, &options, qw_text_of("t.gguf"), &err), QW_OK);
    CHECK_EQ(qw_loader_opened(l, 100, &err), QW_OK);
    qw_loader_want(l, &w);
    CHECK_EQ(w.kind, QW_WANT_READ);
    CHECK_EQ(w.bytes, 100);
    CHECK_EQ(qw_loader_feed(l, 0, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_loader_feed(l, 101, &err), QW_ERR_USAGE);
    qw_loader_free(l);
    CHECK_EQ(qw_loader_new(&l, &options, qw_text_of("t.gguf"), &err), QW_OK);
    CHECK_EQ(qw_loader_opened(l, -1, &err), QW_ERR_FORMAT);
    qw_loader_want(l, &w);
    CHECK_EQ(w.kind, QW_WANT_NOTHING);
    qw_loader_free(l);
    qw_loader_free(NULL);
}

/* ---- hostile files */

static void test_loader_every_prefix_is_refused(void)
{
    bytes file = tiny_gguf(QW_Q4_0, 1);
    int64_t live = qw_alloc_test_live();

    for (size_t n = 0; n < file.n - 31; n += n < 5000 ? 1 : 37) { /* the last bytes may be padding */
        bytes cut = {file.v, n, n};
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_one("t.gguf", cut, &m, &err), QW_ERR_FORMAT);
        CHECK_HAS(err.text, "t.gguf: file incomplete, needs ");
    }
    CHECK_EQ(qw_alloc_test_live(), live);
    free(file.v);
}

/* Whatever a byte becomes: a status, a text with it, no leak. */
static void test_loader_every_changed_byte_is_survived(void)
{
    static const uint8_t values[] = {0x00, 0x80, 0xFF};
    bytes file = tiny_gguf(QW_F32, 1);
    int64_t live = qw_alloc_test_live(), refused = 0;

    for (size_t i = 0; i < file.n; i += i < 700 || (i > 4500 && i < 5800) ? 1 : 41)
        for (size_t v = 0; v < sizeof values; v++) {
            uint8_t was = file.v[i];
            qw_model m;
            qw_error err = {0};
            qw_status status;
            file.v[i] = v ? values[v] : (uint8_t)(was ^ 1);
            status = load_one("t.gguf", file, &m, &err);
            CHECK(status == QW_OK ? !err.text[0] : err.text[0] && status != QW_ERR_INTERNAL && status != QW_ERR_USAGE);
            refused += status != QW_OK;
            qw_model_free(&m);
            file.v[i] = was;
        }
    CHECK(refused > 1000);
    CHECK_EQ(qw_alloc_test_live(), live);
    free(file.v);
}

/* ---- memory */

/* Refuses each allocation of a load in turn. */
static void check_refusals(const mem_file *files, size_t n_files, const char *main_name)
{
    int64_t live = qw_alloc_test_live();

    for (int64_t n = 0;; n++) {
        loading in = {.files = files, .n_files = n_files, .main_name = main_name};
        qw_model m;
        qw_error err = {0};
        qw_status status;
        qw_alloc_test_fail(n);
        status = load_files(&in, &m, &err);
        qw_alloc_test_fail(-1);
        qw_model_free(&m);
        CHECK_EQ(qw_alloc_test_live(), live);
        if (!status) {
            CHECK(n > 20);
            return;
        }
        CHECK_EQ(status, QW_ERR_MEMORY);
        CHECK_EQ(err.status, QW_ERR_MEMORY);
        if (n > 100000 || status != QW_ERR_MEMORY) return;
    }
}

static void test_loader_refused_memory_is_a_clean_error(void)
{
    mem_file files[16] = {{"t.gguf", tiny_gguf(QW_Q8_0, 1)}};
    size_t n;

    check_refusals(files, 1, "t.gguf");
    free(files[0].content.v);
    n = read_checkpoint(root, "sharded", files);
    check_refusals(files, n, "config.json");
    free_files(files, n);
}

static void test_loader_the_bundled_model_loads(void)
{
    bytes file = read_path("models/austen-tiny-q8_0.gguf");
    mem_file f = {"austen-tiny-q8_0.gguf", file};
    loading in = {.files = &f, .n_files = 1, .main_name = f.name};
    qw_model m;
    qw_error err = {0};

    CHECK(file.n > 5000000);
    CHECK_EQ(load_files(&in, &m, &err), QW_OK);
    CHECK_STR(err.text, "");
    CHECK_EQ(m.config.n_layer, 6);
    CHECK_EQ(m.config.n_vocab, 4096);
    CHECK(m.tokenizer && m.n_eos >= 1);
    CHECK(in.weight_bytes <= 1.2 * (double)file.n);
    qw_model_free(&m);
    free(file.v);
}

int main(int argc, char **argv)
{
    root = fixtures_root(argc, argv);
    test_loader_gguf_is_the_same_however_it_is_fed();
    test_loader_gguf_contents_arrive();
    test_loader_sniffs_a_file_of_any_name();
    test_loader_any_shard_brings_the_whole_set();
    test_loader_shards_that_do_not_fit_are_refused();
    test_loader_one_of_one_is_an_ordinary_file();
    test_loader_gguf_text_keys_are_judged();
    test_loader_gguf_numbers_are_judged();
    test_loader_gguf_window_and_yarn_are_read();
    test_loader_gguf_head_of_its_own_is_used();
    test_loader_gguf_missing_tensors_are_named();
    test_loader_checkpoints_are_the_same_however_they_are_fed();
    test_loader_checkpoint_texts_and_ends_arrive();
    test_loader_html_and_lfs_pointers_are_recognised();
    test_loader_empty_files_are_refused();
    test_loader_missing_files_are_errors_or_notes();
    test_loader_end_tokens_fall_back_from_file_to_file();
    test_loader_chat_template_comes_from_the_best_place();
    test_loader_a_bad_index_is_refused();
    test_loader_headers_only_knows_the_same_figures();
    test_loader_misuse_is_an_error();
    test_loader_every_prefix_is_refused();
    test_loader_every_changed_byte_is_survived();
    test_loader_refused_memory_is_a_clean_error();
    test_loader_the_bundled_model_loads();
    return check_done();
}
