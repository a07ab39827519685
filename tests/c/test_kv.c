/* The KV cache: pages, sharing, and the count of tokens held. */
#include "check.h"
#include "model/kv.h"
#include "kernels/ops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEADS = 2, DIM = 8, LAYERS = 2 };

static qw_config config(void)
{
    qw_config c = {.n_layer = LAYERS, .n_kv_head = HEADS, .n_head = 4, .head_dim = DIM, .rope_theta = 10000};

    return c;
}

static void start(qw_kv *kv, qw_kv_type type, int32_t capacity, int32_t rows)
{
    qw_config c = config();

    CHECK(qw_kv_init(kv, &c, type, capacity, rows, NULL) == QW_OK);
}

/* A value that tells layer, position and element apart; exact in float16. */
static float value_of(int32_t layer, int32_t pos, int32_t i)
{
    return (float)(layer * 64 + pos % 64) + (float)i / 16.0f;
}

static void put(qw_kv *kv, int32_t row, int32_t pos)
{
    float k[HEADS * DIM], v[HEADS * DIM];

    for (int32_t l = 0; l < LAYERS; l++) {
        for (int32_t i = 0; i < HEADS * DIM; i++) {
            k[i] = value_of(l, pos, i);
            v[i] = -k[i];
        }
        qw_kv_put(kv, l, row, pos, k, v);
    }
}

static int32_t wrong_values(const qw_kv *kv, int32_t row, int32_t n)
{
    float block[QW_KV_PAGE * DIM];
    int32_t wrong = 0;

    for (int32_t l = 0; l < LAYERS; l++)
        for (int32_t pos = 0; pos < n; pos++)
            for (int32_t i = 0; i < HEADS * DIM; i++) {
                int32_t slot = pos % QW_KV_PAGE, d = i % DIM;
                float k = qw_kv_keys(kv, l, row, pos / QW_KV_PAGE, i / DIM, block)[d * QW_KV_PAGE + slot];
                float v = qw_kv_values(kv, l, row, pos / QW_KV_PAGE, i / DIM, block)[slot * DIM + d];

                wrong += k != value_of(l, pos, i) || v != -value_of(l, pos, i);
            }
    return wrong;
}

static void fill(qw_kv *kv, int32_t row, int32_t n)
{
    int32_t first = kv->row[row].n;

    CHECK(qw_kv_reserve(kv, row, n));
    for (int32_t pos = first; pos < first + n; pos++) put(kv, row, pos);
}

static void test_values_come_back_as_put(void)
{
    static const qw_kv_type types[] = {QW_KV_F32, QW_KV_F16};

    for (int i = 0; i < 2; i++) {
        qw_kv kv;

        start(&kv, types[i], 100, 2);
        fill(&kv, 1, 33);
        fill(&kv, 0, 5);
        fill(&kv, 1, 40);
        CHECK_EQ(wrong_values(&kv, 1, 73), 0);
        CHECK_EQ(wrong_values(&kv, 0, 5), 0);
        CHECK_EQ(kv.used, 78);
        qw_kv_free(&kv);
    }
}

static void test_q8_0_is_within_half_a_step(void)
{
    float k[HEADS * DIM], v[HEADS * DIM], block[QW_KV_PAGE * DIM];
    qw_kv kv;

    start(&kv, QW_KV_Q8_0, 40, 1);
    CHECK(qw_kv_reserve(&kv, 0, 40));
    for (int32_t i = 0; i < HEADS * DIM; i++) k[i] = (float)(i * 7 % 11) - 5.0f, v[i] = 1.0f / (float)(i + 1);
    qw_kv_put(&kv, 1, 0, 35, k, v);
    for (int32_t i = 0; i < HEADS * DIM; i++) {
        float got_k = qw_kv_keys(&kv, 1, 0, 1, i / DIM, block)[i % DIM * QW_KV_PAGE + 3];
        CHECK_NEAR(got_k, k[i], 5.0 / 254 + 1e-6);
        CHECK_NEAR(qw_kv_values(&kv, 1, 0, 1, i / DIM, block)[3 * DIM + i % DIM], v[i], 1.0 / 254 + 1e-6);
    }
    qw_kv_free(&kv);
}

/* Largest error of the keys that come back, where small ones stand beside a bias of up to 200; the keys are put with RoPE. */
static double key_error(const float *bias)
{
    static const float large[HEADS * DIM] = {[1] = 200, [5] = -90, [6] = 3, [8] = -150, [12] = 40};
    qw_config c = config();
    float inv_freq[DIM / 2], cos_sin[DIM], k[HEADS * DIM], v[HEADS * DIM] = {0}, block[QW_KV_PAGE * DIM], scale;
    double worst = 0;
    qw_pool *pool = NULL;
    qw_kv kv;

    CHECK_EQ(qw_pool_new(&pool, 1, NULL), QW_OK);
    start(&kv, QW_KV_Q8_0, 2000, 1);
    CHECK(qw_kv_reserve(&kv, 0, 2000));
    qw_config_inv_freq(&c, inv_freq, &scale);
    kv.key_bias[1] = bias ? large : NULL;
    for (int32_t pos = 0; pos < 2000; pos += 111) {
        for (int32_t i = 0; i < HEADS * DIM; i++) k[i] = large[i] + (float)((i * 7 + pos) % 11 - 5) / 5.0f;
        qw_rope_angles(cos_sin, &pos, 1, inv_freq, DIM / 2, scale);
        qw_rope(pool, k, cos_sin, 1, HEADS, DIM);
        qw_kv_put(&kv, 1, 0, pos, k, v);
        for (int32_t i = 0; i < HEADS * DIM; i++) {
            const float *keys = qw_kv_keys(&kv, 1, 0, pos / QW_KV_PAGE, i / DIM, block);
            double error = fabs((double)keys[i % DIM * QW_KV_PAGE + pos % QW_KV_PAGE] - (double)k[i]);

            worst = error > worst ? error : worst;
        }
    }
    qw_kv_free(&kv);
    qw_pool_free(pool);
    return worst;
}

