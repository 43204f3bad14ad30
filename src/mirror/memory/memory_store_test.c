/* Tests of memory_store and memory_writer: the rules that controllers depend on; writes come a moment later. */
#include "mirror/memory/memory_writer.h"

#include "base/test.h"
#include "base/virtual_clock.h"
#include "wire/json/json.h"

static struct virtual_clock clock_;
static struct memory_store store;
static struct memory_writer writer;
static int answers, last_code;

static const struct kind *kind(const char *group, const char *name) {
    return kind_by_name(str_of(group), str_of(name));
}

static int setup(void **state) {
    virtual_clock_init(&clock_, 0);
    store = (struct memory_store){.clock = &clock_.clock};
    store.mirror = mirror_new(&(struct mirror_options){.clock = &clock_.clock});
    assert_int_equal(memory_writer_init(&writer, &store), 0);
    writer.latency_ns = NS_PER_MS;
    answers = 0;
    last_code = 1;
    return 0;
}

static int teardown(void **state) {
    memory_writer_release(&writer);
    mirror_free(store.mirror);
    virtual_clock_release(&clock_);
    return 0;
}

static uint64_t put(const struct kind *k, const char *json) {
    const struct object *o;
    struct err err = {0};
    assert_ok(memory_store_create(&store, k, STR("ns"), str_of(json), &o, &err), &err);
    uint64_t rv = o->rv;
    object_unref(o);
    return rv;
}

static int patch(const struct kind *k, const char *name, const char *sub, const char *json) {
    const struct object *o = NULL;
    int r = memory_store_patch(&store, k, STR("ns"), str_of(name), sub, PATCH_MERGE, str_of(json),
                               &o, NULL);
    object_unref(o);
    return r;
}

static const struct object *get(const struct kind *k, const char *name) {
    return mirror_get(store.mirror, k, STR("ns"), str_of(name));
}

static void test_subresources(void **state) {
    const struct kind *k = kind("kueue.x-k8s.io", "LocalQueue");
    put(k, "{\"metadata\":{\"name\":\"q\"},\"spec\":{\"clusterQueue\":\"a\"}}");
    assert_int_equal(get(k, "q")->generation, 1);
    assert_int_equal(
        patch(k, "q", "status",
              "{\"spec\":{\"clusterQueue\":\"b\"},\"status\":{\"pendingWorkloads\":1}}"),
        0);
    assert_true(str_contains(get(k, "q")->json, STR("\"clusterQueue\":\"a\"")));
    assert_true(str_contains(get(k, "q")->json, STR("\"pendingWorkloads\":1")));
    assert_int_equal(get(k, "q")->generation, 1);
    assert_int_equal(patch(k, "q", "", "{\"spec\":{\"clusterQueue\":\"b\"},\"status\":null}"), 0);
    assert_true(str_contains(get(k, "q")->json, STR("\"clusterQueue\":\"b\"")));
    assert_true(str_contains(get(k, "q")->json, STR("\"pendingWorkloads\":1")));
    assert_int_equal(get(k, "q")->generation, 2);
}

/* A write that changes nothing is not seen, in whatever order its members stand. */
static void test_nothing_changed(void **state) {
    const struct kind *k = kind("", "ConfigMap"), *f = kind("kueue.x-k8s.io", "ResourceFlavor");
    uint64_t rv = put(k, "{\"metadata\":{\"name\":\"c\"},\"data\":{\"a\":\"1\",\"b\":\"2\"}}");
    assert_int_equal(patch(k, "c", "", "{\"data\":{\"b\":\"2\",\"a\":\"1\"}}"), 0);
    assert_int_equal(get(k, "c")->rv, rv);
    assert_int_equal(patch(k, "c", "", "{\"data\":{\"b\":\"1\",\"a\":\"2\"}}"), 0); /* as long */
    assert_int_not_equal(get(k, "c")->rv, rv);
    const struct object *o = NULL;
    assert_int_equal(
        memory_store_create(&store, f, STR(""), STR("{\"metadata\":{\"name\":\"f\"}}"), &o, NULL),
        0);
    rv = o->rv;
    object_unref(o);
    assert_int_equal(
        memory_store_patch(&store, f, STR(""), STR("f"), "", PATCH_MERGE, STR("{}"), &o, NULL), 0);
    assert_int_equal(o->rv, rv); /* nor where there is no spec */
    object_unref(o);
}

