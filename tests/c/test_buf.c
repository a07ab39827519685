/* SPDX-License-Identifier: MIT
 * Growable bytes and ids: what is appended comes back, and a refused append changes nothing. */
#include "base/alloc.h"
#include "base/buf.h"
#include "check.h"

static void test_appends_add_up(void)
{
    qw_buf b = {0};
    qw_ids ids = {0};

    CHECK_EQ(qw_buf_append(&b, NULL, 0, NULL), QW_OK);
    for (int32_t i = 0; i < 1000; i++) {
        CHECK_EQ(qw_buf_printf(&b, NULL, "%d,", i), QW_OK);
        CHECK_EQ(qw_ids_push(&ids, i * 3, NULL), QW_OK);
    }
    CHECK_EQ(b.n, 10 * 2 + 90 * 3 + 900 * 4);
    CHECK(memcmp(b.bytes, "0,1,2,", 6) == 0 && memcmp(b.bytes + b.n - 4, "999,", 4) == 0);
    CHECK_EQ(ids.n, 1000);
    CHECK_EQ(ids.v[999], 2997);
    qw_buf_free(&b);
    qw_ids_free(&ids);
    CHECK(b.bytes == NULL && ids.v == NULL);
}

static void test_text_that_is_too_long_to_format_is_told(void)
{
    qw_buf b = {0};
    qw_error err;

    CHECK_EQ(qw_buf_printf(&b, &err, "%600d", 1), QW_ERR_INTERNAL);
    CHECK_EQ(b.n, 0);
}

static void test_a_refused_append_changes_nothing(void)
{
    qw_buf b = {0};
    qw_error err;

    CHECK_EQ(qw_buf_append(&b, "abc", 3, NULL), QW_OK);
    qw_alloc_test_fail(0);
    for (int i = 0; i < 20; i++) qw_buf_append(&b, "0123456789", 10, &err);
    qw_alloc_test_fail(-1);
    CHECK_EQ(err.status, QW_ERR_MEMORY);
    CHECK_EQ(b.n, 13); /* what fits the 16 bytes there are */
    CHECK(memcmp(b.bytes, "abc0123456789", 13) == 0);
    qw_buf_free(&b);
}

int main(void)
{
    test_appends_add_up();
    test_text_that_is_too_long_to_format_is_told();
    test_a_refused_append_changes_nothing();
    return check_done();
}
