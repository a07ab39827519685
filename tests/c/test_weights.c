/* SPDX-License-Identifier: MIT
 * weights.c and tensors.c: which tensors a Qwen2 binds, the shapes it asks for, the odd heads of the fixtures, layouts by
 * quantisation, and weights that are no numbers. */
#include "model/binding.h"

#include "check.h"
#include "model_files.h"
#include "files/safetensors.h"
#include "kernels/quant.h"

#include <math.h>

static const char *root;

static qw_status load_checkpoint(const char *name, qw_quantize quantize, qw_model *m, qw_error *err)
{
    mem_file files[16];
    size_t n = read_checkpoint(root, name, files);
    loading in = {.files = files, .n_files = n, .main_name = "config.json", .options = {quantize, false}};
    qw_status status = load_files(&in, m, err);

    CHECK(n >= 5);
    free_files(files, n);
    return status;
}

/* The rows of a tensor of a checkpoint with one safetensors file, as float32, through the header reader alone. */
static float *file_values(const char *name, const char *tensor, size_t *n)
{
    mem_file files[16];
    size_t n_files = read_checkpoint(root, name, files), i;
    bytes file = *file_bytes_of(files, n_files, "model.safetensors");
    qw_safetensors_source source = {{(const char *)file.v, 8}, file.n, 0, "model.safetensors"};
    qw_tensors t = {0};
    uint64_t end = 0;
    float *values = NULL;

    CHECK_EQ(qw_safetensors_header_end(&source, &end, NULL), QW_OK);
    source.head.n = (size_t)end;
    CHECK_EQ(qw_safetensors_parse(&source, &t, NULL), QW_OK);
    CHECK_EQ(qw_tensors_check(&t, NULL), QW_OK);
    i = qw_tensors_find(&t, qw_text_of(tensor));
    CHECK(i != SIZE_MAX);
    if (i != SIZE_MAX) {
        *n = (size_t)(t.v[i].dims[0] * t.v[i].dims[1]);
        values = malloc(*n * sizeof *values);
        qw_dequantize(values, file.v + t.v[i].offset, (qw_dtype)t.v[i].type, (int64_t)*n);
    }
    qw_tensors_free(&t);
    free_files(files, n_files);
    return values;
}

static void check_mat(const qw_mat *m, const char *checkpoint, const char *tensor)
{
    size_t n = 0;
    float *wanted = file_values(checkpoint, tensor, &n), *row = malloc((size_t)m->cols * sizeof *row);
    int64_t wrong = 0;

    CHECK_EQ(n, (size_t)m->rows * (size_t)m->cols);
    for (int32_t r = 0; wanted && r < m->rows; r++) {
        qw_mat_row(row, m, r);
        wrong += memcmp(row, wanted + (size_t)r * (size_t)m->cols, (size_t)m->cols * sizeof *row) != 0;
    }
    CHECK_EQ(wrong, 0);
    free(row);
    free(wanted);
}

static void check_vector(const float *v, const char *checkpoint, const char *tensor)
{
    size_t n = 0;
    float *wanted = file_values(checkpoint, tensor, &n);

    CHECK(wanted && n && memcmp(v, wanted, n * sizeof *v) == 0);
    free(wanted);
}

static void test_weights_kept_values_are_the_file_s(void)
{
    static const char *const names[] = {"mqa", "tied-bf16"}; /* f32 and bf16; 208 and 256 columns */

    for (size_t i = 0; i < 2; i++) {
        qw_model m;
        qw_error err = {0};
        const qw_layer *y;
        CHECK_EQ(load_checkpoint(names[i], QW_QUANTIZE_NONE, &m, &err), QW_OK);
        CHECK_STR(err.text, "");
        y = &m.weights.layer[1];
        check_mat(&m.weights.embed, names[i], "model.embed_tokens.weight");
        check_mat(&y->wq, names[i], "model.layers.1.self_attn.q_proj.weight");
        check_mat(&y->wk, names[i], "model.layers.1.self_attn.k_proj.weight");
        check_mat(&y->wv, names[i], "model.layers.1.self_attn.v_proj.weight");
        check_mat(&y->wo, names[i], "model.layers.1.self_attn.o_proj.weight");
        check_mat(&y->w_gate, names[i], "model.layers.1.mlp.gate_proj.weight");
        check_mat(&y->w_up, names[i], "model.layers.1.mlp.up_proj.weight");
        check_mat(&y->w_down, names[i], "model.layers.1.mlp.down_proj.weight");
        check_vector(y->norm_attn, names[i], "model.layers.1.input_layernorm.weight");
        check_vector(y->norm_ffn, names[i], "model.layers.1.post_attention_layernorm.weight");
        check_vector(y->bq, names[i], "model.layers.1.self_attn.q_proj.bias");
        check_vector(y->bk, names[i], "model.layers.1.self_attn.k_proj.bias");
        check_vector(y->bv, names[i], "model.layers.1.self_attn.v_proj.bias");
        check_vector(m.weights.norm_out, names[i], "model.norm.weight");
        qw_model_free(&m);
    }
}

