/* Tests of fleet: what is counted as what, who sees holders, what needs attention, the day's samples. */
#include "base/test.h"

#include "api/h200_fixture.h"
#include "base/mem.h"
#include "control/load/gpu_inventory.h"
#include "control/queue/queue_controller.h"
#include "control/see/see.h"
#include "control/test/fake_world.h"
#include "wire/prometheus.h"

#define V2 "{\"apiVersion\":\"kueue.x-k8s.io/v1beta2\","
#define H200 "NVIDIA-H200"

struct scene {
    struct fake_world w;
    struct queue_controller *q;
    struct see *see;
    struct virtual_registry *virtuals;
    struct arena arena;
    yyjson_val *root; /* of the last answer */
    const char *node; /* whose cards alone are asked for; NULL: all */
    const char *sees; /* the one namespace that the asker may see; NULL: all */
    int code;
};

static void start(struct scene *s) {
    struct err err = {0};
    *s = (struct scene){.virtuals = virtual_new()};
    arena_init(&s->arena, 1 << 26);
    fake_world_init(&s->w);
    s->w.env.virtuals = s->virtuals;
    s->w.env.prom = prom_new();
    fake_world_put(&s->w, "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":"
                          "{\"name\":\"a\"}}");
    s->q = controller_new(&queue_controller, &s->w.env, &err);
    s->see = see_new(s->q, &err);
    assert_non_null(s->q);
    fake_world_put(&s->w,
                   V2 "\"kind\":\"ResourceFlavor\",\"metadata\":{\"name\":\"h200\"},\"spec\":"
                      "{\"nodeLabels\":{\"nvidia.com/gpu.product\":\"" H200 "\"}}}");
}

static void end(struct scene *s) {
    see_free(s->see);
    controller_free(s->q);
    gpu_inventory_free(s->w.env.gpus);
    virtual_free(s->virtuals);
    prom_free(s->w.env.prom);
    fake_world_release(&s->w);
    arena_release(&s->arena);
}

/* ---- what there is ---- */

static struct gpu_profile profiles[] = {H200_1G_18GB, H200_2G_35GB, H200_3G_71GB};

static struct gpu_card card(int32_t index, const char *uuid) {
    struct gpu_card c = h200_card(uuid, index, profiles, 3);
    c.temperature_c = 41;
    c.power_mw = 120400;
    return c;
}

static void node(struct scene *s, const char *name, struct gpu_card *cards, size_t n, bool ready) {
    struct inventory inv = {.gpus = cards, .n = n, .simulated = true};
    struct buf text, json;
    buf_init(&text, 0);
    buf_init(&json, 0);
    inventory_encode(&inv, &text);
    buf_f(&json,
          "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{"
          "\"nvidia.com/gpu.product\":\"" H200 "\",\"berth.dev/managed\":\"true\"},"
          "\"annotations\":{\"berth.dev/gpus\":",
          name);
    buf_json(&json, buf_view(&text));
    buf_f(&json, "}},\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"%s\"}]}}",
          ready ? "True" : "False");
    fake_world_put(&s->w, buf_cstr(&json));
    buf_release(&text);
    buf_release(&json);
}

static void plain_node(struct scene *s, const char *name, int capacity, int allocatable) {
    char json[1024];
    snprintf(
        json, sizeof json,
        "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"%s\",\"labels\":{"
        "\"nvidia.com/gpu.product\":\"" H200 "\",\"nvidia.com/gpu.memory\":\"144384\"}},"
        "\"status\":{\"capacity\":{\"nvidia.com/gpu\":\"%d\",\"nvidia.com/mig-3g.71gb\":\"2\"},"
        "\"allocatable\":{\"nvidia.com/gpu\":\"%d\",\"nvidia.com/mig-3g.71gb\":\"2\"},"
        "\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}",
        name, capacity, allocatable);
    fake_world_put(&s->w, json);
}

