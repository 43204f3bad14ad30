/* gguf_test: a file made here, read whole, read bit by bit, and broken at every byte. */
#include "core/model/gguf.h"

#include "base/buf.h"
#include "base/test.h"
#include "core/model/facts.h"

static struct arena arena;
static struct buf file;

static void u32(uint32_t n) {
    buf_add(&file, &n, 4);
}

static void u64(uint64_t n) {
    buf_add(&file, &n, 8);
}

static void text(const char *s) {
    u64(strlen(s));
    buf_c(&file, s);
}

static void key_u32(const char *key, uint32_t n) {
    text(key);
    u32(4);
    u32(n);
}

static void tensor(const char *name, uint32_t type, uint64_t row, uint64_t rows, uint64_t offset) {
    text(name);
    u32(2);
    u64(row);
    u64(rows);
    u32(type);
    u64(offset);
}

/* A model of two layers, 64 wide: embeddings in Q8_0, the rest in F16. */
static size_t make_file(void) {
    buf_c(&file, "GGUF");
    u32(3);
    u64(2);
    u64(9);
    text("general.architecture");
    u32(8);
    text("llama");
    key_u32("llama.block_count", 2);
    key_u32("llama.embedding_length", 64);
    key_u32("llama.attention.head_count", 4);
    key_u32("llama.attention.head_count_kv", 2);
    key_u32("llama.context_length", 512);
    text("tokenizer.ggml.tokens");
    u32(9);
    u32(8);
    u64(3);
    text("a");
    text("");
    text("ccc");
    text("llama.rope.freq_base");
    u32(6);
    u32(0x461c4000); /* 10000 as a float */
    text("llama.list");
    u32(9);
    u32(5);
    u64(2);
    u32(7);
    u32((uint32_t)-3);
    tensor("token_embd.weight", 8, 64, 10, 0); /* 20 blocks of 34: 680 bytes, padded to 704 */
    tensor("blk.0.ffn_up.weight", 1, 64, 2, 704);
    size_t head = file.n;
    while (file.n % 32 != 0) {
        buf_ch(&file, 0);
    }
    for (int i = 0; i < 704 + 256; i++) {
        buf_ch(&file, 0);
    }
    return head;
}

static int setup(void **state) {
    arena_init(&arena, 64 << 20);
    buf_init(&file, 0);
    return 0;
}

static int teardown(void **state) {
    arena_release(&arena);
    buf_release(&file);
    return 0;
}

static void whole(void **state) {
    struct gguf g;
    struct err err = {0};
    int64_t need = 0;
    make_file();
    assert_ok(gguf_read(&arena, buf_view(&file), (int64_t)file.n, &g, &need, &err), &err);
    assert_int_equal(g.bytes, 680 + 256);
    assert_int_equal(g.elements, 640 + 128);
    assert_int_equal(g.n_tensors, 2);
    assert_int_equal(gguf_whole(&g, "block_count", 0), 2);
    assert_int_equal(gguf_whole(&g, "none", -5), -5);
    const struct gguf_value *v = gguf_key(&g, STR("llama.list"));
    assert_int_equal(v->n_list, 2);
    assert_int_equal(v->list[1], -3);
    assert_true(gguf_arch(&g, "rope.freq_base")->real == 10000.0);
    struct facts f;
    assert_ok(facts_of_gguf(&g, &f, &err), &err);
    assert_int_equal(f.layers, 2);
    assert_int_equal(f.groups[0].kv_heads, 2);
    assert_int_equal(f.groups[0].key, 16);
    assert_int_equal(f.vocab, 10);
    assert_int_equal(f.weights, 936);
    assert_true(f.weights_exact);
}

/* Whoever has too few bytes is told how many, and comes to the same end. */
static void in_pieces(void **state) {
    struct gguf g;
    struct err err = {0};
    int64_t have = 0, need = 0, rounds = 0;
    int code;
    size_t head = make_file();
    while ((code = gguf_read(&arena, str_from(file.p, (size_t)have), (int64_t)file.n, &g, &need,
                             &err)) == ERR_AGAIN) {
        assert_true(need > have && need <= (int64_t)head);
        have = need;
        rounds++;
        arena_reset(&arena);
    }
    assert_ok(code, &err);
    assert_int_equal(have, head);
    assert_true(rounds > 20);
}

static void broken(void **state) {
    struct gguf g;
    struct err err = {0};
    int64_t need = 0;
    size_t head = make_file();
    for (size_t i = 0; i < head; i++) { /* cut there: never taken for whole */
        arena_reset(&arena);
        assert_int_equal(gguf_read(&arena, str_from(file.p, i), (int64_t)i, &g, &need, &err),
                         ERR_SYNTAX);
    }
    assert_int_equal(gguf_read(&arena, buf_view(&file), (int64_t)file.n - 1, &g, &need, &err),
                     ERR_INVALID);
    for (size_t i = 0; i < head; i++) { /* any byte made another: an answer, and no crash */
        arena_reset(&arena);
        char was = file.p[i];
        file.p[i] = (char)(was ^ 0x81);
        gguf_read(&arena, buf_view(&file), (int64_t)file.n, &g, &need, &err);
        file.p[i] = was;
    }
    file.p[4] = 1;
    assert_int_equal(gguf_read(&arena, buf_view(&file), (int64_t)file.n, &g, &need, &err),
                     ERR_UNSUPPORTED);
    memcpy(&file.p[4], "\0\0\0\3", 4);
    assert_int_equal(gguf_read(&arena, buf_view(&file), (int64_t)file.n, &g, &need, &err),
                     ERR_UNSUPPORTED);
    file.p[0] = 'X';
    assert_int_equal(gguf_read(&arena, buf_view(&file), (int64_t)file.n, &g, &need, &err),
                     ERR_SYNTAX);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(whole, setup, teardown),
        cmocka_unit_test_setup_teardown(in_pieces, setup, teardown),
        cmocka_unit_test_setup_teardown(broken, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
