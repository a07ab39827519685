/* SPDX-License-Identifier: MIT
 * The tables behind settings_table.h. */
#include "generation/settings_table.h"

#include "base/print.h"

#include <string.h>

#define AT(field) offsetof(qw_settings, field)
#define INT_MAX_D 2147483647.0

static const char IDS_WANTED[] = "an array of token ids";
static const char BOOL_WANTED[] = "true or false";
static const char UNIT_OFF_AT_1[] = "a number > 0 and <= 1 (1: off)";
static const char CUTOFF_WANTED[] = "a number from 0 to 1 (0: off)";
static const char PENALTY_WANTED[] = "a number from -2 to 2 (0: off)";

static const qw_setting keys[QW_KEY_COUNT] = {
    [QW_KEY_MAX_NEW_TOKENS] = {"max_new_tokens", QW_SETTING_INTEGER, AT(max_new_tokens), 0, INT_MAX_D,
                               "an integer >= 0 (leave it out to go on to the end of the context)"},
    [QW_KEY_MAX_LENGTH] = {"max_length", QW_SETTING_INTEGER, AT(max_length), 0, INT_MAX_D,
                           "an integer >= 0 (leave it out to go on to the end of the context)"},
    [QW_KEY_MIN_LENGTH] = {"min_length", QW_SETTING_INTEGER, AT(min_length), 0, INT_MAX_D, "an integer >= 0 (0: off)"},
    [QW_KEY_MIN_NEW_TOKENS] = {"min_new_tokens", QW_SETTING_INTEGER, AT(min_new_tokens), 0, INT_MAX_D,
                               "an integer >= 0 (0: off)"},
    [QW_KEY_MAX_TIME] = {"max_time", QW_SETTING_REAL, AT(max_time), 0, QW_SETTING_HUGE,
                         "seconds >= 0 (leave it out for no limit)"},
    [QW_KEY_DO_SAMPLE] = {"do_sample", QW_SETTING_BOOLEAN, AT(do_sample), 0, 0, BOOL_WANTED},
    [QW_KEY_TEMPERATURE] = {"temperature", QW_SETTING_REAL, AT(temperature), 0, QW_SETTING_HUGE,
                            "a number >= 0 (0: greedy, 1: off)"},
    [QW_KEY_TOP_K] = {"top_k", QW_SETTING_INTEGER, AT(top_k), 0, INT_MAX_D, "an integer >= 0 (0: off)"},
    [QW_KEY_TOP_P] = {"top_p", QW_SETTING_REAL, AT(top_p), 0, 1, "a number from 0 to 1 (1: off)"},
    [QW_KEY_MIN_P] = {"min_p", QW_SETTING_REAL, AT(min_p), 0, 1, CUTOFF_WANTED},
    [QW_KEY_TYPICAL_P] = {"typical_p", QW_SETTING_REAL, AT(typical_p), QW_SETTING_ABOVE_ZERO, 1, UNIT_OFF_AT_1},
    [QW_KEY_EPSILON_CUTOFF] = {"epsilon_cutoff", QW_SETTING_REAL, AT(epsilon_cutoff), 0, 1, CUTOFF_WANTED},
    [QW_KEY_ETA_CUTOFF] = {"eta_cutoff", QW_SETTING_REAL, AT(eta_cutoff), 0, 1, CUTOFF_WANTED},
    [QW_KEY_REMOVE_INVALID_VALUES] = {"remove_invalid_values", QW_SETTING_BOOLEAN, AT(remove_invalid_values), 0, 0,
                                      BOOL_WANTED},
    [QW_KEY_RENORMALIZE_LOGITS] = {"renormalize_logits", QW_SETTING_BOOLEAN, AT(renormalize_logits), 0, 0, BOOL_WANTED},
    [QW_KEY_REPETITION_PENALTY] = {"repetition_penalty", QW_SETTING_REAL, AT(repetition_penalty), QW_SETTING_ABOVE_ZERO,
                                   QW_SETTING_HUGE, "a number > 0 (1: off)"},
    [QW_KEY_PRESENCE_PENALTY] = {"presence_penalty", QW_SETTING_REAL, AT(presence_penalty), -2, 2, PENALTY_WANTED},
    [QW_KEY_FREQUENCY_PENALTY] = {"frequency_penalty", QW_SETTING_REAL, AT(frequency_penalty), -2, 2, PENALTY_WANTED},
    [QW_KEY_NO_REPEAT_NGRAM_SIZE] = {"no_repeat_ngram_size", QW_SETTING_INTEGER, AT(no_repeat_ngram_size), 0, INT_MAX_D,
                                     "an integer >= 0 (0: off)"},
    [QW_KEY_BAD_WORDS_IDS] = {"bad_words_ids", QW_SETTING_WORDS, 0, 0, 0, "an array of non-empty arrays of token ids"},
    [QW_KEY_SEQUENCE_BIAS] = {"sequence_bias", QW_SETTING_BIASES, 0, 0, 0, "an array of [[token ids], bias]"},
    [QW_KEY_LOGIT_BIAS] = {"logit_bias", QW_SETTING_LOGIT_BIAS, 0, 0, 0, "an object of biases by token id"},
    [QW_KEY_SUPPRESS_TOKENS] = {"suppress_tokens", QW_SETTING_ID_ARRAY, AT(suppress), 0, 0, IDS_WANTED},
    [QW_KEY_BEGIN_SUPPRESS_TOKENS] = {"begin_suppress_tokens", QW_SETTING_ID_ARRAY, AT(begin_suppress), 0, 0,
                                      IDS_WANTED},
    [QW_KEY_FORCED_EOS_TOKEN_ID] = {"forced_eos_token_id", QW_SETTING_IDS, AT(forced_eos), 0, 0,
                                    "a token id or an array of them"},
    [QW_KEY_DECAY] = {"exponential_decay_length_penalty", QW_SETTING_DECAY, 0, 0, 0,
                      "[start, factor] with an integer start >= 0 and a factor > 0"},
    [QW_KEY_EOS_TOKEN_ID] = {"eos_token_id", QW_SETTING_IDS, AT(eos), 0, 0,
                             "a token id or an array of them ([]: none)"},
    [QW_KEY_PAD_TOKEN_ID] = {"pad_token_id", QW_SETTING_ID, AT(pad), 0, 0, "a token id"},
    [QW_KEY_NUM_RETURN_SEQUENCES] = {"num_return_sequences", QW_SETTING_INTEGER, AT(num_return_sequences), 1, INT_MAX_D,
                                     "an integer >= 1"},
    [QW_KEY_SEED] = {"seed", QW_SETTING_UNSIGNED, AT(seed), 0, 4294967295.0, "an integer from 0 to 4294967295"},
    [QW_KEY_RNG_STATE] = {"rng_state", QW_SETTING_TEXT, AT(rng_state), 0, 0,
                          "the text of an earlier Result's rng_state"},
    [QW_KEY_RESPONSE_FORMAT] = {"response_format", QW_SETTING_TEXT, AT(response_format), 0, 0,
                                "the JSON text of an object with a type"},
    [QW_KEY_WHITESPACE] = {"whitespace", QW_SETTING_TEXT, AT(whitespace), 0, 0, "bounded, compact or any"},
    [QW_KEY_FINISH_IN_BUDGET] = {"finish_in_budget", QW_SETTING_BOOLEAN, AT(finish_in_budget), 0, 0, BOOL_WANTED},
    [QW_KEY_LOGPROBS] = {"logprobs", QW_SETTING_INTEGER, AT(logprobs), 0, INT_MAX_D,
                         "an integer from 0 to the size of the vocabulary (leave it out for none)"},
    [QW_KEY_SKIP_SPECIAL_TOKENS] = {"skip_special_tokens", QW_SETTING_BOOLEAN, AT(skip_special_tokens), 0, 0,
                                    BOOL_WANTED},
    [QW_KEY_CUSTOM_PROCESSOR] = {"custom_processor", QW_SETTING_BOOLEAN, AT(custom_processor), 0, 0, BOOL_WANTED},
    [QW_KEY_CHAT] = {"chat", QW_SETTING_BOOLEAN, AT(chat), 0, 0, BOOL_WANTED},
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

const qw_setting *qw_setting_of(qw_setting_id key)
{
    return &keys[key];
}

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
        qw_print(dst, 64, "%s", qw_json_bool(value) ? "true" : "false");
        break;
    case QW_JSON_NUMBER:
        qw_print(dst, 64, "%.10g", qw_json_number(value));
        break;
    case QW_JSON_STRING:
        qw_print(dst, 64, "\"%.40s\"", text);
        break;
    case QW_JSON_ARRAY:
        qw_print(dst, 64, "an array of %d", (int)qw_json_size(value));
        break;
    case QW_JSON_OBJECT:
        qw_print(dst, 64, "an object");
        break;
    default:
        qw_print(dst, 64, "null");
        break;
    }
    return dst;
}