static void test_q8_0_keeps_keys_without_their_bias(void)
{
    static const float bias[1] = {0};

    CHECK(key_error(NULL) > 0.5);              /* steps of 200 / 127 */
    CHECK(key_error(bias) < 1.5 / 254 + 2e-3); /* steps of what the bias leaves: at most sqrt(2), turned */
}

static void test_capacity_is_whole_however_it_is_split(void)
{
    for (int32_t rows = 1; rows <= 5; rows++) {
        qw_kv kv;
        int32_t left = 97;

        start(&kv, QW_KV_F32, 97, 5);
        for (int32_t r = 0; r < rows; r++) {
            int32_t n = r + 1 < rows ? 97 / rows : left;

            CHECK(qw_kv_reserve(&kv, r, n));
            left -= n;
        }
        CHECK_EQ(kv.used, 97);
        CHECK(!qw_kv_reserve(&kv, 0, 1));
        qw_kv_truncate(&kv, 0, kv.row[0].n - 1);
        CHECK(qw_kv_reserve(&kv, 0, 1));
        qw_kv_free(&kv);
    }
}

static void test_shared_pages_are_counted_once_and_copied_on_write(void)
{
    qw_kv kv;

    start(&kv, QW_KV_F32, 200, 3);
    fill(&kv, 0, 40);
    qw_kv_fork(&kv, 1, 0, 40);
    qw_kv_fork(&kv, 2, 0, 40);
    CHECK_EQ(kv.used, 40);
    fill(&kv, 1, 10); /* copies 8 tokens */
    CHECK_EQ(kv.used, 58);
    fill(&kv, 0, 1);
    CHECK_EQ(wrong_values(&kv, 0, 41), 0);
    CHECK_EQ(wrong_values(&kv, 1, 50), 0);
    CHECK_EQ(wrong_values(&kv, 2, 40), 0);
    for (int32_t r = 0; r < 3; r++) qw_kv_truncate(&kv, r, 0);
    CHECK_EQ(kv.used, 0);
    CHECK_EQ(kv.n_free, kv.n_pages);
    qw_kv_free(&kv);
}

/* Rows, pages and the count stay in step over many random operations. */
static void test_random_operations_keep_the_books(void)
{
    uint32_t state = 7;
    qw_kv kv;

    start(&kv, QW_KV_F32, 300, 4);
    for (int32_t i = 0; i < 4000; i++) {
        int32_t row, n, refs = 0;

        state = state * 1664525u + 1013904223u;
        row = (int32_t)(state >> 9) & 3;
        n = (int32_t)(state >> 12) % 70;
        if ((state >> 28) < 8) qw_kv_reserve(&kv, row, n);
        else if ((state >> 28) < 13) qw_kv_truncate(&kv, row, n);
        else if (kv.row[(row + 1) & 3].n >= n) qw_kv_fork(&kv, row, (row + 1) & 3, n);
        for (int32_t p = 0; p < kv.n_pages; p++) refs += kv.ref[p];
        for (int32_t r = 0; r < 4; r++) refs -= (kv.row[r].n + QW_KV_PAGE - 1) / QW_KV_PAGE;
        if (refs || kv.used > kv.capacity || kv.used < 0) CHECK_EQ(refs, 0);
    }
    for (int32_t r = 0; r < 4; r++) qw_kv_truncate(&kv, r, 0);
    CHECK_EQ(kv.used, 0);
    CHECK_EQ(kv.n_free, kv.n_pages);
    qw_kv_free(&kv);
}

static void test_values_beyond_the_type_are_told(void)
{
    static const struct {
        qw_kv_type type;
        float value;
        bool overflow;
    } cases[] = {{QW_KV_F16, 65519, false},    {QW_KV_F16, -65520, true},   {QW_KV_F16, NAN, true},
                 {QW_KV_F32, 1e30f, false},    {QW_KV_Q8_0, 8.3e6f, false}, {QW_KV_Q8_0, -8.4e6f, true},
                 {QW_KV_Q8_0, INFINITY, true}, {QW_KV_Q8_0, NAN, true}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        float k[HEADS * DIM] = {0}, v[HEADS * DIM] = {0};
        qw_kv kv;

        start(&kv, cases[i].type, 40, 1);
        CHECK(qw_kv_reserve(&kv, 0, 1));
        v[3] = cases[i].value;
        qw_kv_put(&kv, 0, 0, 0, k, v);
        CHECK_EQ(kv.overflow, cases[i].overflow);
        qw_kv_free(&kv);
    }
}

int main(void)
{
    test_values_come_back_as_put();
    test_q8_0_is_within_half_a_step();
    test_q8_0_keeps_keys_without_their_bias();
    test_values_beyond_the_type_are_told();
    test_capacity_is_whole_however_it_is_split();
    test_shared_pages_are_counted_once_and_copied_on_write();
    test_random_operations_keep_the_books();
    return check_done();
}
