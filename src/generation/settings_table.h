/* SPDX-License-Identifier: MIT
 * The keys of settings.h: one table of what is supported, one of what Transformers knows beyond that. A value is read by
 * settings_value.h; merging and rules between keys are settings_parse.h's. */
#ifndef QW_SETTINGS_TABLE_H
#define QW_SETTINGS_TABLE_H

#include "base/json.h"
#include "generation/settings.h"

typedef enum qw_setting_id {
    QW_KEY_MAX_NEW_TOKENS,
    QW_KEY_MAX_LENGTH,
    QW_KEY_MIN_LENGTH,
    QW_KEY_MIN_NEW_TOKENS,
    QW_KEY_MAX_TIME,
    QW_KEY_DO_SAMPLE,
    QW_KEY_TEMPERATURE,
    QW_KEY_TOP_K,
    QW_KEY_TOP_P,
    QW_KEY_MIN_P,
    QW_KEY_TYPICAL_P,
    QW_KEY_EPSILON_CUTOFF,
    QW_KEY_ETA_CUTOFF,
    QW_KEY_REMOVE_INVALID_VALUES,
    QW_KEY_RENORMALIZE_LOGITS,
    QW_KEY_REPETITION_PENALTY,
    QW_KEY_PRESENCE_PENALTY,
    QW_KEY_FREQUENCY_PENALTY,
    QW_KEY_NO_REPEAT_NGRAM_SIZE,
    QW_KEY_BAD_WORDS_IDS,
    QW_KEY_SEQUENCE_BIAS,
    QW_KEY_LOGIT_BIAS,
    QW_KEY_SUPPRESS_TOKENS,
    QW_KEY_BEGIN_SUPPRESS_TOKENS,
    QW_KEY_FORCED_EOS_TOKEN_ID,
    QW_KEY_DECAY,
    QW_KEY_EOS_TOKEN_ID,
    QW_KEY_PAD_TOKEN_ID,
    QW_KEY_NUM_RETURN_SEQUENCES,
    QW_KEY_RUN_OPTIONS, /* from here on: of a call only, never of a file */
    QW_KEY_SEED = QW_KEY_RUN_OPTIONS,
    QW_KEY_RNG_STATE,
    QW_KEY_RESPONSE_FORMAT,
    QW_KEY_WHITESPACE,
    QW_KEY_FINISH_IN_BUDGET,
    QW_KEY_LOGPROBS,
    QW_KEY_SKIP_SPECIAL_TOKENS,
    QW_KEY_CUSTOM_PROCESSOR,
    QW_KEY_CHAT,
    QW_KEY_COUNT, /* not a key: unknown name */
} qw_setting_id;

typedef enum qw_setting_kind {
    QW_SETTING_INTEGER,
    QW_SETTING_UNSIGNED,
    QW_SETTING_REAL,
    QW_SETTING_BOOLEAN,
    QW_SETTING_TEXT,
    QW_SETTING_ID,
    QW_SETTING_IDS,
    QW_SETTING_ID_ARRAY,
    QW_SETTING_WORDS,
    QW_SETTING_BIASES,
    QW_SETTING_LOGIT_BIAS,
    QW_SETTING_DECAY,
} qw_setting_kind;

/* What a key takes: min..max of a number, its field in a qw_settings by offset (kinds of several fields: 0), and the words
 * of an error for what is wanted. */
typedef struct qw_setting {
    const char *name;
    qw_setting_kind kind;
    size_t at;
    double min, max;
    const char *wanted;
} qw_setting;

/* Numbers that are divided by stay above 0 as float32 too; larger ones than HUGE change nothing any more. */
#define QW_SETTING_ABOVE_ZERO 1e-30
#define QW_SETTING_HUGE 1e30

/* key < QW_KEY_COUNT. Static. */
const qw_setting *qw_setting_of(qw_setting_id key);

/* The key of that name; QW_KEY_COUNT where it is none of ours. */
qw_setting_id qw_setting_find(const char *name);
const char *qw_setting_name(qw_setting_id key);

typedef enum qw_foreign {
    QW_FOREIGN_UNKNOWN, /* no key of Transformers' either */
    QW_FOREIGN_SILENT,  /* metadata, or a value that changes nothing */
    QW_FOREIGN_IDLE,    /* has no effect on what comes out here */
    QW_FOREIGN_REFUSED, /* asks for what is not supported */
} qw_foreign;

/* What to do with a key that is not ours; *instead (never NULL) is the way out, for the message. */
qw_foreign qw_setting_foreign(const char *name, const qw_json *value, const char **instead);

/* dst holds 64 bytes; the value as an error message shows it. */
const char *qw_setting_show(char dst[64], const qw_json *value);

#endif
