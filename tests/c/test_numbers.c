/* SPDX-License-Identifier: MIT
 * Numbers: every text of up to six characters against bounds and multiples in plain integers, random walks that must end,
 * and by hand what is large, small or spelled in another way. */
#include "base/alloc.h"
#include "format/numbers.h"

#include "check.h"

static uint32_t dice = 2024;

static uint32_t roll(uint32_t n)
{
    dice = dice * 1664525u + 1013904223u;
    return (dice >> 8) % n;
}

static qw_expr_pool *new_pool(void)
{
    qw_expr_pool *pool = NULL;

    CHECK_EQ(qw_expr_pool_new(&pool, 0, NULL), QW_OK);
    return pool;
}

static qw_text text_of(const char *text)
{
    return text ? qw_text_of(text) : (qw_text){NULL, 0};
}

static qw_expr range(qw_expr_pool *pool, const char *lower, bool above, const char *upper, bool below)
{
    qw_number_bounds bounds = {text_of(lower), text_of(upper), above, below};
    qw_expr id;

    CHECK_EQ(qw_number_range(pool, &bounds, &id, NULL), QW_OK);
    return id;
}

static qw_expr multiple(qw_expr_pool *pool, const char *of)
{
    qw_expr id;

    CHECK_EQ(qw_number_multiple(pool, qw_text_of(of), &id, NULL), QW_OK);
    return id;
}

static bool takes(qw_expr_pool *pool, qw_expr id, const char *text)
{
    return qw_expr_accepts(pool, id, qw_text_of(text));
}

/* The value in thousandths of a text in our spelling; false for another text, or more than three digits of fraction. */
static bool value_of(const char *text, int n, int64_t *value)
{
    int at = text[0] == '-', digits = 0, fraction = -1;

    *value = 0;
    for (; at < n; at++) {
        if (text[at] == '.' && digits && fraction < 0) fraction = 0;
        else if (text[at] == '.' || text[at] == '-' || fraction == 3) return false;
        else {
            if (fraction < 0 && digits == 1 && *value == 0) return false;
            *value = *value * 10 + text[at] - '0';
            digits++;
            fraction += fraction >= 0;
        }
    }
    if (!digits || fraction == 0) return false;
    for (int i = fraction < 0 ? 0 : fraction; i < 3; i++) *value *= 10;
    if (text[0] == '-' && *value == 0) return false;
    if (text[0] == '-') *value = -*value;
    return true;
}

static void spell_thousandths(char out[32], int64_t value)
{
    snprintf(out, 32, "%s%d.%03d", value < 0 ? "-" : "", (int)(value < 0 ? -value : value) / 1000,
             (int)(value < 0 ? -value : value) % 1000);
}

/* All texts of up to six of these characters; fractions of more than three digits are not judged. */
static void test_exhaustively(void)
{
    static const char letters[] = "-.01257";
    enum { N = 7, LONGEST = 6 };
    int64_t wrong = 0, judged = 0;

    for (int round = 0; round < 12; round++) {
        qw_expr_pool *pool = new_pool();
        int64_t low = (int64_t)roll(40000) - 20000, high = low + (int64_t)roll(30000), step = 1 + (int64_t)roll(3000);
        bool above = roll(2), below = roll(2);
        char texts[3][32];
        qw_expr id;

        spell_thousandths(texts[0], low);
        spell_thousandths(texts[1], high);
        spell_thousandths(texts[2], step);
        id = qw_expr_and2(pool, range(pool, texts[0], above, texts[1], below), multiple(pool, texts[2]));
        for (int code = 0, many = N, length = 1; length <= LONGEST; code++) {
            char text[LONGEST + 1] = {0};
            int64_t value;
            bool wanted;

            if (code == many) {
                code = 0;
                many *= N;
                if (++length > LONGEST) break;
            }
            for (int k = 0, rest = code; k < length; k++, rest /= N) text[k] = letters[rest % N];
            if (!value_of(text, length, &value)) {
                const char *point = strchr(text, '.');
                if (!point || strlen(point) <= 4) wrong += takes(pool, id, text);
                continue;
            }
            wanted =
                (above ? value > low : value >= low) && (below ? value < high : value <= high) && value % step == 0;
            wrong += takes(pool, id, text) != wanted;
            judged++;
        }
        CHECK_EQ(qw_expr_status(pool, NULL), QW_OK);
        qw_expr_pool_free(pool);
    }
    CHECK_EQ(wrong, 0);
    CHECK(judged > 10000);
}

/* From any state that is not void a live byte leads on, and a text ends. */
static void test_no_dead_ends(void)
{
    static const char *const bounds[][2] = {
        {"0", NULL},      {NULL, "-3"},   {"-1e-17", "1e-17"}, {"123456789", "1234567890123"},
        {"0.07", "0.09"}, {"1e18", NULL}, {NULL, NULL}};
    static const char *const steps[] = {"1e-17", "7", "0.01", "0.3", "1000000007", "123456789012345678"};

    for (size_t i = 0; i < sizeof bounds / sizeof *bounds; i++) {
        qw_expr_pool *pool = new_pool();

        for (size_t k = 0; k < sizeof steps / sizeof *steps; k++) {
            qw_expr all =
                qw_expr_and2(pool, range(pool, bounds[i][0], true, bounds[i][1], true), multiple(pool, steps[k]));

            for (int walk = 0; walk < 50 && all != QW_EXPR_NONE; walk++) {
                qw_expr id = all;
                int n = 0;

                while (id != QW_EXPR_NONE && n < 60 && !(qw_expr_nullable(pool, id) && roll(8) == 0)) {
                    qw_byte_set set;
                    uint32_t at = roll(256);

                    qw_expr_first_bytes(pool, id, &set);
                    if (!(set.bits[0] | set.bits[1] | set.bits[2] | set.bits[3])) break;
                    while (!qw_byte_set_has(&set, (uint8_t)at)) at = (at + 1) & 255;
                    id = qw_expr_step(pool, id, (uint8_t)at);
                    n++;
                }
                CHECK(qw_expr_nullable(pool, id));
                CHECK(n < 60);
            }
        }
        CHECK_EQ(qw_expr_status(pool, NULL), QW_OK);
        qw_expr_pool_free(pool);
    }
}

