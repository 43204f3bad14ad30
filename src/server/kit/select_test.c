/* Tests of field selectors: what they see of objects whose fields are absent, or are called otherwise. */
#include "server/kit/select.h"

#include "server/auth/policy_fixture.h"

/* Whether the object, whose kind is served in `version` of `group`, is selected. */
static bool selected(const char *group, const char *version, const char *plural, const char *json,
                     const char *fields) {
    struct mirror *m = fixture_mirror();
    struct arena a, scratch;
    struct err err = {0};
    struct picker p;
    arena_init(&a, 1 << 20);
    arena_init(&scratch, 1 << 20);
    fixture_put(m, json);
    struct api_request q = {.kind =
                                kind_by_resource(str_of(group), str_of(version), str_of(plural))};
    assert_non_null(q.kind);
    q.kv = kind_version(q.kind, str_of(version));
    q.opt.field_selector = str_of(fields);
    assert_ok(pick_init(&p, &q, &a, &scratch, &err), &err);
    const struct object *o = mirror_get(m, kind_stored(q.kind), STR("ns"), STR("x"));
    o = o ? o : mirror_get(m, kind_stored(q.kind), STR(""), STR("x"));
    assert_non_null(o);
    bool yes = pick_matches(&p, o);
    mirror_free(m);
    arena_release(&a);
    arena_release(&scratch);
    return yes;
}

static void test_absent_fields_have_their_zero(void **state) {
    static const char node[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"x\"}"
        ",\"spec\":{}}";
    static const char pod[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"x\","
        "\"namespace\":\"ns\"},\"spec\":{}}";
    static const char job[] =
        "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":"
        "\"x\",\"namespace\":\"ns\"},\"status\":{%s}}";
    char text[256];
    assert_true(selected("", "v1", "nodes", node, "spec.unschedulable=false"));
    assert_true(selected("", "v1", "nodes", node, "spec.unschedulable!=true"));
    assert_false(selected("", "v1", "nodes", node, "spec.unschedulable=true"));
    assert_true(selected("", "v1", "pods", pod, "spec.hostNetwork=false,spec.nodeName="));
    assert_false(selected("", "v1", "pods", pod, "spec.nodeName=false"));
    assert_true(selected("", "v1", "pods", pod, "metadata.namespace=ns,metadata.name=x"));
    assert_false(selected("", "v1", "pods", pod, "metadata.namespace=other"));
    snprintf(text, sizeof(text), job, "");
    assert_true(selected("batch", "v1", "jobs", text, "status.successful=0"));
    snprintf(text, sizeof(text), job, "\"succeeded\":3");
    assert_true(selected("batch", "v1", "jobs", text, "status.successful=3"));
    assert_false(selected("batch", "v1", "jobs", text, "status.successful=0"));
}

static void test_events_by_both_names(void **state) {
    static const char event[] =
        "{\"apiVersion\":\"v1\",\"kind\":\"Event\",\"metadata\":{\"name\":\"x\",\"namespace\":"
        "\"ns\"},"
        "\"involvedObject\":{\"kind\":\"Pod\",\"name\":\"p\"},\"reason\":\"R\",\"type\":\"Normal\","
        "\"reportingComponent\":\"me\"%s}";
    char text[512];
    snprintf(text, sizeof(text), event, "");
    assert_true(selected("", "v1", "events", text, "involvedObject.kind=Pod,source=me"));
    assert_true(selected("events.k8s.io", "v1", "events", text,
                         "regarding.name=p,reportingController=me,reason=R"));
    snprintf(text, sizeof(text), event, ",\"source\":{\"component\":\"kubelet\"}");
    assert_true(selected("", "v1", "events", text, "source=kubelet"));
    assert_false(selected("", "v1", "events", text, "source=me"));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_absent_fields_have_their_zero),
        cmocka_unit_test(test_events_by_both_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
