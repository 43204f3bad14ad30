/* queue_explain_scene: a fake world of two teams, and questions about it, for tests of explanations and previews. */
#ifndef BERTH_CONTROL_QUEUE_EXPLAIN_SCENE_H
#define BERTH_CONTROL_QUEUE_EXPLAIN_SCENE_H

#include "base/test.h"

#include "control/queue/queue_controller.h"
#include "control/see/see.h"
#include "control/test/fake_world.h"
#include "wire/json/json.h"
#include "wire/text/time.h"

#define FIXTURE __attribute__((unused)) static

struct scene {
    struct fake_world w;
    struct virtual_registry *r;
    struct queue_controller *q;
    struct see *see;
    struct arena a;
    /* who asks: NULL may do everything, else lists workloads in this namespace alone */
    const char *only;
    bool no_edits;
    /* the last answer */
    int answers, code;
    char text[512];
    yyjson_val *json;
};

#define V "\"apiVersion\":\"kueue.x-k8s.io/v1beta2\","

FIXTURE void start(struct scene *s, bool moving) {
    struct err err = {0};
    *s = (struct scene){0};
    fake_world_init(&s->w);
    arena_init(&s->a, 64 << 20);
    s->r = virtual_new();
    s->w.env.virtuals = s->r;
    s->q = controller_new(&queue_controller, &s->w.env, &err);
    s->see = see_new(s->q, &err);
    assert_non_null(s->q);
    const char *const teams[] = {"a", "b"};
    for (int i = 0; i < 2; i++) {
        char json[256];
        snprintf(json, sizeof(json),
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}",
                 teams[i]);
        fake_world_put(&s->w, json);
    }
    fake_world_put(&s->w, "{" V "\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},"
                          "\"spec\":{}}");
}

FIXTURE void end(struct scene *s) {
    see_free(s->see);
    controller_free(s->q);
    virtual_free(s->r);
    fake_world_release(&s->w);
    arena_release(&s->a);
}

FIXTURE void settle(struct scene *s) {
    fake_world_run(&s->w, 2 * NS_PER_SEC);
}

