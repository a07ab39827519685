/* SPDX-License-Identifier: MIT
 * Answers questions about forms for scripts/conformance/format.mjs, natively and as wasm:
 *   format_probe QUESTIONS MODEL ANSWERS
 * QUESTIONS is a file of requests, each a line "WORD N" and N bytes (with a line feed behind them); every request is answered
 * by one line of JSON in the file ANSWERS. The vocabulary is MODEL's. */
#include "conformance.h"
#include "format/format.h"
#include "format/matcher.h"
#include "format/schema.h"
#include "format/schema_dom.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef struct probe {
    qw_engine *engine;
    const qw_tokenizer *tokenizer;
    qw_masks masks;
    char space[16];
    qw_format *format;
    qw_expr_pool *pool; /* of a schema whose formats are annotations */
    qw_grammar *grammar;
    qw_matcher *matcher;
    qw_moves moves;
    uint32_t start, state;
} probe;

static double ms_since(clock_t from)
{
    return (double)(clock() - from) * 1e3 / CLOCKS_PER_SEC;
}

static void forget(probe *p)
{
    qw_format_free(p->format);
    qw_matcher_free(p->matcher);
    qw_grammar_free(p->grammar);
    qw_expr_pool_free(p->pool);
    p->format = NULL;
    p->matcher = NULL;
    p->grammar = NULL;
    p->pool = NULL;
    p->start = p->state = QW_STATE_DEAD;
}

static qw_whitespace space_of(const probe *p)
{
    return !strcmp(p->space, "any") ? QW_SPACE_ANY : !strcmp(p->space, "compact") ? QW_SPACE_COMPACT : QW_SPACE_BOUNDED;
}

static void answer_error(qw_status status, const qw_error *err, double ms)
{
    qw_buf out = {0};

    if (qw_buf_printf(&out, NULL, "{\"code\":\"%s\",\"ms\":%.3f,\"error\":", qw_status_name(status), ms) ||
        qw_json_write_string(&out, qw_text_of(err->text), NULL))
        abort();
    printf("%.*s}\n", (int)out.n, out.bytes);
    qw_buf_free(&out);
}

static qw_status compile(probe *p, qw_text schema, qw_error *err)
{
    qw_schema_options options = {.ignore_formats = true};
    qw_node node;

    QW_TRY(qw_expr_pool_new(&p->pool, 0, err));
    QW_TRY(qw_grammar_new(&p->grammar, p->pool, space_of(p), err));
    QW_TRY(qw_schema_compile(p->grammar, p->pool, schema, &options, &node, NULL, err));
    QW_TRY(qw_matcher_new(&p->matcher, p->grammar, node, err));
    p->moves = qw_matcher_moves(p->matcher);
    p->start = qw_matcher_start(p->matcher);
    return QW_OK;
}

/* "format": a response_format; "schema": a schema whose formats are annotations. */
static void make(probe *p, qw_text json, bool bare)
{
    qw_error err = {0};
    qw_buf notes = {0};
    clock_t from = clock();
    qw_status status;

    forget(p);
    if (bare) status = compile(p, json, &err);
    else status = qw_format_new(&p->format, json, qw_text_of(p->space), &p->masks, &notes, &err);
    if (!status && p->format) {
        p->moves = *qw_format_moves(p->format);
        p->start = qw_format_start(p->format);
    }
    p->state = p->start;
    if (status) answer_error(status, &err, ms_since(from));
    else printf("{\"ok\":true,\"ms\":%.3f}\n", ms_since(from));
    qw_buf_free(&notes);
}

static qw_status status_of(const probe *p, qw_error *err)
{
    return p->matcher ? qw_matcher_status(p->matcher, err) : p->format ? qw_format_status(p->format, err) : QW_OK;
}

static void answer_state(const probe *p)
{
    bool lives = p->state != QW_STATE_DEAD, end = lives && p->moves.may_end(p->moves.self, p->state);
    qw_error err = {0};

    if (status_of(p, &err)) answer_error(QW_ERR_USAGE, &err, 0);
    else printf("{\"lives\":%s,\"end\":%s}\n", lives ? "true" : "false", end ? "true" : "false");
}

