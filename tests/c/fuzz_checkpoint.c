/* SPDX-License-Identifier: MIT
 * A whole checkpoint with edits: the input is a list of them, each a file (1 byte), a place in it (2 bytes), how many bytes
 * are taken away there, how many are put in, and those. What still loads must generate from text, and free all. */
#include "mini_vocab.h"
#include "model_files.h"
#include "qw.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { N_FILES = 7, DIM = 16, FFN = 32, TOKENS = MINI_UNUSED, INDEX = 4 };

static mem_file files[N_FILES];

static void demand(bool ok)
{
    if (!ok) abort();
}

static const char config[] =
    "{\"architectures\":[\"Qwen2ForCausalLM\"],\"model_type\":\"qwen2\",\"hidden_act\":\"silu\","
    "\"hidden_size\":16,\"intermediate_size\":32,\"num_hidden_layers\":1,"
    "\"num_attention_heads\":2,\"num_key_value_heads\":1,\"max_position_embeddings\":64,"
    "\"rms_norm_eps\":1e-06,\"rope_theta\":10000.0,\"tie_word_embeddings\":true,"
    "\"rope_scaling\":{\"type\":\"yarn\",\"factor\":4.0,"
    "\"original_max_position_embeddings\":16},\"layer_types\":[\"sliding_attention\"],"
    "\"use_sliding_window\":true,\"sliding_window\":8,\"vocab_size\":286,\"eos_token_id\":5}";

static const char generation[] =
    "{\"do_sample\":true,\"temperature\":0.7,\"top_k\":20,\"top_p\":0.8,\"repetition_penalty\":1.1,"
    "\"eos_token_id\":[284,282],\"pad_token_id\":282,\"bad_words_ids\":[[1,2],[3]],"
    "\"sequence_bias\":[[[7],-1.5],[[8,9],2]],\"suppress_tokens\":[4],\"exponential_decay_length_penalty\":[3,1.5],"
    "\"max_new_tokens\":6}";

static const char tokenizer_config[] =
    "{\"eos_token\":\"<|im_end|>\",\"pad_token\":{\"content\":\"<|endoftext|>\"},\"bos_token\":null,"
    "\"add_bos_token\":false,\"chat_template\":[{\"name\":\"default\",\"template\":\"{{ messages }}\"}]}";

static void add_tensor(bytes *header, bytes *weights, const char *name, int rows, int cols)
{
    static uint32_t seed = 3;
    size_t from = weights->n;
    char entry[200];

    put_weights(weights, (size_t)(rows ? rows : 1) * (size_t)cols * 2, &seed);
    snprintf(entry, sizeof entry, "%s\"%s\":{\"dtype\":\"BF16\",\"shape\":[%d%s%.0d],\"data_offsets\":[%zu,%zu]}",
             header->n > 1 ? "," : "", name, rows ? rows : cols, rows ? "," : "", rows ? cols : 0, from, weights->n);
    put(header, entry, strlen(entry));
}

static bytes make_weights(void)
{
    static const struct {
        const char *name;
        int rows, cols;
    } layer[] = {{"input_layernorm.weight", 0, DIM},        {"post_attention_layernorm.weight", 0, DIM},
                 {"self_attn.q_proj.weight", DIM, DIM},     {"self_attn.q_proj.bias", 0, DIM},
                 {"self_attn.k_proj.weight", DIM / 2, DIM}, {"self_attn.k_proj.bias", 0, DIM / 2},
                 {"self_attn.v_proj.weight", DIM / 2, DIM}, {"self_attn.v_proj.bias", 0, DIM / 2},
                 {"self_attn.o_proj.weight", DIM, DIM},     {"mlp.gate_proj.weight", FFN, DIM},
                 {"mlp.up_proj.weight", FFN, DIM},          {"mlp.down_proj.weight", DIM, FFN}};
    bytes header = {0}, weights = {0}, file = {0};
    char name[100];

    put(&header, "{", 1);
    add_tensor(&header, &weights, "model.embed_tokens.weight", TOKENS, DIM);
    add_tensor(&header, &weights, "model.norm.weight", 0, DIM);
    for (size_t i = 0; i < sizeof layer / sizeof *layer; i++) {
        snprintf(name, sizeof name, "model.layers.0.%s", layer[i].name);
        add_tensor(&header, &weights, name, layer[i].rows, layer[i].cols);
    }
    put(&header, "}", 1);
    put_u64(&file, header.n);
    put(&file, header.v, header.n);
    put(&file, weights.v, weights.n);
    free(header.v);
    free(weights.v);
    return file;
}

