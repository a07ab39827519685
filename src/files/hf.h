/* SPDX-License-Identifier: MIT
 * The JSON files of a Hugging Face checkpoint: what config.json, generation_config.json, tokenizer_config.json and
 * model.safetensors.index.json say about a Qwen2. Defaults and precedence are those of Transformers 5. */
#ifndef QW_HF_H
#define QW_HF_H

#include "base/json.h"
#include "model/model.h"
#include "model/tensors.h"

/* The parsed files, NULL where absent. */
typedef struct qw_hf {
    qw_json *config, *generation, *tokenizer_config, *index;
} qw_hf;

void qw_hf_free(qw_hf *hf);

/* Fills m->config (all but n_vocab) from config.json in the Hub's form or Transformers 5's, and notes. Error: model, naming key and
 * value of what is not a Qwen2 or not supported. */
qw_status qw_hf_read_config(qw_model *m, const qw_json *config, qw_error *err);

/* Fills eos and pad: generation_config.json's where it has them, else config.json's, else the tokens that
 * tokenizer_config.json names. Error: model, where they are no ids. */
qw_status qw_hf_read_ends(qw_model *m, const qw_hf *hf, qw_error *err);

/* The chat template of tokenizer_config.json (a string, or a list of named ones: that of the name "default" is it) into m,
 * unless m has one; and the texts of the special tokens that it names. */
qw_status qw_hf_read_template(qw_model *m, const qw_json *tokenizer_config, qw_error *err);

/* The names of the index's files, each once, ascending; *out is the caller's (qw_free), the texts the index's. Error: format. */
qw_status qw_hf_index_files(const qw_json *index, const char ***out, size_t *n, qw_error *err);

/* Whether each tensor lies in the file that the index says. file_names by the tensors' file number. Error: model. */
qw_status qw_hf_check_index(const qw_json *index, const qw_tensors *tensors, const char *const *file_names,
                            qw_error *err);

#endif
