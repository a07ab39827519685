/* SPDX-License-Identifier: MIT
 * A JSON number as its digits and the place of the point, whatever its size, then in units of 10^-17: all that numbers of
 * our spelling can tell apart. Bounds between two units move to the next one that is allowed. */
#include "format/numbers.h"

#include "format/decimals.h"
#include "format/expression_pool.h"

#include <string.h>

enum { UNIT = QW_DECIMAL_FRACTION_DIGITS, WHOLE = QW_DECIMAL_INT_DIGITS, MOST = UNIT + WHOLE, DIGITS_MAX = 4096 };
enum { EXPONENT_MAX = 1 << 20 }; /* beyond, a value is as good as endless or 0 */

/* 0.d1d2...dn times 10^point; d1 and dn are not 0, n = 0 for zero. */
typedef struct number {
    char digits[DIGITS_MAX];
    int n, point;
    bool minus;
} number;

static qw_status not_a_number(qw_text text, qw_error *err)
{
    return qw_fail(err, QW_ERR_USAGE, "\"%.*s\" is no JSON number of at most %d digits",
                   (int)(text.n < 60 ? text.n : 60), text.bytes, (int)DIGITS_MAX);
}

static bool is_digit(qw_text text, size_t at)
{
    return at < text.n && text.bytes[at] >= '0' && text.bytes[at] <= '9';
}

/* Reads digits into the number; false without any, or with too many. */
static bool read_digits(number *out, qw_text text, size_t *at, bool fraction)
{
    size_t begin = *at;

    for (; is_digit(text, *at); ++*at) {
        char c = text.bytes[*at];

        if (out->n || c != '0') {
            if (out->n == DIGITS_MAX) return false;
            out->digits[out->n++] = c;
            out->point += !fraction;
        } else if (fraction) out->point--;
    }
    return *at > begin;
}

static bool read_exponent(number *out, qw_text text, size_t *at)
{
    bool minus = false;
    int exponent = 0;

    if (*at < text.n && (text.bytes[*at] == '-' || text.bytes[*at] == '+')) minus = text.bytes[(*at)++] == '-';
    if (!is_digit(text, *at)) return false;
    for (; is_digit(text, *at); ++*at)
        if (exponent < EXPONENT_MAX) exponent = 10 * exponent + (text.bytes[*at] - '0');
    out->point += minus ? -exponent : exponent;
    return true;
}

static qw_status read_number(number *out, qw_text text, qw_error *err)
{
    size_t at = 0;

    out->n = out->point = 0;
    out->minus = text.n && text.bytes[0] == '-';
    if (out->minus) at++;
    if (is_digit(text, at) && text.bytes[at] == '0' && is_digit(text, at + 1)) return not_a_number(text, err);
    if (!read_digits(out, text, &at, false)) return not_a_number(text, err);
    if (at < text.n && text.bytes[at] == '.') {
        at++;
        if (!read_digits(out, text, &at, true)) return not_a_number(text, err);
    }
    if (at < text.n && (text.bytes[at] | 0x20) == 'e') {
        at++;
        if (!read_exponent(out, text, &at)) return not_a_number(text, err);
    }
    if (at != text.n) return not_a_number(text, err);
    while (out->n && out->digits[out->n - 1] == '0') out->n--;
    if (out->n == 0) {
        out->point = 0;
        out->minus = false;
    }
    return QW_OK;
}

/* The magnitude in whole units, at most 10^37; *exact: nothing was cut off. */
static qw_u128 units(const number *v, bool *exact)
{
    qw_u128 out = 0;
    int n = v->point + UNIT;

    *exact = v->n <= n;
    if (v->n && n > MOST + 1) {
        *exact = false;
        return qw_decimal_power(MOST + 1);
    }
    for (int i = 0; v->n && i < n; i++) out = out * 10 + (uint8_t)(i < v->n ? v->digits[i] - '0' : 0);
    return out;
}

static const qw_decimal_spec *everything(qw_decimal_spec *spec)
{
    qw_i128 huge = (qw_i128)qw_decimal_power(MOST + 1);

    *spec = (qw_decimal_spec){-huge, huge, 1, false};
    return spec;
}

qw_expr qw_number_decimal(qw_expr_pool *pool)
{
    qw_decimal_spec spec;

    return qw_expr_decimal(pool, everything(&spec));
}

qw_expr qw_number_integer(qw_expr_pool *pool)
{
    qw_decimal_spec spec;

    everything(&spec);
    spec.integer = true;
    return qw_expr_decimal(pool, &spec);
}

qw_expr qw_number_any(qw_expr_pool *pool)
{
    qw_expr mark, sign, digits, exponent;

    if (pool->any_number) return pool->any_number;
    mark = qw_expr_or2(pool, qw_expr_byte_range(pool, 'e', 'e'), qw_expr_byte_range(pool, 'E', 'E'));
    sign = qw_expr_or2(pool, qw_expr_byte_range(pool, '+', '+'), qw_expr_byte_range(pool, '-', '-'));
    digits = qw_expr_repeat(pool, qw_expr_byte_range(pool, '0', '9'), 1, 2);
    exponent = qw_expr_concat(pool, mark, qw_expr_concat(pool, qw_expr_repeat(pool, sign, 0, 1), digits));
    return pool->any_number = qw_expr_concat(pool, qw_number_decimal(pool), qw_expr_repeat(pool, exponent, 0, 1));
}

