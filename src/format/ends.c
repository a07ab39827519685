/* SPDX-License-Identifier: MIT
 * The shortest end is walked once; from its last byte back each place learns the fewest tokens behind it. */
#include "format/ends.h"

#include "base/alloc.h"

#include <string.h>

/* Where no token fits by its shortest end, ends by another token are looked for behind so many states. */
enum { MOST_STATES = 32 };

void qw_ends_free(qw_ends *f)
{
    qw_free(f->ways);
    qw_free(f->path);
    *f = (qw_ends){0};
}

void qw_ends_cut(qw_ends *f, size_t n)
{
    for (size_t s = 0; s < f->cap_ways; s++)
        if (s >= n || f->ways[s].next >= n) f->ways[s] = (qw_way){0};
}

/* Room for n elements; what is new is zero. */
static bool reserve(qw_ends *f, void *array, size_t *cap, size_t n, size_t size)
{
    void **block = array, *grown;
    size_t wanted = *cap ? *cap : 256;

    if (n <= *cap) return true;
    while (wanted < n) wanted *= 2;
    grown = qw_realloc(*block, wanted, size);
    if (!grown) {
        f->failed = true;
        return false;
    }
    memset((char *)grown + *cap * size, 0, (wanted - *cap) * size);
    *block = grown;
    *cap = wanted;
    return true;
}

/* The state behind the lowest byte that comes nearer to the end; dead where there is none. */
static uint32_t step_nearer(qw_ends *f, const qw_moves *m, uint32_t state, uint32_t left)
{
    qw_way *way = &f->ways[state];

    for (unsigned b = 0; b < 256 && !way->next; b++) {
        uint32_t next = m->step(m->self, state, (uint8_t)b);

        way->byte = (uint8_t)b;
        if (next != QW_STATE_DEAD && m->shortest(m->self, next) < left) way->next = next;
    }
    return way->next;
}

/* path[0] to path[n]: the states to the end; n, or SIZE_MAX where there is none. */
static size_t walk_to_end(qw_ends *f, const qw_moves *m, uint32_t state)
{
    for (size_t n = 0;; n++) {
        uint32_t left = m->shortest(m->self, state);

        if (left == UINT32_MAX || !reserve(f, &f->path, &f->cap_path, n + 1, sizeof *f->path)) return SIZE_MAX;
        if (!reserve(f, &f->ways, &f->cap_ways, (size_t)state + 1, sizeof *f->ways)) return SIZE_MAX;
        f->path[n] = state;
        if (left == 0) return n;
        state = step_nearer(f, m, state, left);
        if (state == QW_STATE_DEAD) return SIZE_MAX;
    }
}

/* The child with that byte among the nodes from first to end; UINT32_MAX: none. */
static uint32_t child_of(const qw_vocabulary_trie *t, uint32_t first, uint32_t end, uint8_t byte)
{
    for (uint32_t node = first; node < end; node = t->next[node])
        if (t->byte[node] == byte) return node;
    return UINT32_MAX;
}

/* Fewest tokens from place `at` of the path to its end n, where all behind it are known; UINT32_MAX: none spells it. */
static uint32_t fewest_from(const qw_ends *f, const qw_vocabulary_trie *t, size_t at, size_t n)
{
    uint32_t fewest = UINT32_MAX, first = 0, end = t->n_nodes;

    for (size_t i = at; i < n; i++) {
        uint32_t node = child_of(t, first, end, f->ways[f->path[i]].byte), behind;

        if (node == UINT32_MAX) break;
        behind = f->ways[f->path[i + 1]].tokens;
        if (t->first[node] != t->first[node + 1] && behind && behind < fewest) fewest = behind;
        first = node + 1;
        end = t->next[node];
    }
    return fewest; /* those behind + 1, which stands for this token */
}

uint32_t qw_tokens_to_end(qw_ends *f, const qw_masks *masks, const qw_moves *m, uint32_t state)
{
    size_t n;

    if (state == QW_STATE_DEAD) return UINT32_MAX;
    if (state < f->cap_ways && f->ways[state].tokens) return f->ways[state].tokens - 1;
    n = walk_to_end(f, m, state);
    if (n == SIZE_MAX) return UINT32_MAX;
    f->ways[f->path[n]].tokens = 1;
    for (size_t at = n; at-- > 0;) {
        qw_way *way = &f->ways[f->path[at]];
        uint32_t fewest = way->tokens ? 0 : fewest_from(f, &masks->all, at, n);

        if (fewest == UINT32_MAX) return UINT32_MAX;
        if (!way->tokens) way->tokens = fewest + 1;
    }
    return f->ways[state].tokens - 1;
}

typedef struct filter {
    qw_ends *ends;
    const qw_masks *masks;
    const qw_moves *moves;
    uint32_t most, *bits;
    uint32_t states; /* whose tokens may still be looked at */
    bool any;
} filter;

/* A token for each byte is enough, so that few ends are walked. */
static bool fits(filter *f, uint32_t state, uint32_t most)
{
    return f->moves->shortest(f->moves->self, state) <= most ||
           qw_tokens_to_end(f->ends, f->masks, f->moves, state) <= most;
}

static void find(void *context, const int32_t *ids, uint32_t n, uint32_t state)
{
    filter *f = context;

    (void)ids;
    (void)n;
    f->any = f->any || fits(f, state, f->most);
}

/* Whether some token leads on to an end of most - 1 others. */
static bool fits_by_another(filter *f, uint32_t state)
{
    filter inner = {f->ends, f->masks, f->moves, f->most - 1, NULL, 0, false};

    if (!f->most || !f->states) return false;
    f->states--;
    return qw_mask_walk(&f->masks->all, f->masks->tokenizer, f->moves, state, find, &inner, NULL) == QW_OK && inner.any;
}

static void keep(void *context, const int32_t *ids, uint32_t n, uint32_t state)
{
    filter *f = context;

    if (!fits(f, state, f->most) && !fits_by_another(f, state)) return;
    f->any = true;
    for (uint32_t i = 0; i < n; i++) f->bits[ids[i] >> 5] |= 1u << (ids[i] & 31);
}

qw_status qw_ends_mask(qw_ends *ends, const qw_masks *masks, const qw_moves *moves, uint32_t state, uint32_t most,
                       uint32_t *bits, qw_error *err)
{
    filter f = {.ends = ends, .masks = masks, .moves = moves, .most = most, .bits = bits};

    memset(bits, 0, masks->n_words * sizeof *bits);
    QW_TRY(qw_mask_walk(&masks->all, masks->tokenizer, moves, state, keep, &f, err));
    if (!f.any && !moves->may_end(moves->self, state)) {
        f.states = MOST_STATES;
        QW_TRY(qw_mask_walk(&masks->all, masks->tokenizer, moves, state, keep, &f, err));
    }
    return ends->failed ? qw_fail_memory(err, "the ends of a format", 0) : QW_OK;
}
