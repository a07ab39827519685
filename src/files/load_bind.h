/* SPDX-License-Identifier: MIT
 * After the headers: what spans files is checked, and names become weights. */
#ifndef QW_LOAD_BIND_H
#define QW_LOAD_BIND_H

#include "files/load_state.h"

/* Fills the loader's binding and what the model says about its end tokens and template. Errors: format, model, memory. */
qw_status qw_load_bind(qw_loader *l, qw_error *err);

#endif