static void queue(struct scene *s, const char *name, int gpus) {
    char json[1024];
    snprintf(json, sizeof json,
             V2 "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
                "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":"
                "[\"nvidia.com/gpu\"],\"flavors\":[{\"name\":\"h200\",\"resources\":[{\"name\":"
                "\"nvidia.com/gpu\",\"nominalQuota\":\"%d\"}]}]}]}}",
             name, gpus);
    fake_world_put(&s->w, json);
    snprintf(json, sizeof json,
             V2 "\"kind\":\"LocalQueue\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"a\"},"
                "\"spec\":{\"clusterQueue\":\"%s\"}}",
             name, name);
    fake_world_put(&s->w, json);
}

static void workload(struct scene *s, const char *name, const char *lq, int gpus) {
    char json[1024];
    snprintf(json, sizeof json,
             V2 "\"kind\":\"Workload\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"a\"},"
                "\"spec\":{\"queueName\":\"%s\",\"active\":true,\"podSets\":"
                "[{\"name\":\"main\",\"count\":1,\"template\":{\"spec\":{\"containers\":[{\"name\":"
                "\"c\",\"image\":\"i\",\"resources\":{\"requests\":{\"nvidia.com/gpu\":\"%d\"},"
                "\"limits\":{\"nvidia.com/gpu\":\"%d\"}}}]}}}]}}",
             name, lq, gpus, gpus);
    fake_world_put(&s->w, json);
    fake_world_run(&s->w, 2 * NS_PER_SEC);
}

static struct str pod(struct scene *s, const char *name) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":\"%s\",\"namespace\":"
             "\"a\",\"annotations\":{\"kueue.x-k8s.io/workload\":\"job-%s\"}},\"spec\":{"
             "\"nodeName\":\"n1\",\"containers\":[{\"name\":\"c\",\"image\":\"i\"}]}}",
             name, name);
    return arena_str(&s->arena, fake_world_put(&s->w, json)->uid);
}

/* ---- questions ---- */

static bool may(const struct virtual_ask *q, const char *verb, const char *group,
                const char *resource, struct str ns, struct str name) {
    const struct scene *s = q->may_ctx;
    (void)verb;
    (void)group;
    (void)resource;
    (void)name;
    return s->sees == NULL || str_is(ns, s->sees);
}

static void done(void *ctx, int code, struct str json, const struct err *err) {
    struct scene *s = ctx;
    yyjson_doc *doc;
    (void)err;
    s->code = code;
    assert_int_equal(json_parse(&s->arena, arena_str(&s->arena, json), &doc, NULL), 0);
    s->root = yyjson_doc_get_root(doc);
}

static int ask(struct scene *s, const char *resource, const char *name, const char *from) {
    struct virtual_param query[] = {{STR("from"), str_of(from)}, {STR("node"), str_of(s->node)}};
    struct virtual_source *src =
        virtual_find(s->virtuals, STR("berth.dev"), str_of(resource), (struct str){0});
    struct virtual_ask q = {.verb = "get",
                            .version = STR("v1alpha1"),
                            .name = str_of(name),
                            .query = query,
                            .n_query = 2,
                            .may = may,
                            .may_ctx = s};
    struct virtual_call *call = NULL;
    struct err err = {0};
    assert_non_null(src);
    s->root = NULL;
    return src->ask(src, &q, done, s, &call, &err);
}

/* "total used reserved free waiting broken" of a resource of flavor h200. */
static const char *counts(struct scene *s, const char *resource) {
    static char text[128];
    yyjson_val *types, *t, *c;
    size_t i, n, k, m;
    assert_int_equal(ask(s, "fleets", "current", ""), 0);
    types = json_path(s->root, "types");
    yyjson_arr_foreach(types, i, n, t) {
        assert_str_eq(json_str_at(t, "flavor"), STR("h200"));
        assert_str_eq(json_str_at(t, "product"), STR(H200));
        yyjson_val *list = json_path(t, "resources");
        yyjson_arr_foreach(list, k, m, c) {
            if (str_is(json_str_at(c, "resource"), resource)) {
                snprintf(
                    text, sizeof text, "%lld %lld %lld %lld %lld %lld",
                    (long long)json_i64_at(c, "total", -1), (long long)json_i64_at(c, "used", -1),
                    (long long)json_i64_at(c, "reserved", -1),
                    (long long)json_i64_at(c, "free", -1), (long long)json_i64_at(c, "waiting", -1),
                    (long long)json_i64_at(c, "broken", -1));
                return text;
            }
        }
    }
    return "none";
}

