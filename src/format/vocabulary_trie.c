/* SPDX-License-Identifier: MIT
 * Sorted by their bytes, tokens are in the order of the walk: each brings a node for every byte that it does not share with
 * the one before it. */
#include "format/vocabulary_trie.h"

#include "base/alloc.h"
#include "base/arithmetic.h"

#include <stdlib.h>
#include <string.h>

typedef struct token {
    qw_text bytes;
    int32_t id;
} token;

static int by_bytes(const void *a, const void *b)
{
    const token *x = a, *y = b;
    size_t n = x->bytes.n < y->bytes.n ? x->bytes.n : y->bytes.n;
    int order = memcmp(x->bytes.bytes, y->bytes.bytes, n);

    if (order) return order;
    if (x->bytes.n != y->bytes.n) return x->bytes.n < y->bytes.n ? -1 : 1;
    return x->id < y->id ? -1 : x->id > y->id;
}

static size_t shared(qw_text a, qw_text b)
{
    size_t i = 0;

    while (i < a.n && i < b.n && a.bytes[i] == b.bytes[i]) i++;
    return i;
}

/* The tokens to take, sorted; *n_nodes: the bytes that each does not share with the one before. */
static uint32_t gather(token *tokens, const qw_tokenizer *t, const uint32_t *without, size_t *n_nodes)
{
    uint32_t n = 0;

    for (int32_t id = 0; id < qw_tokenizer_n_ids(t); id++) {
        qw_text bytes = qw_tokenizer_token_bytes(t, id);

        if (qw_tokenizer_type(t, id) != QW_TOKEN_NORMAL || !bytes.n) continue;
        if (!without || !(without[id >> 5] >> (id & 31) & 1)) tokens[n++] = (token){bytes, id};
    }
    qsort(tokens, n, sizeof *tokens, by_bytes);
    *n_nodes = 0;
    for (uint32_t i = 0; i < n; i++)
        *n_nodes += tokens[i].bytes.n - (i ? shared(tokens[i - 1].bytes, tokens[i].bytes) : 0);
    return n;
}

static qw_status reserve(qw_vocabulary_trie *trie, size_t n_nodes, qw_error *err)
{
    trie->byte = qw_calloc(n_nodes, sizeof *trie->byte);
    trie->next = qw_calloc(n_nodes, sizeof *trie->next);
    trie->first = qw_calloc(n_nodes + 1, sizeof *trie->first);
    trie->ids = qw_calloc(trie->n_ids, sizeof *trie->ids);
    if (trie->byte && trie->next && trie->first && trie->ids) return QW_OK;
    return qw_fail_memory(err, "the trie of the vocabulary", 9.0 * (double)n_nodes + 4.0 * (double)trie->n_ids);
}

/* path[d] is the node of the first d + 1 bytes of the token at hand; nodes that are left learn where their subtree ends. */
static void fill(qw_vocabulary_trie *trie, const token *tokens, uint32_t *path)
{
    size_t depth = 0;

    for (uint32_t i = 0; i < trie->n_ids; i++) {
        qw_text bytes = tokens[i].bytes;
        size_t keep = i ? shared(tokens[i - 1].bytes, bytes) : 0;

        while (depth > keep) trie->next[path[--depth]] = trie->n_nodes;
        while (depth < bytes.n) {
            path[depth] = trie->n_nodes;
            trie->byte[trie->n_nodes] = (uint8_t)bytes.bytes[depth++];
            trie->first[trie->n_nodes++] = i;
        }
        trie->ids[i] = tokens[i].id;
    }
    while (depth > 0) trie->next[path[--depth]] = trie->n_nodes;
    trie->first[trie->n_nodes] = trie->n_ids;
}

qw_status qw_vocabulary_trie_new(qw_vocabulary_trie *out, const qw_tokenizer *tokenizer, const uint32_t *without,
                                 qw_error *err)
{
    size_t most = (size_t)qw_max(1, qw_tokenizer_n_ids(tokenizer)), n_nodes;
    token *tokens = qw_calloc(most, sizeof *tokens);
    uint32_t *path;
    qw_status status;

    *out = (qw_vocabulary_trie){0};
    if (!tokens) return qw_fail_memory(err, "the sorted vocabulary", (double)most * sizeof *tokens);
    out->n_ids = gather(tokens, tokenizer, without, &n_nodes);
    for (uint32_t i = 0; i < out->n_ids; i++)
        if (tokens[i].bytes.n > out->longest) out->longest = tokens[i].bytes.n;
    path = qw_calloc(out->longest + 1, sizeof *path);
    status = path ? reserve(out, n_nodes, err) : qw_fail_memory(err, "a path of the trie", 4.0 * (double)out->longest);
    if (!status) fill(out, tokens, path);
    else qw_vocabulary_trie_free(out);
    qw_free(path);
    qw_free(tokens);
    return status;
}

void qw_vocabulary_trie_free(qw_vocabulary_trie *trie)
{
    qw_free(trie->byte);
    qw_free(trie->next);
    qw_free(trie->first);
    qw_free(trie->ids);
    *trie = (qw_vocabulary_trie){0};
}

size_t qw_vocabulary_trie_bytes(const qw_vocabulary_trie *trie)
{
    return (size_t)trie->n_nodes * (sizeof *trie->byte + sizeof *trie->next + sizeof *trie->first) +
           sizeof *trie->first + (size_t)trie->n_ids * sizeof *trie->ids;
}
