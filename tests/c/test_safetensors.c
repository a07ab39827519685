/* SPDX-License-Identifier: MIT
 * safetensors.c: what a header may be, and what it may not. */
#include "files/safetensors.h"

#include "check.h"
#include "model_files.h"

/* The status of a file's header, read as the loader does: 8 bytes, then the rest of it, no byte more. */
static qw_status parse(bytes file, qw_tensors *t, qw_error *err)
{
    size_t first = file.n < 8 ? file.n : 8;
    uint8_t *copy = malloc(first + 1);
    qw_safetensors_source source = {{(const char *)copy, first}, file.n, 0, "m.safetensors"};
    uint64_t end = 0;
    qw_status status;

    if (first) memcpy(copy, file.v, first);
    status = qw_safetensors_header_end(&source, &end, err);
    free(copy);
    if (status) return status;
    CHECK(end <= file.n);
    copy = malloc((size_t)end);
    memcpy(copy, file.v, (size_t)end);
    source.head = (qw_text){(const char *)copy, (size_t)end};
    status = qw_safetensors_parse(&source, t, err);
    free(copy);
    if (!status) status = qw_tensors_check(t, err);
    return status;
}

static qw_status parse_header(const char *header, size_t n_data, qw_error *err)
{
    bytes file = safetensors_file(header, n_data);
    qw_tensors t = {0};
    qw_status status = parse(file, &t, err);

    qw_tensors_free(&t);
    free(file.v);
    return status;
}

static void test_safetensors_tensors_are_found(void)
{
    bytes file = safetensors_file("{\"b\":{\"dtype\":\"BF16\",\"shape\":[2,3],\"data_offsets\":[16,28]},"
                                  "\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}",
                                  28);
    qw_tensors t = {0};
    qw_error err = {0};
    size_t a, b;

    CHECK_EQ(parse(file, &t, &err), QW_OK);
    CHECK_EQ(t.n, 2);
    a = qw_tensors_find(&t, qw_text_of("a"));
    b = qw_tensors_find(&t, qw_text_of("b"));
    CHECK(a < 2 && b < 2 && a != b);
    CHECK_EQ(t.v[a].type, QW_F32);
    CHECK_EQ(t.v[a].offset, file.n - 28);
    CHECK_EQ(t.v[a].n_dims, 1);
    CHECK_EQ(t.v[b].type, QW_BF16);
    CHECK_EQ(t.v[b].offset, file.n - 12);
    CHECK_EQ(t.v[b].dims[0], 3);
    CHECK_EQ(t.v[b].dims[1], 2);
    qw_tensors_free(&t);
    free(file.v);
}

/* Begin times end of the second tensor passes 2^64, which was taken for a shape. */
static void test_safetensors_tensors_beyond_4_gib_are_found(void)
{
    static const char header[] = "{\"a\":{\"dtype\":\"F32\",\"shape\":[1100000000],\"data_offsets\":[0,4400000000]},"
                                 "\"b\":{\"dtype\":\"F32\",\"shape\":[2,200000000],"
                                 "\"data_offsets\":[4400000000,6000000000]}}";
    bytes file = safetensors_file(header, 0);
    qw_safetensors_source source = {{(const char *)file.v, file.n}, file.n + 6000000000u, 0, "m.safetensors"};
    qw_tensors t = {0};
    qw_error err = {0};
    size_t b;

    CHECK_EQ(qw_safetensors_parse(&source, &t, &err), QW_OK);
    CHECK_STR(err.text, "");
    CHECK_EQ(qw_tensors_check(&t, &err), QW_OK);
    b = qw_tensors_find(&t, qw_text_of("b"));
    CHECK(b < t.n);
    if (b < t.n) CHECK_EQ(t.v[b].offset, file.n + 4400000000u);
    if (b < t.n) CHECK_EQ(t.v[b].bytes, 1600000000);
    qw_tensors_free(&t);
    free(file.v);
}