static bool attends(struct scene *s, const char *kind, const char *name, const char *words) {
    yyjson_val *list, *e;
    size_t i, n;
    assert_int_equal(ask(s, "fleets", "current", ""), 0);
    list = json_path(s->root, "attention");
    yyjson_arr_foreach(list, i, n, e) {
        if (str_is(json_str_at(e, "kind"), kind) && str_is(json_str_at(e, "name"), name) &&
            str_contains(json_str_at(e, "text"), str_of(words))) {
            return true;
        }
    }
    return false;
}

/* ---- tests ---- */

/* n1 has GPU 0 with a 3g in use at 4 and an idle 1g at 0, and GPU 1, which is broken. */
static void two_cards(struct scene *s, struct str holder) {
    static struct gpu_instance in[2];
    static struct gpu_card cards[2];
    in[0] = (struct gpu_instance){.profile_id = 9,
                                  .start = 4,
                                  .size = 4,
                                  .pod_uid = holder,
                                  .uuid = {"MIG-1", 5},
                                  .utilization_pct = 50};
    in[1] = (struct gpu_instance){
        .profile_id = 19, .start = 0, .size = 1, .uuid = {"MIG-2", 5}, .utilization_pct = -1};
    cards[0] = card(0, "GPU-0");
    cards[0].instances = in;
    cards[0].n_instances = 2;
    cards[0].memory_used_mib = 1540;
    cards[1] = card(1, "GPU-1");
    cards[1].healthy = false;
    cards[1].trouble = STR("Xid 79");
    node(s, "n1", cards, 2, true);
}

static void cards_are_counted(void **state) {
    struct scene s;
    (void)state;
    start(&s);
    two_cards(&s, pod(&s, "p1"));
    assert_string_equal(counts(&s, "nvidia.com/gpu"), "2 1 0 0 0 1");
    assert_string_equal(counts(&s, "nvidia.com/mig-3g.71gb"), "4 1 0 1 0 2");
    assert_string_equal(counts(&s, "nvidia.com/mig-2g.35gb"), "6 0 0 2 0 3");
    assert_string_equal(counts(&s, "nvidia.com/mig-1g.18gb"), "14 0 0 4 0 7");
    yyjson_val *list = json_path(yyjson_arr_get(json_path(s.root, "types"), 0), "resources");
    static const char *const by_size[] = {"nvidia.com/gpu", "nvidia.com/mig-1g.18gb",
                                          "nvidia.com/mig-2g.35gb", "nvidia.com/mig-3g.71gb"};
    assert_int_equal(yyjson_arr_size(list), 4);
    for (size_t i = 0; i < 4; i++) {
        assert_str_eq(json_str_at(yyjson_arr_get(list, i), "resource"), str_of(by_size[i]));
    }
    struct gpu_card whole[] = {card(0, "GPU-9"), card(1, "GPU-8")};
    whole[0].pod_uid = STR("u9");
    node(&s, "n2", whole, 2, true);
    assert_string_equal(counts(&s, "nvidia.com/gpu"), "4 2 0 1 0 1");
    assert_string_equal(counts(&s, "nvidia.com/mig-3g.71gb"), "8 1 0 3 0 2");
    fake_world_patch(&s.w, "Node", "", "n2", "", "{\"spec\":{\"unschedulable\":true}}");
    assert_string_equal(counts(&s, "nvidia.com/gpu"), "4 1 0 0 0 3");
    fake_world_delete(&s.w, "Node", "", "n2", "Background");
    assert_string_equal(counts(&s, "nvidia.com/gpu"), "2 1 0 0 0 1");
    end(&s);
}

