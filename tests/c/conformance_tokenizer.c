/* SPDX-License-Identifier: MIT
 * tokenizer/: encode, decode and stream vectors of the real vocabulary. Ids and bytes are exact; the pieces of a stream are
 * those of a WHATWG decoder that is fed token by token. */
#include "conformance.h"

#include "base/quote_text.h"

#include <stdio.h>
#include <string.h>

static qw_text text_of(const qw_buf *b)
{
    return (qw_text){b->bytes ? b->bytes : "", b->n};
}

static void check_encode(conf *c, const qw_json *line, void *arg)
{
    qw_tokenize_options options = {.parse_special = qw_json_bool(qw_json_get(line, "parse_special"))};
    qw_buf text = conf_text(qw_json_get(line, "text"));
    qw_ids want = conf_ids(qw_json_get(line, "ids"));
    const int32_t *got;
    qw_error err = {0};
    char shown[64];
    size_t n;

    conf_where(c, "tokenizer/encode %s '%s'", qw_json_string(qw_json_get(line, "group")),
               qw_quote_text(shown, text_of(&text)));
    if (conf_ok(c, qw_engine_tokenize(arg, text_of(&text), &options, &got, &n, &err), &err, "encode"))
        conf_same_ids(c, "ids", got, n, want.v, want.n);
    qw_buf_free(&text);
    qw_ids_free(&want);
}

static void check_decode(conf *c, const qw_json *line, void *arg)
{
    bool skip = qw_json_bool(qw_json_get(line, "skip_special_tokens"));
    qw_buf want = conf_text(qw_json_get(line, "text"));
    qw_ids ids = conf_ids(qw_json_get(line, "ids"));
    qw_error err = {0};
    qw_text got;

    conf_where(c, "tokenizer/decode of %zu ids from %d on", ids.n, ids.n ? (int)ids.v[0] : -1);
    if (conf_ok(c, qw_engine_detokenize(arg, ids.v, ids.n, skip, &got, &err), &err, "decode"))
        conf_same_text(c, "text", got, text_of(&want));
    qw_buf_free(&want);
    qw_ids_free(&ids);
}

/* Appends piece and a separator that no UTF-8 text holds, so that one comparison tells where pieces end too. */
static qw_status add_piece(qw_buf *all, const qw_buf *piece)
{
    QW_TRY(qw_buf_append(all, piece->bytes, piece->n, NULL));
    return qw_buf_append(all, "\xff", 1, NULL);
}

static qw_status stream_of(const qw_tokenizer *t, const qw_ids *ids, bool skip, qw_buf *all, qw_error *err)
{
    qw_decoder decoder = {0};

    for (size_t i = 0; i < ids->n; i++) {
        if (!skip || qw_tokenizer_type(t, ids->v[i]) != QW_TOKEN_CONTROL)
            QW_TRY(qw_decoder_push(&decoder, qw_tokenizer_token_bytes(t, ids->v[i]), all, err));
        QW_TRY(qw_buf_append(all, "\xff", 1, err));
    }
    QW_TRY(qw_decoder_flush(&decoder, all, err));
    return qw_buf_append(all, "\xff", 1, err);
}

static void check_stream(conf *c, const qw_json *line, void *arg)
{
    qw_ids ids = conf_ids(qw_json_get(line, "ids"));
    qw_buf flush = conf_text(qw_json_get(line, "flush"));
    qw_buf want = {0}, got = {0};
    qw_error err = {0};
    qw_status status = QW_OK;

    for (const qw_json *p = qw_json_first(qw_json_get(line, "pieces")); p && !status; p = qw_json_next(p)) {
        qw_buf piece = conf_text(p);

        status = add_piece(&want, &piece);
        qw_buf_free(&piece);
    }
    if (!status) status = add_piece(&want, &flush);
    conf_where(c, "tokenizer/stream of %zu ids from %d on", ids.n, ids.n ? (int)ids.v[0] : -1);
    if (!status)
        status = stream_of(qw_engine_model(arg)->tokenizer, &ids,
                           qw_json_bool(qw_json_get(line, "skip_special_tokens")), &got, &err);
    if (conf_ok(c, status, &err, "stream")) conf_same_text(c, "pieces", text_of(&got), text_of(&want));
    qw_ids_free(&ids);
    qw_buf_free(&flush);
    qw_buf_free(&want);
    qw_buf_free(&got);
}

