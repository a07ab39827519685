/* SPDX-License-Identifier: MIT
 * Pages: reference counts make sharing cheap, `fill` keeps the count of tokens held right where pages are shared. What stands in a
 * page is kv_block.c's. */
#include "model/kv.h"

#include "base/alloc.h"
#include "base/assert.h"
#include "kernels/ops.h"

static int32_t pages_for(int32_t tokens)
{
    return (tokens + QW_KV_PAGE - 1) / QW_KV_PAGE;
}

/* Floats of turn_page and turn_slot. */
static size_t turn_floats(qw_kv_type type, int32_t capacity, int32_t head_dim)
{
    return type == QW_KV_Q8_0 ? (size_t)(pages_for(capacity) + QW_KV_PAGE) * (size_t)head_dim : 0;
}

static size_t block_bytes_of(qw_kv_type type, int32_t head_dim)
{
    size_t values = (size_t)QW_KV_PAGE * (size_t)head_dim;

    if (type == QW_KV_F32) return values * 4;
    if (type == QW_KV_F16) return values * 2;
    return values + (size_t)QW_KV_PAGE * (size_t)qw_kv_groups(head_dim) * 2;
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
    double tables = pages * 12 + (double)max_rows * (16 + 4.0 * pages_for(capacity)) + 16.0 * c->n_layer +
                    4.0 * (double)turn_floats(type, capacity, c->head_dim);

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
    kv->key_bias = qw_calloc((size_t)kv->n_layer, sizeof *kv->key_bias);
    if (!kv->free_pages || !kv->ref || !kv->fill || !kv->row || !kv->layer || !kv->key_bias)
        return qw_fail_memory(err, "the tables of the KV cache", 12.0 * kv->n_pages);
    for (size_t r = 0; r < rows; r++) {
        kv->row[r].pages = qw_calloc((size_t)pages_for(kv->capacity), sizeof(int32_t));
        if (!kv->row[r].pages) return qw_fail_memory(err, "the tables of the KV cache", 12.0 * kv->n_pages);
    }
    for (int32_t i = 0; i < kv->n_pages; i++) kv->free_pages[i] = kv->n_pages - 1 - i;
    kv->n_free = kv->n_pages;
    return QW_OK;
}

static qw_status allocate_turns(qw_kv *kv, const qw_config *c, qw_error *err)
{
    int32_t half = c->head_dim / 2, pages = pages_for(kv->capacity);
    float inv_freq[QW_HEAD_DIM_MAX / 2], turn[QW_HEAD_DIM_MAX], scale;

    if (kv->type != QW_KV_Q8_0) return QW_OK;
    kv->turn_page = qw_alloc_aligned(turn_floats(kv->type, kv->capacity, c->head_dim), sizeof(float));
    if (!kv->turn_page) return qw_fail_memory(err, "the tables of the KV cache", 4.0 * pages * c->head_dim);
    kv->turn_slot = kv->turn_page + (size_t)pages * (size_t)c->head_dim;
    qw_config_inv_freq(c, inv_freq, &scale);
    for (int32_t p = 0, pos = 0; p < pages; p++, pos += QW_KV_PAGE)
        qw_rope_angles(kv->turn_page + (size_t)p * (size_t)c->head_dim, &pos, 1, inv_freq, half, scale);
    for (int32_t slot = 0; slot < QW_KV_PAGE; slot++) {
        qw_rope_angles(turn, &slot, 1, inv_freq, half, 1);
        for (int32_t i = 0; i < 2 * half; i++) kv->turn_slot[i * QW_KV_PAGE + slot] = turn[i];
    }
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
    QW_TRY(allocate_turns(kv, c, err));
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
    qw_free(kv->turn_page);
    qw_free(kv->key_bias);
    qw_free(kv->layer);
    qw_free(kv->row);
    qw_free(kv->fill);
    qw_free(kv->ref);
    qw_free(kv->free_pages);
    *kv = (qw_kv){0};
}

static void drop_page(qw_kv *kv, int32_t page)
{
    QW_ASSERT(page >= 0 && page < kv->n_pages && kv->ref[page] > 0);
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
    int32_t page;

    QW_ASSERT(kv->n_free > 0);
    page = kv->free_pages[--kv->n_free];
    QW_ASSERT(page >= 0 && page < kv->n_pages && kv->ref[page] == 0);
    kv->ref[page] = 1;
    return page;
}

/* The row's own copy of its page i, which others hold too; it keeps `fill` tokens. */
static void own_page(qw_kv *kv, qw_kv_row *r, int32_t i, int32_t fill)
{
    int32_t from = r->pages[i], to = take_page(kv);

    qw_kv_copy_page(kv, to, from);
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
