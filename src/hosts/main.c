/* SPDX-License-Identifier: MIT
 * The native command line: qwen2 generate and qwen2 tokenize. Options are the public names of LoadOptions and
 * GenerationSettings; they go to the library as the same JSON that a page sends, and are checked there. */
#include "hosts/file_source.h"
#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, PROMPT_CHUNK = 64 };

typedef struct cli {
    const char *model, *prompt;
    bool json, parse_special, has_seed, wants_chunks;
    double max_time; /* seconds; < 0: not given */
    qw_buf load;     /* JSON objects, without the closing brace until cli_parse has ended */
    qw_buf settings;
    qw_buf stops;                /* stop.h's packed form */
    qw_buf text;                 /* the prompt */
    qw_buf chunks;               /* JSON items of all steps, where wants_chunks */
    double started, read, ended; /* seconds: of the run, of its last prompt token, of its end */
} cli;

static const char usage_text[] =
    "usage: qwen2 generate --model FILE|FOLDER [--prompt TEXT] [--json] [options] [settings]\n"
    "       qwen2 tokenize --model FILE|FOLDER [--prompt TEXT] [--json] [--parse_special false]\n"
    "Without --prompt the text is read from standard input; it is taken as it is, without a chat template.\n"
    "  options:  --threads N  --contextLength N  --maxRows N  --kvType f32|f16|q8_0  --quantize none|q8_0|q4_0\n"
    "  settings, by the names of generation_config.json; lists are JSON, as --eos_token_id '[1, 2]':\n";

static void print_usage(FILE *to)
{
    fputs(usage_text, to);
    fputs("    --stop_strings TEXT (may be given several times)\n", to);
    for (int32_t i = 0; qw_setting_key(i); i++) fprintf(to, "    --%s\n", qw_setting_key(i));
    fputs("  --json prints the result; with --logprobs N the chunks too, which hold the log-probabilities.\n", to);
}

