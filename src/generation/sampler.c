/* SPDX-License-Identifier: MIT
 * xoshiro256**, seeded through splitmix64, and the choice of a token. Both generators are Blackman and Vigna's (public
 * domain), https://prng.di.unimi.it and "Scrambled Linear Pseudorandom Number Generators" (arXiv 1805.01407). */
#include "generation/sampler.h"

#include "kernels/softmax.h"

#include <math.h>
#include <stdbool.h>

enum { STATE_DIGITS = 64, BLOCK = 256 };

static uint64_t splitmix64(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;

    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static uint64_t rotate_left(uint64_t x, int by)
{
    return x << by | x >> (64 - by);
}

static uint64_t next(qw_rng *rng)
{
    uint64_t *s = rng->state;
    uint64_t result = rotate_left(s[1] * 5, 7) * 9;
    uint64_t t = s[1] << 17;

    s[2] ^= s[0];
    s[3] ^= s[1];
    s[1] ^= s[2];
    s[0] ^= s[3];
    s[2] ^= t;
    s[3] = rotate_left(s[3], 45);
    return result;
}

void qw_rng_seed(qw_rng *rng, uint32_t seed)
{
    uint64_t state = seed;

    for (int i = 0; i < 4; i++) rng->state[i] = splitmix64(&state);
}

double qw_rng_uniform(qw_rng *rng)
{
    return (double)(next(rng) >> 11) * 0x1p-53;
}

qw_status qw_rng_write(const qw_rng *rng, int32_t n, qw_buf *out, qw_error *err)
{
    for (int32_t i = 0; i < n; i++) {
        const uint64_t *s = rng[i].state;

        QW_TRY(qw_buf_printf(out, err, "%s%016llx%016llx%016llx%016llx", i ? "," : "", (unsigned long long)s[0],
                             (unsigned long long)s[1], (unsigned long long)s[2], (unsigned long long)s[3]));
    }
    return QW_OK;
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

/* STATE_DIGITS digits; false where they are none, or all zero (a state from which the generator never leaves). */
static bool read_state(qw_rng *rng, const char *digits)
{
    uint64_t any = 0;

    for (int i = 0; i < 4; i++) {
        uint64_t word = 0;

        for (int j = 0; j < 16; j++) {
            int digit = hex_digit(digits[i * 16 + j]);

            if (digit < 0) return false;
            word = word << 4 | (uint64_t)digit;
        }
        rng->state[i] = word;
        any |= word;
    }
    return any != 0;
}

qw_status qw_rng_read(qw_rng *rng, int32_t n, qw_text text, qw_error *err)
{
    size_t wanted = n > 0 ? (size_t)n * (STATE_DIGITS + 1) - 1 : 0;
    bool good = text.n == wanted;

    for (int32_t i = 0; good && i < n; i++) {
        const char *at = text.bytes + (size_t)i * (STATE_DIGITS + 1);

        good = (i == 0 || at[-1] == ',') && read_state(&rng[i], at);
    }
    if (good) return QW_OK;
    return qw_fail(err, QW_ERR_USAGE,
                   "rng_state \"%.*s%s\" is not the state of %d rows: pass an earlier Result's rng_state of as many "
                   "rows, or a seed",
                   (int)(text.n < 70 ? text.n : 70), text.n ? text.bytes : "", text.n > 70 ? "..." : "", (int)n);
}

static qw_status not_a_number(int32_t step, qw_error *err)
{
    return qw_fail(err, QW_ERR_MODEL, "step %d: the scores hold a NaN or +inf: the file may be damaged", (int)step);
}

static qw_status nothing_left(int32_t step, qw_error *err)
{
    return qw_fail(err, QW_ERR_USAGE, "step %d: the settings leave no token to choose: loosen what forbids tokens",
                   (int)step);
}

qw_status qw_choose_greedy(const float *scores, int32_t n_vocab, int32_t step, int32_t *id, qw_error *err)
{
    float max = qw_scores_max(scores, n_vocab);
    int32_t i = 0;

    if (qw_scores_invalid(scores, n_vocab) < n_vocab) return not_a_number(step, err);
    if (!(max > -INFINITY)) return nothing_left(step, err);
    while (i + 64 <= n_vocab && qw_scores_max(scores + i, 64) < max) i += 64;
    while (scores[i] < max) i++;
    *id = i;
    return QW_OK;
}

/* The first of a block's ids at which the running sum passes target, the last that has a weight where none does. */
static int32_t pick(const float *weights, int32_t n, double sum, double target)
{
    int32_t last = -1;

    for (int32_t i = 0; i < n; i++) {
        if (!(weights[i] > 0)) continue;
        last = i;
        sum += (double)weights[i];
        if (sum > target) break;
    }
    return last;
}

qw_status qw_choose_sample(const float *scores, int32_t n_vocab, int32_t step, qw_rng *rng, int32_t *id, qw_error *err)
{
    float weights[BLOCK], max = qw_scores_max(scores, n_vocab);
    double total = 0, sum = 0, target;

    if (qw_scores_invalid(scores, n_vocab) < n_vocab) return not_a_number(step, err);
    if (!(max > -INFINITY)) return nothing_left(step, err);
    /* Sums are taken block by block in both passes, so that they agree to the bit. */
    for (int32_t i = 0; i < n_vocab; i += BLOCK)
        total += qw_scores_sum_exp(scores + i, n_vocab - i < BLOCK ? n_vocab - i : BLOCK, max);
    target = qw_rng_uniform(rng) * total;
    for (int32_t i = 0; i < n_vocab; i += BLOCK) {
        int32_t n = n_vocab - i < BLOCK ? n_vocab - i : BLOCK;
        double block = qw_scores_sum_exp(scores + i, n, max);

        if (!(block > 0)) continue;
        qw_scores_weigh(weights, scores + i, n, max);
        *id = i + pick(weights, n, sum, target);
        sum += block;
        if (sum > target) break;
    }
    return QW_OK;
}