/* Texts that other engines were caught splitting otherwise. The ids are published with Qwen2's tokenizer (Transformers.js'
 * tests, llama.cpp's) or are those of tokenizers 0.23.3 over the same vocabulary, which agrees with all published ones. */
enum { MAX_KNOWN = 20, N_MARKS = 221 };
typedef struct known_text {
    const char *text;
    int32_t n, ids[MAX_KNOWN];
} known_text;

static const known_text known[] = {
    {"->", 1, {405}}, /* punctuation is one piece */
    {"(x):\n", 2, {2075, 982}},
    {"The company was founded in 2016.", 11, {785, 2813, 572, 18047, 304, 220, 17, 15, 16, 21, 13}},
    {"1234 \xEF\xBC\x95\xEF\xBC\x96 \xC2\xBD \xE2\x85\xAB \xD9\xA3", /* each alone, blanks too */
     15,
     {16, 17, 18, 19, 220, 43497, 59496, 220, 26062, 220, 70467, 104, 220, 149, 96}},
    {"DON'T I'LL'VE", 7, {84641, 17323, 358, 6, 4086, 6, 4491}}, /* contractions in any case */
    {"don\xE2\x80\x99t", 2, {15007, 1405}},
    {"it'sx", 3, {275, 594, 87}},
    {"This\n\nis\na\ntest.", 8, {1986, 271, 285, 198, 64, 198, 1944, 13}}, /* blanks and line ends */
    {"   leading space", 3, {256, 6388, 3550}},
    {"trailing space   ", 4, {376, 14277, 3550, 262}},
    {"Hi  Hello", 3, {13048, 220, 21927}},
    {"a\r\n\r\nb", 3, {64, 871, 65}},
    {"x  \n\n   y", 4, {87, 18611, 256, 379}},
    {"\t\tif x:\n\t\t\treturn", 6, {197, 743, 856, 510, 298, 853}},
    {"\xE7\x94\x9F\xE6\xB4\xBB\xE7\x9A\x84\xE7\x9C\x9F\xE8\xB0\x9B\xE6\x98\xAF", 4, {105301, 88051, 116109, 20412}},
    {"\xE4\xBD\xA0\xE5\xA5\xBD\xEF\xBC\x8C\xE4\xB8\x96\xE7\x95\x8C\xEF\xBC\x81\n\xE5\x86\x8D\xE8\xA7\x81",
     6,
     {108386, 3837, 99489, 6313, 198, 111811}},
    {"\xE3\x80\x80\xE5\x85\xA8\xE8\xA7\x92", 3, {22441, 35987, 63836}},
    {" \xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7\xE2\x80\x8D\xF0\x9F\x91\xA6",
     11,
     {61804, 102, 378, 235, 145233, 378, 235, 145665, 378, 235, 145988}},
    {"\xE0\xA4\x95\xE0\xA5\x8D\xE0\xA4\xB7\xE0\xA4\xBF", 4, {64704, 30484, 115, 38851}}, /* marks are no letters */
    {"x != y , z . a ? b ' s n't", 13, {87, 961, 379, 1154, 1147, 659, 264, 937, 293, 364, 274, 308, 944}},
    {"The capital of France is", 5, {785, 6722, 315, 9625, 374}},
    {"<|im_end|>", 6, {27, 91, 318, 6213, 91, 29}}, /* as text: parse_special is false for all of these */
};

static void check_known(conf *c, qw_engine *e, qw_text text, const int32_t *want, size_t n_want)
{
    const qw_tokenize_options options = {.parse_special = false};
    char shown[64];
    qw_error err = {0};
    const int32_t *got;
    qw_text back;
    size_t n;

    conf_where(c, "tokenizer/known '%s'", qw_quote_text(shown, text));
    if (!conf_ok(c, qw_engine_tokenize(e, text, &options, &got, &n, &err), &err, "encode")) return;
    conf_same_ids(c, "ids", got, n, want, n_want);
    if (conf_ok(c, qw_engine_detokenize(e, want, n_want, false, &back, &err), &err, "decode"))
        conf_same_text(c, "decoded", back, text);
}

