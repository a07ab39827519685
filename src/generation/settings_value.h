/* SPDX-License-Identifier: MIT
 * The typed, range-checked reading of one key's value into a qw_settings. */
#ifndef QW_SETTINGS_VALUE_H
#define QW_SETTINGS_VALUE_H

#include "generation/settings_table.h"

/* Reads value into the key's field of *s, whose old content is freed; on an error *s is unchanged. what names the
 * source in errors. Errors: usage (wrong kind, out of range, an id outside 0 .. n_vocab - 1), memory. */
qw_status qw_setting_read(qw_settings *s, qw_setting_id key, const qw_json *value, int32_t n_vocab, const char *what,
                          qw_error *err);

#endif