static void test_weights_the_odd_heads_of_the_fixtures(void)
{
    qw_model m;
    qw_error err = {0};

    CHECK_EQ(load_checkpoint("tied-extra-head", QW_QUANTIZE_NONE, &m, &err), QW_OK);
    CHECK(!m.weights.head_is_embed && m.config.tied);
    check_mat(&m.weights.embed, "tied-extra-head", "model.embed_tokens.weight");
    check_mat(&m.weights.head, "tied-extra-head", "lm_head.weight");
    qw_model_free(&m);

    CHECK_EQ(load_checkpoint("tied-head-only", QW_QUANTIZE_NONE, &m, &err), QW_OK);
    CHECK(m.weights.head_is_embed && m.weights.head.data == m.weights.embed.data);
    check_mat(&m.weights.embed, "tied-head-only", "lm_head.weight");
    qw_model_free(&m);

    CHECK_EQ(load_checkpoint("untied-missing-head", QW_QUANTIZE_NONE, &m, &err), QW_ERR_MODEL);
    CHECK_HAS(err.text, "lm_head.weight");

    CHECK_EQ(load_checkpoint("mqa", QW_QUANTIZE_NONE, &m, &err), QW_OK); /* no tie_word_embeddings: untied */
    CHECK(!m.config.tied && !m.weights.head_is_embed);
    qw_model_free(&m);
}

static void test_weights_quantising_picks_the_layouts(void)
{
    static const struct {
        qw_quantize quantize;
        qw_layout layer, vocabulary;
    } cases[] = {{QW_QUANTIZE_NONE, QW_LAYOUT_BF16, QW_LAYOUT_BF16},
                 {QW_QUANTIZE_Q8_0, QW_LAYOUT_I8, QW_LAYOUT_I8},
                 {QW_QUANTIZE_Q4_0, QW_LAYOUT_U4, QW_LAYOUT_I8}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_model m;
        qw_error err = {0};
        const qw_layer *y;
        CHECK_EQ(load_checkpoint("sharded", cases[i].quantize, &m, &err), QW_OK);
        y = &m.weights.layer[2];
        CHECK_EQ(m.weights.embed.layout, cases[i].vocabulary);
        CHECK_EQ(m.weights.head.layout, cases[i].vocabulary);
        CHECK_EQ(y->wq.layout, cases[i].layer);
        CHECK_EQ(y->w_down.layout, cases[i].layer);
        CHECK(m.kept_bytes[qw_layout_traits_of(cases[i].layer).type] > 0 && m.kept_bytes[QW_F32] > 0);
        qw_model_free(&m);
    }
}

typedef struct directory {
    qw_tensors list;
    qw_model m;
} directory;

static void add(directory *d, const char *name, uint32_t type, uint64_t cols, uint64_t rows)
{
    qw_tensor t = {.type = type, .n_dims = rows ? 2 : 1, .dims = {cols, rows ? rows : 1, 1, 1}};

    t.bytes = 1;
    t.offset = d->list.n;
    CHECK_EQ(qw_tensors_add(&d->list, &t, qw_text_of(name), NULL), QW_OK);
}

static directory tiny_directory(uint32_t type)
{
    directory d = {.m = {.config = {.n_layer = 1,
                                    .dim = TINY_DIM,
                                    .n_head = 2,
                                    .n_kv_head = 1,
                                    .head_dim = TINY_HEAD,
                                    .ffn_dim = TINY_FFN,
                                    .n_ctx_train = 64,
                                    .rms_eps = 1e-6f,
                                    .rope_theta = 10000}}};
    char name[64];

    add(&d, "token_embd.weight", type, TINY_DIM, TINY_VOCAB);
    for (size_t i = 0; i < TINY_LAYER_TENSORS; i++) {
        snprintf(name, sizeof name, "blk.0.%s", tiny_layer[i].name);
        add(&d, name, tiny_layer[i].vector ? QW_F32 : type, tiny_layer[i].cols, tiny_layer[i].rows);
    }
    add(&d, "output_norm.weight", QW_F32, TINY_DIM, 0);
    return d;
}

