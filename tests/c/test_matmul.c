/* SPDX-License-Identifier: MIT
 * Products: every kernel equals the scalar specification bit for bit, for every layout, size, number of tokens and of
 * threads; the specification itself is near the product in double precision. Built natively with QW_RELAXED_MODEL 1
 * to 3 the relaxed kernels run under all readings of their second operand. */
#include "base/alloc.h"
#include "check.h"
#include "kernels/kernel_choice.h"
#include "kernels/matmul_scalar.h"
#include "kernels/quant.h"
#include "base/simd.h"

#include <math.h>

enum { MOST_COLS = 1536, MOST_ROWS = 14, MOST_TOKENS = 24 };

static const qw_dtype TYPES[] = {
#define TYPE(NAME, ...) QW_##NAME,
    QW_DTYPES(TYPE)};
enum { N_TYPES = sizeof TYPES / sizeof *TYPES };

static uint32_t state = 11;
static qw_pool *pools[3];

static uint32_t next(void)
{
    state = state * 1664525u + 1013904223u;
    return state >> 8;
}

static float uniform(void)
{
    return (float)(next() & 0xffff) / 32768.0f - 1.0f;
}

/* The float16 scales of a block are made finite and small unless hostile values are wanted. */
static void tame(uint8_t *block, qw_dtype type)
{
    size_t n, at = qw_dtype_scales(type, &n);

    if (type == QW_IQ1_M) block[55] = (uint8_t)((block[55] & 0x8f) | 0x20);
    for (size_t i = at; i < at + 2 * n; i += 2) block[i + 1] = (uint8_t)((block[i + 1] & 0x83) | 0x20);
}

typedef struct trial {
    qw_mat w;
    uint8_t *rows;
    float *weights; /* [rows][cols], dequantised */
    float *bias;
} trial;

static trial make_trial(qw_dtype type, int32_t rows, int32_t cols, bool hostile)
{
    trial t = {.w = {qw_layout_for(type, QW_QUANTIZE_NONE), rows, cols, NULL}};
    size_t row = qw_dtype_row_bytes(type, cols), block = qw_dtype_block_bytes(type),
           panel = qw_panel_bytes(t.w.layout, cols);

    t.rows = qw_calloc((size_t)rows, row);
    t.w.data = qw_alloc_aligned(1, qw_mat_bytes(t.w.layout, rows, cols));
    t.weights = qw_calloc((size_t)rows * (size_t)cols, sizeof(float));
    t.bias = qw_calloc((size_t)rows, sizeof(float));
    for (size_t i = 0; i < (size_t)rows * row; i++) t.rows[i] = (uint8_t)next();
    for (size_t i = 0; i < (size_t)rows * row && !hostile; i += block) {
        if (qw_dtype_block(type) > 1) tame(t.rows + i, type);
        /* The exponents of 16- and 32-bit floats: around 1. */
        else t.rows[i + block - 1] = (uint8_t)((t.rows[i + block - 1] & 0x80) | (type == QW_F16 ? 0x38 : 0x3f));
    }
    for (int32_t r = 0; r < rows; r++) {
        qw_dequantize(t.weights + (size_t)r * (size_t)cols, t.rows + (size_t)r * row, type, cols);
        t.bias[r] = uniform();
        if (r % 4 == 0)
            qw_panel_pack(t.w.data + (size_t)(r / 4) * panel, t.w.layout, t.rows + (size_t)r * row, type,
                          rows - r < 4 ? rows - r : 4, cols);
    }
    return t;
}

static void free_trial(trial *t)
{
    qw_free(t->rows);
    qw_free(t->w.data);
    qw_free(t->weights);
    qw_free(t->bias);
}

static int32_t differing(const float *a, const float *b, int32_t n)
{
    int32_t wrong = 0;

    for (int32_t i = 0; i < n; i++) wrong += isnan(a[i]) ? !isnan(b[i]) : memcmp(&a[i], &b[i], sizeof *a) != 0;
    return wrong;
}

