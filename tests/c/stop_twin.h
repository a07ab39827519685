/* SPDX-License-Identifier: MIT
 * Stop strings the naive way: after each token all bytes are looked at anew. check_sample streams a row through stop.h
 * and holds it against that: where it stops, what may be shown by then, and the text in the end. */
#ifndef QW_STOP_TWIN_H
#define QW_STOP_TWIN_H

#include "generation/stop.h"
#include "byte_vocab.h"

enum { MAX_IDS = 40, MAX_STOPS = 4 };

typedef struct sample {
    int32_t ids[MAX_IDS];
    int32_t n, n_prompt;
    qw_buf stops[MAX_STOPS];
    int32_t n_stops;
    bool skip_special;
} sample;

/* All bytes of prompt and output, which of them are output text to show, and where each token ends. */
typedef struct seen {
    qw_buf bytes;
    qw_buf shown;
    size_t end[MAX_IDS];
} seen;

static inline void look(seen *x, const qw_tokenizer *t, const sample *s)
{
    *x = (seen){0};
    for (int32_t i = 0; i < s->n; i++) {
        qw_text text = qw_tokenizer_token_bytes(t, s->ids[i]);
        char shows = i >= s->n_prompt && !(s->skip_special && qw_tokenizer_type(t, s->ids[i]) == QW_TOKEN_CONTROL);

        CHECK_EQ(qw_buf_append(&x->bytes, text.bytes, text.n, NULL), QW_OK);
        for (size_t k = 0; k < text.n; k++) CHECK_EQ(qw_buf_append(&x->shown, &shows, 1, NULL), QW_OK);
        x->end[i] = x->bytes.n;
    }
}

/* Where the first stop string begins that reaches into bytes begin .. end - 1; SIZE_MAX: none. */
static inline size_t twin_match(const seen *x, const sample *s, size_t begin, size_t end)
{
    for (size_t at = 0; at < end; at++) {
        for (int32_t i = 0; i < s->n_stops; i++) {
            size_t n = s->stops[i].n;

            if (at + n > end || at + n <= begin) continue;
            if (memcmp(x->bytes.bytes + at, s->stops[i].bytes, n) == 0) return at;
        }
    }
    return SIZE_MAX;
}

/* Where the longest tail of the first `end` bytes begins that could still become a stop string; end: none. */
static inline size_t twin_hold(const seen *x, const sample *s, size_t end)
{
    for (size_t at = 0; at < end; at++)
        for (int32_t i = 0; i < s->n_stops; i++)
            if (end - at < s->stops[i].n && memcmp(x->bytes.bytes + at, s->stops[i].bytes, end - at) == 0) return at;
    return end;
}

/* The text of the shown bytes before `end`, in one go. */
static inline qw_buf twin_text(const seen *x, size_t end, bool flush)
{
    qw_decoder d = {0};
    qw_buf bytes = {0}, text = {0};

    for (size_t i = 0; i < end; i++)
        if (x->shown.bytes[i]) CHECK_EQ(qw_buf_append(&bytes, x->bytes.bytes + i, 1, NULL), QW_OK);
    if (bytes.n) CHECK_EQ(qw_decoder_push(&d, text_of(&bytes), &text, NULL), QW_OK);
    if (flush) CHECK_EQ(qw_decoder_flush(&d, &text, NULL), QW_OK);
    qw_buf_free(&bytes);
    return text;
}

static inline qw_stops *pack(const sample *s)
{
    qw_buf packed = {0};
    qw_stops *stops = NULL;

    for (int32_t i = 0; i < s->n_stops; i++) {
        uint32_t n = (uint32_t)s->stops[i].n;
        uint8_t length[4] = {(uint8_t)n, (uint8_t)(n >> 8), (uint8_t)(n >> 16), (uint8_t)(n >> 24)};

        CHECK_EQ(qw_buf_append(&packed, length, 4, NULL), QW_OK);
        CHECK_EQ(qw_buf_append(&packed, s->stops[i].bytes, n, NULL), QW_OK);
    }
    CHECK_EQ(qw_stops_new(&stops, text_of(&packed), NULL), QW_OK);
    qw_buf_free(&packed);
    return stops;
}

/* The text shown so far is what the twin allows at this place. */
static inline void check_shown(const qw_buf *got, const seen *x, size_t end, bool flush)
{
    qw_buf wanted = twin_text(x, end, flush);

    CHECK(same_bytes(got, &wanted));
    qw_buf_free(&wanted);
}

/* Streams the sample; true where it stopped. */
static inline bool check_sample(const qw_tokenizer *t, const sample *s)
{
    qw_stops *stops = s->n_stops ? pack(s) : NULL;
    qw_row_text r = {0};
    qw_buf got = {0};
    seen x;
    bool stopped = false;

    look(&x, t, s);
    CHECK_EQ(qw_row_text_start(&r, stops, t, s->ids, (size_t)s->n_prompt, NULL), QW_OK);
    for (int32_t i = s->n_prompt; i < s->n && !stopped; i++) {
        size_t begin = i ? x.end[i - 1] : 0, at = twin_match(&x, s, begin, x.end[i]);

        CHECK_EQ(qw_row_text_push(&r, stops, t, s->ids[i], s->skip_special, &got, NULL), QW_OK);
        stopped = at != SIZE_MAX;
        CHECK_EQ(r.stopped, stopped);
        check_shown(&got, &x, stopped ? at : twin_hold(&x, s, x.end[i]), stopped);
        if (stopped && i + 1 < s->n) { /* nothing more comes */
            CHECK_EQ(qw_row_text_push(&r, stops, t, s->ids[i + 1], s->skip_special, &got, NULL), QW_OK);
            CHECK_EQ(qw_row_text_finish(&r, &got, NULL), QW_OK);
            check_shown(&got, &x, at, true);
        }
    }
    if (!stopped) {
        CHECK_EQ(qw_row_text_finish(&r, &got, NULL), QW_OK);
        check_shown(&got, &x, x.bytes.n, true);
    }
    if (!stops) {
        qw_buf whole = {0};

        CHECK_EQ(
            qw_tokenizer_decode(t, s->ids + s->n_prompt, (size_t)(s->n - s->n_prompt), s->skip_special, &whole, NULL),
            QW_OK);
        CHECK(same_bytes(&got, &whole));
        qw_buf_free(&whole);
    }
    qw_row_text_free(&r);
    qw_stops_free(stops);
    qw_buf_free(&got);
    qw_buf_free(&x.bytes);
    qw_buf_free(&x.shown);
    return stopped;
}

#endif
