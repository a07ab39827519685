/* SPDX-License-Identifier: MIT
 * Packing: every kept weight is the number the file's format defines, whatever the bytes. */
#include "base/alloc.h"
#include "check.h"
#include "kernels/panel.h"
#include "kernels/quant.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_COLS = 1280, MOST_ROWS = 9 };

static const qw_dtype TYPES[] = {
#define TYPE(NAME, ...) QW_##NAME,
    QW_DTYPES(TYPE)};
enum { N_TYPES = sizeof TYPES / sizeof *TYPES };

static uint32_t state = 3;

static uint8_t random_byte(void)
{
    state = state * 1664525u + 1013904223u;
    return (uint8_t)(state >> 24);
}

/* A matrix of random bytes, packed panel by panel; *rows gets the file's rows. data is exactly as large as promised. */
static qw_mat pack(uint8_t **rows, qw_dtype type, qw_quantize quantize, int32_t n_rows, int32_t cols)
{
    qw_mat m = {qw_layout_for(type, quantize), n_rows, cols, NULL};
    size_t row = qw_dtype_row_bytes(type, cols), panel = qw_panel_bytes(m.layout, cols);

    *rows = malloc(row * (size_t)n_rows + 1);
    for (size_t i = 0; i < row * (size_t)n_rows; i++) (*rows)[i] = random_byte();
    m.data = malloc(qw_mat_bytes(m.layout, n_rows, cols));
    memset(m.data, 0xaa, qw_mat_bytes(m.layout, n_rows, cols));
    for (int32_t r = 0; r < n_rows; r += 4)
        qw_panel_pack(m.data + (size_t)(r / 4) * panel, m.layout, *rows + (size_t)r * row, type,
                      n_rows - r < 4 ? n_rows - r : 4, cols);
    return m;
}

static int32_t differing(const float *a, const float *b, int32_t n)
{
    int32_t wrong = 0;

    for (int32_t i = 0; i < n; i++) wrong += isnan(a[i]) ? !isnan(b[i]) : memcmp(&a[i], &b[i], sizeof *a) != 0;
    return wrong;
}

static void check_rows(qw_dtype type, int32_t n_rows, int32_t cols)
{
    static float kept[MOST_COLS], wanted[MOST_COLS];
    uint8_t *rows;
    qw_mat m = pack(&rows, type, QW_QUANTIZE_NONE, n_rows, cols);
    int32_t wrong = 0;

    for (int32_t r = 0; r < n_rows; r++) {
        qw_mat_row(kept, &m, r);
        qw_dequantize(wanted, rows + (size_t)r * qw_dtype_row_bytes(type, cols), type, cols);
        wrong += differing(kept, wanted, cols);
    }
    if (!check_int(__FILE__, __LINE__, "differing weights", wrong, 0))
        printf("%s %d x %d\n", qw_dtype_name((uint32_t)type), n_rows, cols);
    free(rows);
    free(m.data);
}

/* Scales of every kind are among random bytes: NaN, infinite, subnormal, negative; so are all codes. */
static void test_rows_equal_the_dequantised_file(void)
{
    for (int i = 0; i < N_TYPES; i++) {
        int32_t block = qw_dtype_block(TYPES[i]);
        int32_t most = block == 1 ? 70 : block * (block == 32 ? 20 : 5);
        for (int32_t cols = block; cols <= most; cols += block)
            check_rows(TYPES[i], 1 + cols / block % MOST_ROWS, cols);
        for (int32_t rows = 1; rows <= MOST_ROWS; rows++) check_rows(TYPES[i], rows, block == 1 ? 33 : block);
    }
}

static void test_all_codes_and_extreme_scales_survive(void)
{
    static const uint8_t fills[] = {0x00, 0xff, 0x80, 0x7f, 0x01, 0xf0, 0x0f, 0x55, 0xaa};
    static float kept[256], wanted[256];

    for (int i = 0; i < N_TYPES; i++)
        for (size_t f = 0; f < sizeof fills; f++) {
            int32_t cols = qw_dtype_block(TYPES[i]) == 1 ? 32 : qw_dtype_block(TYPES[i]);
            uint8_t *rows;
            qw_mat m = pack(&rows, TYPES[i], QW_QUANTIZE_NONE, 1, cols);
            memset(rows, fills[f], qw_dtype_row_bytes(TYPES[i], cols));
            qw_panel_pack(m.data, m.layout, rows, TYPES[i], 1, cols);
            qw_mat_row(kept, &m, 0);
            qw_dequantize(wanted, rows, TYPES[i], cols);
            CHECK_EQ(differing(kept, wanted, cols), 0);
            free(rows);
            free(m.data);
        }
}

/* What does not exist counts as zero: rows past the end, and columns up to whole blocks. */
static void test_padding_is_zero(void)
{
    for (int i = 0; i < N_TYPES; i++) {
        qw_layout_traits t = qw_layout_traits_of(qw_layout_for(TYPES[i], QW_QUANTIZE_NONE));
        int32_t cols = t.blocks ? qw_dtype_block(TYPES[i]) : 5;
        uint8_t *rows;
        qw_mat m = pack(&rows, TYPES[i], QW_QUANTIZE_NONE, 1, cols);
        qw_row_block b;
        for (int32_t r = 1; r < 4 && t.blocks; r++) {
            qw_panel_block(&b, m.layout, m.data, cols / 32 - 1, r);
            CHECK_NEAR(b.d, 0, 0);
            CHECK_NEAR(b.dmin, 0, 0);
        }
        for (int32_t r = 1; r < 4 && !t.blocks; r++) CHECK_NEAR(qw_panel_float(m.layout, m.data, cols - 1, r), 0, 0);
        free(rows);
        free(m.data);
    }
}

