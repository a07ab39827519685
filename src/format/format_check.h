/* SPDX-License-Identifier: MIT
 * What of a form can be held, without an answer. */
#ifndef QW_FORMAT_CHECK_H
#define QW_FORMAT_CHECK_H

#include "format/format_maker.h"

/* Appends {"ok":..,"notes":[..],"unsupported":[{"pointer":..,"keyword":..,"why":..}]} of a response_format (JSON text): of a schema
 * all that cannot be held, by pointers into it; of another form, or one that is none, what is wrong first, with the pointer
 * "". tokenizer (may be NULL) knows the tokens that a grammar names. Errors: memory. */
qw_status qw_format_check(qw_buf *report, qw_text json, const qw_tokenizer *tokenizer, qw_error *err);

#endif
