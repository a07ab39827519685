/* SPDX-License-Identifier: MIT
 * From forms to a grammar: each conjunction that is reached becomes a rule. */
#ifndef QW_SCHEMA_EMIT_H
#define QW_SCHEMA_EMIT_H

#include "format/grammar.h"
#include "format/schema_expand.h"

/* The node of the whole schema, with all that it needs; QW_NODE_NONE where nothing meets it. */
qw_node qw_schema_emit(qw_compiler *c, qw_grammar *grammar, const qw_dom *root);

#endif
