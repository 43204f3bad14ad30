/*
 * A month of random bookings in the simulated world, with the planner, the makers of queues and the queue engine at
 * work and best-effort work that borrows all that is idle: each booking's own work is admitted within ten seconds of
 * its start (pods end at once here: there is no grace to add), and no slice is ever planned twice.
 */
#include "sim/sim.h"

#include "api/h200_fixture.h"
#include "base/mem.h"
#include "base/prng.h"
#include "base/test.h"
#include "wire/text/time.h"

enum { GPUS = 2, BOOKINGS = 400, DAYS = 31, BORROWERS = 120, LATE_S = 10, MOST_PLACES = 20000 };
#define EPOCH INT64_C(1767225600) /* 2026-01-01T00:00:00Z, when the world begins */

static const struct {
    const char *resource;
    int32_t size;
} kinds[] = {{"nvidia.com/gpu", 8}, {"nvidia.com/mig-2g.35gb", 2}, {"nvidia.com/mig-3g.71gb", 4}};

static struct gpu_profile profiles[] = {H200_1G_18GB, H200_2G_35GB, H200_3G_71GB, H200_7G_141GB};

struct month {
    struct arena arena;
    struct log log;
    struct sim *s;
    int64_t starts[BOOKINGS];
};
static struct month w;

static void log_line(struct log *l, enum log_level level, struct str line) {
    print_message("log: %.*s\n", STR_ARG(line));
}

static void at(int64_t second, struct str yaml) {
    struct err err = {0};
    struct manifests *m = ARENA_NEW(&w.arena, struct manifests);
    assert_ok(manifests_read(&w.arena, "test", yaml, m, &err), &err);
    for (size_t i = 0; i < m->n; i++) {
        assert_ok(sim_at(w.s, second * NS_PER_SEC, SIM_APPLY, &m->v[i], &err), &err);
    }
}

static void node(void) {
    struct gpu_card cards[GPUS] = {0};
    char uuids[GPUS][16];
    struct inventory inv = {.gpus = cards, .n = GPUS, .simulated = true};
    struct buf text, b;
    for (int i = 0; i < GPUS; i++) {
        (void)snprintf(uuids[i], sizeof uuids[i], "GPU-%d", i);
        cards[i] = h200_card(uuids[i], i, profiles, sizeof profiles / sizeof *profiles);
    }
    buf_init(&text, 0);
    buf_init(&b, 0);
    inventory_encode(&inv, &text);
    buf_c(&b, "{\"apiVersion\":\"v1\",\"kind\":\"Node\",\"metadata\":{\"name\":\"n1\",\"labels\":{"
              "\"nvidia.com/gpu.product\":\"NVIDIA-H200\",\"berth.dev/managed\":\"true\"},"
              "\"annotations\":{\"berth.dev/gpus\":");
    buf_json(&b, buf_view(&text));
    buf_c(&b, "}},\"status\":{\"allocatable\":{\"cpu\":\"512\",\"memory\":\"4000Gi\",\"pods\":"
              "\"500\"},\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}]}}");
    at(0, arena_str(&w.arena, buf_view(&b)));
    buf_release(&text);
    buf_release(&b);
}

