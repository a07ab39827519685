/* SPDX-License-Identifier: MIT
 * Categories stand in one table of runs, which is read from its beginning for each class. */
#include "format/regex_classes.h"

#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

#include "tokenizer/unicode.h"

enum { LAST = 0x10FFFF };

void qw_char_set_free(qw_char_set *set)
{
    qw_free(set->v);
    *set = (qw_char_set){0};
}

qw_status qw_char_set_add(qw_char_set *set, uint32_t first, uint32_t last, qw_error *err)
{
    if (set->n == set->cap) {
        size_t cap = set->cap ? 2 * set->cap : 16;
        qw_char_range *v = qw_realloc(set->v, cap, sizeof *v);

        if (!v) return qw_fail_memory(err, "a class of characters", (double)(cap * sizeof *v));
        set->v = v;
        set->cap = cap;
    }
    set->v[set->n++] = (qw_char_range){first, last};
    return QW_OK;
}

static int by_first(const void *a, const void *b)
{
    uint32_t x = ((const qw_char_range *)a)->first, y = ((const qw_char_range *)b)->first;

    return (x > y) - (x < y);
}

void qw_char_set_normalise(qw_char_set *set)
{
    size_t kept = 0;

    if (set->n) qsort(set->v, set->n, sizeof *set->v, by_first);
    for (size_t i = 0; i < set->n; i++) {
        qw_char_range *end = kept ? &set->v[kept - 1] : NULL;

        if (!end || set->v[i].first > end->last + 1) set->v[kept++] = set->v[i];
        else if (set->v[i].last > end->last) end->last = set->v[i].last;
    }
    set->n = kept;
}

qw_status qw_char_set_invert(qw_char_set *set, qw_error *err)
{
    qw_char_set out = {0};
    uint32_t next = 0;
    qw_status status = QW_OK;

    qw_char_set_normalise(set);
    for (size_t i = 0; i < set->n && !status; i++) {
        if (set->v[i].first > next) status = qw_char_set_add(&out, next, set->v[i].first - 1, err);
        next = set->v[i].last + 1;
    }
    if (!status && next <= LAST) status = qw_char_set_add(&out, next, LAST, err);
    qw_char_set_free(set);
    *set = out;
    return status;
}

/* Adds the ranges of source, or what they leave out. */
static qw_status add_ranges(qw_char_set *set, const qw_char_range *v, size_t n, bool inverted, qw_error *err)
{
    uint32_t next = 0;

    for (size_t i = 0; i < n; i++) {
        if (!inverted) QW_TRY(qw_char_set_add(set, v[i].first, v[i].last, err));
        else if (v[i].first > next) QW_TRY(qw_char_set_add(set, next, v[i].first - 1, err));
        next = v[i].last + 1;
    }
    return inverted && next <= LAST ? qw_char_set_add(set, next, LAST, err) : QW_OK;
}

qw_status qw_char_set_add_escape(qw_char_set *set, char escape, qw_error *err)
{
    static const qw_char_range digits[] = {{'0', '9'}};
    static const qw_char_range words[] = {{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}};
    static const qw_char_range spaces[] = {{9, 13},          {32, 32},         {0xA0, 0xA0},     {0x1680, 0x1680},
                                           {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F},
                                           {0x3000, 0x3000}, {0xFEFF, 0xFEFF}};
    static const qw_char_range line_ends[] = {{10, 10}, {13, 13}, {0x2028, 0x2029}};

    switch (escape) {
    case 'd':
    case 'D':
        return add_ranges(set, digits, 1, escape == 'D', err);
    case 'w':
    case 'W':
        return add_ranges(set, words, 4, escape == 'W', err);
    case 's':
    case 'S':
        return add_ranges(set, spaces, sizeof spaces / sizeof *spaces, escape == 'S', err);
    default:
        return add_ranges(set, line_ends, 3, true, err);
    }
}

