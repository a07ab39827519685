/* SPDX-License-Identifier: MIT
 * A small vocabulary of Qwen2's kind for tests and fuzzers: the 256 bytes in Qwen2's order, the results of a few merges
 * and added tokens; as GGUF's keys and as a tokenizer.json. */
#ifndef QW_MINI_VOCAB_H
#define QW_MINI_VOCAB_H

#include "tokenizer/tokenizer_vocab.h"

#include "check.h"

/* Results follow the bytes: merge i makes id 256 + i. In "xyz" a later merge opens the way for an earlier one; in
 * "kpqr" one that was possible at first is not any more when its turn comes. */
static const char *const mini_merges[] = {
    "h e",
    "l l",
    "\xC4\xA0 t",
    "\xC4\xA0t he",
    "a a",
    "aa aa",
    "aaaa aaaa",
    "he ll",
    "hell o",
    "\xC4\x8A \xC4\x8A",
    "\xC3\x83 \xC2\xA9",
    "1 2",
    "b c",
    "a bc",
    "c d",
    "\xC3\xA4 \xC2\xBD",
    "\xC3\xA4\xC2\xBD \xC5\x82",
    "\xC4\xA0 \xC3\xA5",
    "n '",
    "' s",
    "x yz",
    "y z",
    "q r",
    "p q",
    "k p",
    "p qr",
};

enum {
    MINI_MERGES = sizeof mini_merges / sizeof *mini_merges,
    MINI_CONTROL = 256 + MINI_MERGES, /* <|endoftext|>, <|im_start|>, <|im_end|> */
    MINI_USER = MINI_CONTROL + 3,     /* <tool_call>                             */
    MINI_UNUSED = MINI_USER + 1,      /* [PAD0]                                  */
    MINI_TOKENS = MINI_UNUSED + 1,
};

typedef struct mini_vocab {
    char letters[256][3]; /* of the byte-level alphabet, by id */
    int32_t ids[256];     /* by byte */
    char results[MINI_MERGES][16];
    qw_text tokens[MINI_TOKENS], merges[MINI_MERGES];
    int32_t types[MINI_TOKENS];
    qw_vocab vocab;
} mini_vocab;

/* ids 0-93 are the bytes 33-126, 94-105 161-172, 106-187 174-255; then 0-32, 127-160, 173, spelled U+0100 and on. */
static inline void mini_letters(mini_vocab *m)
{
    static const int ranges[][2] = {{33, 126}, {161, 172}, {174, 255}, {0, 32}, {127, 160}, {173, 173}};
    int32_t id = 0;

    for (int r = 0; r < 6; r++)
        for (int byte = ranges[r][0]; byte <= ranges[r][1]; byte++, id++) {
            int c = r < 3 ? byte : 256 + id - 188;
            char *letter = m->letters[id];
            if (c < 128) letter[0] = (char)c;
            if (c >= 128) letter[0] = (char)(0xC0 | c >> 6);
            if (c >= 128) letter[1] = (char)(0x80 | (c & 63));
            m->ids[byte] = id;
        }
}

static inline void mini_init(mini_vocab *m)
{
    static const char *const added[] = {"<|endoftext|>", "<|im_start|>", "<|im_end|>", "<tool_call>", "[PAD0]"};

    memset(m, 0, sizeof *m);
    mini_letters(m);
    for (int i = 0; i < MINI_TOKENS; i++) {
        m->types[i] = i < MINI_CONTROL ? QW_TOKEN_NORMAL : i < MINI_USER ? QW_TOKEN_CONTROL : QW_TOKEN_USER_DEFINED;
        if (i < 256) m->tokens[i] = qw_text_of(m->letters[i]);
        if (i >= MINI_CONTROL) m->tokens[i] = qw_text_of(added[i - MINI_CONTROL]);
    }
    m->types[MINI_UNUSED] = QW_TOKEN_UNUSED;
    for (int i = 0; i < MINI_MERGES; i++) {
        size_t left = strcspn(mini_merges[i], " ");
        memcpy(m->results[i], mini_merges[i], left);
        strcpy(m->results[i] + left, mini_merges[i] + left + 1);
        m->tokens[256 + i] = qw_text_of(m->results[i]);
        m->merges[i] = qw_text_of(mini_merges[i]);
    }
    m->vocab = (qw_vocab){m->tokens, m->types, MINI_TOKENS, m->merges, MINI_MERGES};
}

static inline void mini_append(qw_buf *out, const char *text)
{
    qw_status status = qw_buf_append(out, text, strlen(text), NULL);

    if (status) CHECK_EQ(status, QW_OK); /* not a check for each of thousands of pieces */
}

