/* SPDX-License-Identifier: MIT
 * A slot is a number for a weight: three of the model, then twelve for each layer. One table says what each is called in
 * either format; names from files are turned into slots, and slots into names for errors. */
#include "model/binding.h"

#include "base/alloc.h"
#include "base/print.h"
#include "base/quote_text.h"
#include "kernels/quant.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    EMBED,
    HEAD,
    NORM_OUT,
    N_GLOBAL,
    NORM_ATTN = 0,
    NORM_FFN,
    WQ,
    WK,
    WV,
    BQ,
    BK,
    BV,
    WO,
    W_GATE,
    W_UP,
    W_DOWN,
    N_PART,
};

static const size_t max_block = 0x7FFFFFFF - 64; /* PTRDIFF_MAX of wasm32, less the alignment */

typedef struct part_name {
    const char *gguf, *hf;
} part_name;

static const part_name global_names[N_GLOBAL] = {
    {"token_embd.weight", "model.embed_tokens.weight"},
    {"output.weight", "lm_head.weight"},
    {"output_norm.weight", "model.norm.weight"},
};

static const part_name part_names[N_PART] = {
    [NORM_ATTN] = {"attn_norm.weight", "input_layernorm.weight"},
    [NORM_FFN] = {"ffn_norm.weight", "post_attention_layernorm.weight"},
    [WQ] = {"attn_q.weight", "self_attn.q_proj.weight"},
    [WK] = {"attn_k.weight", "self_attn.k_proj.weight"},
    [WV] = {"attn_v.weight", "self_attn.v_proj.weight"},
    [BQ] = {"attn_q.bias", "self_attn.q_proj.bias"},
    [BK] = {"attn_k.bias", "self_attn.k_proj.bias"},
    [BV] = {"attn_v.bias", "self_attn.v_proj.bias"},
    [WO] = {"attn_output.weight", "self_attn.o_proj.weight"},
    [W_GATE] = {"ffn_gate.weight", "mlp.gate_proj.weight"},
    [W_UP] = {"ffn_up.weight", "mlp.up_proj.weight"},
    [W_DOWN] = {"ffn_down.weight", "mlp.down_proj.weight"},
};

typedef struct binder {
    qw_model *m;
    qw_binding *out;
    const qw_tensors *list;
    const qw_bind_options *options;
    size_t *tensor_of; /* by slot: index in the list, SIZE_MAX where there is none */
    int32_t n_slots;
    qw_error *err;
} binder;

static int32_t n_slots_of(int32_t n_layer)
{
    return N_GLOBAL + N_PART * n_layer;
}

const char *qw_binding_name(char dst[96], int32_t slot, bool hf)
{
    const part_name *part = slot < N_GLOBAL ? &global_names[slot] : &part_names[(slot - N_GLOBAL) % N_PART];
    const char *name = hf ? part->hf : part->gguf;

    if (slot < N_GLOBAL) qw_print(dst, 96, "%s", name);
    else qw_print(dst, 96, hf ? "model.layers.%d.%s" : "blk.%d.%s", (slot - N_GLOBAL) / N_PART, name);
    return dst;
}

/* The layer number that follows the prefix, with *rest what comes after its dot; -1 where there is none. */
static int32_t layer_of(qw_text name, const char *prefix, qw_text *rest)
{
    size_t n = strlen(prefix), i = n;
    int32_t layer = 0;

    if (!qw_text_begins(name, prefix)) return -1;
    while (i < name.n && i < n + 4 && name.bytes[i] >= '0' && name.bytes[i] <= '9')
        layer = layer * 10 + (name.bytes[i++] - '0');
    if (i == n || i == name.n || name.bytes[i] != '.' || (name.bytes[n] == '0' && i > n + 1)) return -1;
    *rest = (qw_text){name.bytes + i + 1, name.n - i - 1};
    return layer;
}

/* The slot of a tensor's name, or -1. */
static int32_t slot_of(const binder *b, qw_text name)
{
    bool hf = b->options->hf;
    qw_text rest;
    int32_t layer;

    for (int32_t i = 0; i < N_GLOBAL; i++)
        if (qw_text_is(name, hf ? global_names[i].hf : global_names[i].gguf)) return i;
    layer = layer_of(name, hf ? "model.layers." : "blk.", &rest);
    if (layer < 0 || layer >= b->m->config.n_layer) return -1;
    for (int32_t i = 0; i < N_PART; i++)
        if (qw_text_is(rest, hf ? part_names[i].hf : part_names[i].gguf)) return N_GLOBAL + N_PART * layer + i;
    return -1;
}

static qw_status note_unused(binder *b, qw_text name, size_t n_unused)
{
    char shown[64];

    if (!n_unused) return QW_OK;
    return qw_buf_printf(&b->m->notes, b->err, "%zu tensor%s not used, Qwen2 has no such weight: %s%s\n", n_unused,
                         n_unused == 1 ? " is" : "s are", qw_quote_text(shown, name),
                         n_unused == 1 ? "" : " and others");
}

