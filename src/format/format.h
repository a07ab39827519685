/* SPDX-License-Identifier: MIT
 * The form that an answer must have, as api.d.ts' response_format says it, made ready once for a call: its states, its
 * masks, and what may still be completed with the tokens that are left. */
#ifndef QW_FORMAT_H
#define QW_FORMAT_H

#include "format/format_read.h"
#include "format/mask.h"

typedef struct qw_format qw_format;

/* json: as qw_format_read takes it; {"type": "text"} gives NULL: any text. whitespace: "bounded", "compact" or "any" between the
 * parts of JSON ("": bounded). masks are borrowed. notes: gets what of a schema was passed over, a line each. Errors:
 * those of qw_format_read; usage (whitespace of another name). *out is the caller's: qw_format_free. */
qw_status qw_format_new(qw_format **out, qw_text json, qw_text whitespace, const qw_masks *masks, qw_buf *notes,
                        qw_error *err);
void qw_format_free(qw_format *format);

/* Where every text begins. */
uint32_t qw_format_start(const qw_format *format);

/* The state after a token. */
uint32_t qw_format_after(const qw_format *format, uint32_t state, int32_t id);

/* Whether the text may end here. */
bool qw_format_may_end(const qw_format *format, uint32_t state);

/* The tokens that may come next, as qw_mask_make gives them, kept while the state stays; borrowed until the next call. Errors:
 * usage (the form is too complex), memory. */
qw_status qw_format_mask(qw_format *format, uint32_t state, const uint32_t **bits, qw_error *err);

/* Those of them behind which at most `most` tokens end the text; NULL: all of them are such. Borrowed and errors as
 * before. */
qw_status qw_format_mask_within(qw_format *format, uint32_t state, uint32_t most, const uint32_t **bits, qw_error *err);

/* For tests: its moves, and the first error since. */
const qw_moves *qw_format_moves(const qw_format *format);
qw_status qw_format_status(const qw_format *format, qw_error *err);

#endif
