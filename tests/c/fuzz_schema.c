/* SPDX-License-Identifier: MIT
 * Any bytes as a JSON Schema: it becomes a grammar or a usage error, and its report is JSON. */
#include "base/alloc.h"
#include "base/json.h"
#include "format/schema.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qw_schema_options options = {.lenient = size % 2 != 0};
    qw_buf report = {0};
    qw_error err = {0};
    qw_expr_pool *pool;
    qw_grammar *grammar;
    qw_json *read = NULL;
    qw_node start;
    qw_status status;

    if (qw_expr_pool_new(&pool, 0, NULL) || qw_grammar_new(&grammar, pool, QW_SPACE_BOUNDED, NULL)) abort();
    status = qw_schema_compile(grammar, pool, (qw_text){(const char *)data, size}, &options, &start, &report, &err);
    if (status && status != QW_ERR_USAGE) abort();
    if (status ? !err.text[0] : start == QW_NODE_NONE) abort();
    if (report.n && qw_json_parse(&read, (qw_text){report.bytes, report.n}, "report", NULL)) abort();
    qw_json_free(read);
    qw_buf_free(&report);
    qw_grammar_free(grammar);
    qw_expr_pool_free(pool);
    if (qw_alloc_test_live()) abort();
    return 0;
}
