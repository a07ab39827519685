/* SPDX-License-Identifier: MIT
 * A sorted list is its own trie: the tokens that begin with the bytes read so far are neighbours, and each further byte
 * narrows them by bisection. */
#include "tokenizer/added.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    const qw_text *x = &((const qw_added *)a)->text, *y = &((const qw_added *)b)->text;
    int order = memcmp(x->bytes, y->bytes, x->n < y->n ? x->n : y->n);

    return order ? order : (x->n > y->n) - (x->n < y->n);
}

qw_status qw_added_init(qw_added_set *set, size_t n, qw_error *err)
{
    set->items = qw_calloc(n, sizeof *set->items);
    return set->items ? QW_OK : qw_fail_memory(err, "the added tokens", (double)n * sizeof *set->items);
}

void qw_added_sort(qw_added_set *set)
{
    if (set->n) qsort(set->items, set->n, sizeof *set->items, compare);
    memset(set->first, 0, sizeof set->first);
    for (size_t i = 0; i < set->n; i++) set->first[(unsigned char)set->items[i].text.bytes[0] + 1]++;
    for (size_t b = 0; b < 256; b++) set->first[b + 1] += set->first[b];
}

void qw_added_free(qw_added_set *set)
{
    qw_free(set->items);
    *set = (qw_added_set){0};
}

/* The first of items low .. high - 1, which agree up to byte depth and are longer, whose byte there is at least b. */
static uint32_t bisect(const qw_added_set *set, uint32_t low, uint32_t high, size_t depth, unsigned b)
{
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if ((unsigned char)set->items[middle].text.bytes[depth] < b) low = middle + 1;
        else high = middle;
    }
    return low;
}

const qw_added *qw_added_find(const qw_added_set *set, qw_text text, size_t at)
{
    unsigned b = (unsigned char)text.bytes[at];
    uint32_t low = set->first[b], high = set->first[b + 1];
    const qw_added *longest = NULL;

    for (size_t depth = 1; low < high; depth++) {
        if (set->items[low].text.n == depth) longest = set->items + low++; /* a prefix stands before what it begins */
        if (at + depth == text.n) break;
        b = (unsigned char)text.bytes[at + depth];
        low = bisect(set, low, high, depth, b);
        high = bisect(set, low, high, depth, b + 1);
    }
    return longest;
}
