/* SPDX-License-Identifier: MIT
 * The processors, one function a rule, in the order of Transformers 5.24's _get_logits_processor. A rule touches the
 * ids that it is about, not the vocabulary; remove_invalid_values and forced_eos_token_id alone must pass over it. The
 * warpers are warpers.c's. */
#include "generation/logits.h"

#include "base/alloc.h"
#include "base/exact_math.h"
#include "kernels/softmax.h"

#include <float.h>
#include <math.h>

/* A row in work. */
typedef struct row {
    const qw_settings *s;
    const qw_history *h;
    qw_logits_scratch *scratch;
    float *scores;
    int32_t n; /* of the vocabulary */
} row;

size_t qw_logits_scratch_bytes(int32_t n_vocab)
{
    size_t n = (size_t)n_vocab;

    return n * sizeof(float) + n * sizeof(int32_t) + (n + 31) / 32 * sizeof(uint32_t);
}

qw_status qw_logits_scratch_init(qw_logits_scratch *s, int32_t n_vocab, qw_error *err)
{
    size_t n = (size_t)n_vocab;

    s->n_vocab = n_vocab;
    s->values = qw_alloc_aligned(n, sizeof *s->values);
    s->order = qw_alloc_aligned(n, sizeof *s->order);
    s->seen = qw_calloc((n + 31) / 32, sizeof *s->seen);
    if (s->values && s->order && s->seen) return QW_OK;
    qw_logits_scratch_free(s);
    return qw_fail_memory(err, "scratch of logits processing", (double)qw_logits_scratch_bytes(n_vocab));
}

void qw_logits_scratch_free(qw_logits_scratch *s)
{
    qw_free(s->values);
    qw_free(s->order);
    qw_free(s->seen);
    *s = (qw_logits_scratch){0};
}

/* True at the first call for that id. */
static bool mark(const row *r, int32_t id)
{
    uint32_t *word = &r->scratch->seen[id / 32], bit = (uint32_t)1 << (id % 32);
    bool first = !(*word & bit);

    *word |= bit;
    return first;
}

static void unmark(const row *r, const int32_t *ids, int32_t n)
{
    for (int32_t i = 0; i < n; i++) r->scratch->seen[ids[i] / 32] = 0;
}

/* Finite settings may push a finite score over the edge of float32; it then stays at the edge. */
static void put(const row *r, int32_t id, float score)
{
    r->scores[id] = score > FLT_MAX ? FLT_MAX : score;
}

static int32_t n_new(const row *r)
{
    return r->h->n - r->h->n_prompt;
}

/* The history ends with ids. */
static bool ends_with(const qw_history *h, const int32_t *ids, int32_t n)
{
    if (n > h->n) return false;
    for (int32_t i = 0; i < n; i++)
        if (h->ids[h->n - n + i] != ids[i]) return false;
    return true;
}

static void sequence_bias(const row *r)
{
    const qw_settings *s = r->s;
    float *sum = r->scratch->values;

    /* As in the reference, biases of one token are summed first (single ids, then longer sequences) and added once. */
    for (int pass = 0; pass < 3; pass++) {
        for (int32_t i = 0; i < s->n_sequence_bias; i++) {
            const qw_id_list *ids = &s->sequence_bias[i].ids;
            int32_t last = ids->v[ids->n - 1];

            if (!ends_with(r->h, ids->v, ids->n - 1)) continue;
            if (pass == 0) sum[last] = 0;
            else if ((ids->n > 1) == (pass == 2)) sum[last] += s->sequence_bias[i].bias;
        }
    }
    for (int32_t i = 0; i < s->n_sequence_bias; i++) {
        const qw_id_list *ids = &s->sequence_bias[i].ids;
        int32_t last = ids->v[ids->n - 1];

        if (ends_with(r->h, ids->v, ids->n - 1) && mark(r, last)) put(r, last, r->scores[last] + sum[last]);
    }
    for (int32_t i = 0; i < s->n_sequence_bias; i++)
        unmark(r, &s->sequence_bias[i].ids.v[s->sequence_bias[i].ids.n - 1], 1);
}

static void logit_bias(const row *r)
{
    for (int32_t i = 0; i < r->s->n_logit_bias; i++) {
        int32_t id = r->s->logit_bias[i].ids.v[0];

        put(r, id, r->scores[id] + r->s->logit_bias[i].bias);
    }
}

static void repetition_penalty(const row *r)
{
    float penalty = (float)r->s->repetition_penalty;

    for (int32_t i = r->h->n_masked; i < r->h->n; i++) {
        int32_t id = r->h->ids[i];
        float score = r->scores[id];

        if (mark(r, id)) put(r, id, score < 0 ? score * penalty : score / penalty);
    }
    unmark(r, r->h->ids, r->h->n);
}

/* OpenAI's: score - count * frequency_penalty - (count > 0) * presence_penalty, counted over new tokens only.
 * Source: https://platform.openai.com/docs/advanced-usage (frequency and presence penalties). */
static void count_penalties(const row *r)
{
    const int32_t *ids = r->h->ids + r->h->n_prompt;
    float *count = r->scratch->values;
    float presence = (float)r->s->presence_penalty, frequency = (float)r->s->frequency_penalty;

    for (int32_t i = 0; i < n_new(r); i++) count[ids[i]] = 0;
    for (int32_t i = 0; i < n_new(r); i++) count[ids[i]] += 1;
    for (int32_t i = 0; i < n_new(r); i++)
        if (mark(r, ids[i])) put(r, ids[i], r->scores[ids[i]] - count[ids[i]] * frequency - presence);
    unmark(r, ids, n_new(r));
}

