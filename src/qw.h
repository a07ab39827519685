/* SPDX-License-Identifier: MIT
 * qwen2-wasm's public C interface: with src/base/, all that the hosts may include. Nothing of the inside shows.
 *
 * An engine is one loaded model with its KV cache and thread pool. Loading is a dialogue: the engine says what it wants
 * (want.h), the caller brings it. Running is a job that is begun and then stepped: each step is bounded (a chunk of the
 * prompt, or one token for every row), so the caller can look at cancellation, post text and go on. Calls are not
 * re-entrant. A job runs until a step says that it is done, all its rows were ended, or qw_job_end is called; until the next
 * begins it still tells its last events and its result. A job that fails is gone. The engine is usable after each of them.
 */
#ifndef QW_H
#define QW_H

#include "base/buf.h"
#include "base/want.h"

typedef struct qw_engine qw_engine;

/* options: JSON object of LoadOptions' contextLength, maxRows, threads, kvType ("f32" "f16" "q8_0"), quantize ("none" "q8_0"
 * "q4_0"), and "headersOnly": true for plan(). All optional. *out: qw_engine_free. Errors: usage, memory. */
qw_status qw_engine_new(qw_engine **out, qw_text options, qw_error *err);
void qw_engine_free(qw_engine *e);

/* Loading: open, then answer wants until QW_WANT_NOTHING. KV cache and scratch are reserved before the first weight
 * byte is wanted. Errors: format, model, memory, usage (an absent file, a call out of turn); a failed engine only wants to be freed. */
/* main_name: the file that was given, a *.gguf or a checkpoint's config.json or *.safetensors; its siblings are wanted by name. */
qw_status qw_engine_open(qw_engine *e, qw_text main_name, qw_error *err);
void qw_engine_want(const qw_engine *e, qw_want *want);
qw_status qw_engine_opened(qw_engine *e, int64_t bytes, qw_error *err);
qw_status qw_engine_feed(qw_engine *e, size_t n, qw_error *err);

/* JSON {"fileBytes", "readBytes", "weightBytes", "kvBytes", "scratchBytes", "heapBytes", "contextLength", ...}: known once headers are read.
 * heapBytes: the most that the engine ever allocates. Borrowed until the next call on e. Errors: usage before that. */
qw_status qw_engine_plan(qw_engine *e, qw_text *json, qw_error *err);

/* JSON of api.d.ts' ModelInfo without what only JavaScript knows (simd, wasmBytes, memoryBytes). Borrowed. */
qw_status qw_engine_info(qw_engine *e, qw_text *json, qw_error *err);

/* How text becomes ids. blocked: ascending offsets in bytes at which no added token may begin (what a visitor wrote stays
 * text), or NULL. */
typedef struct qw_tokenize_options {
    bool parse_special; /* control tokens' text becomes their id; user-defined tokens always do */
    const int32_t *blocked;
    size_t n_blocked;
} qw_tokenize_options;

/* Ids in the engine's own array, borrowed until the next call. Errors: usage where the model has no tokenizer; memory. */
qw_status qw_engine_tokenize(qw_engine *e, qw_text text, const qw_tokenize_options *options, const int32_t **ids,
                             size_t *n, qw_error *err);
qw_status qw_engine_detokenize(qw_engine *e, const int32_t *ids, size_t n, bool skip_special, qw_text *text,
                               qw_error *err);

/* What of a response_format (api.d.ts' object as JSON text) can be held: the JSON of checkFormat()'s result, borrowed until the next
 * call. Errors: memory. */
qw_status qw_engine_check_format(qw_engine *e, qw_text format, qw_text *json, qw_error *err);

/* Prompts of n_rows rows, concatenated, without padding; lengths[r] ids each. */
typedef struct qw_prompts {
    const int32_t *ids;
    const int32_t *lengths;
    int32_t n_rows;
} qw_prompts;

/* settings: a JSON object of api.d.ts' GenerationSettings and RunOptions; stops: for each stop string a little-endian u32 length
 * and its bytes. Rows are prompt-major, then num_return_sequences. padding_width: width to which a
 * batch of prompts was left-padded (lengths count it, as in Transformers), or 0: the longest prompt; at most the context.
 * Errors: usage (empty prompt, id out of range, more rows than maxRows, settings), context (a prompt, or all rows
 * together, do not fit the KV cache; names both numbers). */
