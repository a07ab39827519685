/* SPDX-License-Identifier: MIT
 * hf.c through the loader: checkpoints as the fixtures have them, files that are missing or something else, end tokens and
 * chat templates by precedence, and the index of shards. */
#include "files/loader.h"

#include "check.h"
#include "model_checks.h"
#include "model_files.h"

static const char *root;

static void test_loader_checkpoints_are_the_same_however_they_are_fed(void)
{
    static const char *const names[] = {
        "mha",     "mqa",  "tied-bf16", "tied-extra-head", "tied-head-only", "untied-gqa4-2-f32",
        "sharded", "yarn", "sliding"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        mem_file files[16];
        size_t n = read_checkpoint(root, names[i], files);
        uint64_t h;
        CHECK(n >= 5);
        h = check_chops(files, n, "config.json");
        if (strcmp(names[i], "sharded") == 0) {
            CHECK(check_chops(files, n, "model-00002-of-00003.safetensors") == h);
            CHECK(check_chops(files, n, "model.safetensors.index.json") == h);
        } else {
            CHECK(check_chops(files, n, "model.safetensors") == h);
        }
        free_files(files, n);
    }
}

static void test_loader_checkpoint_texts_and_ends_arrive(void)
{
    mem_file files[16];
    size_t n = read_checkpoint(root, "tied-bf16", files);
    loading in = {.files = files, .n_files = n, .main_name = "config.json"};
    qw_model m;
    qw_error err = {0};
    bytes *generation = file_bytes_of(files, n, "generation_config.json");

    CHECK_EQ(load_files(&in, &m, &err), QW_OK);
    CHECK_STR(err.text, "");
    CHECK_EQ(m.config.n_vocab, 544);
    CHECK_EQ(m.n_eos, 2);
    CHECK_EQ(m.eos[0], 511);
    CHECK_EQ(m.eos[1], 34);
    CHECK_EQ(m.pad, 509);
    CHECK(m.chat_template.n > 50 && memcmp(m.chat_template.bytes, "{% for", 6) == 0);
    CHECK(m.generation_config.n == generation->n &&
          memcmp(m.generation_config.bytes, generation->v, generation->n) == 0);
    CHECK(m.tokenizer && qw_tokenizer_n_ids(m.tokenizer) == 512);
    qw_model_free(&m);
    free_files(files, n);
}

/* The status of loading a checkpoint in which one file is another text (NULL: absent). */
static qw_status load_changed(const char *name, const char *file, const char *text, qw_model *m, qw_error *err)
{
    mem_file files[17];
    size_t n = read_checkpoint(root, name, files), i = 0;
    loading in = {.files = files, .main_name = "config.json"};
    qw_status status;

    while (i < n && strcmp(files[i].name, file) != 0) i++;
    if (i < n) free(files[i].content.v);
    else files[n++].name = file;
    files[i].content = text ? text_bytes(text) : (bytes){0};
    in.n_files = n;
    if (!text) files[i] = files[in.n_files = --n];
    status = load_files(&in, m, err);
    free_files(files, n);
    return status;
}

static const char html[] = "\n<!DOCTYPE html><html><body>Not found</body></html>";
static const char lfs[] = "version https://git-lfs.github.com/spec/v1\noid sha256:0123456789\nsize 1234\n";

static void test_loader_html_and_lfs_pointers_are_recognised(void)
{
    static const char *const pages[] = {lfs,
                                        html,
                                        "<HTML>\n<body>404</body>",
                                        "\xEF\xBB\xBF<html lang=en><p>",
                                        "<!doctype html><p>",
                                        "<?xml version=\"1.0\"?><Error/>"};
    static const struct {
        const char *file;
        bool optional;
    } cases[] = {{"config.json", false},
                 {"model.safetensors", false},
                 {"generation_config.json", true},
                 {"tokenizer.json", true},
                 {"tokenizer_config.json", true},
                 {"chat_template.jinja", true},
                 {"model.safetensors.index.json", true}};

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_model m;
        qw_error err = {0};
        char part[80];
        snprintf(part, sizeof part, "%s: got HTML", cases[i].file);
        CHECK_EQ(load_changed("mha", cases[i].file, html, &m, &err), cases[i].optional ? QW_OK : QW_ERR_FORMAT);
        if (cases[i].optional) CHECK(notes_have(&m, part));
        else CHECK_HAS(err.text, part);
        qw_model_free(&m);
        CHECK_EQ(load_changed("mha", cases[i].file, lfs, &m, &err), QW_ERR_FORMAT);
        CHECK_HAS(err.text, cases[i].file);
        CHECK_HAS(err.text, "Git LFS pointer, not the file");
    }
    for (size_t i = 0; i < sizeof pages / sizeof *pages; i++) {
        static const char *const names[] = {"m.gguf", "m.safetensors", "m"};
        for (size_t k = 0; k < 3; k++) {
            bytes content = text_bytes(pages[i]);
            qw_model m;
            qw_error err = {0};
            CHECK_EQ(load_one(names[k], content, &m, &err), QW_ERR_FORMAT);
            CHECK_HAS(err.text, i == 0 ? "Git LFS pointer, not the file" : "got HTML");
            free(content.v);
        }
    }
}

