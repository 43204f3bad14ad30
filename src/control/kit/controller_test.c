/* Tests of declared controllers: what comes from a row. */
#include "control/kit/controller.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/test.h"
#include "control/test/fake_world.h"

enum { TIDY = 1 }; /* a sort of keys */
enum { STEP_BYTES = 40 << 10, ARENA = 64 << 10 };

struct tried {
    struct controller base;
    char log[1024]; /* keys looked at, "sort:ns/name" each */
    void *own;
    bool write_more;
};

static struct fake_world w;
static int released;

static int setup(void **state) {
    fake_world_init(&w);
    released = 0;
    return 0;
}

static int teardown(void **state) {
    fake_world_release(&w);
    return 0;
}

static void put_map(const char *name) {
    char json[256];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"default\"}}",
             name);
    fake_world_put(&w, json);
}

static void put_bare(const char *version, const char *kind, const char *more) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\"}%s}", version,
             kind, "n", more);
    fake_world_put(&w, json);
}

static enum work log_step(void *self, struct work_key key) {
    struct tried *t = self;
    size_t n = strlen(t->log);
    snprintf(t->log + n, sizeof t->log - n, "%u:%.*s/%.*s ", key.what, STR_ARG(key.ns),
             STR_ARG(key.name));
    /* Two of these would not fit: nothing is left of the step before. */
    assert_non_null(ARENA_ARRAY(&t->base.arena, char, STEP_BYTES));
    return WORK_OK;
}

static enum work write_step(void *self, struct work_key key) {
    struct tried *t = self;
    struct round *r = controller_begin(&t->base);
    assert_non_null(r);
    round_patch(r, t->base.kinds[0], key.ns, key.name, "", PATCH_MERGE,
                STR("{\"metadata\":{\"labels\":{\"seen\":\"yes\"}}}"));
    if (t->write_more) {
        round_remove(r, t->base.kinds[0], key.ns, key.name,
                     &(struct delete_options){.grace_seconds = -1});
    }
    return round_end(r);
}

static void tidy(void *self, const struct change *ch) {
    struct tried *t = self;
    workqueue_look(t->base.queue, (struct work_key){TIDY, ch->obj->ns, ch->obj->name}, 0);
}

static void start(void *self) {
    struct tried *t = self;
    workqueue_look(t->base.queue, (struct work_key){TIDY, .name = STR("start")}, 0);
}

static int init(void *self, struct err *err) {
    struct tried *t = self;
    t->own = mem_alloc(16);
    return t->own ? 0 : ERR_NOMEM;
}

static int init_that_fails(void *self, struct err *err) {
    init(self, err);
    return err_set(err, ERR_BAD_REQUEST, "no such zone");
}

static void release(void *self) {
    struct tried *t = self;
    released++;
    mem_free(t->own);
}

static const struct controller_row watching = {
    .who = "test",
    .arena = ARENA,
    CONTROLLER_KINDS({"", "ConfigMap", controller_changed, .first = true},
                     {"", "Namespace", controller_changed}, {"", "Node", controller_changed},
                     {"scheduling.k8s.io", "PriorityClass", controller_changed},
                     {"rbac.authorization.k8s.io", "ClusterRole", controller_changed},
                     {"kueue.x-k8s.io", "ResourceFlavor", tidy}, {"", "Pod"}),
    .start = start,
    .step = log_step,
    .size = sizeof(struct tried),
    .init = init,
    .release = release,
};

