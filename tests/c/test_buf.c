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

/* A path of 511 bytes or more was an internal error. */
static void test_formatted_text_may_be_of_any_length(void)
{
    char blanks[600];

    memset(blanks, ' ', sizeof blanks);
    for (int width = 505; width < 520; width++) {
        qw_buf b = {0};
        qw_error err = {0};

        CHECK_EQ(qw_buf_printf(&b, &err, "<"), QW_OK);
        CHECK_EQ(qw_buf_printf(&b, &err, "%.*s  7>", width - 3, blanks), QW_OK);
        CHECK_EQ(b.n, width + 2);
        CHECK(b.n > 4 && memcmp(b.bytes + b.n - 4, "  7>", 4) == 0);
        qw_buf_free(&b);
    }
}

static void test_what_is_reserved_is_appended_without_a_request(void)
{
    qw_buf b = {0};

    CHECK_EQ(qw_buf_reserve(&b, 1000, NULL), QW_OK);
    qw_alloc_test_forbid(true);
    for (int i = 0; i < 100; i++) CHECK_EQ(qw_buf_append(&b, "0123456789", 10, NULL), QW_OK);
    qw_alloc_test_forbid(false);
    CHECK_EQ(qw_alloc_test_forbidden(), 0);
    CHECK_EQ(b.n, 1000);
    qw_buf_free(&b);
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
    test_formatted_text_may_be_of_any_length();
    test_what_is_reserved_is_appended_without_a_request();
    test_a_refused_append_changes_nothing();
    return check_done();
}