static void modes_that_cannot_change(void **state) {
    struct scene s;
    (void)state;
    start(&s);
    struct gpu_card fixed[] = {card(0, "GPU-0"), card(1, "GPU-1")};
    fixed[0].mig_managed = fixed[1].mig_managed = fixed[1].mig_enabled = false;
    node(&s, "n1", fixed, 2, true);
    assert_string_equal(counts(&s, "nvidia.com/gpu"), "1 0 0 1 0 0"); /* the second alone */
    assert_string_equal(counts(&s, "nvidia.com/mig-2g.35gb"), "3 0 0 3 0 0");
    end(&s);
}

static void holders_are_for_those_who_may(void **state) {
    struct scene s;
    yyjson_val *in;
    (void)state;
    start(&s);
    two_cards(&s, pod(&s, "p1"));
    assert_int_equal(ask(&s, "fleets", "current", ""), 0);
    in = yyjson_arr_get(json_path(yyjson_arr_get(json_path(s.root, "cards"), 0), "instances"), 0);
    assert_str_eq(json_str_at(in, "profile"), STR("3g.71gb"));
    assert_str_eq(json_str_at(in, "namespace"), STR("a"));
    assert_str_eq(json_str_at(in, "pod"), STR("p1"));
    assert_str_eq(json_str_at(in, "workload"), STR("job-p1"));
    assert_int_equal(json_i64_at(in, "utilization", -1), 50);
    s.sees = "b";
    assert_int_equal(ask(&s, "fleets", "current", ""), 0);
    yyjson_val *card0 = yyjson_arr_get(json_path(s.root, "cards"), 0);
    in = yyjson_arr_get(json_path(card0, "instances"), 0);
    assert_true(json_bool_at(in, "used", false));
    assert_null(json_get(in, STR("namespace")));
    assert_null(json_get(in, STR("pod")));
    assert_null(json_get(in, STR("workload")));
    assert_int_equal(json_i64_at(card0, "power", -1), 120);
    assert_str_eq(json_str_at(card0, "health"), STR("Healthy"));
    assert_true(yyjson_get_real(json_get(card0, STR("memoryUsed"))) == 1.5);
    assert_null(json_get(card0, STR("utilization"))); /* not known, so not 0 */
    s.sees = "a";
    assert_int_equal(ask(&s, "fleets", "current", ""), 0);
    in = yyjson_arr_get(json_path(yyjson_arr_get(json_path(s.root, "cards"), 0), "instances"), 0);
    assert_str_eq(json_str_at(in, "pod"), STR("p1"));
    assert_int_equal(ask(&s, "fleets", "other", ""), ERR_NOT_FOUND);
    s.node = "n1";
    assert_int_equal(ask(&s, "fleets", "current", ""), 0);
    assert_int_equal(yyjson_arr_size(json_path(s.root, "cards")), 2);
    s.node = "n2";
    assert_int_equal(ask(&s, "fleets", "current", ""), 0);
    assert_int_equal(yyjson_arr_size(json_path(s.root, "cards")), 0);
    assert_int_equal(yyjson_arr_size(json_path(s.root, "types")), 1);
    end(&s);
}

