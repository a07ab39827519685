/* SPDX-License-Identifier: MIT
 * The ten as regular expressions over ASCII; where there are two, both must match. RFC 3339 (dates), ISO 8601 as in its
 * appendix A (durations), RFC 5321 (email), 1123 and 5891 (hostnames), 2673 and 4291 (addresses), 4122, 3986. */
#include "format/text_formats.h"

#include "format/expression_pool.h"
#include "format/regex.h"

#define DIGITS "[0-9]{1,9}"
#define DATE                                                                                                           \
    "(?:[0-9]{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|"              \
    "02-(?:0[1-9]|1[0-9]|2[0-8]))|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29)"
#define TIME "(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\\.[0-9]{1,9})?(?:Z|[+\\-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
#define SECONDS DIGITS "S"
#define MINUTES DIGITS "M(?:" SECONDS ")?"
#define CLOCK "T(?:" DIGITS "H(?:" MINUTES ")?|" MINUTES "|" SECONDS ")"
#define DAYS DIGITS "D"
#define MONTHS DIGITS "M(?:" DAYS ")?"
#define DURATION "P(?:(?:" DAYS "|" MONTHS "|" DIGITS "Y(?:" MONTHS ")?)(?:" CLOCK ")?|" CLOCK "|" DIGITS "W)"
#define OCTET "(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
#define IPV4 OCTET "(?:\\." OCTET "){3}"
#define H16 "[0-9a-fA-F]{1,4}"
#define LS32 "(?:" H16 ":" H16 "|" IPV4 ")"
#define IPV6                                                                                                           \
    "(?:(?:" H16 ":){6}" LS32 "|::(?:" H16 ":){5}" LS32 "|(?:" H16 ")?::(?:" H16 ":){4}" LS32 "|(?:(?:" H16            \
    ":){0,1}" H16 ")?::(?:" H16 ":){3}" LS32 "|(?:(?:" H16 ":){0,2}" H16 ")?::(?:" H16 ":){2}" LS32 "|(?:(?:" H16      \
    ":){0,3}" H16 ")?::" H16 ":" LS32 "|(?:(?:" H16 ":){0,4}" H16 ")?::" LS32 "|(?:(?:" H16 ":){0,5}" H16 ")?::" H16   \
    "|(?:(?:" H16 ":){0,6}" H16 ")?::)"
#define ALNUM "[a-zA-Z0-9]"
#define LDH "[a-zA-Z0-9\\-]"
/* At most 63 of LDH, none of the ends a dash, and not two dashes in third and fourth place. */
#define LABEL                                                                                                          \
    "(?:" ALNUM "|" ALNUM LDH "?" ALNUM "|" ALNUM LDH "{2}" ALNUM "|" ALNUM LDH "(?:" ALNUM LDH "|-" ALNUM ")" LDH     \
    "{0,58}" ALNUM ")"
#define ATOM "[a-zA-Z0-9!#$%&'*+/=?^_`{|}~\\-]+"
#define HEX2 "%[0-9a-fA-F]{2}"
#define NAME_CHARS "a-zA-Z0-9\\-._~!$&'()*+,;="
#define PCHAR "(?:[" NAME_CHARS ":@]|" HEX2 ")"
#define SEGMENTS "(?:/" PCHAR "*)*"
#define URI                                                                                                            \
    "[a-zA-Z][a-zA-Z0-9+\\-.]*:(?://(?:(?:[" NAME_CHARS ":]|" HEX2 ")*@)?(?:(?:[" NAME_CHARS "]|" HEX2 ")*|\\[" IPV6   \
    "\\])(?::[0-9]{0,5})?" SEGMENTS "|/(?:" PCHAR "+" SEGMENTS ")?|" PCHAR "+" SEGMENTS ")(?:\\?(?:" PCHAR             \
    "|[/?])*)?(?:#(?:" PCHAR "|[/?])*)?"

static const struct {
    const char *name, *pattern, *also;
} enforced[QW_EXPR_FORMATS] = {
    {"date-time", DATE "T" TIME, NULL},
    {"date", DATE, NULL},
    {"time", TIME, NULL},
    {"duration", DURATION, NULL},
    {"email", ATOM "(?:\\." ATOM ")*@" LABEL "(?:\\." LABEL ")+", "[^@]{1,64}@[^@]{1,253}"},
    {"hostname", LABEL "(?:\\." LABEL ")*", "[\\s\\S]{1,253}"},
    {"ipv4", IPV4, NULL},
    {"ipv6", IPV6, NULL},
    {"uuid", "[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}", NULL},
    {"uri", URI, NULL},
};

static const char *const refused[] = {"idn-email",    "idn-hostname", "uri-reference",         "iri",  "iri-reference",
                                      "uri-template", "json-pointer", "relative-json-pointer", "regex"};

static size_t index_of(qw_text name)
{
    size_t i = 0;

    while (i < QW_EXPR_FORMATS && !qw_text_is(name, enforced[i].name)) i++;
    return i;
}

qw_format_kind qw_text_format_kind(qw_text name)
{
    if (index_of(name) < QW_EXPR_FORMATS) return QW_FORMAT_ENFORCED;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (qw_text_is(name, refused[i])) return QW_FORMAT_REFUSED;
    return QW_FORMAT_UNKNOWN;
}

static qw_status parse(qw_expr_pool *pool, const char *pattern, qw_spelling spelling, qw_expr *out, qw_error *err)
{
    return qw_regex_parse(pool, qw_text_of(pattern), qw_text_of(""), QW_REGEX_WHOLE, spelling, out, err);
}

qw_status qw_text_format(qw_expr_pool *pool, qw_text name, qw_spelling spelling, qw_expr *out, qw_error *err)
{
    size_t i = index_of(name);
    qw_expr also;

    *out = QW_EXPR_NONE;
    if (i == QW_EXPR_FORMATS)
        return qw_fail(err, QW_ERR_USAGE, "the format \"%.*s\" is not enforced here", (int)(name.n < 60 ? name.n : 60),
                       name.bytes);
    if (!pool->formats[spelling][i]) {
        QW_TRY(parse(pool, enforced[i].pattern, spelling, out, err));
        if (enforced[i].also) {
            QW_TRY(parse(pool, enforced[i].also, spelling, &also, err));
            *out = qw_expr_and2(pool, *out, also);
        }
        QW_TRY(qw_expr_status(pool, err));
        pool->formats[spelling][i] = *out;
    }
    *out = pool->formats[spelling][i];
    return QW_OK;
}