/* Six kinds are watched; those that are `first` are looked at from the start, the others when they change. */
static void test_feeds_and_first_look(void **state) {
    put_map("a");
    put_bare("v1", "Namespace", "");
    struct tried *t = controller_new(&watching, &w.env, NULL);
    assert_non_null(t);
    fake_world_run(&w, 0);
    assert_string_equal(t->log, "0:default/a 1:/start ");
    t->log[0] = 0;
    put_map("b");
    put_bare("v1", "Node", "");
    put_bare("scheduling.k8s.io/v1", "PriorityClass", ",\"value\":1");
    put_bare("rbac.authorization.k8s.io/v1", "ClusterRole", "");
    put_bare("kueue.x-k8s.io/v1beta1", "ResourceFlavor", "");
    fake_world_run(&w, 0);
    /* A key has a sort: the flavor `n` is another key than the node, the class and the role `n`, which are one. */
    assert_string_equal(t->log, "0:default/b 0:/n 1:/n ");
    fake_world_delete(&w, "ConfigMap", "default", "b", "Background");
    t->log[0] = 0;
    fake_world_run(&w, 0);
    assert_string_equal(t->log, ""); /* controller_changed looks at what is there */
    controller_free(t);
    assert_int_equal(released, 1);
}

static void test_time_alone(void **state) {
    static const struct controller_row row = {.who = "test",
                                              .arena = ARENA,
                                              .every_ns = 60 * NS_PER_SEC,
                                              .step = log_step,
                                              .size = sizeof(struct tried)};
    struct tried *t = controller_new(&row, &w.env, NULL);
    fake_world_run(&w, 59 * NS_PER_SEC);
    assert_string_equal(t->log, "");
    fake_world_run(&w, 2 * NS_PER_SEC);
    assert_string_equal(t->log, "0:/ ");
    fake_world_run(&w, 60 * NS_PER_SEC);
    assert_string_equal(t->log, "0:/ 0:/ ");
    controller_free(t);
}

/* What init got is given back when it fails half way, and its own words are what is told. */
static void test_init_fails(void **state) {
    static const struct controller_row row = {.who = "test",
                                              .step = log_step,
                                              .size = sizeof(struct tried),
                                              .init = init_that_fails,
                                              .release = release};
    struct err err = {0};
    assert_null(controller_new(&row, &w.env, &err));
    assert_int_equal(err.code, ERR_BAD_REQUEST);
    assert_string_equal(err.text, "no such zone");
    assert_int_equal(released, 1);
    controller_free(NULL);
}

static const struct controller_row writing = {
    .who = "test",
    CONTROLLER_KINDS({"", "ConfigMap", controller_changed, .may = MAY_PATCH}),
    .step = write_step,
    .size = sizeof(struct tried),
};

static void test_declared_write(void **state) {
    struct tried *t = controller_new(&writing, &w.env, NULL);
    put_map("a");
    fake_world_run(&w, NS_PER_SEC);
    assert_string_equal(
        fake_world_text(fake_world_get(&w, "ConfigMap", "default", "a"), "metadata.labels.seen"),
        "yes");
    controller_free(t);
}

/* Without memory for a round nothing is written, and the key comes again. */
static void test_no_round(void **state) {
    const struct kind *maps = fake_world_kind("ConfigMap");
    round_fail(NULL, ERR_NOMEM);
    round_create(NULL, maps, STR("default"), STR("{}"));
    round_remove(NULL, maps, STR("default"), STR("a"), &(struct delete_options){0});
    round_patch(NULL, maps, STR("default"), STR("a"), "", PATCH_MERGE, STR("{}"));
    assert_int_equal(round_end(NULL), WORK_RETRY);
    fake_world_run(&w, NS_PER_SEC);
    assert_int_equal(w.writes, 0);
}

/* A write that the row does not declare ends the program. */
static void test_undeclared_write(void **state) {
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
        signal(SIGABRT, SIG_DFL);
        fclose(stderr);
        struct tried *t = controller_new(&writing, &w.env, NULL);
        t->write_more = true;
        put_map("a");
        fake_world_run(&w, NS_PER_SEC);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status));
    assert_int_equal(WTERMSIG(status), SIGABRT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_feeds_and_first_look, setup, teardown),
        cmocka_unit_test_setup_teardown(test_time_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(test_init_fails, setup, teardown),
        cmocka_unit_test_setup_teardown(test_declared_write, setup, teardown),
        cmocka_unit_test_setup_teardown(test_no_round, setup, teardown),
        cmocka_unit_test_setup_teardown(test_undeclared_write, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
