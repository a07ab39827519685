/* SPDX-License-Identifier: MIT
 * exp, log, sin, cos and pow that give the same bits in every build: additions, multiplications, divisions and exactly
 * rounded functions only, never the platform's libm. Double precision; error <= 2 ulp of double in the ranges given. */
#ifndef QW_EXACT_MATH_H
#define QW_EXACT_MATH_H

double qw_exp(double x);           /* all x; 0 below -746, inf above 709.8, NaN stays NaN */
double qw_log(double x);           /* x > 0; log(0) = -inf, negative gives NaN            */
double qw_pow(double x, double y); /* x > 0; <= 8 ulp of double, so that the float32 is right */
double qw_sin(double x);           /* |x| <= 2^31                                          */
double qw_cos(double x);

#endif
