/* SPDX-License-Identifier: MIT
 * The native command line: qwen2 generate and qwen2 tokenize. Options are the public names of LoadOptions and
 * GenerationSettings; they go to the library as the same JSON that a page sends, and are checked there. */
#include "file_source.h"
#include "json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_FAILED = 1, EXIT_USAGE = 2, PROMPT_CHUNK = 64 };

typedef struct cli {
    const char *model, *prompt;
    bool json, parse_special;
    qw_buf load; /* JSON objects, without the closing brace until cli_parse has ended */
    qw_buf settings;
    qw_buf stops; /* stop.h's packed form */
    qw_buf text;  /* the prompt */
} cli;

static const char usage_text[] =
    "usage: qwen2 generate --model FILE|FOLDER [--prompt TEXT] [--json] [options] [settings]\n"
    "       qwen2 tokenize --model FILE|FOLDER [--prompt TEXT] [--json] [--parse_special false]\n"
    "Without --prompt the text is read from standard input; it is taken as it is, without a chat template.\n"
    "  options:  --threads N  --contextLength N  --maxRows N  --kvType f32|f16|q8_0  --quantize none|q8_0|q4_0\n"
    "  settings: the names of generation_config.json, as --max_new_tokens 64 --do_sample true --temperature 0.7 --seed "
    "1\n"
    "            --eos_token_id '[1, 2]' --stop_strings TEXT (may be given several times)\n";

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

static qw_status add_setting(qw_buf *object, const char *key, const char *value, qw_error *err)
{
    QW_TRY(qw_buf_append(object, object->n > 1 ? ", " : "", object->n > 1 ? 2 : 0, err));
    QW_TRY(qw_json_write_string(object, qw_text_of(key), err));
    QW_TRY(qw_buf_append(object, ": ", 2, err));
    if (is_json_value(value)) return qw_buf_append(object, value, strlen(value), err);
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
        c->model = value;
        return QW_OK;
    }
    if (strcmp(key, "prompt") == 0) {
        c->prompt = value;
        return QW_OK;
    }
    if (strcmp(key, "parse_special") == 0) {
        c->parse_special = strcmp(value, "false") != 0;
        return QW_OK;
    }
    if (strcmp(key, "stop_strings") == 0) return add_stop(&c->stops, value, err);
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

static qw_text text_of(const qw_buf *b)
{
    return (qw_text){b->bytes ? b->bytes : "", b->n};
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
    qw_encode_options options = {.parse_special = c->parse_special};
    const int32_t *borrowed;
    size_t n;

    QW_TRY(qw_engine_tokenize(e, text_of(&c->text), &options, &borrowed, &n, err));
    return qw_ids_append(ids, borrowed, n, err);
}

/* Prints the text of row 0 that the last step released. */
static qw_status print_chunks(qw_engine *e, qw_error *err)
{
    qw_json *events = NULL;
    qw_text json;

    QW_TRY(qw_job_events(e, &json, err));
    QW_TRY(qw_json_parse(&events, json, "events", err));
    for (const qw_json *chunk = qw_json_first(qw_json_get(events, "chunks")); chunk; chunk = qw_json_next(chunk))
        if (qw_json_number(qw_json_get(chunk, "index")) == 0) fputs(qw_json_string(qw_json_get(chunk, "text")), stdout);
    qw_json_free(events);
    fflush(stdout);
    return QW_OK;
}

/* Rows after the first (num_return_sequences) are printed when all is done, each after a line of dashes. */
static qw_status print_result(qw_engine *e, const cli *c, qw_error *err)
{
    qw_json *result = NULL;
    qw_text json;

    QW_TRY(qw_job_result(e, &json, err));
    if (c->json) {
        printf("%.*s\n", (int)json.n, json.bytes);
        return QW_OK;
    }
    QW_TRY(qw_json_parse(&result, json, "result", err));
    putchar('\n');
    for (const qw_json *s = qw_json_first(qw_json_get(result, "sequences")); s; s = qw_json_next(s))
        if (qw_json_number(qw_json_get(s, "index")) > 0) printf("---\n%s\n", qw_json_string(qw_json_get(s, "text")));
    for (const qw_json *n = qw_json_first(qw_json_get(result, "notes")); n; n = qw_json_next(n))
        fprintf(stderr, "note: %s\n", qw_json_string(n));
    qw_json_free(result);
    return QW_OK;
}

static qw_status run_generate(qw_engine *e, const cli *c, const qw_ids *ids, qw_error *err)
{
    int32_t length = (int32_t)ids->n;
    qw_prompts prompts = {ids->v, &length, 1};
    qw_step_result result = QW_STEP_MORE;

    QW_TRY(qw_generate_begin(e, &prompts, text_of(&c->settings), text_of(&c->stops), 0, err));
    while (result != QW_STEP_DONE) {
        QW_TRY(qw_step(e, PROMPT_CHUNK, &result, err));
        if (!c->json) QW_TRY(print_chunks(e, err));
    }
    return print_result(e, c, err);
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
    cli c = {.parse_special = true};
    qw_error err = {0};
    qw_status status;

    if (argc < 2 || strcmp(argv[1], "--help") == 0) {
        fputs(usage_text, argc < 2 ? stderr : stdout);
        return argc < 2 ? EXIT_USAGE : EXIT_SUCCESS;
    }
    status = run(&c, argc, argv, &err);
    if (status) fprintf(stderr, "qwen2: %s\n", err.text);
    qw_buf_free(&c.load);
    qw_buf_free(&c.settings);
    qw_buf_free(&c.stops);
    qw_buf_free(&c.text);
    if (!status) return EXIT_SUCCESS;
    return status == QW_ERR_USAGE ? EXIT_USAGE : EXIT_FAILED;
}