static void test_safetensors_header_lengths_are_checked_before_memory(void)
{
    static const uint64_t lengths[] = {0,
                                       1,
                                       UINT64_MAX,
                                       ((uint64_t)1 << 32) + 8,
                                       100 - 7,
                                       100 - 8 + 1,
                                       100000001,
                                       UINT64_MAX - 7,
                                       0x206e6f6973726576u /* "version " */,
                                       0x595443 << 8};

    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        bytes file = {0};
        qw_tensors t = {0};
        qw_error err = {0};
        put_u64(&file, lengths[i]);
        while (file.n < 100) put_uint(&file, '{', 1);
        qw_alloc_test_fail(-1);
        CHECK_EQ(parse(file, &t, &err), QW_ERR_FORMAT);
        CHECK_EQ(qw_alloc_test_count(), 0);
        free(file.v);
    }
    for (size_t n = 0; n < 8; n++) {
        bytes file = {0};
        qw_tensors t = {0};
        qw_error err = {0};
        put(&file, "\2\0\0\0\0\0\0\0", n);
        CHECK_EQ(parse(file, &t, &err), QW_ERR_FORMAT);
        CHECK_HAS(err.text, "needs at least 8 bytes");
        free(file.v);
    }
}

static void test_safetensors_offsets_must_be_exact_whole_numbers(void)
{
    static const char *const bad[] = {
        "[-4,0]",
        "[8,4]",
        "[9007199254740993,9007199254740997]",
        "[1e3,2e3]",
        "[\"0\",\"4\"]",
        "[0.0,4]",
        "[0,4.0]",
        "[0]",
        "[0,4,8]",
        "[]",
        "4",
        "null",
        "{}",
        "[0,[4]]",
        "[0,18446744073709551616]",
        "[0,18446744073709551615]",
        "[0,true]",
        "[18446744073709551612,18446744073709551615]",
    };
    char header[200];
    qw_error err = {0};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        snprintf(header, sizeof header, "{\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":%s}}", bad[i]);
        CHECK_EQ(parse_header(header, 4, &err), QW_ERR_FORMAT);
        CHECK(err.text[0]);
    }
    CHECK_EQ(parse_header("{\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4, &err), QW_OK);
}

static void test_safetensors_data_must_be_covered_once(void)
{
    static const struct {
        const char *header;
        size_t n_data;
        const char *part;
    } bad[] = {
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]},\"b\":{\"dtype\":\"F32\",\"shape\":[4],"
         "\"data_offsets\":[0,16]}}",
         16, "overlap"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]},\"b\":{\"dtype\":\"F32\",\"shape\":[4],"
         "\"data_offsets\":[8,24]}}",
         24, "overlap"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]},\"b\":{\"dtype\":\"F32\",\"shape\":[4],"
         "\"data_offsets\":[32,48]}}",
         48, "hole"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[16,32]}}", 32, "hole"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", 32, "16 bytes, the file has 32"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", 15, "file incomplete, needs"},
        {"{}", 1, "0 bytes"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        qw_error err = {0};
        CHECK_EQ(parse_header(bad[i].header, bad[i].n_data, &err), QW_ERR_FORMAT);
        CHECK_HAS(err.text, bad[i].part);
    }
}

static void test_safetensors_odd_but_legal_headers_are_read(void)
{
    static const struct {
        const char *header;
        size_t n_data;
    } good[] = {
        {"{\"__metadata__\":{}}", 0},
        {"{\"__metadata__\":{\"format\":\"pt\",\"x\":\"\"},\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,"
         "4]}}",
         4},
        {"{\"t\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}       ", 4},
        {"{\"\\u0074\\u00e9\xC3\xA9\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4},
        {"{\"e\":{\"dtype\":\"F32\",\"shape\":[0,896],\"data_offsets\":[4,4]},\"s\":{\"dtype\":\"F32\",\"shape\":[],"
         "\"data_offsets\":[0,4]}}",
         4},
        {"{\"t\":{\"dtype\":\"I64\",\"shape\":[1,1,1,1,1,2],\"data_offsets\":[0,16],\"note\":{\"a\":[1]}}}", 16},
        {"{\"t\":{\"dtype\":\"F4\",\"shape\":[3],\"data_offsets\":[0,2]}}", 2},
        {"{}", 0},
    };

    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        qw_error err = {0};
        CHECK_EQ(parse_header(good[i].header, good[i].n_data, &err), QW_OK);
        CHECK_STR(err.text, "");
    }
}