/* Every combining mark from U+0300 to U+036F in one string, which implementations of the same tokenizer cut differently. */
static void check_marks(conf *c, qw_engine *e)
{
    const qw_tokenize_options options = {.parse_special = false};
    const uint64_t marks_hash = 0x9170595d405f8c6a;
    uint64_t hash = 0xcbf29ce484222325;
    char text[2 * 0x70];
    qw_error err = {0};
    const int32_t *ids;
    size_t n;

    for (int i = 0; i < 0x70; i++) {
        text[2 * i] = (char)(0xCC + i / 0x40);
        text[2 * i + 1] = (char)(0x80 + i % 0x40);
    }
    conf_where(c, "tokenizer/known U+0300 to U+036F");
    if (!conf_ok(c, qw_engine_tokenize(e, (qw_text){text, sizeof text}, &options, &ids, &n, &err), &err, "encode"))
        return;
    for (size_t i = 0; i < n; i++) hash = (hash ^ (uint64_t)ids[i]) * 0x100000001b3;
    conf_check(c, n == N_MARKS && hash == marks_hash, "%zu ids with hash %llx, wanted %d with %llx", n,
               (unsigned long long)hash, N_MARKS, (unsigned long long)marks_hash);
}

/* Pieces are joined by '|': a token that holds a blank and the first byte of a character, and ones that hold no UTF-8. */
static void check_known_streams(conf *c, const qw_engine *e)
{
    static const struct {
        const char *pieces;
        int32_t n, ids[4];
    } streams[] = {
        {"|||\xF0\x9F\x98\x82|", 4, {172, 253, 246, 224}},
        {" ||\xE2\x82\xA3|", 3, {2858, 224, 96}},
        {"\xEF\xBF\xBD|A|", 2, {124, 32}},
        {"\xEF\xBF\xBD|A|", 2, {177, 32}},
        {"||\xEF\xBF\xBD", 2, {172, 253}},
        {" leading| space|", 2, {6388, 3550}},
    };

    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        int32_t v[4];
        const qw_ids ids = {v, (size_t)streams[i].n, 4};
        qw_buf got = {0};
        qw_error err = {0};

        memcpy(v, streams[i].ids, sizeof v);
        conf_where(c, "tokenizer/known stream of %d ids from %d on", (int)streams[i].n, (int)v[0]);
        if (conf_ok(c, stream_of(qw_engine_model(e)->tokenizer, &ids, false, &got, &err), &err, "stream")) {
            for (size_t k = 0; k < got.n; k++)
                if (got.bytes[k] == '\xff') got.bytes[k] = '|';
            got.n--; /* the separator behind the flush */
            conf_same_text(c, "pieces", text_of(&got), qw_text_of(streams[i].pieces));
        }
        qw_buf_free(&got);
    }
}

static void check_all_known(conf *c, qw_engine *e)
{
    static const int32_t with_nul[] = {16, 188, 17, 5691, 18};

    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        check_known(c, e, qw_text_of(known[i].text), known[i].ids, (size_t)known[i].n);
    check_known(c, e,
                (qw_text){"1\0002\xEF\xBF\xBD"
                          "3",
                          7},
                with_nul, 5);
    check_marks(c, e);
    check_known_streams(c, e);
}

static void count_line(conf *c, const qw_json *line, void *arg)
{
    (void)c;
    (void)line;
    ++*(int64_t *)arg;
}

void conf_tokenizer(conf *c)
{
    static const struct {
        const char *name;
        conf_line_fn *fn;
    } files[] = {{"encode.jsonl", check_encode}, {"decode.jsonl", check_decode}, {"stream.jsonl", check_stream}};
    qw_engine *e = NULL;
    char path[512];

    conf_where(c, "tokenizer");
    if (c->model && !(e = conf_load(c, c->model, "{\"contextLength\": 32, \"maxRows\": 1}"))) return;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        char folder[400];
        int64_t lines = 0;

        conf_path(path, sizeof path, conf_path(folder, sizeof folder, c->folder, "tokenizer"), files[i].name);
        if (e) {
            conf_each_line(c, path, files[i].fn, e);
        } else {
            conf_each_line(c, path, count_line, &lines);
            conf_where(c, "tokenizer/%s", files[i].name);
            conf_skip(c, lines, "no vocabulary: --model FILE");
        }
    }
    if (e) check_all_known(c, e);
    qw_engine_free(e);
}