static qw_status find_tensors(binder *b)
{
    qw_text first_unused = {"", 0};
    size_t n_unused = 0;

    for (int32_t i = 0; i < b->n_slots; i++) b->tensor_of[i] = SIZE_MAX;
    for (size_t i = 0; i < b->list->n; i++) {
        qw_text name = qw_tensors_name(b->list, i);
        int32_t slot = slot_of(b, name);
        if (slot >= 0) b->tensor_of[slot] = i;
        else if (!n_unused++) first_unused = name;
    }
    return note_unused(b, first_unused, n_unused);
}

static bool is_vector(int32_t slot)
{
    int32_t part = slot < N_GLOBAL ? -1 : (slot - N_GLOBAL) % N_PART;

    return slot == NORM_OUT || part == NORM_ATTN || part == NORM_FFN || part == BQ || part == BK || part == BV;
}

/* The shape that the hyperparameters ask for. */
static void wanted_shape(const qw_config *c, int32_t slot, int32_t *rows, int32_t *cols)
{
    int32_t part = slot < N_GLOBAL ? -1 : (slot - N_GLOBAL) % N_PART;
    int32_t q = c->n_head * c->head_dim, kv = c->n_kv_head * c->head_dim;

    *rows = is_vector(slot) ? 1 : c->n_vocab;
    *cols = c->dim;
    if (part == WQ) *rows = q;
    if (part == WK || part == WV) *rows = kv;
    if (part == BQ) *cols = q;
    if (part == BK || part == BV) *cols = kv;
    if (part == WO) *rows = c->dim, *cols = q;
    if (part == W_GATE || part == W_UP) *rows = c->ffn_dim;
    if (part == W_DOWN) *rows = c->dim, *cols = c->ffn_dim;
}

static qw_status check_tensor(binder *b, int32_t slot, const qw_tensor *t, int32_t rows, int32_t cols)
{
    char name[96];
    bool vector = is_vector(slot);
    bool flat = t->n_dims >= 1 && t->n_dims <= 4 && t->dims[2] == 1 && t->dims[3] == 1;

    qw_binding_name(name, slot, b->options->hf);
    if (!flat || t->dims[0] != (uint64_t)cols || t->dims[1] != (uint64_t)rows) {
        if (t->n_dims < 1 || t->n_dims > 4)
            return qw_fail(b->err, QW_ERR_MODEL, "tensor %s has %d dimensions, %d expected", name, t->n_dims,
                           vector ? 1 : 2);
        return qw_fail(b->err, QW_ERR_MODEL, "tensor %s: %d x %d expected, got %llu x %llu%s", name, rows, cols,
                       (unsigned long long)t->dims[1], (unsigned long long)t->dims[0],
                       flat ? "" : " and further dimensions");
    }
    if (t->type == QW_DTYPE_OTHER)
        return qw_fail(b->err, QW_ERR_MODEL, "tensor %s has type %s, F32, F16 and BF16 are read", name, t->type_name);
    if (cols % qw_dtype_block((qw_dtype)t->type))
        return qw_fail(b->err, QW_ERR_MODEL, "tensor %s has rows of %d weights, not a multiple of %s's block", name,
                       cols, t->type_name);
    return QW_OK;
}

static void target_of(qw_weights *w, int32_t slot, qw_placed *p)
{
    qw_layer *layer = slot < N_GLOBAL ? NULL : &w->layer[(slot - N_GLOBAL) / N_PART];

    if (!layer) {
        if (slot == EMBED) p->mat = &w->embed;
        else if (slot == HEAD) p->mat = &w->head;
        else p->vector = &w->norm_out;
        return;
    }
    switch ((slot - N_GLOBAL) % N_PART) {
    case NORM_ATTN:
        p->vector = &layer->norm_attn;
        break;
    case NORM_FFN:
        p->vector = &layer->norm_ffn;
        break;
    case BQ:
        p->vector = &layer->bq;
        break;
    case BK:
        p->vector = &layer->bk;
        break;
    case BV:
        p->vector = &layer->bv;
        break;
    case WQ:
        p->mat = &layer->wq;
        break;
    case WK:
        p->mat = &layer->wk;
        break;
    case WV:
        p->mat = &layer->wv;
        break;
    case WO:
        p->mat = &layer->wo;
        break;
    case W_GATE:
        p->mat = &layer->w_gate;
        break;
    case W_UP:
        p->mat = &layer->w_up;
        break;
    default:
        p->mat = &layer->w_down;
        break;
    }
}