/* Binds and frees. */
static qw_status bind(directory *d, qw_error *err)
{
    static const qw_bind_options options = {QW_QUANTIZE_NONE, false};
    qw_binding b;
    qw_status status;

    CHECK_EQ(qw_tensors_check(&d->list, err), QW_OK);
    status = qw_binding_make(&d->m, &b, &d->list, &options, err);
    qw_binding_free(&b);
    qw_tensors_free(&d->list);
    qw_model_free(&d->m);
    return status;
}

static void test_weights_every_shape_is_checked(void)
{
    for (size_t i = 1; i < 14; i++) {
        for (int change = 0; change < 4; change++) {
            directory d = tiny_directory(QW_F32);
            qw_tensor *t = &d.list.v[i];
            qw_error err = {0};
            char name[96];
            size_t n = t->name_n;
            memcpy(name, d.list.names.bytes + t->name_at, n);
            name[n] = 0;
            if (change == 0) t->dims[0] += 32;
            if (change == 1) t->dims[1] += 1;
            if (change == 2) t->dims[2] = 2;
            if (change == 3) t->n_dims = 0;
            CHECK_EQ(bind(&d, &err), QW_ERR_MODEL);
            CHECK_HAS(err.text, name);
            CHECK_HAS(err.text, "expected");
        }
    }
    {
        directory d = tiny_directory(QW_F32);
        qw_error err = {0};
        CHECK_EQ(bind(&d, &err), QW_OK);
        d = tiny_directory(QW_F32);
        d.list.v[0].dims[0] = 64;
        CHECK_EQ(bind(&d, &err), QW_ERR_MODEL);
        CHECK_HAS(err.text, "token_embd.weight: 260 x 32 expected, got 260 x 64");
    }
}

static void test_weights_types_that_cannot_be_read_are_named(void)
{
    directory d = tiny_directory(QW_F32);
    qw_error err = {0};

    d.list.v[3].type = QW_DTYPE_OTHER;
    strcpy(d.list.v[3].type_name, "F8_E4M3");
    CHECK_EQ(bind(&d, &err), QW_ERR_MODEL);
    CHECK_HAS(err.text, "blk.0.attn_q.bias has type F8_E4M3");
    d = tiny_directory(QW_F32);
    d.list.v[2].type = QW_Q4_K;
    CHECK_EQ(bind(&d, &err), QW_ERR_MODEL);
    CHECK_HAS(err.text, "blk.0.attn_q.weight has rows of 32 weights");
}

static void test_weights_vocabularies_out_of_range_are_refused(void)
{
    static const uint64_t rows[] = {0, (uint64_t)1 << 31, (uint64_t)1 << 32, ((uint64_t)1 << 26) + 1, UINT64_MAX};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        directory d = tiny_directory(QW_F32);
        qw_error err = {0};
        d.list.v[0].dims[1] = rows[i];
        CHECK_EQ(bind(&d, &err), QW_ERR_MODEL);
        CHECK(err.text[0]);
    }
}

static void test_weights_no_piece_of_memory_is_above_2_gib(void)
{
    directory d = tiny_directory(QW_F32);
    qw_error err = {0};

    d.list.v[0].dims[1] = (uint64_t)1 << 24; /* 2^24 rows of 32 float32 are 2 GiB */
    CHECK_EQ(bind(&d, &err), QW_ERR_MEMORY);
    CHECK_HAS(err.text, "token_embd.weight (16777216 x 32)");
    d = tiny_directory(QW_F32);
    d.list.v[0].dims[1] = ((uint64_t)1 << 24) - 4;
    CHECK_EQ(bind(&d, &err), QW_OK);
}

static void test_weights_names_lead_to_slots_and_back(void)
{
    char name[96];

    CHECK_STR(qw_binding_name(name, 0, false), "token_embd.weight");
    CHECK_STR(qw_binding_name(name, 1, true), "lm_head.weight");
    CHECK_STR(qw_binding_name(name, 3, true), "model.layers.0.input_layernorm.weight");
    CHECK_STR(qw_binding_name(name, 3 + 12 * 511 + 11, false), "blk.511.ffn_down.weight");
}

