/* SPDX-License-Identifier: MIT
 * The specification of matmul.h: the same result from plain scalar loops, one thread. For tests and the self-test. */
#ifndef QW_MATMUL_SCALAR_H
#define QW_MATMUL_SCALAR_H

#include "kernels/matmul.h"

void qw_matmul_scalar(const qw_activations *a, const qw_product *product);

#endif
