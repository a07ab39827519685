/* SPDX-License-Identifier: MIT
 * The tables behind settings_table.h. A value is read into a temporary first, so that a key of a model's file that cannot be
 * used leaves the settings as they were. */
#include "generation/settings_table.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>

typedef enum kind { INTEGER, UNSIGNED, REAL, BOOLEAN, TEXT, ID, IDS, ID_ARRAY, WORDS, BIASES, LOGIT_BIAS, DECAY } kind;

typedef struct entry {
    const char *name;
    kind kind;
    size_t at;
    double min, max;
    const char *wanted;
} entry;

#define AT(field) offsetof(qw_settings, field)
#define INT_MAX_D 2147483647.0
/* Not 0: the value as float32 must not vanish, it is divided by. */
#define ABOVE_ZERO 1e-30
#define HUGE_REAL 1e30

static const char IDS_WANTED[] = "an array of token ids";
static const char BOOL_WANTED[] = "true or false";
static const char UNIT_OFF_AT_1[] = "a number > 0 and <= 1 (1: off)";
static const char CUTOFF_WANTED[] = "a number from 0 to 1 (0: off)";
static const char PENALTY_WANTED[] = "a number from -2 to 2 (0: off)";

static const entry keys[QW_KEY_COUNT] = {
    [QW_KEY_MAX_NEW_TOKENS] = {"max_new_tokens", INTEGER, AT(max_new_tokens), 0, INT_MAX_D,
                               "an integer >= 0 (leave it out to go on to the end of the context)"},
    [QW_KEY_MAX_LENGTH] = {"max_length", INTEGER, AT(max_length), 0, INT_MAX_D,
                           "an integer >= 0 (leave it out to go on to the end of the context)"},
    [QW_KEY_MIN_LENGTH] = {"min_length", INTEGER, AT(min_length), 0, INT_MAX_D, "an integer >= 0 (0: off)"},
    [QW_KEY_MIN_NEW_TOKENS] = {"min_new_tokens", INTEGER, AT(min_new_tokens), 0, INT_MAX_D, "an integer >= 0 (0: off)"},
    [QW_KEY_MAX_TIME] = {"max_time", REAL, AT(max_time), 0, HUGE_REAL, "seconds >= 0 (leave it out for no limit)"},
    [QW_KEY_DO_SAMPLE] = {"do_sample", BOOLEAN, AT(do_sample), 0, 0, BOOL_WANTED},
    [QW_KEY_TEMPERATURE] = {"temperature", REAL, AT(temperature), 0, HUGE_REAL, "a number >= 0 (0: greedy, 1: off)"},
    [QW_KEY_TOP_K] = {"top_k", INTEGER, AT(top_k), 0, INT_MAX_D, "an integer >= 0 (0: off)"},
    [QW_KEY_TOP_P] = {"top_p", REAL, AT(top_p), 0, 1, "a number from 0 to 1 (1: off)"},
    [QW_KEY_MIN_P] = {"min_p", REAL, AT(min_p), 0, 1, CUTOFF_WANTED},
    [QW_KEY_TYPICAL_P] = {"typical_p", REAL, AT(typical_p), ABOVE_ZERO, 1, UNIT_OFF_AT_1},
    [QW_KEY_EPSILON_CUTOFF] = {"epsilon_cutoff", REAL, AT(epsilon_cutoff), 0, 1, CUTOFF_WANTED},
    [QW_KEY_ETA_CUTOFF] = {"eta_cutoff", REAL, AT(eta_cutoff), 0, 1, CUTOFF_WANTED},
    [QW_KEY_REMOVE_INVALID_VALUES] = {"remove_invalid_values", BOOLEAN, AT(remove_invalid_values), 0, 0, BOOL_WANTED},
    [QW_KEY_RENORMALIZE_LOGITS] = {"renormalize_logits", BOOLEAN, AT(renormalize_logits), 0, 0, BOOL_WANTED},
    [QW_KEY_REPETITION_PENALTY] = {"repetition_penalty", REAL, AT(repetition_penalty), ABOVE_ZERO, HUGE_REAL,
                                   "a number > 0 (1: off)"},
    [QW_KEY_PRESENCE_PENALTY] = {"presence_penalty", REAL, AT(presence_penalty), -2, 2, PENALTY_WANTED},
    [QW_KEY_FREQUENCY_PENALTY] = {"frequency_penalty", REAL, AT(frequency_penalty), -2, 2, PENALTY_WANTED},
    [QW_KEY_NO_REPEAT_NGRAM_SIZE] = {"no_repeat_ngram_size", INTEGER, AT(no_repeat_ngram_size), 0, INT_MAX_D,
                                     "an integer >= 0 (0: off)"},
    [QW_KEY_BAD_WORDS_IDS] = {"bad_words_ids", WORDS, 0, 0, 0, "an array of non-empty arrays of token ids"},
    [QW_KEY_SEQUENCE_BIAS] = {"sequence_bias", BIASES, 0, 0, 0, "an array of [[token ids], bias]"},
    [QW_KEY_LOGIT_BIAS] = {"logit_bias", LOGIT_BIAS, 0, 0, 0, "an object of biases by token id"},
    [QW_KEY_SUPPRESS_TOKENS] = {"suppress_tokens", ID_ARRAY, AT(suppress), 0, 0, IDS_WANTED},
    [QW_KEY_BEGIN_SUPPRESS_TOKENS] = {"begin_suppress_tokens", ID_ARRAY, AT(begin_suppress), 0, 0, IDS_WANTED},
    [QW_KEY_FORCED_EOS_TOKEN_ID] = {"forced_eos_token_id", IDS, AT(forced_eos), 0, 0, "a token id or an array of them"},
    [QW_KEY_DECAY] = {"exponential_decay_length_penalty", DECAY, 0, 0, 0,
                      "[start, factor] with an integer start >= 0 and a factor > 0"},
    [QW_KEY_EOS_TOKEN_ID] = {"eos_token_id", IDS, AT(eos), 0, 0, "a token id or an array of them ([]: none)"},
    [QW_KEY_PAD_TOKEN_ID] = {"pad_token_id", ID, AT(pad), 0, 0, "a token id"},
    [QW_KEY_NUM_RETURN_SEQUENCES] = {"num_return_sequences", INTEGER, AT(num_return_sequences), 1, INT_MAX_D,
                                     "an integer >= 1"},
    [QW_KEY_SEED] = {"seed", UNSIGNED, AT(seed), 0, 4294967295.0, "an integer from 0 to 4294967295"},
    [QW_KEY_RNG_STATE] = {"rng_state", TEXT, AT(rng_state), 0, 0, "the text of an earlier Result's rng_state"},
    [QW_KEY_LOGPROBS] = {"logprobs", INTEGER, AT(logprobs), 0, INT_MAX_D,
                         "an integer from 0 to the size of the vocabulary (leave it out for none)"},
    [QW_KEY_SKIP_SPECIAL_TOKENS] = {"skip_special_tokens", BOOLEAN, AT(skip_special_tokens), 0, 0, BOOL_WANTED},
    [QW_KEY_CUSTOM_PROCESSOR] = {"custom_processor", BOOLEAN, AT(custom_processor), 0, 0, BOOL_WANTED},
    [QW_KEY_CHAT] = {"chat", BOOLEAN, AT(chat), 0, 0, BOOL_WANTED},
};

