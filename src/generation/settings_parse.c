/* SPDX-License-Identifier: MIT
 * Merges the settings of a call with the model's generation_config.json and Transformers' defaults, and applies the
 * rules between keys. A file that cannot be used as it stands costs notes, never the call. Single values are
 * settings_value.c's. */
#include "generation/settings_parse.h"

#include "base/alloc.h"
#include "base/json.h"
#include "generation/settings_value.h"

#include <string.h>

static const char CALL[] = "settings";
static const char FILE_NAME[] = "generation_config.json";

/* Below it float32 scores cannot be told apart after the division in any other way than by argmax. */
static const double GREEDY_TEMPERATURE = 1e-6;

/* Which keys the call has set, a bit each. */
typedef uint64_t key_set;
_Static_assert(QW_KEY_COUNT <= 64, "a key_set has 64 bits");

static bool has(key_set set, qw_setting_id key)
{
    return set >> key & 1;
}

/* EOS and pad are the loader's: it weighs the file against the tokenizer's own. */
static bool is_loaders(qw_setting_id key)
{
    return key == QW_KEY_EOS_TOKEN_ID || key == QW_KEY_PAD_TOKEN_ID;
}

static qw_status read_file_key(qw_settings *s, const qw_json *item, const qw_model *m, qw_error *err)
{
    const char *name = qw_json_key(item), *instead = "";
    qw_setting_id key = qw_setting_find(name);
    qw_error problem = {0};
    qw_status status;

    if (is_loaders(key) || qw_json_kind_of(item) == QW_JSON_NULL) return QW_OK;
    if (!strcmp(name, "stop_strings")) {
        if (m->tokenizer) return QW_OK;
        return qw_buf_printf(
            &s->notes, err, "%s: stop_strings need a tokenizer, and this model came without one: ignored\n", FILE_NAME);
    }
    if (key < QW_KEY_RUN_OPTIONS) {
        status = qw_setting_read(s, key, item, m->config.n_vocab, FILE_NAME, &problem);
        if (status == QW_ERR_USAGE) return qw_buf_printf(&s->notes, err, "%s: ignored\n", problem.text);
        if (status && err) *err = problem;
        return status;
    }
    switch (qw_setting_foreign(name, item, &instead)) {
    case QW_FOREIGN_REFUSED:
        return qw_buf_printf(&s->notes, err, "%s: %s is not supported and was ignored\n", FILE_NAME, name);
    case QW_FOREIGN_UNKNOWN:
        return qw_buf_printf(&s->notes, err, "%s: unknown key %.60s ignored\n", FILE_NAME, name);
    default:
        return QW_OK;
    }
}

/* *root is NULL where there is no file, or none that can be read. */
static qw_status parse_file(const qw_model *m, qw_json **root, qw_buf *notes, qw_error *err)
{
    qw_text text = {m->generation_config.bytes, m->generation_config.n};
    qw_error problem = {0};
    qw_status status;

    *root = NULL;
    if (text.n == 0) return QW_OK;
    status = qw_json_parse(root, text, FILE_NAME, &problem);
    if (!status && qw_json_kind_of(*root) == QW_JSON_OBJECT) return QW_OK;
    qw_json_free(*root);
    *root = NULL;
    if (status == QW_ERR_MEMORY) {
        if (err) *err = problem;
        return status;
    }
    return qw_buf_printf(notes, err, "%s: ignored\n",
                         status ? problem.text : "generation_config.json is no JSON object");
}

static qw_status read_file(qw_settings *s, const qw_model *m, qw_error *err)
{
    qw_json *root;
    qw_status status = parse_file(m, &root, &s->notes, err);

    for (const qw_json *item = qw_json_first(root); item && !status; item = qw_json_next(item))
        status = read_file_key(s, item, m, err);
    qw_json_free(root);
    return status;
}

