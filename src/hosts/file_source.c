/* SPDX-License-Identifier: MIT
 * The loading dialogue of qw.h over stdio. Files stay open until the load has ended, by the index that the loader gives
 * them; a path's folder is where the names that the loader asks for are looked up. */
#define _POSIX_C_SOURCE 200809L
#define _FILE_OFFSET_BITS 64

#include "hosts/file_source.h"
#include "base/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>

typedef struct file_source {
    qw_buf folder; /* "" or ends in '/' */
    FILE **file;   /* in the order of the opens that found one */
    int32_t n_file;
} file_source;

static bool is_folder(const char *path)
{
    struct stat s;

    return stat(path, &s) == 0 && S_ISDIR(s.st_mode);
}

/* Splits path into the source's folder and the name to open: of a folder, its config.json. */
static qw_status split_path(file_source *s, const char *path, const char **name, qw_error *err)
{
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;

    *name = path + n;
    if (is_folder(path)) {
        *name = "config.json";
        n = strlen(path);
    }
    QW_TRY(qw_buf_append(&s->folder, path, n, err));
    if (n && path[n - 1] != '/') QW_TRY(qw_buf_append(&s->folder, "/", 1, err));
    return QW_OK;
}

/* The file's size in bytes, or -1 where it cannot be found out. */
static int64_t file_bytes(FILE *f)
{
    off_t bytes = -1;

    if (fseeko(f, 0, SEEK_END) == 0) bytes = ftello(f);
    return (int64_t)bytes;
}

static qw_status answer_open(file_source *s, qw_engine *e, const qw_want *want, qw_error *err)
{
    qw_buf path = {0};
    qw_status status =
        qw_buf_printf(&path, err, "%.*s%s%c", (int)s->folder.n, s->folder.bytes ? s->folder.bytes : "", want->name, 0);
    FILE **grown;
    FILE *f;

    if (status) return status;
    f = is_folder(path.bytes) ? NULL : fopen(path.bytes, "rb");
    if (!f && !want->optional)
        status =
            qw_fail(err, QW_ERR_USAGE, "%s: cannot be opened (%s)", path.bytes, errno ? strerror(errno) : "a folder");
    qw_buf_free(&path);
    if (status) return status;
    if (!f) return qw_engine_opened(e, -1, err);

    grown = qw_realloc(s->file, (size_t)s->n_file + 1, sizeof *grown);
    if (!grown) {
        fclose(f);
        return qw_fail_memory(err, "list of open files", (double)sizeof *grown * (s->n_file + 1));
    }
    s->file = grown;
    s->file[s->n_file++] = f;
    return qw_engine_opened(e, file_bytes(f), err);
}

static qw_status answer_read(const file_source *s, qw_engine *e, const qw_want *want, size_t max_read, qw_error *err)
{
    size_t n = max_read && max_read < want->bytes ? max_read : want->bytes;
    FILE *f;

    if (want->file < 0 || want->file >= s->n_file)
        return qw_fail(err, QW_ERR_INTERNAL, "file %d was never opened (%d are)", (int)want->file, (int)s->n_file);
    f = s->file[want->file];
    if (fseeko(f, (off_t)want->offset, SEEK_SET) != 0 || fread(want->dst, 1, n, f) != n)
        return qw_fail(err, QW_ERR_FORMAT, "%s: bytes %.0f to %.0f cannot be read", want->name ? want->name : "file",
                       (double)want->offset, (double)want->offset + (double)n);
    return qw_engine_feed(e, n, err);
}

static qw_status run_dialogue(file_source *s, qw_engine *e, const char *path, size_t max_read, qw_error *err)
{
    const char *name;
    qw_want want;

    QW_TRY(split_path(s, path, &name, err));
    QW_TRY(qw_engine_open(e, qw_text_of(name), err));
    for (qw_engine_want(e, &want); want.kind != QW_WANT_NOTHING; qw_engine_want(e, &want)) {
        if (want.kind == QW_WANT_OPEN) QW_TRY(answer_open(s, e, &want, err));
        else QW_TRY(answer_read(s, e, &want, max_read, err));
    }
    return QW_OK;
}

qw_status qw_file_load(qw_engine *e, const char *path, size_t max_read, qw_error *err)
{
    file_source s = {0};
    qw_status status = run_dialogue(&s, e, path, max_read, err);

    for (int32_t i = 0; i < s.n_file; i++) fclose(s.file[i]);
    qw_free(s.file);
    qw_buf_free(&s.folder);
    return status;
}
