/* SPDX-License-Identifier: MIT
 * References as RFC 3986 resolves them against a base, as far as $id and $ref need it. */
#ifndef QW_SCHEMA_URI_H
#define QW_SCHEMA_URI_H

#include "base/arena.h"

#include <stdbool.h>

/* Divides a reference at its #: fragment has no #, and bytes NULL where there is none. */
void qw_uri_split(qw_text reference, qw_text *uri, qw_text *fragment);

/* The absolute form of uri (without fragment) against base (may be empty), into the arena. bytes is NULL where memory is
 * refused. */
qw_text qw_uri_resolve(qw_arena *arena, qw_text base, qw_text uri);

/* Replaces %xx by the bytes they mean, into the arena. bytes is NULL where memory is refused. */
qw_text qw_uri_decode(qw_arena *arena, qw_text text);

#endif