/* Names that look like a layer's, but are not. */
static void test_weights_names_must_be_exact(void)
{
    static const char *const names[] = {"blk.00.attn_q.bias",
                                        "blk.01.attn_q.bias",
                                        "blk.1.attn_q.bias",
                                        "blk.-1.attn_q.bias",
                                        "blk.99999.attn_q.bias",
                                        "blk..attn_q.bias",
                                        "blk.0attn_q.bias",
                                        "blk.0.attn_q.bias2",
                                        "blk.0.attn_q",
                                        "blk.0",
                                        "blk.",
                                        "xblk.0.attn_q.bias"};
    directory d = tiny_directory(QW_F32);
    static const qw_bind_options options = {QW_QUANTIZE_NONE, false};
    qw_binding b;
    qw_error err = {0};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) add(&d, names[i], QW_F32, 32, 0);
    CHECK_EQ(qw_tensors_check(&d.list, &err), QW_OK);
    CHECK_EQ(qw_binding_make(&d.m, &b, &d.list, &options, &err), QW_OK);
    CHECK_EQ(b.n, 14);
    CHECK_EQ(qw_buf_append(&d.m.notes, "", 1, &err), QW_OK);
    CHECK_HAS(d.m.notes.bytes, "12 tensors are not used");
    qw_binding_free(&b);
    qw_tensors_free(&d.list);
    qw_model_free(&d.m);
}

static void set_bytes(uint8_t *dst, uint32_t bits, int n)
{
    for (int i = 0; i < n; i++) dst[i] = (uint8_t)(bits >> (8 * i));
}

static void test_tensors_values_that_are_not_finite_are_seen(void)
{
    static const struct {
        qw_dtype type;
        int at, bytes;
        uint32_t bad[3], good[3];
    } cases[] = {
        {QW_F32, 0, 4, {0x7F800000, 0xFF800000, 0x7FC00001}, {0x7F7FFFFF, 0x00000001, 0x80000000}},
        {QW_F16, 0, 2, {0x7C00, 0xFC00, 0x7E00}, {0x7BFF, 0x0001, 0x8000}},
        {QW_BF16, 0, 2, {0x7F80, 0x7FC0, 0xFF80}, {0x7F7F, 0x0001, 0xC2F7}},
        {QW_Q4_0, 0, 2, {0x7C00, 0xFC00, 0x7E00}, {0x7BFF, 0x03FF, 0x8000}},
        {QW_Q4_1, 2, 2, {0x7C00, 0xFC00, 0x7E00}, {0x7BFF, 0x03FF, 0x8000}},
        {QW_Q5_0, 0, 2, {0x7C00, 0xFC00, 0x7E00}, {0x7BFF, 0x03FF, 0x8000}},
        {QW_Q5_1, 2, 2, {0x7C00, 0xFC00, 0x7E00}, {0x7BFF, 0x03FF, 0x8000}},
        {QW_Q8_0, 0, 2, {0x7C00, 0xFC00, 0x7E00}, {0x7BFF, 0x03FF, 0x8000}},
        {QW_Q2_K, 80, 2, {0x7C00, 0xFC00, 0x7E00}, {0x7BFF, 0x03FF, 0x8000}},
        {QW_Q2_K, 82, 2, {0x7C00, 0xFC00, 0x7E00}, {0x7BFF, 0x03FF, 0x8000}},
        {QW_Q3_K, 108, 2, {0x7C00, 0xFC00, 0x7E00}, {0x7BFF, 0x03FF, 0x8000}},
        {QW_Q4_K, 0, 2, {0x7C00, 0xFC00, 0x7E00}, {0x7BFF, 0x03FF, 0x8000}},
        {QW_Q4_K, 2, 2, {0x7C00, 0xFC00, 0x7E00}, {0x7BFF, 0x03FF, 0x8000}},
        {QW_Q5_K, 2, 2, {0x7C00, 0xFC00, 0x7E00}, {0x7BFF, 0x03FF, 0x8000}},
        {QW_Q6_K, 208, 2, {0x7C00, 0xFC00, 0x7E00}, {0x7BFF, 0x03FF, 0x8000}},
    };
    uint8_t buffer[3 * 256];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t block = qw_dtype_block_bytes(cases[i].type), n = 3 * block;
        for (size_t b = 0; b < 3; b++)
            for (size_t k = 0; k < 3; k++) {
                memset(buffer, 0, sizeof buffer);
                CHECK(qw_tensor_finite(buffer, n, cases[i].type));
                set_bytes(buffer + b * block + cases[i].at, cases[i].good[k], cases[i].bytes);
                CHECK(qw_tensor_finite(buffer, n, cases[i].type));
                set_bytes(buffer + b * block + cases[i].at, cases[i].bad[k], cases[i].bytes);
                CHECK(!qw_tensor_finite(buffer, n, cases[i].type));
            }
    }
}

