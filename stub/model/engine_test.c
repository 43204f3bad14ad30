/* engine: time of a batch, waiting, preemption and remembered prefixes, exactly. */
#include "engine.h"

#include "base/test.h"

static size_t tokens;

static void on_token(void *ctx, struct sequence *s) {
    struct engine *e = ctx;

    tokens++;
    if (s->user && s->generated == *(size_t *)s->user) {
        engine_remove(e, s);
    }
}

static const struct engine_options plain = {.prefill_tps = 1000,
                                            .decode_tps = 100,
                                            .sequence_s = 0.001,
                                            .step_tokens = 64,
                                            .sequences = 4,
                                            .block_tokens = 16,
                                            .blocks = 8};

static int64_t step(struct engine *e) {
    int64_t ns = engine_plan(e);

    if (ns) {
        engine_end(e, on_token, e);
    }
    return ns;
}

static void test_time(void **state) {
    struct engine e;
    size_t two = 2;
    struct sequence a = {.prompt = 100, .user = &two};

    assert_int_equal(engine_init(&e, &plain), 0);
    assert_int_equal(engine_plan(&e), 0);
    assert_true(engine_add(&e, &a));
    /* 10 ms, 1 ms for the sequence, and 64 tokens of the prompt at 1 ms; then the other 36, and a token. */
    tokens = 0;
    assert_in_range(step(&e), 75000000, 75000001);
    assert_int_equal(tokens, 0);
    assert_in_range(step(&e), 47000000, 47000001);
    assert_int_equal(tokens, 1);
    assert_in_range(step(&e), 11000000, 11000001);
    assert_int_equal(tokens, 2);
    assert_int_equal(e.free, 8);
    assert_int_equal(step(&e), 0);
    engine_release(&e);
}

static void test_memory(void **state) {
    struct engine e;
    struct sequence huge = {.prompt = 128}, a = {.prompt = 63}, b = {.prompt = 63},
                    c = {.prompt = 1};

    assert_int_equal(engine_init(&e, &plain), 0);
    assert_false(engine_add(&e, &huge));
    assert_true(engine_add(&e, &a) && engine_add(&e, &b) && engine_add(&e, &c));
    for (int i = 0; i < 3; i++) {
        step(&e);
    }
    /* Four blocks each: the next token of the first drives the second out, and nobody passes it by. */
    assert_int_equal(e.counts.preemptions, 1);
    assert_true(a.running && b.waiting && c.waiting);
    assert_int_equal(e.n_waiting, 2);
    engine_remove(&e, &a);
    step(&e);
    assert_true(b.running && c.running);
    engine_remove(&e, &b);
    engine_remove(&e, &c);
    engine_remove(&e, &c);
    assert_int_equal(e.free, 8);
    engine_release(&e);
}

static void test_prefix(void **state) {
    struct engine e;
    uint64_t hashes[] = {11, 12, 13};
    size_t one = 1;
    struct sequence a = {.prompt = 50, .hashes = hashes, .n_hashes = 3, .user = &one}, b = a;

    assert_int_equal(engine_init(&e, &plain), 0);
    assert_true(engine_add(&e, &a));
    step(&e);
    assert_int_equal(e.counts.prefix_hits, 0);
    assert_true(engine_add(&e, &b));
    assert_in_range(step(&e), 13000000, 13000001); /* two of its tokens alone */
    assert_int_equal(e.counts.prefix_hits, 48);
    engine_release(&e);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_time),
        cmocka_unit_test(test_memory),
        cmocka_unit_test(test_prefix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
