/* SPDX-License-Identifier: MIT
 * Counting and fixtures of the conformance runner. */
#define _POSIX_C_SOURCE 200809L

#include "conformance.h"

#include "base/exact_math.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* cJSON ends a string at NUL. "\u0000" is read as this noncharacter, which no fixture holds, and put back by conf_text. */
static const char nul_escape[] = "\\u0000", stand_in_escape[] = "\\ufdd1", stand_in[] = "\xef\xb7\x91";

void conf_where(conf *c, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vsnprintf(c->where, sizeof c->where, format, args);
    va_end(args);
}

bool conf_check(conf *c, bool ok, const char *format, ...)
{
    va_list args;

    c->passed += ok;
    c->failed += !ok;
    if (ok) return true;
    printf("FAIL %s: ", c->where);
    va_start(args, format);
    vprintf(format, args);
    va_end(args);
    putchar('\n');
    return false;
}

bool conf_ok(conf *c, qw_status status, const qw_error *err, const char *what)
{
    if (status == QW_OK) return true;
    return conf_check(c, false, "%s: got %s (%s), wanted ok", what, qw_status_name(status), err->text);
}

void conf_skip(conf *c, int64_t n, const char *why)
{
    c->skipped += n;
    printf("skip %s: %" PRId64 " (%s)\n", c->where, n, why);
}

bool conf_same_ids(conf *c, const char *what, const int32_t *got, size_t n_got, const int32_t *want, size_t n_want)
{
    size_t i = 0;

    while (i < n_got && i < n_want && got[i] == want[i]) i++;
    if (i == n_got && i == n_want) return conf_check(c, true, "%s", what);
    return conf_check(c, false, "%s: %zu ids, wanted %zu; the first difference is at %zu: got %d, wanted %d", what,
                      n_got, n_want, i, i < n_got ? (int)got[i] : -1, i < n_want ? (int)want[i] : -1);
}

bool conf_same_text(conf *c, const char *what, qw_text got, qw_text want)
{
    qw_buf a = {0}, b = {0};
    bool same = got.n == want.n && (got.n == 0 || memcmp(got.bytes, want.bytes, got.n) == 0);

    if (!same && (qw_json_write_string(&a, got, NULL) || qw_json_write_string(&b, want, NULL))) abort();
    conf_check(c, same, "%s: got %.*s, wanted %.*s", what, (int)a.n, a.bytes ? a.bytes : "", (int)b.n,
               b.bytes ? b.bytes : "");
    qw_buf_free(&a);
    qw_buf_free(&b);
    return same;
}

/* How far got is from wanted; infinite where one of them is not a number. */
static double distance(float got, float want, bool relative)
{
    double magnitude = want < 0 ? -(double)want : (double)want;
    double d = (double)got - (double)want;

    if (got >= want && got <= want) return 0; /* infinities too */
    d = d < 0 ? -d : d;
    if (d != d) return 1.0 / 0.0;
    return relative && magnitude > 1 ? d / magnitude : d;
}

bool conf_near(conf *c, const char *what, const float *got, const float *want, size_t n, double tolerance,
               bool relative)
{
    double worst = 0;
    size_t at = 0;

    for (size_t i = 0; i < n; i++) {
        double d = distance(got[i], want[i], relative);

        if (d > worst) {
            worst = d;
            at = i;
        }
    }
    if (worst <= tolerance) return conf_check(c, true, "%s", what);
    return conf_check(c, false, "%s: got %.9g, wanted %.9g at %zu of %zu (difference %.3g, tolerance %.3g)", what,
                      (double)got[at], (double)want[at], at, n, worst, tolerance);
}

bool conf_same_bits(conf *c, const char *what, const float *got, const float *want, size_t n)
{
    size_t i = 0;

    while (i < n && memcmp(got + i, want + i, sizeof *got) == 0) i++;
    if (i == n) return conf_check(c, true, "%s", what);
    return conf_check(c, false, "%s: got %a, wanted %a at %zu of %zu (not bit for bit)", what, (double)got[i],
                      (double)want[i], i, n);
}

