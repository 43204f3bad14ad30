/* Tests of model_routes: models from Services and InferenceServices, their endpoints and states. */
#include "base/test.h"

#include "world/gateway/model_routes.h"

struct fixture {
    struct mirror *m;
    struct arena a;
    struct log_fd log;
    struct model_routes made;
    uint64_t rv;
};

static struct fixture *fixture(void) {
    static struct fixture f;
    f = (struct fixture){0};
    f.m = mirror_new(&(struct mirror_options){.history_events = MIRROR_NO_HISTORY});
    assert_non_null(f.m);
    arena_init(&f.a, 64 << 20);
    log_fd_init(&f.log, LOG_ERROR, 2);
    return &f;
}

static void done(struct fixture *f) {
    routes_unref(f->made.table);
    mirror_free(f->m);
    arena_release(&f->a);
}

static void put(struct fixture *f, const char *group, const char *kind, const char *name,
                const char *meta, const char *rest) {
    const struct kind *k = kind_by_name(str_of(group), str_of(kind));
    struct object *o;
    struct err err = {0};
    char json[4096];
    assert_non_null(k);
    (void)snprintf(json, sizeof json,
                   "{\"apiVersion\":\"x/v1\",\"kind\":\"%s\",\"metadata\":{\"name\":\"%s\","
                   "\"namespace\":\"team\",\"uid\":\"%s-%s\",\"creationTimestamp\":"
                   "\"2026-01-01T00:00:00Z\"%s}%s}",
                   kind, name, kind, name, meta, rest);
    assert_ok(object_new(k, str_of(json), &o, &err), &err);
    o->rv = ++f->rv;
    assert_ok(mirror_apply(f->m, CHANGE_ADDED, o, &err), &err);
}

#define NOTES(v) ",\"annotations\":{" v "}"

static void service(struct fixture *f, const char *name, const char *notes) {
    put(f, "", "Service", name, notes, ",\"spec\":{}");
}
static void slice(struct fixture *f, const char *of, const char *name, const char *ports,
                  const char *endpoints) {
    char meta[256], rest[2048];
    (void)snprintf(meta, sizeof meta, ",\"labels\":{\"kubernetes.io/service-name\":\"%s\"}", of);
    (void)snprintf(rest, sizeof rest, ",\"addressType\":\"IPv4\",\"ports\":[%s],\"endpoints\":[%s]",
                   ports, endpoints);
    put(f, "discovery.k8s.io", "EndpointSlice", name, meta, rest);
}
static void deployment(struct fixture *f, const char *name, const char *notes, int replicas) {
    char rest[128];
    (void)snprintf(rest, sizeof rest, ",\"spec\":{\"replicas\":%d}", replicas);
    put(f, "apps", "Deployment", name, notes, rest);
}

static const struct routes_model *model(struct fixture *f, const char *name) {
    struct routes_found found;
    struct err err = {0};
    routes_unref(f->made.table);
    f->made = (struct model_routes){0};
    assert_ok(model_routes_make(f->m, &f->a, &f->log.log, &f->made, &err), &err);
    return routes_find(f->made.table, STR("team"), str_of(name), &found) == ROUTES_FOUND
               ? found.model
               : NULL;
}

#define HTTP "{\"name\":\"http\",\"port\":8000,\"protocol\":\"TCP\"}"
#define METRICS "{\"name\":\"metrics\",\"port\":9000,\"protocol\":\"TCP\"}"
#define POD(ip, ready)                                                                             \
    "{\"addresses\":[\"" ip "\"],\"conditions\":{\"ready\":" ready                                 \
    "},\"zone\":\"z1\",\"targetRef\":{\"name\":\"p\",\"uid\":\"u" ip "\"}}"

static void a_service_with_the_note_is_a_model(void **state) {
    struct fixture *f = fixture();
    service(f, "s", NOTES("\"berth.dev/model\":\"org/llama\""));
    service(f, "other", "");
    slice(f, "s", "s-1", METRICS "," HTTP, POD("10.0.0.1", "true") "," POD("10.0.0.2", "false"));
    slice(f, "other", "o-1", HTTP, POD("10.0.0.9", "true"));
    const struct routes_model *m = model(f, "org/llama");
    assert_non_null(m);
    assert_int_equal(routes_count(f->made.table), 1);
    assert_str_eq(m->project, STR("team"));
    assert_int_equal(m->state, ROUTES_SERVING);
    assert_int_equal(m->backends[0].n_endpoints, 2);
    assert_str_eq(m->backends[0].served, STR("org/llama"));
    const struct routes_endpoint *e = m->backends[0].endpoints;
    assert_int_equal(e[0].port, 8000);
    assert_str_eq(e[0].zone, STR("z1"));
    assert_true(e[0].ready);
    assert_false(e[1].ready);
    assert_true(e[0].id != e[1].id);
    done(f);
}

static void a_label_does_for_plain_names(void **state) {
    struct fixture *f = fixture();
    service(f, "s", ",\"labels\":{\"berth.dev/model\":\"tiny\"}");
    assert_non_null(model(f, "tiny"));
    done(f);
}

