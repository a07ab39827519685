/* SPDX-License-Identifier: MIT
 * gguf.c: what a header may be, and what it may not. */
#include "files/gguf.h"

#include "check.h"
#include "model_files.h"

/* Parses a file of which `there` bytes are at hand; the result's message in err. */
static qw_status parse_some(qw_gguf *g, qw_tensors *t, bytes file, size_t there, uint64_t *need, qw_error *err)
{
    uint8_t *copy = malloc(there ? there : 1); /* exactly as long as it may be read */
    qw_gguf_source source = {{(const char *)copy, there}, file.n, 0, "t.gguf"};
    qw_status status;

    if (there) memcpy(copy, file.v, there);
    status = qw_gguf_parse(g, &source, t, need, err);
    free(copy); /* what is checked after this is numbers only */
    return status;
}

/* The status of a whole file, which is freed. */
static qw_status parse_file(bytes file, qw_error *err)
{
    qw_gguf g;
    qw_tensors t = {0};
    uint64_t need;
    qw_status status = parse_some(&g, &t, file, file.n, &need, err);

    CHECK_EQ(need, 0);
    if (!status) qw_gguf_free(&g);
    qw_tensors_free(&t);
    free(file.v);
    return status;
}

static bytes two_tensors(uint32_t version)
{
    gguf g = gguf_new();

    g.version = version;
    gguf_tensor(&g, "a", QW_F32, 8, 0);
    gguf_tensor(&g, "b", QW_Q8_0, 32, 3);
    return gguf_file(&g);
}

static void test_gguf_both_tensors_are_found_in_both_versions(void)
{
    for (uint32_t version = 2; version <= 3; version++) {
        bytes file = two_tensors(version);
        qw_gguf g;
        qw_tensors t = {0};
        qw_error err = {0};
        uint64_t need;
        CHECK_EQ(parse_some(&g, &t, file, file.n, &need, &err), QW_OK);
        CHECK_EQ(t.n, 2);
        CHECK_EQ(g.version, version);
        CHECK_EQ(g.data_start % 32, 0);
        CHECK_EQ(t.v[0].offset, g.data_start);
        CHECK_EQ(t.v[0].bytes, 32);
        CHECK_EQ(t.v[1].offset, g.data_start + 32);
        CHECK_EQ(t.v[1].bytes, 102);
        CHECK_EQ(t.v[1].dims[0], 32);
        CHECK_EQ(t.v[1].dims[1], 3);
        CHECK_EQ(t.v[1].dims[2], 1);
        CHECK_EQ(qw_tensors_check(&t, &err), QW_OK);
        CHECK_EQ(qw_tensors_find(&t, qw_text_of("b")), 1);
        CHECK_EQ(qw_tensors_find(&t, qw_text_of("c")), (int64_t)SIZE_MAX);
        qw_gguf_free(&g);
        qw_tensors_free(&t);
        free(file.v);
    }
}

static void test_gguf_other_versions_are_refused_clearly(void)
{
    static const struct {
        uint32_t version;
        const char *part;
    } bad[] = {{1, "version 1"}, {4, "version 4"}, {0x03000000, "big-endian"}, {0x02000000, "big-endian"}};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        qw_error err = {0};
        CHECK_EQ(parse_file(two_tensors(bad[i].version), &err), QW_ERR_FORMAT);
        CHECK_HAS(err.text, bad[i].part);
    }
}

static void test_gguf_a_zero_dimension_divides_nothing(void)
{
    bytes b = {0};
    qw_error err = {0};

    put(&b, "GGUF", 4);
    put_u32(&b, 3);
    put_u64(&b, 1);
    put_u64(&b, 0);
    put_text(&b, "t");
    put_u32(&b, 2);
    put_u64(&b, 1);
    put_u64(&b, 0);
    put_u32(&b, 0);
    put_u64(&b, 0);
    CHECK_EQ(b.n, 65);
    CHECK_EQ(parse_file(b, &err), QW_ERR_FORMAT); /* its data would begin at 96 */
    CHECK_HAS(err.text, "needs 96 bytes");
}