/* The bytes that may come next, a bit each: 64 digits of hex, byte 0's eight first. */
static void answer_bytes(const probe *p)
{
    printf("{\"bytes\":\"");
    for (unsigned b = 0; b < 256; b += 8) {
        unsigned bits = 0;

        for (unsigned i = 0; i < 8; i++)
            if (p->state && p->moves.step(p->moves.self, p->state, (uint8_t)(b + i)) != QW_STATE_DEAD) bits |= 1u << i;
        printf("%02x", bits);
    }
    printf("\",\"end\":%s}\n", p->state && p->moves.may_end(p->moves.self, p->state) ? "true" : "false");
}

static void answer_mask(probe *p)
{
    const uint32_t *bits;
    qw_error err = {0};
    clock_t from = clock();
    qw_status status = qw_format_mask(p->format, p->state, &bits, &err);

    if (status) {
        answer_error(status, &err, ms_since(from));
        return;
    }
    printf("{\"ms\":%.3f,\"mask\":\"", ms_since(from));
    for (size_t i = 0; i < p->masks.n_words; i++)
        for (int k = 0; k < 32; k += 8) printf("%02x", bits[i] >> k & 255u);
    printf("\"}\n");
}

/* The fewest tokens with which finish_in_budget lets the text end: those behind which one fewer ends it stay allowed. */
static uint32_t fewest_tokens(probe *p)
{
    const uint32_t *bits = NULL;
    qw_error err = {0};

    if (!p->state || p->moves.may_end(p->moves.self, p->state)) return p->state ? 0 : UINT32_MAX;
    for (uint32_t most = 0; most < 1000; most++) {
        if (qw_format_mask_within(p->format, p->state, most, &bits, &err)) break;
        for (size_t i = 0; i < p->masks.n_words; i++)
            if (!bits || bits[i]) return most + 1;
    }
    return UINT32_MAX;
}

static void answer_finish(probe *p)
{
    uint32_t bytes = p->state ? p->moves.shortest(p->moves.self, p->state) : UINT32_MAX;

    printf("{\"bytes\":%u,\"tokens\":%u}\n", (unsigned)bytes, (unsigned)fewest_tokens(p));
}

static uint32_t walk(const probe *p, uint32_t state, const char *text)
{
    return qw_moves_walk(&p->moves, state, qw_text_of(text));
}

static uint32_t walk_string(const probe *p, uint32_t state, qw_text text)
{
    qw_buf out = {0};

    if (qw_json_write_string(&out, text, NULL)) abort();
    state = qw_moves_walk(&p->moves, state, (qw_text){out.bytes, out.n});
    qw_buf_free(&out);
    return state;
}

static uint32_t walk_value(const probe *p, uint32_t state, const qw_dom *value);

/* Orders of keys that are looked at for one value. */
enum { MOST_TRIES = 5000 };
static int tries;

/* The members that are not done yet (bit i: the i-th), in the first order that lives to the closing brace. */
static uint32_t walk_members(const probe *p, uint32_t state, const qw_dom *object, uint64_t done, bool first)
{
    uint64_t bit = 1;

    if (++tries > MOST_TRIES) return QW_STATE_DEAD;
    if (done == ((uint64_t)1 << object->n) - 1) return walk(p, state, "}");
    for (const qw_dom *child = object->first; child; child = child->next, bit <<= 1) {
        uint32_t next;

        if (done & bit) continue;
        next = walk_string(p, first ? state : walk(p, state, ","), child->key);
        next = walk_value(p, walk(p, next, ":"), child);
        if (next != QW_STATE_DEAD) next = walk_members(p, next, object, done | bit, false);
        if (next != QW_STATE_DEAD) return next;
    }
    return QW_STATE_DEAD;
}

