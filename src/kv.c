/* SPDX-License-Identifier: MIT
 * Pages: reference counts make sharing cheap, `fill` keeps the count of tokens held right where pages are shared. */
#include "kv.h"

#include "alloc.h"
#include "dtype.h"
#include "simd.h"

#include <math.h>
#include <string.h>

static int32_t pages_for(int32_t tokens)
{
    return (tokens + QW_KV_PAGE - 1) / QW_KV_PAGE;
}

static int32_t scales_per_position(int32_t head_dim)
{
    return (head_dim + 31) / 32;
}

static size_t block_bytes_of(qw_kv_type type, int32_t head_dim)
{
    size_t values = (size_t)QW_KV_PAGE * (size_t)head_dim;

    if (type == QW_KV_F32) return values * 4;
    if (type == QW_KV_F16) return values * 2;
    return values + (size_t)QW_KV_PAGE * (size_t)scales_per_position(head_dim) * 4;
}

/* A row may leave its last page partly empty: one page more for each row keeps the capacity whole however it is split. */
static int32_t n_pages_of(int32_t capacity, int32_t max_rows)
{
    return pages_for(capacity) + max_rows;
}

double qw_kv_bytes(const qw_config *c, qw_kv_type type, int32_t capacity, int32_t max_rows)
{
    double pages = n_pages_of(capacity, max_rows);
    double block = (double)block_bytes_of(type, c->head_dim);
    double tables = pages * 12 + (double)max_rows * (16 + 4.0 * pages_for(capacity)) + 8.0 * c->n_layer;

    return pages * 2 * c->n_kv_head * block * c->n_layer + tables + 64.0 * (c->n_layer + max_rows + 8);
}

static qw_status allocate_tables(qw_kv *kv, qw_error *err)
{
    size_t pages = (size_t)kv->n_pages, rows = (size_t)kv->max_rows;

    kv->free_pages = qw_calloc(pages, sizeof(int32_t));
    kv->ref = qw_calloc(pages, sizeof(int32_t));
    kv->fill = qw_calloc(pages, sizeof(int32_t));
    kv->row = qw_calloc(rows, sizeof *kv->row);
    kv->layer = qw_calloc((size_t)kv->n_layer, sizeof *kv->layer);
    if (!kv->free_pages || !kv->ref || !kv->fill || !kv->row || !kv->layer)
        return qw_fail_memory(err, "the tables of the KV cache", 12.0 * kv->n_pages);
    for (size_t r = 0; r < rows; r++) {
        kv->row[r].pages = qw_calloc((size_t)pages_for(kv->capacity), sizeof(int32_t));
        if (!kv->row[r].pages) return qw_fail_memory(err, "the tables of the KV cache", 12.0 * kv->n_pages);
    }
    for (int32_t i = 0; i < kv->n_pages; i++) kv->free_pages[i] = kv->n_pages - 1 - i;
    kv->n_free = kv->n_pages;
    return QW_OK;
}

qw_status qw_kv_init(qw_kv *kv, const qw_config *c, qw_kv_type type, int32_t capacity, int32_t max_rows, qw_error *err)
{
    size_t page_bytes;

    *kv = (qw_kv){.type = type,
                  .n_layer = c->n_layer,
                  .n_kv_head = c->n_kv_head,
                  .head_dim = c->head_dim,
                  .capacity = capacity,
                  .max_rows = max_rows,
                  .n_pages = n_pages_of(capacity, max_rows),
                  .block_bytes = block_bytes_of(type, c->head_dim)};
    QW_TRY(allocate_tables(kv, err));
    page_bytes = kv->block_bytes * 2 * (size_t)c->n_kv_head;
    for (int32_t l = 0; l < c->n_layer; l++) {
        kv->layer[l] = qw_alloc_aligned((size_t)kv->n_pages, page_bytes);
        if (!kv->layer[l])
            return qw_fail(
                err, QW_ERR_MEMORY,
                "no memory for the KV cache of %d tokens (%.0f bytes): choose a smaller contextLength or kvType",
                capacity, qw_kv_bytes(c, type, capacity, max_rows));
    }
    return QW_OK;
}

