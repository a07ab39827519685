/* SPDX-License-Identifier: MIT
 * Range checks of the hyperparameters, and the rotary frequencies rounded where the reference rounds them: powers, their
 * reciprocals and YaRN's blend are float32, the correction range is double. */
#include "model/config.h"

#include "base/exact_math.h"

#include <math.h>
#include <stddef.h>

static const double two_pi = 6.283185307179586;

typedef struct range {
    const char *name;
    int32_t value, min, max;
} range;

qw_status qw_config_check(const qw_config *c, qw_error *err)
{
    const range ranges[] = {
        {"number of layers", c->n_layer, 1, QW_LAYERS_MAX},
        {"embedding length", c->dim, 1, 1 << 20},
        {"number of heads", c->n_head, 1, 4096},
        {"number of key/value heads", c->n_kv_head, 1, 4096},
        {"head size", c->head_dim, 2, QW_HEAD_DIM_MAX},
        {"feed-forward length", c->ffn_dim, 1, 1 << 22},
        {"vocabulary", c->n_vocab, 1, 1 << 26},
        {"context length", c->n_ctx_train, 1, 1 << 30},
        {"sliding window", c->sliding_window, 0, INT32_MAX},
    };

    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        if (ranges[i].value < ranges[i].min || ranges[i].value > ranges[i].max)
            return qw_fail(err, QW_ERR_MODEL, "the model's %s is %d, supported is %d to %d", ranges[i].name,
                           ranges[i].value, ranges[i].min, ranges[i].max);
    if (c->n_head % c->n_kv_head)
        return qw_fail(err, QW_ERR_MODEL, "the model's %d heads are not a multiple of its %d key/value heads",
                       c->n_head, c->n_kv_head);
    if (c->head_dim % 2) return qw_fail(err, QW_ERR_MODEL, "the model's head size %d is odd", c->head_dim);
    if (!(c->rms_eps > 0 && c->rms_eps < 1))
        return qw_fail(err, QW_ERR_MODEL, "the model's RMS norm epsilon is %g, supported is above 0 and below 1",
                       (double)c->rms_eps);
    if (!(c->rope_theta > 1 && c->rope_theta <= 1e30))
        return qw_fail(err, QW_ERR_MODEL, "the model's rope theta is %g, supported is above 1 up to 1e30",
                       c->rope_theta);
    if (!c->yarn) return QW_OK;
    if (!(c->yarn_factor > 0 && c->yarn_factor <= 1e6) || c->yarn_original_ctx < 1)
        return qw_fail(err, QW_ERR_MODEL, "YaRN's factor %g or its original context %d is out of range", c->yarn_factor,
                       c->yarn_original_ctx);
    if (!(c->yarn_beta_fast > 0 && c->yarn_beta_fast <= 1e9 && c->yarn_beta_slow > 0 && c->yarn_beta_slow <= 1e9))
        return qw_fail(err, QW_ERR_MODEL, "YaRN's beta_fast %g or beta_slow %g is out of range", c->yarn_beta_fast,
                       c->yarn_beta_slow);
    if (!(c->yarn_attention_factor >= 0 && c->yarn_attention_factor <= 1e6))
        return qw_fail(err, QW_ERR_MODEL, "YaRN's attention factor %g is out of range", c->yarn_attention_factor);
    return QW_OK;
}

/* The dimension whose wave turns `rotations` times within the original context. */
static double correction_dim(const qw_config *c, double rotations)
{
    return c->head_dim * qw_log(c->yarn_original_ctx / (rotations * two_pi)) / (2 * qw_log(c->rope_theta));
}

/* Blends the frequencies with those slowed by the factor: fast waves stay, slow ones are stretched. */
static void yarn_blend(const qw_config *c, float *inv_freq, const float *power)
{
    float factor = (float)c->yarn_factor;
    double low = correction_dim(c, c->yarn_beta_fast), high = correction_dim(c, c->yarn_beta_slow);
    double width;

    if (c->yarn_truncate) {
        low = floor(low);
        high = -floor(-high);
    }
    low = low < 0 ? 0 : low;
    high = high > c->head_dim - 1 ? c->head_dim - 1 : high;
    width = high - low;
    if (!(width < 0 || width > 0)) width = 0.001;
    for (int32_t i = 0; i < c->head_dim / 2; i++) {
        float ramp = ((float)i - (float)low) / (float)width;
        float keep, stretched = 1.0f / (factor * power[i]);
        ramp = ramp < 0 ? 0 : ramp > 1 ? 1 : ramp;
        keep = 1.0f - ramp;
        inv_freq[i] = stretched * (1.0f - keep) + inv_freq[i] * keep;
    }
}

void qw_config_inv_freq(const qw_config *c, float *inv_freq, float *scale)
{
    float power[QW_HEAD_DIM_MAX / 2];
    double base = (double)(float)c->rope_theta;

    for (int32_t i = 0; i < c->head_dim / 2; i++) {
        power[i] = (float)qw_pow(base, (double)((float)(2 * i) / (float)c->head_dim));
        inv_freq[i] = 1.0f / power[i];
    }
    *scale = 1;
    if (!c->yarn) return;
    yarn_blend(c, inv_freq, power);
    if (c->yarn_attention_factor > 0) *scale = (float)c->yarn_attention_factor;
    else if (c->yarn_factor > 1) *scale = (float)(0.1 * qw_log(c->yarn_factor) + 1.0);
}
