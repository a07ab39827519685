/* SPDX-License-Identifier: MIT
 * api.d.ts' response_format, as JSON text, into the language that it asks for. */
#ifndef QW_FORMAT_READ_H
#define QW_FORMAT_READ_H

#include "format/format_maker.h"

/* {"type": "text"}, {"type": "json_object"}, {"type": "json_schema", "json_schema": {"schema": .., "lenient"?: ..}},
 * {"type": "regex", "regex": PATTERN, "flags"?: FLAGS}, {"type": "choice", "choices": [TEXT, ...]} or
 * {"type": "grammar", "grammar": GBNF, "root"?: RULE}. Errors: usage (names the member, what was got and what is wanted;
 * what cannot be held; a form that no text has), memory. */
qw_status qw_format_read(const qw_format_maker *maker, qw_text json, qw_language *out, qw_error *err);

#endif