static float fast[MOST_ROWS * MOST_TOKENS + 4], slow[MOST_ROWS * MOST_TOKENS];
static float x_storage[MOST_COLS * MOST_TOKENS + 4];

static void fill_x(float *x, int32_t n)
{
    for (int32_t i = 0; i < n; i++) x[i] = uniform() * (next() % 8 ? 1.0f : 30.0f);
}

/* All kernels of the build and all pools, with x and y away from any alignment. */
static void check_equal(const trial *t, qw_activations *a, int32_t n)
{
    float *x = x_storage + 1, *y = fast + 3;
    bool integer = qw_layout_is_integer(t->w.layout);
    qw_product quick = {y, &t->w, n % 2 ? t->bias : NULL}, spec = {slow, &t->w, n % 2 ? t->bias : NULL};
    int32_t values = n * t->w.rows, wrong = 0;

    fill_x(x, n * t->w.cols);
    for (int k = QW_KERNEL_BASE; k <= QW_KERNEL_DOT32; k++) {
        if (!qw_activations_use(a, (qw_kernel)k)) continue;
        for (int p = 0; p < 3; p++) {
            for (int32_t i = 0; i < values; i++) y[i] = 77;
            y[values] = 1234;
            qw_activations_set(a, pools[p], x, n, t->w.cols, integer);
            qw_matmul(pools[p], a, &quick, 1);
            qw_matmul_scalar(a, &spec);
            wrong += differing(y, slow, values);
            wrong += y[values] < 1234 || y[values] > 1234;
        }
    }
    if (!check_int(__FILE__, __LINE__, "values unlike the specification", wrong, 0))
        printf("%s, %d x %d, %d tokens\n", qw_dtype_name(qw_layout_traits_of(t->w.layout).type), t->w.rows, t->w.cols,
               n);
}

static void test_every_size_equals_the_specification(void)
{
    qw_activations a;

    CHECK_EQ(qw_activations_init(&a, MOST_TOKENS, MOST_COLS, NULL), QW_OK);
    for (int i = 0; i < N_TYPES; i++) {
        int32_t block = qw_dtype_block(TYPES[i]), sizes = block == 1 ? 38 : block == 32 ? 18 : 4;
        for (int32_t s = 1; s <= sizes; s++) {
            trial t = make_trial(TYPES[i], 1 + s % 9, s * block, s % 5 == 0);
            check_equal(&t, &a, 1 + s % 9);
            free_trial(&t);
        }
        for (int32_t n = 1; n <= 9; n++) {
            trial t = make_trial(TYPES[i], 10 - n, block == 1 ? 33 : block * (block == 32 ? 3 : 1), false);
            check_equal(&t, &a, n);
            free_trial(&t);
        }
    }
    qw_activations_free(&a);
}

/* More blocks than a tile holds, more tokens than the buffer of a cut-off panel. */
static void test_long_rows_and_many_tokens(void)
{
    qw_activations a;

    CHECK_EQ(qw_activations_init(&a, MOST_TOKENS, MOST_COLS, NULL), QW_OK);
    for (int i = 0; i < N_TYPES; i++) {
        trial t = make_trial(TYPES[i], MOST_ROWS, MOST_COLS, false);
        check_equal(&t, &a, MOST_TOKENS - 1);
        check_equal(&t, &a, 1);
        free_trial(&t);
    }
    qw_activations_free(&a);
}

