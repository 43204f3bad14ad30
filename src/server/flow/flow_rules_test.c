/* Tests of flow_rules: the objects that are there from the start, and which of them a request meets. */
#include "server/flow/flow_rules.h"

#include "server/auth/policy_fixture.h"

static int put(void *ctx, struct str json, struct err *err) {
    char *text = mem_cstr(json);
    fixture_put(ctx, text);
    mem_free(text);
    return 0;
}

static const struct flow_schema_rule *match(const struct flow_rules *r, struct user u,
                                            const char *verb, const char *group,
                                            const char *resource, const char *ns) {
    struct api_request q = {.user = u,
                            .resource = resource[0] != '/',
                            .verb_name = str_of(verb),
                            .group = str_of(group),
                            .plural = str_of(resource),
                            .path = str_of(resource),
                            .ns = str_of(ns)};
    return flow_rules_match(r, &q);
}

static void test_defaults(void **state) {
    struct mirror *m = fixture_mirror();
    struct flow_rules r;
    struct err err = {0};
    assert_ok(flow_rules_defaults(put, m, &err), &err);
    assert_int_equal(flow_rules_make(m, &r), 0);
    assert_int_equal(r.n_levels, 8);
    assert_int_equal(r.n_schemas, 13);
    struct user ann = fixture_user("ann", "devs", NULL);
    const struct {
        struct user u;
        const char *verb, *group, *resource, *ns, *schema, *level;
    } rows[] = {
        {fixture_user("root", "system:masters", NULL), "list", "", "pods", "", "exempt", "exempt"},
        {ann, "list", "", "pods", "team", "global-default", "global-default"},
        {ann, "list", "", "nodes", "", "global-default", "global-default"},
        {ann, "get", "", "/healthz", "", "probes", "exempt"},
        {ann, "get", "", "/version", "", "global-default", "global-default"},
        {fixture_user("system:node:a", "system:nodes", NULL), "get", "", "nodes", "",
         "system-node-high", "node-high"},
        {fixture_user("system:node:a", "system:nodes", NULL), "get", "", "pods", "x",
         "system-nodes", "system"},
        {fixture_user("system:serviceaccount:kube-system:gc", "system:serviceaccounts", NULL),
         "update", "coordination.k8s.io", "leases", "kube-system", "system-leader-election",
         "leader-election"},
        {fixture_user("system:serviceaccount:kube-system:gc", "system:serviceaccounts", NULL),
         "list", "", "pods", "", "kube-system-service-accounts", "workload-high"},
        {fixture_user("system:serviceaccount:team:ci", "system:serviceaccounts", NULL), "list", "",
         "pods", "team", "service-accounts", "workload-low"},
    };
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const struct flow_schema_rule *s =
            match(&r, rows[i].u, rows[i].verb, rows[i].group, rows[i].resource, rows[i].ns);
        assert_str_eq(s->name, str_of(rows[i].schema));
        assert_str_eq(r.levels[s->level].name, str_of(rows[i].level));
    }
    flow_rules_release(&r);
    mirror_free(m);
}

/* Nothing is stored, or what is names a level that is not there. */
static void test_catch_all(void **state) {
    struct mirror *m = fixture_mirror();
    struct flow_rules r;
    struct arena a;
    arena_init(&a, 1 << 16);
    fixture_put(m, "{\"apiVersion\":\"flowcontrol.apiserver.k8s.io/v1\",\"kind\":\"FlowSchema\","
                   "\"metadata\":{\"name\":\"x\"},\"spec\":{\"priorityLevelConfiguration\":{"
                   "\"name\":\"none\"},\"rules\":[]}}");
    assert_int_equal(flow_rules_make(m, &r), 0);
    const struct flow_schema_rule *s =
        match(&r, fixture_user("ann", NULL, NULL), "get", "", "pods", "a");
    assert_str_eq(s->name, STR("catch-all"));
    assert_false(r.levels[s->level].exempt);
    struct api_request q = {.user = fixture_user("system:serviceaccount:team:ci", NULL, NULL)};
    assert_str_eq(flow_rules_key(s, &q, &a), STR("catch-all/system:serviceaccount:team"));
    flow_rules_release(&r);
    arena_release(&a);
    mirror_free(m);
}

#define BY_ANN                                                                                     \
    "{\"apiVersion\":\"flowcontrol.apiserver.k8s.io/v1\",\"kind\":\"FlowSchema\",\"metadata\":{"   \
    "\"name\":\"%s\"},\"spec\":{\"priorityLevelConfiguration\":{\"name\":\"%s\"},"                 \
    "\"matchingPrecedence\":%d,\"distinguisherMethod\":{\"type\":\"ByNamespace\"},\"rules\":[{"    \
    "\"subjects\":[{\"kind\":\"User\",\"user\":{\"name\":\"ann\"}}],\"resourceRules\":[{"          \
    "\"verbs\":[\"list\"],\"apiGroups\":[\"\"],\"resources\":[\"pods/log\",\"pods\"],"             \
    "\"namespaces\":[\"a\"]}]}]}}"

static void test_precedence(void **state) {
    struct mirror *m = fixture_mirror();
    struct flow_rules r;
    struct err err = {0};
    struct user ann = fixture_user("ann", NULL, NULL);
    char json[2000];
    assert_ok(flow_rules_defaults(put, m, &err), &err);
    snprintf(json, sizeof(json), BY_ANN, "b", "workload-low", 700);
    fixture_put(m, json);
    snprintf(json, sizeof(json), BY_ANN, "a", "system", 700);
    fixture_put(m, json);
    snprintf(json, sizeof(json), BY_ANN, "first", "none", 3);
    fixture_put(m, json);
    assert_int_equal(flow_rules_make(m, &r), 0);
    const struct flow_schema_rule *s = match(&r, ann, "list", "", "pods", "a");
    assert_str_eq(s->name, STR("a"));
    assert_int_equal(s->distinguisher, FLOW_BY_NAMESPACE);
    assert_str_eq(match(&r, ann, "list", "", "pods", "b")->name, STR("global-default"));
    assert_str_eq(match(&r, ann, "list", "", "pods", "")->name, STR("global-default"));
    assert_str_eq(match(&r, ann, "get", "", "pods", "a")->name, STR("global-default"));
    assert_str_eq(match(&r, ann, "list", "x", "pods", "a")->name, STR("global-default"));
    flow_rules_release(&r);
    mirror_free(m);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_catch_all),
        cmocka_unit_test(test_precedence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
