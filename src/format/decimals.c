/* SPDX-License-Identifier: MIT
 * A prefix stands for intervals of magnitudes, one for each number of digits that may still come before the point; it is
 * alive if one of them holds a multiple of the step within the bounds. */
#include "format/decimals.h"

#include "base/assert.h"

enum { INT = QW_DECIMAL_INT_DIGITS, FRACTION = QW_DECIMAL_FRACTION_DIGITS, MOST = INT + FRACTION };

typedef struct interval {
    qw_u128 low, high; /* both in it; empty where low > high */
} interval;

qw_u128 qw_decimal_power(int n)
{
    qw_u128 p = 1;

    QW_ASSERT(n >= 0 && n <= 38);
    while (n-- > 0) p *= 10;
    return p;
}

static qw_u128 gcd(qw_u128 a, qw_u128 b)
{
    while (b) {
        qw_u128 rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

qw_u128 qw_decimal_lcm(qw_u128 a, qw_u128 b)
{
    qw_u128 cap = qw_decimal_power(MOST + 1), factor = a / gcd(a, b);

    return factor > cap / b ? cap : factor * b;
}

/* Magnitudes that the bounds leave to numbers with or without minus; -0 is none. */
static interval magnitudes(const qw_decimal_spec *spec, bool minus)
{
    qw_i128 most = (qw_i128)qw_decimal_power(MOST) - 1;
    qw_i128 lower = minus ? -spec->upper : spec->lower, upper = minus ? -spec->lower : spec->upper;

    if (lower < (minus ? 1 : 0)) lower = minus ? 1 : 0;
    if (upper > most) upper = most;
    if (upper < lower) return (interval){1, 0};
    return (interval){(qw_u128)lower, (qw_u128)upper};
}

static interval meet(interval a, interval b)
{
    return (interval){a.low > b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
}

static bool holds_multiple(interval in, qw_u128 step)
{
    qw_u128 past;

    if (in.low > in.high) return false;
    past = in.low % step;
    return (past ? in.low + (step - past) : in.low) <= in.high;
}

/* How many digits may still come before the point. */
static int room(const qw_decimal_state *s)
{
    if (s->n_fraction >= 0 || (s->n_int && !s->digits && !s->free)) return 0;
    return INT - s->n_int;
}

/* What the text may become with n more digits before the point, and any number of them after it. */
static interval reach(const qw_decimal_state *s, int n)
{
    qw_u128 unit = qw_decimal_power(FRACTION - (s->n_fraction > 0 ? s->n_fraction : 0)), scale = qw_decimal_power(n);

    if (s->n_fraction < 0 && s->n_int == 0) {
        qw_u128 low = n > 1 ? scale / 10 : 0;
        return (interval){low * unit, scale * unit - 1};
    }
    return (interval){s->digits * scale * unit, (s->digits * scale + scale) * unit - 1};
}

static int fewest(const qw_decimal_state *s)
{
    return s->n_fraction < 0 && s->n_int == 0 ? 1 : 0;
}

static qw_u128 grain(const qw_decimal_spec *spec)
{
    return spec->integer ? qw_decimal_lcm(spec->step, qw_decimal_power(FRACTION)) : spec->step;
}

/* The bounds as the state sees them. */
static interval bounds_of(const qw_decimal_spec *spec, const qw_decimal_state *s)
{
    if (s->free) return (interval){0, qw_decimal_power(MOST + 1)};
    return magnitudes(spec, s->sign == 2);
}

qw_decimal_state qw_decimal_start(void)
{
    return (qw_decimal_state){.n_fraction = -1};
}

bool qw_decimal_possible(const qw_decimal_spec *spec, const qw_decimal_state *s)
{
    qw_decimal_state other = *s;
    interval bounds = bounds_of(spec, s);
    qw_u128 step = grain(spec);

    for (int n = fewest(s); n <= room(s); n++)
        if (holds_multiple(meet(reach(s, n), bounds), step)) return true;
    other.sign = 2;
    return s->sign == 0 && qw_decimal_possible(spec, &other);
}

/* Takes out of the state what no longer matters. */
static void reduce(const qw_decimal_spec *spec, qw_decimal_state *s)
{
    interval bounds;
    qw_u128 unit;

    if (s->n_fraction < 0 && (s->n_int == 0 || (!s->digits && !s->free))) return;
    if (s->n_fraction >= 0) s->n_int = 0;
    if (!s->free) {
        bounds = bounds_of(spec, s);
        for (int n = 0; n <= room(s); n++) {
            interval r = reach(s, n);
            if (r.low < bounds.low || r.high > bounds.high) return;
        }
    }
    s->free = 1;
    s->sign = 1;
    unit = qw_decimal_power(FRACTION - (s->n_fraction > 0 ? s->n_fraction : 0));
    s->digits %= spec->step / gcd(spec->step, unit);
}

bool qw_decimal_step(const qw_decimal_spec *spec, const qw_decimal_state *s, uint8_t byte, qw_decimal_state *next)
{
    *next = *s;
    if (byte == '-') {
        if (s->sign) return false;
        next->sign = 2;
        return qw_decimal_possible(spec, next);
    }
    if (byte == '.') {
        if (spec->integer || s->n_fraction >= 0 || s->n_int == 0) return false;
        next->n_fraction = 0;
    } else {
        if (byte < '0' || byte > '9') return false;
        if (s->n_fraction < 0 ? room(s) == 0 : s->n_fraction == FRACTION) return false;
        next->digits = s->digits * 10 + (uint8_t)(byte - '0');
        if (s->n_fraction < 0) next->n_int++;
        else next->n_fraction++;
        if (!next->sign) next->sign = 1;
    }
    if (!qw_decimal_possible(spec, next)) return false;
    reduce(spec, next);
    return true;
}

/* Whether so many more digits before and after the point (0: none is written) make an allowed number. */
static bool ends_after(const qw_decimal_spec *spec, const qw_decimal_state *s, int before, int after)
{
    int n = (s->n_fraction > 0 ? s->n_fraction : 0) + after;
    qw_u128 step = qw_decimal_lcm(spec->step, qw_decimal_power(FRACTION - n));

    if (n == 0 ? s->n_fraction >= 0 : spec->integer) return false;
    return holds_multiple(meet(reach(s, before), bounds_of(spec, s)), step);
}

uint32_t qw_decimal_shortest(const qw_decimal_spec *spec, const qw_decimal_state *s)
{
    int point = s->n_fraction < 0 ? 1 : 0, digits = FRACTION - (s->n_fraction > 0 ? s->n_fraction : 0);
    uint32_t best = UINT32_MAX;

    for (int before = fewest(s); before <= room(s); before++) {
        for (int after = 0; after <= digits; after++) {
            uint32_t cost = (uint32_t)(before + after + (after ? point : 0));
            if (cost >= best) break;
            if (ends_after(spec, s, before, after)) best = cost;
        }
    }
    if (s->sign == 0) {
        qw_decimal_state minus = *s;
        uint32_t other;

        minus.sign = 2;
        other = qw_decimal_shortest(spec, &minus);
        if (other != UINT32_MAX && other + 1 < best) best = other + 1;
    }
    return best;
}
