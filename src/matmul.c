/* SPDX-License-Identifier: MIT
 * Products over the pool: which panel meets which tokens, in which kernel. */
#include "matmul.h"

#include "kernel.h"
#include "simd.h"

#include <string.h>

enum { EDGE_TOKENS = 16 };

bool qw_layout_is_integer(qw_layout layout)
{
    return layout >= QW_LAYOUT_I8;
}

static qw_kernel_one *one_for(qw_layout layout, qw_kernel kernel)
{
    return qw_layout_is_integer(layout) ? qw_kernel_one_for(layout, kernel) : qw_kernel_float_for(layout);
}

qw_kernels qw_kernels_for(qw_layout layout, qw_kernel kernel)
{
    qw_kernels k = {one_for(layout, kernel), NULL, NULL};

    if (qw_layout_is_integer(layout)) {
        k.unpack = qw_kernel_unpack_for(layout, kernel);
        k.tile = qw_kernel_tile_for(layout, kernel);
    }
    return k;
}

/* A product within a region: its panels are the items first..first + panels - 1. */
typedef struct part {
    qw_product product;
    qw_kernels kernels;
    size_t panel_bytes;
    int32_t first, panels;
} part;

/* Groups share an input: q, k and v, or gate and up. More products than that run as several regions. */
enum { MAX_PARTS = 4 };

typedef struct region {
    const qw_acts *a;
    part parts[MAX_PARTS];
    int32_t n_parts, items;
} region;

static void add_bias(float *y, size_t stride, const float *bias, int32_t rows, int32_t n)
{
    for (int32_t t = 0; t < n; t++, y += stride)
        for (int32_t r = 0; r < rows; r++) y[r] += bias[r];
}

/* acc[t] = rows times tokens token..token + n - 1, n a multiple of the tile. */
static void run_tiles(float *acc, size_t stride, const qw_kernels *k, const uint8_t *panel, const qw_acts *a,
                      int32_t token, int32_t n)
{
    int32_t blocks = (a->cols + QW_BLOCK - 1) / QW_BLOCK;
    qw_tile tile;

    for (int32_t t = 0; t < n; t++) qw_store(acc + (size_t)t * stride, qw_zero());
    for (int32_t first = 0; first < blocks; first += QW_TILE_BLOCKS) {
        int32_t count = blocks - first < QW_TILE_BLOCKS ? blocks - first : QW_TILE_BLOCKS;
        k->unpack(&tile, panel, first, count);
        for (int32_t t = 0; t < n; t += QW_TILE_TOKENS)
            k->tile(acc + (size_t)t * stride, stride, &tile, a, token + t, first, count);
    }
}

/* A panel of which only some rows exist goes through a buffer, a few tokens at a time. */
static void run_edge(float *y, size_t stride, int32_t rows, const part *p, const uint8_t *panel, const qw_acts *a,
                     int32_t tiled)
{
    float acc[EDGE_TOKENS][4];

    for (int32_t t = 0; t < tiled; t += EDGE_TOKENS) {
        int32_t n = tiled - t < EDGE_TOKENS ? tiled - t : EDGE_TOKENS;
        run_tiles(acc[0], 4, &p->kernels, panel, a, t, n);
        for (int32_t i = 0; i < n; i++) memcpy(y + (size_t)(t + i) * stride, acc[i], (size_t)rows * sizeof(float));
    }
}

static void run_panel(const part *p, const qw_acts *a, int32_t index)
{
    const qw_mat *w = p->product.w;
    const uint8_t *panel = w->data + (size_t)index * p->panel_bytes;
    int32_t row = index * QW_PANEL_ROWS, rows = w->rows - row < QW_PANEL_ROWS ? w->rows - row : QW_PANEL_ROWS;
    int32_t tiled = p->kernels.tile ? a->n / QW_TILE_TOKENS * QW_TILE_TOKENS : 0;
    size_t stride = (size_t)w->rows;
    float *y = p->product.y + row;

    if (tiled && rows == QW_PANEL_ROWS) run_tiles(y, stride, &p->kernels, panel, a, 0, tiled);
    if (tiled && rows < QW_PANEL_ROWS) run_edge(y, stride, rows, p, panel, a, tiled);
    for (int32_t t = tiled; t < a->n; t++) {
        float out[4];
        p->kernels.one(out, panel, a, t);
        memcpy(y + (size_t)t * stride, out, (size_t)rows * sizeof(float));
    }
    if (p->product.bias) add_bias(y, stride, p->product.bias + row, rows, a->n);
}

static void run_items(void *arg, int32_t first, int32_t last, int32_t thread)
{
    const region *r = arg;

    (void)thread;
    for (int32_t i = 0; i < r->n_parts; i++) {
        const part *p = &r->parts[i];
        int32_t from = first > p->first ? first : p->first;
        int32_t to = last < p->first + p->panels ? last : p->first + p->panels;
        for (int32_t item = from; item < to; item++) run_panel(p, r->a, item - p->first);
    }
}

void qw_matmul(qw_pool *pool, const qw_acts *a, const qw_product *products, int32_t n_products)
{
    for (int32_t done = 0; done < n_products; done += MAX_PARTS) {
        region r = {.a = a};
        for (int32_t i = done; i < n_products && i < done + MAX_PARTS; i++) {
            const qw_mat *w = products[i].w;
            part *p = &r.parts[r.n_parts++];
            *p = (part){products[i], qw_kernels_for(w->layout, a->kernel), qw_panel_bytes(w->layout, w->cols), r.items,
                        (w->rows + QW_PANEL_ROWS - 1) / QW_PANEL_ROWS};
            r.items += p->panels;
        }
        /* Many small claims even out cores of different speed; a claim costs about as much as a row of 256 columns. */
        int32_t chunk = r.items / (qw_pool_threads(pool) * 16);
        qw_pool_run(pool, r.items, qw_pool_threads(pool) == 1 ? r.items : chunk > 0 ? chunk : 1, run_items, &r);
    }
}