static void test_by_hand(void)
{
    qw_expr_pool *pool = new_pool();
    qw_expr any = qw_number_any(pool), id;

    CHECK(takes(pool, any, "-1.5e+10") && takes(pool, any, "0") && takes(pool, any, "1E5") && takes(pool, any, "0e0"));
    CHECK(!takes(pool, any, "-0") && !takes(pool, any, "-0.0e1") && !takes(pool, any, "1e100") &&
          !takes(pool, any, "1e"));
    CHECK(takes(pool, qw_number_integer(pool), "1234567890123456789") && !takes(pool, qw_number_integer(pool), "1.0"));
    CHECK_EQ(qw_expr_and2(pool, any, qw_number_integer(pool)), qw_number_integer(pool));
    id = range(pool, "1e400", false, NULL, false);
    CHECK_EQ(id, QW_EXPR_NONE);
    id = range(pool, "-1e400", false, "1E+400", false);
    CHECK_EQ(id, qw_number_decimal(pool));
    id = range(pool, "0.1000000000000000000000001", false, NULL, false);
    CHECK(!takes(pool, id, "0.1") && takes(pool, id, "0.10000000000000001"));
    id = range(pool, NULL, false, "-0.1000000000000000000000001", false);
    CHECK(!takes(pool, id, "-0.1") && takes(pool, id, "-0.10000000000000001"));
    CHECK(takes(pool, multiple(pool, "0.01"), "0.07") && takes(pool, multiple(pool, "1e-2"), "4.350"));
    CHECK(!takes(pool, multiple(pool, "0.01"), "0.075"));
    CHECK(takes(pool, multiple(pool, "1e30"), "0") && takes(pool, multiple(pool, "1e30"), "0.0"));
    CHECK(!takes(pool, multiple(pool, "1e30"), "10"));
    CHECK_EQ(qw_expr_step(pool, multiple(pool, "1e30"), '1'), QW_EXPR_NONE);
    CHECK(takes(pool, multiple(pool, "1e-20"), "0.12345678901234567"));
    CHECK(takes(pool, multiple(pool, "3e-18"), "0.00000000000000003") &&
          !takes(pool, multiple(pool, "3e-18"), "0.00000000000000002"));
    qw_expr_pool_free(pool);
}

static const char *spelled(qw_expr_pool *pool, const char *value)
{
    static char out[80];
    qw_expr id;
    int n = 0;

    CHECK_EQ(qw_number_spelling(pool, qw_text_of(value), &id, NULL), QW_OK);
    while (id > QW_EXPR_EMPTY && n < 79) {
        qw_byte_set set;

        qw_expr_first_bytes(pool, id, &set);
        for (unsigned b = 0; b < 256; b++)
            if (qw_byte_set_has(&set, (uint8_t)b)) out[n] = (char)b;
        id = qw_expr_step(pool, id, (uint8_t)out[n++]);
    }
    out[n] = 0;
    return id == QW_EXPR_NONE ? "" : out;
}

static void test_values(void)
{
    qw_expr_pool *pool = new_pool();
    qw_error err;
    qw_expr id;

    CHECK_STR(spelled(pool, "1.50"), "1.5");
    CHECK_STR(spelled(pool, "1.0"), "1");
    CHECK_STR(spelled(pool, "-0.0"), "0");
    CHECK_STR(spelled(pool, "-12e-3"), "-0.012");
    CHECK_STR(spelled(pool, "5e2"), "500");
    CHECK_STR(spelled(pool, "1e20"), "1e20");
    CHECK_STR(spelled(pool, "-1.25e-30"), "-1.25e-30");
    CHECK_STR(spelled(pool, "1e400"), "");
    CHECK_EQ(qw_number_value(pool, qw_text_of("15e-1"), &id, NULL), QW_OK);
    CHECK(takes(pool, id, "1.5") && takes(pool, id, "1.50") && !takes(pool, id, "1.51") && !takes(pool, id, "15"));
    CHECK_EQ(qw_number_value(pool, qw_text_of("1e-18"), &id, NULL), QW_OK);
    CHECK_EQ(id, QW_EXPR_NONE);
    CHECK_EQ(qw_number_value(pool, qw_text_of("01"), &id, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_number_value(pool, qw_text_of("1."), &id, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "no JSON number");
    CHECK_EQ(qw_number_multiple(pool, qw_text_of("0"), &id, &err), QW_ERR_USAGE);
    CHECK_HAS(err.text, "above 0");
    qw_expr_pool_free(pool);
}

int main(void)
{
    test_exhaustively();
    test_no_dead_ends();
    test_by_hand();
    test_values();
    return check_done();
}
