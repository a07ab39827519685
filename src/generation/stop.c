/* SPDX-License-Identifier: MIT
 * Stop strings as an Aho-Corasick automaton ("Efficient string matching", CACM 18(6), 1975) over bytes: its state is
 * the longest suffix of all bytes so far that begins a stop string, and so also tells how much text must be held back.
 * */
#include "generation/stop.h"

#include "base/alloc.h"
#include "base/bytes.h"

enum { ROOT = 0 };

/* Children hang in a list: a node has few, and a node for each byte of 64 KiB would be too large with a table of 256.
 * */
typedef struct node {
    uint32_t child, sibling; /* first child, next sibling; ROOT: none */
    uint32_t fail;           /* the longest proper suffix that is a node */
    uint32_t depth;          /* length of what the node stands for */
    uint32_t match;          /* length of the longest stop string that ends here; 0: none */
    uint8_t byte;
} node;

struct qw_stops {
    node *nodes;
    uint32_t n;
    uint32_t longest; /* stop string, in bytes */
};

static uint32_t find_child(const qw_stops *s, uint32_t parent, uint8_t byte)
{
    uint32_t c = s->nodes[parent].child;

    while (c != ROOT && s->nodes[c].byte != byte) c = s->nodes[c].sibling;
    return c;
}

static uint32_t advance(const qw_stops *s, uint32_t state, uint8_t byte)
{
    for (;;) {
        uint32_t c = find_child(s, state, byte);

        if (c != ROOT || state == ROOT) return c;
        state = s->nodes[state].fail;
    }
}

static void add_string(qw_stops *s, const uint8_t *bytes, uint32_t n)
{
    uint32_t at = ROOT;

    for (uint32_t i = 0; i < n; i++) {
        uint32_t c = find_child(s, at, bytes[i]);

        if (c == ROOT) {
            c = s->n++;
            s->nodes[c] = (node){.sibling = s->nodes[at].child, .depth = i + 1, .byte = bytes[i]};
            s->nodes[at].child = c;
        }
        at = c;
    }
    s->nodes[at].match = n;
    if (n > s->longest) s->longest = n;
}

/* Level by level, so that a node's fail link, which is shorter, is known before it is needed. */
static void link_nodes(qw_stops *s, uint32_t *queue)
{
    uint32_t head = 0, tail = 0;

    queue[tail++] = ROOT;
    while (head < tail) {
        uint32_t parent = queue[head++];

        for (uint32_t c = s->nodes[parent].child; c != ROOT; c = s->nodes[c].sibling) {
            node *child = &s->nodes[c];

            child->fail = parent == ROOT ? ROOT : advance(s, s->nodes[parent].fail, child->byte);
            if (child->match == 0) child->match = s->nodes[child->fail].match;
            queue[tail++] = c;
        }
    }
}

/* Bytes of all strings. */
static qw_status measure(qw_text packed, size_t *total, qw_error *err)
{
    qw_bytes in = {(const uint8_t *)packed.bytes, (const uint8_t *)packed.bytes + packed.n, false};

    *total = 0;
    while (qw_bytes_left(&in) > 0 && !in.bad) {
        uint32_t n = qw_bytes_u32(&in);

        if (!in.bad && n == 0)
            return qw_fail(err, QW_ERR_USAGE,
                           "stop_strings holds an empty string, which would stop everything: leave it out");
        *total += n;
        qw_bytes_take(&in, n);
    }
    if (in.bad) return qw_fail(err, QW_ERR_USAGE, "the packed stop strings end inside one");
    if (*total > QW_STOP_BYTES_MAX)
        return qw_fail(err, QW_ERR_USAGE,
                       "stop_strings hold %zu bytes, at most %d are taken: use fewer or shorter ones", *total,
                       (int)QW_STOP_BYTES_MAX);
    return QW_OK;
}

qw_status qw_stops_new(qw_stops **out, qw_text packed, qw_error *err)
{
    static const char nothing[1] = {0};
    qw_text text = packed.n ? packed : (qw_text){nothing, 0};
    qw_bytes in = {(const uint8_t *)text.bytes, (const uint8_t *)text.bytes + text.n, false};
    size_t total;
    qw_stops *s;
    uint32_t *queue;

    QW_TRY(measure(text, &total, err));
    s = qw_calloc(1, sizeof *s);
    queue = qw_calloc(total + 1, sizeof *queue);
    if (s) s->nodes = qw_calloc(total + 1, sizeof *s->nodes);
    if (!s || !queue || !s->nodes) {
        qw_free(queue);
        qw_stops_free(s);
        return qw_fail_memory(err, "stop strings", (double)(total + 1) * (double)(sizeof(node) + sizeof *queue));
    }
    s->n = 1;
    while (qw_bytes_left(&in) > 0) {
        uint32_t n = qw_bytes_u32(&in);

        add_string(s, qw_bytes_take(&in, n), n);
    }
    link_nodes(s, queue);
    qw_free(queue);
    *out = s;
    return QW_OK;
}

