/* SPDX-License-Identifier: MIT
 * config.json to hyperparameters. Defaults are Qwen2Config's; what would change the numbers and is not supported is
 * refused by name. */
#include "files/hf.h"

#include "base/exact_math.h"
#include "base/quote_text.h"

#include <string.h>

static qw_json_in in_config(const qw_json *object, const char *what, qw_error *err)
{
    return (qw_json_in){object, what, QW_ERR_MODEL, err};
}

/* An integer from min on; *value stays where it is absent. */
static qw_status get_int32(const qw_json_in *in, const char *key, int32_t min, int32_t *value)
{
    int64_t v = *value;

    QW_TRY(qw_json_get_int(in, key, min, INT32_MAX, &v));
    *value = (int32_t)v;
    return QW_OK;
}

static qw_status require_int32(const qw_json_in *in, const char *key, int32_t *value)
{
    if (!qw_json_get(in->object, key))
        return qw_fail(in->err, QW_ERR_MODEL, "%s has no %s, a Qwen2 needs it", in->what, key);
    return get_int32(in, key, 1, value);
}

static bool same(double a, double b)
{
    return a >= b && a <= b;
}

static bool array_has(const qw_json *array, const char *word)
{
    for (const qw_json *item = qw_json_first(array); item; item = qw_json_next(item))
        if (strcmp(qw_json_string(item), word) == 0) return true;
    return false;
}

static qw_status check_kind(const qw_json_in *in)
{
    const qw_json *architectures = qw_json_get(in->object, "architectures");
    const qw_json *quantization = qw_json_get(in->object, "quantization_config");
    const char *type = NULL, *act = "silu";
    double partial = 1;
    bool mrope = false;
    char shown[64];

    QW_TRY(qw_json_get_string(in, "model_type", &type));
    if (type && strcmp(type, "qwen2") != 0)
        return qw_fail(in->err, QW_ERR_MODEL, "config.json: model_type is \"%s\", qwen2 is read",
                       qw_quote_text(shown, qw_text_of(type)));
    if (architectures && !array_has(architectures, "Qwen2ForCausalLM"))
        return qw_fail(in->err, QW_ERR_MODEL, "config.json: architectures has \"%s\", Qwen2ForCausalLM is read",
                       qw_quote_text(shown, qw_text_of(qw_json_string(qw_json_first(architectures)))));
    if (!type && !architectures)
        return qw_fail(in->err, QW_ERR_MODEL, "config.json has neither model_type nor architectures: is it a Qwen2's?");
    QW_TRY(qw_json_get_string(in, "hidden_act", &act));
    if (strcmp(act, "silu") != 0)
        return qw_fail(in->err, QW_ERR_MODEL, "config.json: hidden_act is \"%s\", only silu is supported",
                       qw_quote_text(shown, qw_text_of(act)));
    if (quantization)
        return qw_fail(in->err, QW_ERR_MODEL,
                       "config.json: quantization_config (%s) is not supported: use the original "
                       "F32, F16 or BF16 checkpoint, or a GGUF file",
                       qw_quote_text(shown, qw_text_of(qw_json_string(qw_json_get(quantization, "quant_method")))));
    QW_TRY(qw_json_get_double(in, "partial_rotary_factor", 0, 1, &partial));
    QW_TRY(qw_json_get_bool(in, "use_mrope", &mrope));
    if (partial < 1 || mrope)
        return qw_fail(in->err, QW_ERR_MODEL, "config.json: %s is not supported",
                       mrope ? "use_mrope" : "partial_rotary_factor below 1");
    return QW_OK;
}

static qw_status read_sizes(qw_model *m, const qw_json_in *in)
{
    qw_config *c = &m->config;
    double eps = 1e-6;

    QW_TRY(require_int32(in, "num_hidden_layers", &c->n_layer));
    QW_TRY(require_int32(in, "hidden_size", &c->dim));
    QW_TRY(require_int32(in, "intermediate_size", &c->ffn_dim));
    QW_TRY(require_int32(in, "num_attention_heads", &c->n_head));
    if (c->n_layer > QW_LAYERS_MAX)
        return qw_fail(in->err, QW_ERR_MODEL, "config.json: num_hidden_layers is %d, at most %d are supported",
                       c->n_layer, QW_LAYERS_MAX);
    c->n_kv_head = c->n_head;
    QW_TRY(get_int32(in, "num_key_value_heads", 1, &c->n_kv_head));
    if (!qw_json_get(in->object, "head_dim") && c->dim % c->n_head)
        return qw_fail(in->err, QW_ERR_MODEL,
                       "config.json: hidden_size %d is not a multiple of num_attention_heads %d, and "
                       "there is no head_dim",
                       c->dim, c->n_head);
    c->head_dim = c->dim / c->n_head;
    QW_TRY(get_int32(in, "head_dim", 1, &c->head_dim));
    c->n_ctx_train = 32768;
    if (!qw_json_get(in->object, "max_position_embeddings"))
        QW_TRY(qw_buf_printf(&m->notes, in->err, "config.json has no max_position_embeddings: 32768 is used\n"));
    QW_TRY(get_int32(in, "max_position_embeddings", 1, &c->n_ctx_train));
    QW_TRY(qw_json_get_double(in, "rms_norm_eps", 0, 1, &eps));
    c->rms_eps = (float)eps;
    return qw_json_get_bool(in, "tie_word_embeddings", &c->tied);
}