static void test_conditions_of_writes(void **state) {
    const struct kind *k = kind("", "ConfigMap");
    put(k, "{\"metadata\":{\"name\":\"c\"}}");
    assert_int_equal(patch(k, "c", "", "{\"metadata\":{\"resourceVersion\":\"99\"}}"),
                     ERR_CONFLICT);
    assert_int_equal(patch(k, "nope", "", "{}"), ERR_NOT_FOUND);
    const struct object *o = NULL;
    assert_int_equal(
        memory_store_create(&store, k, STR("ns"), STR("{\"metadata\":{\"name\":\"c\"}}"), &o, NULL),
        ERR_EXISTS);
    put(k, "{\"metadata\":{\"generateName\":\"g-\"}}");
    assert_int_equal(mirror_count(store.mirror, k), 2);
}

static void test_finalizers(void **state) {
    const struct kind *k = kind("", "ConfigMap");
    const struct object *o = NULL;
    struct delete_options now = {.grace_seconds = -1};
    put(k, "{\"metadata\":{\"name\":\"c\",\"finalizers\":[\"x/y\"]}}");
    assert_int_equal(memory_store_remove(&store, k, STR("ns"), STR("c"), &now, &o, NULL), 0);
    object_unref(o);
    assert_true(get(k, "c")->deleting_ns > 0);
    assert_int_equal(patch(k, "c", "", "{\"metadata\":{\"finalizers\":null}}"), 0);
    assert_null(get(k, "c"));
}

static void done(void *ctx, const struct write_result *r) {
    answers++;
    last_code = r->code;
}

static int refuse(void *ctx, const struct memory_write *w, struct err *err) {
    return str_is(w->name, "swallowed") ? 1 : str_is(w->name, "refused") ? ERR_FORBIDDEN : 0;
}

static void test_writer(void **state) {
    const struct kind *k = kind("", "ConfigMap");
    writer_create(&writer.writer, "test", k, STR("ns"), STR("{\"metadata\":{\"name\":\"c\"}}"),
                  done, NULL);
    virtual_clock_run(&clock_, NS_PER_MS - 1);
    assert_int_equal(answers, 0);
    virtual_clock_run(&clock_, 1);
    assert_int_equal(answers, 1);
    assert_int_equal(last_code, 0);
    assert_non_null(get(k, "c"));
    writer.before = refuse;
    writer_patch(&writer.writer, "test", k, STR("ns"), STR("swallowed"), "", PATCH_MERGE, STR("{}"),
                 done, NULL);
    virtual_clock_run(&clock_, NS_PER_MS);
    assert_int_equal(last_code, 0);
    writer_patch(&writer.writer, "test", k, STR("ns"), STR("refused"), "", PATCH_MERGE, STR("{}"),
                 done, NULL);
    writer_patch(&writer.writer, "test", k, STR("ns"), STR("c"), "", PATCH_MERGE,
                 STR("{\"data\":{\"a\":\"1\"}}"), NULL, NULL);
    virtual_clock_run(&clock_, NS_PER_MS);
    assert_int_equal(last_code, ERR_FORBIDDEN);
    assert_int_equal(writer.writes, 4);
    writer_create(&writer.writer, "test", k, STR("ns"), STR("{}"), done, NULL);
    memory_writer_release(&writer);
    assert_int_equal(last_code, ERR_GONE);
    assert_int_equal(answers, 4);
    assert_int_equal(memory_writer_init(&writer, &store), 0);
}

int main(void) {
#define TEST(t) cmocka_unit_test_setup_teardown(t, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_subresources), TEST(test_nothing_changed), TEST(test_conditions_of_writes),
        TEST(test_finalizers),   TEST(test_writer),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
