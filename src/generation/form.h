/* SPDX-License-Identifier: MIT
 * The form of an answer (format/format.h) as a rule over scores: after the processors, so that what is forced stays allowed,
 * and before the warpers, which share out what is left. */
#ifndef QW_FORM_H
#define QW_FORM_H

#include "format/format.h"
#include "generation/settings.h"

/* A row that is to choose its next token. */
typedef struct qw_form_place {
    uint32_t state;
    int32_t step; /* new tokens so far, for errors */
    int32_t left; /* tokens that may still come, this one counted */
} qw_form_place;

/* Bans (-inf) every token after which the text cannot be completed, and the EOS ids where it may not end. With
 * finish_in_budget also those behind which the tokens that are left do not end the text (format/ends.h), unless none
 * stayed. scores [n_vocab]. Errors: usage where nothing is left (names step and rule), those of qw_format_mask. */
qw_status qw_form_apply(qw_format *format, const qw_form_place *place, const qw_settings *settings,
                        const qw_tokenizer *tokenizer, float *scores, int32_t n_vocab, qw_error *err);

#endif
