/* SPDX-License-Identifier: MIT
 * A name or a stretch of a damaged file must not break the message that quotes it. */
#include "base/quote_text.h"

#include <string.h>

const char *qw_quote_text(char dst[64], qw_text text)
{
    size_t n = text.n < 60 ? text.n : 60;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)text.bytes[i];
        dst[i] = c >= 0x20 && c != 0x7F ? (char)c : '?';
    }
    while (n && n < text.n && ((unsigned char)text.bytes[n] & 0xC0) == 0x80) n--; /* not inside a character */
    memcpy(dst + n, "..", 3);
    if (n == text.n) dst[n] = 0;
    return dst;
}