static qw_status read_call_key(qw_settings *s, const qw_json *item, const qw_model *m, key_set *set, qw_error *err)
{
    const char *name = qw_json_key(item), *instead = "";
    qw_setting_id key = qw_setting_find(name);
    char shown[64];

    if (qw_json_kind_of(item) == QW_JSON_NULL && key < QW_KEY_COUNT) return QW_OK;
    if (key < QW_KEY_COUNT) {
        *set |= (key_set)1 << key;
        return qw_setting_read(s, key, item, m->config.n_vocab, CALL, err);
    }
    switch (qw_setting_foreign(name, item, &instead)) {
    case QW_FOREIGN_SILENT:
        return QW_OK;
    case QW_FOREIGN_IDLE:
        return qw_buf_printf(&s->notes, err, "%s has no effect: %s\n", name, instead);
    case QW_FOREIGN_REFUSED:
        return qw_fail(err, QW_ERR_USAGE, "settings: %s is %s: %s", name, qw_setting_show(shown, item), instead);
    default:
        return qw_fail(err, QW_ERR_USAGE,
                       "settings: unknown key %.60s: the names are those of Hugging Face's generation_config.json",
                       name);
    }
}

static qw_status read_call(qw_settings *s, qw_text json, const qw_model *m, key_set *set, qw_error *err)
{
    qw_json *root = NULL;
    qw_status status;

    if (json.n == 0) return QW_OK;
    status = qw_json_parse(&root, json, CALL, err);
    if (status == QW_ERR_FORMAT) status = qw_fail(err, QW_ERR_USAGE, "settings are no valid JSON text");
    if (!status && qw_json_kind_of(root) != QW_JSON_OBJECT)
        status = qw_fail(err, QW_ERR_USAGE, "settings: an object is wanted, got %s",
                         qw_json_kind_name(qw_json_kind_of(root)));
    for (const qw_json *item = qw_json_first(status ? NULL : root); item && !status; item = qw_json_next(item))
        status = read_call_key(s, item, m, set, err);
    qw_json_free(root);
    return status;
}

static const qw_setting_id sampling_keys[] = {QW_KEY_TOP_K,     QW_KEY_TOP_P,          QW_KEY_MIN_P,
                                              QW_KEY_TYPICAL_P, QW_KEY_EPSILON_CUTOFF, QW_KEY_ETA_CUTOFF};

/* Decides do_sample, and tells what it makes idle. A temperature of 0 is a wish for greedy decoding, not an oversight.
 * */
static qw_status settle_sampling(qw_settings *s, key_set call, qw_error *err)
{
    bool greedy_wish;

    if (s->chat && has(call, QW_KEY_TEMPERATURE) && !has(call, QW_KEY_DO_SAMPLE)) s->do_sample = s->temperature > 0;
    s->sequences_of_file = !has(call, QW_KEY_NUM_RETURN_SEQUENCES);
    if (s->num_return_sequences > 1 && !s->do_sample && s->sequences_of_file) {
        QW_TRY(qw_buf_printf(&s->notes, err, "%s: num_return_sequences %d is ignored without do_sample\n", FILE_NAME,
                             (int)s->num_return_sequences));
        s->num_return_sequences = 1;
    }
    if (s->num_return_sequences > 1 && !s->do_sample)
        return qw_fail(
            err, QW_ERR_USAGE,
            "settings: num_return_sequences is %d without do_sample: all would be the same; set do_sample to true",
            (int)s->num_return_sequences);
    greedy_wish = s->temperature < GREEDY_TEMPERATURE;
    if (greedy_wish) s->do_sample = false;
    if (s->do_sample || greedy_wish) return QW_OK;
    if (has(call, QW_KEY_TEMPERATURE) && (s->temperature < 1 || s->temperature > 1))
        QW_TRY(qw_buf_printf(&s->notes, err, "temperature %.9g has no effect without do_sample: decoding is greedy\n",
                             s->temperature));
    for (size_t i = 0; i < sizeof sampling_keys / sizeof *sampling_keys; i++)
        if (has(call, sampling_keys[i]))
            QW_TRY(qw_buf_printf(&s->notes, err, "%s has no effect without do_sample: decoding is greedy\n",
                                 qw_setting_name(sampling_keys[i])));
    return QW_OK;
}

