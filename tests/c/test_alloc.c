/* SPDX-License-Identifier: MIT
 * Checked sizes, and the hooks by which other tests refuse an allocation. */
#include "base/alloc.h"
#include "base/arithmetic.h"
#include "check.h"

static void test_products_that_wrap_are_refused(void)
{
    size_t product = 7;

    CHECK(qw_mul(0, SIZE_MAX, &product));
    CHECK_EQ(product, 0);
    CHECK(qw_mul(SIZE_MAX, 1, &product));
    CHECK(product == SIZE_MAX);
    CHECK(!qw_mul(SIZE_MAX / 2 + 1, 2, &product));
    CHECK(qw_calloc(SIZE_MAX / 4, 8) == NULL);
    CHECK(qw_alloc_aligned(SIZE_MAX / 4, 8) == NULL);
    CHECK(qw_realloc(NULL, SIZE_MAX / 4, 8) == NULL);
}

static void test_blocks_are_zeroed_or_aligned(void)
{
    for (size_t n = 0; n < 200; n += 13) {
        unsigned char *zeroed = qw_calloc(n, 3), *aligned = qw_alloc_aligned(n, 3);
        size_t nonzero = 0;

        CHECK(zeroed && aligned);
        CHECK_EQ((uintptr_t)aligned % 64, 0);
        for (size_t i = 0; i < 3 * n; i++) nonzero += zeroed[i] != 0;
        CHECK_EQ(nonzero, 0);
        qw_free(zeroed);
        qw_free(aligned);
    }
    qw_free(NULL);
}

static void test_a_refused_resize_keeps_the_block(void)
{
    int64_t live = qw_alloc_test_live();
    char *block = qw_calloc(4, 1);

    block[3] = 'x';
    qw_alloc_test_fail(0);
    CHECK(qw_realloc(block, 100, 1) == NULL);
    CHECK(qw_calloc(1, 1) == NULL);
    CHECK_EQ(qw_alloc_test_count(), 2);
    qw_alloc_test_fail(-1);
    CHECK_EQ(block[3], 'x');
    qw_free(block);
    CHECK_EQ(qw_alloc_test_live(), live);
}

static void test_what_is_asked_for_while_it_is_forbidden_is_refused_and_counted(void)
{
    void *kept = qw_calloc(1, 1), *after;

    qw_alloc_test_forbid(true);
    CHECK_EQ(qw_alloc_test_forbidden(), 0);
    CHECK(qw_calloc(1, 1) == NULL);
    CHECK(qw_alloc_aligned(1, 1) == NULL);
    CHECK(qw_realloc(kept, 2, 1) == NULL);
    qw_alloc_test_forbid(false);
    CHECK_EQ(qw_alloc_test_forbidden(), 3);
    after = qw_calloc(1, 1);
    CHECK(after != NULL);
    CHECK_EQ(qw_alloc_test_forbidden(), 3);
    qw_free(after);
    qw_free(kept);
    qw_alloc_test_forbid(true);
    CHECK_EQ(qw_alloc_test_forbidden(), 0);
    qw_alloc_test_forbid(false);
}

int main(void)
{
    test_products_that_wrap_are_refused();
    test_blocks_are_zeroed_or_aligned();
    test_a_refused_resize_keeps_the_block();
    test_what_is_asked_for_while_it_is_forbidden_is_refused_and_counted();
    return check_done();
}
