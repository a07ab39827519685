/* SPDX-License-Identifier: MIT
 * What an engine is, for the files of this folder and for tests that look inside: qw.h has the calls. */
#ifndef QW_ENGINE_H
#define QW_ENGINE_H

#include "files/loader.h"
#include "generation/session.h"
#include "qw.h"

typedef enum qw_engine_state { QW_ENGINE_NEW, QW_ENGINE_LOADING, QW_ENGINE_READY, QW_ENGINE_FAILED } qw_engine_state;

struct qw_engine {
    qw_engine_state state;
    bool headers_only, reserved;
    int32_t threads;
    qw_quantize quantize;
    qw_session_options options; /* n_ctx 0: the default, until the model's own limit is known */
    qw_loader *loader;
    qw_model model;
    qw_pool *pool;
    qw_session session;
    qw_buf out; /* text of the last call that gave some */
    qw_ids ids;
};

/* QW_OK where a model is loaded; else a usage error. */
qw_status qw_engine_ready(const qw_engine *e, qw_error *err);

/* Tokens of context that the options and the model's own limit come to. */
int32_t qw_engine_context(const qw_engine *e, const qw_config *c);

static inline const qw_model *qw_engine_model(const qw_engine *e)
{
    return &e->model;
}

#endif