static void quotas(void) {
    at(0, STR("apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\n"
              "metadata: {name: nvidia-h200}\n"
              "spec: {nodeLabels: {nvidia.com/gpu.product: NVIDIA-H200}}\n---\n"
              "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Cohort\nmetadata: {name: pool}\nspec:\n"
              "  resourceGroups:\n"
              "  - coveredResources: [nvidia.com/gpu, nvidia.com/mig-2g.35gb, "
              "nvidia.com/mig-3g.71gb]\n"
              "    flavors: [{name: nvidia-h200, resources: [{name: nvidia.com/gpu, nominalQuota: "
              "2}, {name: nvidia.com/mig-2g.35gb, nominalQuota: 6}, {name: "
              "nvidia.com/mig-3g.71gb, nominalQuota: 4}]}]\n---\n"
              "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\n"
              "metadata: {name: default}\nspec:\n  cohortName: pool\n  namespaceSelector: {}\n"
              "  resourceGroups:\n"
              "  - coveredResources: [nvidia.com/gpu, nvidia.com/mig-2g.35gb, "
              "nvidia.com/mig-3g.71gb]\n"
              "    flavors: [{name: nvidia-h200, resources: [{name: nvidia.com/gpu, nominalQuota: "
              "0}, {name: nvidia.com/mig-2g.35gb, nominalQuota: 0}, {name: "
              "nvidia.com/mig-3g.71gb, nominalQuota: 0}]}]\n---\n"
              "apiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\n"
              "metadata: {name: default, namespace: default}\nspec: {clusterQueue: default}\n"));
}

static struct str workload(const char *ns, const char *name, const char *queue,
                           const char *resource, int64_t seconds) {
    return arena_f(&w.arena,
                   "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Workload\nmetadata:\n"
                   "  name: %s\n  namespace: %s\n"
                   "  annotations: {berth.dev/runtime: %llds}\nspec:\n  queueName: %s\n"
                   "  podSets: [{name: main, count: 1, template: {spec: {restartPolicy: Never, "
                   "containers: [{name: c, image: i, resources: {requests: {%s: 1}, limits: "
                   "{%s: 1}}}]}}}]\n",
                   name, ns, (long long)seconds, queue, resource, resource);
}

/* A booking, made some time before it starts, and its work, which is sent when it begins. Each is of somebody else: who
 * books on and on keeps the queue of the first booking. */
static void book(struct prng *r, int i) {
    size_t k = prng_below(r, 3);
    int64_t start = 3600 + (int64_t)prng_below(r, (DAYS - 3) * 96) * 900;
    int64_t length = 1800 + (int64_t)prng_below(r, 40) * 900;
    int64_t made = start > 90000 ? start - 900 - (int64_t)prng_below(r, 86400) : 60;
    char name[32], queue[40], job[40], from[TIME_TEXT_MAX], to[TIME_TEXT_MAX];
    (void)snprintf(name, sizeof name, "b%d", i);
    (void)snprintf(queue, sizeof queue, "rsv-b%d", i);
    (void)snprintf(job, sizeof job, "work-b%d", i);
    (void)time_text((EPOCH + start) * NS_PER_SEC, from);
    (void)time_text((EPOCH + start + length) * NS_PER_SEC, to);
    w.starts[i] = EPOCH + start;
    at(made, arena_f(&w.arena,
                     "apiVersion: berth.dev/v1alpha1\nkind: Reservation\nmetadata: {name: %s, "
                     "namespace: team, annotations: {berth.dev/requested-by: u%d}}\nspec: {start: "
                     "\"%s\", end: \"%s\", lines: [{resource: %s, count: 1}]}\n",
                     name, i, from, to, kinds[k].resource));
    at(start + 1, workload("team", job, queue, kinds[k].resource, length / 2));
}

/* ---- what came of it ---- */

struct place {
    int64_t start, end;
    struct str gpu, name;
    int32_t from, size;
};
struct result {
    struct place *places;
    size_t n;
    int had, late, without;
};

static int64_t time_of(yyjson_val *v, const char *dotted) {
    int64_t ns;
    return time_parse(json_str_at(v, dotted), &ns, NULL) == 0 ? ns / NS_PER_SEC : 0;
}

static void places_of(struct result *res, yyjson_val *root, struct str name) {
    yyjson_val *list = json_path(root, "status.plan"), *p;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, p) {
        bool whole = json_str_at(p, "profile").n == 0;
        assert_true(res->n < MOST_PLACES);
        res->places[res->n++] =
            (struct place){.start = time_of(root, "status.start"),
                           .end = time_of(root, "status.end"),
                           .gpu = json_str_at(p, "gpu"),
                           .name = name,
                           .from = whole ? 0 : (int32_t)json_i64_at(p, "start", 0),
                           .size = whole ? 8 : (int32_t)json_i64_at(p, "size", 8)};
    }
}

