/* SPDX-License-Identifier: MIT
 * gguf_values.c: metadata of every type, and what comes of asking for another one. */
#include "files/gguf_values.h"

#include "check.h"
#include "model_files.h"

static void put_all_types(gguf *g)
{
    static const int sizes[] = {1, 1, 2, 2, 4, 4, 0, 1, 0, 0, 8, 8};
    char key[8];

    for (uint32_t type = 0; type < 12; type++) {
        if (!sizes[type]) continue;
        snprintf(key, sizeof key, "t%u", (unsigned)type);
        gguf_key(g, key, type);
        put_uint(&g->values, type == 7 ? 1 : UINT64_MAX - 1, sizes[type]);
    }
    gguf_f32(g, "t6", 1.5f);
    gguf_key(g, "t12", 12);
    put_u64(&g->values, 0x3FF8000000000000u);
    gguf_text(g, "t8", "text");
    gguf_array(g, "texts", 8, 3);
    put_text(&g->values, "a");
    put_text(&g->values, "");
    put_text(&g->values, "abc");
    gguf_array(g, "ints", 5, 2);
    put_u32(&g->values, 7);
    put_u32(&g->values, 0xFFFFFFFF);
    gguf_array(g, "nested", 9, 2);
    for (int i = 0; i < 2; i++) {
        put_u32(&g->values, 8);
        put_u64(&g->values, 1);
        put_text(&g->values, "x");
    }
    gguf_array(g, "empty", 9, 0);
}

static void check_numbers(const qw_gguf *g)
{
    static const struct {
        const char *key;
        int64_t value;
    } ints[] = {{"t0", 254}, {"t1", -2}, {"t2", 65534}, {"t3", -2}, {"t4", 4294967294}, {"t5", -2}, {"t11", -2}};
    qw_error err = {0};
    int64_t i = 5;
    double d = 0;
    bool b = false;

    for (size_t k = 0; k < sizeof ints / sizeof *ints; k++) {
        CHECK_EQ(qw_gguf_get_int(g, ints[k].key, INT64_MIN, INT64_MAX, &i, &err), QW_OK);
        CHECK_EQ(i, ints[k].value);
    }
    CHECK_EQ(qw_gguf_get_int(g, "t10", INT64_MIN, INT64_MAX, &i, &err), QW_ERR_FORMAT); /* 2^64 - 2 */
    CHECK_EQ(qw_gguf_get_int(g, "t0", 0, 10, &i, &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "t0 must be from 0 to 10, got 254");
    CHECK_EQ(qw_gguf_get_int(g, "t6", 0, 10, &i, &err), QW_ERR_FORMAT);
    CHECK_EQ(qw_gguf_get_int(g, "t8", 0, 10, &i, &err), QW_ERR_FORMAT);
    i = 5;
    CHECK_EQ(qw_gguf_get_int(g, "absent", 0, 10, &i, &err), QW_OK);
    CHECK_EQ(i, 5);
    CHECK_EQ(qw_gguf_get_double(g, "t6", &d, &err), QW_OK);
    CHECK_NEAR(d, 1.5, 0);
    CHECK_EQ(qw_gguf_get_double(g, "t12", &d, &err), QW_OK);
    CHECK_NEAR(d, 1.5, 0);
    CHECK_EQ(qw_gguf_get_double(g, "t1", &d, &err), QW_OK);
    CHECK_NEAR(d, -2, 0);
    CHECK_EQ(qw_gguf_get_double(g, "t8", &d, &err), QW_ERR_FORMAT);
    CHECK_EQ(qw_gguf_get_bool(g, "t7", &b, &err), QW_OK);
    CHECK(b);
    CHECK_EQ(qw_gguf_get_bool(g, "t4", &b, &err), QW_ERR_FORMAT);
}

static void check_texts(const qw_gguf *g)
{
    qw_error err = {0};
    qw_text text = {"", 0}, *texts;
    int32_t *ints;
    size_t n;

    CHECK_EQ(qw_gguf_get_text(g, "t8", &text, &err), QW_OK);
    CHECK(text.n == 4 && memcmp(text.bytes, "text", 4) == 0);
    CHECK_EQ(qw_gguf_get_text(g, "t4", &text, &err), QW_ERR_FORMAT);
    CHECK_EQ(qw_gguf_get_texts(g, "texts", &texts, &n, &err), QW_OK);
    CHECK(n == 3 && texts[0].n == 1 && texts[1].n == 0 && texts[2].n == 3 && memcmp(texts[2].bytes, "abc", 3) == 0);
    qw_free(texts);
    CHECK_EQ(qw_gguf_get_texts(g, "absent", &texts, &n, &err), QW_OK);
    CHECK(n == 0 && !texts);
    CHECK_EQ(qw_gguf_get_texts(g, "ints", &texts, &n, &err), QW_ERR_FORMAT);
    CHECK_EQ(qw_gguf_get_texts(g, "t8", &texts, &n, &err), QW_ERR_FORMAT);
    CHECK_EQ(qw_gguf_get_ints(g, "ints", &ints, &n, &err), QW_OK);
    CHECK(n == 2 && ints[0] == 7 && ints[1] == -1);
    qw_free(ints);
    CHECK_EQ(qw_gguf_get_ints(g, "texts", &ints, &n, &err), QW_ERR_FORMAT);
}

static void test_gguf_all_metadata_types_are_read(void)
{
    gguf w = gguf_new();
    qw_gguf g;
    qw_tensors t = {0};
    qw_error err = {0};
    uint64_t need;
    bytes file;

    put_all_types(&w);
    file = gguf_file(&w);
    {
        qw_gguf_source source = {{(const char *)file.v, file.n}, file.n, 0, "t.gguf"};
        CHECK_EQ(qw_gguf_parse(&g, &source, &t, &need, &err), QW_OK);
    }
    CHECK_EQ(g.n_values, 16);
    check_numbers(&g);
    check_texts(&g);
    qw_gguf_free(&g);
    qw_tensors_free(&t);
    free(file.v);
}

int main(void)
{
    test_gguf_all_metadata_types_are_read();
    return check_done();
}
