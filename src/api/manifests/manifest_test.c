/* Tests of manifests: definitions say what the tables say, and are structural. */
#include "api/manifests/manifest.h"

#include "api/schema/kind.h"
#include "base/test.h"
#include "wire/yaml.h"

struct printed {
    struct arena a;
    struct buf text;
    struct yaml_docs docs;
};

static void print(struct printed *p, const struct manifest_options *o) {
    struct err err = {0};
    arena_init(&p->a, 256 << 20);
    buf_init(&p->text, 0);
    assert_ok(manifest_crds(o, &p->text, &err), &err);
    assert_ok(yaml_parse(&p->a, buf_view(&p->text), &p->docs, &err), &err);
}

static void drop(struct printed *p) {
    buf_release(&p->text);
    arena_release(&p->a);
}

static yyjson_mut_val *definition(const struct printed *p, const char *name) {
    for (size_t i = 0; i < p->docs.n; i++) {
        yyjson_mut_val *root = yyjson_mut_doc_get_root(p->docs.v[i]);
        if (str_is(json_mstr_at(root, "metadata.name"), name)) {
            return root;
        }
    }
    return NULL;
}

static yyjson_mut_val *schema_of(yyjson_mut_val *crd, size_t version) {
    return json_mpath(yyjson_mut_arr_get(json_mpath(crd, "spec.versions"), version),
                      "schema.openAPIV3Schema");
}

static bool names(yyjson_mut_val *list, struct str name) {
    size_t i, n;
    yyjson_mut_val *v;
    yyjson_mut_arr_foreach(list, i, n, v) {
        if (str_eq(json_mstr(v), name)) {
            return true;
        }
    }
    return false;
}

/* What an API server asks of every node: a type, and keys of lists that are always there. */
static void check_node(yyjson_mut_val *node) {
    size_t i, n;
    yyjson_mut_val *k, *v, *items = json_mget(node, STR("items"));
    assert_true(json_mstr_at(node, "type").n > 0 ||
                json_mget(node, STR("x-kubernetes-int-or-string")));
    yyjson_mut_val *keys = json_mget(node, STR("x-kubernetes-list-map-keys"));
    yyjson_mut_arr_foreach(keys, i, n, v) {
        assert_true(names(json_mget(items, STR("required")), json_mstr(v)));
    }
    yyjson_mut_val *properties = json_mget(node, STR("properties"));
    if (properties) {
        yyjson_mut_obj_foreach(properties, i, n, k, v) {
            check_node(v);
        }
    }
    if (items) {
        check_node(items);
    }
    if (json_mget(node, STR("additionalProperties"))) {
        check_node(json_mget(node, STR("additionalProperties")));
    }
}

static void test_structural(void **state) {
    struct manifest_options o;
    struct printed p;
    manifest_defaults(&o);
    print(&p, &o);
    assert_true(p.docs.n >= 8);
    for (size_t i = 0; i < p.docs.n; i++) {
        yyjson_mut_val *root = yyjson_mut_doc_get_root(p.docs.v[i]);
        size_t n = yyjson_mut_arr_size(json_mpath(root, "spec.versions"));
        assert_int_equal(n, str_is(json_mstr_at(root, "spec.group"), "berth.dev") ? 1 : 2);
        for (size_t v = 0; v < n; v++) {
            check_node(schema_of(root, v));
        }
    }
    drop(&p);
}

static void test_as_the_tables(void **state) {
    struct manifest_options o;
    struct printed p;
    manifest_defaults(&o);
    o.ns = STR("elsewhere");
    print(&p, &o);
    yyjson_mut_val *cq = definition(&p, "clusterqueues.kueue.x-k8s.io");
    yyjson_mut_val *spec = json_mpath(schema_of(cq, 0), "properties.spec.properties");
    yyjson_mut_val *strategy = json_mget(spec, STR("queueingStrategy"));
    assert_str_eq(json_mstr_at(strategy, "default"), STR("BestEffortFIFO"));
    assert_true(names(json_mget(strategy, STR("enum")), STR("StrictFIFO")));
    assert_str_eq(json_mstr_at(cq, "spec.scope"), STR("Cluster"));
    assert_str_eq(json_mstr_at(cq, "spec.conversion.webhook.clientConfig.service.namespace"),
                  STR("elsewhere"));
    yyjson_mut_val *wl = definition(&p, "workloads.kueue.x-k8s.io");
    yyjson_mut_val *set = json_mpath(schema_of(wl, 0), "properties.spec.properties.podSets.items");
    assert_true(yyjson_mut_is_true(json_mget(json_mpath(set, "properties.template"),
                                             STR("x-kubernetes-preserve-unknown-fields"))));
    drop(&p);
}

/* Nobody converts: one version. */
static void test_without_webhooks(void **state) {
    struct manifest_options o;
    struct printed p;
    manifest_defaults(&o);
    o.webhooks = false;
    print(&p, &o);
    yyjson_mut_val *wl = definition(&p, "workloads.kueue.x-k8s.io");
    assert_int_equal(yyjson_mut_arr_size(json_mpath(wl, "spec.versions")), 1);
    assert_null(json_mpath(wl, "spec.conversion"));
    drop(&p);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_structural),
        cmocka_unit_test(test_as_the_tables),
        cmocka_unit_test(test_without_webhooks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
