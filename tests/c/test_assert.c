/* SPDX-License-Identifier: MIT
 * Assertions end a test's program, and nothing is left of them in what ships. */
#ifndef QW_ASSERTIONS
#error "tests are built with QW_ASSERTIONS"
#endif
#include "base/assert.h"
#include "check.h"

#include <setjmp.h>
#include <signal.h>

static int evaluated;

static bool is_evaluated(bool value)
{
    evaluated++;
    return value;
}

#ifdef __EMSCRIPTEN__ /* abort() of wasm raises no signal */
static void test_a_false_condition_ends_the_program(void) {}
#else
static jmp_buf back;

static void on_abort(int number)
{
    (void)number;
    longjmp(back, 1);
}

static void test_a_false_condition_ends_the_program(void)
{
    bool ended = true;

    signal(SIGABRT, on_abort);
    if (!setjmp(back)) {
        QW_ASSERT(is_evaluated(false));
        ended = false;
    }
    signal(SIGABRT, SIG_DFL);
    CHECK(ended);
}
#endif

static void test_a_true_condition_is_evaluated_once(void)
{
    evaluated = 0;
    QW_ASSERT(is_evaluated(true));
    CHECK_EQ(evaluated, 1);
}

/* As in what ships. */
#undef QW_ASSERTIONS
#undef QW_ASSERT
#undef QW_ASSERT_H
#include "base/assert.h"

static void test_nothing_is_evaluated_where_assertions_are_off(void)
{
    evaluated = 0;
    QW_ASSERT(is_evaluated(false));
    CHECK_EQ(evaluated, 0);
}

int main(void)
{
    test_a_false_condition_ends_the_program();
    test_a_true_condition_is_evaluated_once();
    test_nothing_is_evaluated_where_assertions_are_off();
    return check_done();
}