void qw_stops_free(qw_stops *s)
{
    if (!s) return;
    qw_free(s->nodes);
    qw_free(s);
}

qw_status qw_row_text_start(qw_row_text *r, const qw_stops *stops, const qw_tokenizer *t, const int32_t *prompt,
                            size_t n_prompt, qw_error *err)
{
    size_t first = n_prompt, bytes = 0;

    (void)err;
    r->decoder = (qw_decoder){0};
    r->pending.n = r->shown.n = 0;
    r->match_state = ROOT;
    r->stopped = false;
    if (!stops) return QW_OK;
    while (first > 0 && bytes + 1 < stops->longest) bytes += qw_tokenizer_token_bytes(t, prompt[--first]).n;
    for (; first < n_prompt; first++) {
        qw_text text = qw_tokenizer_token_bytes(t, prompt[first]);

        for (size_t i = 0; i < text.n; i++) r->match_state = advance(stops, r->match_state, (uint8_t)text.bytes[i]);
    }
    return QW_OK;
}

/* Shows the first n pending bytes as far as they are to be shown, and forgets them. */
static qw_status release(qw_row_text *r, size_t n, qw_buf *out, qw_error *err)
{
    size_t rest = r->pending.n - n, at = 0;

    if (n == 0) return QW_OK;
    while (at < n) {
        size_t end = at;

        while (end < n && r->shown.bytes[end] == r->shown.bytes[at]) end++;
        if (r->shown.bytes[at])
            QW_TRY(qw_decoder_push(&r->decoder, (qw_text){r->pending.bytes + at, end - at}, out, err));
        at = end;
    }
    memmove(r->pending.bytes, r->pending.bytes + n, rest);
    memmove(r->shown.bytes, r->shown.bytes + n, rest);
    r->pending.n = r->shown.n = rest;
    return QW_OK;
}

static qw_status append_pending(qw_row_text *r, qw_text text, bool shown, qw_error *err)
{
    char flag = shown;

    QW_TRY(qw_buf_append(&r->pending, text.bytes, text.n, err));
    for (size_t i = 0; i < text.n; i++) QW_TRY(qw_buf_append(&r->shown, &flag, 1, err));
    return QW_OK;
}

/* The bytes of text through the automaton; how many bytes before text's end the earliest stop string begins that one of
 * its bytes completes; 0 where none does. */
static size_t match(qw_row_text *r, const qw_stops *stops, qw_text text)
{
    size_t furthest = 0;

    for (size_t i = 0; i < text.n; i++) {
        size_t length, back;

        r->match_state = advance(stops, r->match_state, (uint8_t)text.bytes[i]);
        length = stops->nodes[r->match_state].match;
        back = length ? length + (text.n - 1 - i) : 0;
        if (back > furthest) furthest = back;
    }
    return furthest;
}

qw_status qw_row_text_push(qw_row_text *r, const qw_stops *stops, const qw_tokenizer *t, int32_t id, bool skip_special,
                           qw_buf *out, qw_error *err)
{
    qw_text text = qw_tokenizer_token_bytes(t, id);
    size_t back, held;

    if (r->stopped) return QW_OK;
    QW_TRY(append_pending(r, text, !skip_special || qw_tokenizer_type(t, id) != QW_TOKEN_CONTROL, err));
    back = stops ? match(r, stops, text) : 0;
    if (back == 0) {
        held = stops ? stops->nodes[r->match_state].depth : 0;
        return release(r, held < r->pending.n ? r->pending.n - held : 0, out, err);
    }
    QW_TRY(release(r, back < r->pending.n ? r->pending.n - back : 0, out, err));
    r->stopped = true;
    r->pending.n = r->shown.n = 0;
    return qw_decoder_flush(&r->decoder, out, err);
}

qw_status qw_row_text_finish(qw_row_text *r, qw_buf *out, qw_error *err)
{
    if (r->stopped) return QW_OK;
    QW_TRY(release(r, r->pending.n, out, err));
    return qw_decoder_flush(&r->decoder, out, err);
}

void qw_row_text_free(qw_row_text *r)
{
    qw_buf_free(&r->pending);
    qw_buf_free(&r->shown);
    *r = (qw_row_text){0};
}