void *conf_new(size_t n, size_t size)
{
    void *block = qw_calloc(n, size);

    if (block) return block;
    fprintf(stderr, "conformance: no memory for %zu x %zu bytes\n", n, size);
    exit(EXIT_FAILURE);
}

bool conf_exists(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0;
}

const char *conf_path(char *buffer, size_t size, const char *folder, const char *name)
{
    snprintf(buffer, size, "%s/%s", folder, name);
    return buffer;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

conf_names conf_folders(const char *path)
{
    conf_names names = {0};
    DIR *folder = opendir(path);
    struct dirent *entry;

    while (folder && (entry = readdir(folder)) != NULL && names.n < sizeof names.v / sizeof *names.v) {
        if (entry->d_name[0] == '.') continue;
        names.v[names.n] = conf_new(strlen(entry->d_name) + 1, 1);
        memcpy(names.v[names.n++], entry->d_name, strlen(entry->d_name));
    }
    if (folder) closedir(folder);
    qsort(names.v, names.n, sizeof *names.v, by_name);
    return names;
}

void conf_names_free(conf_names *names)
{
    for (size_t i = 0; i < names->n; i++) qw_free(names->v[i]);
    names->n = 0;
}

bool conf_read(conf *c, const char *path, qw_buf *out)
{
    FILE *f = fopen(path, "rb");
    char *block = conf_new(1, 1 << 16);
    size_t n;
    bool ok = f != NULL;

    out->n = 0;
    while (ok && (n = fread(block, 1, 1 << 16, f)) > 0) ok = qw_buf_append(out, block, n, NULL) == QW_OK;
    if (!ok || ferror(f)) ok = conf_check(c, false, "%s: cannot be read", path);
    if (f) fclose(f);
    qw_free(block);
    return ok;
}

/* An escaped backslash before u0000 is not an escape of NUL: pairs of backslashes are stepped over. */
static void replace_nul_escapes(char *text, size_t n)
{
    size_t length = sizeof nul_escape - 1;

    for (size_t i = 0; i + length <= n; i++) {
        if (text[i] != '\\') continue;
        if (memcmp(text + i, nul_escape, length) == 0) memcpy(text + i, stand_in_escape, length);
        i++;
    }
}

static qw_json *parse(conf *c, char *text, size_t n, const char *what)
{
    qw_json *json = NULL;
    qw_error err = {0};

    replace_nul_escapes(text, n);
    conf_ok(c, qw_json_parse(&json, (qw_text){text, n}, what, &err), &err, what);
    return json;
}

qw_json *conf_read_json(conf *c, const char *path)
{
    qw_buf text = {0};
    qw_json *json = conf_read(c, path, &text) ? parse(c, text.bytes, text.n, path) : NULL;

    qw_buf_free(&text);
    return json;
}

void conf_each_line(conf *c, const char *path, conf_line_fn *fn, void *arg)
{
    qw_buf text = {0};

    if (!conf_read(c, path, &text)) return;
    for (size_t at = 0; at < text.n;) {
        char *end = memchr(text.bytes + at, '\n', text.n - at);
        size_t n = end ? (size_t)(end - text.bytes) - at : text.n - at;
        qw_json *line = parse(c, text.bytes + at, n, path);

        if (line) fn(c, line, arg);
        qw_json_free(line);
        at += n + 1;
    }
    qw_buf_free(&text);
}

qw_buf conf_text(const qw_json *node)
{
    const char *s = qw_json_string(node);
    qw_buf out = {0};
    const char *nul;
    qw_status status = QW_OK;

    while (!status && (nul = strstr(s, stand_in)) != NULL) {
        status = qw_buf_append(&out, s, (size_t)(nul - s), NULL);
        if (!status) status = qw_buf_append(&out, "", 1, NULL);
        s = nul + strlen(stand_in);
    }
    if (!status) status = qw_buf_append(&out, s, strlen(s) + 1, NULL);
    if (status) abort();
    out.n--; /* the NUL behind it is there, not part of it */
    return out;
}

static void append(qw_buf *out, const char *text)
{
    if (qw_buf_append(out, text, strlen(text), NULL)) abort();
}

static void write_scalar(qw_buf *out, const qw_json *node)
{
    qw_json_kind kind = qw_json_kind_of(node);
    qw_status status = QW_OK;

    if (kind == QW_JSON_NUMBER) {
        status = qw_json_write_number(out, qw_json_number(node), NULL);
    } else if (kind == QW_JSON_STRING) {
        status = qw_json_write_string(out, qw_text_of(qw_json_string(node)), NULL);
    } else {
        append(out, kind == QW_JSON_NULL ? "null" : qw_json_bool(node) ? "true" : "false");
    }
    if (status) abort();
}

void conf_write_json(qw_buf *out, const qw_json *node)
{
    qw_json_kind kind = qw_json_kind_of(node);
    bool first = true;

    if (kind != QW_JSON_ARRAY && kind != QW_JSON_OBJECT) {
        write_scalar(out, node);
        return;
    }
    append(out, kind == QW_JSON_ARRAY ? "[" : "{");
    for (const qw_json *child = qw_json_first(node); child; child = qw_json_next(child), first = false) {
        if (!first) append(out, ", ");
        if (kind == QW_JSON_OBJECT) {
            if (qw_json_write_string(out, qw_text_of(qw_json_key(child)), NULL)) abort();
            append(out, ": ");
        }
        conf_write_json(out, child);
    }
    append(out, kind == QW_JSON_ARRAY ? "]" : "}");
}

qw_ids conf_ids(const qw_json *array)
{
    qw_ids ids = {0};

    for (const qw_json *n = qw_json_first(array); n; n = qw_json_next(n))
        if (qw_ids_push(&ids, (int32_t)qw_json_number(n), NULL)) abort();
    return ids;
}

float *conf_read_f32(conf *c, const char *folder, const qw_json *array, size_t n)
{
    const char *name = qw_json_string(qw_json_get(array, "file"));
    qw_buf bytes = {0};
    char path[512];
    float *values = NULL;
    size_t shape = 1;

    for (const qw_json *d = qw_json_first(qw_json_get(array, "shape")); d; d = qw_json_next(d))
        shape *= (size_t)qw_json_number(d);
    if (conf_read(c, conf_path(path, sizeof path, folder, name), &bytes)) {
        if (shape == n && bytes.n == n * sizeof *values) {
            values = conf_new(n, sizeof *values);
            memcpy(values, bytes.bytes, bytes.n);
        } else {
            conf_check(c, false, "%s: %zu floats by its shape and %zu in the file, wanted %zu", name, shape,
                       bytes.n / sizeof *values, n);
        }
    }
    qw_buf_free(&bytes);
    return values;
}

float conf_float(const qw_json *node)
{
    const char *s = qw_json_string(node);

    if (qw_json_kind_of(node) != QW_JSON_STRING) return (float)qw_json_number(node);
    if (strcmp(s, "inf") == 0) return 1.0f / 0.0f;
    if (strcmp(s, "-inf") == 0) return -1.0f / 0.0f;
    return 0.0f / 0.0f;
}

double conf_log_sum_exp(const float *x, size_t n)
{
    double best = -1.0 / 0.0, sum = 0;

    for (size_t i = 0; i < n; i++) best = (double)x[i] > best ? (double)x[i] : best;
    for (size_t i = 0; i < n; i++) sum += qw_exp((double)x[i] - best);
    return best + qw_log(sum);
}

int32_t conf_argmax(const float *x, size_t n)
{
    size_t best = 0;

    for (size_t i = 1; i < n; i++)
        if (x[i] > x[best]) best = i;
    return (int32_t)best;
}

double conf_divergence(const float *reference, const float *got, size_t n)
{
    double a = conf_log_sum_exp(reference, n), b = conf_log_sum_exp(got, n), kl = 0;

    for (size_t i = 0; i < n; i++) {
        double p = (double)reference[i] - a;

        kl += qw_exp(p) * (p - ((double)got[i] - b));
    }
    return kl;
}
