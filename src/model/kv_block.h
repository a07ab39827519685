/* SPDX-License-Identifier: MIT
 * What stands in the pages of a KV cache. Within a page and KV head keys lie [head_dim][32 positions] (a vector of scores is
 * 4 positions) and values [32 positions][head_dim], in the cache's type. Which pages a row has is kv.h's. */
#ifndef QW_KV_BLOCK_H
#define QW_KV_BLOCK_H

#include "model/config.h"

#include <stdbool.h>
#include <stddef.h>

enum { QW_KV_PAGE = 32, QW_KV_GROUP = 8 /* dimensions of q8_0 that share a scale */ };

/* What is stored; q8_0: int8 with a float16 scale per position and 8 dimensions, of keys without their bias: Qwen2's is so
 * large in a few dimensions that the steps of their neighbours would be far too wide. It is added again, turned as RoPE turns
 * a key at that position, where the keys are read. */
typedef enum qw_kv_type { QW_KV_F32, QW_KV_F16, QW_KV_Q8_0 } qw_kv_type;

typedef struct qw_kv_row {
    int32_t *pages; /* [max pages of a row] page numbers */
    int32_t n;      /* tokens */
} qw_kv_row;

typedef struct qw_kv {
    qw_kv_type type;
    int32_t n_layer, n_kv_head, head_dim;
    int32_t capacity; /* tokens that all rows together may hold, a shared one counted once */
    int32_t used;     /* tokens held */
    bool overflow;    /* a key or value did not fit the type (float16: beyond 65504, or NaN): the cache is not sound */
    int32_t n_pages, max_rows, n_free;
    int32_t *free_pages; /* [n_pages] a stack */
    int32_t *ref, *fill; /* [n_pages] rows that hold the page; tokens in it */
    qw_kv_row *row;      /* [max_rows] */
    size_t block_bytes;  /* keys or values of one page and head */
    uint8_t **layer;     /* [n_layer] -> [n_kv_head][n_pages][keys, values][block_bytes], as a thread reads them */
    /* [n_layer] -> [n_kv_head][head_dim], borrowed; NULL where there is none. Set before keys are put. */
    const float **key_bias;
    float *turn_page; /* q8_0: [pages of a row][head_dim / 2][cos, sin] of the page's first position */
    float *turn_slot; /* q8_0: [head_dim / 2][cos, sin][32] of positions 0 to 31 */
} qw_kv;

/* Scales of a position's key or value. */
static inline int32_t qw_kv_groups(int32_t head_dim)
{
    return (head_dim + QW_KV_GROUP - 1) / QW_KV_GROUP;
}

/* Writes key (with RoPE) and value of all heads, [n_kv_head][head_dim] each, at a reserved position, rounded to the cache's
 * type. */
void qw_kv_put(qw_kv *kv, int32_t layer, int32_t row, int32_t pos, const float *k, const float *v);

/* Keys [head_dim][32] and values [32][head_dim] of one page and head as float32: the cache's own memory where it holds
 * float32, else widened into block. Slots not yet written hold anything. */
const float *qw_kv_keys(const qw_kv *kv, int32_t layer, int32_t row, int32_t page, int32_t head, float *block);
const float *qw_kv_values(const qw_kv *kv, int32_t layer, int32_t row, int32_t page, int32_t head, float *block);

/* Asks for a page's keys and values of one head before they are needed (see qw_fetch). */
void qw_kv_fetch(const qw_kv *kv, int32_t layer, int32_t row, int32_t page, int32_t head);

/* Copies what a page holds, in all layers. */
void qw_kv_copy_page(qw_kv *kv, int32_t to, int32_t from);

#endif
