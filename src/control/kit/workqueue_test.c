/* Tests of the work queue, with a clock that moves by hand. */
#include "control/kit/workqueue.h"

#include "base/mem.h"
#include "base/test.h"
#include "base/virtual_clock.h"

struct fixture {
    struct virtual_clock clock;
    struct workqueue *queue;
    enum work answer;
    char log[4096]; /* keys worked on, "a/b " each */
    bool add_self;
    int resyncs;
};

static enum work step(void *ctx, struct work_key key) {
    struct fixture *f = ctx;
    size_t n = strlen(f->log);
    snprintf(f->log + n, sizeof f->log - n, "%.*s/%.*s ", STR_ARG(key.ns), STR_ARG(key.name));
    if (f->add_self) {
        f->add_self = false;
        workqueue_add(f->queue, key.ns, key.name);
    }
    return f->answer;
}

static void resync(void *ctx) {
    struct fixture *f = ctx;
    f->resyncs++;
    workqueue_add(f->queue, STR("a"), STR("resynced"));
}

static void setup(struct fixture *f, size_t budget) {
    memset(f, 0, sizeof *f);
    virtual_clock_init(&f->clock, 0);
    f->queue = workqueue_new(&(struct workqueue_options){
        .clock = &f->clock.clock, .step = step, .resync = resync, .ctx = f, .budget = budget});
    assert_non_null(f->queue);
}

static void teardown(struct fixture *f) {
    workqueue_free(f->queue);
    virtual_clock_release(&f->clock);
}

static void keys_come_once_in_order(void **state) {
    struct fixture f;
    setup(&f, 0);
    workqueue_add(f.queue, STR("a"), STR("x"));
    workqueue_add(f.queue, STR("a"), STR("y"));
    workqueue_add(f.queue, STR("a"), STR("x"));
    workqueue_add(f.queue, STR(""), STR("z"));
    assert_string_equal(f.log, ""); /* never inside add */
    virtual_clock_run(&f.clock, 0);
    assert_string_equal(f.log, "a/x a/y /z ");
    assert_int_equal(workqueue_len(f.queue), 0);
    teardown(&f);
}

static enum work sorted_step(void *ctx, struct work_key key) {
    struct fixture *f = ctx;
    size_t n = strlen(f->log);
    snprintf(f->log + n, sizeof f->log - n, "%u:%.*s/%.*s ", key.what, STR_ARG(key.ns),
             STR_ARG(key.name));
    return f->answer;
}

/* Two sorts of one name are two keys, with failures of their own; a key needs no name. */
static void keys_have_sorts(void **state) {
    struct fixture f = {.answer = WORK_RETRY};
    struct work_key last = {WORK_KEY_SORTS - 1, STR("a"), STR("x")}, none = {1};
    virtual_clock_init(&f.clock, 0);
    f.queue = workqueue_new(
        &(struct workqueue_options){.clock = &f.clock.clock, .step = sorted_step, .ctx = &f});
    assert_non_null(f.queue);
    workqueue_look(f.queue, last, 0);
    workqueue_add(f.queue, STR("a"), STR("x"));
    workqueue_look(f.queue, last, 0);
    virtual_clock_run(&f.clock, 0);
    assert_string_equal(f.log, "255:a/x 0:a/x ");
    assert_int_equal(workqueue_tried(f.queue, last), 1);
    assert_int_equal(workqueue_tried(f.queue, none), 0);
    f.answer = WORK_OK;
    f.log[0] = 0;
    workqueue_look(f.queue, none, 0);
    virtual_clock_run(&f.clock, 0);
    assert_string_equal(f.log, "1:/ ");
    teardown(&f);
}

static void added_while_working_comes_back(void **state) {
    struct fixture f;
    setup(&f, 0);
    f.add_self = true;
    workqueue_add(f.queue, STR("a"), STR("x"));
    virtual_clock_run(&f.clock, 0);
    assert_string_equal(f.log, "a/x a/x ");
    teardown(&f);
}

static void busy_keys_are_exclusive(void **state) {
    struct fixture f;
    setup(&f, 0);
    f.answer = WORK_BUSY;
    workqueue_add(f.queue, STR("a"), STR("x"));
    virtual_clock_run(&f.clock, NS_PER_SEC);
    workqueue_add(f.queue, STR("a"), STR("x"));
    virtual_clock_run(&f.clock, NS_PER_SEC);
    assert_string_equal(f.log, "a/x ");
    f.answer = WORK_OK;
    workqueue_done(f.queue, (struct work_key){0, STR("a"), STR("x")}, WORK_OK);
    virtual_clock_run(&f.clock, 0);
    assert_string_equal(f.log, "a/x a/x ");
    teardown(&f);
}

