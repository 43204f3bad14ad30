/* usage_serve_test: what is answered from the file that the node writes. */
#include "node/usage/usage_serve.h"

#include "api/kinds/kinds.h"
#include "node/files/testbed.h"

struct scene {
    char data[PATH_LEN], node[PATH_LEN];
    struct clock *clock;
    struct loop *loop;
    struct mirror *m;
    struct virtual_registry *r;
    struct usage_serve *u;
    struct buf got;
    int code;
};

static void put(struct scene *s, const char *kind, const char *json) {
    struct object *o = test_object(kind, json);

    assert_int_equal(mirror_apply(s->m, CHANGE_ADDED, o, NULL), 0);
}

static void begin(struct scene *s) {
    struct err err;

    *s = (struct scene){.loop = loop_new(&err)};
    s->clock = loop_clock(s->loop);
    test_folder(s->data);
    assert_ok(path_join(s->node, s->data, "node", &err), &err);
    assert_ok(dir_make(s->node, 0700, &err), &err);
    s->m = mirror_new(&(struct mirror_options){.clock = s->clock});
    s->r = virtual_new();
    s->u = usage_serve_new(s->data, s->clock, s->m, s->r, &err);
    assert_non_null(s->u);
    buf_init(&s->got, 1 << 20);
}

static void end(struct scene *s) {
    usage_serve_free(s->u);
    virtual_free(s->r);
    mirror_free(s->m);
    loop_free(s->loop);
    buf_release(&s->got);
    dir_remove(s->data, NULL);
}

static void done(void *ctx, int code, struct str json, const struct err *err) {
    struct scene *s = ctx;

    s->code = code;
    buf_str(&s->got, json);
}

static const char *asked(struct scene *s, const struct kind *k, const char *ns, const char *name,
                         const char *labels) {
    const struct virtual_param label = {STR("labelSelector"), str_of(labels)};
    const struct virtual_ask q = {.verb = name[0] ? "get" : "list",
                                  .kind = k,
                                  .version = STR("v1beta1"),
                                  .ns = str_of(ns),
                                  .name = str_of(name),
                                  .query = &label,
                                  .n_query = 1};
    struct virtual_source *v =
        virtual_find(s->r, STR("metrics.k8s.io"), str_of(k->plural), STR(""));
    struct virtual_call *call = NULL;
    struct err err;

    buf_reset(&s->got);
    s->code = v->ask(v, &q, done, s, &call, &err);
    return buf_cstr(&s->got);
}

static void tell(struct scene *s, int64_t age_s) {
    char text[1024];
    struct err err;
    long long at = (long long)(clock_wall(s->clock) - age_s * NS_PER_SEC);

    snprintf(text, sizeof(text),
             "{\"node\":{\"name\":\"n1\",\"at\":%lld,\"window\":10000000000,\"cpu\":1500000000,"
             "\"memory\":1048576},\"pods\":[{\"uid\":\"u1\",\"at\":%lld,\"window\":2500000000,"
             "\"containers\":[{\"name\":\"main\",\"cpu\":12345678,\"memory\":3145728}]},"
             "{\"uid\":\"gone\",\"at\":%lld,\"window\":1,\"containers\":[]}]}",
             at, at, at);
    assert_ok(file_store(s->node, "usage.json", str_of(text), 0600, &err), &err);
}

static void pods_and_nodes_are_told(void **state) {
    struct scene s;

    begin(&s);
    put(&s, "Pod",
        "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"p\",\"namespace\":"
        "\"a\",\"uid\":\"u1\",\"labels\":{\"x\":\"y\"}},\"spec\":{\"containers\":[]}}");
    put(&s, "Node", "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\"}}");
    assert_non_null(strstr(asked(&s, &kind_pod_metrics, "", "", ""), "\"items\":[]")); /* no file */
    tell(&s, 0);
    const char *t = asked(&s, &kind_pod_metrics, "a", "p", "");
    assert_non_null(strstr(t, "\"apiVersion\":\"metrics.k8s.io/v1beta1\",\"kind\":\"PodMetrics\""));
    assert_non_null(strstr(t, "\"window\":\"2.500s\""));
    assert_non_null(
        strstr(t, "{\"name\":\"main\",\"usage\":{\"cpu\":\"12345678n\",\"memory\":\"3Mi\"}}"));
    t = asked(&s, &kind_node_metrics, "", "n1", "");
    assert_non_null(strstr(t, "\"usage\":{\"cpu\":\"1500m\",\"memory\":\"1Mi\"}"));
    assert_non_null(strstr(asked(&s, &kind_pod_metrics, "", "", "x=y"), "\"name\":\"p\""));
    assert_null(strstr(asked(&s, &kind_pod_metrics, "", "", "x=z"), "\"name\":\"p\""));
    assert_null(strstr(asked(&s, &kind_pod_metrics, "b", "", ""), "\"name\":\"p\""));
    asked(&s, &kind_pod_metrics, "b", "p", "");
    assert_int_equal(s.code, ERR_NOT_FOUND);
    asked(&s, &kind_pod_metrics, "", "", "x in (");
    assert_int_equal(s.code, ERR_BAD_REQUEST);
    end(&s);
}

static void what_is_old_is_not_told(void **state) {
    struct scene s;

    begin(&s);
    put(&s, "Node", "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\"}}");
    tell(&s, USAGE_OLD_S + 1);
    asked(&s, &kind_node_metrics, "", "n1", "");
    assert_int_equal(s.code, ERR_NOT_FOUND);
    tell(&s, 0); /* read anew, since it is another file */
    asked(&s, &kind_node_metrics, "", "n1", "");
    assert_int_equal(s.code, 0);
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pods_and_nodes_are_told),
        cmocka_unit_test(what_is_old_is_not_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
