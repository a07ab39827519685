/* SPDX-License-Identifier: MIT
 * A value is read into a temporary first, so that a key of a model's file that cannot be used leaves the settings as they
 * were. */
#include "generation/settings_value.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

/* One key of one source. */
typedef struct reading {
    const qw_setting *key;
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
                   quoted && in->key->kind <= QW_SETTING_BOOLEAN ? ": without the quotes" : "");
}

static qw_status read_number(const reading *in, const qw_json *value, double *number)
{
    double v = qw_json_number(value);
    bool whole = in->key->kind == QW_SETTING_REAL;

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

    if (qw_json_kind_of(value) == QW_JSON_NUMBER && in->key->kind == QW_SETTING_IDS) {
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

    if ((qw_json_kind_of(value) != QW_JSON_NUMBER && !forbids) || !(v >= -QW_SETTING_HUGE && v <= QW_SETTING_HUGE))
        return qw_fail(in->err, QW_ERR_USAGE,
                       "%s: %s holds the bias %s, wanted a finite number, or -Infinity to forbid", in->what,
                       in->key->name, qw_setting_show(shown, value));
    *bias = forbids ? -(float)(1e300 * 1e300) : (float)v;
    return QW_OK;
}

/* A bias and its number in the list. */
typedef struct numbered {
    qw_bias *bias;
    int32_t i;
} numbered;

static int compare_ids(const qw_id_list *a, const qw_id_list *b)
{
    return a->n != b->n ? (a->n > b->n) - (a->n < b->n) : memcmp(a->v, b->v, (size_t)a->n * sizeof *a->v);
}

static int by_ids(const void *a, const void *b)
{
    const numbered *x = a, *y = b;
    int order = compare_ids(&x->bias->ids, &y->bias->ids);

    return order ? order : (x->i > y->i) - (x->i < y->i);
}

/* Transformers makes a dict of them: of equal sequences the place of the first and the bias of the last count. */
static qw_status unite_biases(const reading *in, qw_bias *biases, int32_t *n)
{
    numbered *sorted = qw_calloc((size_t)*n, sizeof *sorted);
    qw_bias *first = NULL;
    int32_t kept = 0;

    if (!sorted) return qw_fail_memory(in->err, in->key->name, (double)*n * sizeof *sorted);
    for (int32_t i = 0; i < *n; i++) sorted[i] = (numbered){&biases[i], i};
    if (*n) qsort(sorted, (size_t)*n, sizeof *sorted, by_ids);
    for (int32_t i = 0; i < *n; i++) {
        qw_bias *bias = sorted[i].bias;
        if (!first || compare_ids(&first->ids, &bias->ids) != 0) {
            first = bias;
            continue;
        }
        first->bias = bias->bias;
        qw_free(bias->ids.v);
        bias->ids = (qw_id_list){0};
    }
    qw_free(sorted);
    for (int32_t i = 0; i < *n; i++)
        if (biases[i].ids.n) biases[kept++] = biases[i];
    *n = kept;
    return QW_OK;
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
    bool members = in->key->kind == QW_SETTING_LOGIT_BIAS;
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
        else biases[n++] = bias;
    }
    if (!status && !members) status = unite_biases(in, biases, &n);
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
    if (!(from >= 0 && from <= (double)INT32_MAX) || (double)(int32_t)from < from) return refuse(in, start);
    if (!(by >= QW_SETTING_ABOVE_ZERO && by <= QW_SETTING_HUGE)) return refuse(in, factor);
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

    if (in->key->kind == QW_SETTING_BOOLEAN) {
        if (qw_json_kind_of(value) != QW_JSON_BOOL) return refuse(in, value);
        *(bool *)field = qw_json_bool(value);
        return QW_OK;
    }
    QW_TRY(read_number(in, value, &number));
    if (in->key->kind == QW_SETTING_REAL) *(double *)field = number;
    else if (in->key->kind == QW_SETTING_UNSIGNED) *(uint32_t *)field = (uint32_t)number;
    else *(int32_t *)field = (int32_t)number;
    return QW_OK;
}

qw_status qw_setting_read(qw_settings *s, qw_setting_id key, const qw_json *value, int32_t n_vocab, const char *what,
                          qw_error *err)
{
    reading in = {qw_setting_of(key), what, n_vocab, err};
    void *field = (char *)s + in.key->at;

    switch (in.key->kind) {
    case QW_SETTING_WORDS:
        return read_words(&in, value, s);
    case QW_SETTING_BIASES:
        return read_biases(&in, value, &s->sequence_bias, &s->n_sequence_bias);
    case QW_SETTING_LOGIT_BIAS:
        return read_biases(&in, value, &s->logit_bias, &s->n_logit_bias);
    case QW_SETTING_DECAY:
        return read_decay(&in, value, s);
    case QW_SETTING_TEXT:
        return read_text(&in, value, field);
    case QW_SETTING_ID:
        return read_id(&in, value, field);
    case QW_SETTING_IDS:
    case QW_SETTING_ID_ARRAY:
        return read_ids(&in, value, field);
    default:
        return read_scalar(&in, value, field);
    }
}