/* Keys of Transformers 5.24's GenerationConfig and generate() that are not ours. neutral: the number (false 0, true 1)
 * at which the feature is off; an empty array or object and null are off for every key. */
typedef struct foreign {
    const char *name;
    qw_foreign if_set;
    double neutral;
    const char *instead;
} foreign;

static const char NO_BEAMS[] = "only one beam is supported: leave it out";
static const char NO_ASSISTANT[] = "assisted generation is not supported: leave it out";
static const char NO_GUIDANCE[] = "guidance is not supported: leave it out";
static const char LEAVE_OUT[] = "it is not supported: leave it out";
static const char PYTHON[] = "it is an argument of Transformers' Python: leave it out";

static const foreign foreigns[] = {
    {"_from_model_config", QW_FOREIGN_SILENT, 0, ""},
    {"_commit_hash", QW_FOREIGN_SILENT, 0, ""},
    {"transformers_version", QW_FOREIGN_SILENT, 0, ""},
    {"bos_token_id", QW_FOREIGN_SILENT, 0, ""},
    {"decoder_start_token_id", QW_FOREIGN_SILENT, 0, ""},
    {"return_dict_in_generate", QW_FOREIGN_SILENT, 0, ""},
    {"use_cache", QW_FOREIGN_IDLE, 1, "the KV cache is always used"},
    {"cache_implementation", QW_FOREIGN_IDLE, -1, "see kvType of load()"},
    {"cache_config", QW_FOREIGN_IDLE, -1, "see kvType of load()"},
    {"max_cache_len", QW_FOREIGN_IDLE, -1, "see contextLength of load()"},
    {"early_stopping", QW_FOREIGN_IDLE, 0, "it acts on beams only"},
    {"length_penalty", QW_FOREIGN_IDLE, 1, "it acts on beams only"},
    {"num_assistant_tokens", QW_FOREIGN_IDLE, 20, "it acts on assisted generation only"},
    {"num_assistant_tokens_schedule", QW_FOREIGN_SILENT, 0, ""},
    {"assistant_confidence_threshold", QW_FOREIGN_IDLE, 0.4, "it acts on assisted generation only"},
    {"assistant_lookbehind", QW_FOREIGN_IDLE, 10, "it acts on assisted generation only"},
    {"target_lookbehind", QW_FOREIGN_IDLE, 10, "it acts on assisted generation only"},
    {"max_matching_ngram_size", QW_FOREIGN_IDLE, -1, "it acts on assisted generation only"},
    {"is_assistant", QW_FOREIGN_IDLE, 0, "it acts on assisted generation only"},
    {"compile_config", QW_FOREIGN_IDLE, -1, "nothing is compiled"},
    {"disable_compile", QW_FOREIGN_SILENT, 0, ""},
    {"low_memory", QW_FOREIGN_SILENT, 0, ""},
    {"prefill_chunk_size", QW_FOREIGN_IDLE, -1, "chunks are sized by measured speed"},
    {"continuous_batching_config", QW_FOREIGN_IDLE, -1, "batches are not continuous"},
    {"synced_gpus", QW_FOREIGN_IDLE, 0, "there are none"},
    {"num_beams", QW_FOREIGN_REFUSED, 1, NO_BEAMS},
    {"num_beam_groups", QW_FOREIGN_REFUSED, 1, NO_BEAMS},
    {"diversity_penalty", QW_FOREIGN_REFUSED, 0, NO_BEAMS},
    {"constraints", QW_FOREIGN_REFUSED, -1, NO_BEAMS},
    {"force_words_ids", QW_FOREIGN_REFUSED, -1, NO_BEAMS},
    {"penalty_alpha", QW_FOREIGN_REFUSED, 0, "contrastive search is not supported: leave it out"},
    {"dola_layers", QW_FOREIGN_REFUSED, -1, LEAVE_OUT},
    {"guidance_scale", QW_FOREIGN_REFUSED, 1, NO_GUIDANCE},
    {"negative_prompt_ids", QW_FOREIGN_REFUSED, -1, NO_GUIDANCE},
    {"negative_prompt_attention_mask", QW_FOREIGN_REFUSED, -1, NO_GUIDANCE},
    {"encoder_repetition_penalty", QW_FOREIGN_REFUSED, 1, "use repetition_penalty"},
    {"encoder_no_repeat_ngram_size", QW_FOREIGN_REFUSED, 0, "use no_repeat_ngram_size"},
    {"forced_bos_token_id", QW_FOREIGN_REFUSED, -1, "append the token to the prompt"},
    {"top_h", QW_FOREIGN_REFUSED, -1, "use top_p or min_p"},
    {"watermarking_config", QW_FOREIGN_REFUSED, -1, LEAVE_OUT},
    {"token_healing", QW_FOREIGN_REFUSED, 0, LEAVE_OUT},
    {"use_mtp", QW_FOREIGN_REFUSED, 0, NO_ASSISTANT},
    {"prompt_lookup_num_tokens", QW_FOREIGN_REFUSED, -1, NO_ASSISTANT},
    {"assistant_early_exit", QW_FOREIGN_REFUSED, -1, NO_ASSISTANT},
    {"assistant_ensemble_weight", QW_FOREIGN_REFUSED, -1, NO_ASSISTANT},
    {"speculation_type", QW_FOREIGN_REFUSED, -1, NO_ASSISTANT},
    {"assistant_model", QW_FOREIGN_REFUSED, -1, NO_ASSISTANT},
    {"assistant_tokenizer", QW_FOREIGN_REFUSED, -1, NO_ASSISTANT},
    {"output_attentions", QW_FOREIGN_REFUSED, 0, LEAVE_OUT},
    {"output_hidden_states", QW_FOREIGN_REFUSED, 0, "use forward()"},
    {"output_scores", QW_FOREIGN_REFUSED, 0, "use logprobs"},
    {"output_logits", QW_FOREIGN_REFUSED, 0, "use forward() or logprobs"},
    {"stopping_criteria", QW_FOREIGN_REFUSED, -1, "use stopping"},
    {"prefix_allowed_tokens_fn", QW_FOREIGN_REFUSED, -1, "use logits_processor"},
    {"generation_config", QW_FOREIGN_REFUSED, -1, "pass its keys themselves"},
    {"streamer", QW_FOREIGN_REFUSED, -1, PYTHON},
    {"inputs", QW_FOREIGN_REFUSED, -1, PYTHON},
    {"custom_generate", QW_FOREIGN_REFUSED, -1, PYTHON},
};