void qw_kv_free(qw_kv *kv)
{
    for (int32_t l = 0; kv->layer && l < kv->n_layer; l++) qw_free(kv->layer[l]);
    for (int32_t r = 0; kv->row && r < kv->max_rows; r++) qw_free(kv->row[r].pages);
    qw_free(kv->layer);
    qw_free(kv->row);
    qw_free(kv->fill);
    qw_free(kv->ref);
    qw_free(kv->free_pages);
    *kv = (qw_kv){0};
}

static void drop_page(qw_kv *kv, int32_t page)
{
    if (--kv->ref[page] > 0) return;
    kv->used -= kv->fill[page];
    kv->fill[page] = 0;
    kv->free_pages[kv->n_free++] = page;
}

void qw_kv_truncate(qw_kv *kv, int32_t row, int32_t n)
{
    qw_kv_row *r = &kv->row[row];
    int32_t last = n / QW_KV_PAGE; /* the page that is cut, where n is not at its start */

    if (n >= r->n) return;
    for (int32_t i = pages_for(n); i < pages_for(r->n); i++) drop_page(kv, r->pages[i]);
    if (n % QW_KV_PAGE && kv->ref[r->pages[last]] == 1 && kv->fill[r->pages[last]] > n % QW_KV_PAGE) {
        kv->used -= kv->fill[r->pages[last]] - n % QW_KV_PAGE;
        kv->fill[r->pages[last]] = n % QW_KV_PAGE;
    }
    r->n = n;
}

static int32_t take_page(qw_kv *kv)
{
    int32_t page = kv->free_pages[--kv->n_free];

    kv->ref[page] = 1;
    return page;
}

/* The row's own copy of its page i, which others hold too; it keeps `fill` tokens. */
static void own_page(qw_kv *kv, qw_kv_row *r, int32_t i, int32_t fill)
{
    size_t bytes = kv->block_bytes * 2 * (size_t)kv->n_kv_head;
    int32_t from = r->pages[i], to = take_page(kv);

    for (int32_t l = 0; l < kv->n_layer; l++)
        memcpy(kv->layer[l] + (size_t)to * bytes, kv->layer[l] + (size_t)from * bytes, bytes);
    kv->fill[to] = fill;
    kv->used += fill;
    kv->ref[from]--;
    r->pages[i] = to;
}

/* A page that a longer row shared with this one, and has left since, holds only this row's tokens. */
static void settle_tail(qw_kv *kv, const qw_kv_row *r, int32_t tail)
{
    int32_t page = r->pages[r->n / QW_KV_PAGE];

    if (kv->ref[page] > 1) return;
    kv->used += tail - kv->fill[page];
    kv->fill[page] = tail;
}

bool qw_kv_reserve(qw_kv *kv, int32_t row, int32_t n)
{
    qw_kv_row *r = &kv->row[row];
    int32_t old = pages_for(r->n), pages = pages_for(r->n + n) - old, tail = r->n % QW_KV_PAGE;
    bool copy = n && tail && kv->ref[r->pages[old - 1]] > 1;

    if (tail) settle_tail(kv, r, tail);
    if (r->n + n > kv->capacity || kv->used + n + (copy ? tail : 0) > kv->capacity) return false;
    if (pages + copy > kv->n_free) return false;
    if (copy) own_page(kv, r, old - 1, tail);
    for (int32_t i = old; i < old + pages; i++) r->pages[i] = take_page(kv);
    for (int32_t p = r->n; p < r->n + n;) {
        int32_t page = p / QW_KV_PAGE, end = (page + 1) * QW_KV_PAGE;

        if (end > r->n + n) end = r->n + n;
        kv->fill[r->pages[page]] += end - p;
        p = end;
    }
    kv->used += n;
    r->n += n;
    return true;
}

