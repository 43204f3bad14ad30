/* Tests of bootstrap: default roles follow the program over the data folder of an earlier version. */
#include "base/mem.h"
#include "base/test.h"
#include "server/auth/policy.h"
#include "server/server.h"

#define ROLE(name, more, rules)                                                                    \
    "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"ClusterRole\",\"metadata\":{"     \
    "\"name\":\"" name "\"" more "},\"rules\":[" rules "]}"
#define EVERYTHING                                                                                 \
    "{\"apiGroups\":[\"berth.dev\"],\"resources\":[\"*\"],\"verbs\":[\"create\",\"get\"]}"
#define AUTOUPDATE(v)                                                                              \
    ",\"labels\":{\"team\":\"a\"},\"annotations\":{\"rbac.authorization.kubernetes.io/autoupdate"  \
    "\":\"" v "\"}"

struct world {
    struct loop *loop;
    struct mirror *mirror;
    struct server *server;
};

static int setup(void **state) {
    static struct world w;
    struct err err = {0};
    w = (struct world){.loop = loop_new(&err)};
    struct mirror_options mo = {.clock = loop_clock(w.loop)};
    w.mirror = mirror_new(&mo);
    struct server_options so = {.loop = w.loop, .mirror = w.mirror, .host = STR("127.0.0.1")};
    w.server = server_new(&so, &err);
    assert_non_null(w.server);
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    struct world *w = *state;
    server_free(w->server);
    mirror_free(w->mirror);
    loop_free(w->loop);
    return 0;
}

static void stored(struct world *w, const char *json) {
    struct err err = {0};
    assert_ok(server_bootstrap(w->server, str_of(json), &err), &err);
    mirror_flush(w->mirror);
}

static int make(void *ctx, struct str json, struct err *err) {
    return server_bootstrap(ctx, json, err);
}

static void start(struct world *w) {
    struct err err = {0};
    assert_ok(policy_bootstrap(make, w->server, &err), &err);
    mirror_flush(w->mirror);
}

static const struct object *role(struct world *w, const char *name) {
    const struct kind *k = kind_by_name(STR("rbac.authorization.k8s.io"), STR("ClusterRole"));
    const struct object *o = mirror_get(w->mirror, k, STR(""), str_of(name));
    assert_non_null(o);
    return o;
}

static bool has(struct world *w, const char *name, const char *text) {
    return str_contains(role(w, name)->json, str_of(text));
}

/* Of the version that stored it, berth:booking-admin made tokens: this one's does not. */
static void an_old_role_is_brought_up_to_date(void **state) {
    struct world *w = *state;
    stored(w, ROLE("berth:booking-admin", AUTOUPDATE("true"), EVERYTHING));
    stored(w, ROLE("berth:queue-admin", "", EVERYTHING)); /* without a word about it */
    char before[64];
    assert_true(str_copy(role(w, "berth:booking-admin")->uid, before, sizeof(before)));
    start(w);
    assert_false(has(w, "berth:booking-admin", EVERYTHING));
    assert_false(has(w, "berth:booking-admin", "\"*\""));
    assert_true(has(w, "berth:booking-admin", "reservations/approve"));
    assert_true(has(w, "berth:booking-admin", "\"team\":\"a\"")); /* the rest is as it was */
    assert_str_eq(role(w, "berth:booking-admin")->uid, str_of(before));
    assert_false(has(w, "berth:queue-admin", EVERYTHING));
    assert_true(has(w, "berth:queue-admin", "clusterqueues/pendingworkloads"));
}

static void a_role_of_the_administrators_stays(void **state) {
    struct world *w = *state;
    stored(w, ROLE("berth:booking-admin", AUTOUPDATE("false"), EVERYTHING));
    stored(w, ROLE("mine", AUTOUPDATE("true"), EVERYTHING));
    /* It is aggregated: a controller writes its rules. */
    stored(w, ROLE("view", AUTOUPDATE("true"), EVERYTHING));
    uint64_t rv = role(w, "berth:booking-admin")->rv, mine = role(w, "mine")->rv;
    start(w);
    assert_true(has(w, "view", EVERYTHING));
    assert_true(has(w, "berth:booking-admin", EVERYTHING));
    assert_int_equal(role(w, "berth:booking-admin")->rv, rv);
    assert_int_equal(role(w, "mine")->rv, mine);
}

/* A start that has nothing to say writes nothing. */
static void what_is_up_to_date_is_not_written(void **state) {
    struct world *w = *state;
    start(w);
    stored(w, ROLE("mine", "", EVERYTHING));
    uint64_t rv = role(w, "mine")->rv;
    start(w);
    stored(w, ROLE("other", "", EVERYTHING));
    assert_int_equal(role(w, "other")->rv, rv + 1);
}

static void patched(void *ctx, const struct write_result *r) {
    assert_int_equal(r->code, 0);
}

/* Each allocation of a start fails once: it says so, or does without, and never leaves half a role. */
static void a_start_short_of_memory(void **state) {
    struct world *w = *state;
    const struct kind *k = kind_by_name(STR("rbac.authorization.k8s.io"), STR("ClusterRole"));
    bool hit = true;
    start(w);
    for (uint64_t nth = 1; hit; nth++) {
        struct err err = {0};
        char old[32], body[256];
        snprintf(old, sizeof(old), "old%llu.dev", (unsigned long long)nth);
        snprintf(body, sizeof(body),
                 "{\"rules\":[{\"apiGroups\":[\"%s\"],\"resources\":[\"*\"],\"verbs\":[\"get\"]}]}",
                 old);
        writer_patch(server_writer(w->server), "t", k, STR(""), STR("berth:booking-admin"), "",
                     PATCH_MERGE, str_of(body), patched, NULL);
        mirror_flush(w->mirror);
        assert_true(has(w, "berth:booking-admin", old));
        mem_fault(nth, 0);
        int r = policy_bootstrap(make, w->server, &err);
        hit = mem_fault_hit();
        mem_fault(0, 0);
        mirror_flush(w->mirror);
        assert_true(r == 0 || (hit && r == ERR_NOMEM));
        assert_true(r != 0 || !has(w, "berth:booking-admin", old));
        assert_true(has(w, "berth:booking-admin", old) !=
                    has(w, "berth:booking-admin", "reservations/approve"));
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(an_old_role_is_brought_up_to_date, setup, teardown),
        cmocka_unit_test_setup_teardown(a_role_of_the_administrators_stays, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_up_to_date_is_not_written, setup, teardown),
        cmocka_unit_test_setup_teardown(a_start_short_of_memory, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
