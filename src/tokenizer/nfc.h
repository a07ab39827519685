/* SPDX-License-Identifier: MIT
 * Unicode normalisation form C (Unicode 16, UAX #15). */
#ifndef QW_NFC_H
#define QW_NFC_H

#include "base/buf.h"

#include <stdbool.h>

/* Whether NFC certainly leaves text as it is (a quick look: false may be a false alarm). */
bool qw_nfc_is_plain(qw_text text);

/* Appends NFC of a well-formed UTF-8 text. O(n log n) however long a run of marks is. Only memory can fail. */
qw_status qw_nfc_append(qw_text text, qw_buf *out, qw_error *err);

#endif
