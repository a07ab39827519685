/* SPDX-License-Identifier: MIT
 * What a call that can fail returns, and the text that goes with it. The text names the object, both values (found and
 * wanted) and the way out; it is made where the fault is seen and handed up unchanged. */
#ifndef QW_STATUS_H
#define QW_STATUS_H

#include "base/print.h"

/* Pinned numbers; qw_status_name gives the code of the JavaScript error. */
typedef enum qw_status {
    QW_OK = 0,
    QW_ERR_MEMORY = 1,   /* an allocation was refused                                            */
    QW_ERR_FORMAT = 2,   /* the bytes are not what the file format promises                      */
    QW_ERR_MODEL = 3,    /* a sound file of a model that is not supported, or logits not finite  */
    QW_ERR_CONTEXT = 4,  /* no room left in the context                                          */
    QW_ERR_USAGE = 5,    /* the caller broke the contract of the call                            */
    QW_ERR_INTERNAL = 6, /* our fault                                                            */
} qw_status;

typedef struct qw_error {
    qw_status status;
    char text[480]; /* UTF-8, NUL-terminated, cut where it does not fit */
} qw_error;

/* "ok", "memory", "format", "model", "context", "usage", "internal". */
const char *qw_status_name(qw_status status);

/* Fills *err (which may be NULL) and returns status, so that a failure is one line: return qw_fail(err, ...). */
qw_status qw_fail(qw_error *err, qw_status status, const char *format, ...) QW_PRINTF(3, 4);

/* qw_fail for an allocation of that many bytes for that thing. */
qw_status qw_fail_memory(qw_error *err, const char *what, double bytes);

#define QW_TRY(call)                                                                                                   \
    do {                                                                                                               \
        qw_status qw_try_status = (call);                                                                              \
        if (qw_try_status) return qw_try_status;                                                                       \
    } while (0)

#endif
