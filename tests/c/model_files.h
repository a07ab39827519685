/* SPDX-License-Identifier: MIT
 * Small model files made in memory, a source of them for the loader, and a writer that can be told to lie. Every test
 * program of the formats includes this once. */
#ifndef QW_MODEL_FILES_H
#define QW_MODEL_FILES_H

#include "base/alloc.h"
#include "kernels/dtype.h"
#include "files/loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Out of memory ends the test: these are the test's own buffers, and never count as the library's. */

typedef struct bytes {
    uint8_t *v;
    size_t n, cap;
} bytes;

static inline void put(bytes *b, const void *data, size_t n)
{
    if (n > b->cap - b->n) {
        size_t cap = (b->n + n) * 2;
        uint8_t *v = realloc(b->v, cap);
        if (!v) exit(3);
        b->v = v;
        b->cap = cap;
    }
    if (n) memcpy(b->v + b->n, data, n);
    b->n += n;
}

static inline void put_uint(bytes *b, uint64_t value, int n)
{
    uint8_t le[8];

    for (int i = 0; i < n; i++) le[i] = (uint8_t)(value >> (8 * i));
    put(b, le, (size_t)n);
}

static inline void put_u32(bytes *b, uint32_t value)
{
    put_uint(b, value, 4);
}

static inline void put_u64(bytes *b, uint64_t value)
{
    put_uint(b, value, 8);
}

static inline void put_text(bytes *b, const char *text)
{
    put_u64(b, strlen(text));
    put(b, text, strlen(text));
}

typedef struct gguf {
    bytes values, infos, data;
    uint64_t n_values, n_tensors;
    uint32_t version, alignment;
    uint32_t seed;
    const char *skip; /* a key that is not written by the three functions below: a test writes its own */
} gguf;

static inline void gguf_key(gguf *g, const char *key, uint32_t type)
{
    put_text(&g->values, key);
    put_u32(&g->values, type);
    g->n_values++;
}

static inline bool gguf_skips(const gguf *g, const char *key)
{
    return g->skip && strcmp(g->skip, key) == 0;
}

static inline void gguf_u32(gguf *g, const char *key, uint32_t value)
{
    if (gguf_skips(g, key)) return;
    gguf_key(g, key, 4);
    put_u32(&g->values, value);
}

static inline void gguf_f32(gguf *g, const char *key, float value)
{
    uint32_t bits;

    if (gguf_skips(g, key)) return;
    memcpy(&bits, &value, 4);
    gguf_key(g, key, 6);
    put_u32(&g->values, bits);
}

static inline void gguf_text(gguf *g, const char *key, const char *value)
{
    if (gguf_skips(g, key)) return;
    gguf_key(g, key, 8);
    put_text(&g->values, value);
}

static inline void gguf_array(gguf *g, const char *key, uint32_t item_type, uint64_t n)
{
    gguf_key(g, key, 9);
    put_u32(&g->values, item_type);
    put_u64(&g->values, n);
}

/* Bytes that are finite weights in every type: exponents stay small. */
static inline void put_weights(bytes *b, size_t n, uint32_t *seed)
{
    for (size_t i = 0; i < n; i++) {
        uint8_t byte;
        *seed = *seed * 1664525u + 1013904223u;
        byte = (uint8_t)(*seed >> 24 & 0x3F);
        put(b, &byte, 1);
    }
}

/* The entry of the tensor list alone. */
static inline void gguf_info(gguf *g, const char *name, uint32_t type, uint32_t n_dims, const uint64_t *dims,
                             uint64_t offset)
{
    put_text(&g->infos, name);
    put_u32(&g->infos, n_dims);
    for (uint32_t i = 0; i < n_dims && i < 8; i++) put_u64(&g->infos, dims[i]);
    put_u32(&g->infos, type);
    put_u64(&g->infos, offset);
    g->n_tensors++;
}

/* A tensor with its data; rows = 0: a vector. */
static inline void gguf_tensor(gguf *g, const char *name, uint32_t type, uint64_t cols, uint64_t rows)
{
    uint64_t dims[2] = {cols, rows}, offset = g->data.n;

    gguf_info(g, name, type, rows ? 2 : 1, dims, offset);
    put_weights(&g->data, qw_dtype_row_bytes((qw_dtype)type, (int64_t)cols) * (size_t)(rows ? rows : 1), &g->seed);
    while (g->data.n % g->alignment) put_uint(&g->data, 0, 1);
}

