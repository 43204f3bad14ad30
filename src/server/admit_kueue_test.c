/* Tests of admit_kueue: which Jobs start suspended, and what is put on them, by what the Configuration says. */
#include "base/test.h"
#include "server/server.h"

struct world {
    struct loop *loop;
    struct mirror *mirror;
    struct server *server;
    struct server_kueue kueue;
};

static void create(struct world *w, const char *json) {
    struct err err = {0};
    assert_ok(server_bootstrap(w->server, str_of(json), &err), &err);
    mirror_flush(w->mirror);
}

static void start(struct world *w, const struct server_kueue *kueue) {
    static const char *const spaces[] = {"default", "kube-system", "team"};
    struct err err = {0};
    char json[256];
    *w = (struct world){.loop = loop_new(&err)};
    assert_non_null(w->loop);
    struct mirror_options mo = {.clock = loop_clock(w->loop)};
    w->mirror = mirror_new(&mo);
    assert_non_null(w->mirror);
    struct server_options so = {.loop = w->loop, .mirror = w->mirror, .host = STR("127.0.0.1")};
    if (kueue != NULL) {
        w->kueue = *kueue;
        so.kueue = &w->kueue;
    }
    w->server = server_new(&so, &err);
    assert_non_null(w->server);
    for (size_t i = 0; i < sizeof(spaces) / sizeof(*spaces); i++) {
        snprintf(json, sizeof(json),
                 "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\"}}",
                 spaces[i]);
        create(w, json);
    }
}

static void end(struct world *w) {
    server_free(w->server);
    mirror_free(w->mirror);
    loop_free(w->loop);
}

static const struct object *job(struct world *w, const char *ns, const char *name,
                                const char *meta) {
    char json[1024];
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"%s\","
             "\"namespace\":\"%s\"%s},\"spec\":{\"template\":{\"spec\":{\"restartPolicy\":"
             "\"Never\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}}}",
             name, ns, meta);
    create(w, json);
    const struct object *o =
        mirror_get(w->mirror, kind_by_name(STR("batch"), STR("Job")), str_of(ns), str_of(name));
    assert_non_null(o);
    return o;
}

static bool waits(const struct object *job) {
    return str_contains(job->json, STR("\"suspend\":true"));
}

static struct str class_of(const struct object *job) {
    return object_label(job, STR("kueue.x-k8s.io/priority-class"));
}

#define QUEUED ",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\"}"
#define OWNED                                                                                      \
    ",\"ownerReferences\":[{\"apiVersion\":\"a.com/v1\",\"kind\":\"K\",\"name\":\"n\",\"uid\":"    \
    "\"u\",\"controller\":true}]"

static void put_class(struct world *w) {
    create(w, "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":\"WorkloadPriorityClass\","
              "\"metadata\":{\"name\":\"default\"},\"value\":5}");
}

static void by_queue_name(void **state) {
    struct world w;
    start(&w, NULL);
    assert_true(waits(job(&w, "default", "queued", QUEUED)));
    assert_false(waits(job(&w, "default", "plain", "")));
    assert_false(waits(job(&w, "default", "owned", QUEUED OWNED)));
    assert_false(waits(job(&w, "kube-system", "queued", QUEUED))); /* nobody would start it */
    end(&w);
}

static void all_jobs(void **state) {
    static const struct server_kueue all = {.all_jobs = true};
    struct world w;
    start(&w, &all);
    put_class(&w);
    const struct object *plain = job(&w, "default", "plain", "");
    assert_true(waits(plain));
    assert_str_eq(class_of(plain), STR("default"));
    assert_str_eq(object_label(plain, STR("kueue.x-k8s.io/queue-name")), STR(""));
    assert_true(waits(job(&w, "default", "queued", QUEUED)));
    assert_false(waits(job(&w, "default", "owned", OWNED)));
    assert_false(waits(job(&w, "kube-system", "plain", "")));
    end(&w);
}

static void chosen_namespaces(void **state) {
    struct str team = STR("team");
    struct selector_term term = {STR("kubernetes.io/metadata.name"), SELECTOR_IN, &team, 1, 0};
    struct selector only = {&term, 1, false};
    struct server_kueue k = {.all_jobs = true, .namespaces = &only};
    struct world w;
    start(&w, &k);
    assert_true(waits(job(&w, "team", "plain", "")));
    assert_false(waits(job(&w, "default", "plain", "")));
    assert_false(waits(job(&w, "default", "queued", QUEUED)));
    end(&w);
}

static void classes(void **state) {
    static const struct server_kueue off = {.no_default_class = true};
    struct world w;
    start(&w, NULL);
    assert_str_eq(class_of(job(&w, "default", "before", QUEUED)), STR(""));
    put_class(&w);
    assert_str_eq(class_of(job(&w, "default", "a", QUEUED)), STR("default"));
    assert_str_eq(class_of(job(&w, "default", "plain", "")), STR(""));
    assert_str_eq(class_of(job(&w, "default", "b",
                               ",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"q\","
                               "\"kueue.x-k8s.io/priority-class\":\"own\"}")),
                  STR("own"));
    end(&w);
    start(&w, &off);
    put_class(&w);
    const struct object *o = job(&w, "default", "a", QUEUED);
    assert_true(waits(o));
    assert_str_eq(class_of(o), STR(""));
    end(&w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_queue_name),
        cmocka_unit_test(all_jobs),
        cmocka_unit_test(chosen_namespaces),
        cmocka_unit_test(classes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
