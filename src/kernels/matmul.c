/* SPDX-License-Identifier: MIT
 * Products over the pool: which panel meets which tokens, in which kernel. */
#include "kernels/matmul.h"

#include "kernels/kernel_float.h"
#include "kernels/kernel_tile.h"
#include "kernels/kernel_token.h"
#include "base/simd.h"

#include <string.h>

enum { EDGE_TOKENS = 16 };

/* Those for a matrix: of its layout, integer or float. */
typedef struct kernels {
    qw_kernel_one *one;
    qw_tile_kernels tile; /* unpack is NULL for float layouts */
    qw_float_kernels pair;
} kernels;

static kernels kernels_for(qw_layout layout, const qw_activations *a)
{
    if (qw_layout_is_integer(layout)) {
        qw_kernel kernel = qw_activations_kernel(a, layout);
        return (kernels){.one = qw_token_kernel(layout, kernel), .tile = qw_tile_kernels_for(layout, kernel)};
    }
    qw_float_kernels pair = qw_float_kernels_for(layout);
    return (kernels){.one = pair.one, .pair = pair};
}

/* A product within a region: its pairs of panels are the items first..first + items - 1. */
typedef struct part {
    qw_product product;
    kernels kernels;
    size_t panel_bytes;
    int32_t first, items;
} part;

/* Groups share an input: q, k and v, or gate and up. More products than that run as several regions. */
enum { MAX_PARTS = 4 };

typedef struct region {
    const qw_activations *a;
    part parts[MAX_PARTS];
    int32_t n_parts, items;
} region;

static void add_bias(float *y, size_t stride, const float *bias, int32_t rows, int32_t n)
{
    for (int32_t t = 0; t < n; t++, y += stride)
        for (int32_t r = 0; r < rows; r++) y[r] += bias[r];
}

/* A pair of panels at work. */
typedef struct work {
    const kernels *k;
    const uint8_t *panels[QW_TILE_PANELS];
} work;

static qw_tile_tokens further(qw_tile_tokens to, int32_t tokens)
{
    to.acc += (size_t)tokens * to.stride;
    to.token += tokens;
    return to;
}

/* acc = the rows of the panels times n tokens. Where the last tile is not full its sums go through a buffer: the rows of
 * activations go on to the end of their group of four. */
static void run_tiles(const work *w, qw_tile_tokens to, int32_t n)
{
    int32_t blocks = (to.a->cols + QW_BLOCK - 1) / QW_BLOCK, full = n / QW_TILE_TOKENS * QW_TILE_TOKENS;
    float rest[QW_TILE_TOKENS][QW_TILE_ROWS] = {{0}};
    qw_tile tile;

    tile.flip = to.a->flip;
    for (int32_t t = 0; t < full; t++) memset(further(to, t).acc, 0, QW_TILE_ROWS * sizeof(float));
    for (int32_t first = 0; first < blocks; first += QW_TILE_BLOCKS) {
        int32_t count = blocks - first < QW_TILE_BLOCKS ? blocks - first : QW_TILE_BLOCKS;
        for (int32_t i = 0; i < QW_TILE_PANELS; i++) w->k->tile.unpack(&tile, i, w->panels[i], first, count);
        for (int32_t t = 0; t < n; t += QW_TILE_TOKENS) {
            qw_tile_tokens at = further(to, t);
            if (t == full) at = (qw_tile_tokens){rest[0], QW_TILE_ROWS, to.a, at.token};
            w->k->tile.multiply(&at, &tile, first, count);
        }
    }
    for (int32_t t = full; t < n; t++) memcpy(further(to, t).acc, rest[t - full], sizeof *rest);
}

/* The same of float layouts, n even. */
static void run_pairs(const work *w, qw_tile_tokens to, int32_t n)
{
    for (int32_t t = 0; t < n; t += 4) {
        qw_tile_tokens at = further(to, t);
        (n - t >= 4 ? w->k->pair.four : w->k->pair.two)(&at, w->panels);
    }
}

static void run_together(const work *w, qw_tile_tokens to, int32_t n)
{
    if (w->k->tile.unpack) run_tiles(w, to, n);
    else run_pairs(w, to, n);
}

/* Where only `rows` of the 8 rows exist the sums go through a buffer, a few tokens at a time. */
static void run_edge(const work *w, qw_tile_tokens to, int32_t n, int32_t rows)
{
    float acc[EDGE_TOKENS][QW_TILE_ROWS];

    for (int32_t t = 0; t < n; t += EDGE_TOKENS) {
        int32_t count = n - t < EDGE_TOKENS ? n - t : EDGE_TOKENS;
        run_together(w, (qw_tile_tokens){acc[0], QW_TILE_ROWS, to.a, to.token + t}, count);
        for (int32_t i = 0; i < count; i++) memcpy(further(to, t + i).acc, acc[i], (size_t)rows * sizeof(float));
    }
}