static inline gguf gguf_new(void)
{
    return (gguf){.version = 3, .alignment = 32, .seed = 7};
}

/* The file; g is emptied. */
static inline bytes gguf_file(gguf *g)
{
    bytes b = {0};

    put(&b, "GGUF", 4);
    put_u32(&b, g->version);
    put_u64(&b, g->n_tensors);
    put_u64(&b, g->n_values);
    put(&b, g->values.v, g->values.n);
    put(&b, g->infos.v, g->infos.n);
    while (g->data.n && b.n % g->alignment) put_uint(&b, 0, 1);
    put(&b, g->data.v, g->data.n);
    free(g->values.v);
    free(g->infos.v);
    free(g->data.v);
    *g = gguf_new();
    return b;
}

/* The letter of a byte in the byte-level alphabet, as UTF-8. */
static inline const char *byte_letter(char dst[4], int byte)
{
    int c = byte, n = 0;

    if (!((byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174)) {
        for (int i = 0; i < byte; i++) n += !((i >= 33 && i <= 126) || (i >= 161 && i <= 172) || i >= 174);
        c = 256 + n;
    }
    if (c < 128) {
        dst[0] = (char)c;
        dst[1] = 0;
    } else {
        dst[0] = (char)(0xC0 | c >> 6);
        dst[1] = (char)(0x80 | (c & 63));
        dst[2] = 0;
    }
    return dst;
}

enum { TINY_VOCAB = 260, TINY_DIM = 32, TINY_FFN = 64, TINY_HEAD = 16 };

/* 256 bytes, "ab", and the three control tokens that a Qwen2 has. */
static inline void gguf_tiny_tokenizer(gguf *g)
{
    char letter[4];

    gguf_text(g, "tokenizer.ggml.model", "gpt2");
    gguf_text(g, "tokenizer.ggml.pre", "qwen2");
    gguf_array(g, "tokenizer.ggml.tokens", 8, TINY_VOCAB);
    for (int i = 0; i < 256; i++) put_text(&g->values, byte_letter(letter, i));
    put_text(&g->values, "ab");
    put_text(&g->values, "<|endoftext|>");
    put_text(&g->values, "<|im_start|>");
    put_text(&g->values, "<|im_end|>");
    gguf_array(g, "tokenizer.ggml.token_type", 5, TINY_VOCAB);
    for (int i = 0; i < TINY_VOCAB; i++) put_u32(&g->values, i < 257 ? 1 : 3);
    gguf_array(g, "tokenizer.ggml.merges", 8, 1);
    put_text(&g->values, "a b");
    gguf_u32(g, "tokenizer.ggml.eos_token_id", 257);
    gguf_u32(g, "tokenizer.ggml.padding_token_id", 257);
    gguf_u32(g, "tokenizer.ggml.bos_token_id", 258);
    gguf_u32(g, "tokenizer.ggml.unknown_token_id", 256);
    gguf_u32(g, "tokenizer.ggml.mask_token_id", 100000); /* there is no such token */
    gguf_text(g, "tokenizer.chat_template", "{{ messages }}");
    gguf_text(g, "tokenizer.chat_template.tool_use", "{{ tools }}");
}

static inline void gguf_tiny_config(gguf *g, uint32_t n_layer)
{
    gguf_text(g, "general.architecture", "qwen2");
    gguf_text(g, "general.name", "Tiny");
    gguf_u32(g, "qwen2.block_count", n_layer);
    gguf_u32(g, "qwen2.context_length", 64);
    gguf_u32(g, "qwen2.embedding_length", TINY_DIM);
    gguf_u32(g, "qwen2.feed_forward_length", TINY_FFN);
    gguf_u32(g, "qwen2.attention.head_count", 2);
    gguf_u32(g, "qwen2.attention.head_count_kv", 1);
    gguf_f32(g, "qwen2.attention.layer_norm_rms_epsilon", 1e-6f);
    gguf_f32(g, "qwen2.rope.freq_base", 10000);
}

typedef struct tiny_tensor {
    const char *name;
    bool vector;
    uint64_t cols, rows;
} tiny_tensor;

static const tiny_tensor tiny_layer[] = {
    {"attn_norm.weight", true, TINY_DIM, 0},      {"attn_q.weight", false, TINY_DIM, 2 * TINY_HEAD},
    {"attn_q.bias", true, 2 * TINY_HEAD, 0},      {"attn_k.weight", false, TINY_DIM, TINY_HEAD},
    {"attn_k.bias", true, TINY_HEAD, 0},          {"attn_v.weight", false, TINY_DIM, TINY_HEAD},
    {"attn_v.bias", true, TINY_HEAD, 0},          {"attn_output.weight", false, 2 * TINY_HEAD, TINY_DIM},
    {"ffn_norm.weight", true, TINY_DIM, 0},       {"ffn_gate.weight", false, TINY_DIM, TINY_FFN},
    {"ffn_up.weight", false, TINY_DIM, TINY_FFN}, {"ffn_down.weight", false, TINY_FFN, TINY_DIM},
};
enum { TINY_LAYER_TENSORS = sizeof tiny_layer / sizeof *tiny_layer };

/* The tensors of layers first .. first + n - 1, matrices in that type; skip (may be NULL) is left out. */
static inline void gguf_tiny_layers(gguf *g, uint32_t type, uint32_t first, uint32_t n, const char *skip)
{
    char name[64];

    for (uint32_t l = first; l < first + n; l++)
        for (size_t i = 0; i < TINY_LAYER_TENSORS; i++) {
            const tiny_tensor *t = &tiny_layer[i];
            snprintf(name, sizeof name, "blk.%u.%s", (unsigned)l, t->name);
            if (!skip || strcmp(name, skip) != 0) gguf_tensor(g, name, t->vector ? QW_F32 : type, t->cols, t->rows);
        }
}

/* Embedding, layers and last norm of a tied model. */
static inline void gguf_tiny_tensors(gguf *g, uint32_t type, uint32_t n_layer)
{
    gguf_tensor(g, "token_embd.weight", type, TINY_DIM, TINY_VOCAB);
    gguf_tiny_layers(g, type, 0, n_layer, NULL);
    gguf_tensor(g, "output_norm.weight", QW_F32, TINY_DIM, 0);
}

/* A whole model of n_layer layers, tied, matrices in that type. */
static inline bytes tiny_gguf(uint32_t type, uint32_t n_layer)
{
    gguf g = gguf_new();

    gguf_tiny_config(&g, n_layer);
    gguf_tiny_tokenizer(&g);
    gguf_tiny_tensors(&g, type, n_layer);
    return gguf_file(&g);
}

/* 8 bytes of length, the header, n_data bytes of data. */
static inline bytes safetensors_file(const char *header, size_t n_data)
{
    bytes b = {0};
    uint32_t seed = 3;

    put_text(&b, header);
    put_weights(&b, n_data, &seed);
    return b;
}

typedef struct mem_file {
    const char *name;
    bytes content;
} mem_file;

typedef struct loading {
    const mem_file *files;
    size_t n_files;
    const char *main_name;
    qw_load_options options;
    size_t chop;        /* the most that is fed at once; 0: what is wanted */
    double fed;         /* out: bytes */
    double wanted_most; /* out: the largest want */
    bool descended;     /* out: a range of a file began before the end of an earlier one */
    double file_bytes, read_bytes, weight_bytes, stage_bytes; /* out, as soon as they are known */
    const mem_file *opened[64];
    uint64_t at[64];
    int32_t n_opened;
} loading;

static inline const mem_file *find_file(const loading *in, const char *name)
{
    for (size_t i = 0; i < in->n_files; i++)
        if (strcmp(in->files[i].name, name) == 0) return &in->files[i];
    return NULL;
}

/* The first time that they are known; a file that is read as a whole with its header never wants weights. */
static inline void note_figures(loading *in, const qw_loader *l)
{
    if (in->weight_bytes > 0) return;
    in->file_bytes = qw_loader_file_bytes(l);
    in->read_bytes = qw_loader_read_bytes(l);
    in->weight_bytes = qw_loader_weight_bytes(l);
    in->stage_bytes = qw_loader_stage_bytes(l);
}

static inline qw_status answer(loading *in, qw_loader *l, const qw_want *w, qw_error *err)
{
    size_t n = in->chop && in->chop < w->bytes ? in->chop : w->bytes;
    const mem_file *f;

    if (w->kind == QW_WANT_OPEN) {
        f = find_file(in, w->name);
        if (f && in->n_opened < 64) in->opened[in->n_opened++] = f;
        return qw_loader_opened(l, f ? (int64_t)f->content.n : -1, err);
    }
    f = in->opened[w->file];
    if (w->offset > f->content.n || n > f->content.n - w->offset)
        return qw_fail(err, QW_ERR_INTERNAL, "%s: a range outside of the file is wanted", w->name);
    in->descended |= w->offset < in->at[w->file];
    in->at[w->file] = w->offset + n;
    in->fed += (double)n;
    if ((double)w->bytes > in->wanted_most) in->wanted_most = (double)w->bytes;
    if (w->weights) note_figures(in, l);
    memcpy(w->dst, f->content.v + w->offset, n);
    return qw_loader_feed(l, n, err);
}

/* Runs the dialogue to its end; *l is the caller's. */
static inline qw_status run_loader(loading *in, qw_loader **l, qw_error *err)
{
    qw_status status = qw_loader_new(l, &in->options, qw_text_of(in->main_name), err);
    qw_want w;

    while (!status) {
        qw_loader_want(*l, &w);
        if (w.kind == QW_WANT_NOTHING) break;
        status = answer(in, *l, &w, err);
    }
    if (!status) note_figures(in, *l);
    return status;
}

/* Loads a whole model; *m is the caller's (qw_model_free), zeroed after an error. */
static inline qw_status load_files(loading *in, qw_model *m, qw_error *err)
{
    qw_loader *l = NULL;
    qw_status status = run_loader(in, &l, err);

    *m = (qw_model){0};
    if (!status) status = qw_loader_take(l, m, err);
    qw_loader_free(l);
    return status;
}

static inline qw_status load_one(const char *name, bytes content, qw_model *m, qw_error *err)
{
    mem_file file = {name, content};
    loading in = {.files = &file, .n_files = 1, .main_name = name};

    return load_files(&in, m, err);
}

static inline bytes read_path(const char *path)
{
    bytes b = {0};
    uint8_t chunk[4096];
    FILE *f = fopen(path, "rb");
    size_t n;

    if (!f) return b;
    while ((n = fread(chunk, 1, sizeof chunk, f)) > 0) put(&b, chunk, n);
    fclose(f);
    return b;
}

/* The folder of fixtures: the first argument, or QW_FIXTURES, or tests/fixtures. */
static inline const char *fixtures_root(int argc, char **argv)
{
    const char *root = argc > 1 ? argv[1] : getenv("QW_FIXTURES");

    return root ? root : "tests/fixtures";
}

/* Reads the files of a checkpoint that are there; returns how many. */
static inline size_t read_checkpoint(const char *root, const char *name, mem_file files[16])
{
    static const char *const names[] = {
        "config.json",
        "generation_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
        "model.safetensors",
        "model.safetensors.index.json",
        "model-00001-of-00003.safetensors",
        "model-00002-of-00003.safetensors",
        "model-00003-of-00003.safetensors",
    };
    char path[1024];
    size_t n = 0;

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bytes b;
        snprintf(path, sizeof path, "%s/checkpoints/%s/%s", root, name, names[i]);
        b = read_path(path);
        if (b.n) files[n++] = (mem_file){names[i], b};
    }
    return n;
}

static inline void free_files(mem_file *files, size_t n)
{
    for (size_t i = 0; i < n; i++) free(files[i].content.v);
}

/* The file of that name, for a test to change. */
static inline bytes *file_bytes_of(mem_file *files, size_t n, const char *name)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(files[i].name, name) == 0) return &files[i].content;
    return NULL;
}

static inline bytes text_bytes(const char *text)
{
    bytes b = {0};

    put(&b, text, strlen(text));
    return b;
}

#endif
