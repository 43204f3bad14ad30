/* Tests of the visibility API: order, windows, who is kept out, and what is not there. */
#include "base/test.h"

#include "control/queue/queue_controller.h"
#include "control/test/fake_world.h"
#include "port/virtual.h"

#define V2 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\","

struct scene {
    struct virtual_call *call; /* of the last question */
    size_t answers, missing;
    struct fake_world w;
    struct queue_controller *q;
    struct virtual_registry *virtuals;
    struct arena arena;
    yyjson_val *items; /* of the last answer */
    char version[64];
    int code;
};

static void start(struct scene *s) {
    struct err err = {0};
    *s = (struct scene){.virtuals = virtual_new()};
    arena_init(&s->arena, 1 << 24);
    fake_world_init(&s->w);
    s->w.env.virtuals = s->virtuals;
    fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":"
                          "{\"name\":\"default\"}}");
    s->q = controller_new(&queue_controller, &s->w.env, &err);
    assert_non_null(s->q);
    fake_world_put(&s->w,
                   V2 "\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"f\"},\"spec\":{}}");
    fake_world_put(&s->w, V2 "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"cq\"},\"spec\":{"
                             "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":"
                             "[\"cpu\"],\"flavors\":[{\"name\":\"f\",\"resources\":[{\"name\":"
                             "\"cpu\",\"nominalQuota\":\"1\"}]}]}]}}");
    for (const char *l = "ab"; *l != '\0'; l++) {
        char json[256];
        snprintf(json, sizeof(json),
                 V2 "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"%c\",\"namespace\":"
                    "\"default\"},\"spec\":{\"clusterQueue\":\"cq\"}}",
                 *l);
        fake_world_put(&s->w, json);
    }
}

static void end(struct scene *s) {
    controller_free(s->q);
    virtual_free(s->virtuals);
    fake_world_release(&s->w);
    arena_release(&s->arena);
}

static void settle(struct scene *s) {
    fake_world_run(&s->w, 5 * NS_PER_SEC);
}

static void workload(struct scene *s, const char *name, const char *lq, int priority) {
    char json[1024];
    snprintf(json, sizeof(json),
             V2 "\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"default\","
                "\"ownerReferences\":[{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"name\":"
                "\"j-%s\",\"uid\":\"u-%s\",\"controller\":true}]},"
                "\"spec\":{\"queueName\":\"%s\",\"active\":true,\"priority\":%d,\"podSets\":"
                "[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":"
                "\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"1\"}}}]}}}]}}",
             name, name, name, lq, priority);
    fake_world_put(&s->w, json);
    fake_world_run(&s->w, 1500 * NS_PER_MS); /* creation has whole seconds */
}

static void done(void *ctx, int code, struct str json, const struct err *err) {
    struct scene *s = ctx;
    yyjson_doc *doc;
    s->code = code;
    s->answers++;
    s->missing += code == ERR_NOT_FOUND;
    if (code != 0) {
        return;
    }
    assert_int_equal(json_parse(&s->arena, json, &doc, NULL), 0);
    yyjson_val *root = yyjson_doc_get_root(doc);
    assert_str_eq(json_str_at(root, "kind"), STR("PendingWorkloadsSummary"));
    str_copy(json_str_at(root, "apiVersion"), s->version, sizeof(s->version));
    s->items = json_path(root, "items");
}

static int ask(struct scene *s, const char *resource, const char *name, const char *offset,
               const char *limit) {
    struct virtual_param query[] = {{STR("offset"), str_of(offset)}, {STR("limit"), str_of(limit)}};
    struct virtual_source *src = virtual_find(s->virtuals, STR("visibility.kueue.x-k8s.io"),
                                              str_of(resource), STR("pendingworkloads"));
    static struct virtual_ask asked[8]; /* valid as long as the question */
    static struct virtual_param params[8][2];
    static size_t n;
    struct virtual_ask *q = &asked[n % 8];
    memcpy(params[n % 8], query, sizeof(query));
    *q = (struct virtual_ask){.verb = "get",
                              .subresource = STR("pendingworkloads"),
                              .version = STR("v1beta1"),
                              .ns = strcmp(resource, "localqueues") == 0 ? STR("default") : STR(""),
                              .name = str_of(name),
                              .query = params[n++ % 8],
                              .n_query = 2};
    struct err err = {0};
    assert_non_null(src);
    s->items = NULL;
    s->call = NULL;
    return src->ask(src, q, done, s, &s->call, &err);
}