/* The type whose numbers are kept: the file's, unless floats are quantised or vectors widened. */
static qw_dtype kept_type(const qw_placed *p)
{
    if (!p->mat) return QW_F32;
    return p->mat->layout == qw_layout_for(p->type, QW_QUANTIZE_NONE) ? p->type
                                                                      : qw_layout_traits_of(p->mat->layout).type;
}

static qw_status count_bytes(binder *b, const qw_placed *p)
{
    qw_model *m = b->m;
    char name[96];
    size_t bytes = p->mat ? qw_mat_bytes(p->mat->layout, p->rows, p->cols) : (size_t)p->cols * sizeof(float);

    if (bytes > max_block)
        return qw_fail(b->err, QW_ERR_MEMORY,
                       "tensor %s (%d x %d) would take more than 2 GiB in one piece: choose a smaller or more strongly "
                       "quantised file",
                       qw_binding_name(name, p->slot, b->options->hf), p->rows, p->cols);
    if (bytes > SIZE_MAX - m->weights.bytes)
        return qw_fail_memory(b->err, "the weights", (double)m->weights.bytes + (double)bytes);
    m->weights.bytes += bytes;
    m->kept_bytes[kept_type(p)] += (double)bytes;
    m->n_parameters += (double)p->rows * (double)p->cols;
    return QW_OK;
}

static qw_status place(binder *b, int32_t slot)
{
    char name[96];
    qw_placed p = {.slot = slot};
    const qw_tensor *t;
    qw_quantize quantize = b->options->quantize;

    if (b->tensor_of[slot] == SIZE_MAX)
        return qw_fail(b->err, QW_ERR_MODEL, "the model has no tensor %s, a Qwen2 needs it",
                       qw_binding_name(name, slot, b->options->hf));
    t = &b->list->v[b->tensor_of[slot]];
    wanted_shape(&b->m->config, slot, &p.rows, &p.cols);
    QW_TRY(check_tensor(b, slot, t, p.rows, p.cols));
    p.file = t->file;
    p.offset = t->offset;
    p.type = (qw_dtype)t->type;
    p.woven = t->woven;
    p.row_bytes = qw_dtype_row_bytes(p.type, p.cols);
    target_of(&b->m->weights, slot, &p);
    if (b->m->weights.head_is_embed && slot == HEAD) p.mat = &b->m->weights.embed;
    if (p.mat) {
        if (slot < N_GLOBAL && quantize == QW_QUANTIZE_Q4_0) quantize = QW_QUANTIZE_Q8_0;
        *p.mat = (qw_mat){qw_layout_for(p.type, quantize), p.rows, p.cols, NULL};
    }
    b->out->v[b->out->n++] = p;
    return count_bytes(b, &p);
}

/* Decides about embedding and head, and reads the vocabulary's size off the embedding's rows. skip: the slot of the two that
 * is not placed, or -1. */
static qw_status bind_vocabulary(binder *b, int32_t *skip)
{
    qw_config *c = &b->m->config;
    bool embed = b->tensor_of[EMBED] != SIZE_MAX, head = b->tensor_of[HEAD] != SIZE_MAX;
    bool tied = b->options->hf ? c->tied : !head;
    char name[96];
    const qw_tensor *t;

    *skip = -1;
    if (!(embed && head)) {
        if (!tied || (!embed && !head))
            return qw_fail(b->err, QW_ERR_MODEL, "the model has no tensor %s%s",
                           qw_binding_name(name, embed ? HEAD : EMBED, b->options->hf),
                           b->options->hf ? ", and its config does not tie embedding and head (tie_word_embeddings)"
                                          : "");
        *skip = embed ? HEAD : EMBED;
    }
    if (embed && head && c->tied && b->options->hf)
        QW_TRY(qw_buf_printf(&b->m->notes, b->err,
                             "config.json ties embedding and head, but the files have their own "
                             "lm_head.weight: it is used\n"));
    t = &b->list->v[b->tensor_of[embed ? EMBED : HEAD]];
    if (t->n_dims != 2 || !t->dims[1] || t->dims[1] > INT32_MAX)
        return qw_fail(b->err, QW_ERR_MODEL, "tensor %s has %d dimensions and %llu rows, 2 dimensions expected",
                       qw_binding_name(name, embed ? EMBED : HEAD, b->options->hf), t->n_dims,
                       (unsigned long long)t->dims[1]);
    c->n_vocab = (int32_t)t->dims[1];
    c->tied = tied;
    b->m->weights.head_is_embed = !(embed && head);
    return QW_OK;
}

static int by_place(const void *a, const void *b)
{
    const qw_placed *x = a, *y = b;

    if (x->file != y->file) return x->file < y->file ? -1 : 1;
    return x->offset < y->offset ? -1 : x->offset > y->offset;
}