static double now(void)
{
    struct timespec t;

    timespec_get(&t, TIME_UTC);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static uint32_t random_seed(void)
{
    uint32_t seed = (uint32_t)(int64_t)(1e6 * now());
    FILE *source = fopen("/dev/urandom", "rb");

    if (source && fread(&seed, sizeof seed, 1, source) != 1) seed ^= 0x9e3779b9u;
    if (source) fclose(source);
    return seed;
}

static bool is_load_option(const char *key)
{
    static const char *const keys[] = {"threads", "contextLength", "maxRows", "kvType", "quantize"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return false;
}

/* True for text that is a JSON value other than a string: it goes into the JSON as it is. */
static bool is_json_value(const char *text)
{
    qw_json *value = NULL;
    qw_error ignored;
    bool is = text[0] != '"' && qw_json_parse(&value, qw_text_of(text), "value", &ignored) == QW_OK;

    qw_json_free(value);
    return is;
}

static qw_text text_of(const qw_buf *b)
{
    return (qw_text){b->bytes ? b->bytes : "", b->n};
}

/* Where the text stands in `in`; beyond what could be its place where it does not. */
static size_t find(qw_text in, const char *what)
{
    size_t n = strlen(what), at = 0;

    while (at + n <= in.n && memcmp(in.bytes + at, what, n) != 0) at++;
    return at;
}

static qw_status given_twice(const char *key, qw_error *err)
{
    return qw_fail(err, QW_ERR_USAGE, "--%s is given 2 times: give it once", key);
}

static qw_status add_setting(qw_buf *object, const char *key, const char *value, qw_error *err)
{
    char name[80];

    snprintf(name, sizeof name, "\"%.70s\": ", key);
    if (find(text_of(object), name) + strlen(name) <= object->n) return given_twice(key, err);
    QW_TRY(qw_buf_append(object, object->n > 1 ? ", " : "", object->n > 1 ? 2 : 0, err));
    QW_TRY(qw_json_write_string(object, qw_text_of(key), err));
    QW_TRY(qw_buf_append(object, ": ", 2, err));
    if (strcmp(key, "response_format") != 0 && is_json_value(value))
        return qw_buf_append(object, value, strlen(value), err);
    return qw_json_write_string(object, qw_text_of(value), err);
}

static qw_status add_stop(qw_buf *stops, const char *text, qw_error *err)
{
    size_t n = strlen(text);
    uint8_t length[4];

    for (int i = 0; i < 4; i++) length[i] = (uint8_t)(n >> (8 * i));
    QW_TRY(qw_buf_append(stops, length, sizeof length, err));
    return qw_buf_append(stops, text, n, err);
}

static qw_status add_option(cli *c, const char *key, const char *value, qw_error *err)
{
    if (strcmp(key, "model") == 0) {
        if (c->model) return given_twice(key, err);
        c->model = value;
        return QW_OK;
    }
    if (strcmp(key, "prompt") == 0) {
        if (c->prompt) return given_twice(key, err);
        c->prompt = value;
        return QW_OK;
    }
    if (strcmp(key, "parse_special") == 0) {
        c->parse_special = strcmp(value, "false") != 0;
        return QW_OK;
    }
    if (strcmp(key, "stop_strings") == 0) return add_stop(&c->stops, value, err);
    if (strcmp(key, "seed") == 0 || strcmp(key, "rng_state") == 0) c->has_seed = true;
    if (strcmp(key, "logprobs") == 0) c->wants_chunks = true;
    if (strcmp(key, "max_time") == 0) c->max_time = strtod(value, NULL);
    return add_setting(is_load_option(key) ? &c->load : &c->settings, key, value, err);
}

static qw_status cli_parse(cli *c, int argc, char **argv, qw_error *err)
{
    QW_TRY(qw_buf_append(&c->load, "{", 1, err));
    QW_TRY(qw_buf_append(&c->settings, "{", 1, err));
    for (int i = 2; i < argc; i++) {
        const char *key = argv[i] + 2;

        if (strncmp(argv[i], "--", 2) != 0 || !*key)
            return qw_fail(err, QW_ERR_USAGE, "option expected, got '%s' (a text with blanks needs quotes)", argv[i]);
        if (strcmp(key, "json") == 0) {
            c->json = true;
            continue;
        }
        if (++i == argc) return qw_fail(err, QW_ERR_USAGE, "--%s: a value must follow", key);
        QW_TRY(add_option(c, key, argv[i], err));
    }
    if (!c->has_seed)
        QW_TRY(qw_buf_printf(&c->settings, err, "%s\"seed\": %u", c->settings.n > 1 ? ", " : "", random_seed()));
    QW_TRY(qw_buf_append(&c->load, "}", 1, err));
    QW_TRY(qw_buf_append(&c->settings, "}", 1, err));
    if (!c->model) return qw_fail(err, QW_ERR_USAGE, "--model FILE|FOLDER is missing");
    return QW_OK;
}

static qw_status read_prompt(cli *c, qw_error *err)
{
    char block[4096];
    size_t n;

    if (c->prompt) return qw_buf_append(&c->text, c->prompt, strlen(c->prompt), err);
    while ((n = fread(block, 1, sizeof block, stdin)) > 0) QW_TRY(qw_buf_append(&c->text, block, n, err));
    if (ferror(stdin)) return qw_fail(err, QW_ERR_USAGE, "standard input cannot be read (%s)", strerror(errno));
    return QW_OK;
}

static void print_json_ids(const int32_t *ids, size_t n)
{
    printf("{\"ids\": [");
    for (size_t i = 0; i < n; i++) printf("%s%d", i ? ", " : "", (int)ids[i]);
    printf("]}\n");
}

/* One line a token: its id, and its text as a JSON string, so that blanks and line ends can be seen. */
static qw_status print_tokens(qw_engine *e, const int32_t *ids, size_t n, qw_error *err)
{
    qw_buf line = {0};
    qw_status status = QW_OK;

    for (size_t i = 0; i < n && !status; i++) {
        qw_text text;

        line.n = 0;
        status = qw_engine_detokenize(e, ids + i, 1, false, &text, err);
        if (!status) status = qw_json_write_string(&line, text, err);
        if (!status) printf("%d\t%.*s\n", (int)ids[i], (int)line.n, line.bytes);
    }
    qw_buf_free(&line);
    return status;
}

static qw_status tokenize_prompt(qw_engine *e, const cli *c, qw_ids *ids, qw_error *err)
{
    qw_tokenize_options options = {.parse_special = c->parse_special};
    const int32_t *borrowed;
    size_t n;

    QW_TRY(qw_engine_tokenize(e, text_of(&c->text), &options, &borrowed, &n, err));
    return qw_ids_append(ids, borrowed, n, err);
}

/* What the model's file says of the settings that are the caller's to carry out: stop_strings and max_time. */
static qw_status take_file_defaults(qw_engine *e, cli *c, qw_error *err)
{
    qw_json *info = NULL;
    const qw_json *config, *stops;
    qw_text json;
    qw_status status = QW_OK;

    QW_TRY(qw_engine_info(e, &json, err));
    QW_TRY(qw_json_parse(&info, json, "info", err));
    config = qw_json_get(info, "generationConfig");
    stops = c->stops.n ? NULL : qw_json_get(config, "stop_strings");
    if (qw_json_string(stops)[0]) status = add_stop(&c->stops, qw_json_string(stops), err);
    for (const qw_json *one = qw_json_first(stops); one && !status; one = qw_json_next(one))
        if (qw_json_string(one)[0]) status = add_stop(&c->stops, qw_json_string(one), err);
    if (c->max_time < 0 && qw_json_get(config, "max_time"))
        c->max_time = qw_json_number(qw_json_get(config, "max_time"));
    qw_json_free(info);
    return status;
}

/* The items of the events' "chunks", as they stand: a quote inside a JSON text has a backslash, so these are the ends. */
static qw_status keep_chunks(cli *c, qw_text events, qw_error *err)
{
    static const char head[] = "\"chunks\":[", tail[] = "],\"finished\":[";
    size_t from = find(events, head) + sizeof head - 1, to = find(events, tail);

    QW_TRY(qw_buf_append(&c->chunks, ",", c->chunks.n ? 1 : 0, err));
    return qw_buf_append(&c->chunks, events.bytes + from, to - from, err);
}

/* Keeps the events' chunks as they are written, and prints the text of row 0; *any: there were chunks. */
static qw_status take_events(qw_engine *e, cli *c, bool *any, qw_error *err)
{
    qw_json *events = NULL;
    const qw_json *chunks;
    qw_text json;
    qw_status status = QW_OK;

    QW_TRY(qw_job_events(e, &json, err));
    QW_TRY(qw_json_parse(&events, json, "events", err));
    if (strcmp(qw_json_string(qw_json_get(events, "phase")), "prefill") == 0) c->read = now();
    chunks = qw_json_get(events, "chunks");
    *any = qw_json_size(chunks) > 0;
    for (const qw_json *chunk = qw_json_first(chunks); chunk && !c->json; chunk = qw_json_next(chunk))
        if (qw_json_number(qw_json_get(chunk, "index")) == 0) fputs(qw_json_string(qw_json_get(chunk, "text")), stdout);
    if (*any && c->wants_chunks) status = keep_chunks(c, json, err);
    qw_json_free(events);
    fflush(stdout);
    return status;
}

static int32_t answer_length(const qw_json *sequence)
{
    return qw_json_size(qw_json_get(sequence, "token_ids"));
}

/* The sequences with their prompt, the shorter ones padded on the right, as Transformers gives them. */
static void print_padded(const qw_json *sequences, const qw_ids *prompt, int32_t pad)
{
    int32_t longest = 0;

    for (const qw_json *s = qw_json_first(sequences); s; s = qw_json_next(s))
        if (answer_length(s) > longest) longest = answer_length(s);
    printf("\"padded_ids\":[");
    for (const qw_json *s = qw_json_first(sequences); s; s = qw_json_next(s)) {
        printf("%s[", s == qw_json_first(sequences) ? "" : ",");
        for (size_t i = 0; i < prompt->n; i++) printf("%s%d", i ? "," : "", (int)prompt->v[i]);
        for (const qw_json *id = qw_json_first(qw_json_get(s, "token_ids")); id; id = qw_json_next(id))
            printf(",%.0f", qw_json_number(id));
        for (int32_t n = answer_length(s); n < longest; n++) printf(",%d", (int)pad);
        printf("]");
    }
    printf("],");
}

/* The result as a page gets it: padded_ids in place of pad_token_id, timings, and the chunks where they are wanted. */
static void print_json(const cli *c, qw_text json, const qw_json *result, const qw_ids *prompt)
{
    size_t at = find(json, "\"pad_token_id\":"), end = at;

    while (end < json.n && json.bytes[end++] != ',') {
    }
    printf("%.*s", (int)at, json.bytes);
    print_padded(qw_json_get(result, "sequences"), prompt,
                 (int32_t)qw_json_number(qw_json_get(result, "pad_token_id")));
    printf("%.*s,\"timings\":{\"queue\":0,\"prefill\":%.3f,\"decode\":%.3f}", (int)(json.n - end) - 1, json.bytes + end,
           1e3 * (c->read - c->started), 1e3 * (c->ended - c->read));
    if (c->wants_chunks) printf(",\"chunks\":[%.*s]", (int)c->chunks.n, c->chunks.n ? c->chunks.bytes : "");
    printf("}\n");
}

/* Rows after the first (num_return_sequences) are printed when all is done, each after a line of dashes. */
static qw_status print_result(qw_engine *e, const cli *c, const qw_ids *prompt, qw_error *err)
{
    qw_json *result = NULL;
    qw_text json;

    QW_TRY(qw_job_result(e, &json, err));
    QW_TRY(qw_json_parse(&result, json, "result", err));
    if (c->json) {
        print_json(c, json, result, prompt);
        qw_json_free(result);
        return QW_OK;
    }
    putchar('\n');
    for (const qw_json *s = qw_json_first(qw_json_get(result, "sequences")); s; s = qw_json_next(s))
        if (qw_json_number(qw_json_get(s, "index")) > 0) printf("---\n%s\n", qw_json_string(qw_json_get(s, "text")));
    for (const qw_json *n = qw_json_first(qw_json_get(result, "notes")); n; n = qw_json_next(n))
        fprintf(stderr, "note: %s\n", qw_json_string(n));
    qw_json_free(result);
    return QW_OK;
}

static qw_status run_generate(qw_engine *e, cli *c, const qw_ids *ids, qw_error *err)
{
    int32_t length = (int32_t)ids->n;
    qw_prompts prompts = {ids->v, &length, 1};
    qw_step_result result = QW_STEP_MORE;
    bool any = false;

    QW_TRY(take_file_defaults(e, c, err));
    QW_TRY(qw_generate_begin(e, &prompts, text_of(&c->settings), text_of(&c->stops), 0, err));
    c->started = c->read = now();
    while (result != QW_STEP_DONE) {
        QW_TRY(qw_step(e, PROMPT_CHUNK, &result, err));
        QW_TRY(take_events(e, c, &any, err));
        if (result == QW_STEP_DONE || !any || c->max_time < 0 || now() - c->started <= c->max_time) continue;
        QW_TRY(qw_job_end_row(e, -1, "time", err));
        QW_TRY(take_events(e, c, &any, err));
        break;
    }
    c->ended = now();
    return print_result(e, c, ids, err);
}

static qw_status run_command(cli *c, qw_engine *e, bool generate, qw_error *err)
{
    qw_ids ids = {0};
    qw_status status = qw_file_load(e, c->model, 0, err);

    if (!status) status = read_prompt(c, err);
    if (!status) status = tokenize_prompt(e, c, &ids, err);
    if (!status && generate) {
        status = run_generate(e, c, &ids, err);
    } else if (!status && c->json) {
        print_json_ids(ids.v, ids.n);
    } else if (!status) {
        status = print_tokens(e, ids.v, ids.n, err);
    }
    qw_ids_free(&ids);
    return status;
}

static qw_status run(cli *c, int argc, char **argv, qw_error *err)
{
    bool generate = strcmp(argv[1], "generate") == 0;
    qw_engine *e = NULL;
    qw_status status;

    if (!generate && strcmp(argv[1], "tokenize") != 0)
        return qw_fail(err, QW_ERR_USAGE, "command '%s' is not known: generate and tokenize are (--help tells more)",
                       argv[1]);
    QW_TRY(cli_parse(c, argc, argv, err));
    if (!generate) {
        c->load.n = 0; /* a vocabulary needs no cache */
        QW_TRY(qw_buf_printf(&c->load, err, "{\"contextLength\": 32, \"maxRows\": 1}"));
    }
    status = qw_engine_new(&e, text_of(&c->load), err);
    if (!status) status = run_command(c, e, generate, err);
    qw_engine_free(e);
    return status;
}

int main(int argc, char **argv)
{
    cli c = {.parse_special = true, .max_time = -1};
    qw_error err = {0};
    qw_status status;

    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        print_usage(argc < 2 ? stderr : stdout);
        return argc < 2 ? EXIT_USAGE : EXIT_SUCCESS;
    }
    status = run(&c, argc, argv, &err);
    if (status) fprintf(stderr, "qwen2: %s\n", err.text);
    qw_buf_free(&c.load);
    qw_buf_free(&c.settings);
    qw_buf_free(&c.stops);
    qw_buf_free(&c.text);
    qw_buf_free(&c.chunks);
    if (!status) return EXIT_SUCCESS;
    return status == QW_ERR_USAGE ? EXIT_USAGE : EXIT_FAILED;
}
