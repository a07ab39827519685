/* SPDX-License-Identifier: MIT
 * How one character is spelled. */
#ifndef QW_CHARACTERS_H
#define QW_CHARACTERS_H

#include "format/expression.h"

enum { QW_SPELLED_MAX = 6 };

/* Writes the bytes of a code point (no surrogate) in that spelling and returns how many. */
size_t qw_spell_char(char out[QW_SPELLED_MAX], uint32_t c, qw_spelling spelling);

#endif
