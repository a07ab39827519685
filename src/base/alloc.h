/* SPDX-License-Identifier: MIT
 * The only caller of malloc. Every function returns NULL instead of growing past what there is; sizes that come from
 * files go through a checked product (arithmetic.h). Blocks of 64-byte alignment serve kernels and pages. */
#ifndef QW_ALLOC_H
#define QW_ALLOC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* n * size bytes, zeroed; NULL where the product passes PTRDIFF_MAX or memory is refused. n * size = 0 gives a block
 * that may be freed and not read. Owned by the caller: qw_free. */
void *qw_calloc(size_t n, size_t size);

/* As qw_calloc, aligned to 64 bytes and not zeroed. */
void *qw_alloc_aligned(size_t n, size_t size);

/* Resizes a block of qw_calloc (or NULL) to n * size bytes; on failure NULL, and the old block is kept. */
void *qw_realloc(void *block, size_t n, size_t size);

/* Frees any block of this header; NULL is a no-op. */
void qw_free(void *block);

/* In builds with QW_TEST_ALLOC: the n-th allocation from now on (0 = the next) and all later ones fail; negative: none does.
 * count is the number of allocations since the last call of qw_alloc_test_fail, live the blocks not yet freed. */
#ifdef QW_TEST_ALLOC
void qw_alloc_test_fail(int64_t n);
int64_t qw_alloc_test_count(void);
int64_t qw_alloc_test_live(void);

/* From forbid(true) to forbid(false) every request is refused and counted: of code that must do with what it has.
 * forbidden is how many there were since the last forbid(true). */
void qw_alloc_test_forbid(bool forbid);
int64_t qw_alloc_test_forbidden(void);
#endif

#endif