FIXTURE const char *cluster_json(const char *name, int gpus, const char *more) {
    static char json[4][2048];
    static int at;
    char *out = json[at++ % 4];
    snprintf(out, sizeof(json[0]),
             "{" V "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{%s"
             "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":[\"gpu\"],"
             "\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":\"gpu\",\"nominalQuota\":"
             "\"%d\"}]}]}]}}",
             name, more, gpus);
    return out;
}

FIXTURE void local_queue(struct scene *s, const char *team, const char *cluster) {
    char json[512];
    snprintf(json, sizeof(json),
             "{" V "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"lq\",\"namespace\":\"%s\"},"
             "\"spec\":{\"clusterQueue\":\"%s\"}}",
             team, cluster);
    fake_world_put(&s->w, json);
}

FIXTURE void workload(struct scene *s, const char *team, const char *name, int gpus, int priority,
                      const char *runtime) {
    char json[2048];
    snprintf(json, sizeof(json),
             "{" V "\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
             "\"annotations\":{%s%s%s}},\"spec\":{\"queueName\":\"lq\",\"active\":true,"
             "\"priority\":%d,\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":"
             "{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\","
             "\"resources\":{\"requests\":{\"gpu\":\"%d\"},\"limits\":{\"gpu\":\"%d\"}}}]}}}]}}",
             name, team, runtime ? "\"berth.dev/expected-runtime\":\"" : "", runtime ? runtime : "",
             runtime ? "\"" : "", priority, gpus, gpus);
    fake_world_put(&s->w, json);
    settle(s); /* so that creation times differ */
}

/* ---- asking ---- */

static bool may(const struct virtual_ask *q, const char *verb, const char *group,
                const char *resource, struct str ns, struct str name) {
    const struct scene *s = q->may_ctx;
    bool edit = strcmp(verb, "list") != 0;
    return edit ? !s->no_edits
                : s->only == NULL || (strcmp(resource, "workloads") == 0 && str_is(ns, s->only));
}

static void answered(void *ctx, int code, struct str json, const struct err *err) {
    struct scene *s = ctx;
    yyjson_doc *doc;
    s->answers++;
    s->code = code;
    s->json = NULL;
    if (code != 0) {
        snprintf(s->text, sizeof(s->text), "%s", err->text);
        return;
    }
    struct err bad = {0};
    assert_ok(json_parse(&s->a, arena_str(&s->a, json), &doc, &bad), &bad);
    s->json = yyjson_doc_get_root(doc);
}

FIXTURE struct virtual_ask question(struct scene *s, const char *verb, const char *kind,
                                    const char *ns, const char *name, const char *body) {
    return (struct virtual_ask){.verb = verb,
                                .kind = fake_world_kind(kind),
                                .ns = str_of(ns),
                                .name = str_of(name),
                                .body = str_of(body),
                                .may = may,
                                .may_ctx = s};
}

FIXTURE int ask(struct scene *s, const struct virtual_ask *q, struct virtual_call **ret) {
    struct err err = {0};
    struct virtual_source *x =
        virtual_find(s->r, STR("berth.dev"), str_of(q->kind->plural), (struct str){0});
    assert_non_null(x);
    int r = x->ask(x, q, answered, s, ret, &err);
    snprintf(s->text, sizeof(s->text), "%s", r != 0 ? err.text : "");
    return r;
}

FIXTURE void why(struct scene *s, const char *ns, const char *name) {
    struct virtual_ask q = question(s, "get", "WorkloadExplanation", ns, name, "");
    struct virtual_call *call;
    int before = s->answers;
    settle(s); /* past what earlier answers are kept for */
    assert_int_equal(ask(s, &q, &call), 0);
    assert_int_equal(s->answers, before + 1);
    assert_int_equal(s->code, 0);
}

FIXTURE yyjson_val *at(const struct scene *s, const char *path) {
    return json_path(s->json, path);
}

FIXTURE void is(const struct scene *s, yyjson_val *v, const char *path, const char *want) {
    struct str got = json_str_at(v, path);
    if (!str_is(got, want)) {
        print_error("%s: got %.*s, want %s\n", path, STR_ARG(got), want);
        fail();
    }
}

FIXTURE yyjson_val *nth(const struct scene *s, const char *path, size_t i) {
    yyjson_val *v = yyjson_arr_get(at(s, path), i);
    assert_non_null(v);
    return v;
}

FIXTURE int64_t when(const struct scene *s, const char *path) {
    int64_t t;
    assert_int_equal(time_parse(json_str_at(s->json, path), &t, NULL), 0);
    return t / NS_PER_SEC;
}

FIXTURE int64_t admitted_at(struct scene *s, const char *team, const char *name) {
    yyjson_doc *doc;
    struct err err;
    int64_t t = 0;
    const struct object *o = fake_world_get(&s->w, "Workload", team, name);
    assert_ok(object_tree(o, &s->a, &doc, &err), &err);
    yyjson_val *list = json_path(yyjson_doc_get_root(doc), "status.conditions"), *c;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, c) {
        if (str_is(json_str_at(c, "type"), "Admitted")) {
            assert_int_equal(time_parse(json_str_at(c, "lastTransitionTime"), &t, NULL), 0);
        }
    }
    return t / NS_PER_SEC;
}

FIXTURE int preview(struct scene *s, const char *spec) {
    static char body[8320];
    struct virtual_call *call;
    snprintf(body, sizeof(body),
             "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"QueuePreview\",\"spec\":{%s}}",
             spec);
    struct virtual_ask q = question(s, "create", "QueuePreview", "", "", body);
    return ask(s, &q, &call);
}

FIXTURE int preview_object(struct scene *s, const char *object) {
    static char spec[8192];
    snprintf(spec, sizeof(spec), "\"objects\":[%s]", object);
    return preview(s, spec);
}

FIXTURE int64_t count(const struct scene *s, const char *what) {
    return json_i64_at(s->json, what, -1);
}

#endif
