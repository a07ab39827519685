/* SPDX-License-Identifier: MIT
 * Kernels against their scalar twins, here and now, for a report that can be pasted into a bug. */
#ifndef QW_SELFTEST_H
#define QW_SELFTEST_H

#include "base/buf.h"
#include "base/pool.h"

#include <stdbool.h>

/* Appends a line per weight layout to report; *ok is false where any bit differed. Errors: memory. */
qw_status qw_selftest(qw_pool *pool, bool *ok, qw_buf *report, qw_error *err);

#endif