static uint32_t walk_value(const probe *p, uint32_t state, const qw_dom *value)
{
    if (state == QW_STATE_DEAD) return state;
    if (value->kind == QW_DOM_STRING) return walk_string(p, state, value->text);
    if (value->kind == QW_DOM_OBJECT && value->n < 60) return walk_members(p, walk(p, state, "{"), value, 0, true);
    if (value->kind != QW_DOM_ARRAY) return qw_moves_walk(&p->moves, state, value->text);
    state = walk(p, state, "[");
    for (const qw_dom *item = value->first; item; item = item->next) {
        state = walk_value(p, state, item);
        if (item->next) state = walk(p, state, ",");
    }
    return walk(p, state, "]");
}

/* Whether a value, its keys in whatever order, is taken. */
static void answer_value(probe *p, qw_text json)
{
    qw_arena arena = {0};
    const qw_dom *value;
    qw_error err = {0};

    tries = 0;
    p->state = QW_STATE_DEAD;
    if (qw_dom_parse(&arena, json, "a value", &value, &err) == QW_OK) p->state = walk_value(p, p->start, value);
    qw_arena_free(&arena);
    answer_state(p);
}

static void answer(probe *p, const char *word, qw_text text)
{
    if (!strcmp(word, "whitespace")) {
        snprintf(p->space, sizeof p->space, "%.*s", (int)text.n, text.bytes);
        printf("{\"ok\":true}\n");
    } else if (!strcmp(word, "format") || !strcmp(word, "schema")) {
        make(p, text, word[0] == 's');
    } else if (!strcmp(word, "start")) {
        p->state = p->start;
        answer_state(p);
    } else if (!strcmp(word, "text")) {
        p->state = qw_moves_walk(&p->moves, p->state, text);
        answer_state(p);
    } else if (!strcmp(word, "token")) {
        int32_t id = (int32_t)strtol(text.bytes, NULL, 10);

        if (p->state != QW_STATE_DEAD) p->state = qw_moves_token(&p->moves, p->tokenizer, p->state, id);
        answer_state(p);
    } else if (!strcmp(word, "value")) {
        answer_value(p, text);
    } else if (!strcmp(word, "bytes")) {
        answer_bytes(p);
    } else if (!strcmp(word, "mask")) {
        answer_mask(p);
    } else if (!strcmp(word, "finish")) {
        answer_finish(p);
    } else {
        printf("{\"code\":\"usage\",\"error\":\"unknown word\"}\n");
    }
}

static bool answer_all(probe *p, const qw_buf *file)
{
    const char *at = file->bytes, *end = file->bytes + file->n;

    while (at < end) {
        char word[16];
        unsigned long n;
        const char *line = memchr(at, '\n', (size_t)(end - at));
        char copy[1 << 5];

        if (!line || sscanf(at, "%15s %lu", word, &n) != 2 || (size_t)(end - line - 1) < n + 1) return false;
        at = line + 1;
        if (n < sizeof copy) { /* numbers want an end */
            memcpy(copy, at, n);
            copy[n] = 0;
        }
        answer(p, word, (qw_text){n < sizeof copy ? copy : at, n});
        at += n + 1;
    }
    return true;
}

int main(int argc, char **argv)
{
    conf c = {.max_threads = 1};
    probe p = {0};
    qw_buf file = {0};
    clock_t from;
    bool well;

    if (argc < 4 || !conf_read(&c, argv[1], &file) || !freopen(argv[3], "w", stdout)) {
        fputs("usage: format_probe QUESTIONS MODEL ANSWERS\n", stderr);
        return 2;
    }
    p.engine = conf_load(&c, argv[2], "{\"threads\": 1, \"contextLength\": 16}");
    if (!p.engine) return 1;
    p.tokenizer = qw_engine_model(p.engine)->tokenizer;
    from = clock();
    if (qw_masks_new(&p.masks, p.tokenizer, NULL)) return 1;
    printf("{\"trie_ms\":%.3f,\"trie_bytes\":%zu}\n", ms_since(from), qw_masks_bytes(&p.masks));
    well = answer_all(&p, &file);
    forget(&p);
    qw_masks_free(&p.masks);
    qw_engine_free(p.engine);
    qw_buf_free(&file);
    return well ? 0 : 1;
}
