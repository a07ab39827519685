/* SPDX-License-Identifier: MIT
 * Many C tests in one program, for WebAssembly: linking there takes ten times as long as running. Without an argument it lists
 * its tests; else the first argument names one (test_json.c is `json`) and the others are the test's own. CMake renames the
 * main() of test_NAME.c to main_NAME() and lists the tests in all_tests.inc as RUN(NAME), or as RUN_PLAIN(NAME) where main()
 * takes no arguments. */
#include <stdio.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

#define RUN(name) int main_##name(int argc, char **argv);
#define RUN_PLAIN(name) int main_##name(void);
#include "all_tests.inc"
#undef RUN
#undef RUN_PLAIN

static const char names[] =
#define RUN(name) #name "\n"
#define RUN_PLAIN RUN
#include "all_tests.inc"
#undef RUN
#undef RUN_PLAIN
    "";

int main(int argc, char **argv)
{
    const char *wanted = argc > 1 ? argv[1] : NULL;

    if (!wanted) return fputs(names, stdout) < 0;
#define RUN(name)                                                                                                      \
    if (strcmp(wanted, #name) == 0) return main_##name(argc - 1, argv + 1);
#define RUN_PLAIN(name)                                                                                                \
    if (strcmp(wanted, #name) == 0) return main_##name();
#include "all_tests.inc"
    fprintf(stderr, "there is no test '%s'\n", wanted);
    return EXIT_USAGE;
}