static void test_safetensors_malformed_headers_are_refused(void)
{
    static const struct {
        const char *header, *part;
    } bad[] = {
        {"{\"__metadata__\":{\"a\":1}}", "__metadata__"},
        {"{\"__metadata__\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "__metadata__"},
        {"{\"__metadata__\":[]}", "__metadata__"},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", "__metadata__"},
        {"{\"tt\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},\"t\\u0074\":{\"dtype\":\"F32\",\"shape\":["
         "0],\"data_offsets\":[4,4]}}",
         "two tensors named tt"},
        {"{\"tt\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "dtype is there twice"},
        {"{\"tt\":{\"dtype\":\"F32\",\"shape\":[1],\"shape\":[1],\"data_offsets\":[0,4]}}", "shape is there twice"},
        {"{\"tt\":{\"shape\":[1],\"data_offsets\":[0,4]}}", "tt"},
        {"{\"tt\":{\"dtype\":\"F32\",\"data_offsets\":[0,4]}}", "tt"},
        {"{\"tt\":{\"dtype\":\"F32\",\"shape\":[1]}}", "tt"},
        {"{\"tt\":{\"dtype\":7,\"shape\":[1],\"data_offsets\":[0,4]}}", "dtype"},
        {"{\"tt\":{\"dtype\":\"F16\",\"shape\":[1],\"data_offsets\":[0,4]}}", "number of bytes"},
        {"{\"tt\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967297],\"data_offsets\":[0,4]}}", "2^64"},
        {"{\"tt\":{\"dtype\":\"F32\",\"shape\":[4611686018427387905],\"data_offsets\":[0,4]}}", "number of bytes"},
        {"{\"tt\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", "whole numbers"},
        {"{\"tt\":[]}", "tt"},
        {"[]", "{"},
        {" {}", "{"},
        {"\xef\xbb\xbf", "{"}, /* a byte order mark and nothing after it: the byte behind was read */
        {"{\"tt\"", "too early"},
        {"{} x", "byte 3"},
        {"{\"\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", "name"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        qw_error err = {0};
        CHECK_EQ(parse_header(bad[i].header, 4, &err), QW_ERR_FORMAT);
        CHECK_HAS(err.text, bad[i].part);
    }
}

static void test_safetensors_every_prefix_is_refused(void)
{
    bytes file = safetensors_file(
        "{\"__metadata__\":{\"a\":\"b\"},\"t\":{\"dtype\":\"F16\",\"shape\":[3,2],\"data_offsets\":[0,12]}}", 12);

    for (size_t n = 0; n < file.n; n++) {
        bytes cut = {file.v, n, n};
        qw_tensors t = {0};
        qw_error err = {0};
        CHECK_EQ(parse(cut, &t, &err), QW_ERR_FORMAT);
        CHECK_HAS(err.text, "file incomplete, needs ");
        qw_tensors_free(&t);
    }
    free(file.v);
}

/* Whatever a byte becomes, the answer is a status, and memory is given back. */
static void test_safetensors_every_changed_byte_is_survived(void)
{
    bytes file = safetensors_file(
        "{\"__metadata__\":{\"a\":\"b\"},\"t\":{\"dtype\":\"F16\",\"shape\":[3,2],\"data_offsets\":[0,12]}}", 12);
    int64_t live = qw_alloc_test_live();

    for (size_t i = 0; i < file.n - 12; i++)
        for (int v = 0; v < 256; v += 5) {
            uint8_t was = file.v[i];
            qw_tensors t = {0};
            qw_error err = {0};
            qw_status status;
            file.v[i] = (uint8_t)v;
            status = parse(file, &t, &err);
            CHECK(status == QW_OK || (status == QW_ERR_FORMAT && err.text[0]));
            qw_tensors_free(&t);
            file.v[i] = was;
        }
    CHECK_EQ(qw_alloc_test_live(), live);
    free(file.v);
}

int main(void)
{
    test_safetensors_tensors_are_found();
    test_safetensors_tensors_beyond_4_gib_are_found();
    test_safetensors_header_lengths_are_checked_before_memory();
    test_safetensors_offsets_must_be_exact_whole_numbers();
    test_safetensors_data_must_be_covered_once();
    test_safetensors_odd_but_legal_headers_are_read();
    test_safetensors_malformed_headers_are_refused();
    test_safetensors_every_prefix_is_refused();
    test_safetensors_every_changed_byte_is_survived();
    return check_done();
}