/* "name/priority/queue/at/at-local ..." of the last answer. */
static const char *shown(struct scene *s) {
    static char text[1024];
    size_t n = 0, i, max;
    yyjson_val *e;
    text[0] = '\0';
    yyjson_arr_foreach(s->items, i, max, e) {
        struct str name = json_str_at(e, "metadata.name"), lq = json_str_at(e, "localQueueName");
        n += (size_t)snprintf(text + n, sizeof(text) - n, "%s%.*s/%lld/%.*s/%lld/%lld",
                              i > 0 ? " " : "", STR_ARG(name),
                              (long long)json_i64_at(e, "priority", -1), STR_ARG(lq),
                              (long long)json_i64_at(e, "positionInClusterQueue", -1),
                              (long long)json_i64_at(e, "positionInLocalQueue", -1));
    }
    return text;
}

static void some(struct scene *s) {
    workload(s, "runs", "a", 100);
    settle(s);
    workload(s, "w1", "a", 0);
    workload(s, "w2", "b", 0);
    workload(s, "w3", "a", 5);
    workload(s, "w4", "b", 5);
    workload(s, "w5", "a", 0);
    settle(s);
}

static void order(void **state) {
    struct scene s;
    start(&s);
    some(&s);
    assert_int_equal(ask(&s, "clusterqueues", "cq", "", ""), 0);
    assert_string_equal(s.version, "visibility.kueue.x-k8s.io/v1beta1");
    assert_string_equal(shown(&s), "w3/5/a/0/0 w4/5/b/1/0 w1/0/a/2/1 w2/0/b/3/1 w5/0/a/4/2");
    yyjson_val *first = yyjson_arr_get_first(s.items);
    assert_str_eq(json_str_at(first, "metadata.namespace"), STR("default"));
    yyjson_val *owner = yyjson_arr_get_first(json_path(first, "metadata.ownerReferences"));
    assert_str_eq(json_str_at(owner, "kind"), STR("Job"));
    assert_str_eq(json_str_at(owner, "uid"), STR("u-w3"));
    assert_int_equal(ask(&s, "clusterqueues", "cq", "1", "2"), 0);
    assert_string_equal(shown(&s), "w4/5/b/1/0 w1/0/a/2/1");
    assert_int_equal(ask(&s, "localqueues", "a", "1", "5"), 0);
    assert_string_equal(shown(&s), "w1/0/a/2/1 w5/0/a/4/2");
    assert_int_equal(ask(&s, "localqueues", "b", "-3", "1"), 0);
    assert_string_equal(shown(&s), "w4/5/b/1/0");
    assert_int_equal(ask(&s, "clusterqueues", "cq", "0", "0"), 0);
    assert_string_equal(shown(&s), "");
    assert_int_equal(ask(&s, "clusterqueues", "cq", "99", "5"), 0);
    assert_string_equal(shown(&s), "");
    end(&s);
}

static void refused(void **state) {
    struct scene s;
    start(&s);
    some(&s);
    assert_int_equal(ask(&s, "clusterqueues", "none", "", ""), ERR_NOT_FOUND);
    assert_int_equal(ask(&s, "localqueues", "none", "", ""), ERR_NOT_FOUND);
    assert_int_equal(ask(&s, "clusterqueues", "cq", "x", ""), ERR_BAD_REQUEST);
    assert_int_equal(ask(&s, "clusterqueues", "cq", "", "1.5"), ERR_BAD_REQUEST);
    fake_world_delete(&s.w, "LocalQueue", "default", "b", "");
    settle(&s);
    assert_int_equal(ask(&s, "localqueues", "b", "", ""), ERR_NOT_FOUND);
    end(&s);
}

/* A queue that is stopped has its workloads still. */
static void stopped(void **state) {
    struct scene s;
    start(&s);
    some(&s);
    fake_world_patch(&s.w, "ClusterQueue", "", "cq", "", "{\"spec\":{\"stopPolicy\":\"Hold\"}}");
    settle(&s);
    assert_int_equal(ask(&s, "clusterqueues", "cq", "", ""), 0);
    assert_string_equal(shown(&s), "w1/0/a/0/0 w2/0/b/1/0 w3/5/a/2/1 w4/5/b/3/1 w5/0/a/4/2");
    assert_int_equal(ask(&s, "localqueues", "a", "1", "1"), 0);
    assert_string_equal(shown(&s), "w3/5/a/2/1");
    end(&s);
}