static void notes_say_the_rest(void **state) {
    struct fixture *f = fixture();
    service(f, "s",
            NOTES("\"berth.dev/model\":\"m\",\"berth.dev/model-port\":\"metrics\","
                  "\"berth.dev/model-served-name\":\"base\",\"berth.dev/model-aliases\":"
                  "\"gpt-4o, ada=lora-7\",\"berth.dev/model-protocols\":\"openai, v2\","
                  "\"berth.dev/model-streams\":\"8\",\"berth.dev/model-hold\":\"90s\""));
    slice(f, "s", "s-1", METRICS "," HTTP, POD("10.0.0.1", "true"));
    const struct routes_model *m = model(f, "gpt-4o");
    assert_non_null(m);
    assert_int_equal(m->backends[0].endpoints[0].port, 9000);
    assert_str_eq(m->backends[0].served, STR("base"));
    assert_int_equal(m->n_aliases, 2);
    assert_str_eq(m->aliases[1].name, STR("ada"));
    assert_str_eq(m->aliases[1].served, STR("lora-7"));
    assert_int_equal(m->protocols, ROUTES_OPENAI | ROUTES_V2);
    assert_int_equal(m->limits.streams, 8);
    assert_int_equal(m->hold_ms, 90000);
    done(f);
}

static void a_broken_note_stops_the_model_and_says_why(void **state) {
    static const char *const broken[][2] = {
        {"\"berth.dev/model-streams\":\"many\"",
         "annotation berth.dev/model-streams: many: expected a number from 0"},
        {"\"berth.dev/model-hold\":\"long\"",
         "annotation berth.dev/model-hold: long: expected a time like 90s or 10m, at most 24h"},
        {"\"berth.dev/model-hold\":\"2562047h\"",
         "annotation berth.dev/model-hold: 2562047h: expected a time like 90s or 10m, at most 24h"},
        {"\"berth.dev/model-protocols\":\"grpc\"",
         "annotation berth.dev/model-protocols: grpc: expected openai, v1 or v2, with commas "
         "between"},
        {"\"berth.dev/model-port\":\"nosuch\"",
         "annotation berth.dev/model-port: nosuch: expected name or number of a port"},
    };
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        struct fixture *f = fixture();
        char notes[256];
        (void)snprintf(notes, sizeof notes, NOTES("\"berth.dev/model\":\"m\",%s"), broken[i][0]);
        service(f, "s", notes);
        slice(f, "s", "s-1", HTTP, POD("10.0.0.1", "true"));
        const struct routes_model *m = model(f, "m");
        assert_int_equal(m->state, ROUTES_STOPPED);
        assert_str_eq(m->reason, str_of(broken[i][1]));
        done(f);
    }
}

static void the_deployment_says_the_state(void **state) {
    static const struct {
        const char *notes;
        int replicas;
        const char *ready;
        enum routes_state state;
    } rows[] = {{"", 1, "true", ROUTES_SERVING},
                {"", 1, "false", ROUTES_STARTING},
                {"", 0, "false", ROUTES_STOPPED},
                {NOTES("\"berth.dev/model-idle\":\"10m\""), 0, "false", ROUTES_AT_ZERO},
                {NOTES("\"berth.dev/model-idle\":\"never\""), 0, "false", ROUTES_AT_ZERO},
                {NOTES("\"berth.dev/model-idle\":\"soon\""), 1, "true", ROUTES_STOPPED}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct fixture *f = fixture();
        bool ready = strcmp(rows[i].ready, "true") == 0;
        service(f, "s", NOTES("\"berth.dev/model\":\"m\""));
        deployment(f, "s", rows[i].notes, rows[i].replicas);
        slice(f, "s", "s-1", HTTP, ready ? POD("10.0.0.1", "true") : POD("10.0.0.1", "false"));
        assert_int_equal(model(f, "m")->state, rows[i].state);
        done(f);
    }
}

/* Scaling is agreed to by the Deployment, not by whoever makes a Service. */
static void only_a_deployment_that_agrees_is_scaled(void **state) {
    struct fixture *f = fixture();
    service(f, "s",
            NOTES("\"berth.dev/model\":\"m\",\"berth.dev/model-idle\":\"1m\","
                  "\"berth.dev/model-deployment\":\"d\""));
    deployment(f, "d", "", 0);
    assert_int_equal(model(f, "m")->state, ROUTES_STOPPED);
    assert_int_equal(f->made.n_wakes, 1);
    assert_false(f->made.wakes[0].can);
    done(f);
    f = fixture();
    service(f, "s", NOTES("\"berth.dev/model\":\"m\",\"berth.dev/model-deployment\":\"d\""));
    deployment(f, "d", NOTES("\"berth.dev/model-idle\":\"1m\""), 2);
    (void)model(f, "m");
    assert_true(f->made.wakes[0].can);
    assert_int_equal(f->made.wakes[0].replicas, 2);
    assert_int_equal(f->made.wakes[0].idle_ns / NS_PER_SEC, 60);
    assert_str_eq(f->made.wakes[0].deployment, STR("d"));
    done(f);
}