void qw_kv_fork(qw_kv *kv, int32_t to, int32_t from, int32_t n)
{
    qw_kv_truncate(kv, to, 0);
    for (int32_t i = 0; i < pages_for(n); i++) {
        kv->row[to].pages[i] = kv->row[from].pages[i];
        kv->ref[kv->row[to].pages[i]]++;
    }
    kv->row[to].n = n;
}

static uint8_t *block_at(const qw_kv *kv, int32_t layer, int32_t page, int32_t head, int32_t which)
{
    size_t block = ((size_t)page * (size_t)kv->n_kv_head + (size_t)head) * 2 + (size_t)which;

    return kv->layer[layer] + block * kv->block_bytes;
}

/* Scale of 32 values (or those up to the head's end), as activations are quantised: amax / 127. */
static float scale_of(const float *x, int32_t n, float *inverse)
{
    float amax = 0;

    for (int32_t i = 0; i < n; i++) amax = fabsf(x[i]) > amax || x[i] != x[i] ? fabsf(x[i]) : amax;
    *inverse = amax > 0 ? 127.0f / amax : 0;
    return amax / 127.0f;
}

/* Value i of a position goes to element i * step + at. */
static void put_q8(qw_kv *kv, uint8_t *block, const float *x, int32_t slot, bool keys)
{
    int8_t *q = (int8_t *)block;
    float *scales = (float *)(void *)(block + (size_t)QW_KV_PAGE * (size_t)kv->head_dim);
    int32_t d = kv->head_dim, groups = scales_per_position(d);

    for (int32_t g = 0; g < groups; g++) {
        int32_t first = 32 * g, n = d - first < 32 ? d - first : 32;
        float inverse, scale = scale_of(x + first, n, &inverse);

        scales[keys ? g * QW_KV_PAGE + slot : slot * groups + g] = scale;
        if (!isfinite(scale)) kv->overflow = true;
        for (int32_t i = first; i < first + n; i++) {
            float r = rintf(x[i] * inverse);
            q[keys ? i * QW_KV_PAGE + slot : slot * d + i] = r >= -127 && r <= 127 ? (int8_t)r : 0;
        }
    }
}

static void put_block(qw_kv *kv, uint8_t *block, const float *x, int32_t slot, bool keys)
{
    int32_t d = kv->head_dim, step = keys ? QW_KV_PAGE : 1, at = keys ? slot : slot * d;

    if (kv->type == QW_KV_F32) {
        float *out = (float *)(void *)block;
        for (int32_t i = 0; i < d; i++) out[at + i * step] = x[i];
    } else if (kv->type == QW_KV_F16) {
        uint16_t *out = (uint16_t *)(void *)block;
        for (int32_t i = 0; i < d; i++) {
            out[at + i * step] = qw_f32_to_f16(x[i]);
            if (!(fabsf(x[i]) < 65520.0f)) kv->overflow = true; /* rounds to infinity from here on */
        }
    } else {
        put_q8(kv, block, x, slot, keys);
    }
}

void qw_kv_put(qw_kv *kv, int32_t layer, int32_t row, int32_t pos, const float *k, const float *v)
{
    int32_t page = kv->row[row].pages[pos / QW_KV_PAGE], slot = pos % QW_KV_PAGE;

    for (int32_t h = 0; h < kv->n_kv_head; h++) {
        put_block(kv, block_at(kv, layer, page, h, 0), k + (size_t)h * (size_t)kv->head_dim, slot, true);
        put_block(kv, block_at(kv, layer, page, h, 1), v + (size_t)h * (size_t)kv->head_dim, slot, false);
    }
}

