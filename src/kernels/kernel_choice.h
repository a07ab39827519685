/* SPDX-License-Identifier: MIT
 * Which of the build's kernels is fastest on the machine at hand. */
#ifndef QW_KERNEL_CHOICE_H
#define QW_KERNEL_CHOICE_H

#include "kernels/activations.h"

/* The kernel that is fastest on this machine, found by running all that the build has for about 10 ms together. For
 * qw_activations_use, once per engine. seconds_per_product: of that kernel, comparable between builds; NULL: not wanted, and a
 * build with one kernel runs nothing. Errors: memory. */
qw_status qw_kernel_fastest(qw_kernel *fastest, double *seconds_per_product, qw_error *err);

#endif
