/* SPDX-License-Identifier: MIT
 * Doubles and decimal text, each the nearest of the other (IEEE 754, round half to even), as C's strtod and printf have it, in
 * a tenth of their code: they bring arithmetic of 128 bits with them. */
#ifndef QW_NUMBER_TEXT_H
#define QW_NUMBER_TEXT_H

#include <stddef.h>

enum { QW_NUMBER_TEXT = 352 }; /* characters of the longest text made here, with its NUL */

/* The number at the beginning of text: an optional minus, digits with an optional point, an optional exponent. *end (may be
 * NULL): behind it; text itself where there is none, and 0. Of more than 800 digits the others count as zeros. */
double qw_number_parse(const char *text, char **end);

/* printf's %.*g, where 1 <= digits <= 17; the number of characters. */
size_t qw_number_general(char out[QW_NUMBER_TEXT], double value, int digits);
/* printf's %.*f, where 0 <= decimals <= 20. */
size_t qw_number_fixed(char out[QW_NUMBER_TEXT], double value, int decimals);

#endif