/* Finite float16 only (see overflow): sign and magnitude in float32's fields are the number times 2^-112. */
static const float *widen_f16(const uint8_t *stored, float *block, int32_t n)
{
    qw_v128 fields = qw_i32x4_splat((int32_t)0x8fffffffu), power = qw_i32x4_splat(0x77800000); /* 2^112 */

    for (int32_t i = 0; i < n; i += 8) {
        qw_v128 half = qw_load(stored + (size_t)i * 2);
        qw_v128 low = qw_and(qw_i32x4_shl(qw_i32x4_extend_low_i16x8(half), 13), fields);
        qw_v128 high = qw_and(qw_i32x4_shl(qw_i32x4_extend_high_i16x8(half), 13), fields);

        qw_store(block + i, qw_f32x4_mul(low, power));
        qw_store(block + i + 4, qw_f32x4_mul(high, power));
    }
    return block;
}

/* block[0..7] = q[0..7] * scales */
static void widen_8(float *block, const int8_t *q, qw_v128 low_scale, qw_v128 high_scale)
{
    qw_v128 v = qw_i16x8_extend_low_i8x16(qw_load64_zero(q));

    qw_store(block, qw_f32x4_mul(qw_f32x4_convert_i32x4(qw_i32x4_extend_low_i16x8(v)), low_scale));
    qw_store(block + 4, qw_f32x4_mul(qw_f32x4_convert_i32x4(qw_i32x4_extend_high_i16x8(v)), high_scale));
}

static void widen_q8_keys(const qw_kv *kv, const int8_t *q, const float *scales, float *block)
{
    for (int32_t i = 0; i < kv->head_dim; i++) {
        const float *s = scales + i / 32 * QW_KV_PAGE;

        for (int32_t at = i * QW_KV_PAGE, slot = 0; slot < QW_KV_PAGE; at += 8, slot += 8)
            widen_8(block + at, q + at, qw_load(s + slot), qw_load(s + slot + 4));
    }
}

static void widen_q8_values(const qw_kv *kv, const int8_t *q, const float *scales, float *block)
{
    int32_t d = kv->head_dim, groups = scales_per_position(d);

    for (int32_t slot = 0; slot < QW_KV_PAGE; slot++, q += d, block += d) {
        int32_t i = 0;

        for (; i + 8 <= d; i += 8) {
            qw_v128 scale = qw_load32_splat(scales + slot * groups + i / 32);
            widen_8(block + i, q + i, scale, scale);
        }
        for (; i < d; i++) block[i] = (float)q[i] * scales[slot * groups + i / 32];
    }
}

static const float *widen_q8(const qw_kv *kv, const uint8_t *stored, float *block, bool keys)
{
    const int8_t *q = (const int8_t *)stored;
    const float *scales = (const float *)(const void *)(stored + (size_t)QW_KV_PAGE * (size_t)kv->head_dim);

    if (keys) widen_q8_keys(kv, q, scales, block);
    else widen_q8_values(kv, q, scales, block);
    return block;
}

/* Asks for all of a block's cache lines at once: a long context does not stay in the cache, and while it is widened only
 * a few loads at a time are under way. */
static void fetch(const uint8_t *stored, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 64) (void)*(const volatile uint8_t *)(stored + i);
}

static const float *widen(const qw_kv *kv, const uint8_t *stored, float *block, bool keys)
{
    if (kv->type == QW_KV_F32) return (const float *)(const void *)stored;
    fetch(stored, kv->block_bytes);
    if (kv->type == QW_KV_F16) return widen_f16(stored, block, QW_KV_PAGE * kv->head_dim);
    return widen_q8(kv, stored, block, keys);
}

const float *qw_kv_keys(const qw_kv *kv, int32_t layer, int32_t row, int32_t page, int32_t head, float *block)
{
    return widen(kv, block_at(kv, layer, kv->row[row].pages[page], head, 0), block, true);
}

const float *qw_kv_values(const qw_kv *kv, int32_t layer, int32_t row, int32_t page, int32_t head, float *block)
{
    return widen(kv, block_at(kv, layer, kv->row[row].pages[page], head, 1), block, false);
}
