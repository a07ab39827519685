/* SPDX-License-Identifier: MIT
 * What is accepted is what Qwen2's published files hold, in the spellings of several versions of the library. */
#include "tokenizer/tokenizer_rules.h"

#include "base/json.h"
#include "tokenizer/pretokenize.h"
#include "base/quote_text.h"

#include <string.h>

qw_text *qw_tokenizer_rules_member(qw_tokenizer_rules *rules, qw_text name)
{
    if (qw_text_is(name, "normalizer")) return &rules->normalizer;
    if (qw_text_is(name, "pre_tokenizer")) return &rules->pre_tokenizer;
    if (qw_text_is(name, "post_processor")) return &rules->post_processor;
    return qw_text_is(name, "decoder") ? &rules->decoder : NULL;
}

static const char *type_of(const qw_json *node)
{
    return qw_json_string(qw_json_get(node, "type"));
}

static bool is_type(const qw_json *node, const char *type)
{
    return strcmp(type_of(node), type) == 0;
}

static qw_status unsupported(const char *part, const char *found, const char *wanted, qw_error *err)
{
    char shown[64];

    return qw_fail(err, QW_ERR_MODEL, "tokenizer.json: %s is \"%s\"; Qwen2 has %s, nothing else is supported", part,
                   qw_quote_text(shown, qw_text_of(found)), wanted);
}

/* NFC, nothing, or a sequence of these. */
static qw_status check_normalizer(const qw_json *node, bool *nfc, qw_error *err)
{
    const qw_json *list = qw_json_get(node, "normalizers");

    *nfc = is_type(node, "NFC");
    if (*nfc || !node || qw_json_kind_of(node) == QW_JSON_NULL) return QW_OK;
    if (!is_type(node, "Sequence")) return unsupported("normalizer", type_of(node), "NFC", err);
    for (const qw_json *part = qw_json_first(list); part; part = qw_json_next(part)) {
        if (!is_type(part, "NFC")) return unsupported("normalizer", type_of(part), "NFC", err);
        *nfc = true;
    }
    return QW_OK;
}

static qw_status check_split(const qw_json *node, qw_error *err)
{
    const char *pattern = qw_json_string(qw_json_get(qw_json_get(node, "pattern"), "Regex"));

    if (!is_type(node, "Split")) return unsupported("pre_tokenizer", type_of(node), "Split, then ByteLevel", err);
    if (strcmp(pattern, QW_PRETOKENIZE_PATTERN) != 0)
        return unsupported("the pattern of pre_tokenizer", pattern, "another", err);
    if (strcmp(qw_json_string(qw_json_get(node, "behavior")), "Isolated") != 0)
        return unsupported("behavior of pre_tokenizer", qw_json_string(qw_json_get(node, "behavior")), "Isolated", err);
    if (qw_json_bool(qw_json_get(node, "invert"))) return unsupported("invert of pre_tokenizer", "true", "false", err);
    return QW_OK;
}

static qw_status check_byte_level(const qw_json *node, qw_error *err)
{
    const qw_json *regex = qw_json_get(node, "use_regex");

    if (!is_type(node, "ByteLevel")) return unsupported("pre_tokenizer", type_of(node), "Split, then ByteLevel", err);
    if (qw_json_bool(qw_json_get(node, "add_prefix_space")))
        return unsupported("add_prefix_space of pre_tokenizer", "true", "false", err);
    if (!regex || qw_json_bool(regex)) return unsupported("use_regex of pre_tokenizer", "true", "false", err);
    return QW_OK;
}

static qw_status check_pre_tokenizer(const qw_json *node, qw_error *err)
{
    const qw_json *list = qw_json_get(node, "pretokenizers");
    const qw_json *split = qw_json_first(list);

    if (!is_type(node, "Sequence") || qw_json_size(list) != 2)
        return unsupported("pre_tokenizer", type_of(node), "a sequence of Split and ByteLevel", err);
    QW_TRY(check_split(split, err));
    return check_byte_level(qw_json_next(split), err);
}

/* Nothing that adds tokens: ByteLevel only concerns offsets, a template may hold the text alone. */
static qw_status check_post_step(const qw_json *node, qw_error *err)
{
    const qw_json *single = qw_json_get(node, "single");

    if (is_type(node, "ByteLevel")) return QW_OK;
    if (!is_type(node, "TemplateProcessing")) return unsupported("post_processor", type_of(node), "ByteLevel", err);
    for (const qw_json *part = qw_json_first(single); part; part = qw_json_next(part))
        if (!qw_json_get(part, "Sequence"))
            return unsupported("post_processor", "a template that adds tokens", "ByteLevel", err);
    return QW_OK;
}

static qw_status check_post_processor(const qw_json *node, qw_error *err)
{
    const qw_json *list = qw_json_get(node, "processors");

    if (!node || qw_json_kind_of(node) == QW_JSON_NULL) return QW_OK;
    if (!is_type(node, "Sequence")) return check_post_step(node, err);
    for (const qw_json *part = qw_json_first(list); part; part = qw_json_next(part)) QW_TRY(check_post_step(part, err));
    return QW_OK;
}

static qw_status check_decoder(const qw_json *node, qw_error *err)
{
    return is_type(node, "ByteLevel") ? QW_OK : unsupported("decoder", type_of(node), "ByteLevel", err);
}

static qw_status parse(qw_json **root, qw_text text, const char *part, qw_error *err)
{
    *root = NULL;
    return text.n ? qw_json_parse(root, text, part, err) : QW_OK;
}

qw_status qw_tokenizer_rules_check(const qw_tokenizer_rules *rules, bool *nfc, qw_error *err)
{
    qw_json *normalizer = NULL, *pre = NULL, *post = NULL, *decoder = NULL;
    qw_status status = parse(&normalizer, rules->normalizer, "tokenizer.json: normalizer", err);

    if (!status) status = parse(&pre, rules->pre_tokenizer, "tokenizer.json: pre_tokenizer", err);
    if (!status) status = parse(&post, rules->post_processor, "tokenizer.json: post_processor", err);
    if (!status) status = parse(&decoder, rules->decoder, "tokenizer.json: decoder", err);
    if (!status) status = check_normalizer(normalizer, nfc, err);
    if (!status) status = check_pre_tokenizer(pre, err);
    if (!status) status = check_post_processor(post, err);
    if (!status) status = check_decoder(decoder, err);
    qw_json_free(normalizer);
    qw_json_free(pre);
    qw_json_free(post);
    qw_json_free(decoder);
    return status;
}

qw_status qw_tokenizer_rules_check_model(qw_text name, qw_text value, qw_error *err)
{
    static const struct {
        const char *name, *values[2];
    } rules[] = {
        {"type", {"\"BPE\"", "null"}},
        {"dropout", {"null", "0.0"}},
        {"continuing_subword_prefix", {"null", "\"\""}},
        {"end_of_word_suffix", {"null", "\"\""}},
        {"ignore_merges", {"false", "null"}},
    };
    char shown[64];

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        if (!qw_text_is(name, rules[i].name) || qw_text_is(value, rules[i].values[0]) ||
            qw_text_is(value, rules[i].values[1]))
            continue;
        return qw_fail(err, QW_ERR_MODEL, "tokenizer.json: model.%s is %s; Qwen2 has %s, nothing else is supported",
                       rules[i].name, qw_quote_text(shown, value), rules[i].values[0]);
    }
    return QW_OK;
}
