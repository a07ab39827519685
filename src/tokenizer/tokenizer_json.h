/* SPDX-License-Identifier: MIT
 * A tokenizer from the text of a tokenizer.json. */
#ifndef QW_TOKENIZER_JSON_H
#define QW_TOKENIZER_JSON_H

#include "tokenizer/tokenizer.h"

/* Merges are strings or pairs; what asks for another treatment of text than Qwen2's is refused. *out is the caller's,
 * qw_tokenizer_free. Errors: format (as qw_tokenizer_from_vocab, and what is not JSON), model (another treatment), memory. */
qw_status qw_tokenizer_from_json(qw_tokenizer **out, qw_text json, qw_error *err);

#endif
