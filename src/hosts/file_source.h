/* SPDX-License-Identifier: MIT
 * Answers an engine's wants from files on disk: for the native command line and the test programs. The library itself
 * never opens a file. */
#ifndef QW_FILE_SOURCE_H
#define QW_FILE_SOURCE_H

#include "qw.h"

/* Loads the model at path, a file or a checkpoint folder, into a new engine; reads at most max_read bytes at once (0: as much
 * as is wanted). Errors: those of qw_engine_open, _opened and _feed; usage (no such file), format (it became shorter), memory. */
qw_status qw_file_load(qw_engine *e, const char *path, size_t max_read, qw_error *err);

#endif