static void make_files(void)
{
    static mini_vocab mini;
    qw_buf json;

    mini_init(&mini);
    json = mini_json(&mini, (mini_json_options){.pairs = true});
    files[0] = (mem_file){"config.json", text_bytes(config)};
    files[1] = (mem_file){"generation_config.json", text_bytes(generation)};
    files[2] = (mem_file){"tokenizer.json", {0}};
    put(&files[2].content, json.bytes, json.n);
    files[3] = (mem_file){"tokenizer_config.json", text_bytes(tokenizer_config)};
    files[INDEX] = (mem_file){"model.safetensors.index.json",
                              text_bytes("{\"weight_map\":{\"model.norm.weight\":\"model.safetensors\"}}")};
    files[5] = (mem_file){"model.safetensors", make_weights()};
    files[6] = (mem_file){"chat_template.jinja", text_bytes("{{ messages[0].content }}")};
    qw_buf_free(&json);
}

/* Applies one edit; returns the bytes of input that it took. */
static size_t edit(bytes *b, const uint8_t *data, size_t size)
{
    size_t at = (size_t)(data[1] | data[2] << 8) % (b->n + 1), taken = data[3], added = data[4], rest;
    uint8_t *old = b->v;

    if (taken > b->n - at) taken = b->n - at;
    if (added > size - 5) added = size - 5;
    rest = b->n - at - taken;
    b->v = malloc(b->n - taken + added + 1);
    demand(b->v);
    memcpy(b->v, old, at);
    memcpy(b->v + at, data + 5, added);
    memcpy(b->v + at + added, old + at + taken, rest);
    b->n = b->cap = at + added + rest;
    free(old);
    return 5 + added;
}

static const mem_file *file_of(const mem_file *list, bool index, const char *name)
{
    for (size_t i = 0; i < N_FILES; i++)
        if (strcmp(list[i].name, name) == 0 && (index || i != INDEX)) return &list[i];
    return NULL;
}

static qw_status load(qw_engine *e, const mem_file *list, bool index, qw_error *err)
{
    const mem_file *opened[64];
    int32_t n_opened = 0;
    qw_status status = qw_engine_open(e, qw_text_of("config.json"), err);
    qw_want w;

    while (!status) {
        qw_engine_want(e, &w);
        if (w.kind == QW_WANT_NOTHING) break;
        if (w.kind == QW_WANT_OPEN) {
            const mem_file *f = file_of(list, index, w.name);
            if (f && n_opened < 64) opened[n_opened++] = f;
            status = qw_engine_opened(e, f ? (int64_t)f->content.n : -1, err);
        } else {
            demand(w.offset <= opened[w.file]->content.n && w.bytes <= opened[w.file]->content.n - w.offset);
            memcpy(w.dst, opened[w.file]->content.v + w.offset, w.bytes);
            status = qw_engine_feed(e, w.bytes, err);
        }
    }
    return status;
}

static void check_error(qw_status status, const qw_error *err, bool usage)
{
    if (!status) return;
    demand(err->text[0] && err->status == status && status != QW_ERR_INTERNAL && (usage || status != QW_ERR_USAGE));
}

/* Loading may be refused for what the files say, a call for what it asks of such a model. */
static void use(qw_engine *e)
{
    const qw_tokenize_options options = {.parse_special = true};
    const int32_t *ids;
    int32_t prompt[40], length;
    size_t n = 0;
    qw_error err = {0};
    qw_text json;
    qw_step_result result = QW_STEP_MORE;
    qw_status status = qw_engine_tokenize(e, qw_text_of("hello <|im_end|> aaaa"), &options, &ids, &n, &err);

    check_error(status, &err, true);
    check_error(qw_engine_info(e, &json, &err), &err, false);
    if (status || !n || n > 40) return;
    memcpy(prompt, ids, n * sizeof *prompt);
    length = (int32_t)n;
    status = qw_generate_begin(e, &(qw_prompts){prompt, &length, 1}, qw_text_of("{}"), (qw_text){"", 0}, 0, &err);
    check_error(status, &err, true);
    for (int i = 0; i < 100 && !status && result != QW_STEP_DONE; i++) status = qw_step(e, 4, &result, &err);
    check_error(status, &err, true);
    if (!status && result == QW_STEP_DONE) check_error(qw_job_result(e, &json, &err), &err, false);
    qw_job_end(e);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    mem_file edited[N_FILES];
    qw_engine *e = NULL;
    qw_error err = {0};
    bool index = size && data[0] & 0x80;

    if (!files[0].name) make_files();
    for (size_t i = 0; i < N_FILES; i++) {
        edited[i] = (mem_file){files[i].name, {0}};
        put(&edited[i].content, files[i].content.v, files[i].content.n);
    }
    while (size >= 5) {
        size_t used = edit(&edited[data[0] % N_FILES].content, data, size);
        data += used;
        size -= used;
    }
    demand(!qw_engine_new(&e, qw_text_of("{\"contextLength\":64,\"maxRows\":2,\"threads\":1}"), &err));
    {
        qw_status status = load(e, edited, index, &err);
        check_error(status, &err, false);
        if (!status) use(e);
    }
    qw_engine_free(e);
    free_files(edited, N_FILES);
    demand(!qw_alloc_test_live());
    return 0;
}
