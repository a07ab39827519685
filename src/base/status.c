/* SPDX-License-Identifier: MIT
 * Status names and error texts. */
#include "base/status.h"

#include <stdarg.h>

const char *qw_status_name(qw_status status)
{
    static const char *const names[] = {"ok", "memory", "format", "model", "context", "usage", "internal"};
    unsigned i = (unsigned)status;

    return i < sizeof names / sizeof *names ? names[i] : "internal";
}

qw_status qw_fail(qw_error *err, qw_status status, const char *format, ...)
{
    va_list args;

    if (!err) return status;
    err->status = status;
    va_start(args, format);
    qw_print_list(err->text, sizeof err->text, format, args);
    va_end(args);
    return status;
}

qw_status qw_fail_memory(qw_error *err, const char *what, double bytes)
{
    return qw_fail(err, QW_ERR_MEMORY,
                   "no memory for %s (%.0f bytes): close other tabs, or choose a smaller context or file", what, bytes);
}
