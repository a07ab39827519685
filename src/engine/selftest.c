/* SPDX-License-Identifier: MIT
 * For every file type: random rows packed as at load, multiplied with random activations by the kernels of this build and
 * by the scalar specification. */
#include "engine/selftest.h"

#include "base/alloc.h"
#include "kernels/matmul_scalar.h"

#include <string.h>

enum { ROWS = 22, COLS = 512, TOKENS = 7 };

static const qw_dtype TYPES[] = {
#define TYPE(NAME, ...) QW_##NAME,
    QW_DTYPES(TYPE)};

typedef struct trial {
    uint8_t *rows; /* the file's bytes */
    qw_mat mat;
    qw_activations acts;
    float x[TOKENS * COLS], fast[TOKENS * ROWS], slow[TOKENS * ROWS];
} trial;

static uint32_t next(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

/* Bytes at random, with every float16 made small and finite: its exponent's two highest bits are cleared. */
static void fill_rows(uint8_t *rows, size_t n, qw_dtype type, uint32_t *state)
{
    size_t block = qw_dtype_block_bytes(type);

    for (size_t i = 0; i < n; i++) rows[i] = (uint8_t)next(state);
    for (size_t i = 1; i < n; i += 2)
        if (qw_dtype_block(type) == 1 || i % block < 4 || i % block >= block - 4) rows[i] &= 0x9f;
}

static qw_status prepare(trial *t, qw_dtype type, uint32_t *state, qw_error *err)
{
    size_t row_bytes = qw_dtype_row_bytes(type, COLS), panel;

    t->mat = (qw_mat){qw_layout_for(type, QW_QUANTIZE_NONE), ROWS, COLS, NULL};
    panel = qw_panel_bytes(t->mat.layout, COLS);
    t->rows = qw_calloc(ROWS, row_bytes);
    t->mat.data = qw_alloc_aligned((ROWS + 3) / 4, panel);
    if (!t->rows || !t->mat.data) return qw_fail_memory(err, "the self-test", (double)(row_bytes * ROWS * 2));
    fill_rows(t->rows, ROWS * row_bytes, type, state);
    for (int32_t r = 0; r < ROWS; r += 4)
        qw_panel_pack(t->mat.data + (size_t)(r / 4) * panel, t->mat.layout, t->rows + (size_t)r * row_bytes, type,
                      ROWS - r < 4 ? ROWS - r : 4, COLS);
    for (int32_t i = 0; i < TOKENS * COLS; i++) t->x[i] = (float)((int32_t)(next(state) & 0xffff) - 32768) / 4096.0f;
    return QW_OK;
}

/* Bits that differ in a value of some trial count as one. */
static int32_t differing(qw_pool *pool, trial *t, int32_t n)
{
    qw_product fast = {t->fast, &t->mat, NULL}, slow = {t->slow, &t->mat, NULL};
    int32_t count = 0;

    qw_activations_set(&t->acts, pool, t->x, n, COLS, qw_layout_is_integer(t->mat.layout));
    qw_matmul(pool, &t->acts, &fast, 1);
    qw_matmul_scalar(&t->acts, &slow);
    for (int32_t i = 0; i < n * ROWS; i++) count += memcmp(&t->fast[i], &t->slow[i], sizeof(float)) != 0;
    return count;
}

static qw_status try_type(qw_pool *pool, trial *t, qw_dtype type, uint32_t *state, bool *ok, qw_buf *report,
                          qw_error *err)
{
    int32_t wrong = 0;
    qw_status status = prepare(t, type, state, err);

    for (int32_t n = 1; status == QW_OK && n <= TOKENS; n++) wrong += differing(pool, t, n);
    qw_free(t->rows);
    qw_free(t->mat.data);
    QW_TRY(status);
    if (wrong) *ok = false;
    return qw_buf_printf(report, err, "%s: %d of %d values differ from the scalar kernel\n",
                         qw_dtype_name((uint32_t)type), wrong, ROWS * TOKENS * (TOKENS + 1) / 2);
}

qw_status qw_selftest(qw_pool *pool, bool *ok, qw_buf *report, qw_error *err)
{
    trial *t = qw_calloc(1, sizeof *t);
    uint32_t state = 1;
    qw_status status =
        t ? qw_activations_init(&t->acts, TOKENS, COLS, err) : qw_fail_memory(err, "the self-test", sizeof *t);

    *ok = true;
    for (size_t i = 0; status == QW_OK && i < sizeof TYPES / sizeof *TYPES; i++)
        status = try_type(pool, t, TYPES[i], &state, ok, report, err);
    if (t) qw_activations_free(&t->acts);
    qw_free(t);
    return status;
}
