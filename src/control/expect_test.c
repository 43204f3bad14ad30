/* Tests of expectations: a mirror that is behind what was written, as on a cluster. */
#include "control/expect.h"

#include "base/test.h"
#include "base/virtual_clock.h"

struct fixture {
    struct virtual_clock clock;
    struct mirror *mirror;
    struct expect *expect;
    struct feed *feed;
};

static void seen(void *ctx, const struct change *c) {
    expect_seen(((struct fixture *)ctx)->expect, c);
}

static void setup(struct fixture *f) {
    virtual_clock_init(&f->clock, 0);
    f->mirror = mirror_new(&(struct mirror_options){.clock = &f->clock.clock});
    f->expect = expect_new(f->mirror, &f->clock.clock);
    f->feed = mirror_feed(f->mirror, NULL, seen, f);
    assert_true(f->mirror && f->expect && f->feed);
}

static void teardown(struct fixture *f) {
    feed_free(f->feed);
    expect_free(f->expect);
    mirror_free(f->mirror);
    virtual_clock_release(&f->clock);
}

static struct object *version(const char *name, uint64_t rv) {
    char json[256];
    struct object *o;
    struct err err = {0};
    int n = snprintf(json, sizeof json,
                     "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"%s\","
                     "\"namespace\":\"d\",\"uid\":\"uid-%s\"}}",
                     name, name);
    assert_ok(object_new(kind_by_name(STR(""), STR("ConfigMap")), str_from(json, (size_t)n), &o,
                         &err),
              &err);
    o->rv = rv;
    return o;
}

static void arrive(struct fixture *f, enum change_type type, const char *name, uint64_t rv) {
    struct err err = {0};
    assert_ok(mirror_apply(f->mirror, type, version(name, rv), &err), &err);
}

static void written(struct fixture *f, const char *name, uint64_t rv) {
    struct object *o = version(name, rv);
    expect_written(f->expect, STR("ns"), STR("key"), o);
    object_unref(o);
}

static bool met(struct fixture *f) {
    int64_t wait = -1;
    bool yes = expect_met(f->expect, STR("ns"), STR("key"), &wait);
    assert_true(yes || wait > 0);
    return yes;
}

static void waits_for_every_version(void **state) {
    struct fixture f;
    setup(&f);
    assert_true(met(&f));
    arrive(&f, CHANGE_ADDED, "a", 5);
    written(&f, "a", 7);
    written(&f, "b", 8);
    assert_false(met(&f));
    assert_true(expect_met(f.expect, STR("ns"), STR("other"), NULL));
    arrive(&f, CHANGE_MODIFIED, "a", 6); /* still older than what was written */
    assert_false(met(&f));
    arrive(&f, CHANGE_MODIFIED, "a", 9);
    assert_false(met(&f));
    arrive(&f, CHANGE_ADDED, "b", 10);
    assert_true(met(&f));
    assert_int_equal(expect_count(f.expect), 0);
    teardown(&f);
}

static void what_is_there_is_not_waited_for(void **state) {
    struct fixture f;
    setup(&f);
    arrive(&f, CHANGE_ADDED, "a", 5);
    written(&f, "a", 5);
    assert_true(met(&f));
    teardown(&f);
}

static void removals_are_seen(void **state) {
    struct fixture f;
    setup(&f);
    arrive(&f, CHANGE_ADDED, "a", 5);
    struct object *o = version("a", 6);
    expect_removed(f.expect, STR("ns"), STR("key"), o);
    object_unref(o);
    assert_false(met(&f));
    arrive(&f, CHANGE_MODIFIED, "a", 6);
    assert_false(met(&f));
    arrive(&f, CHANGE_DELETED, "a", 7);
    assert_true(met(&f));
    teardown(&f);
}

/* The write that takes the last finalizer off removes the object; its name may be given again at once. */
static void what_went_with_its_write_is_not_waited_for(void **state) {
    struct fixture f;
    setup(&f);
    arrive(&f, CHANGE_ADDED, "a", 5);
    arrive(&f, CHANGE_DELETED, "a", 6);
    struct object *o = version("a", 6);
    o->deleting_ns = 1;
    o->n_finalizers = 1;
    expect_written(f.expect, STR("ns"), STR("key"), o);
    assert_false(met(&f));
    arrive(&f, CHANGE_ADDED, "a", 7);
    arrive(&f, CHANGE_DELETED, "a", 8);
    assert_true(met(&f));
    o->n_finalizers = 0;
    expect_written(f.expect, STR("ns"), STR("key"), o);
    assert_true(met(&f));
    object_unref(o);
    teardown(&f);
}

static void what_never_comes_is_given_up(void **state) {
    struct fixture f;
    setup(&f);
    written(&f, "a", 5);
    virtual_clock_run(&f.clock, 299 * NS_PER_SEC);
    assert_false(met(&f));
    virtual_clock_run(&f.clock, 2 * NS_PER_SEC);
    assert_true(met(&f));
    teardown(&f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(waits_for_every_version),
        cmocka_unit_test(what_is_there_is_not_waited_for),
        cmocka_unit_test(removals_are_seen),
        cmocka_unit_test(what_went_with_its_write_is_not_waited_for),
        cmocka_unit_test(what_never_comes_is_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