static qw_status bind(binder *b)
{
    qw_weights *w = &b->m->weights;
    int32_t skip;

    QW_TRY(find_tensors(b));
    QW_TRY(bind_vocabulary(b, &skip));
    QW_TRY(qw_config_check(&b->m->config, b->err));
    w->layer = qw_calloc((size_t)b->m->config.n_layer, sizeof *w->layer);
    b->out->v = qw_calloc((size_t)b->n_slots, sizeof *b->out->v);
    if (!w->layer || !b->out->v) return qw_fail_memory(b->err, "the layers", (double)b->n_slots * sizeof *b->out->v);
    w->bytes = (size_t)b->m->config.n_layer * sizeof *w->layer;
    for (int32_t slot = 0; slot < b->n_slots; slot++)
        if (slot != skip) QW_TRY(place(b, slot));
    if (w->head_is_embed) w->head = w->embed;
    qsort(b->out->v, b->out->n, sizeof *b->out->v, by_place);
    return QW_OK;
}

qw_status qw_binding_make(qw_model *m, qw_binding *out, const qw_tensors *list, const qw_bind_options *options,
                          qw_error *err)
{
    binder b = {
        .m = m, .out = out, .list = list, .options = options, .n_slots = n_slots_of(m->config.n_layer), .err = err};
    qw_status status;

    *out = (qw_binding){.hf = options->hf};
    if (m->config.n_layer < 1 || m->config.n_layer > QW_LAYERS_MAX) return qw_config_check(&m->config, err);
    b.tensor_of = qw_calloc((size_t)b.n_slots, sizeof *b.tensor_of);
    if (!b.tensor_of) return qw_fail_memory(err, "the list of weights", (double)b.n_slots * sizeof *b.tensor_of);
    status = bind(&b);
    qw_free(b.tensor_of);
    return status;
}

void qw_binding_free(qw_binding *b)
{
    qw_free(b->v);
    *b = (qw_binding){0};
}

qw_status qw_binding_alloc(qw_weights *w, const qw_binding *b, qw_error *err)
{
    char name[96];

    for (size_t i = 0; i < b->n; i++) {
        const qw_placed *p = &b->v[i];
        size_t bytes = p->mat ? qw_mat_bytes(p->mat->layout, p->rows, p->cols) : (size_t)p->cols * sizeof(float);
        void *block = qw_alloc_aligned(bytes, 1);
        if (!block) return qw_fail_memory(err, qw_binding_name(name, p->slot, b->hf), (double)bytes);
        if (p->mat) p->mat->data = block;
        else *p->vector = block;
    }
    if (w->head_is_embed) w->head = w->embed;
    return QW_OK;
}

typedef struct packing {
    const qw_piece *piece;
    size_t panel_bytes;
    atomic_bool damaged;
} packing;

/* Items are panels. */
static void pack_panels(void *arg, int32_t first, int32_t last, int32_t thread)
{
    packing *k = arg;
    const qw_piece *piece = k->piece;
    const qw_placed *p = piece->placed;

    (void)thread;
    for (int32_t i = first; i < last; i++) {
        int32_t row = i * QW_PANEL_ROWS, n = piece->n - row < QW_PANEL_ROWS ? piece->n - row : QW_PANEL_ROWS;
        const uint8_t *src = piece->src + (size_t)row * p->row_bytes;
        uint8_t *panel = p->mat->data + (size_t)(piece->first / QW_PANEL_ROWS + i) * k->panel_bytes;

        if (qw_tensor_finite(src, (size_t)n * p->row_bytes, p->type))
            qw_panel_pack(panel, p->mat->layout, src, p->type, n, p->cols);
        else atomic_store(&k->damaged, true);
    }
}

static bool put(const qw_piece *piece, qw_pool *pool)
{
    const qw_placed *p = piece->placed;
    int32_t panels = (piece->n + QW_PANEL_ROWS - 1) / QW_PANEL_ROWS;
    packing k = {.piece = piece};

    if (p->vector) {
        qw_dequantize(*p->vector, piece->src, p->type, p->cols);
        return qw_tensor_finite(piece->src, p->row_bytes, p->type);
    }
    atomic_init(&k.damaged, false);
    k.panel_bytes = qw_panel_bytes(p->mat->layout, p->cols);
    if (pool) qw_pool_run(pool, panels, 4, pack_panels, &k);
    else pack_panels(&k, 0, panels, 0);
    return !atomic_load(&k.damaged);
}

qw_status qw_binding_put(const qw_binding *b, const qw_piece *piece, qw_pool *pool, qw_error *err)
{
    char name[96];

    if (put(piece, pool)) return QW_OK;
    return qw_fail(err, QW_ERR_MODEL,
                   "tensor %s holds weights that are not finite numbers (rows %d to %d): the file is "
                   "damaged, or was made wrongly",
                   qw_binding_name(name, piece->placed->slot, b->hf), piece->first, piece->first + piece->n - 1);
}
