/* SPDX-License-Identifier: MIT
 * Text from files in error messages. */
#ifndef QW_QUOTE_TEXT_H
#define QW_QUOTE_TEXT_H

#include "base/buf.h"

/* At most 60 bytes of text, control characters replaced by '?', cut between characters and then ended by "..". dst holds 64
 * bytes; the result is dst. */
const char *qw_quote_text(char dst[64], qw_text text);

#endif