/* Largest codes against largest activations of one sign: sums at the edge of what int16 holds. */
static void test_extreme_codes_do_not_overflow(void)
{
    static const uint8_t fills[] = {0xff, 0x00, 0x80, 0x7f};
    qw_activations a;

    CHECK_EQ(qw_activations_init(&a, 5, 512, NULL), QW_OK);
    for (int i = 3; i < N_TYPES; i++)
        for (int f = 0; f < 8; f++) {
            trial t = make_trial(TYPES[i], 4, 512, false);
            size_t block = qw_dtype_block_bytes(TYPES[i]), n = 4 * qw_dtype_row_bytes(TYPES[i], 512);
            memset(t.rows, fills[f / 2], n);
            for (size_t b = 0; b < n; b += block) tame(t.rows + b, TYPES[i]);
            qw_panel_pack(t.w.data, t.w.layout, t.rows, TYPES[i], 4, 512);
            float *x = x_storage, y[20], wanted[20];
            qw_product quick = {y, &t.w, NULL}, spec = {wanted, &t.w, NULL};
            for (int j = 0; j < 5 * 512; j++) x[j] = f % 2 ? 1.0f : -1.0f;
            for (int k = QW_KERNEL_BASE; k <= QW_KERNEL_DOT32; k++) {
                if (!qw_activations_use(&a, (qw_kernel)k)) continue;
                qw_activations_set(&a, pools[0], x, 5, 512, true);
                qw_matmul(pools[0], &a, &quick, 1);
                qw_matmul_scalar(&a, &spec);
                CHECK_EQ(differing(y, wanted, 20), 0);
            }
            free_trial(&t);
        }
    qw_activations_free(&a);
}

/* The dequantised weights times the dequantised activations in double: only the sums' rounding is left. */
static void test_specification_is_near_the_exact_product(void)
{
    qw_activations a;

    CHECK_EQ(qw_activations_init(&a, 2, 512, NULL), QW_OK);
    for (int i = 0; i < N_TYPES; i++) {
        trial t = make_trial(TYPES[i], 5, 512, false);
        bool integer = qw_layout_is_integer(t.w.layout);
        qw_product spec = {slow, &t.w, t.bias};
        fill_x(x_storage, 2 * 512);
        qw_activations_set(&a, pools[0], x_storage, 2, 512, true);
        qw_matmul_scalar(&a, &spec);
        for (int32_t n = 0; n < 2; n++)
            for (int32_t r = 0; r < 5; r++) {
                double sum = (double)t.bias[r], size = fabs(sum);
                for (int32_t j = 0; j < 512; j++) {
                    const qw_act *act = &a.act[qw_act_index(&a, n, j / 32)];
                    double x = integer ? (double)act->q[j % 32] * (double)act->scale : (double)x_storage[n * 512 + j];
                    sum += x * (double)t.weights[r * 512 + j];
                    size += fabs(x * (double)t.weights[r * 512 + j]);
                }
                CHECK_NEAR(slow[n * 5 + r], sum, size * 512 * 0x1p-24);
            }
        free_trial(&t);
    }
    qw_activations_free(&a);
}

static void test_activations_are_quantised_as_defined(void)
{
    qw_activations a;
    float *x = x_storage;
    int wrong = 0;

    CHECK_EQ(qw_activations_init(&a, 3, 300, NULL), QW_OK);
    fill_x(x, 3 * 300);
    for (int i = 0; i < 32; i++) x[300 + i] = 0;
    qw_activations_use(&a, QW_KERNEL_DOT32);
    qw_activations_set(&a, pools[1], x, 3, 300, true);
    CHECK_EQ(a.blocks, 16);
    for (int r = 0; r < 3; r++)
        for (int b = 0; b < 16; b++) {
            const qw_act *act = &a.act[qw_act_index(&a, r, b)];
            float amax = 0;
            int32_t sums[2] = {0, 0};
            for (int j = b * 32; j < b * 32 + 32 && j < 300; j++) amax = fmaxf(amax, fabsf(x[r * 300 + j]));
            for (int j = 0; j < 32; j++) {
                int q = act->q[j], col = b * 32 + j;
                float value = col < 300 && amax > 0 ? rintf(x[r * 300 + col] * (127.0f / amax)) : 0;
                wrong += q != (int)value;
                sums[j / 16] += q;
            }
            CHECK_NEAR(act->scale, amax / 127.0f, 0);
            CHECK_EQ(act->sum, sums[0] + sums[1]);
            CHECK_EQ(act->minus128, a.flip * act->sum);
            CHECK_EQ(act->minus32[0], -32 * sums[0]);
            CHECK_EQ(act->minus8, -8 * (sums[0] + sums[1]));
            CHECK_EQ(act->minus16, -16 * (sums[0] + sums[1]));
            CHECK_EQ(act->minus32[1], -32 * sums[1]);
            CHECK_NEAR(act->scaled_sum, act->scale * (float)(sums[0] + sums[1]), 0);
        }
    CHECK_EQ(wrong, 0);
    qw_activations_free(&a);
}