qw_setting_id qw_setting_find(const char *name)
{
    int i = 0;

    while (i < QW_KEY_COUNT && strcmp(keys[i].name, name) != 0) i++;
    return (qw_setting_id)i;
}

const char *qw_setting_name(qw_setting_id key)
{
    return key < QW_KEY_COUNT ? keys[key].name : "";
}

static bool is_off(const qw_json *value, double neutral)
{
    switch (qw_json_kind_of(value)) {
    case QW_JSON_NULL:
        return true;
    case QW_JSON_BOOL:
        return neutral >= 0 && qw_json_bool(value) == (neutral > 0);
    case QW_JSON_NUMBER:
        return neutral >= 0 && !(qw_json_number(value) < neutral || qw_json_number(value) > neutral);
    case QW_JSON_STRING:
        return false;
    default:
        return qw_json_size(value) == 0;
    }
}

qw_foreign qw_setting_foreign(const char *name, const qw_json *value, const char **instead)
{
    *instead = "";
    for (size_t i = 0; i < sizeof foreigns / sizeof *foreigns; i++) {
        if (strcmp(foreigns[i].name, name) != 0) continue;
        *instead = foreigns[i].instead;
        return is_off(value, foreigns[i].neutral) ? QW_FOREIGN_SILENT : foreigns[i].if_set;
    }
    return QW_FOREIGN_UNKNOWN;
}