static void test_loader_empty_files_are_refused(void)
{
    static const char *const names[] = {"config.json", "model.safetensors", "tokenizer.json", "generation_config.json",
                                        "tokenizer_config.json"};

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_changed("mha", names[i], "", &m, &err), QW_ERR_FORMAT);
        CHECK_HAS(err.text, names[i]);
    }
}

static void test_loader_missing_files_are_errors_or_notes(void)
{
    static const struct {
        const char *file;
        qw_status status;
        const char *part;
    } cases[] = {
        {"config.json", QW_ERR_FORMAT, "config.json: the file is missing"},
        {"model.safetensors", QW_ERR_FORMAT, "model.safetensors: the file is missing"},
        {"tokenizer.json", QW_OK, "no tokenizer.json"},
        {"generation_config.json", QW_OK, NULL},
        {"tokenizer_config.json", QW_OK, NULL},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_changed("mha", cases[i].file, NULL, &m, &err), cases[i].status);
        if (cases[i].status) CHECK_HAS(err.text, cases[i].part);
        else if (cases[i].part) CHECK(notes_have(&m, cases[i].part) && !m.tokenizer);
        qw_model_free(&m);
    }
}

static void test_loader_end_tokens_fall_back_from_file_to_file(void)
{
    static const struct {
        const char *file, *text;
        int32_t n_eos, first, pad;
    } cases[] = {
        {"generation_config.json", NULL, 1, 511,
         509}, /* config.json's; its pad is tokenizer_config.json's <|endoftext|> */
        {"generation_config.json", "{}", 1, 511, 509},
        {"generation_config.json", "{\"eos_token_id\":7,\"pad_token_id\":null}", 1, 7, 509},
        {"generation_config.json", "{\"eos_token_id\":[3,3,4],\"pad_token_id\":8}", 2, 3, 8},
        {"generation_config.json", "{\"eos_token_id\":[]}", 0, 0, 509},
        {"generation_config.json", "{\"eos_token_id\":[600,5]}", 1, 5, 509}, /* 600 is no id */
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_changed("mha", cases[i].file, cases[i].text, &m, &err), QW_OK);
        CHECK_STR(err.text, "");
        CHECK_EQ(m.n_eos, cases[i].n_eos);
        CHECK_EQ(m.eos[0], cases[i].first);
        CHECK_EQ(m.pad, cases[i].pad);
        qw_model_free(&m);
    }
    {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_changed("mha", "generation_config.json", "{\"eos_token_id\":\"x\"}", &m, &err), QW_ERR_MODEL);
        CHECK_HAS(err.text, "eos_token_id");
        CHECK_EQ(load_changed("mha", "generation_config.json", "{\"eos_token_id\":1.5}", &m, &err), QW_ERR_MODEL);
    }
}

static bool is_text(const qw_buf *buf, const char *text)
{
    return buf->n == strlen(text) && (!buf->n || memcmp(buf->bytes, text, buf->n) == 0);
}

static void test_loader_special_tokens_are_those_of_tokenizer_config(void)
{
    static const char config[] = "{\"bos_token\":null,\"unk_token\":\"<unk>\",\"eos_token\":{\"content\":\"<e>\"},"
                                 "\"pad_token\":\"\",\"chat_template\":\"x\"}";
    qw_model m;
    qw_error err = {0};

    CHECK_EQ(load_changed("mha", "tokenizer_config.json", config, &m, &err), QW_OK);
    CHECK(is_text(&m.token_texts, "\"eos_token\":\"<e>\",\"unk_token\":\"<unk>\""));
    qw_model_free(&m);
}

static void test_loader_chat_template_comes_from_the_best_place(void)
{
    static const struct {
        const char *file, *text, *wanted, *others;
    } cases[] = {
        {"chat_template.jinja", "from the file", "from the file", ""},
        {"chat_template.jinja", "<human>: {{ x }}", "<human>: {{ x }}", ""}, /* no web page */
        {"tokenizer_config.json", "{\"chat_template\":\"a string\"}", "a string", ""},
        {"tokenizer_config.json",
         "{\"chat_template\":[{\"name\":\"tool_use\",\"template\":\"no\"},{\"name\":\"default\",\"template\":\"yes\"}]"
         "}",
         "yes", "\"tool_use\":\"no\""},
        {"tokenizer_config.json", "{\"chat_template\":[{\"name\":\"tool_use\",\"template\":\"no\"}]}", "",
         "\"tool_use\":\"no\""},
        {"tokenizer_config.json", "{}", "", ""},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_changed("mha", cases[i].file, cases[i].text, &m, &err), QW_OK);
        CHECK(is_text(&m.chat_template, cases[i].wanted));
        CHECK(is_text(&m.templates, cases[i].others));
        qw_model_free(&m);
    }
}

