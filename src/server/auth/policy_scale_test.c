/* Tests of policy_scale: an autoscaler scales what its author may scale. */
#include "server/auth/policy_scale.h"

#include "server/auth/policy_fixture.h"

struct world {
    struct mirror *m;
    struct rbac *b;
    struct arena a;
};

/* ann may write autoscalers alone; bob scale Deployments, by either right; eve Deployment "web" alone. */
static int setup(void **state) {
    static struct world w;
    static const char *const rules[][2] = {
        {"ann", "{\"apiGroups\":[\"autoscaling\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}"},
        {"bob", "{\"apiGroups\":[\"apps\"],\"resources\":[\"deployments/scale\"],\"verbs\":"
                "[\"patch\"]}"},
        {"ben", "{\"apiGroups\":[\"apps\"],\"resources\":[\"deployments\"],\"verbs\":["
                "\"update\"]}"},
        {"eve", "{\"apiGroups\":[\"apps\"],\"resources\":[\"deployments/scale\"],"
                "\"resourceNames\":[\"web\"],\"verbs\":[\"update\"]}"},
        {"sue", "{\"apiGroups\":[\"apps\"],\"resources\":[\"deployments\"],\"verbs\":[\"get\","
                "\"create\",\"delete\"]}"},
        {"all", "{\"apiGroups\":[\"*\"],\"resources\":[\"*\"],\"verbs\":[\"*\"]}"}};
    struct err err = {0};
    w.m = fixture_mirror();
    assert_ok(rbac_new(w.m, &w.b, &err), &err);
    arena_init(&w.a, 16 << 20);
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        char json[1024];
        snprintf(json, sizeof(json),
                 "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"Role\",\"metadata\":{"
                 "\"name\":\"%s\",\"namespace\":\"team\"},\"rules\":[%s]}",
                 rules[i][0], rules[i][1]);
        fixture_put(w.m, json);
        snprintf(json, sizeof(json),
                 "{\"apiVersion\":\"rbac.authorization.k8s.io/v1\",\"kind\":\"RoleBinding\","
                 "\"metadata\":{\"name\":\"%s\",\"namespace\":\"team\"},\"roleRef\":{\"apiGroup\":"
                 "\"rbac.authorization.k8s.io\",\"kind\":\"Role\",\"name\":\"%s\"},\"subjects\":[{"
                 "\"kind\":\"User\",\"name\":\"%s\"}]}",
                 rules[i][0], rules[i][0], rules[i][0]);
        fixture_put(w.m, json);
    }
    *state = &w;
    return 0;
}

static int teardown(void **state) {
    struct world *w = *state;
    rbac_free(w->b);
    mirror_free(w->m);
    arena_release(&w->a);
    return 0;
}

static yyjson_mut_val *autoscaler(struct world *w, const char *version, const char *kind,
                                  const char *name, int most) {
    yyjson_mut_doc *d;
    struct err err = {0};
    struct str json =
        arena_f(&w->a,
                "{\"apiVersion\":\"autoscaling/v2\",\"kind\":\"HorizontalPodAutoscaler\","
                "\"metadata\":{\"name\":\"h\",\"namespace\":\"team\",\"uid\":\"u\"},\"spec\":{"
                "\"maxReplicas\":%d,\"scaleTargetRef\":{\"apiVersion\":\"%s\",\"kind\":\"%s\","
                "\"name\":\"%s\"}}}",
                most, version, kind, name);
    assert_ok(json_parse_mut(&w->a, json, &d, &err), &err);
    return yyjson_mut_doc_get_root(d);
}

static int write_in(struct world *w, const char *ns, const char *who, const char *subresource,
                    yyjson_mut_val *obj, yyjson_mut_val *old) {
    const struct kind *k = kind_by_name(STR("autoscaling"), STR("HorizontalPodAutoscaler"));
    struct api_request q = {.resource = true,
                            .group = STR("autoscaling"),
                            .plural = str_of(k->plural),
                            .subresource = str_of(subresource),
                            .user = fixture_user(who, NULL, NULL),
                            .ns = str_of(ns),
                            .kind = k};
    struct object *stored = NULL;
    struct err err = {0};
    if (old != NULL) {
        assert_ok(object_new_mut(k, old, &stored, &err), &err);
    }
    int r = policy_scale(w->b, &q, obj, stored, &w->a, &err);
    assert_true(r == 0 || (r == ERR_FORBIDDEN && strstr(err.text, "spec.scaleTargetRef")));
    object_unref(stored);
    return r;
}

static int make(struct world *w, const char *who, const char *version, const char *kind,
                const char *name) {
    return write_in(w, "team", who, "", autoscaler(w, version, kind, name, 3), NULL);
}

static void test_a_target_takes_the_right_to_scale_it(void **state) {
    struct world *w = *state;
    assert_int_equal(make(w, "ann", "apps/v1", "Deployment", "web"), ERR_FORBIDDEN);
    assert_int_equal(make(w, "sue", "apps/v1", "Deployment", "web"), ERR_FORBIDDEN);
    assert_int_equal(make(w, "bob", "apps/v1", "Deployment", "web"), 0);
    assert_int_equal(make(w, "ben", "apps/v1", "Deployment", "web"), 0);
    assert_int_equal(make(w, "eve", "apps/v1", "Deployment", "web"), 0);
    assert_int_equal(make(w, "eve", "apps/v1", "Deployment", "other"), ERR_FORBIDDEN);
    assert_int_equal(make(w, "bob", "apps/v1", "StatefulSet", "web"), ERR_FORBIDDEN);
    assert_int_equal(make(w, "bob", "apps/v9", "Deployment", "web"), 0); /* it scales v1 */
    assert_int_equal(make(w, "bob", "v1", "ReplicationController", "web"), ERR_FORBIDDEN);
    assert_int_equal(
        write_in(w, "others", "bob", "", autoscaler(w, "apps/v1", "Deployment", "web", 3), NULL),
        ERR_FORBIDDEN);
}

/* It may be served later, and is scaled then. */
static void test_a_kind_that_is_not_served(void **state) {
    struct world *w = *state;
    assert_int_equal(make(w, "bob", "example.com/v1", "Thing", "web"), ERR_FORBIDDEN);
    assert_int_equal(make(w, "bob", "apps/v1", "Thing", "web"), ERR_FORBIDDEN);
    assert_int_equal(make(w, "all", "example.com/v1", "Thing", "web"), 0);
}

static void test_what_stays_needs_no_right(void **state) {
    struct world *w = *state;
    yyjson_mut_val *had = autoscaler(w, "apps/v1", "Deployment", "web", 3);
    yyjson_mut_val *more = autoscaler(w, "apps/v1", "Deployment", "web", 4);
    assert_int_equal(write_in(w, "team", "ann", "", had, had), 0);
    assert_int_equal(write_in(w, "team", "ann", "", more, had), ERR_FORBIDDEN);
    assert_int_equal(write_in(w, "team", "bob", "", more, had), 0);
    assert_int_equal(write_in(w, "team", "ann", "status", more, had), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_target_takes_the_right_to_scale_it, setup, teardown),
        cmocka_unit_test_setup_teardown(test_a_kind_that_is_not_served, setup, teardown),
        cmocka_unit_test_setup_teardown(test_what_stays_needs_no_right, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
