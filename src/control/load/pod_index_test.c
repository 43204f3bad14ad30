/* Tests of the index of pods: by group, moved, gone, and without memory; and of matching a group with its Workload. */
#include "control/load/pod_index.h"

#include "base/mem.h"
#include "base/test.h"
#include "control/hold/pod_group_match.h"

static struct arena arena;

static struct object *pod(const char *name, const char *group, const char *more) {
    struct object *o;
    struct err err = {0};
    char json[1024];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"uid\":\"u-%s\","
        "\"namespace\":\"n\",\"labels\":{\"" POD_MANAGED
        "\":\"true\"},\"annotations\":{\"" POD_GROUP_NAME "\":\"%s\",\"" POD_ROLE_HASH
        "\":\"r\"}%s",
        name, name, group, more);
    assert_ok(object_new(kind_by_name(STR(""), STR("Pod")), str_of(json), &o, &err), &err);
    return o;
}

static size_t members(const struct pod_index *x, const char *group) {
    const struct gated_pod **v;
    size_t n;
    assert_int_equal(pod_index_group(x, STR("n"), str_of(group), &arena, &v, &n), 0);
    return n;
}

static void put(struct pod_index *x, const char *name, const char *group, const char *left) {
    struct str was;
    struct object *o = pod(name, group, ",\"finalizers\":[]},\"spec\":{}}");
    assert_int_equal(pod_index_put(x, o, &arena, &was), 0);
    assert_true(str_is(was, left));
    object_unref(o);
}

static void pods_come_move_and_go(void **state) {
    struct pod_index x;
    arena_init(&arena, 1 << 20);
    pod_index_init(&x);
    put(&x, "a", "g", "");
    put(&x, "b", "g", "");
    put(&x, "c", "h", "");
    put(&x, "a", "g", ""); /* a new version */
    assert_int_equal(members(&x, "g"), 2);
    assert_int_equal(pod_index_groups(&x), 2);
    put(&x, "b", "h", "g");
    assert_int_equal(members(&x, "g"), 1);
    assert_int_equal(members(&x, "h"), 2);
    struct object *o = pod("a", "g", ",\"finalizers\":[]},\"spec\":{}}");
    pod_index_drop(&x, o);
    pod_index_drop(&x, o);
    object_unref(o);
    assert_int_equal(members(&x, "g"), 0);
    assert_int_equal(pod_index_groups(&x), 1);
    assert_null(pod_index_get(&x, STR("u-a")));
    assert_non_null(pod_index_get(&x, STR("u-b")));
    pod_index_release(&x);
    arena_release(&arena);
}

/* Whichever allocation fails, the index is as it was. */
static void memory_may_fail(void **state) {
    struct str left;
    for (uint64_t n = 1;; n++) {
        struct pod_index x;
        arena_init(&arena, 1 << 20);
        pod_index_init(&x);
        put(&x, "a", "g", "");
        struct object *fresh = pod("b", "new", ",\"finalizers\":[]},\"spec\":{}}");
        struct object *moved = pod("a", "other", ",\"finalizers\":[]},\"spec\":{}}");
        mem_fault(n, 0);
        int r = pod_index_put(&x, fresh, &arena, &left);
        int s = r == 0 ? pod_index_put(&x, moved, &arena, &left) : 0;
        int hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_int_equal(members(&x, "new"), r == 0);
        assert_int_equal(members(&x, "g"), r != 0 || s != 0);
        assert_int_equal(members(&x, "other"), r == 0 && s == 0);
        object_unref(fresh);
        object_unref(moved);
        pod_index_release(&x);
        arena_release(&arena);
        if (!hit) {
            assert_true(r == 0 && s == 0);
            break;
        }
    }
}

static const struct gated_pod *record(struct pod_index *x, const char *name, const char *rest) {
    struct str left;
    struct object *o = pod(name, "g", rest);
    char uid[32];
    assert_int_equal(pod_index_put(x, o, &arena, &left), 0);
    snprintf(uid, sizeof uid, "u-%s", name);
    object_unref(o);
    return pod_index_get(x, str_of(uid));
}

#define AT(when) ",\"creationTimestamp\":\"2026-01-01T00:00:0" when "Z\""
#define HELD ",\"finalizers\":[\"" POD_MANAGED "\"]"
#define OPEN "},\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Running\"}}"
#define SHUT "},\"spec\":{\"schedulingGates\":[{\"name\":\"" POD_GATE "\"}]}}"
#define BAD "},\"spec\":{\"nodeName\":\"n\"},\"status\":{\"phase\":\"Failed\"}}"

static void who_stays_and_who_goes(void **state) {
    struct pod_index x;
    struct group_match m;
    struct pod_set set = {.name = STR("r"), .count = 2};
    struct workload_spec spec = {.pod_sets = {&set, 1}};
    const struct workload wl = {.spec = &spec};
    arena_init(&arena, 1 << 20);
    pod_index_init(&x);
    const struct gated_pod *v[] = {
        record(&x, "young", AT("3") HELD SHUT),
        record(&x, "runs", AT("2") HELD OPEN),
        record(&x, "old", AT("1") HELD SHUT),
        record(&x, "loose", AT("0") OPEN),
        record(&x, "bad", AT("4") HELD BAD),
        record(&x, "never", AT("5") HELD ",\"deletionTimestamp\":\"2026-01-01T00:00:09Z\"" SHUT)};
    struct pod_list l = {v, 6};
    assert_int_equal(pod_group_match(&l, &wl, false, &arena, &m), 0);
    assert_int_equal(m.kept.n, 2);
    assert_true(m.kept.v[0] == v[1] && m.kept.v[1] == v[2]);
    assert_int_equal(m.excess.n, 2);
    assert_true(m.excess.v[0] == v[0] && m.excess.v[1] == v[3]);
    assert_int_equal(m.loose.n, 2);
    assert_true(m.loose.v[0] == v[5] && m.loose.v[1] == v[4]);
    assert_int_equal(m.absent, 0);
    l.n = 1;
    set.count = 3;
    assert_int_equal(pod_group_match(&l, &wl, false, &arena, &m), 0);
    assert_int_equal(m.absent, 2);
    assert_int_equal(pod_group_match(&l, &wl, true, &arena, &m), 0);
    assert_int_equal(m.absent, 0); /* one is enough where the others are promised */
    pod_index_release(&x);
    arena_release(&arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_come_move_and_go),
        cmocka_unit_test(memory_may_fail),
        cmocka_unit_test(who_stays_and_who_goes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
