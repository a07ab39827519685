/* SPDX-License-Identifier: MIT
 * How many tokens end a text: those of its shortest end (of several the one with the lower bytes), cut into as few tokens
 * as the vocabulary allows. By following it a text ends in exactly so many; some longer end could take fewer. */
#ifndef QW_ENDS_H
#define QW_ENDS_H

#include "format/mask.h"

/* The shortest end of a state: its first byte, and the state behind that. */
typedef struct qw_way {
    uint32_t next;   /* 0: not told yet */
    uint32_t tokens; /* to the end, + 1; 0: not told yet */
    uint8_t byte;
} qw_way;

typedef struct qw_ends {
    qw_way *ways;   /* of each state */
    uint32_t *path; /* states of the end that is looked at */
    size_t cap_ways, cap_path;
    bool failed; /* memory */
} qw_ends;

void qw_ends_free(qw_ends *ends);
/* Forgets what it knows of the states from n on. */
void qw_ends_cut(qw_ends *ends, size_t n);

/* Tokens that end the text from this state, EOS not counted; UINT32_MAX: not known (a dead state, memory). */
uint32_t qw_tokens_to_end(qw_ends *ends, const qw_masks *masks, const qw_moves *moves, uint32_t state);

/* Sets the bits [n_words] of the ordinary tokens of a mask (of that state) behind which at most `most` tokens end the text.
 * Only memory can fail. */
qw_status qw_ends_mask(qw_ends *ends, const qw_masks *masks, const qw_moves *moves, uint32_t state, uint32_t most,
                       uint32_t *bits, qw_error *err);

#endif