const char *qw_setting_show(char dst[64], const qw_json *value)
{
    const char *text = qw_json_string(value);

    switch (qw_json_kind_of(value)) {
    case QW_JSON_BOOL:
        snprintf(dst, 64, "%s", qw_json_bool(value) ? "true" : "false");
        break;
    case QW_JSON_NUMBER:
        snprintf(dst, 64, "%.10g", qw_json_number(value));
        break;
    case QW_JSON_STRING:
        snprintf(dst, 64, "\"%.40s\"", text);
        break;
    case QW_JSON_ARRAY:
        snprintf(dst, 64, "an array of %d", (int)qw_json_size(value));
        break;
    case QW_JSON_OBJECT:
        snprintf(dst, 64, "an object");
        break;
    default:
        snprintf(dst, 64, "null");
        break;
    }
    return dst;
}

/* ---- reading; `in` is one key of one source */

typedef struct reading {
    const entry *key;
    const char *what;
    int32_t n_vocab;
    qw_error *err;
} reading;

/* JavaScript writes NaN and the infinities as strings, for JSON has no word for them. */
static bool is_not_finite(const qw_json *value)
{
    const char *text = qw_json_string(value);

    return !strcmp(text, "nan") || !strcmp(text, "inf") || !strcmp(text, "-inf");
}