static void an_ending_server_drains(void **state) {
    struct fixture *f = fixture();
    service(f, "s", NOTES("\"berth.dev/model\":\"m\""));
    deployment(f, "s", "", 1);
    slice(f, "s", "s-1", HTTP,
          "{\"addresses\":[\"10.0.0.1\"],\"conditions\":{\"ready\":false,\"serving\":true,"
          "\"terminating\":true}}");
    const struct routes_model *m = model(f, "m");
    assert_true(m->backends[0].endpoints[0].draining);
    assert_int_equal(m->state, ROUTES_STARTING);
    done(f);
}

/* ---- of KServe ---- */

#define ISVC(least, more)                                                                          \
    ",\"spec\":{\"predictor\":{\"minReplicas\":" least ",\"model\":{\"modelFormat\":{\"name\":"    \
    "\"vLLM\"}}" more "}}"
#define QUEUED                                                                                     \
    ",\"status\":{\"conditions\":[{\"type\":\"PredictorReady\",\"status\":\"False\",\"reason\":"   \
    "\"Queued\",\"message\":\"LocalQueue q: position 2, starts in 5m: no quota left\"}]}"

static void an_inference_service_is_a_model(void **state) {
    struct fixture *f = fixture();
    put(f, "serving.kserve.io", "InferenceService", "llama", "", ISVC("0", ""));
    service(f, "llama-predictor", "");
    deployment(f, "llama-predictor", "", 0);
    assert_int_equal(model(f, "llama")->state, ROUTES_AT_ZERO);
    assert_true(f->made.wakes[0].can);
    assert_int_equal(f->made.wakes[0].idle_ns / NS_PER_SEC, MODEL_IDLE_S);
    assert_int_equal(model(f, "llama")->n_backends, 1);
    slice(f, "llama-predictor", "s-1", HTTP, POD("10.0.0.1", "true"));
    assert_int_equal(model(f, "llama")->backends[0].n_endpoints, 1);
    assert_str_eq(model(f, "llama")->backends[0].served, STR("llama"));
    done(f);
}

static void a_start_that_waits_for_quota_says_so(void **state) {
    struct fixture *f = fixture();
    put(f, "serving.kserve.io", "InferenceService", "llama", "", ISVC("0", "") QUEUED);
    deployment(f, "llama-predictor", "", 1);
    assert_int_equal(model(f, "llama")->state, ROUTES_QUEUED);
    assert_true(str_ends(model(f, "llama")->reason, STR("no quota left")));
    assert_int_equal(model(f, "llama")->position, 2);
    assert_int_equal(model(f, "llama")->eta_s, 300);
    slice(f, "llama-predictor", "s-1", HTTP, POD("10.0.0.1", "true"));
    assert_int_equal(model(f, "llama")->state, ROUTES_SERVING);
    done(f);
}

/* In the moment before the queue admits a pod nobody is turned away. */
static void a_start_that_is_about_to_be_admitted_is_waited_for(void **state) {
    static const char *const messages[] = {
        "the pod waits for its Workload", "LocalQueue q: waits for quota",
        "LocalQueue q: position 1, starts now: quota is free: it is about to start"};
    for (size_t i = 0; i < 3; i++) {
        struct fixture *f = fixture();
        char more[600];
        snprintf(
            more, sizeof more,
            ISVC("0", "") ",\"status\":{\"conditions\":[{\"type\":\"PredictorReady\",\"status\":"
                          "\"False\",\"reason\":\"Queued\",\"message\":\"%s\"}]}",
            messages[i]);
        put(f, "serving.kserve.io", "InferenceService", "llama", "", more);
        deployment(f, "llama-predictor", "", 1);
        assert_int_equal(model(f, "llama")->state, ROUTES_STARTING);
        done(f);
    }
}

static void a_canary_has_its_share_while_it_is_there(void **state) {
    struct fixture *f = fixture();
    put(f, "serving.kserve.io", "InferenceService", "llama", "",
        ISVC("1", ",\"canaryTrafficPercent\":10"));
    service(f, "llama-predictor", "");
    assert_int_equal(model(f, "llama")->n_backends, 1);
    assert_int_equal(model(f, "llama")->backends[0].weight, 100);
    service(f, "llama-predictor-canary", "");
    const struct routes_model *m = model(f, "llama");
    assert_int_equal(m->n_backends, 2);
    assert_int_equal(m->backends[0].weight, 90);
    assert_int_equal(m->backends[1].weight, 10);
    done(f);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_service_with_the_note_is_a_model),
        cmocka_unit_test(a_label_does_for_plain_names),
        cmocka_unit_test(notes_say_the_rest),
        cmocka_unit_test(a_broken_note_stops_the_model_and_says_why),
        cmocka_unit_test(the_deployment_says_the_state),
        cmocka_unit_test(only_a_deployment_that_agrees_is_scaled),
        cmocka_unit_test(an_ending_server_drains),
        cmocka_unit_test(an_inference_service_is_a_model),
        cmocka_unit_test(a_start_that_waits_for_quota_says_so),
        cmocka_unit_test(a_start_that_is_about_to_be_admitted_is_waited_for),
        cmocka_unit_test(a_canary_has_its_share_while_it_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