static qw_status settle_lengths(qw_settings *s, key_set call, qw_error *err)
{
    s->max_length_of_file = !has(call, QW_KEY_MAX_LENGTH);
    bool both_new = s->max_new_tokens >= 0 && s->min_new_tokens > s->max_new_tokens;

    if (both_new && has(call, QW_KEY_MIN_NEW_TOKENS) && has(call, QW_KEY_MAX_NEW_TOKENS))
        return qw_fail(err, QW_ERR_USAGE, "settings: min_new_tokens is %d, wanted at most max_new_tokens, which is %d",
                       (int)s->min_new_tokens, (int)s->max_new_tokens);
    if (both_new)
        QW_TRY(qw_buf_printf(&s->notes, err, "min_new_tokens %d is more than max_new_tokens %d allows\n",
                             (int)s->min_new_tokens, (int)s->max_new_tokens));
    if (s->max_new_tokens >= 0 && s->max_length >= 0)
        QW_TRY(qw_buf_printf(&s->notes, err, "max_new_tokens %d takes precedence over max_length %d\n",
                             (int)s->max_new_tokens, (int)s->max_length));
    if (s->min_new_tokens >= 0 && s->min_length >= 0)
        QW_TRY(qw_buf_printf(&s->notes, err, "min_new_tokens %d takes precedence over min_length %d\n",
                             (int)s->min_new_tokens, (int)s->min_length));
    return QW_OK;
}

/* The ids of `barred` that are none of `forced`. */
static void take_out(qw_id_list *barred, const qw_id_list *forced)
{
    int32_t n = 0;

    for (int32_t i = 0; i < barred->n; i++)
        if (!qw_id_list_has(forced, barred->v[i])) barred->v[n++] = barred->v[i];
    barred->n = n;
}

/* A forced id that is suppressed too leaves nothing to choose. What the call says of the two stands; of two that the file
 * names, suppress_tokens does. */
static qw_status settle_forced(qw_settings *s, key_set call, qw_error *err)
{
    bool forced = has(call, QW_KEY_FORCED_EOS_TOKEN_ID), barred = has(call, QW_KEY_SUPPRESS_TOKENS);

    if (s->forced_eos.n == 0) return QW_OK;
    for (int32_t i = 0; i < s->forced_eos.n; i++)
        if (!qw_id_list_has(&s->suppress, s->forced_eos.v[i])) return QW_OK;
    if (forced && barred)
        return qw_fail(
            err, QW_ERR_USAGE,
            "settings: every id of forced_eos_token_id (%d ...) is in suppress_tokens too: take one out of either",
            (int)s->forced_eos.v[0]);
    QW_TRY(qw_buf_printf(&s->notes, err,
                         "%s: %s is ignored where forced_eos_token_id and suppress_tokens are the same\n", FILE_NAME,
                         qw_setting_name(forced ? QW_KEY_SUPPRESS_TOKENS : QW_KEY_FORCED_EOS_TOKEN_ID)));
    if (forced) take_out(&s->suppress, &s->forced_eos);
    else s->forced_eos.n = 0;
    return QW_OK;
}

static qw_status settle_ids(qw_settings *s, const qw_model *m, key_set call, qw_error *err)
{
    if (!has(call, QW_KEY_EOS_TOKEN_ID)) {
        s->eos.v = qw_calloc((size_t)m->n_eos, sizeof *s->eos.v);
        if (!s->eos.v) return qw_fail_memory(err, "eos_token_id", (double)m->n_eos * sizeof *s->eos.v);
        memcpy(s->eos.v, m->eos, (size_t)m->n_eos * sizeof *s->eos.v);
        s->eos.n = m->n_eos;
    }
    if (s->pad < 0) s->pad = s->eos.n > 0 ? s->eos.v[0] : 0;
    if (s->chat && m->tokenizer && qw_tokenizer_n_ids(m->tokenizer) < s->n_ids)
        s->n_ids = qw_tokenizer_n_ids(m->tokenizer);
    return settle_forced(s, call, err);
}

static qw_status settle_run(qw_settings *s, const qw_model *m, key_set call, qw_error *err)
{
    s->has_seed = has(call, QW_KEY_SEED);
    if (s->logprobs > m->config.n_vocab)
        return qw_fail(err, QW_ERR_USAGE,
                       "settings: logprobs is %d, wanted an integer from 0 to %d, the vocabulary's size",
                       (int)s->logprobs, (int)m->config.n_vocab);
    if (s->has_seed && s->rng_state.n > 0)
        QW_TRY(qw_buf_printf(&s->notes, err, "seed %u has no effect beside rng_state\n", (unsigned)s->seed));
    if (s->eos.n == 0 && s->has_decay)
        QW_TRY(qw_buf_printf(&s->notes, err, "exponential_decay_length_penalty has no effect without an EOS id\n"));
    return QW_OK;
}

