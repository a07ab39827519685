/* SPDX-License-Identifier: MIT
 * Answers of a form through whole engines: texts that have it, every refusal of memory on the way, errors by name. */
#include "check.h"
#include "run_engine.h"

#include "base/alloc.h"

static qw_engine *engine;
static qw_ids prompt;

static void start(void)
{
    static const int32_t ids[] = {272, 286, 34};
    qw_error err = {0};

    CHECK_EQ(run_load(&engine, TINY_GGUF, "{\"contextLength\": 128}", 0, &err), QW_OK);
    CHECK_EQ(qw_ids_append(&prompt, ids, 3, NULL), QW_OK);
}

static qw_status run(const char *settings, qw_buf *result, qw_error *err)
{
    *err = (qw_error){0};
    return run_generate(engine, &prompt, settings, result, err);
}

static void test_texts_have_their_form(void)
{
    static const struct {
        const char *settings, *text;
    } cases[] = {
        {"{\"max_new_tokens\":20,\"response_format\":\"{\\\"type\\\":\\\"choice\\\",\\\"choices\\\":[\\\"zebra "
         "crossing\\\"]}\"}",
         "\"text\":\"zebra crossing\""},
        {"{\"max_new_tokens\":20,\"response_format\":\"{\\\"type\\\":\\\"regex\\\",\\\"regex\\\":\\\"q{3}7\\\"}\"}",
         "\"text\":\"qqq7\""},
        {"{\"max_new_tokens\":20,\"response_format\":\"{\\\"type\\\":\\\"regex\\\",\\\"regex\\\":\\\"(no)?\\\"}\","
         "\"logit_bias\":{\"78\":100}}",
         "\"format\":{\"complete\":true}"},
        {"{\"max_new_tokens\":1,\"response_format\":\"{\\\"type\\\":\\\"choice\\\",\\\"choices\\\":[\\\"zebra "
         "crossing\\\"]}\"}",
         "\"format\":{\"complete\":false}"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_buf result = {0};
        qw_error err;

        CHECK_EQ(run(cases[i].settings, &result, &err), QW_OK);
        CHECK_STR(err.text, "");
        CHECK_HAS(result.bytes, cases[i].text);
        qw_buf_free(&result);
    }
}

static void test_refusals_name_what_is_wrong(void)
{
    static const struct {
        const char *settings, *words;
    } cases[] = {
        {"{\"response_format\":\"[]\"}", "response_format is array, wanted an object"},
        {"{\"response_format\":\"{\"}", "no valid JSON text"},
        {"{\"response_format\":{}}", "the JSON text of an object with a type"},
        {"{\"response_format\":\"{\\\"type\\\":\\\"regex\\\",\\\"regex\\\":\\\"a(\\\"}\"}", "character"},
        {"{\"response_format\":\"{\\\"type\\\":\\\"regex\\\",\\\"regex\\\":\\\"a\\\",\\\"flags\\\":1}\"}",
         "flags is number"},
        {"{\"response_format\":\"{\\\"type\\\":\\\"choice\\\"}\"}", "choices is missing"},
        {"{\"response_format\":\"{\\\"type\\\":\\\"regex\\\",\\\"regex\\\":\\\"x\\\"}\",\"suppress_tokens\":[87,220]}",
         "step 0: response_format leaves no token"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_buf result = {0};
        qw_error err;

        CHECK_EQ(run(cases[i].settings, &result, &err), QW_ERR_USAGE);
        CHECK_HAS(err.text, cases[i].words);
        qw_buf_free(&result);
    }
}

/* Whatever request is refused, the call fails with `memory`, nothing is left behind, and the next call works. */
static void test_without_memory_the_engine_goes_on(void)
{
    static const char settings[] =
        "{\"max_new_tokens\":8,\"response_format\":\"{\\\"type\\\":\\\"regex\\\",\\\"regex\\\":\\\"[a-c]{2,4}!\\\"}\"}";
    qw_status status = QW_ERR_MEMORY;
    int64_t n = 0;

    for (; status == QW_ERR_MEMORY && n < 4000; n += 1 + n / 16) {
        qw_buf result = {0};
        qw_error err;

        qw_alloc_test_fail(n);
        status = run(settings, &result, &err);
        qw_alloc_test_fail(-1);
        CHECK(status == QW_OK || status == QW_ERR_MEMORY);
        qw_buf_free(&result);
    }
    CHECK_EQ(status, QW_OK);
    CHECK(n > 10);
}

int main(void)
{
    start();
    test_texts_have_their_form();
    test_refusals_name_what_is_wrong();
    test_without_memory_the_engine_goes_on();
    qw_ids_free(&prompt);
    qw_engine_free(engine);
    CHECK_EQ(qw_alloc_test_live(), 0);
    return check_done();
}
