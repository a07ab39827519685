/* SPDX-License-Identifier: MIT
 * Choice of a token: greedy, or categorical with a documented, seeded generator whose state can be taken out and put
 * back. */
#ifndef QW_SAMPLER_H
#define QW_SAMPLER_H

#include "base/buf.h"

#include <stdint.h>

typedef struct qw_rng {
    uint64_t state[4];
} qw_rng;

/* The generator of a 32-bit seed. The same seed gives the same numbers on every build. */
void qw_rng_seed(qw_rng *rng, uint32_t seed);
/* Uniform in [0, 1), a multiple of 2^-53. */
double qw_rng_uniform(qw_rng *rng);
/* The state as text (hexadecimal), and back. n generators, separated by commas. Errors: usage, naming the text. */
qw_status qw_rng_write(const qw_rng *rng, int32_t n, qw_buf *out, qw_error *err);
qw_status qw_rng_read(qw_rng *rng, int32_t n, qw_text text, qw_error *err);

/* The id of the highest score, the lowest id among equals. NaN is a model error that names the step; all -inf a usage
 * error. */
qw_status qw_choose_greedy(const float *scores, int32_t n_vocab, int32_t step, int32_t *id, qw_error *err);

/* Draws from softmax(scores): the first id (ascending) at which the running sum of probabilities passes uniform *
 * total; never an id of probability 0 (the last possible one is the fallback). One number is taken from rng. Same
 * errors. */
qw_status qw_choose_sample(const float *scores, int32_t n_vocab, int32_t step, qw_rng *rng, int32_t *id, qw_error *err);

#endif