/* Bars every token that would complete an n-gram which the history already holds. */
static void no_repeat_ngram(const row *r)
{
    const int32_t *ids = r->h->ids;
    int32_t n = r->h->n, before = r->s->no_repeat_ngram_size - 1;
    const int32_t *tail = ids + n - before;

    for (int32_t at = 0; at < n - before; at++) {
        int32_t i = 0;

        while (i < before && ids[at + i] == tail[i]) i++;
        if (i == before) r->scores[ids[at + before]] = -INFINITY;
    }
}

static void bad_words(const row *r)
{
    for (int32_t i = 0; i < r->s->n_bad_words; i++) {
        const qw_id_list *word = &r->s->bad_words[i];
        int32_t last = word->v[word->n - 1];

        if (word->n == 1 && qw_id_list_has(&r->s->eos, last)) continue;
        /* Added, not set: a NaN stays one, and remove_invalid_values makes it 0. */
        if (ends_with(r->h, word->v, word->n - 1)) r->scores[last] += -INFINITY;
    }
}

static void bar(const row *r, const qw_id_list *ids)
{
    for (int32_t i = 0; i < ids->n; i++) r->scores[ids->v[i]] = -INFINITY;
}

/* min_new_tokens, where it is set at all, replaces min_length. */
static bool is_short(const row *r)
{
    if (r->s->min_new_tokens >= 0) return n_new(r) < r->s->min_new_tokens;
    return r->h->n_pad + r->h->n < r->s->min_length;
}

static bool is_last(const row *r)
{
    if (r->h->at_end) return true;
    if (r->s->max_new_tokens >= 0) return n_new(r) == r->s->max_new_tokens - 1;
    return r->s->max_length >= 0 && r->h->n_pad + r->h->n == r->s->max_length - 1;
}

static void force_eos(const row *r)
{
    for (int32_t i = 0; i < r->n; i++) r->scores[i] = -INFINITY;
    for (int32_t i = 0; i < r->s->forced_eos.n; i++) r->scores[r->s->forced_eos.v[i]] = 0;
}

static void remove_invalid(const row *r)
{
    for (int32_t i = 0; i < r->n; i++) {
        float score = r->scores[i];
        float low = score < -FLT_MAX ? -FLT_MAX : score, clipped = low > FLT_MAX ? FLT_MAX : low;

        r->scores[i] = score <= INFINITY ? clipped : 0.0f;
    }
}

static void length_decay(const row *r)
{
    int32_t past = n_new(r) - r->s->decay_start;
    double factor;
    float gain;

    if (past <= 0) return;
    factor = qw_pow(r->s->decay_factor, past) - 1;
    gain = factor > (double)FLT_MAX ? FLT_MAX : (float)factor;
    for (int32_t i = 0; i < r->s->eos.n; i++) {
        int32_t id = r->s->eos.v[i];
        float score = r->scores[id];

        if (mark(r, id) && score >= -FLT_MAX) put(r, id, score + fabsf(score) * gain);
    }
    unmark(r, r->s->eos.v, r->s->eos.n);
}

/* Ids that no tokenizer can decode. */
static void bar_beyond(const row *r)
{
    for (int32_t i = r->s->n_ids; i < r->n; i++) r->scores[i] = -INFINITY;
}

qw_status qw_logits_process(const qw_settings *s, const qw_history *h, qw_logits_scratch *scratch, float *scores,
                            qw_error *err)
{
    const row r = {s, h, scratch, scores, scratch->n_vocab};
    int32_t invalid = s->remove_invalid_values ? r.n : qw_scores_invalid(scores, r.n);

    if (invalid < r.n)
        return qw_fail(
            err, QW_ERR_MODEL,
            "step %d: the model's score of token %d is %s: the file may be damaged; remove_invalid_values goes on",
            (int)n_new(&r), (int)invalid, scores[invalid] > 0 ? "+inf" : "NaN");
    if (s->n_sequence_bias > 0) sequence_bias(&r);
    if (s->n_logit_bias > 0) logit_bias(&r);
    if (s->repetition_penalty < 1 || s->repetition_penalty > 1) repetition_penalty(&r);
    if (fabs(s->presence_penalty) + fabs(s->frequency_penalty) > 0) count_penalties(&r);
    if (s->no_repeat_ngram_size > 0 && s->no_repeat_ngram_size <= h->n) no_repeat_ngram(&r);
    if (s->n_bad_words > 0) bad_words(&r);
    if (is_short(&r)) bar(&r, &s->eos);
    if (s->forced_eos.n > 0 && is_last(&r)) force_eos(&r);
    if (s->remove_invalid_values) remove_invalid(&r);
    if (s->has_decay) length_decay(&r);
    bar(&r, &s->suppress);
    if (n_new(&r) == 0) bar(&r, &s->begin_suppress);
    bar_beyond(&r);
    return QW_OK;
}

qw_status qw_logits_check_custom(const qw_settings *s, const qw_history *h, float *scores, int32_t n_vocab,
                                 qw_error *err)
{
    int32_t invalid = qw_scores_invalid(scores, n_vocab);

    if (invalid < n_vocab)
        return qw_fail(err, QW_ERR_USAGE, "step %d: the logits_processor left %s as the score of token %d",
                       (int)(h->n - h->n_prompt), scores[invalid] > 0 ? "+Infinity" : "NaN", (int)invalid);
    for (int32_t i = s->n_ids; i < n_vocab; i++) scores[i] = -INFINITY;
    return QW_OK;
}