/* A long answer is written some at a time: what is there by then, where it stood when it was asked. */
static void long_answers(void **state) {
    struct scene s;
    char json[1024];
    start(&s);
    for (int i = 0; i < 350; i++) {
        snprintf(json, sizeof(json),
                 V2 "\"kind\":\"Workload\",\"metadata\":{\"name\":\"w%03d\",\"namespace\":"
                    "\"default\"},\"spec\":{\"queueName\":\"%s\",\"active\":true,\"priority\":%d,"
                    "\"podSets\":[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{"
                    "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{\"requests\":"
                    "{\"cpu\":\"5\"}}}]}}}]}}",
                 i, i % 7 == 0 ? "b" : "a", 1000 - i);
        fake_world_put(&s.w, json);
    }
    settle(&s);
    struct virtual_source *src = virtual_find(s.virtuals, STR("visibility.kueue.x-k8s.io"),
                                              STR("clusterqueues"), STR("pendingworkloads"));
    for (int i = 0; i < 2; i++) {
        assert_int_equal(
            ask(&s, i == 0 ? "clusterqueues" : "localqueues", i == 0 ? "cq" : "a", "", ""), 0);
        assert_int_equal(s.answers, i);
        assert_non_null(s.call);
        struct str gone = i == 0 ? STR("w349") : STR("w341");
        fake_world_delete(&s.w, "Workload", "default", gone.p, "");
        fake_world_run(&s.w, NS_PER_MS);
        assert_int_equal(s.answers, i + 1);
        assert_int_equal(yyjson_arr_size(s.items), i == 0 ? 349 : 298);
        yyjson_val *last = yyjson_arr_get_last(s.items);
        assert_str_eq(json_str_at(last, "metadata.name"), i == 0 ? STR("w348") : STR("w348"));
        assert_int_equal(json_i64_at(last, "positionInClusterQueue", -1), 348);
    }
    assert_int_equal(ask(&s, "clusterqueues", "cq", "", ""), 0);
    struct virtual_call *first = s.call;
    assert_int_equal(ask(&s, "clusterqueues", "cq", "", ""), 0);
    src->cancel(src, s.call);
    fake_world_run(&s.w, NS_PER_MS);
    assert_int_equal(s.answers, 3);
    assert_non_null(first);
    assert_int_equal(ask(&s, "clusterqueues", "cq", "", ""), 0);
    end(&s); /* answers what it was asked */
    assert_int_equal(s.answers, 4);
    assert_int_equal(s.code, ERR_UNAVAILABLE);
}

/* Few answers that may be long are made at a time: who waits is answered from what is there when it is his turn. */
static void long_ones_wait(void **state) {
    static const char *const limits[] = {"1001", "5000", "100000", "2000", "1000"};
    struct virtual_call *calls[5];
    struct scene s;
    start(&s);
    for (int i = 0; i < 150; i++) {
        char name[16];
        snprintf(name, sizeof(name), "w%03d", i);
        workload(&s, name, "a", 0);
    }
    settle(&s);
    struct virtual_source *src = virtual_find(s.virtuals, STR("visibility.kueue.x-k8s.io"),
                                              STR("clusterqueues"), STR("pendingworkloads"));
    for (int i = 0; i < 5; i++) {
        assert_int_equal(
            ask(&s, i == 3 ? "localqueues" : "clusterqueues", i == 3 ? "a" : "cq", "", limits[i]),
            0);
        calls[i] = s.call;
        assert_non_null(calls[i]);
    }
    assert_int_equal(ask(&s, "clusterqueues", "none", "", "5000"), ERR_NOT_FOUND);
    src->cancel(src, calls[1]); /* which lets the third begin */
    fake_world_delete(&s.w, "LocalQueue", "default", "a", "");
    settle(&s);
    assert_int_equal(s.answers, 4);
    assert_int_equal(s.missing, 1); /* the fourth: it had waited */
    end(&s);
    assert_int_equal(s.answers, 4);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(order),        cmocka_unit_test(refused),        cmocka_unit_test(stopped),
        cmocka_unit_test(long_answers), cmocka_unit_test(long_ones_wait),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