/* Bytes as kept against the file's, for a row of 256: the promise is 1.2, for q3_k 1.4, for q2_k 2. */
static void test_sizes(void)
{
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_F32, 256), 4 * 1024);
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_F16, 5), 16 + 48);
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_BF16, 6), 48);
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_I8, 256), 4 * 8 * 36);
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_U4, 256), 4 * 8 * 20);
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_U5, 256), 4 * 8 * 24);
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_U4M, 256), 4 * 8 * 24);
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_U5M, 256), 4 * 8 * 28);
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_K4M, 256), 4 * 152);
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_K5M, 256), 4 * 184);
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_K6, 256), 4 * 212);
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_K4, 256), 4 * 148);
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_K2M, 256), 4 * 152);
    CHECK_EQ(qw_panel_bytes(QW_LAYOUT_I8, 33), 4 * 2 * 36);
    CHECK_EQ(qw_mat_bytes(QW_LAYOUT_I8, 5, 64), 2 * 4 * 2 * 36);
    CHECK_EQ(qw_mat_bytes(QW_LAYOUT_I8, 0, 64), 0);
    CHECK(sizeof(size_t) > 4 || qw_mat_bytes(QW_LAYOUT_F32, INT32_MAX, INT32_MAX / 16) == SIZE_MAX);
}

static void test_every_type_has_its_layout(void)
{
    for (int i = 0; i < N_TYPES; i++) {
        qw_layout_traits t = qw_layout_traits_of(qw_layout_for(TYPES[i], QW_QUANTIZE_NONE));
        if (!t.levels) CHECK_EQ(t.type, TYPES[i]);
        else CHECK_EQ(t.halves, TYPES[i] == QW_IQ2_XS || TYPES[i] == QW_IQ2_S || TYPES[i] == QW_IQ1_M);
    }
    CHECK_EQ(qw_layout_for(QW_BF16, QW_QUANTIZE_Q8_0), QW_LAYOUT_I8);
    CHECK_EQ(qw_layout_for(QW_F32, QW_QUANTIZE_Q4_0), QW_LAYOUT_U4);
    CHECK_EQ(qw_layout_for(QW_Q6_K, QW_QUANTIZE_Q4_0), QW_LAYOUT_K6);
}

/* Any number of columns; the kept weight is within half a step of the float. */
static void check_quantised(qw_dtype type, qw_quantize quantize, int32_t cols)
{
    static float kept[MOST_COLS], wanted[MOST_COLS];
    uint8_t *rows;
    qw_mat m = pack(&rows, type, quantize, 3, cols);
    size_t row = qw_dtype_row_bytes(type, cols);
    int32_t wrong = 0;

    /* Finite and around 1, where float16 holds the scales with all its digits. */
    for (size_t i = qw_dtype_block_bytes(type) - 1; i < row * 3; i += qw_dtype_block_bytes(type))
        rows[i] = (uint8_t)((rows[i] & 0x80) | (type == QW_F16 ? 0x39 : 0x3f));
    qw_panel_pack(m.data, m.layout, rows, type, 3, cols);
    for (int32_t r = 0; r < 3; r++) {
        qw_mat_row(kept, &m, r);
        qw_dequantize(wanted, rows + (size_t)r * row, type, cols);
        for (int32_t i = 0; i < cols; i++) {
            float amax = 0, steps = quantize == QW_QUANTIZE_Q8_0 ? 127.0f : 8.0f;
            for (int32_t j = i / 32 * 32; j < i / 32 * 32 + 32 && j < cols; j++) amax = fmaxf(amax, fabsf(wanted[j]));
            /* q4_0 has 7 steps on the side away from its largest value. */
            wrong += fabsf(kept[i] - wanted[i]) >
                     amax * (quantize == QW_QUANTIZE_Q8_0 ? 0.51f : 1.01f) / steps + amax / 1024;
        }
    }
    CHECK_EQ(wrong, 0);
    free(rows);
    free(m.data);
}

static void test_float_rows_are_quantised_to_the_nearest(void)
{
    static const qw_dtype floats[] = {QW_F32, QW_F16, QW_BF16};

    for (int i = 0; i < 3; i++)
        for (int32_t cols = 1; cols <= 100; cols += cols < 36 ? 1 : 16) {
            check_quantised(floats[i], QW_QUANTIZE_Q8_0, cols);
            check_quantised(floats[i], QW_QUANTIZE_Q4_0, cols);
        }
}

int main(void)
{
    test_rows_equal_the_dequantised_file();
    test_all_codes_and_extreme_scales_survive();
    test_padding_is_zero();
    test_sizes();
    test_every_type_has_its_layout();
    test_float_rows_are_quantised_to_the_nearest();
    return check_done();
}
