/* SPDX-License-Identifier: MIT
 * Reading a decimal number digit by digit, and knowing exactly whether what was read can still become one that is allowed:
 * a value is a whole number of units of 10^-17, a text has at most 19 digits before and 17 after the point. Pure arithmetic;
 * qw_expr_decimal makes an expression of it. */
#ifndef QW_DECIMALS_H
#define QW_DECIMALS_H

#include <stdbool.h>
#include <stdint.h>

__extension__ typedef unsigned __int128 qw_u128;
__extension__ typedef __int128 qw_i128;

enum { QW_DECIMAL_INT_DIGITS = 19, QW_DECIMAL_FRACTION_DIGITS = 17 };

/* 10^n, n at most 38. */
qw_u128 qw_decimal_power(int n);
/* The least common multiple; where it passes 10^37, 10^37: of such a step only 0 is a multiple among our numbers. */
qw_u128 qw_decimal_lcm(qw_u128 a, qw_u128 b);

typedef struct qw_decimal_spec {
    qw_i128 lower, upper; /* in units, both allowed; beyond +-10^36: no bound */
    qw_u128 step;         /* values are multiples of so many units, at least 1 */
    bool integer;         /* no fraction may be written */
} qw_decimal_spec;

/* What is left of the text so far. Texts that the same may follow have the same state wherever bounds allow. */
typedef struct qw_decimal_state {
    qw_u128 digits;    /* read so far as one number; where free, its remainder for the step */
    int8_t n_int;      /* digits before the point; 0 once the point is read */
    int8_t n_fraction; /* digits after it; -1 before the point */
    uint8_t sign;      /* 0: nothing read, 1: no minus, 2: minus */
    uint8_t free;      /* no bound matters any more; the digits read were not all 0 */
} qw_decimal_state;

qw_decimal_state qw_decimal_start(void);
/* Whether any text of the specification is left. */
bool qw_decimal_possible(const qw_decimal_spec *spec, const qw_decimal_state *state);
/* The state after a byte; false where no text goes on so. */
bool qw_decimal_step(const qw_decimal_spec *spec, const qw_decimal_state *state, uint8_t byte, qw_decimal_state *next);
/* Bytes of the shortest end, UINT32_MAX without one; 0: the text may end here. */
uint32_t qw_decimal_shortest(const qw_decimal_spec *spec, const qw_decimal_state *state);

#endif
