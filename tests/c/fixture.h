/* SPDX-License-Identifier: MIT
 * Files of the fixtures in C tests. Their folder is the program's first argument, or QW_FIXTURES, or tests/fixtures. */
#ifndef QW_FIXTURE_H
#define QW_FIXTURE_H

#include "base/buf.h"
#include "check.h"
#include "base/json.h"

#include <stdlib.h>

static const char *fixture_folder = "tests/fixtures";

static inline void fixture_init(int argc, char **argv)
{
    const char *named = getenv("QW_FIXTURES");

    if (named && *named) fixture_folder = named;
    if (argc > 1) fixture_folder = argv[1];
}

/* The bytes of a file, NUL-terminated past its end; a failed check and empty where it cannot be read. qw_buf_free. */
static inline qw_buf fixture_read(const char *name)
{
    char path[512], block[4096];
    qw_buf bytes = {0};
    FILE *file;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", fixture_folder, name);
    file = fopen(path, "rb");
    if (!file) printf("cannot open %s\n", path);
    CHECK(file);
    while (file && (n = fread(block, 1, sizeof block, file)) > 0)
        if (qw_buf_append(&bytes, block, n, NULL)) break;
    if (file) fclose(file);
    CHECK_EQ(qw_buf_append(&bytes, "", 1, NULL), QW_OK);
    bytes.n--;
    return bytes;
}

static inline unsigned fixture_hex_digit(char c)
{
    return (unsigned)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10);
}

/* The text of a line: its utf8_hex where it has one, else text, which cJSON would end at U+0000. qw_buf_free. */
static inline qw_buf fixture_text(const qw_json *line)
{
    const char *hex = qw_json_string(qw_json_get(line, "utf8_hex")), *text = qw_json_string(qw_json_get(line, "text"));
    qw_buf bytes = {0};

    if (!*hex) CHECK_EQ(qw_buf_append(&bytes, text, strlen(text), NULL), QW_OK);
    for (; *hex; hex += 2) {
        char byte = (char)(fixture_hex_digit(hex[0]) << 4 | fixture_hex_digit(hex[1]));
        CHECK_EQ(qw_buf_append(&bytes, &byte, 1, NULL), QW_OK);
    }
    return bytes;
}

/* Calls fn with every line of a .jsonl file, parsed; returns their number. */
static inline int64_t fixture_each_line(const char *name, void (*fn)(const qw_json *line, void *arg), void *arg)
{
    qw_buf file = fixture_read(name);
    int64_t n = 0;

    for (char *at = file.bytes, *end; *at; at = end + (*end != 0), n++) {
        qw_json *line;
        end = at + strcspn(at, "\n");
        CHECK_EQ(qw_json_parse(&line, (qw_text){at, (size_t)(end - at)}, name, NULL), QW_OK);
        fn(line, arg);
        qw_json_free(line);
    }
    qw_buf_free(&file);
    return n;
}

#endif
