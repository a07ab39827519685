/* SPDX-License-Identifier: MIT
 * What loading asks of whoever has the files: the words of the dialogue, spoken by the loader and by the hosts alike. */
#ifndef QW_WANT_H
#define QW_WANT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum qw_want_kind {
    QW_WANT_NOTHING, /* loading is done, or has failed */
    QW_WANT_OPEN,    /* answer with its size (qw_engine_opened) */
    QW_WANT_READ,    /* put bytes at dst, then feed them (qw_engine_feed) */
} qw_want_kind;

typedef struct qw_want {
    qw_want_kind kind;
    const char *name; /* of the file, UTF-8, borrowed until the next call */
    bool optional;    /* OPEN: may be absent */
    int32_t file;     /* index in the order of OPENs answered with a size */
    uint64_t offset;  /* READ: the range wanted, and where its first byte goes */
    size_t bytes;
    uint8_t *dst;
    bool weights; /* READ: headers and small files are all in; this is tensor data */
} qw_want;

#endif
