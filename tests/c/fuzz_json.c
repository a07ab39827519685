/* SPDX-License-Identifier: MIT
 * Any bytes as JSON: what the scanner lets through, cJSON must take too, and strings must come back from the writer. */
#include "base/alloc.h"
#include "base/json.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Writes each string of the tree and reads it back. */
static void check_strings(const qw_json *node)
{
    if (qw_json_kind_of(node) == QW_JSON_STRING) {
        const char *text = qw_json_string(node);
        qw_buf out = {0};
        qw_json *back;
        if (qw_json_write_string(&out, qw_text_of(text), NULL)) abort();
        if (qw_json_parse(&back, (qw_text){out.bytes, out.n}, "written", NULL)) abort();
        if (strcmp(qw_json_string(back), text) != 0) abort();
        qw_json_free(back);
        qw_buf_free(&out);
    }
    for (const qw_json *child = qw_json_first(node); child; child = qw_json_next(child)) check_strings(child);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    qw_error err = {0};
    qw_json *root;
    qw_status status = qw_json_parse(&root, (qw_text){(const char *)data, size}, "fuzz.json", &err);

    if (status && status != QW_ERR_FORMAT) abort();
    if (!status) check_strings(root);
    qw_json_free(root);
    if (qw_alloc_test_live()) abort();
    return 0;
}
