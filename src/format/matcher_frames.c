/* SPDX-License-Identifier: MIT
 * Open addressing over an array that only grows. */
#include "format/matcher_frames.h"

#include "base/alloc.h"

#include <string.h>

static uint32_t hash_of(const qw_frame *f)
{
    uint32_t words[10] = {f->kind,
                          f->node,
                          f->pos,
                          f->count,
                          f->expr,
                          f->trace,
                          f->depth,
                          f->parent,
                          (uint32_t)f->counts,
                          (uint32_t)(f->counts >> 32)};
    uint32_t hash = 0;

    for (int i = 0; i < 10; i++) {
        hash = (hash ^ words[i]) * 0x9E3779B1u;
        hash ^= hash >> 15;
    }
    return hash;
}

static bool same(const qw_frame *a, const qw_frame *b)
{
    return a->kind == b->kind && a->node == b->node && a->pos == b->pos && a->count == b->count && a->expr == b->expr &&
           a->trace == b->trace && a->depth == b->depth && a->parent == b->parent && a->counts == b->counts;
}

static void put(qw_frames *frames, uint32_t id)
{
    size_t at = hash_of(&frames->v[id]) & (frames->cap_table - 1);

    while (frames->table[at]) at = (at + 1) & (frames->cap_table - 1);
    frames->table[at] = id + 1;
}

static bool grow(qw_frames *frames)
{
    size_t cap = frames->cap ? 2 * frames->cap : 64;
    qw_frame *v;
    uint32_t *table, *least;

    if (frames->n < frames->cap) return true;
    v = qw_realloc(frames->v, cap, sizeof *v);
    if (v) frames->v = v;
    least = v ? qw_realloc(frames->least, cap, sizeof *least) : NULL;
    if (least) frames->least = least;
    table = least ? qw_calloc(2 * cap, sizeof *table) : NULL;
    if (!table) {
        frames->failed = true;
        return false;
    }
    qw_free(frames->table);
    frames->table = table;
    frames->cap = cap;
    frames->cap_table = 2 * cap;
    for (uint32_t id = 0; id < frames->n; id++) put(frames, id);
    return true;
}

uint32_t qw_frames_intern(qw_frames *frames, const qw_frame *frame)
{
    size_t at;

    if (frames->failed || !grow(frames)) return 0;
    at = hash_of(frame) & (frames->cap_table - 1);
    for (; frames->table[at]; at = (at + 1) & (frames->cap_table - 1))
        if (same(&frames->v[frames->table[at] - 1], frame)) return frames->table[at] - 1;
    frames->v[frames->n] = *frame;
    frames->least[frames->n] = 0;
    frames->table[at] = (uint32_t)frames->n + 1;
    return (uint32_t)frames->n++;
}

void qw_frames_cut(qw_frames *frames, size_t n)
{
    if (n >= frames->n) return;
    frames->n = n;
    memset(frames->table, 0, frames->cap_table * sizeof *frames->table);
    for (uint32_t id = 0; id < n; id++) put(frames, id);
}

void qw_frames_free(qw_frames *frames)
{
    qw_free(frames->v);
    qw_free(frames->least);
    qw_free(frames->table);
    *frames = (qw_frames){0};
}
