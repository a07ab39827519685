/* SPDX-License-Identifier: MIT
 * Derivatives, made when they are first wanted and kept in rows: a target for each class of bytes that an expression does
 * not tell apart. */
#ifndef QW_EXPRESSION_STEP_H
#define QW_EXPRESSION_STEP_H

#include "format/expression_pool.h"

/* What may follow after that byte; may be void without being NONE. */
qw_expr qw_expr_derive(qw_expr_pool *pool, qw_expr id, uint8_t byte);

/* The classes of bytes that id does not tell apart; borrowed until the next call. */
const qw_expr_partition *qw_expr_partition_of(qw_expr_pool *pool, qw_expr id);

/* Where the step after a byte is kept, as an index into rows; 0 where id keeps none (or the pool fails). */
size_t qw_expr_slot(qw_expr_pool *pool, qw_expr id, uint8_t byte);

#endif
