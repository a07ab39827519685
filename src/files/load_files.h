/* SPDX-License-Identifier: MIT
 * The files that a model consists of: the one that was given, the shards of its set, the files of its checkpoint. They are
 * asked for in this order. */
#ifndef QW_LOAD_FILES_H
#define QW_LOAD_FILES_H

#include "files/load_state.h"

/* Asks for a file after those asked for so far; name is relative to the main file's folder. */
qw_status qw_load_ask(qw_loader *l, qw_source_kind kind, const char *name, bool optional, qw_error *err);

/* The main file's kind by its name, and for a shard of a GGUF set all its siblings: the first asks. */
qw_status qw_load_ask_main(qw_loader *l, qw_text name, qw_error *err);

/* The other files of a checkpoint, once its main file is known to be of that kind. */
qw_status qw_load_ask_checkpoint(qw_loader *l, qw_source_kind main_kind, qw_error *err);

/* A source's name without the folder. */
const char *qw_load_base_name(const qw_loader *l, const qw_source *s);

/* The source is open, or its kind has become known: sets its first goal. Error: format, where a text file is too large. */
qw_status qw_load_begin(qw_source *s, qw_error *err);

#endif
