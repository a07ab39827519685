/* SPDX-License-Identifier: MIT
 * Runs every fixture below the given folders (the layout of tests/fixtures) against the engine:
 *   conformance DIR... [--only tokenizer,checkpoints,...] [--model FILE] [--tiny FILE] [--threads N] [--quick] [--reference]
 * prints each failure with both values and ends with "N passed, N failed". scripts/conformance.mjs runs it in every build. */
#include "conformance.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, THREADS_MAX = 3 };

typedef struct part {
    const char *name;
    const char *proof; /* a file or folder of it: it is run where that exists */
    void (*run)(conf *c);
} part;

static const part parts[] = {
    {"tokenizer", "tokenizer/encode.jsonl", conf_tokenizer},
    {"checkpoints", "checkpoints", conf_checkpoints},
    {"processors", "processors/cases.jsonl", conf_processors},
    {"stopping", "stopping/cases.jsonl", conf_stopping},
    {"real", "real/teacher.json", conf_real},
    {"exact", "checkpoints", conf_exact},
    {"types", "types/blocks/expected.json", conf_types},
};
enum { N_PARTS = sizeof parts / sizeof *parts };

static const char usage[] =
    "usage: conformance DIR... [--only tokenizer,checkpoints,processors,stopping,real,exact,types]\n"
    "                   [--model FILE] [--tiny FILE] [--threads N] [--quick] [--reference]\n";

typedef struct options {
    const char *only;
    const char **folders;
    size_t n_folders;
} options;

static int32_t build_threads(void)
{
#if defined(__EMSCRIPTEN__) && !defined(__EMSCRIPTEN_PTHREADS__)
    return 1;
#else
    return THREADS_MAX;
#endif
}

/* True where list, names divided by commas, holds name. */
static bool listed(const char *list, const char *name)
{
    size_t n = strlen(name);

    for (const char *at = list; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL)
        if (strncmp(at, name, n) == 0 && (at[n] == ',' || at[n] == 0)) return true;
    return false;
}

/* False where an argument is not understood. */
static bool parse(conf *c, options *o, int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;

        if (strncmp(argv[i], "--", 2) != 0) {
            o->folders[o->n_folders++] = argv[i];
            continue;
        }
        if (strcmp(argv[i], "--reference") == 0 || strcmp(argv[i], "--quick") == 0) {
            *(argv[i][2] == 'r' ? &c->reference : &c->quick) = true;
            continue;
        }
        if (!value) return false;
        i++;
        if (strcmp(argv[i - 1], "--only") == 0) o->only = value;
        else if (strcmp(argv[i - 1], "--model") == 0) c->model = value;
        else if (strcmp(argv[i - 1], "--tiny") == 0) c->tiny = value;
        else if (strcmp(argv[i - 1], "--threads") == 0 && strtol(value, NULL, 10) > 0)
            c->max_threads = (int32_t)strtol(value, NULL, 10);
        else return false;
    }
    return o->n_folders > 0;
}

/* Runs the parts that the folder holds and the options want; a folder that holds none of any is a failure. */
static void run_folder(conf *c, const options *o, const char *folder)
{
    char path[512];
    bool any = false;

    c->folder = folder;
    for (size_t i = 0; i < N_PARTS; i++) {
        if (!conf_exists(conf_path(path, sizeof path, folder, parts[i].proof))) continue;
        any = true;
        if (!o->only || listed(o->only, parts[i].name)) parts[i].run(c);
    }
    conf_where(c, "%s", folder);
    if (!any)
        conf_check(c, false,
                   "holds no fixtures: got none of tokenizer/, checkpoints/, processors/, stopping/, real/, types/");
}

int main(int argc, char **argv)
{
    conf c = {.max_threads = build_threads()};
    options o = {.folders = conf_new((size_t)argc, sizeof *o.folders)};

    setvbuf(stdout, NULL, _IOLBF, 0); /* a long run shows what it does */
    if (!parse(&c, &o, argc, argv)) {
        fputs(usage, stderr);
        qw_free(o.folders);
        return EXIT_USAGE;
    }
    for (size_t i = 0; i < o.n_folders; i++) run_folder(&c, &o, o.folders[i]);
    qw_free(o.folders);
    printf("%" PRId64 " passed, %" PRId64 " failed", c.passed, c.failed);
    if (c.skipped) printf(", %" PRId64 " skipped", c.skipped);
    printf("\n");
    return c.failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