/* A value that is not finite makes its token's results NaN and no other's. */
static void test_faults_in_activations_reach_the_result(void)
{
    static const float faults[] = {NAN, INFINITY, -INFINITY};
    qw_activations a;

    CHECK_EQ(qw_activations_init(&a, 5, 64, NULL), QW_OK);
    for (int f = 0; f < 3; f++)
        for (int i = 3; i < 8; i++) {
            trial t = make_trial(TYPES[i], 4, 64, false);
            qw_product product = {fast, &t.w, NULL};
            fill_x(x_storage, 5 * 64);
            x_storage[2 * 64 + 40] = faults[f];
            qw_activations_set(&a, pools[0], x_storage, 5, 64, true);
            qw_matmul(pools[0], &a, &product, 1);
            for (int k = 0; k < 20; k++) CHECK_EQ(isnan(fast[k]) != 0, k / 4 == 2);
            free_trial(&t);
        }
    qw_activations_free(&a);
}

static void test_tiny_activations_count_as_zero(void)
{
    qw_activations a;
    trial t = make_trial(QW_Q8_0, 4, 32, false);
    qw_product product = {fast, &t.w, NULL};

    CHECK_EQ(qw_activations_init(&a, 1, 32, NULL), QW_OK);
    for (int i = 0; i < 32; i++) x_storage[i] = 1e-40f;
    qw_activations_set(&a, pools[0], x_storage, 1, 32, true);
    qw_matmul(pools[0], &a, &product, 1);
    for (int i = 0; i < 4; i++) CHECK_NEAR(fast[i], 0, 0);
    qw_activations_free(&a);
    free_trial(&t);
}

/* Groups of products share a region; more than fit into one still all run. */
static void test_groups_of_products(void)
{
    enum { GROUP = 6 };
    static float y[GROUP][MOST_ROWS * 5];
    trial t[GROUP];
    qw_product group[GROUP];
    qw_activations a;

    CHECK_EQ(qw_activations_init(&a, 5, 256, NULL), QW_OK);
    fill_x(x_storage, 5 * 256);
    for (int i = 0; i < GROUP; i++) {
        t[i] = make_trial(TYPES[(i * 5 + 1) % N_TYPES], 3 + 2 * i, 256, false);
        group[i] = (qw_product){y[i], &t[i].w, i % 2 ? t[i].bias : NULL};
    }
    for (int count = 0; count <= GROUP; count++) {
        memset(y, 0, sizeof y);
        qw_activations_set(&a, pools[2], x_storage, 5, 256, true);
        qw_matmul(pools[2], &a, group, count);
        for (int i = 0; i < GROUP; i++) {
            qw_product spec = {slow, &t[i].w, group[i].bias};
            qw_matmul_scalar(&a, &spec);
            if (i < count) CHECK_EQ(differing(y[i], slow, 5 * t[i].w.rows), 0);
            else CHECK_NEAR(y[i][0], 0, 0);
        }
    }
    for (int i = 0; i < GROUP; i++) free_trial(&t[i]);
    qw_activations_free(&a);
}

