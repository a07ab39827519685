/* SPDX-License-Identifier: MIT
 * Sets of code points, as the classes of ECMA-262's regular expressions make them. */
#ifndef QW_REGEX_CLASSES_H
#define QW_REGEX_CLASSES_H

#include "format/expression.h"

/* Ranges in any order, which may overlap until qw_char_set_normalise. Zero-initialise; qw_char_set_free. */
typedef struct qw_char_set {
    qw_char_range *v;
    size_t n, cap;
} qw_char_set;

void qw_char_set_free(qw_char_set *set);
/* Errors: memory. */
qw_status qw_char_set_add(qw_char_set *set, uint32_t first, uint32_t last, qw_error *err);
/* Sorts, and joins what touches. */
void qw_char_set_normalise(qw_char_set *set);
/* All code points that are not in it; normalised before and after. */
qw_status qw_char_set_invert(qw_char_set *set, qw_error *err);

/* Adds what \d \D \w \W \s \S mean; '.' is all but the ends of lines. */
qw_status qw_char_set_add_escape(qw_char_set *set, char escape, qw_error *err);

/* Adds \p{name}: a general category by its short or long name, alone or after General_Category= or gc=; Any, ASCII,
 * Assigned. *known is false for other names. */
qw_status qw_char_set_add_property(qw_char_set *set, qw_text name, bool inverted, bool *known, qw_error *err);

#endif