static bool look(void *ctx, const struct object *o) {
    struct result *res = ctx;
    yyjson_doc *d;
    char name[64];
    assert_int_equal(object_tree(o, &w.arena, &d, NULL), 0);
    yyjson_val *root = yyjson_doc_get_root(d);
    if (time_of(root, "status.activeAt") == 0) {
        return true;
    }
    res->had++;
    places_of(res, root, o->name);
    (void)snprintf(name, sizeof name, "work-%.*s", STR_ARG(o->name));
    int64_t start = time_of(root, "status.start");
    const struct ledger_work *lw = NULL;
    struct ledger *l = sim_ledger(w.s);
    for (size_t i = 0; i < l->in_order.n && lw == NULL; i++) {
        lw = str_eq(l->in_order.v[i]->name, str_of(name)) ? l->in_order.v[i] : NULL;
    }
    int64_t got = lw && lw->first_started >= 0 ? EPOCH + lw->first_started / NS_PER_SEC : 0;
    if (got == 0) {
        print_message("%s: never admitted; phase %.*s\n", name,
                      STR_ARG(json_str_at(root, "status.phase")));
        res->without++;
    } else if (got > start + LATE_S) {
        print_message("%s: %lld s late\n", name, (long long)(got - start));
        res->late++;
    }
    return true;
}

static void no_slice_twice(const struct result *res) {
    for (size_t i = 0; i < res->n; i++) {
        for (size_t k = i + 1; k < res->n; k++) {
            const struct place *a = &res->places[i], *b = &res->places[k];
            bool both = str_eq(a->gpu, b->gpu) && a->start < b->end && b->start < a->end &&
                        a->from < b->from + b->size && b->from < a->from + a->size;
            if (both) {
                fail_msg("%.*s and %.*s have the same slices", STR_ARG(a->name), STR_ARG(b->name));
            }
        }
    }
}

static void a_month_of_bookings(void **state) {
    struct err err = {0};
    struct prng r;
    struct result res = {0};
    enum sim_end end;
    w = (struct month){.log = {.level = LOG_WARN, .write = log_line}};
    struct sim_options o = {.runtime_ns = 60 * NS_PER_SEC,
                            .until_ns = (int64_t)DAYS * 86400 * NS_PER_SEC,
                            .latency_ns = NS_PER_MS,
                            .log = &w.log};
    arena_init(&w.arena, (size_t)1 << 30);
    prng_seed(&r, 2026);
    w.s = sim_new(&o, &err);
    assert_ok(w.s ? 0 : err.code, &err);
    node();
    quotas();
    for (int i = 0; i < BOOKINGS; i++) {
        book(&r, i);
    }
    for (int i = 0; i < BORROWERS; i++) { /* who has no booking takes what is idle */
        char name[32];
        (void)snprintf(name, sizeof name, "free%d", i);
        at((int64_t)prng_below(&r, DAYS * 86400),
           workload("default", name, "default", kinds[prng_below(&r, 3)].resource,
                    3600 + (int64_t)prng_below(&r, 6 * 3600)));
    }
    assert_ok(sim_run(w.s, &end, &err), &err);
    res.places = ARENA_ARRAY(&w.arena, struct place, MOST_PLACES);
    mirror_scan(sim_mirror(w.s), kind_by_name(STR("berth.dev"), STR("Reservation")), STR(""), look,
                &res);
    print_message("%d of %d bookings had their time; %d late, %d without\n", res.had, BOOKINGS,
                  res.late, res.without);
    assert_true(res.had > BOOKINGS / 2);
    no_slice_twice(&res);
    assert_int_equal(res.late, 0);
    assert_int_equal(res.without, 0);
    sim_free(w.s);
    arena_release(&w.arena);
}

int main(void) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_month_of_bookings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