static qw_status refuse(const reading *in, const qw_json *value)
{
    char shown[64];
    bool quoted = qw_json_kind_of(value) == QW_JSON_STRING && !is_not_finite(value);

    if (qw_json_kind_of(value) == QW_JSON_STRING && !quoted)
        return qw_fail(in->err, QW_ERR_USAGE, "%s: %s is %s, wanted %s", in->what, in->key->name, qw_json_string(value),
                       in->key->wanted);
    return qw_fail(in->err, QW_ERR_USAGE, "%s: %s is %s, wanted %s%s", in->what, in->key->name,
                   qw_setting_show(shown, value), in->key->wanted,
                   quoted && in->key->kind <= BOOLEAN ? ": without the quotes" : "");
}

static qw_status read_number(const reading *in, const qw_json *value, double *number)
{
    double v = qw_json_number(value);
    bool whole = in->key->kind == REAL;

    if (qw_json_kind_of(value) != QW_JSON_NUMBER || !(v >= in->key->min && v <= in->key->max)) return refuse(in, value);
    if (!whole && (double)(int64_t)v < v) return refuse(in, value); /* v is in range, so the cast is defined */
    if (!whole && (double)(int64_t)v > v) return refuse(in, value);
    *number = v;
    return QW_OK;
}

static qw_status read_id(const reading *in, const qw_json *value, int32_t *id)
{
    double v = qw_json_number(value);
    char shown[64];

    if (qw_json_kind_of(value) != QW_JSON_NUMBER || !(v >= 0 && v < in->n_vocab) || (double)(int32_t)v < v)
        return qw_fail(in->err, QW_ERR_USAGE, "%s: %s names the token id %s, wanted an integer from 0 to %d", in->what,
                       in->key->name, qw_setting_show(shown, value), (int)in->n_vocab - 1);
    *id = (int32_t)v;
    return QW_OK;
}

/* An array of ids, into an empty list. The caller frees it, also on an error. */
static qw_status read_id_array(const reading *in, const qw_json *value, qw_id_list *list)
{
    int32_t n = qw_json_size(value);

    if (qw_json_kind_of(value) != QW_JSON_ARRAY) return refuse(in, value);
    list->v = qw_calloc((size_t)n, sizeof *list->v);
    if (!list->v) return qw_fail_memory(in->err, in->key->name, (double)n * sizeof *list->v);
    for (const qw_json *item = qw_json_first(value); item; item = qw_json_next(item)) {
        QW_TRY(read_id(in, item, &list->v[list->n]));
        list->n++;
    }
    return QW_OK;
}

/* An array of ids; for IDS one id too. */
static qw_status read_ids(const reading *in, const qw_json *value, qw_id_list *field)
{
    qw_id_list list = {0};
    qw_status status;

    if (qw_json_kind_of(value) == QW_JSON_NUMBER && in->key->kind == IDS) {
        list.v = qw_calloc(1, sizeof *list.v);
        list.n = 1;
        status = list.v ? read_id(in, value, list.v) : qw_fail_memory(in->err, in->key->name, sizeof *list.v);
    } else {
        status = read_id_array(in, value, &list);
    }
    if (status) {
        qw_free(list.v);
        return status;
    }
    qw_free(field->v);
    *field = list;
    return QW_OK;
}

static void free_words(qw_id_list *words, int32_t n)
{
    for (int32_t i = 0; words && i < n; i++) qw_free(words[i].v);
    qw_free(words);
}