/* One token times the `rows` rows of the pair that exist. */
static void run_one(const work *w, qw_tile_tokens to, int32_t rows)
{
    for (int32_t i = 0; i * QW_PANEL_ROWS < rows; i++) {
        int32_t left = rows - i * QW_PANEL_ROWS;
        float out[QW_PANEL_ROWS];
        w->k->one(out, w->panels[i], to.a, to.token);
        memcpy(to.acc + i * QW_PANEL_ROWS, out, (size_t)(left < QW_PANEL_ROWS ? left : QW_PANEL_ROWS) * sizeof(float));
    }
}

/* To unpack does not pay for two tokens. */
static bool unpacks(const part *p, const qw_activations *a)
{
    return p->kernels.tile.unpack && a->n > 2;
}

/* How many of the tokens meet a panel together; the others, at most one of many, do alone: a tile for one does not pay. */
static int32_t n_together(const part *p, const qw_activations *a)
{
    if (!p->kernels.tile.unpack) return a->n / 2 * 2;
    return !unpacks(p, a) ? 0 : a->n % QW_TILE_TOKENS == 1 ? a->n - 1 : a->n;
}

/* Two panels times all tokens. The second one of the last pair may not exist. */
static void run_pair(const part *p, const qw_activations *a, int32_t index)
{
    const qw_mat *m = p->product.w;
    int32_t row = index * QW_TILE_ROWS, rows = m->rows - row < QW_TILE_ROWS ? m->rows - row : QW_TILE_ROWS;
    int32_t together = n_together(p, a);
    const uint8_t *first = m->data + (size_t)index * QW_TILE_PANELS * p->panel_bytes;
    work w = {&p->kernels, {first, rows > QW_PANEL_ROWS ? first + p->panel_bytes : first}};
    qw_tile_tokens to = {p->product.y + row, (size_t)m->rows, a, 0};

    if (together && rows == QW_TILE_ROWS) run_together(&w, to, together);
    if (together && rows < QW_TILE_ROWS) run_edge(&w, to, together, rows);
    for (int32_t t = together; t < a->n; t++) run_one(&w, further(to, t), rows);
    if (p->product.bias) add_bias(to.acc, to.stride, p->product.bias + row, rows, a->n);
}

/* Pairs from..to-1. What is unpacked is asked for first, as many pairs at once as fit, for the hardware does not follow reading
 * that computing interrupts; single tokens read in a stream that it follows. */
static void run_range(const part *p, const qw_activations *a, int32_t from, int32_t to)
{
    const qw_mat *m = p->product.w;
    size_t pair = p->panel_bytes * QW_TILE_PANELS, total = qw_mat_bytes(m->layout, m->rows, m->cols);
    int32_t burst = qw_fetch_count(pair);

    for (int32_t i = from; i < to; i++) {
        if (unpacks(p, a) && (i - from) % burst == 0) {
            size_t at = (size_t)i * pair, bytes = (size_t)(to - i < burst ? to - i : burst) * pair;
            qw_fetch(m->data + at, bytes < total - at ? bytes : total - at);
        }
        run_pair(p, a, i);
    }
}

static void run_items(void *arg, int32_t first, int32_t last, int32_t thread)
{
    const region *r = arg;

    (void)thread;
    for (int32_t i = 0; i < r->n_parts; i++) {
        const part *p = &r->parts[i];
        int32_t from = first > p->first ? first : p->first;
        int32_t to = last < p->first + p->items ? last : p->first + p->items;
        if (from < to) run_range(p, r->a, from - p->first, to - p->first);
    }
}

void qw_matmul(qw_pool *pool, const qw_activations *a, const qw_product *products, int32_t n_products)
{
    for (int32_t done = 0; done < n_products; done += MAX_PARTS) {
        region r = {.a = a};
        for (int32_t i = done; i < n_products && i < done + MAX_PARTS; i++) {
            const qw_mat *w = products[i].w;
            part *p = &r.parts[r.n_parts++];
            QW_ASSERT(w->cols == a->cols);
            *p = (part){products[i], kernels_for(w->layout, a), qw_panel_bytes(w->layout, w->cols), r.items,
                        (w->rows + QW_TILE_ROWS - 1) / QW_TILE_ROWS};
            r.items += p->items;
        }
        /* Small last claims even out cores of different speed; one costs about as much as a row of 256 columns. */
        int32_t chunk = r.items / (qw_pool_threads(pool) * 4);
        qw_pool_run(pool, r.items, qw_pool_threads(pool) == 1 ? r.items : chunk > 0 ? chunk : 1, run_items, &r);
    }
}
