/* SPDX-License-Identifier: MIT
 * Kernels of integer layouts for one token. */
#ifndef QW_KERNEL_TOKEN_H
#define QW_KERNEL_TOKEN_H

#include "kernels/kernel.h"

/* The build has `kernel`, and it takes the layout's codes: qw_activations_kernel. */
qw_kernel_one *qw_token_kernel(qw_layout layout, qw_kernel kernel);

#endif