qw_status qw_settings_parse(qw_settings *out, qw_text json, const qw_model *model, qw_error *err)
{
    key_set call = 0;

    qw_settings_init(out, model);
    QW_TRY(read_file(out, model, err));
    QW_TRY(read_call(out, json, model, &call, err));
    QW_TRY(settle_sampling(out, call, err));
    QW_TRY(settle_lengths(out, call, err));
    QW_TRY(settle_ids(out, model, call, err));
    return settle_run(out, model, call, err);
}

static qw_status write_value(qw_buf *out, const qw_json *value, qw_error *err)
{
    qw_json_kind kind = qw_json_kind_of(value);
    const char *text = qw_json_string(value);
    char open = kind == QW_JSON_ARRAY ? '[' : '{';

    if (kind == QW_JSON_BOOL) return qw_buf_printf(out, err, "%s", qw_json_bool(value) ? "true" : "false");
    if (kind == QW_JSON_NUMBER) return qw_json_write_number(out, qw_json_number(value), err);
    if (kind == QW_JSON_STRING) return qw_json_write_string(out, (qw_text){text, strlen(text)}, err);
    if (kind == QW_JSON_NULL) return qw_buf_printf(out, err, "null");
    for (const qw_json *item = qw_json_first(value); item; item = qw_json_next(item)) {
        QW_TRY(qw_buf_append(out, item == qw_json_first(value) ? &open : ",", 1, err));
        if (kind == QW_JSON_OBJECT) {
            QW_TRY(qw_json_write_string(out, qw_text_of(qw_json_key(item)), err));
            QW_TRY(qw_buf_append(out, ":", 1, err));
        }
        QW_TRY(write_value(out, item, err));
    }
    if (!qw_json_first(value)) QW_TRY(qw_buf_append(out, &open, 1, err));
    return qw_buf_append(out, kind == QW_JSON_ARRAY ? "]" : "}", 1, err);
}

/* *usable: what the file gives for the key is one of our settings, and sound. Only memory can fail. */
static qw_status find_usable(const qw_json *item, const qw_model *m, qw_settings *scratch, bool *usable, qw_error *err)
{
    qw_setting_id key = qw_setting_find(qw_json_key(item));
    qw_json_kind kind = qw_json_kind_of(item);
    qw_status status = QW_OK;

    *usable = false;
    if (kind == QW_JSON_NULL) return QW_OK;
    if (!strcmp(qw_json_key(item), "stop_strings")) {
        *usable = m->tokenizer && (kind == QW_JSON_STRING || kind == QW_JSON_ARRAY);
        return QW_OK;
    }
    if (key < QW_KEY_RUN_OPTIONS) {
        status = qw_setting_read(scratch, key, item, m->config.n_vocab, FILE_NAME, err);
        *usable = !status;
    }
    return status == QW_ERR_MEMORY ? status : QW_OK;
}

qw_status qw_settings_write_file_defaults(const qw_model *model, qw_buf *out, qw_error *err)
{
    qw_settings scratch;
    qw_json *root;
    qw_status status;
    bool first = true, usable;

    qw_settings_init(&scratch, model);
    status = parse_file(model, &root, &scratch.notes, err);
    if (!status) status = qw_buf_append(out, "{", 1, err);
    for (const qw_json *item = qw_json_first(root); item && !status; item = qw_json_next(item)) {
        status = find_usable(item, model, &scratch, &usable, err);
        if (status || !usable) continue;
        if (!first) status = qw_buf_append(out, ",", 1, err);
        if (!status) status = qw_json_write_string(out, qw_text_of(qw_json_key(item)), err);
        if (!status) status = qw_buf_append(out, ":", 1, err);
        if (!status) status = write_value(out, item, err);
        first = false;
    }
    if (!status) status = qw_buf_append(out, "}", 1, err);
    qw_json_free(root);
    qw_settings_free(&scratch);
    return status;
}