static void booked_places_are_kept(void **state) {
    struct scene s;
    (void)state;
    if (kind_by_name(STR("berth.dev"), STR("Reservation")) == NULL) {
        skip();
    }
    start(&s);
    two_cards(&s, pod(&s, "p1"));
    fake_world_put(
        &s.w, "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"metadata\":{"
              "\"name\":\"r\",\"namespace\":\"a\"},\"spec\":{\"start\":\"2026-01-01T10:00:00Z\","
              "\"end\":\"2026-01-01T12:00:00Z\",\"lines\":[{\"resource\":"
              "\"nvidia.com/mig-2g.35gb\",\"count\":1}]}}");
    fake_world_patch(&s.w, "Reservation", "a", "r", "status",
                     "{\"status\":{\"phase\":\"Active\",\"plan\":[{\"line\":0,\"flavor\":\"h200\","
                     "\"node\":\"n1\",\"gpu\":\"GPU-0\","
                     "\"profile\":\"2g.35gb\",\"start\":0,\"size\":2}]}}");
    assert_string_equal(counts(&s, "nvidia.com/mig-2g.35gb"), "6 0 1 1 0 3");
    assert_string_equal(counts(&s, "nvidia.com/mig-1g.18gb"), "14 0 0 2 0 7");
    assert_string_equal(counts(&s, "nvidia.com/mig-3g.71gb"), "4 1 0 0 0 2");
    assert_false(attends(&s, "Reservation", "r", ""));
    fake_world_patch(&s.w, "Reservation", "a", "r", "status",
                     "{\"status\":{\"phase\":\"Degraded\",\"message\":\"GPU 1 is lost\"}}");
    assert_true(attends(&s, "Reservation", "r", "lacks what was booked: GPU 1 is lost"));
    fake_world_patch(&s.w, "Reservation", "a", "r", "status", "{\"status\":{\"phase\":\"Ended\"}}");
    assert_string_equal(counts(&s, "nvidia.com/mig-2g.35gb"), "6 0 0 2 0 3");
    end(&s);
}

static void nodes_without_inventory(void **state) {
    struct scene s;
    struct err err = {0};
    (void)state;
    for (int shared = 0; shared < 2; shared++) {
        start(&s);
        if (shared) { /* as a cluster has it: made before the controllers */
            see_free(s.see);
            controller_free(s.q);
            s.w.env.gpus = gpu_inventory_new(s.w.mirror, NULL, &err);
            s.q = controller_new(&queue_controller, &s.w.env, &err);
            s.see = see_new(s.q, &err);
        }
        plain_node(&s, "g1", 4, 3);
        assert_string_equal(counts(&s, "nvidia.com/gpu"), "4 0 0 3 0 1");
        assert_string_equal(counts(&s, "nvidia.com/mig-3g.71gb"), "2 0 0 2 0 0");
        queue(&s, "team", 2);
        workload(&s, "runs", "team", 2);
        workload(&s, "waits", "team", 1);
        if (shared) {
            fake_world_put(&s.w, "{\"apiVersion\":\"v1\",\"kind\":\"Pod\",\"metadata\":{\"name\":"
                                 "\"p\",\"namespace\":\"a\"},\"spec\":{\"nodeName\":\"g1\","
                                 "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"resources\":{"
                                 "\"limits\":{\"nvidia.com/gpu\":\"2\"},\"requests\":{"
                                 "\"nvidia.com/gpu\":\"2\"}}}]}}");
        }
        assert_string_equal(counts(&s, "nvidia.com/gpu"), "4 2 0 1 1 1");
        assert_int_equal(yyjson_arr_size(json_path(s.root, "cards")), 0);
        assert_true(attends(&s, "Node", "g1", "1 of its 4 nvidia.com/gpu out of service"));
        end(&s);
    }
}

static void what_needs_attention(void **state) {
    struct scene s;
    struct gpu_card one = card(0, "GPU-7");
    (void)state;
    start(&s);
    two_cards(&s, pod(&s, "p1"));
    node(&s, "n2", &one, 1, false);
    assert_true(attends(&s, "Node", "n1", "GPU 1 of node n1 is out of service: Xid 79"));
    assert_true(attends(&s, "Node", "n2", "is not ready"));
    queue(&s, "team", 1);
    fake_world_put(&s.w, V2 "\"kind\":\"ClusterQueue\",\"metadata\":{\"name\":\"bad\"},\"spec\":{"
                            "\"namespaceSelector\":{},\"resourceGroups\":[{\"coveredResources\":"
                            "[\"cpu\"],\"flavors\":[{\"name\":\"nowhere\",\"resources\":[{"
                            "\"name\":\"cpu\",\"nominalQuota\":\"1\"}]}]}]}}");
    fake_world_run(&s.w, 3 * NS_PER_SEC);
    assert_true(attends(&s, "ClusterQueue", "bad", "admits nothing"));
    assert_false(attends(&s, "ClusterQueue", "team", ""));
    workload(&s, "big", "team", 9);
    assert_false(attends(&s, "Workload", "big", ""));
    fake_world_run(&s.w, 31 * 60 * NS_PER_SEC);
    assert_true(attends(&s, "Workload", "big", "waits for 31 minutes"));
    s.sees = "b";
    assert_false(attends(&s, "Workload", "big", ""));
    assert_false(attends(&s, "ClusterQueue", "bad", ""));
    end(&s);
}

