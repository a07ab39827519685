/* SPDX-License-Identifier: MIT
 * Tokens without a place in the mask (control tokens, ids beyond the tokenizer) are banned with the others; only the ids that
 * end an answer have a rule of their own. */
#include "generation/form.h"

/* With more tokens left than this the end is not looked for. */
enum { NEAR_THE_END = 256 };

static bool is_allowed(const uint32_t *bits, const qw_tokenizer *t, int32_t id)
{
    return id < qw_tokenizer_n_ids(t) && bits[id >> 5] >> (id & 31) & 1;
}

static bool is_banned(float score)
{
    return !(score > -1.0f / 0.0f);
}

/* Bans what the mask does not have. Returns whether any token is left. */
static bool apply_mask(const uint32_t *bits, bool may_end, const qw_settings *s, const qw_tokenizer *t, float *scores,
                       int32_t n_vocab)
{
    bool any = false;

    for (int32_t id = 0; id < n_vocab; id++) {
        if (!is_allowed(bits, t, id) && !(may_end && qw_id_list_has(&s->eos, id))) scores[id] = -1.0f / 0.0f;
        any = any || !is_banned(scores[id]);
    }
    return any;
}

/* Whether the token leaves enough of the others for the end, EOS among them. */
static bool fits(const qw_format *format, const qw_form_place *place, const qw_tokenizer *t, int32_t id)
{
    uint32_t state = qw_format_after(format, place->state, qw_tokenizer_token_bytes(t, id));

    return state != QW_STATE_DEAD && qw_format_bytes_to_end(format, state) < (uint32_t)place->left;
}

/* Bans what does not fit, unless nothing would be left. */
static void keep_what_fits(const qw_format *format, const qw_form_place *place, const qw_settings *s,
                           const qw_tokenizer *t, float *scores, int32_t n_vocab)
{
    bool any = false;

    for (int32_t id = 0; id < n_vocab && !any; id++)
        any = !is_banned(scores[id]) && (qw_id_list_has(&s->eos, id) || fits(format, place, t, id));
    for (int32_t id = 0; id < n_vocab && any; id++)
        if (!is_banned(scores[id]) && !qw_id_list_has(&s->eos, id) && !fits(format, place, t, id))
            scores[id] = -1.0f / 0.0f;
}

qw_status qw_form_apply(qw_format *format, const qw_form_place *place, const qw_settings *settings,
                        const qw_tokenizer *tokenizer, float *scores, int32_t n_vocab, qw_error *err)
{
    bool may_end = qw_format_may_end(format, place->state);
    const uint32_t *bits;

    QW_TRY(qw_format_mask(format, place->state, &bits, err));
    if (!apply_mask(bits, may_end, settings, tokenizer, scores, n_vocab))
        return qw_fail(err, QW_ERR_USAGE,
                       "step %d: response_format leaves no token that the other settings allow%s: loosen what forbids "
                       "tokens, or the form",
                       place->step,
                       may_end && !settings->eos.n ? " (the text is complete, and eos_token_id has no id to end it)"
                                                   : "");
    if (settings->finish_in_budget && place->left <= NEAR_THE_END)
        keep_what_fits(format, place, settings, tokenizer, scores, n_vocab);
    return QW_OK;
}