static void free_biases(qw_bias *biases, int32_t n)
{
    for (int32_t i = 0; biases && i < n; i++) qw_free(biases[i].ids.v);
    qw_free(biases);
}

static qw_status read_words(const reading *in, const qw_json *value, qw_settings *s)
{
    int32_t n = qw_json_size(value);
    qw_id_list *words;
    qw_status status = QW_OK;
    int32_t i = 0;

    if (qw_json_kind_of(value) != QW_JSON_ARRAY) return refuse(in, value);
    words = qw_calloc((size_t)n, sizeof *words);
    if (!words) return qw_fail_memory(in->err, in->key->name, (double)n * sizeof *words);
    for (const qw_json *item = qw_json_first(value); item && !status; item = qw_json_next(item), i++) {
        status = read_id_array(in, item, &words[i]);
        if (!status && words[i].n == 0) status = refuse(in, item);
    }
    if (status) {
        free_words(words, n);
        return status;
    }
    free_words(s->bad_words, s->n_bad_words);
    s->bad_words = words;
    s->n_bad_words = n;
    return QW_OK;
}

/* A bias may be -inf, which forbids; JSON has no word for it, hence the string. */
static qw_status read_bias_value(const reading *in, const qw_json *value, float *bias)
{
    bool forbids = qw_json_kind_of(value) == QW_JSON_STRING && !strcmp(qw_json_string(value), "-inf");
    double v = forbids ? 0 : qw_json_number(value);
    char shown[64];

    if ((qw_json_kind_of(value) != QW_JSON_NUMBER && !forbids) || !(v >= -HUGE_REAL && v <= HUGE_REAL))
        return qw_fail(in->err, QW_ERR_USAGE,
                       "%s: %s holds the bias %s, wanted a finite number, or -Infinity to forbid", in->what,
                       in->key->name, qw_setting_show(shown, value));
    *bias = forbids ? -(float)(1e300 * 1e300) : (float)v;
    return QW_OK;
}

static bool same_ids(const qw_id_list *a, const qw_id_list *b)
{
    return a->n == b->n && memcmp(a->v, b->v, (size_t)a->n * sizeof *a->v) == 0;
}

/* Transformers makes a dict of them: of equal sequences the last bias counts. */
static void put_bias(qw_bias *biases, int32_t *n, qw_bias *bias)
{
    for (int32_t i = 0; i < *n; i++) {
        if (!same_ids(&biases[i].ids, &bias->ids)) continue;
        biases[i].bias = bias->bias;
        qw_free(bias->ids.v);
        return;
    }
    biases[(*n)++] = *bias;
}

static qw_status read_bias_pair(const reading *in, const qw_json *pair, qw_bias *bias)
{
    const qw_json *ids = qw_json_kind_of(pair) == QW_JSON_ARRAY ? qw_json_first(pair) : NULL;

    if (!ids || qw_json_size(pair) != 2) return refuse(in, pair);
    QW_TRY(read_id_array(in, ids, &bias->ids));
    if (bias->ids.n == 0) return refuse(in, pair);
    return read_bias_value(in, qw_json_next(ids), &bias->bias);
}

static qw_status read_bias_member(const reading *in, const qw_json *member, qw_bias *bias)
{
    const char *name = qw_json_key(member);
    int64_t id = 0;
    int i = 0;

    for (; name[i] >= '0' && name[i] <= '9' && i < 10; i++) id = id * 10 + (name[i] - '0');
    if (i == 0 || name[i] || id >= in->n_vocab)
        return qw_fail(in->err, QW_ERR_USAGE, "%s: %s names the token id %.40s, wanted an integer from 0 to %d",
                       in->what, in->key->name, name, (int)in->n_vocab - 1);
    bias->ids.v = qw_calloc(1, sizeof *bias->ids.v);
    if (!bias->ids.v) return qw_fail_memory(in->err, in->key->name, sizeof *bias->ids.v);
    bias->ids.v[0] = (int32_t)id;
    bias->ids.n = 1;
    return read_bias_value(in, member, &bias->bias);
}