static void a_day_of_samples(void **state) {
    struct scene s;
    (void)state;
    start(&s);
    two_cards(&s, pod(&s, "p1"));
    fake_world_run(&s.w, 5 * 60 * NS_PER_SEC);
    assert_int_equal(ask(&s, "fleethistories", "h200", ""), 0);
    yyjson_val *samples = json_path(s.root, "samples"), *last = yyjson_arr_get_last(samples);
    assert_true(yyjson_arr_size(samples) >= 5 && yyjson_arr_size(samples) <= 6);
    assert_int_equal(json_i64_at(last, "total", 0), 2);
    assert_true(yyjson_get_real(json_get(last, STR("used"))) == 0.5);
    assert_int_equal(json_i64_at(last, "busyPct", 0), 25); /* half the card half busy */
    fake_world_run(&s.w, (int64_t)25 * 3600 * NS_PER_SEC);
    assert_int_equal(ask(&s, "fleethistories", "", ""), 0);
    samples = json_path(yyjson_arr_get(json_path(s.root, "items"), 0), "samples");
    assert_int_equal(yyjson_arr_size(samples), 24 * 60);
    assert_int_equal(ask(&s, "fleethistories", "", "soon"), ERR_BAD_REQUEST);
    assert_int_equal(ask(&s, "fleethistories", "other", ""), ERR_NOT_FOUND);
    end(&s);
}

static void told(void *ctx, int code, struct str json, const struct err *err) {
    struct scene *s = ctx;
    (void)err;
    s->code = code;
    assert_true(json.n > 0);
}

/* Each allocation of a question fails once: an answer, or out of memory, and the next question is answered. */
static void without_memory(void **state) {
    struct scene s;
    struct virtual_call *call = NULL;
    struct err err = {0};
    bool hit = true;
    (void)state;
    start(&s);
    two_cards(&s, pod(&s, "p1"));
    struct virtual_source *src =
        virtual_find(s.virtuals, STR("berth.dev"), STR("fleets"), (struct str){0});
    struct virtual_ask q = {.verb = "get", .name = STR("current"), .may = may, .may_ctx = &s};
    for (uint64_t nth = 1; hit; nth++) {
        char patch[80]; /* so that the node is read again */
        snprintf(patch, sizeof patch, "{\"metadata\":{\"labels\":{\"x\":\"%d\"}}}", (int)nth);
        fake_world_patch(&s.w, "Node", "", "n1", "", patch);
        mem_fault(nth, 0);
        int r = src->ask(src, &q, told, &s, &call, &err);
        hit = mem_fault_hit();
        mem_fault(0, 0);
        assert_true(r == 0 || r == ERR_NOMEM);
        assert_true(nth < 1000);
    }
    assert_string_equal(counts(&s, "nvidia.com/gpu"), "2 1 0 0 0 1");
    end(&s);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cards_are_counted),
        cmocka_unit_test(modes_that_cannot_change),
        cmocka_unit_test(holders_are_for_those_who_may),
        cmocka_unit_test(booked_places_are_kept),
        cmocka_unit_test(nodes_without_inventory),
        cmocka_unit_test(what_needs_attention),
        cmocka_unit_test(a_day_of_samples),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
