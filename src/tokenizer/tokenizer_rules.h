/* SPDX-License-Identifier: MIT
 * The short parts of a tokenizer.json, which say how text is treated. Qwen2's way is built in, so they are only checked:
 * what asks for another is a model error that names the part and what it holds. */
#ifndef QW_TOKENIZER_RULES_H
#define QW_TOKENIZER_RULES_H

#include "base/buf.h"

#include <stdbool.h>

/* The JSON texts of the members with these names, without blanks around; n = 0 where one is absent. */
typedef struct qw_tokenizer_rules {
    qw_text normalizer, pre_tokenizer, post_processor, decoder;
} qw_tokenizer_rules;

/* Where the member of that name is kept, or NULL. */
qw_text *qw_tokenizer_rules_member(qw_tokenizer_rules *rules, qw_text name);

/* *nfc: whether text is put into NFC (else it is left as it is). */
qw_status qw_tokenizer_rules_check(const qw_tokenizer_rules *rules, bool *nfc, qw_error *err);

/* The same for one member of "model" other than vocab and merges. */
qw_status qw_tokenizer_rules_check_model(qw_text name, qw_text value, qw_error *err);

#endif