static void test_gguf_alignment_must_be_a_sane_power_of_two(void)
{
    static const struct {
        uint32_t type;
        uint64_t value;
        int bytes;
        bool ok;
    } cases[] = {
        {4, 32, 4, true}, {4, 8, 4, true},        {4, 1 << 20, 4, true}, {4, 0, 4, false},          {4, 24, 4, false},
        {4, 4, 4, false}, {4, 1 << 30, 4, false}, {10, 32, 8, false},    {5, 0xFFFFFFE0, 4, false}, {8, 0, 8, false},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gguf g = gguf_new();
        qw_error err = {0};
        gguf_key(&g, "general.alignment", cases[i].type);
        put_uint(&g.values, cases[i].value, cases[i].bytes);
        CHECK_EQ(parse_file(gguf_file(&g), &err), cases[i].ok ? QW_OK : QW_ERR_FORMAT);
        if (!cases[i].ok) CHECK_HAS(err.text, "general.alignment");
    }
}

static void test_gguf_dimension_counts_above_four_are_refused(void)
{
    static const uint32_t counts[] = {5, 9, 0xFFFFFFFF};
    static const uint64_t dims[8] = {1, 1, 1, 1, 1, 1, 1, 1};

    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        gguf g = gguf_new();
        qw_error err = {0};
        gguf_info(&g, "blk.0.ffn_up.weight", 0, counts[i], dims, 0);
        put_weights(&g.data, 256, &g.seed);
        CHECK_EQ(parse_file(gguf_file(&g), &err), QW_ERR_FORMAT);
        CHECK_HAS(err.text, "blk.0.ffn_up.weight");
        CHECK_HAS(err.text, "dimensions");
    }
}

static bytes header(uint64_t n_tensors, uint64_t n_values)
{
    bytes b = {0};

    put(&b, "GGUF", 4);
    put_u32(&b, 3);
    put_u64(&b, n_tensors);
    put_u64(&b, n_values);
    return b;
}

static bytes one_value(uint32_t type, uint32_t item_type, uint64_t n)
{
    bytes b = header(0, 1);

    put_text(&b, "k");
    put_u32(&b, type);
    if (type == 9) put_u32(&b, item_type);
    put_u64(&b, n);
    while (b.n < 60) put_uint(&b, 0, 1);
    return b;
}

static bytes nested_arrays(int depth)
{
    bytes b = header(0, 1);

    put_text(&b, "k");
    put_u32(&b, 9);
    for (int i = 0; i < depth; i++) {
        put_u32(&b, i + 1 < depth ? 9 : 0);
        put_u64(&b, 1);
    }
    put_u64(&b, 0);
    return b;
}

/* Counts and lengths that the file cannot hold: refused at once, with next to no memory. */
static void test_gguf_absurd_counts_are_refused_without_memory(void)
{
    const uint64_t huge = (uint64_t)1 << 63;
    bytes files[] = {
        header(0, huge),          header(huge, 0),
        header(huge, huge),       header(UINT64_MAX, UINT64_MAX),
        header(0, 1000),          one_value(8, 0, huge),
        one_value(8, 0, 1 << 30), one_value(9, 0, huge),
        one_value(9, 8, huge),    one_value(9, 8, 1000),
        one_value(9, 9, huge),    one_value(9, 10, ((uint64_t)1 << 61) + 1),
        one_value(9, 77, 1),      one_value(77, 0, 0),
        nested_arrays(64),        nested_arrays(5),
    };

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        qw_error err = {0};
        size_t n = files[i].n;
        qw_alloc_test_fail(-1);
        CHECK_EQ(parse_file(files[i], &err), QW_ERR_FORMAT);
        CHECK(qw_alloc_test_count() <= 1);
        CHECK(n < 1000 && err.text[0]);
    }
    {
        qw_error err = {0};
        CHECK_EQ(parse_file(nested_arrays(4), &err), QW_OK);
    }
}

/* Counts that the file is large enough for, but no header that is read: plan() fetched gigabytes before it failed. */
static void test_gguf_counts_beyond_any_header_are_refused_at_once(void)
{
    bytes files[] = {header(100000000, 0),        header(0, 100000000),       header(70000, 1),
                     one_value(8, 0, 1000000000), one_value(9, 8, 100000000), one_value(9, 0, 1000000000),
                     one_value(9, 10, 100000000)};

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        qw_gguf_source source = {{(const char *)files[i].v, files[i].n}, (uint64_t)1 << 33, 0, "t.gguf"};
        qw_tensors t = {0};
        qw_error err = {0};
        qw_gguf g;
        uint64_t need = 0;

        CHECK_EQ(qw_gguf_parse(&g, &source, &t, &need, &err), QW_ERR_FORMAT);
        CHECK_EQ(need, 0);
        CHECK_HAS(err.text, "damaged");
        qw_tensors_free(&t);
        free(files[i].v);
    }
}

