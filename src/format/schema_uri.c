/* SPDX-License-Identifier: MIT
 * The four cases of RFC 3986 5.2: a scheme, an authority, a path from the root, a path from where the base stands. */
#include "format/schema_uri.h"

#include <string.h>

void qw_uri_split(qw_text reference, qw_text *uri, qw_text *fragment)
{
    const char *sharp = reference.n ? memchr(reference.bytes, '#', reference.n) : NULL;
    size_t n = sharp ? (size_t)(sharp - reference.bytes) : reference.n;

    *uri = (qw_text){reference.bytes, n};
    *fragment = sharp ? (qw_text){sharp + 1, reference.n - n - 1} : (qw_text){NULL, 0};
}

/* The length of "scheme:" at the start, or 0. */
static size_t scheme_length(qw_text uri)
{
    for (size_t i = 0; i < uri.n; i++) {
        char c = uri.bytes[i], lower = (char)(c | 32);
        if (c == ':') return i ? i + 1 : 0;
        if (!(lower >= 'a' && lower <= 'z') && !(i && ((c >= '0' && c <= '9') || c == '+' || c == '-' || c == '.')))
            return 0;
    }
    return 0;
}

/* The length of "//authority" at from, or 0. */
static size_t authority_length(qw_text uri, size_t from)
{
    size_t n = 2;

    if (uri.n < from + 2 || uri.bytes[from] != '/' || uri.bytes[from + 1] != '/') return 0;
    while (from + n < uri.n && uri.bytes[from + n] != '/') n++;
    return n;
}

/* Takes "." and ".." out of the path that begins at from; returns the new length. */
static size_t remove_dots(char *uri, size_t n, size_t from)
{
    size_t out = from, i = from;

    while (i < n) {
        size_t end = i + 1; /* of the segment that begins with the slash at i */
        while (end < n && uri[end] != '/') end++;
        if (end - i == 2 && uri[i + 1] == '.') {
            if (end == n) uri[out++] = '/';
        } else if (end - i == 3 && uri[i + 1] == '.' && uri[i + 2] == '.') {
            while (out > from && uri[--out] != '/') {
            }
            if (end == n) uri[out++] = '/';
        } else {
            memmove(uri + out, uri + i, end - i);
            out += end - i;
        }
        i = end;
    }
    return out;
}

qw_text qw_uri_resolve(qw_arena *arena, qw_text base, qw_text uri)
{
    size_t root = scheme_length(base), keep, n;
    char *out;

    if (!uri.n) return qw_arena_text(arena, base);
    if (scheme_length(uri)) return qw_arena_text(arena, uri);
    if (authority_length(uri, 0)) {
        keep = root;
    } else {
        root += authority_length(base, root);
        keep = base.n;
        while (keep > root && base.bytes[keep - 1] != '/') keep--;
        if (uri.bytes[0] == '/') keep = root;
    }
    out = qw_arena_take(arena, keep + uri.n + 2, 1);
    if (!out) return (qw_text){NULL, 0};
    if (keep) memcpy(out, base.bytes, keep);
    n = keep;
    if (keep == root && root && uri.bytes[0] != '/') out[n++] = '/';
    memcpy(out + n, uri.bytes, uri.n);
    n += uri.n;
    if (root && n > root && out[root] == '/') n = remove_dots(out, n, root);
    return (qw_text){out, n};
}

static int hex_of(char c)
{
    if (c >= '0' && c <= '9') return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

qw_text qw_uri_decode(qw_arena *arena, qw_text text)
{
    char *out = qw_arena_take(arena, text.n + 1, 1);
    size_t n = 0;

    if (!out) return (qw_text){NULL, 0};
    for (size_t i = 0; i < text.n; i++) {
        bool coded =
            text.bytes[i] == '%' && i + 2 < text.n && hex_of(text.bytes[i + 1]) >= 0 && hex_of(text.bytes[i + 2]) >= 0;
        out[n++] = coded ? (char)(hex_of(text.bytes[i + 1]) * 16 + hex_of(text.bytes[i + 2])) : text.bytes[i];
        if (coded) i += 2;
    }
    return (qw_text){out, n};
}
