/* Tests of the reflector against a scripted server: streams, the way back to lists, pages, expiry. */
#include "kube/reflector.h"

#include "kube/fake_server.h"
#include "mirror/fake_kind.h"

#define META(name, rv)                                                               \
    "\"metadata\":{\"name\":\"" name "\",\"namespace\":\"n\",\"uid\":\"u-" name      \
    "\",\"resourceVersion\":\"" rv "\"}"
#define EVENT(type, name, rv)                                                                      \
    "{\"type\":\"" type                                                                            \
    "\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\"," META(name, rv) "}}\n"
#define BOOKMARK(rv)                                                                               \
    "{\"type\":\"BOOKMARK\",\"object\":{\"kind\":\"ConfigMap\",\"apiVersion\":\"v1\","             \
    "\"metadata\":"                                                                                \
    "{\"resourceVersion\":\"" rv                                                                   \
    "\",\"annotations\":{\"k8s.io/initial-events-end\":\"true\"}}}}\n"
#define EXPIRED                                                                      \
    "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":\"Failure\",\"message\":\"too old\"," \
    "\"reason\":\"Expired\",\"code\":410}"

struct bed {
    struct fake_server f;
    struct mirror *m;
    struct reflector *r;
    int synced;
};
static struct bed b;

static void on_synced(void *ctx) {
    b.synced++;
}

static void start(const struct fake_answer *script, size_t n, size_t stop_at) {
    struct err err;
    b = (struct bed){0};
    fake_start(&b.f, script, n);
    b.f.stop_at = stop_at;
    struct mirror_options mo = {.clock = loop_clock(b.f.loop)};
    b.m = mirror_new(&mo);
    struct reflector_options o = {.kind = &fake_map, .label_selector = STR("a=b"),
                                  .synced = on_synced};
    b.r = reflector_start(b.f.client, b.m, &o, &err);
    assert_non_null(b.r);
}

static void stop(void) {
    reflector_free(b.r);
    fake_stop(&b.f);
    mirror_free(b.m);
}

static bool has(const char *name, uint64_t rv) {
    const struct object *o = mirror_get(b.m, &fake_map, STR("n"), str_of(name));
    return o && o->rv == rv;
}

/* The i-th request that was seen. */
static struct str request(size_t i) {
    struct str rest = buf_view(&b.f.seen), part = {0};
    for (size_t k = 0; k <= i; k++) {
        assert_true(str_next(&rest, '|', &part));
    }
    return part;
}

static void test_stream(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200, .stream = true,
         .body = EVENT("ADDED", "x", "3") EVENT("ADDED", "y", "4") BOOKMARK("5")
             EVENT("MODIFIED", "x", "6") EVENT("DELETED", "y", "7")},
    };
    start(script, 1, 2); /* the stream ended cleanly: the watch goes on from its last revision */
    loop_run(b.f.loop);
    assert_int_equal(b.synced, 1);
    assert_true(reflector_synced(b.r));
    assert_true(has("x", 6));
    assert_int_equal(mirror_count(b.m, &fake_map), 1);
    assert_true(
        str_starts(request(0), STR("GET /api/v1/configmaps?labelSelector=a%3Db&watch=true&")));
    assert_true(str_contains(request(0), STR("&sendInitialEvents=true&resourceVersionMatch="
                                             "NotOlderThan")));
    assert_true(str_contains(request(1), STR("&resourceVersion=7")));
    assert_false(str_contains(request(1), STR("sendInitialEvents")));
    stop();
}

static void test_list_in_pages(void **state) {
    static const struct fake_answer script[] = {
        {.status = 422, .body = "{\"kind\":\"Status\",\"code\":422,\"reason\":\"Invalid\"}"},
        {.status = 200,
         .body = "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"9\","
                 "\"continue\":\"p2\"},\"items\":[{" META("x", "3") "}]}"},
        {.status = 200,
         .body = "{\"kind\":\"ConfigMapList\",\"metadata\":{\"resourceVersion\":\"9\"},"
                 "\"items\":[{" META("y", "4") "}]}"},
    };
    start(script, 3, 4);
    loop_run(b.f.loop);
    assert_int_equal(b.synced, 1);
    assert_true(has("x", 3) && has("y", 4));
    assert_true(str_contains(request(1), STR("limit=500")));
    assert_true(str_contains(request(2), STR("continue=p2")));
    assert_true(str_contains(request(3), STR("watch=true")));
    assert_true(str_contains(request(3), STR("resourceVersion=9")));
    stop();
}

static void test_expired(void **state) {
    static const struct fake_answer script[] = {
        {.status = 200,
         .stream = true,
         .body = EVENT("ADDED", "x", "3") EVENT("ADDED", "y", "4") BOOKMARK("5")},
        {.status = 200, .stream = true, .body = "{\"type\":\"ERROR\",\"object\":" EXPIRED "}\n"},
        {.status = 200, .stream = true, .body = EVENT("ADDED", "y", "20") BOOKMARK("21")},
    };
    start(script, 3, 4);
    loop_run(b.f.loop);
    assert_int_equal(b.synced, 1);
    assert_true(str_contains(request(2), STR("sendInitialEvents=true")));
    assert_false(str_contains(request(2), STR("resourceVersion=5")));
    assert_true(has("y", 20));
    assert_false(has("x", 3)); /* vanished while we could not see */
    assert_int_equal(mirror_count(b.m, &fake_map), 1);
    stop();
}

static void test_trouble(void **state) {
    static const struct fake_answer script[] = {
        {.status = 500, .body = "oops"},
        {.status = 200, .stream = true, .body = EVENT("ADDED", "x", "3") "{\"type\":"}, /* cut */
        {.status = 200,
         .stream = true,
         .open = true,
         .body = EVENT("ADDED", "x", "3") BOOKMARK("3")},
    };
    start(script, 3, 3);
    loop_run(b.f.loop); /* two back-offs */
    assert_int_equal(b.synced, 0);
    assert_true(str_contains(request(2), STR("sendInitialEvents=true")));
    stop();
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stream),
        cmocka_unit_test(test_list_in_pages),
        cmocka_unit_test(test_expired),
        cmocka_unit_test(test_trouble),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
