/* SPDX-License-Identifier: MIT
 * Bytes to a bound model, streaming. The loader says what it wants next (a file opened, or a range of a file), the caller
 * brings it in pieces of any size, tensors are packed panel by panel as their rows arrive, nothing is held twice.
 * Ranges of a file ascend, so a source without ranges can be read once from the start. The state after any chopping of
 * the feed is the same. */
#ifndef QW_LOADER_H
#define QW_LOADER_H

#include "model/model.h"
#include "base/pool.h"
#include "base/want.h"

typedef struct qw_loader qw_loader;

typedef struct qw_load_options {
    qw_quantize quantize;
    bool headers_only; /* plan: stop before the first weight byte, with config, tokenizer and sizes known */
} qw_load_options;

/* main_name: the file that was given: *.gguf (a shard -0000i-of-0000n asks for its siblings), or "config.json" of a
 * checkpoint folder (which then asks for generation_config.json, tokenizer.json, tokenizer_config.json,
 * chat_template.jinja, model.safetensors.index.json, *.safetensors). A single *.safetensors asks for config.json beside
 * it. Any other name is told apart by its first bytes. All files are opened before the first weight byte is wanted. */
qw_status qw_loader_new(qw_loader **out, const qw_load_options *options, qw_text main_name, qw_error *err);
void qw_loader_free(qw_loader *l);

/* Threads that pack weights from now on, borrowed; before, the caller packs alone. */
void qw_loader_use(qw_loader *l, qw_pool *pool);

void qw_loader_want(const qw_loader *l, qw_want *want);

/* The wanted file has that many bytes; -1: it is absent (an error where it is not optional). */
qw_status qw_loader_opened(qw_loader *l, int64_t bytes, qw_error *err);

/* The first n (1 .. want.bytes) bytes of the wanted range are at want.dst. After an error the loader only wants to be freed. */
qw_status qw_loader_feed(qw_loader *l, size_t n, qw_error *err);

/* Known as soon as `weights` bytes are wanted or headers_only is done: */
double qw_loader_file_bytes(const qw_loader *l);   /* sum of the sizes of all files that are read */
double qw_loader_read_bytes(const qw_loader *l);   /* of these, what is read */
double qw_loader_weight_bytes(const qw_loader *l); /* weights as kept */
double qw_loader_stage_bytes(const qw_loader *l);  /* staging and tables while loading, at most */
const qw_model *qw_loader_model(const qw_loader *l);

/* Moves the finished model out. Error: internal where the loader is not done. */
qw_status qw_loader_take(qw_loader *l, qw_model *out, qw_error *err);

#endif
