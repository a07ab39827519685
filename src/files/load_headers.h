/* SPDX-License-Identifier: MIT
 * What each file of a model says. A file that is a server's web page in disguise counts as absent, or is refused. */
#ifndef QW_LOAD_HEADERS_H
#define QW_LOAD_HEADERS_H

#include "files/load_state.h"

/* The goal is reached: looks at the bytes; *done or a higher goal. May ask for more files, which moves the sources. */
qw_status qw_load_look(qw_loader *l, qw_source *s, bool *done, qw_error *err);

/* An optional file is not there, or is not what it should be. */
qw_status qw_load_absent(qw_loader *l, qw_source *s, qw_error *err);

#endif