static qw_status read_biases(const reading *in, const qw_json *value, qw_bias **field, int32_t *n_field)
{
    bool members = in->key->kind == LOGIT_BIAS;
    int32_t size = qw_json_size(value), n = 0;
    qw_bias *biases;
    qw_status status = QW_OK;

    if (qw_json_kind_of(value) != (members ? QW_JSON_OBJECT : QW_JSON_ARRAY)) return refuse(in, value);
    biases = qw_calloc((size_t)size, sizeof *biases);
    if (!biases) return qw_fail_memory(in->err, in->key->name, (double)size * sizeof *biases);
    for (const qw_json *item = qw_json_first(value); item && !status; item = qw_json_next(item)) {
        qw_bias bias = {0};

        status = members ? read_bias_member(in, item, &bias) : read_bias_pair(in, item, &bias);
        if (status) qw_free(bias.ids.v);
        else if (members) biases[n++] = bias;
        else put_bias(biases, &n, &bias);
    }
    if (status) {
        free_biases(biases, n);
        return status;
    }
    free_biases(*field, *n_field);
    *field = biases;
    *n_field = n;
    return QW_OK;
}

static qw_status read_decay(const reading *in, const qw_json *value, qw_settings *s)
{
    const qw_json *start = qw_json_kind_of(value) == QW_JSON_ARRAY ? qw_json_first(value) : NULL;
    const qw_json *factor = start ? qw_json_next(start) : NULL;
    double from = qw_json_number(start), by = qw_json_number(factor);

    if (!factor || qw_json_size(value) != 2 || qw_json_kind_of(start) != QW_JSON_NUMBER ||
        qw_json_kind_of(factor) != QW_JSON_NUMBER)
        return refuse(in, value);
    if (!(from >= 0 && from <= INT_MAX_D) || (double)(int32_t)from < from) return refuse(in, start);
    if (!(by >= ABOVE_ZERO && by <= HUGE_REAL)) return refuse(in, factor);
    s->has_decay = true;
    s->decay_start = (int32_t)from;
    s->decay_factor = by;
    return QW_OK;
}

static qw_status read_text(const reading *in, const qw_json *value, qw_buf *field)
{
    qw_buf text = {0};

    if (qw_json_kind_of(value) != QW_JSON_STRING || !qw_json_string(value)[0]) return refuse(in, value);
    QW_TRY(qw_buf_append(&text, qw_json_string(value), strlen(qw_json_string(value)), in->err));
    qw_buf_free(field);
    *field = text;
    return QW_OK;
}

static qw_status read_scalar(const reading *in, const qw_json *value, void *field)
{
    double number = 0;

    if (in->key->kind == BOOLEAN) {
        if (qw_json_kind_of(value) != QW_JSON_BOOL) return refuse(in, value);
        *(bool *)field = qw_json_bool(value);
        return QW_OK;
    }
    QW_TRY(read_number(in, value, &number));
    if (in->key->kind == REAL) *(double *)field = number;
    else if (in->key->kind == UNSIGNED) *(uint32_t *)field = (uint32_t)number;
    else *(int32_t *)field = (int32_t)number;
    return QW_OK;
}

qw_status qw_setting_read(qw_settings *s, qw_setting_id key, const qw_json *value, int32_t n_vocab, const char *what,
                          qw_error *err)
{
    reading in = {&keys[key], what, n_vocab, err};
    void *field = (char *)s + keys[key].at;

    switch (keys[key].kind) {
    case WORDS:
        return read_words(&in, value, s);
    case BIASES:
        return read_biases(&in, value, &s->sequence_bias, &s->n_sequence_bias);
    case LOGIT_BIAS:
        return read_biases(&in, value, &s->logit_bias, &s->n_logit_bias);
    case DECAY:
        return read_decay(&in, value, s);
    case TEXT:
        return read_text(&in, value, field);
    case ID:
        return read_id(&in, value, field);
    case IDS:
    case ID_ARRAY:
        return read_ids(&in, value, field);
    default:
        return read_scalar(&in, value, field);
    }
}
