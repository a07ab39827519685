/* SPDX-License-Identifier: MIT
 * Texts are found by a hash table that lives only while the tokenizer is built; after that ids are all it needs. Tokens
 * are kept as the bytes they stand for: ordinary ones are spelled in the byte-level alphabet, in which every byte is a
 * printable character; one with any other character stands for itself, as in the reference, and no merge leads to it. */
#include "tokenizer/tokenizer_build.h"

#include "base/alloc.h"
#include "tokenizer/nfc.h"
#include "base/quote_text.h"
#include "tokenizer/unicode.h"

#include <string.h>

static bool is_own_letter(uint32_t byte)
{
    return (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || (byte >= 174 && byte <= 255);
}

/* The byte-level alphabet: printable bytes are their own character, the 68 others come after U+0100 in their order. */
static uint32_t letter_of_byte(uint32_t byte)
{
    if (is_own_letter(byte)) return byte;
    if (byte <= 32) return 256 + byte;
    return byte == 173 ? 256 + 67 : 256 + 33 + (byte - 127);
}

/* The byte of a letter of the alphabet, or -1. */
static int32_t byte_of_letter(uint32_t c)
{
    uint32_t i = c - 256;

    if (c < 256) return is_own_letter(c) ? (int32_t)c : -1;
    if (i <= 32) return (int32_t)i;
    if (i <= 66) return (int32_t)(127 + i - 33);
    return i == 67 ? 173 : -1;
}

/* Writes the bytes that an ordinary token stands for, at most text.n; returns how many. */
static size_t write_bytes(char *out, qw_text text)
{
    size_t n = 0;
    uint32_t c;

    for (size_t at = 0; at < text.n;) {
        int32_t byte;
        at += qw_utf8_step(text.bytes + at, text.n - at, &c);
        byte = byte_of_letter(c);
        if (byte < 0) {
            memcpy(out, text.bytes, text.n);
            return text.n;
        }
        out[n++] = (char)byte;
    }
    return n;
}

static bool is_added(qw_token_type type)
{
    return type == QW_TOKEN_CONTROL || type == QW_TOKEN_USER_DEFINED;
}

static qw_token_type type_of(const qw_token_list *list, size_t id)
{
    if (!list->texts[id].n) return QW_TOKEN_UNUSED;
    return list->types ? (qw_token_type)list->types[id] : QW_TOKEN_NORMAL;
}

/* Slot of the token whose text is left followed by right, or the free one where it would stand. Look-ups count what they
 * spend, see check_work. */
static uint32_t slot_of(qw_builder *b, qw_text left, qw_text right)
{
    uint64_t hash = 0xCBF29CE484222325u; /* FNV-1a */
    size_t n = left.n + right.n;
    uint32_t slot;

    for (size_t i = 0; i < left.n; i++) hash = (hash ^ (unsigned char)left.bytes[i]) * 0x100000001B3u;
    for (size_t i = 0; i < right.n; i++) hash = (hash ^ (unsigned char)right.bytes[i]) * 0x100000001B3u;
    b->allowed += 64 + 8 * (uint64_t)n;
    for (slot = (uint32_t)(hash ^ hash >> 32);; slot++, b->spent++) {
        const qw_text *text;
        slot &= b->n_slots - 1;
        if (!b->slots[slot]) return slot;
        text = b->list->texts + b->slots[slot] - 1;
        if (text->n != n) continue;
        if (memcmp(text->bytes, left.bytes, left.n) == 0 && memcmp(text->bytes + left.n, right.bytes, right.n) == 0)
            return slot;
        b->spent += n;
    }
}

/* Chance makes a look-up pass two or three other texts. Far more on average means texts that were made to collide, which
 * would take hours to look up. */
static qw_status check_work(const qw_builder *b, qw_error *err)
{
    if (b->spent <= b->allowed + 65536) return QW_OK;
    return qw_fail(err, QW_ERR_FORMAT,
                   "%s: %llu steps to look texts up where %llu are plenty: they were made to collide", b->list->what,
                   (unsigned long long)b->spent, (unsigned long long)b->allowed);
}

/* The id of the token whose text is left followed by right, or -1. */
static int32_t find(qw_builder *b, qw_text left, qw_text right)
{
    return (int32_t)b->slots[slot_of(b, left, right)] - 1;
}

static qw_status check_token(const qw_builder *b, size_t id, qw_error *err)
{
    qw_token_type type = type_of(b->list, id);
    qw_text text = b->list->texts[id];
    char shown[64];
    uint32_t c;

    if (type < QW_TOKEN_NORMAL || type > QW_TOKEN_UNUSED)
        return qw_fail(err, QW_ERR_FORMAT, "%s: token %zu \"%s\" has type %d, byte-level BPE knows 1 to 5",
                       b->list->what, id, qw_quote_text(shown, text), (int)type);
    if (!is_added(type)) return QW_OK;
    if (text.n > QW_MAX_ADDED)
        return qw_fail(err, QW_ERR_FORMAT, "%s: the text of added token %zu has %zu bytes, at most %d are possible",
                       b->list->what, id, text.n, QW_MAX_ADDED);
    for (size_t at = 0; at < text.n;) {
        at += qw_utf8_step(text.bytes + at, text.n - at, &c);
        if (c >= QW_UTF8_BAD)
            return qw_fail(err, QW_ERR_FORMAT, "%s: the text of added token %zu is not UTF-8", b->list->what, id);
    }
    return QW_OK;
}

static qw_status hash_tokens(qw_builder *b, qw_error *err)
{
    const qw_token_list *list = b->list;
    char shown[64];

    b->n_slots = 512;
    while (b->n_slots / 4 * 3 < list->n) b->n_slots *= 2;
    b->slots = qw_calloc(b->n_slots, sizeof *b->slots);
    if (!b->slots) return qw_fail_memory(err, "the vocabulary's index", (double)b->n_slots * sizeof *b->slots);
    for (size_t id = 0; id < list->n; id++) {
        uint32_t slot;
        QW_TRY(check_token(b, id, err));
        if (type_of(list, id) == QW_TOKEN_UNUSED) continue;
        slot = slot_of(b, list->texts[id], (qw_text){"", 0});
        if (b->slots[slot])
            return qw_fail(err, QW_ERR_FORMAT, "%s: tokens %u and %zu are both \"%s\"", list->what, b->slots[slot] - 1,
                           id, qw_quote_text(shown, list->texts[id]));
        b->slots[slot] = (uint32_t)id + 1;
        QW_TRY(check_work(b, err));
    }
    return QW_OK;
}

static qw_status keep_bytes(qw_builder *b, qw_error *err)
{
    const qw_token_list *list = b->list;
    qw_tokenizer *t = b->t;
    size_t most = 0, n = 0;
    char *exact;

    for (size_t id = 0; id < list->n; id++) {
        most += list->texts[id].n; /* texts that are in memory: the sum cannot wrap unless they overlap */
        if (most > UINT32_MAX / 2)
            return qw_fail(err, QW_ERR_FORMAT, "%s: the tokens' texts pass 2 GiB at token %zu", list->what, id);
    }
    t->types = qw_calloc(list->n, 1);
    t->offsets = qw_calloc(list->n + 1, sizeof *t->offsets);
    t->bytes = qw_calloc(most, 1);
    if (!t->types || !t->offsets || !t->bytes)
        return qw_fail_memory(err, "the vocabulary", (double)most + 5 * (double)list->n);
    for (size_t id = 0; id < list->n; id++) {
        qw_token_type type = type_of(list, id);
        t->types[id] = (uint8_t)type;
        t->offsets[id] = (uint32_t)n;
        if (type == QW_TOKEN_UNUSED) continue;
        t->n_ids = (int32_t)id + 1;
        if (is_added(type)) memcpy(t->bytes + n, list->texts[id].bytes, list->texts[id].n);
        n += is_added(type) ? list->texts[id].n : write_bytes(t->bytes + n, list->texts[id]);
    }
    t->n_tokens = list->n;
    t->offsets[list->n] = (uint32_t)n;
    exact = qw_realloc(t->bytes, n, 1);
    if (exact) t->bytes = exact;
    t->held += n + list->n + (list->n + 1) * sizeof *t->offsets;
    return QW_OK;
}

static qw_status find_bytes(qw_builder *b, qw_error *err)
{
    for (uint32_t byte = 0; byte < 256; byte++) {
        char letter[4], shown[64];
        qw_text text = {letter, qw_utf8_write(letter, letter_of_byte(byte))};
        int32_t id = find(b, text, (qw_text){"", 0});
        if (id < 0)
            return qw_fail(err, QW_ERR_FORMAT,
                           "%s: no token \"%s\" for the single byte 0x%02X; byte-level BPE needs all 256",
                           b->list->what, qw_quote_text(shown, text), (unsigned)byte);
        b->t->bpe.byte_ids[byte] = id;
    }
    return QW_OK;
}

/* A token that is looked for after NFC must itself be in that form to be found. */
static qw_status check_normal(const qw_builder *b, size_t id, qw_error *err)
{
    qw_text text = b->list->texts[id];
    qw_buf normal = {0};
    qw_status status = qw_nfc_append(text, &normal, err);
    char shown[64];

    if (!status && !qw_text_equal((qw_text){normal.bytes, normal.n}, text))
        status = qw_fail(err, QW_ERR_MODEL, "%s: added token %zu \"%s\" is \"normalized\", but its text is not in NFC",
                         b->list->what, id, qw_quote_text(shown, text));
    qw_buf_free(&normal);
    return status;
}

/* Control tokens are always looked for in the raw text, where the places at which they may not start are counted. */
static bool is_normalized(const qw_token_list *list, size_t id)
{
    return list->flags && (list->flags[id] & QW_ADDED_NORMALIZED) && list->types[id] != QW_TOKEN_CONTROL;
}

static qw_status add_token(qw_builder *b, size_t id, qw_error *err)
{
    const qw_token_list *list = b->list;
    bool normalized = is_normalized(list, id);
    qw_added_set *set = normalized ? &b->t->normalized : &b->t->raw;
    uint8_t flags = list->flags ? list->flags[id] : 0;

    if (normalized && list->nfc) QW_TRY(check_normal(b, id, err));
    set->items[set->n++] = (qw_added){
        .text = qw_tokenizer_token_bytes(b->t, (int32_t)id),
        .id = (int32_t)id,
        .control = type_of(list, id) == QW_TOKEN_CONTROL,
        .lstrip = flags & QW_ADDED_LSTRIP,
        .rstrip = flags & QW_ADDED_RSTRIP,
    };
    return QW_OK;
}

static qw_status collect_added(qw_builder *b, qw_error *err)
{
    const qw_token_list *list = b->list;
    qw_tokenizer *t = b->t;
    size_t n_raw = 0, n_normalized = 0;

    for (size_t id = 0; id < list->n; id++)
        if (is_added(type_of(list, id))) (*(is_normalized(list, id) ? &n_normalized : &n_raw))++;
    QW_TRY(qw_added_init(&t->raw, n_raw, err));
    QW_TRY(qw_added_init(&t->normalized, n_normalized, err));
    for (size_t id = 0; id < list->n; id++)
        if (is_added(type_of(list, id))) QW_TRY(add_token(b, id, err));
    qw_added_sort(&t->raw);
    qw_added_sort(&t->normalized);
    t->held += (n_raw + n_normalized) * sizeof *t->raw.items;
    return QW_OK;
}

qw_status qw_builder_start(qw_builder *b, const qw_token_list *list, size_t n_merges, qw_error *err)
{
    b->list = list;
    if (!list->n || list->n > QW_MAX_TOKENS)
        return qw_fail(err, QW_ERR_FORMAT, "%s: %zu tokens, 1 to %d are possible", list->what, list->n, QW_MAX_TOKENS);
    if (!n_merges) return qw_fail(err, QW_ERR_FORMAT, "%s: no merges, byte-level BPE needs them", list->what);
    b->t = qw_calloc(1, sizeof *b->t);
    if (!b->t) return qw_fail_memory(err, "the tokenizer", sizeof *b->t);
    b->t->held = sizeof *b->t;
    b->t->nfc = list->nfc;
    QW_TRY(hash_tokens(b, err));
    QW_TRY(keep_bytes(b, err));
    QW_TRY(find_bytes(b, err));
    QW_TRY(collect_added(b, err));
    QW_TRY(qw_bpe_init(&b->t->bpe, n_merges, err));
    b->n_merges = (uint32_t)n_merges;
    b->t->held += b->t->bpe.n_slots * sizeof *b->t->bpe.slots;
    return QW_OK;
}

qw_status qw_builder_merge(qw_builder *b, qw_text left, qw_text right, qw_error *err)
{
    const qw_text none = {"", 0};
    int32_t ids[3] = {find(b, left, none), find(b, right, none), find(b, left, right)};
    char shown[2][64];

    if (b->rank == b->n_merges)
        return qw_fail(err, QW_ERR_INTERNAL, "%s: more merges than the %u counted", b->list->what, b->n_merges);
    if (ids[0] < 0 || ids[1] < 0 || ids[2] < 0)
        return qw_fail(err, QW_ERR_FORMAT, "%s: merge %u, \"%s\" and \"%s\": %s is not in the vocabulary",
                       b->list->what, b->rank, qw_quote_text(shown[0], left), qw_quote_text(shown[1], right),
                       ids[0] < 0   ? "the first"
                       : ids[1] < 0 ? "the second"
                                    : "what they make");
    QW_TRY(check_work(b, err));
    if (!qw_bpe_put(&b->t->bpe, &(qw_merge){(uint32_t)ids[0], (uint32_t)ids[1], b->rank, (uint32_t)ids[2]}))
        return qw_fail(err, QW_ERR_FORMAT, "%s: merge %u collides with hundreds of others: they were made to",
                       b->list->what, b->rank);
    b->rank++;
    return QW_OK;
}

qw_status qw_builder_merge_line(qw_builder *b, qw_text line, qw_error *err)
{
    const char *blank = line.n ? memchr(line.bytes, ' ', line.n) : NULL;
    size_t left = blank ? (size_t)(blank - line.bytes) : 0, right = blank ? line.n - left - 1 : 0;
    char shown[64];

    if (!blank || memchr(blank + 1, ' ', right))
        return qw_fail(err, QW_ERR_FORMAT, "%s: merge %u is \"%s\", two tokens with one blank between were expected",
                       b->list->what, b->rank, qw_quote_text(shown, line));
    return qw_builder_merge(b, (qw_text){line.bytes, left}, (qw_text){blank + 1, right}, err);
}

qw_status qw_builder_finish(qw_builder *b, qw_tokenizer **out, qw_error *err)
{
    if (b->rank != b->n_merges)
        return qw_fail(err, QW_ERR_INTERNAL, "%s: %u merges of the %u counted", b->list->what, b->rank, b->n_merges);
    *out = b->t;
    b->t = NULL;
    return QW_OK;
}

void qw_builder_free(qw_builder *b)
{
    qw_tokenizer_free(b->t);
    qw_free(b->slots);
    *b = (qw_builder){0};
}