/* Longer names of categories, and of groups of them. */
static const struct {
    const char *name, *categories;
} longer[] = {
    {"Letter", "L"},
    {"Cased_Letter", "LC"},
    {"Uppercase_Letter", "Lu"},
    {"Lowercase_Letter", "Ll"},
    {"Titlecase_Letter", "Lt"},
    {"Modifier_Letter", "Lm"},
    {"Other_Letter", "Lo"},
    {"Mark", "M"},
    {"Combining_Mark", "M"},
    {"Nonspacing_Mark", "Mn"},
    {"Spacing_Mark", "Mc"},
    {"Enclosing_Mark", "Me"},
    {"Number", "N"},
    {"Decimal_Number", "Nd"},
    {"digit", "Nd"},
    {"Letter_Number", "Nl"},
    {"Other_Number", "No"},
    {"Punctuation", "P"},
    {"punct", "P"},
    {"Connector_Punctuation", "Pc"},
    {"Dash_Punctuation", "Pd"},
    {"Open_Punctuation", "Ps"},
    {"Close_Punctuation", "Pe"},
    {"Initial_Punctuation", "Pi"},
    {"Final_Punctuation", "Pf"},
    {"Other_Punctuation", "Po"},
    {"Symbol", "S"},
    {"Math_Symbol", "Sm"},
    {"Currency_Symbol", "Sc"},
    {"Modifier_Symbol", "Sk"},
    {"Other_Symbol", "So"},
    {"Separator", "Z"},
    {"Space_Separator", "Zs"},
    {"Line_Separator", "Zl"},
    {"Paragraph_Separator", "Zp"},
    {"Other", "C"},
    {"Control", "Cc"},
    {"cntrl", "Cc"},
    {"Format", "Cf"},
    {"Surrogate", "Cs"},
    {"Private_Use", "Co"},
    {"Unassigned", "Cn"},
};

/* The categories that a name stands for, as bits in the order of qw_unicode_category_names; 0: none known. */
static uint32_t categories_of(qw_text name)
{
    uint32_t bits = 0;

    if (qw_text_is(name, "LC")) return 7;
    for (size_t i = 0; i < sizeof longer / sizeof *longer; i++)
        if (qw_text_is(name, longer[i].name)) return categories_of(qw_text_of(longer[i].categories));
    for (size_t i = 0; i < QW_UNICODE_CATEGORIES; i++)
        if (name.n && name.n <= 2 && !memcmp(qw_unicode_category_names + 2 * i, name.bytes, name.n)) bits |= 1u << i;
    return bits;
}

static qw_status add_categories(qw_char_set *set, uint32_t wanted, qw_error *err)
{
    size_t at = 0;

    for (uint32_t first = 0, n; first <= LAST; first += n)
        if (wanted >> qw_unicode_next_categories(&at, &n) & 1) QW_TRY(qw_char_set_add(set, first, first + n - 1, err));
    return QW_OK;
}

static bool skip(qw_text *name, const char *before)
{
    if (!qw_text_begins(*name, before)) return false;
    name->bytes += strlen(before);
    name->n -= strlen(before);
    return true;
}

qw_status qw_char_set_add_property(qw_char_set *set, qw_text name, bool inverted, bool *known, qw_error *err)
{
    static const qw_char_range any[] = {{0, LAST}}, ascii[] = {{0, 127}};
    uint32_t all = (1u << QW_UNICODE_CATEGORIES) - 1, wanted;

    *known = true;
    if (qw_text_is(name, "Any")) return add_ranges(set, any, 1, inverted, err);
    if (qw_text_is(name, "ASCII")) return add_ranges(set, ascii, 1, inverted, err);
    if (!skip(&name, "General_Category=")) skip(&name, "gc=");
    wanted = qw_text_is(name, "Assigned") ? all & ~categories_of(qw_text_of("Cn")) : categories_of(name);
    *known = wanted != 0;
    return *known ? add_categories(set, inverted ? all & ~wanted : wanted, err) : QW_OK;
}