qw_status qw_generate_begin(qw_engine *e, const qw_prompts *prompts, qw_text settings, qw_text stops,
                            int32_t padding_width, qw_error *err);

/* Reads a prompt into the KV cache; the next job that starts with it skips that part. */
qw_status qw_prefill_begin(qw_engine *e, const int32_t *ids, int32_t n, qw_error *err);

/* The bare model. Beginning a job is a usage error while another runs; one that is refused changes nothing. keep[i] (one byte a token, concatenated like the ids): logits are wanted at that token. hidden: hidden states too. */
qw_status qw_forward_begin(qw_engine *e, const qw_prompts *prompts, const uint8_t *keep, bool hidden, qw_error *err);

typedef enum qw_step_result {
    QW_STEP_DONE = 0,   /* the job has ended */
    QW_STEP_MORE = 1,   /* step again */
    QW_STEP_SCORES = 2, /* custom_processor: qw_job_scores' rows may be edited, then step again */
} qw_step_result;

/* One bounded step: a token for every row, or of prompts as much work as max_tokens (>= 1) tokens are (a pass over many
 * tokens is taken some layers at a time). DONE, and nothing happens, where no job is running. On an error the job is gone, the KV cache keeps what is sound. */
qw_status qw_step(qw_engine *e, int32_t max_tokens, qw_step_result *result, qw_error *err);

/* What the last step (or qw_job_end_row) brought, as JSON: {"phase": "prefill"|"decode", "loaded": n, "total": n (prompt tokens), "chunks":
 * [Chunk ...], "finished": [{"index", "finish_reason"} ...]}. Borrowed until the next call on e. */
qw_status qw_job_events(qw_engine *e, qw_text *json, qw_error *err);

/* After a step of qw_forward_begin: logits [n][n_vocab] of n kept tokens of the row, in order, and where the step brought a pass
 * to its end hidden states [n_layer + 2][n_hidden][dim] (NULL where not asked for) of its n_hidden tokens from position `pos` on.
 * A long pass takes several steps, and its logits several more: n and n_hidden may be 0. Borrowed until the next step. */
typedef struct qw_forward_out {
    const float *logits, *hidden;
    int32_t row, n, pos, n_hidden;
} qw_forward_out;
void qw_forward_output(const qw_engine *e, qw_forward_out *out);

/* After QW_STEP_SCORES: the i-th waiting row's index, its ids so far (prompt and new) and its scores [n_vocab], to be edited in
 * place. False where there is no i-th row. */
typedef struct qw_scores {
    float *scores;
    const int32_t *ids;
    int32_t index, n_ids;
} qw_scores;
bool qw_job_scores(qw_engine *e, int32_t i, qw_scores *out);

/* Ends row `index` (-1: all rows) with a finish reason of "time", "stopping" or "aborted"; its text is flushed into the events.
 * Errors: usage (another reason, no such row, a job that is no generation). */
qw_status qw_job_end_row(qw_engine *e, int32_t index, const char *finish_reason, qw_error *err);

/* JSON of api.d.ts' Result without timings and with pad_token_id in place of padded_ids, of the generation that has just ended or was ended. Borrowed. */
qw_status qw_job_result(qw_engine *e, qw_text *json, qw_error *err);

/* Drops what is left of a job; the conversation's ids and KV stay for reuse. A no-op without a job. */
void qw_job_end(qw_engine *e);

/* Forgets all KV. */
void qw_engine_forget(qw_engine *e);

/* Kernels against their scalar twins on this machine: JSON {"ok", "report"}. Borrowed. */
qw_status qw_engine_selftest(qw_engine *e, qw_text *json, qw_error *err);

/* Seconds per product of this build's fastest kernel, for a choice between builds; 0 where there is no memory. */
double qw_trial_seconds(void);

/* The name of the i-th key that a caller may set, NULL after the last. Static. */
const char *qw_setting_key(int32_t i);

#endif
