/* SPDX-License-Identifier: MIT
 * Tensor data, piece by piece, into the weights. */
#ifndef QW_LOAD_WEIGHTS_H
#define QW_LOAD_WEIGHTS_H

#include "files/load_state.h"

/* Bytes of stage that the binding asks for, and of weights that are not in the heads already. */
void qw_load_weights_measure(qw_loader *l);

/* Allocates weights and stage, and begins the first piece. */
qw_status qw_load_weights_begin(qw_loader *l, qw_error *err);

/* The piece has grown by n bytes. */
qw_status qw_load_weights_feed(qw_loader *l, size_t n, qw_error *err);

#endif
