/* SPDX-License-Identifier: MIT
 * loader.c and its parts over GGUF files: whole models from memory, however the bytes come; shards; hostile files; and
 * memory that is refused. */
#include "files/loader.h"

#include "check.h"
#include "model_checks.h"
#include "model_files.h"

static const char *root;

static void test_loader_gguf_is_the_same_however_it_is_fed(void)
{
    static const uint32_t types[] = {QW_F32, QW_F16, QW_BF16, QW_Q8_0, QW_Q4_0, QW_Q4_1, QW_Q5_0, QW_Q5_1};

    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        mem_file file = {"tiny.gguf", tiny_gguf(types[i], 12)};
        check_chops(&file, 1, "tiny.gguf");
        free(file.content.v);
    }
}

static void test_loader_gguf_contents_arrive(void)
{
    bytes file = tiny_gguf(QW_F32, 2);
    qw_model m;
    qw_error err = {0};

    CHECK_EQ(load_one("dir/tiny.gguf", file, &m, &err), QW_OK);
    CHECK_STR(err.text, "");
    CHECK_EQ(m.config.n_layer, 2);
    CHECK_EQ(m.config.dim, TINY_DIM);
    CHECK_EQ(m.config.head_dim, TINY_HEAD);
    CHECK_EQ(m.config.n_kv_head, 1);
    CHECK_EQ(m.config.n_vocab, TINY_VOCAB);
    CHECK_EQ(m.config.n_ctx_train, 64);
    CHECK_NEAR(m.config.rms_eps, 1e-6, 1e-12);
    CHECK(m.weights.head_is_embed && m.config.tied);
    CHECK(m.weights.head.data == m.weights.embed.data && m.weights.embed.data);
    CHECK_EQ(m.n_eos, 2); /* the key's <|endoftext|>, and <|im_end|> */
    CHECK_EQ(m.eos[0], 257);
    CHECK_EQ(m.eos[1], 259);
    CHECK_EQ(m.pad, 257);
    CHECK(m.name.n == 4 && memcmp(m.name.bytes, "Tiny", 4) == 0);
    CHECK(m.chat_template.n == 14 && m.generation_config.n == 0 && m.notes.n == 0);
    CHECK(m.tokenizer && qw_tokenizer_n_ids(m.tokenizer) == TINY_VOCAB);
    CHECK_NEAR(m.n_parameters, 260 * 32 + 32 + 2 * (32 * 32 * 2 + 2 * 16 * 32 + 3 * 32 * 64 + 64 + 32 + 32), 0);
    qw_model_free(&m);
    free(file.v);
}

/* Whether members of a JSON object are that text. */
#define CHECK_MEMBERS(buf, text) CHECK((buf).n == strlen(text) && (!(buf).n || memcmp((buf).bytes, text, (buf).n) == 0))

static void test_loader_named_templates_and_tokens_of_a_gguf_arrive(void)
{
    bytes file = tiny_gguf(QW_F32, 1);
    qw_model m;
    qw_error err = {0};

    CHECK_EQ(load_one("tiny.gguf", file, &m, &err), QW_OK);
    CHECK_MEMBERS(m.templates, "\"tool_use\":\"{{ tools }}\"");
    CHECK_MEMBERS(m.token_texts, "\"bos_token\":\"<|im_start|>\",\"eos_token\":\"<|endoftext|>\","
                                 "\"unk_token\":\"ab\",\"pad_token\":\"<|endoftext|>\"");
    qw_model_free(&m);
    free(file.v);
}