/* The bound in units; a lower one is rounded up, an upper one down, and an exclusive one moves on by a unit. */
static qw_status bound(qw_text text, bool exclusive, bool lower, qw_i128 *out, qw_error *err)
{
    number v;
    bool exact;
    qw_i128 value;

    QW_TRY(read_number(&v, text, err));
    value = (qw_i128)units(&v, &exact);
    if (v.minus) value = -value;
    if (exact ? exclusive : v.minus != lower) value += lower ? 1 : -1;
    *out = value;
    return QW_OK;
}

qw_status qw_number_range(qw_expr_pool *pool, const qw_number_bounds *bounds, qw_expr *out, qw_error *err)
{
    qw_decimal_spec spec;

    everything(&spec);
    *out = QW_EXPR_NONE;
    if (bounds->lower.bytes) QW_TRY(bound(bounds->lower, bounds->exclusive_lower, true, &spec.lower, err));
    if (bounds->upper.bytes) QW_TRY(bound(bounds->upper, bounds->exclusive_upper, false, &spec.upper, err));
    *out = qw_expr_decimal(pool, &spec);
    return qw_expr_status(pool, err);
}

/* value without what it shares with 10^n. */
static qw_u128 without_tens(qw_u128 value, int n)
{
    for (int i = 0; i < n && value % 2 == 0; i++) value /= 2;
    for (int i = 0; i < n && value % 5 == 0; i++) value /= 5;
    return value;
}

qw_status qw_number_multiple(qw_expr_pool *pool, qw_text of, qw_expr *out, qw_error *err)
{
    qw_decimal_spec spec;
    number v;
    int shift;
    qw_u128 step = 0;

    everything(&spec);
    *out = QW_EXPR_NONE;
    QW_TRY(read_number(&v, of, err));
    if (v.n == 0 || v.minus)
        return qw_fail(err, QW_ERR_USAGE, "multiples of %.*s cannot be asked for: it must be above 0",
                       (int)(of.n < 60 ? of.n : 60), of.bytes);
    if (v.n > MOST + 1)
        return qw_fail(err, QW_ERR_USAGE, "a multipleOf of %d digits is too long: at most %d", v.n, MOST + 1);
    for (int i = 0; i < v.n; i++) step = step * 10 + (uint8_t)(v.digits[i] - '0');
    shift = v.point - v.n + UNIT;
    if (shift < 0) step = without_tens(step, -shift);
    for (int i = 0; i < shift && step <= qw_decimal_power(MOST); i++) step *= 10;
    spec.step = step;
    *out = qw_expr_decimal(pool, &spec);
    return qw_expr_status(pool, err);
}

qw_status qw_number_value(qw_expr_pool *pool, qw_text value, qw_expr *out, qw_error *err)
{
    qw_decimal_spec spec = {0, 0, 1, false};
    number v;
    bool exact;

    *out = QW_EXPR_NONE;
    QW_TRY(read_number(&v, value, err));
    spec.lower = (qw_i128)units(&v, &exact);
    if (v.minus) spec.lower = -spec.lower;
    spec.upper = spec.lower;
    if (exact) *out = qw_expr_decimal(pool, &spec);
    return qw_expr_status(pool, err);
}

/* Writes the number without exponent. */
static void spell_plain(const number *v, qw_buf *out, qw_error *err, qw_status *status)
{
    int first = v->point > 0 ? 0 : v->point - 1;

    if (v->minus) *status = qw_buf_append(out, "-", 1, err);
    for (int i = first; !*status && (i < v->point || i < v->n); i++) {
        if (i == v->point && i > first) *status = qw_buf_append(out, ".", 1, err);
        if (!*status) *status = qw_buf_append(out, i >= 0 && i < v->n ? &v->digits[i] : "0", 1, err);
    }
}

static qw_status spell_scientific(const number *v, qw_buf *out, qw_error *err)
{
    QW_TRY(qw_buf_append(out, v->minus ? "-" : "", v->minus ? 1 : 0, err));
    QW_TRY(qw_buf_append(out, v->digits, 1, err));
    if (v->n > 1) {
        QW_TRY(qw_buf_append(out, ".", 1, err));
        QW_TRY(qw_buf_append(out, v->digits + 1, (size_t)v->n - 1, err));
    }
    return qw_buf_printf(out, err, "e%d", v->point - 1);
}

qw_status qw_number_spelling(qw_expr_pool *pool, qw_text value, qw_expr *out, qw_error *err)
{
    number v;
    qw_buf text = {0};
    qw_status status = QW_OK;

    *out = QW_EXPR_NONE;
    QW_TRY(read_number(&v, value, err));
    if (v.n == 0 || (v.point <= WHOLE && v.n - v.point <= UNIT && v.point > -UNIT))
        if (v.n == 0) status = qw_buf_append(&text, "0", 1, err);
        else spell_plain(&v, &text, err, &status);
    else if (v.n <= UNIT + 1 && v.point - 1 <= 99 && v.point - 1 >= -99) status = spell_scientific(&v, &text, err);
    if (!status && text.n) *out = qw_expr_literal(pool, (qw_text){text.bytes, text.n});
    qw_buf_free(&text);
    return status ? status : qw_expr_status(pool, err);
}
