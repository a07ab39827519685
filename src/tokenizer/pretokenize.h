/* SPDX-License-Identifier: MIT
 * Qwen2's split rule: a text is cut into pieces, each of which byte-level BPE merges on its own. */
#ifndef QW_PRETOKENIZE_H
#define QW_PRETOKENIZE_H

#include "base/buf.h"

/* The rule as tokenizer.json spells it; the first alternative that matches at a place takes the piece. */
#define QW_PRETOKENIZE_PATTERN                                                                                         \
    "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|"                \
    "\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"

/* The end of the piece that starts at byte at < text.n, the start of a character; above at. All pieces of a text together
 * cost O(text.n). Ill-formed parts count as one character that is neither letter, number nor space. */
size_t qw_pretokenize_next(qw_text text, size_t at);

#endif