static void test_loader_sniffs_a_file_of_any_name(void)
{
    bytes file = tiny_gguf(QW_F32, 1);
    mem_file named = {"tiny.gguf", file}, unnamed = {"download", file};
    qw_model m;
    qw_error err = {0};
    bytes text = text_bytes("just some text, longer than 16 bytes");

    CHECK(check_chops(&named, 1, "tiny.gguf") == check_chops(&unnamed, 1, "download"));
    CHECK_EQ(load_one("download", text, &m, &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "download: neither GGUF");
    free(text.v);
    free(file.v);
}

static void shard_keys(gguf *g, uint32_t no, uint32_t count, uint32_t n_tensors)
{
    gguf_u32(g, "split.no", no);
    gguf_u32(g, "split.count", count);
    gguf_u32(g, "split.tensors.count", n_tensors);
}

/* Three shards of the tiny model with two layers. */
static void make_shards(mem_file files[3], uint32_t claimed_tensors)
{
    gguf g = gguf_new();

    gguf_tiny_config(&g, 2);
    gguf_tiny_tokenizer(&g);
    shard_keys(&g, 0, 3, claimed_tensors);
    gguf_tensor(&g, "token_embd.weight", QW_Q8_0, TINY_DIM, TINY_VOCAB);
    files[0] = (mem_file){"d/tiny-00001-of-00003.gguf", gguf_file(&g)};
    shard_keys(&g, 1, 3, claimed_tensors);
    gguf_tiny_layers(&g, QW_Q8_0, 0, 1, NULL);
    files[1] = (mem_file){"d/tiny-00002-of-00003.gguf", gguf_file(&g)};
    shard_keys(&g, 2, 3, claimed_tensors);
    gguf_tiny_layers(&g, QW_Q8_0, 1, 1, NULL);
    gguf_tensor(&g, "output_norm.weight", QW_F32, TINY_DIM, 0);
    files[2] = (mem_file){"d/tiny-00003-of-00003.gguf", gguf_file(&g)};
}

static void test_loader_any_shard_brings_the_whole_set(void)
{
    mem_file files[3];
    uint64_t first;

    make_shards(files, 26);
    first = check_chops(files, 3, "d/tiny-00001-of-00003.gguf");
    CHECK(first != 0);
    CHECK(check_chops(files, 3, "d/tiny-00002-of-00003.gguf") == first);
    CHECK(check_chops(files, 3, "d/tiny-00003-of-00003.gguf") == first);
    free_files(files, 3);
}

static qw_status load_shards(mem_file *files, size_t n, const char *main_name, qw_error *err)
{
    loading in = {.files = files, .n_files = n, .main_name = main_name};
    qw_model m;
    qw_status status = load_files(&in, &m, err);

    qw_model_free(&m);
    return status;
}

static void test_loader_shards_that_do_not_fit_are_refused(void)
{
    mem_file files[3];
    qw_error err = {0};
    bytes kept;

    make_shards(files, 26);
    CHECK_EQ(load_shards(files, 2, "d/tiny-00001-of-00003.gguf", &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "d/tiny-00003-of-00003.gguf: the file is missing");
    kept = files[1].content;
    files[1].content = files[2].content;
    CHECK_EQ(load_shards(files, 3, "d/tiny-00001-of-00003.gguf", &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "part 3 of 3");
    files[1].content = kept;
    files[0].name = "part1.gguf";
    CHECK_EQ(load_shards(files, 1, "part1.gguf", &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "part 1 of 3");
    free_files(files, 3);

    make_shards(files, 27);
    CHECK_EQ(load_shards(files, 3, "d/tiny-00001-of-00003.gguf", &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "27 tensors");
    free_files(files, 3);

    files[0] =
        (mem_file){"tiny-00001-of-00002.gguf", tiny_gguf(QW_F32, 1)}; /* one file that claims by its name to be two */
    files[1] = (mem_file){"tiny-00002-of-00002.gguf", tiny_gguf(QW_F32, 1)};
    CHECK_EQ(load_shards(files, 2, "tiny-00001-of-00002.gguf", &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "part 1 of 1");
    free_files(files, 2);
}

/* A part of another model of the same shape: what it says of the whole gives it away. */
static void test_loader_a_part_of_another_model_is_refused(void)
{
    gguf g = gguf_new();
    mem_file files[3];
    qw_error err = {0};
    bytes kept;

    make_shards(files, 26);
    kept = files[1].content;
    shard_keys(&g, 1, 3, 25);
    gguf_tiny_layers(&g, QW_Q8_0, 0, 1, NULL);
    files[1].content = gguf_file(&g);
    CHECK_EQ(load_shards(files, 3, "d/tiny-00001-of-00003.gguf", &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "00002-of-00003.gguf: its split.tensors.count is 25, the first part's 26");
    free(files[1].content.v);

    shard_keys(&g, 1, 3, 26);
    gguf_text(&g, "general.name", "Tiny Coder");
    gguf_tiny_layers(&g, QW_Q8_0, 0, 1, NULL);
    files[1].content = gguf_file(&g);
    CHECK_EQ(load_shards(files, 3, "d/tiny-00001-of-00003.gguf", &err), QW_ERR_FORMAT);
    CHECK_HAS(err.text, "00002-of-00003.gguf: its key general.name says something else");
    free(files[1].content.v);

    shard_keys(&g, 1, 3, 26);
    gguf_text(&g, "general.name", "Tiny"); /* as the first part says */
    gguf_text(&g, "general.file", "2");    /* of which it says nothing */
    gguf_tiny_layers(&g, QW_Q8_0, 0, 1, NULL);
    files[1].content = gguf_file(&g);
    CHECK_EQ(load_shards(files, 3, "d/tiny-00001-of-00003.gguf", &err), QW_OK);
    free(kept.v);
    free_files(files, 3);
}

static void test_loader_one_of_one_is_an_ordinary_file(void)
{
    mem_file file = {"tiny-00001-of-00001.gguf", tiny_gguf(QW_F32, 1)};

    CHECK(check_chops(&file, 1, "tiny-00001-of-00001.gguf") != 0);
    free(file.content.v);
}

static void test_loader_headers_only_knows_the_same_figures(void)
{
    mem_file file = {"t.gguf", tiny_gguf(QW_Q8_0, 12)};
    loading whole = {.files = &file, .n_files = 1, .main_name = "t.gguf"};
    loading plan = {.files = &file, .n_files = 1, .main_name = "t.gguf", .options = {QW_QUANTIZE_NONE, true}};
    qw_loader *l = NULL;
    qw_model m, none;
    qw_error err = {0};

    CHECK_EQ(load_files(&whole, &m, &err), QW_OK);
    CHECK_EQ(run_loader(&plan, &l, &err), QW_OK);
    CHECK_NEAR(qw_loader_weight_bytes(l), whole.weight_bytes, 0);
    CHECK_NEAR(qw_loader_read_bytes(l), whole.fed, 0);
    CHECK_NEAR(qw_loader_file_bytes(l), (double)file.content.n, 0);
    CHECK_NEAR(qw_loader_stage_bytes(l), whole.stage_bytes, 0);
    CHECK_EQ(qw_loader_model(l)->config.n_vocab, TINY_VOCAB);
    CHECK(qw_loader_model(l)->tokenizer && !qw_loader_model(l)->weights.embed.data);
    CHECK_NEAR(qw_loader_model(l)->n_parameters, m.n_parameters, 0);
    CHECK_EQ(qw_loader_take(l, &none, &err), QW_ERR_INTERNAL);
    qw_loader_free(l);
    qw_model_free(&m);
    free(file.content.v);
}

static void test_loader_misuse_is_an_error(void)
{
    qw_load_options options = {QW_QUANTIZE_NONE, false};
    qw_loader *l;
    qw_model m;
    qw_error err = {0};
    qw_want w;

    CHECK_EQ(qw_loader_new(&l, &options, (qw_text){"", 0}, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_loader_new(&l, &options, (qw_text){"a\0b", 3}, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_loader_new(&l, &options, qw_text_of("t.gguf"), &err), QW_OK);
    qw_loader_want(l, &w);
    CHECK_EQ(w.kind, QW_WANT_OPEN);
    CHECK_STR(w.name, "t.gguf");
    CHECK(!w.optional);
    CHECK_EQ(qw_loader_feed(l, 1, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_loader_take(l, &m, &err), QW_ERR_INTERNAL);
    CHECK_EQ(qw_loader_opened(l, 100, &err), QW_OK);
    CHECK_EQ(qw_loader_opened(l, 100, &err), QW_ERR_USAGE);
    qw_loader_free(l);
    CHECK_EQ(qw_loader_new(&l, &options, qw_text_of("t.gguf"), &err), QW_OK);
    CHECK_EQ(qw_loader_opened(l, 100, &err), QW_OK);
    qw_loader_want(l, &w);
    CHECK_EQ(w.kind, QW_WANT_READ);
    CHECK_EQ(w.bytes, 100);
    CHECK_EQ(qw_loader_feed(l, 0, &err), QW_ERR_USAGE);
    CHECK_EQ(qw_loader_feed(l, 101, &err), QW_ERR_USAGE);
    qw_loader_free(l);
    CHECK_EQ(qw_loader_new(&l, &options, qw_text_of("t.gguf"), &err), QW_OK);
    CHECK_EQ(qw_loader_opened(l, -1, &err), QW_ERR_FORMAT);
    qw_loader_want(l, &w);
    CHECK_EQ(w.kind, QW_WANT_NOTHING);
    qw_loader_free(l);
    qw_loader_free(NULL);
}

static void test_loader_every_prefix_is_refused(void)
{
    bytes file = tiny_gguf(QW_Q4_0, 1);
    int64_t live = qw_alloc_test_live();

    for (size_t n = 0; n < file.n - 31; n += n < 5000 ? 1 : 37) { /* the last bytes may be padding */
        bytes cut = {file.v, n, n};
        qw_model m;
        qw_error err = {0};
        CHECK_EQ(load_one("t.gguf", cut, &m, &err), QW_ERR_FORMAT);
        CHECK_HAS(err.text, "t.gguf: file incomplete, needs ");
    }
    CHECK_EQ(qw_alloc_test_live(), live);
    free(file.v);
}

/* Whatever a byte becomes: a status, a text with it, no leak. */
static void test_loader_every_changed_byte_is_survived(void)
{
    static const uint8_t values[] = {0x00, 0x80, 0xFF};
    bytes file = tiny_gguf(QW_F32, 1);
    int64_t live = qw_alloc_test_live(), refused = 0;

    for (size_t i = 0; i < file.n; i += i < 700 || (i > 4500 && i < 5800) ? 1 : 41)
        for (size_t v = 0; v < sizeof values; v++) {
            uint8_t was = file.v[i];
            qw_model m;
            qw_error err = {0};
            qw_status status;
            file.v[i] = v ? values[v] : (uint8_t)(was ^ 1);
            status = load_one("t.gguf", file, &m, &err);
            CHECK(status == QW_OK ? !err.text[0] : err.text[0] && status != QW_ERR_INTERNAL && status != QW_ERR_USAGE);
            refused += status != QW_OK;
            qw_model_free(&m);
            file.v[i] = was;
        }
    CHECK(refused > 1000);
    CHECK_EQ(qw_alloc_test_live(), live);
    free(file.v);
}

/* Refuses each allocation of a load in turn. */
static void check_refusals(const mem_file *files, size_t n_files, const char *main_name)
{
    int64_t live = qw_alloc_test_live();

    for (int64_t n = 0;; n++) {
        loading in = {.files = files, .n_files = n_files, .main_name = main_name};
        qw_model m;
        qw_error err = {0};
        qw_status status;
        qw_alloc_test_fail(n);
        status = load_files(&in, &m, &err);
        qw_alloc_test_fail(-1);
        qw_model_free(&m);
        CHECK_EQ(qw_alloc_test_live(), live);
        if (!status) {
            CHECK(n > 20);
            return;
        }
        CHECK_EQ(status, QW_ERR_MEMORY);
        CHECK_EQ(err.status, QW_ERR_MEMORY);
        if (n > 100000 || status != QW_ERR_MEMORY) return;
    }
}

static void test_loader_refused_memory_is_a_clean_error(void)
{
    mem_file files[16] = {{"t.gguf", tiny_gguf(QW_Q8_0, 1)}};
    size_t n;

    check_refusals(files, 1, "t.gguf");
    free(files[0].content.v);
    n = read_checkpoint(root, "sharded", files);
    check_refusals(files, n, "config.json");
    free_files(files, n);
}

static void test_loader_the_bundled_model_loads(void)
{
    bytes file = read_path("models/austen-tiny-q8_0.gguf");
    mem_file f = {"austen-tiny-q8_0.gguf", file};
    loading in = {.files = &f, .n_files = 1, .main_name = f.name};
    qw_model m;
    qw_error err = {0};

    CHECK(file.n > 5000000);
    CHECK_EQ(load_files(&in, &m, &err), QW_OK);
    CHECK_STR(err.text, "");
    CHECK_EQ(m.config.n_layer, 6);
    CHECK_EQ(m.config.n_vocab, 4096);
    CHECK(m.tokenizer && m.n_eos >= 1);
    CHECK(in.weight_bytes <= 1.2 * (double)file.n);
    qw_model_free(&m);
    free(file.v);
}

int main(int argc, char **argv)
{
    root = fixtures_root(argc, argv);
    test_loader_gguf_is_the_same_however_it_is_fed();
    test_loader_gguf_contents_arrive();
    test_loader_named_templates_and_tokens_of_a_gguf_arrive();
    test_loader_sniffs_a_file_of_any_name();
    test_loader_any_shard_brings_the_whole_set();
    test_loader_shards_that_do_not_fit_are_refused();
    test_loader_a_part_of_another_model_is_refused();
    test_loader_one_of_one_is_an_ordinary_file();
    test_loader_headers_only_knows_the_same_figures();
    test_loader_misuse_is_an_error();
    test_loader_every_prefix_is_refused();
    test_loader_every_changed_byte_is_survived();
    test_loader_refused_memory_is_a_clean_error();
    test_loader_the_bundled_model_loads();
    return check_done();
}
