/* SPDX-License-Identifier: MIT
 * The ordinary tokens of a vocabulary as a trie of their bytes, for walks that try all of them together: tokens that begin
 * alike share their steps, and a byte that cannot be ends all that begin so. */
#ifndef QW_VOCABULARY_TRIE_H
#define QW_VOCABULARY_TRIE_H

#include "tokenizer/tokenizer.h"

/* Nodes in the order of a walk that visits a node before its children. The tokens that end at node i are
 * ids[first[i]] to ids[first[i + 1] - 1]; those of its whole subtree go on to ids[first[next[i]] - 1]. */
typedef struct qw_vocabulary_trie {
    uint8_t *byte;   /* [n_nodes] the last byte of the node's text */
    uint32_t *next;  /* [n_nodes] the node behind its subtree */
    uint32_t *first; /* [n_nodes + 1] */
    int32_t *ids;    /* [n_ids] in the order of their bytes */
    uint32_t n_nodes, n_ids;
    size_t longest; /* bytes of the longest token */
} qw_vocabulary_trie;

/* Of the tokens of type normal that have bytes, without those whose bit of `without` is set (bit id & 31 of word id >> 5;
 * NULL: of all). *out is the caller's: qw_vocabulary_trie_free. O(bytes log tokens). Only memory can fail. */
qw_status qw_vocabulary_trie_new(qw_vocabulary_trie *out, const qw_tokenizer *tokenizer, const uint32_t *without,
                                 qw_error *err);
void qw_vocabulary_trie_free(qw_vocabulary_trie *trie);

/* Bytes of memory that it holds. */
size_t qw_vocabulary_trie_bytes(const qw_vocabulary_trie *trie);

#endif
