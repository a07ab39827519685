/* SPDX-License-Identifier: MIT
 * A group of R rows is a run of R blocks of Q4_0 of 18 bytes: R scales, then
 * the codes in turns, all bits 3 and 7 inverted. */
#include "files/woven.h"

#include "base/alloc.h"

#include <string.h>

enum { BLOCK = 18, SCALE = 2, CODES = 16, INVERTED = 0x88, FIRST = 31 };

static const qw_weave weaves[] = {{"q4_0_4_4", 4, 4}, {"q4_0_4_8", 4, 8}, {"q4_0_8_8", 8, 8}};

const qw_weave *qw_weave_of(uint32_t number)
{
    return number >= FIRST && number < FIRST + sizeof weaves / sizeof *weaves ? &weaves[number - FIRST] : NULL;
}

/* One block of each row of a group; `to` is where that of the first row goes.
 */
static void unweave_block(uint8_t *to, size_t row_bytes, const uint8_t *from, const qw_weave *w)
{
    for (int32_t r = 0; r < w->rows; r++) {
        uint8_t *block = to + (size_t)r * row_bytes;
        memcpy(block, from + SCALE * r, SCALE);
        for (int32_t i = 0; i < CODES; i++) {
            int32_t at = (i / w->bytes * w->rows + r) * w->bytes + i % w->bytes;
            block[SCALE + i] = from[SCALE * w->rows + at] ^ INVERTED;
        }
    }
}

qw_status qw_unweave(uint8_t *rows, const qw_weave *weave, int32_t n_rows, size_t row_bytes, qw_error *err)
{
    size_t n = (size_t)weave->rows * row_bytes, step = (size_t)weave->rows * BLOCK;
    uint8_t *woven = qw_alloc_aligned(n, 1);

    if (!woven) return qw_fail_memory(err, "rows woven together", (double)n);
    for (int32_t r = 0; r < n_rows; r += weave->rows, rows += n) {
        memcpy(woven, rows, n);
        for (size_t b = 0; b < row_bytes / BLOCK; b++)
            unweave_block(rows + b * BLOCK, row_bytes, woven + b * step, weave);
    }
    qw_free(woven);
    return QW_OK;
}