/* A JSON string; every letter that may be is escaped where escapes is set. */
static inline void mini_append_string(qw_buf *out, const char *text, size_t n, bool escapes)
{
    char escape[8];

    mini_append(out, "\"");
    for (size_t i = 0; i < n; i++) {
        unsigned c = (unsigned char)text[i];
        if (c >= 0xC0 && escapes) c = (c & 0x1F) << 6 | ((unsigned char)text[++i] & 0x3F);
        if (escapes || c == '"' || c == '\\') {
            snprintf(escape, sizeof escape, "\\u%04x", c);
            mini_append(out, escape);
        } else {
            mini_append(out, (char[]){text[i], 0});
        }
    }
    mini_append(out, "\"");
}

typedef struct mini_json_options {
    bool pairs;   /* merges as ["a", "b"] instead of "a b" */
    bool escapes; /* every string in \u escapes            */
    bool merges_first;
} mini_json_options;

static inline void mini_append_merges(qw_buf *out, const mini_json_options *o)
{
    mini_append(out, "\"merges\": [");
    for (int i = 0; i < MINI_MERGES; i++) {
        size_t left = strcspn(mini_merges[i], " ");
        mini_append(out, i ? ", " : "");
        if (o->pairs) {
            mini_append(out, "[");
            mini_append_string(out, mini_merges[i], left, o->escapes);
            mini_append(out, ", ");
            mini_append_string(out, mini_merges[i] + left + 1, strlen(mini_merges[i] + left + 1), o->escapes);
            mini_append(out, "]");
        } else {
            mini_append_string(out, mini_merges[i], strlen(mini_merges[i]), o->escapes);
        }
    }
    mini_append(out, "]");
}

static inline void mini_append_vocab(qw_buf *out, const mini_vocab *m, const mini_json_options *o)
{
    char id[16];

    mini_append(out, "\"vocab\": {");
    for (int i = 0; i < MINI_CONTROL; i++) {
        mini_append(out, i ? ", " : "");
        mini_append_string(out, m->tokens[i].bytes, m->tokens[i].n, o->escapes);
        snprintf(id, sizeof id, ": %d", i);
        mini_append(out, id);
    }
    mini_append(out, "}");
}

static inline void mini_append_added(qw_buf *out, const mini_vocab *m)
{
    char fields[160];

    mini_append(out, "\"added_tokens\": [");
    for (int i = MINI_CONTROL; i < MINI_UNUSED; i++) {
        snprintf(fields, sizeof fields,
                 "%s{\"id\": %d, \"content\": \"%s\", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, "
                 "\"normalized\": false, \"special\": %s}",
                 i == MINI_CONTROL ? "" : ", ", i, m->tokens[i].bytes, i < MINI_USER ? "true" : "false");
        mini_append(out, fields);
    }
    mini_append(out, "], ");
}

/* The same vocabulary as tokenizer.json, NUL-terminated past its end; [PAD0] is not in it. qw_buf_free. */
static inline qw_buf mini_json(const mini_vocab *m, mini_json_options o)
{
    qw_buf out = {0};

    mini_append(&out, "{\"version\": \"1.0\", \"truncation\": null, \"padding\": null, ");
    mini_append_added(&out, m);
    mini_append(&out, "\"normalizer\": {\"type\": \"NFC\"}, \"pre_tokenizer\": {\"type\": \"Sequence\", "
                      "\"pretokenizers\": [{\"type\": \"Split\", \"pattern\": {\"Regex\": "
                      "\"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\\\r\\\\n\\\\p{L}\\\\p{N}]?\\\\p{L}+|\\\\p{N}"
                      "| ?[^\\\\s\\\\p{L}\\\\p{N}]+[\\\\r\\\\n]*|\\\\s*[\\\\r\\\\n]+|\\\\s+(?!\\\\S)|\\\\s+\"}, "
                      "\"behavior\": \"Isolated\", \"invert\": false}, {\"type\": \"ByteLevel\", "
                      "\"add_prefix_space\": false, \"trim_offsets\": false, \"use_regex\": false}]}, "
                      "\"post_processor\": {\"type\": \"ByteLevel\", \"trim_offsets\": false}, "
                      "\"decoder\": {\"type\": \"ByteLevel\"}, \"model\": {\"type\": \"BPE\", \"dropout\": null, "
                      "\"unk_token\": null, \"continuing_subword_prefix\": \"\", \"end_of_word_suffix\": \"\", "
                      "\"fuse_unk\": false, \"byte_fallback\": false, \"ignore_merges\": false, ");
    if (o.merges_first) mini_append_merges(&out, &o);
    if (o.merges_first) mini_append(&out, ", ");
    mini_append_vocab(&out, m, &o);
    if (!o.merges_first) mini_append(&out, ", ");
    if (!o.merges_first) mini_append_merges(&out, &o);
    mini_append(&out, "}}\n");
    CHECK_EQ(qw_buf_append(&out, "", 1, NULL), QW_OK);
    out.n--;
    return out;
}

#endif