/* Transformers' old clean-up of blanks before punctuation, which spoils text: no setting of a file brings it. */
static void test_loader_texts_are_never_cleaned_up(void)
{
    static const char *const settings[] = {"{}", "{\"clean_up_tokenization_spaces\":true}",
                                           "{\"clean_up_tokenization_spaces\":false}"};
    static const char text[] = "x != y , z . a ? b ' s n't  ";
    const qw_encode_options options = {.parse_special = true};

    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++) {
        qw_buf back = {0};
        qw_ids ids = {0};
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_changed("mha", "tokenizer_config.json", settings[i], &m, &err), QW_OK);
        CHECK_EQ(qw_tokenizer_encode(m.tokenizer, qw_text_of(text), &options, &ids, &err), QW_OK);
        CHECK_EQ(qw_tokenizer_decode(m.tokenizer, ids.v, ids.n, true, &back, &err), QW_OK);
        CHECK(back.n == strlen(text) && memcmp(back.bytes, text, back.n) == 0);
        qw_buf_free(&back);
        qw_ids_free(&ids);
        qw_model_free(&m);
    }
}

static void test_loader_a_bad_index_is_refused(void)
{
    static const struct {
        const char *text;
        qw_status status;
        const char *part;
    } cases[] = {
        {"{}", QW_ERR_FORMAT, "weight_map"},
        {"{\"weight_map\":{}}", QW_ERR_FORMAT, "weight_map"},
        {"{\"weight_map\":{\"a\":\"../x.safetensors\"}}", QW_ERR_FORMAT, "../x.safetensors"},
        {"{\"weight_map\":{\"a\":\"https://a.example/x.safetensors\"}}", QW_ERR_FORMAT, "beside it"},
        {"{\"weight_map\":{\"a\":\"model.bin\"}}", QW_ERR_FORMAT, "model.bin"},
        {"{\"weight_map\":{\"a\":7}}", QW_ERR_FORMAT, "beside it"},
        {"{\"weight_map\":{\"a\":\"model-00001-of-00003.safetensors\"}}", QW_ERR_MODEL, "tensor a is in"},
        {"{\"weight_map\":{\"lm_head.weight\":\"model-00001-of-00003.safetensors\",\"b\":\"model-00003-of-00003."
         "safetensors\"}}",
         QW_ERR_MODEL, "model-00003-of-00003.safetensors"},
        {"{\"weight_map\":{\"a\":\"gone.safetensors\"}}", QW_ERR_FORMAT, "gone.safetensors: the file is missing"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_changed("sharded", "model.safetensors.index.json", cases[i].text, &m, &err), cases[i].status);
        CHECK_HAS(err.text, cases[i].part);
    }
}

/* A number that no integer holds was cast to one, which is undefined. */
static void test_loader_an_absurd_vocabulary_size_is_a_note(void)
{
    static const char key[] = "\"vocab_size\": ";
    mem_file files[16];
    size_t n = read_checkpoint(root, "mha", files);
    loading in = {.files = files, .n_files = n, .main_name = "config.json"};
    bytes *config = file_bytes_of(files, n, "config.json"), changed = {0};
    const char *at;
    qw_model m;
    qw_error err = {0};

    put_uint(config, 0, 1);
    at = strstr((const char *)config->v, key);
    CHECK(at != NULL);
    if (at) {
        put(&changed, config->v, (size_t)(at - (const char *)config->v) + sizeof key - 1);
        put(&changed, "1e300", 5);
        at += sizeof key - 1;
        at += strspn(at, "0123456789");
        put(&changed, at, strlen(at));
    }
    free(config->v);
    *config = changed;
    CHECK_EQ(load_files(&in, &m, &err), QW_OK);
    CHECK(notes_have(&m, "vocab_size is 1e+300"));
    qw_model_free(&m);
    free_files(files, n);
}

int main(int argc, char **argv)
{
    root = fixtures_root(argc, argv);
    test_loader_checkpoints_are_the_same_however_they_are_fed();
    test_loader_checkpoint_texts_and_ends_arrive();
    test_loader_html_and_lfs_pointers_are_recognised();
    test_loader_empty_files_are_refused();
    test_loader_missing_files_are_errors_or_notes();
    test_loader_end_tokens_fall_back_from_file_to_file();
    test_loader_chat_template_comes_from_the_best_place();
    test_loader_special_tokens_are_those_of_tokenizer_config();
    test_loader_texts_are_never_cleaned_up();
    test_loader_a_bad_index_is_refused();
    test_loader_an_absurd_vocabulary_size_is_a_note();
    return check_done();
}
