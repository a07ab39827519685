/* SPDX-License-Identifier: MIT
 * What a literal means: the table of keywords by draft, schemas taken apart into them, values into their parts. */
#ifndef QW_SCHEMA_KEYWORDS_H
#define QW_SCHEMA_KEYWORDS_H

#include "format/schema_branch.h"

/* Reads a literal into the branch. */
void qw_literal_read(qw_compiler *c, qw_branch *b, qw_literal literal);

#endif
