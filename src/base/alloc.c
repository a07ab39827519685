/* SPDX-License-Identifier: MIT
 * Allocation with checked products, and a test build in which the n-th request fails or none is allowed. */
#include "base/alloc.h"

#include "base/arithmetic.h"

#include <stdlib.h>
#include <string.h>

#ifdef QW_TEST_ALLOC
#include <stdatomic.h>

static _Atomic int64_t fail_at = -1, count, live, forbidden; /* of all threads together */
static atomic_bool forbids;

void qw_alloc_test_fail(int64_t n)
{
    fail_at = n;
    count = 0;
}

int64_t qw_alloc_test_count(void)
{
    return count;
}

int64_t qw_alloc_test_live(void)
{
    return live;
}

void qw_alloc_test_forbid(bool forbid)
{
    if (forbid) forbidden = 0;
    forbids = forbid;
}

int64_t qw_alloc_test_forbidden(void)
{
    return forbidden;
}

static bool refused(void)
{
    int64_t n = count++;
    forbidden += forbids;
    return forbids || (fail_at >= 0 && n >= fail_at);
}

static void *counted(void *block)
{
    live += block != NULL;
    return block;
}
#else
static bool refused(void)
{
    return false;
}

static void *counted(void *block)
{
    return block;
}
#endif

static bool allowed(size_t n, size_t size, size_t *bytes)
{
    return qw_mul(n, size, bytes) && *bytes <= PTRDIFF_MAX - 64 && !refused();
}

void *qw_calloc(size_t n, size_t size)
{
    size_t bytes;
    void *block;

    if (!allowed(n, size, &bytes)) return NULL;
    block = malloc(bytes ? bytes : 1);
    if (block) memset(block, 0, bytes);
    return counted(block);
}

void *qw_alloc_aligned(size_t n, size_t size)
{
    size_t bytes;

    if (!allowed(n, size, &bytes)) return NULL;
    return counted(aligned_alloc(64, bytes ? (bytes + 63) & ~(size_t)63 : 64));
}

void *qw_realloc(void *block, size_t n, size_t size)
{
    size_t bytes;
    void *larger;

    if (!allowed(n, size, &bytes)) return NULL;
    larger = realloc(block, bytes ? bytes : 1);
    return block ? larger : counted(larger);
}

void qw_free(void *block)
{
#ifdef QW_TEST_ALLOC
    live -= block != NULL;
#endif
    free(block);
}
