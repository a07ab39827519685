/* SPDX-License-Identifier: MIT
 * Tokens without a place in the mask (control tokens, ids beyond the tokenizer) are banned with the others; only the ids that
 * end an answer have a rule of their own. */
#include "generation/form.h"

static bool is_allowed(const uint32_t *bits, const qw_tokenizer *t, int32_t id)
{
    return id < qw_tokenizer_n_ids(t) && bits[id >> 5] >> (id & 31) & 1;
}

static bool is_banned(float score)
{
    return !(score > -1.0f / 0.0f);
}

/* What a mask allows, and the ids that end an answer where it may end. */
typedef struct rule {
    const uint32_t *bits;
    const qw_tokenizer *tokenizer;
    const qw_id_list *eos; /* NULL: it may not end */
} rule;

static bool allows(const rule *r, int32_t id)
{
    return is_allowed(r->bits, r->tokenizer, id) || (r->eos && qw_id_list_has(r->eos, id));
}

/* Whether a token that is not banned yet would stay. */
static bool leaves_any(const rule *r, const float *scores, int32_t n_vocab)
{
    for (int32_t id = 0; id < n_vocab; id++)
        if (!is_banned(scores[id]) && allows(r, id)) return true;
    return false;
}

static void ban_others(const rule *r, float *scores, int32_t n_vocab)
{
    for (int32_t id = 0; id < n_vocab; id++)
        if (!allows(r, id)) scores[id] = -1.0f / 0.0f;
}

qw_status qw_form_apply(qw_format *format, const qw_form_place *place, const qw_settings *settings,
                        const qw_tokenizer *tokenizer, float *scores, int32_t n_vocab, qw_error *err)
{
    bool may_end = qw_format_may_end(format, place->state);
    rule all = {.tokenizer = tokenizer, .eos = may_end ? &settings->eos : NULL}, within = all;

    QW_TRY(qw_format_mask(format, place->state, &all.bits, err));
    if (!leaves_any(&all, scores, n_vocab))
        return qw_fail(err, QW_ERR_USAGE,
                       "step %d: response_format leaves no token that the other settings allow%s: loosen what forbids "
                       "tokens, or the form",
                       place->step,
                       may_end && !settings->eos.n ? " (the text is complete, and eos_token_id has no id to end it)"
                                                   : "");
    if (settings->finish_in_budget)
        QW_TRY(qw_format_mask_within(format, place->state, (uint32_t)(place->left - 1), &within.bits, err));
    ban_others(within.bits && leaves_any(&within, scores, n_vocab) ? &within : &all, scores, n_vocab);
    return QW_OK;
}
