/* SPDX-License-Identifier: MIT
 * The form that an answer must have, as api.d.ts' response_format says it, made ready once for a call: its states, its
 * masks, and what may still be completed with the tokens that are left. */
#ifndef QW_FORMAT_H
#define QW_FORMAT_H

#include "format/mask.h"

typedef struct qw_format qw_format;

/* json: {"type": "regex", "regex": PATTERN, "flags"?: FLAGS} or {"type": "choice", "choices": [TEXT, ...]}. {"type": "text"}
 * gives NULL: any text. masks are borrowed. Errors: usage (names the member, what was got and what is wanted; a form that
 * no text has), memory. *out is the caller's: qw_format_free. */
qw_status qw_format_new(qw_format **out, qw_text json, const qw_masks *masks, qw_error *err);
void qw_format_free(qw_format *format);

/* Where every text begins. */
uint32_t qw_format_start(const qw_format *format);

/* The state after a token's bytes. */
uint32_t qw_format_after(const qw_format *format, uint32_t state, qw_text bytes);

/* Whether the text may end here. */
bool qw_format_may_end(const qw_format *format, uint32_t state);

/* The fewest bytes that end the text, which no fewer tokens than bytes are needed for at worst. */
uint32_t qw_format_bytes_to_end(const qw_format *format, uint32_t state);

/* The tokens that may come next, as qw_mask_make gives them, kept while the state stays; borrowed until the next call. Errors:
 * usage (the form is too complex), memory. */
qw_status qw_format_mask(qw_format *format, uint32_t state, const uint32_t **bits, qw_error *err);

#endif
