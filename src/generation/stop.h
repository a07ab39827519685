/* SPDX-License-Identifier: MIT
 * When a row ends, and which of its text may be shown: stop strings that begin in the prompt, span many tokens or end
 * inside one are matched on UTF-8 bytes (special tokens count by their text), and text is released as whole UTF-8
 * characters, never beyond what a stop string may still swallow. */
#ifndef QW_STOP_H
#define QW_STOP_H

#include "tokenizer/tokenizer.h"

/* The stop strings of a run, with what matching needs (an automaton over bytes, built once). Owned by the caller.
 * packed: for each string a little-endian u32 length and its bytes; none at all is fine. Errors: usage (an empty
 * string, more than QW_STOP_BYTES_MAX bytes in all, lengths that do not add up), memory. */
enum { QW_STOP_BYTES_MAX = 65536 };
typedef struct qw_stops qw_stops;
qw_status qw_stops_new(qw_stops **out, qw_text packed, qw_error *err);
void qw_stops_free(qw_stops *s);

/* One row's output text. Zero-initialise, then qw_row_text_start. */
typedef struct qw_row_text {
    qw_decoder decoder;   /* of the shown bytes that are released */
    qw_buf pending;       /* the last bytes seen (special tokens' too), which may still belong to a stop string */
    qw_buf shown;         /* of each pending byte: 1 where it is text to show, 0 where skip_special hides it */
    uint32_t match_state; /* of the automaton, over all bytes including special tokens' text and the prompt's */
    bool stopped;         /* a stop string was completed */
} qw_row_text;

/* The prompt's bytes go through the matcher, so that a stop string may begin in it (only its last bytes matter); one
 * that lies wholly inside the prompt does not stop. */
qw_status qw_row_text_start(qw_row_text *r, const qw_stops *stops, const qw_tokenizer *t, const int32_t *prompt,
                            size_t n_prompt, qw_error *err);

/* Takes one new token; appends to *out the text that may now be shown. stops may be NULL. After r->stopped nothing more
 * comes: the text that was shown in all ends before the stop string ('' where it began in the prompt); where one token
 * completes several, before the one that begins first. */
qw_status qw_row_text_push(qw_row_text *r, const qw_stops *stops, const qw_tokenizer *t, int32_t id, bool skip_special,
                           qw_buf *out, qw_error *err);

/* The row ended otherwise: releases all that was held back (an unfinished character as U+FFFD). */
qw_status qw_row_text_finish(qw_row_text *r, qw_buf *out, qw_error *err);
void qw_row_text_free(qw_row_text *r);

#endif
