/* SPDX-License-Identifier: MIT
 * A GGUF file of which the input is the head, as plan() reads it: the file is said to be larger by a number of zeros that
 * the first two bytes give. Headers are all that is read of it, and no more of it than a header may have. With a byte below
 * 0x20 after them the rest is edits of a sound head: place (2 bytes), bytes taken away, bytes put in, and those. */
#include "model_files.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bytes sound;

static void demand(bool ok)
{
    if (!ok) abort();
}

/* The sound file with edits; the caller's. */
static bytes edit(const uint8_t *data, size_t size)
{
    bytes b = {0};

    put(&b, sound.v, sound.n);
    while (size >= 4) {
        size_t at = (size_t)(data[0] | data[1] << 8) % (b.n + 1), taken = data[2], added = data[3];
        bytes next = {0};

        if (taken > b.n - at) taken = b.n - at;
        data += 4;
        size -= 4;
        if (added > size) added = size;
        put(&next, b.v, at);
        put(&next, data, added);
        put(&next, b.v + at + taken, b.n - at - taken);
        free(b.v);
        b = next;
        data += added;
        size -= added;
    }
    return b;
}

/* Headers only of a large file; of a small one all, so that its zeros become weights. */
static void load(const bytes *head, uint64_t file_bytes)
{
    const qw_load_options options = {.headers_only = file_bytes > (1 << 20)};
    qw_loader *l;
    qw_error err = {0};
    qw_status status = qw_loader_new(&l, &options, qw_text_of("t.gguf"), &err);
    double fed = 0;
    qw_want w;

    while (!status) {
        qw_loader_want(l, &w);
        if (w.kind == QW_WANT_NOTHING) break;
        if (w.kind == QW_WANT_OPEN) {
            status = qw_loader_opened(l, (int64_t)file_bytes, &err);
            continue;
        }
        demand(w.offset <= file_bytes && w.bytes <= file_bytes - w.offset);
        memset(w.dst, 0, w.bytes);
        if (w.offset < head->n)
            memcpy(w.dst, head->v + w.offset, w.bytes < head->n - w.offset ? w.bytes : head->n - (size_t)w.offset);
        fed += (double)w.bytes;
        status = qw_loader_feed(l, w.bytes, &err);
    }
    demand(fed <= 160e6);
    demand(!status || (err.text[0] && err.status == status && status != QW_ERR_INTERNAL && status != QW_ERR_USAGE));
    qw_loader_free(l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t zeros;
    bytes head = {0};

    if (!sound.n) sound = tiny_gguf(QW_Q4_0, 1);
    if (size < 3) return 0;
    zeros = (uint64_t)data[0] << (data[1] & 31);
    if (data[2] < 0x20) head = edit(data + 3, size - 3);
    else put(&head, data + 2, size - 2);
    load(&head, head.n + zeros);
    free(head.v);
    demand(!qw_alloc_test_live());
    return 0;
}