/* The object that describes RoPE: rope_parameters (Transformers 5) or rope_scaling (the Hub's); NULL: neither. Where a file has
 * both they must agree, as must the types that an object spells twice. */
static qw_status find_rope(const qw_json_in *in, const qw_json **rope)
{
    static const char *const numbers[] = {"rope_theta",       "factor",    "original_max_position_embeddings",
                                          "attention_factor", "beta_fast", "beta_slow"};
    const qw_json *a = qw_json_get(in->object, "rope_parameters"), *b = qw_json_get(in->object, "rope_scaling");

    *rope = qw_json_size(a) ? a : qw_json_size(b) ? b : NULL;
    if ((a && qw_json_kind_of(a) != QW_JSON_OBJECT) || (b && qw_json_kind_of(b) != QW_JSON_OBJECT))
        return qw_fail(in->err, QW_ERR_MODEL, "config.json: rope_parameters and rope_scaling must be objects");
    if (!qw_json_size(a) || !qw_json_size(b)) return QW_OK;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        const qw_json *x = qw_json_get(a, numbers[i]), *y = qw_json_get(b, numbers[i]);
        if ((x || y) && !same(qw_json_number(x), qw_json_number(y)) && !(i == 0 && !y))
            return qw_fail(in->err, QW_ERR_MODEL,
                           "config.json: rope_parameters and rope_scaling differ in %s (%g and %g): "
                           "remove the wrong one",
                           numbers[i], qw_json_number(x), qw_json_number(y));
    }
    return QW_OK;
}

/* "default", or the name of the kind of RoPE; rope_type and its older name type. */
static qw_status rope_type(const qw_json_in *in, const char **type)
{
    const char *older = NULL;
    char a[64], b[64];

    *type = NULL;
    QW_TRY(qw_json_get_string(in, "rope_type", type));
    QW_TRY(qw_json_get_string(in, "type", &older));
    if (*type && older && strcmp(*type, older) != 0)
        return qw_fail(in->err, QW_ERR_MODEL, "%s: rope_type \"%s\" and type \"%s\" differ: remove the wrong one",
                       in->what, qw_quote_text(a, qw_text_of(*type)), qw_quote_text(b, qw_text_of(older)));
    if (!*type) *type = older ? older : "default";
    return QW_OK;
}

static double mscale_of(double factor, double mscale)
{
    return factor <= 1 ? 1 : 0.1 * mscale * qw_log(factor) + 1;
}

static qw_status read_yarn(qw_config *c, const qw_json_in *in, const qw_json *config)
{
    qw_json_in top = in_config(config, "config.json", in->err);
    double mscale = 0, mscale_all = 0, attention = -1;

    c->yarn = c->yarn_truncate = true;
    c->yarn_original_ctx = c->n_ctx_train;
    QW_TRY(get_int32(in, "original_max_position_embeddings", 1, &c->yarn_original_ctx));
    QW_TRY(get_int32(&top, "original_max_position_embeddings", 1, &c->yarn_original_ctx));
    c->yarn_factor = (double)c->n_ctx_train / c->yarn_original_ctx;
    QW_TRY(qw_json_get_double(in, "factor", 1e-6, 1e6, &c->yarn_factor));
    QW_TRY(qw_json_get_double(in, "beta_fast", 0, 1e9, &c->yarn_beta_fast));
    QW_TRY(qw_json_get_double(in, "beta_slow", 0, 1e9, &c->yarn_beta_slow));
    if (!(c->yarn_beta_fast > 0)) c->yarn_beta_fast = 32; /* 0 counts as absent */
    if (!(c->yarn_beta_slow > 0)) c->yarn_beta_slow = 1;
    QW_TRY(qw_json_get_bool(in, "truncate", &c->yarn_truncate));
    QW_TRY(qw_json_get_double(in, "attention_factor", 1e-6, 1e6, &attention));
    QW_TRY(qw_json_get_double(in, "mscale", 0, 1e6, &mscale));
    QW_TRY(qw_json_get_double(in, "mscale_all_dim", 0, 1e6, &mscale_all));
    if (attention > 0) c->yarn_attention_factor = attention;
    else if (mscale > 0 && mscale_all > 0)
        c->yarn_attention_factor = mscale_of(c->yarn_factor, mscale) / mscale_of(c->yarn_factor, mscale_all);
    return QW_OK;
}

