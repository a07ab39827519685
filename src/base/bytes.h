/* SPDX-License-Identifier: MIT
 * A little-endian, bounds-checked cursor over borrowed bytes that remembers its first failure: parsing reads straight
 * down and looks at `bad` once. After a failure every read gives 0. */
#ifndef QW_BYTES_H
#define QW_BYTES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct qw_bytes {
    const uint8_t *at, *end;
    bool bad; /* a read went past the end */
} qw_bytes;

static inline size_t qw_bytes_left(const qw_bytes *in)
{
    return (size_t)(in->end - in->at);
}

/* The next n bytes, borrowed, or NULL where fewer are left. */
static inline const uint8_t *qw_bytes_take(qw_bytes *in, uint64_t n)
{
    const uint8_t *p = in->at;

    if (in->bad || n > qw_bytes_left(in)) {
        in->bad = true;
        return NULL;
    }
    in->at += n;
    return p;
}

static inline uint64_t qw_bytes_uint(qw_bytes *in, int n)
{
    const uint8_t *p = qw_bytes_take(in, (uint64_t)n);
    uint64_t v = 0;

    for (int i = 0; p && i < n; i++) v |= (uint64_t)p[i] << (8 * i);
    return v;
}

static inline uint8_t qw_bytes_u8(qw_bytes *in)
{
    return (uint8_t)qw_bytes_uint(in, 1);
}

static inline uint16_t qw_bytes_u16(qw_bytes *in)
{
    return (uint16_t)qw_bytes_uint(in, 2);
}

static inline uint32_t qw_bytes_u32(qw_bytes *in)
{
    return (uint32_t)qw_bytes_uint(in, 4);
}

static inline uint64_t qw_bytes_u64(qw_bytes *in)
{
    return qw_bytes_uint(in, 8);
}

static inline float qw_bytes_f32(qw_bytes *in)
{
    uint32_t bits = qw_bytes_u32(in);
    float v;

    memcpy(&v, &bits, sizeof v);
    return v;
}

#endif