/* Only scales are looked at: codes may be any bits. */
static void test_tensors_codes_of_any_bits_are_finite(void)
{
    static const struct {
        qw_dtype type;
        int scales[2];
    } types[] = {{QW_Q4_0, {0, 0}}, {QW_Q4_1, {0, 2}},    {QW_Q5_0, {0, 0}},     {QW_Q5_1, {0, 2}},
                 {QW_Q8_0, {0, 0}}, {QW_Q2_K, {80, 82}},  {QW_Q3_K, {108, 108}}, {QW_Q4_K, {0, 2}},
                 {QW_Q5_K, {0, 2}}, {QW_Q6_K, {208, 208}}};
    uint8_t buffer[3 * 256];

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        size_t block = qw_dtype_block_bytes(types[i].type);
        memset(buffer, 0xFF, sizeof buffer);
        CHECK(!qw_tensor_finite(buffer, 3 * block, types[i].type));
        for (size_t b = 0; b < 3; b++)
            for (int k = 0; k < 2; k++) set_bytes(buffer + b * block + types[i].scales[k], 0xFBFF, 2);
        CHECK(qw_tensor_finite(buffer, 3 * block, types[i].type));
    }
}

static void test_weights_a_nan_in_a_file_is_refused_by_name(void)
{
    bytes file = tiny_gguf(QW_F32, 1);
    qw_model m;
    qw_error err = {0};

    set_bytes(file.v + file.n - 4, 0x7FC00000, 4); /* the last value of output_norm.weight */
    CHECK_EQ(load_one("t.gguf", file, &m, &err), QW_ERR_MODEL);
    CHECK_HAS(err.text, "output_norm.weight");
    CHECK_HAS(err.text, "not finite");
    set_bytes(file.v + file.n - 4, 0x3F800000, 4);
    set_bytes(file.v + file.n - 128 - 4, 0xFF800000, 4); /* of blk.0.ffn_down.weight */
    CHECK_EQ(load_one("t.gguf", file, &m, &err), QW_ERR_MODEL);
    CHECK_HAS(err.text, "blk.0.ffn_down.weight");
    free(file.v);
}

static void test_weights_are_packed_alike_on_any_threads(void)
{
    enum { ROWS = 42, COLS = 64 };
    float src[ROWS * COLS];
    qw_mat mat[2];
    qw_binding binding = {0};
    qw_pool *pool;
    qw_error err = {0};

    CHECK_EQ(qw_pool_new(&pool, 3, NULL), QW_OK);
    for (int32_t i = 0; i < ROWS * COLS; i++) src[i] = (float)(i * 37 % 101 - 50) / 16.0f;
    for (int i = 0; i < 2; i++) {
        size_t size = qw_mat_bytes(QW_LAYOUT_I8, ROWS, COLS);
        mat[i] = (qw_mat){QW_LAYOUT_I8, ROWS, COLS, qw_alloc_aligned(size, 1)};
        qw_placed placed = {
            .type = QW_F32, .rows = ROWS, .cols = COLS, .row_bytes = COLS * sizeof *src, .mat = &mat[i]};
        /* In two pieces, the second from row 16 on. */
        qw_piece first = {&placed, (const uint8_t *)src, 0, 16};
        qw_piece second = {&placed, (const uint8_t *)(src + 16 * COLS), 16, ROWS - 16};

        memset(mat[i].data, 0x55, size);
        CHECK_EQ(qw_binding_put(&binding, &first, i ? pool : NULL, &err), QW_OK);
        CHECK_EQ(qw_binding_put(&binding, &second, i ? pool : NULL, &err), QW_OK);
        if (i) {
            CHECK_EQ(memcmp(mat[0].data, mat[1].data, size), 0);
            src[29 * COLS + 7] = NAN;
            CHECK_EQ(qw_binding_put(&binding, &second, pool, &err), QW_ERR_MODEL);
            CHECK_HAS(err.text, "rows 16 to 41");
        }
    }
    for (int i = 0; i < 2; i++) qw_free(mat[i].data);
    qw_pool_free(pool);
}

int main(int argc, char **argv)
{
    root = fixtures_root(argc, argv);
    test_weights_kept_values_are_the_file_s();
    test_weights_the_odd_heads_of_the_fixtures();
    test_weights_quantising_picks_the_layouts();
    test_weights_are_packed_alike_on_any_threads();
    test_weights_every_shape_is_checked();
    test_weights_types_that_cannot_be_read_are_named();
    test_weights_vocabularies_out_of_range_are_refused();
    test_weights_no_piece_of_memory_is_above_2_gib();
    test_weights_names_lead_to_slots_and_back();
    test_weights_names_must_be_exact();
    test_tensors_values_that_are_not_finite_are_seen();
    test_tensors_codes_of_any_bits_are_finite();
    test_weights_a_nan_in_a_file_is_refused_by_name();
    return check_done();
}