static qw_status read_rope(qw_model *m, const qw_json_in *top)
{
    qw_config *c = &m->config;
    const qw_json *rope;
    qw_json_in in;
    const char *type = "default";
    double theta = 0, inner = 0, partial = 1;
    char shown[64];

    QW_TRY(find_rope(top, &rope));
    in = in_config(rope, "config.json's RoPE", top->err);
    QW_TRY(qw_json_get_double(top, "rope_theta", 1e-3, 1e30, &theta));
    QW_TRY(qw_json_get_double(&in, "rope_theta", 1e-3, 1e30, &inner));
    if (theta > 0 && inner > 0 && !same(theta, inner))
        return qw_fail(top->err, QW_ERR_MODEL,
                       "config.json: rope_theta is %.9g, and %.9g within rope_parameters: remove the "
                       "wrong one",
                       theta, inner);
    if (!(theta > 0) && !(inner > 0))
        QW_TRY(
            qw_buf_printf(&m->notes, top->err, "config.json has no rope_theta: Transformers' default 10000 is used\n"));
    c->rope_theta = inner > 0 ? inner : theta > 0 ? theta : 10000;
    if (!rope) return QW_OK;
    if (qw_json_get(rope, "full_attention") || qw_json_get(rope, "sliding_attention"))
        return qw_fail(top->err, QW_ERR_MODEL, "config.json: rope_parameters by kind of layer is not supported");
    QW_TRY(qw_json_get_double(&in, "partial_rotary_factor", 0, 1, &partial));
    QW_TRY(rope_type(&in, &type));
    if (partial < 1)
        return qw_fail(top->err, QW_ERR_MODEL, "config.json: partial_rotary_factor below 1 is not supported");
    if (strcmp(type, "yarn") == 0) return read_yarn(c, &in, top->object);
    if (strcmp(type, "default") != 0)
        return qw_fail(top->err, QW_ERR_MODEL,
                       "config.json: RoPE of type \"%s\" is not supported, only default and yarn are",
                       qw_quote_text(shown, qw_text_of(type)));
    return QW_OK;
}

static qw_status read_layer_types(qw_config *c, const qw_json *types, bool *any, qw_error *err)
{
    const qw_json *item = qw_json_first(types);
    char shown[64];

    if (qw_json_size(types) != c->n_layer)
        return qw_fail(err, QW_ERR_MODEL, "config.json: layer_types has %d items, num_hidden_layers is %d",
                       qw_json_size(types), c->n_layer);
    for (int32_t l = 0; l < c->n_layer; l++, item = qw_json_next(item)) {
        const char *type = qw_json_string(item);
        c->sliding[l] = strcmp(type, "sliding_attention") == 0;
        *any |= c->sliding[l];
        if (!c->sliding[l] && strcmp(type, "full_attention") != 0)
            return qw_fail(err, QW_ERR_MODEL,
                           "config.json: layer_types has \"%s\", supported are full_attention and "
                           "sliding_attention",
                           qw_quote_text(shown, qw_text_of(type)));
    }
    return QW_OK;
}

/* layer_types where it is there, else layers from max_window_layers on; nothing slides without use_sliding_window. */
static qw_status read_windows(qw_config *c, const qw_json_in *in)
{
    const qw_json *types = qw_json_get(in->object, "layer_types");
    const qw_json *window = qw_json_get(in->object, "sliding_window");
    bool use = false, any = false, null_window = false;
    int32_t first = 28;

    for (const qw_json *item = qw_json_first(in->object); item; item = qw_json_next(item))
        null_window |= strcmp(qw_json_key(item), "sliding_window") == 0 && !window;
    QW_TRY(qw_json_get_bool(in, "use_sliding_window", &use));
    QW_TRY(get_int32(in, "max_window_layers", 0, &first));
    c->sliding_window = null_window ? 0 : 4096;
    QW_TRY(get_int32(in, "sliding_window", 1, &c->sliding_window));
    if (!use) c->sliding_window = 0;
    if (types) QW_TRY(read_layer_types(c, types, &any, in->err));
    for (int32_t l = first; !types && c->sliding_window && l < c->n_layer; l++) any = c->sliding[l] = true;
    if (any && !c->sliding_window)
        return qw_fail(in->err, QW_ERR_MODEL,
                       "config.json: layer_types has sliding_attention, but use_sliding_window is false "
                       "or sliding_window is null");
    if (!any) c->sliding_window = 0;
    return QW_OK;
}

qw_status qw_hf_read_config(qw_model *m, const qw_json *config, qw_error *err)
{
    qw_json_in in = in_config(config, "config.json", err);

    if (qw_json_kind_of(config) != QW_JSON_OBJECT)
        return qw_fail(err, QW_ERR_FORMAT, "config.json must be an object, got %s",
                       qw_json_kind_name(qw_json_kind_of(config)));
    QW_TRY(check_kind(&in));
    QW_TRY(read_sizes(m, &in));
    QW_TRY(read_rope(m, &in));
    return read_windows(&m->config, &in);
}
