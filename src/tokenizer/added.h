/* SPDX-License-Identifier: MIT
 * The added tokens of a tokenizer as texts to look for: leftmost, and of those the longest. */
#ifndef QW_ADDED_H
#define QW_ADDED_H

#include "base/buf.h"

#include <stdbool.h>

typedef struct qw_added {
    qw_text text; /* borrowed, not empty, well-formed UTF-8 */
    int32_t id;
    bool control;
    bool lstrip, rstrip; /* takes the white space before, after it too */
} qw_added;

/* Sorted by text; those that begin with byte b are items first[b] .. first[b + 1] - 1. */
typedef struct qw_added_set {
    qw_added *items;
    size_t n;
    uint32_t first[257];
} qw_added_set;

/* Room for n tokens; the caller fills items and n, then sorts. */
qw_status qw_added_init(qw_added_set *set, size_t n, qw_error *err);
void qw_added_sort(qw_added_set *set);
void qw_added_free(qw_added_set *set);

/* The longest token that text continues with at byte at, or NULL. */
const qw_added *qw_added_find(const qw_added_set *set, qw_text text, size_t at);

#endif
