/* SPDX-License-Identifier: MIT
 * The KV cache: one pool of pages of 32 positions, shared by all rows. A row is a list of pages, so its logical position p
 * is slot p % 32 of its page p / 32 whatever the pool looks like; rows that begin alike may share pages, and a shared page
 * is copied when one of them writes to it. */
#ifndef QW_KV_H
#define QW_KV_H

#include "model/kv_block.h"

/* Bytes that a cache of that kind takes, tables included. */
double qw_kv_bytes(const qw_config *c, qw_kv_type type, int32_t capacity, int32_t max_rows);

/* Errors: memory. The caller's kv is zero before and may be freed after any outcome. */
qw_status qw_kv_init(qw_kv *kv, const qw_config *c, qw_kv_type type, int32_t capacity, int32_t max_rows, qw_error *err);
void qw_kv_free(qw_kv *kv);

/* Makes room for n more tokens of the row (n positions from row->n on); false, and nothing changed, where the pool is full. */
bool qw_kv_reserve(qw_kv *kv, int32_t row, int32_t n);

/* Keeps the row's first n tokens. */
void qw_kv_truncate(qw_kv *kv, int32_t row, int32_t n);

/* Makes row `to` (dropped first) share the first n tokens of row `from`. */
void qw_kv_fork(qw_kv *kv, int32_t to, int32_t from, int32_t n);

#endif