static void failures_back_off(void **state) {
    struct fixture f;
    setup(&f, 0);
    f.answer = WORK_RETRY;
    workqueue_add(f.queue, STR("a"), STR("x"));
    virtual_clock_run(&f.clock, 0);
    int64_t delay = 5 * NS_PER_MS;
    for (int i = 1; i < 30; i++) {
        assert_int_equal(workqueue_tried(f.queue, (struct work_key){0, STR("a"), STR("x")}), i);
        f.log[0] = 0;
        virtual_clock_run(&f.clock, delay - 1);
        assert_string_equal(f.log, "");
        virtual_clock_run(&f.clock, 1);
        assert_string_equal(f.log, "a/x ");
        delay = delay * 2 > 1000 * NS_PER_SEC ? 1000 * NS_PER_SEC : delay * 2;
    }
    f.answer = WORK_OK;
    virtual_clock_run(&f.clock, delay);
    assert_int_equal(workqueue_tried(f.queue, (struct work_key){0, STR("a"), STR("x")}), 0);
    teardown(&f);
}

static void later_and_sooner(void **state) {
    struct fixture f;
    setup(&f, 0);
    workqueue_add_after(f.queue, STR("a"), STR("x"), 10 * NS_PER_SEC);
    workqueue_add_after(f.queue, STR("a"), STR("y"), 5 * NS_PER_SEC);
    workqueue_add_after(f.queue, STR("a"), STR("x"), 20 * NS_PER_SEC); /* no later than before */
    virtual_clock_run(&f.clock, 9 * NS_PER_SEC);
    assert_string_equal(f.log, "a/y ");
    workqueue_add(f.queue, STR("a"), STR("x"));
    virtual_clock_run(&f.clock, 0);
    assert_string_equal(f.log, "a/y a/x ");
    virtual_clock_run(&f.clock, 100 * NS_PER_SEC);
    assert_string_equal(f.log, "a/y a/x ");
    teardown(&f);
}

static void a_turn_has_a_budget(void **state) {
    struct fixture f;
    setup(&f, 2);
    workqueue_add(f.queue, STR("a"), STR("1"));
    workqueue_add(f.queue, STR("a"), STR("2"));
    workqueue_add(f.queue, STR("a"), STR("3"));
    assert_true(virtual_clock_step(&f.clock));
    assert_string_equal(f.log, "a/1 a/2 ");
    assert_true(virtual_clock_step(&f.clock));
    assert_string_equal(f.log, "a/1 a/2 a/3 ");
    assert_false(virtual_clock_step(&f.clock));
    teardown(&f);
}

static void a_lost_key_causes_a_resync(void **state) {
    struct fixture f;
    setup(&f, 0);
    mem_fault(1, 0);
    workqueue_add(f.queue, STR("a"), STR("x"));
    mem_fault(0, 0);
    virtual_clock_run(&f.clock, 0);
    assert_string_equal(f.log, "");
    virtual_clock_run(&f.clock, NS_PER_SEC);
    assert_string_equal(f.log, "a/resynced ");
    assert_int_equal(f.resyncs, 1);
    teardown(&f);
}

/* Whatever waits for a wall time looks again when the wall clock was set, ahead or back. */
static void a_set_clock_makes_all_due(void **state) {
    struct fixture f;
    setup(&f, 0);
    for (int i = 0; i < 6; i++) {
        char name[] = {(char)('a' + i), 0};
        workqueue_add_after(f.queue, STR("n"), str_of(name), (6 - i) * 3600 * NS_PER_SEC);
    }
    virtual_clock_run(&f.clock, NS_PER_SEC);
    assert_string_equal(f.log, "");
    virtual_clock_set_wall(&f.clock, f.clock.wall + 86400 * NS_PER_SEC);
    assert_string_equal(f.log, ""); /* never inside */
    virtual_clock_run(&f.clock, 0);
    assert_string_equal(f.log, "n/a n/b n/c n/d n/e n/f ");
    workqueue_add_after(f.queue, STR("n"), STR("z"), 3600 * NS_PER_SEC);
    virtual_clock_set_wall(&f.clock, f.clock.wall - 86400 * NS_PER_SEC);
    virtual_clock_run(&f.clock, 0);
    assert_string_equal(f.log, "n/a n/b n/c n/d n/e n/f n/z ");
    teardown(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_come_once_in_order),
        cmocka_unit_test(keys_have_sorts),
        cmocka_unit_test(busy_keys_are_exclusive),
        cmocka_unit_test(failures_back_off),
        cmocka_unit_test(later_and_sooner),
        cmocka_unit_test(a_set_clock_makes_all_due),
        cmocka_unit_test(a_turn_has_a_budget),
        cmocka_unit_test(a_lost_key_causes_a_resync),
        cmocka_unit_test(added_while_working_comes_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
