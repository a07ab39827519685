/* SPDX-License-Identifier: MIT
 * Any bytes as a regular expression: a line of flags, the pattern, then texts that are walked. What is taken never leads
 * into a dead end: from each state that is not void a text ends, and as soon as it was told. */
#include "base/alloc.h"
#include "format/regex.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Goes the shortest way to an end: each byte must take one off what is left. */
static void finish(qw_expr_pool *pool, qw_expr id)
{
    uint32_t left = qw_expr_shortest(pool, id);

    for (int steps = 0; steps < 64 && left && left != UINT32_MAX && !qw_expr_status(pool, NULL); steps++, left--) {
        qw_byte_set set;
        qw_expr best = QW_EXPR_NONE;

        qw_expr_first_bytes(pool, id, &set);
        for (unsigned b = 0; b < 256 && best == QW_EXPR_NONE; b++) {
            qw_expr next = qw_expr_step(pool, id, (uint8_t)b);

            if (!qw_expr_status(pool, NULL) && (next != QW_EXPR_NONE) != qw_byte_set_has(&set, (uint8_t)b)) abort();
            if (next != QW_EXPR_NONE && qw_expr_shortest(pool, next) == left - 1) best = next;
        }
        if (best == QW_EXPR_NONE && !qw_expr_status(pool, NULL)) abort();
        id = best;
    }
    if (left == 0 && !qw_expr_nullable(pool, id) && !qw_expr_status(pool, NULL)) abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *line = size ? memchr(text, '\n', size) : NULL;
    size_t n_pattern = line ? (size_t)(line - text) : size;
    qw_expr_pool *pool;
    qw_error err = {0};
    qw_expr id;
    qw_status status;

    if (qw_expr_pool_new(&pool, 4 << 20, &err)) abort();
    status =
        qw_regex_parse(pool, (qw_text){text, n_pattern}, qw_text_of(size % 3 ? "" : "s"),
                       size % 2 ? QW_REGEX_SEARCH : QW_REGEX_WHOLE, size % 5 ? QW_SPELL_JSON : QW_SPELL_RAW, &id, &err);
    if (status && status != QW_ERR_USAGE) abort();
    if (!status) {
        finish(pool, id);
        for (size_t i = n_pattern + 1; i < size && id != QW_EXPR_NONE; i++) id = qw_expr_step(pool, id, data[i]);
        if (id != QW_EXPR_NONE) finish(pool, id);
    }
    qw_expr_pool_free(pool);
    if (qw_alloc_test_live()) abort();
    return 0;
}