static void test_the_fastest_kernel_is_one_that_the_build_has(void)
{
    qw_activations a;
    qw_kernel fastest;
    double seconds = 0;

    CHECK_EQ(qw_kernel_fastest(&fastest, NULL, NULL), QW_OK);
    CHECK_EQ(qw_kernel_fastest(&fastest, &seconds, NULL), QW_OK);
    CHECK(seconds > 0 && seconds < 1);
    CHECK_EQ(qw_activations_init(&a, 1, 32, NULL), QW_OK);
    CHECK(qw_activations_use(&a, fastest));
    CHECK_EQ(a.kernel, fastest);
    qw_activations_free(&a);
#ifdef QW_TEST_ALLOC
    int64_t live = qw_alloc_test_live();
    for (int64_t n = 0; n < 5; n++) {
        qw_alloc_test_fail(n);
        CHECK_EQ(qw_kernel_fastest(&fastest, &seconds, NULL), n < 4 ? QW_ERR_MEMORY : QW_OK);
        qw_alloc_test_fail(-1);
        CHECK_EQ(qw_alloc_test_live(), live);
    }
#endif
}

/* Codes of 8 bits go through the relaxed dot as the machine reads them, or not at all. */
static void test_signed_codes_ask_how_the_machine_reads_them(void)
{
    qw_activations a;

    CHECK_EQ(qw_activations_init(&a, 1, 32, NULL), QW_OK);
    CHECK_EQ(a.signed_kernel, QW_KERNEL_BASE);
    CHECK_EQ(qw_activations_use(&a, QW_KERNEL_DOT32), QW_RELAXED);
    CHECK(a.flip == 0 || a.flip == -128);
#ifdef QW_RELAXED_MODEL
    CHECK_EQ(a.signed_kernel, QW_RELAXED_MODEL == 2 ? QW_KERNEL_BASE : QW_KERNEL_DOT32);
    CHECK_EQ(a.flip, QW_RELAXED_MODEL == 1 ? 0 : -128);
#endif
    qw_activations_use(&a, QW_KERNEL_DOT16);
    CHECK_EQ(a.signed_kernel, QW_KERNEL_BASE);
    CHECK_EQ(a.flip, 0);
    qw_activations_free(&a);
}

static void test_storage_is_planned_and_refusals_are_reported(void)
{
    qw_activations a;
    qw_error err;

    CHECK_EQ(qw_activations_bytes(0, 100), 0);
    CHECK(qw_activations_bytes(QW_ACT_GROUP, 256) <= QW_ACT_GROUP * 256 * 4);
#ifdef QW_TEST_ALLOC
    qw_alloc_test_fail(0);
    CHECK_EQ(qw_activations_init(&a, 4, 64, &err), QW_ERR_MEMORY);
    qw_alloc_test_fail(-1);
    qw_activations_free(&a);
#endif
    CHECK_EQ(qw_activations_init(&a, 4, 64, &err), QW_OK);
    CHECK_EQ(qw_activations_use(&a, QW_KERNEL_DOT16), QW_RELAXED);
    CHECK_EQ(qw_activations_use(&a, QW_KERNEL_DOT32), QW_RELAXED);
    CHECK_EQ(qw_activations_use(&a, QW_KERNEL_BASE), !QW_RELAXED);
    qw_activations_free(&a);
    qw_activations_free(&a);
}

int main(void)
{
    for (int i = 0; i < 3; i++)
        if (qw_pool_new(&pools[i], i + 1, NULL)) return 1;
    test_every_size_equals_the_specification();
    test_long_rows_and_many_tokens();
    test_extreme_codes_do_not_overflow();
    test_specification_is_near_the_exact_product();
    test_activations_are_quantised_as_defined();
    test_signed_codes_ask_how_the_machine_reads_them();
    test_faults_in_activations_reach_the_result();
    test_tiny_activations_count_as_zero();
    test_groups_of_products();
    test_the_fastest_kernel_is_one_that_the_build_has();
    test_storage_is_planned_and_refusals_are_reported();
    for (int i = 0; i < 3; i++) qw_pool_free(pools[i]);
    return check_done();
}