static void test_gguf_keys_must_have_a_name(void)
{
    gguf g = gguf_new();
    qw_error err = {0};

    gguf_u32(&g, "", 1);
    CHECK_EQ(parse_file(gguf_file(&g), &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "a key's name has 0 bytes");
}

static void test_gguf_unknown_tensor_types_are_named(void)
{
    static const uint32_t types[] = {4, 5, 9, 15, 24, 34, 36, 39, 42, 43, 105, 0xFFFFFFFE, 0xFFFFFFFF};
    static const uint64_t dims[2] = {256, 1};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        gguf g = gguf_new();
        qw_error err = {0};
        char number[16];
        gguf_info(&g, "blk.0.ffn_down.weight", types[i], 2, dims, 0);
        put_weights(&g.data, 1024, &g.seed);
        CHECK_EQ(parse_file(gguf_file(&g), &err), QW_ERR_MODEL);
        snprintf(number, sizeof number, "number %u,", (unsigned)types[i]);
        CHECK_HAS(err.text, "blk.0.ffn_down.weight");
        CHECK_HAS(err.text, number);
        CHECK_HAS(err.text, "unsupported");
    }
}

static void test_gguf_woven_rows_come_in_groups(void)
{
    uint64_t dims[2] = {32, 12};
    qw_error err = {0};
    gguf g = gguf_new();

    gguf_info(&g, "blk.0.ffn_down.weight", 31, 2, dims, 0);
    put_weights(&g.data, 1024, &g.seed);
    CHECK_EQ(parse_file(gguf_file(&g), &err), QW_OK);
    g = gguf_new();
    gguf_info(&g, "blk.0.ffn_down.weight", 33, 2, dims, 0);
    put_weights(&g.data, 1024, &g.seed);
    CHECK_EQ(parse_file(gguf_file(&g), &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "12 rows, not a multiple of the 8 that q4_0_8_8 weaves together");
}

static void test_gguf_shapes_and_places_are_checked(void)
{
    static const struct {
        uint64_t dims[2], offset;
        uint32_t type;
        const char *part;
    } bad[] = {
        {{(uint64_t)1 << 33, (uint64_t)1 << 31}, 0, 0, "2^63"},
        {{(uint64_t)1 << 32, (uint64_t)1 << 32}, 0, 0, "2^63"}, /* product is 0 in 64 bits */
        {{65536, 65536}, 0, 0, "incomplete"},                   /* product is 0 in 32 bits */
        {{UINT64_MAX, 2}, 0, 0, "2^63"},
        {{(uint64_t)1 << 62, 1}, 0, 0, "2^64"},
        {{32, 1}, UINT64_MAX - 15, 0, "alignment"},
        {{32, 1}, UINT64_MAX - 31, 0, "2^64"},
        {{32, 1}, (uint64_t)1 << 62, 0, "incomplete"},
        {{32, 1}, 96, 0, "incomplete, needs"},
        {{32, 1}, 8, 0, "alignment"},
        {{33, 1}, 0, QW_Q8_0, "block of 32"},
        {{128, 1}, 0, QW_Q4_K, "block of 256"},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gguf g = gguf_new();
        qw_error err = {0};
        gguf_info(&g, "t", bad[i].type, 2, bad[i].dims, bad[i].offset);
        put_weights(&g.data, 128, &g.seed);
        CHECK_EQ(parse_file(gguf_file(&g), &err), QW_ERR_FORMAT);
        CHECK_HAS(err.text, bad[i].part);
    }
}

static qw_status check_pair(const char *name_a, uint64_t offset_a, const char *name_b, uint64_t offset_b, qw_error *err)
{
    static const uint64_t dims[1] = {16};
    gguf g = gguf_new();
    qw_gguf parsed;
    qw_tensors t = {0};
    uint64_t need;
    bytes file;
    qw_status status;

    gguf_info(&g, name_a, 0, 1, dims, offset_a);
    gguf_info(&g, name_b, 0, 1, dims, offset_b);
    put_weights(&g.data, 192, &g.seed);
    file = gguf_file(&g);
    status = parse_some(&parsed, &t, file, file.n, &need, err);
    if (!status) {
        qw_gguf_free(&parsed);
        status = qw_tensors_check(&t, err);
    }
    qw_tensors_free(&t);
    free(file.v);
    return status;
}

static void test_gguf_twins_and_overlaps_are_refused_by_name(void)
{
    qw_error err = {0};

    CHECK_EQ(check_pair("one", 0, "two", 64, &err), QW_OK);
    CHECK_EQ(check_pair("one", 64, "two", 0, &err), QW_OK);
    CHECK_EQ(check_pair("one", 0, "two", 32, &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "one");
    CHECK_HAS(err.text, "two");
    CHECK_EQ(check_pair("one", 0, "two", 0, &err), QW_ERR_FORMAT);
    CHECK_EQ(check_pair("one", 0, "one", 64, &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "two tensors named one");
    CHECK_EQ(check_pair("", 0, "one", 64, &err), QW_ERR_FORMAT);
}

static void test_gguf_twin_keys_are_refused(void)
{
    gguf g = gguf_new();
    qw_error err = {0};

    gguf_u32(&g, "a.b", 1);
    gguf_u32(&g, "a.c", 1);
    gguf_u32(&g, "a.b", 1);
    CHECK_EQ(parse_file(gguf_file(&g), &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "a.b");
}

/* A part of a file: more is asked for, within the file. The file cut there: incomplete, with both numbers. */
static void test_gguf_every_prefix_asks_for_more_or_is_incomplete(void)
{
    bytes file = tiny_gguf(QW_Q8_0, 1);
    char has[32];

    for (size_t n = 0; n < file.n; n += n < 6000 ? 1 : 61) {
        qw_gguf g;
        qw_tensors t = {0};
        qw_error err = {0};
        uint64_t need = 0;
        bytes cut = {file.v, n, n};
        qw_status status = parse_some(&g, &t, file, n, &need, &err);
        CHECK_EQ(status, QW_OK);
        CHECK(need == 0 ? t.n == 14 : need > n && need <= file.n && t.n == 0 && t.names.n == 0);
        if (!need) qw_gguf_free(&g);
        t.n = t.names.n = 0;
        CHECK_EQ(parse_some(&g, &t, cut, n, &need, &err), QW_ERR_FORMAT);
        snprintf(has, sizeof has, "has %zu", n);
        CHECK_HAS(err.text, "file incomplete, needs ");
        CHECK_HAS(err.text, has);
        qw_tensors_free(&t);
    }
    free(file.v);
}

/* Coming back with just what is asked for ends soon. */
static void test_gguf_few_attempts_lead_to_the_end_of_the_header(void)
{
    bytes file = tiny_gguf(QW_Q8_0, 2);
    qw_gguf g;
    qw_tensors t = {0};
    uint64_t need = 0;
    size_t n = 0;
    int attempts = 0;

    do {
        n = (size_t)need;
        CHECK_EQ(parse_some(&g, &t, file, n, &need, NULL), QW_OK);
        attempts++;
    } while (need && attempts < 1000);
    CHECK(attempts < 200);
    CHECK_EQ(t.n, 26);
    qw_gguf_free(&g);
    qw_tensors_free(&t);
    free(file.v);
}

int main(void)
{
    test_gguf_both_tensors_are_found_in_both_versions();
    test_gguf_other_versions_are_refused_clearly();
    test_gguf_a_zero_dimension_divides_nothing();
    test_gguf_alignment_must_be_a_sane_power_of_two();
    test_gguf_dimension_counts_above_four_are_refused();
    test_gguf_absurd_counts_are_refused_without_memory();
    test_gguf_counts_beyond_any_header_are_refused_at_once();
    test_gguf_keys_must_have_a_name();
    test_gguf_unknown_tensor_types_are_named();
    test_gguf_woven_rows_come_in_groups();
    test_gguf_shapes_and_places_are_checked();
    test_gguf_twins_and_overlaps_are_refused_by_name();
    test_gguf_twin_keys_are_refused();
    test_gguf_every_prefix_asks_for_more_or_is_incomplete();
    test_gguf_few_attempts_lead_to_the_end_of_the_header();
    return check_done();
}
