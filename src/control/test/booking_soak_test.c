/*
 * Bookings in a world that breaks at random: they are made, changed, cancelled and deleted, and so are their objects,
 * windows and the policy, while work comes and goes, nodes fail, writes fail and leaders change. At every revision we
 * oversell nothing; each second the calendar proves what it promised. Then faults stop: what is booked is there, in the
 * end nothing is left of it, and the pool has all of the hardware. A run is its seed:
 * control-booking_soak-test [SEED [COUNT]].
 */
#include <stdlib.h>

#include "base/mem.h"
#include "base/test.h"
#include "control/berths/booking_objects.h"
#include "control/book/reservation.h"
#include "control/control.h"
#include "control/kit/controller.h"
#include "control/test/soak_nodes.h"
#include "core/calendar/calendar.h"
#include "wire/text/time.h"

#define KUEUE "\"apiVersion\":\"kueue.x-k8s.io/v1beta2\",\"kind\":"

enum {
    STEPS = 50,
    SEEDS = 30,
    QUIET_S = 12,
    DEVICES = SOAK_RESOURCES - 2, /* but for cpu and memory */
    OWNERS = 128,                 /* ClusterQueues and Cohorts */
};

/* What one of them has as its own. */
struct owner {
    char name[64];
    bool cohort;
    int64_t nominal[SOAK_FLAVORS][DEVICES];
};

struct run {
    struct soak s; /* first */
    struct control *rest, *queues;
    struct reservation_controller *planner;
    struct booking_objects_controller *objects;
    struct feed *feed;
    struct owner owners[OWNERS];
    int n_owners;
    /* When somebody else last took hardware, or quota: what was on its way may be too much */
    int64_t changed_ns;
    bool mine; /* a user writes */
    char term[16];
    int serial;
};

static uint64_t first_seed = 1, seeds = SEEDS;
static uint64_t seen[5];

static int below(struct run *x, int n) {
    return (int)prng_below(&x->s.r, (uint64_t)n);
}

/* ---- nothing is oversold ---- */

static int64_t hardware(const struct run *x, int f, int d) {
    int64_t most = d == 0 ? 1 : soak_profiles[d - 1].max_instances, sum = 0;
    for (int n = 0; n < SOAK_NODES; n++) {
        sum += x->s.there[n] && (n == 1) == (f == 1) ? SOAK_GPUS * most : 0;
    }
    return sum;
}

static int64_t all_nominal(const struct run *x, int f, int d) {
    int64_t sum = 0;
    for (int i = 0; i < x->n_owners; i++) {
        sum += x->owners[i].nominal[f][d];
    }
    return sum;
}

static void nominal_read(struct owner *w, yyjson_val *root) {
    yyjson_val *group, *flavor, *resource;
    size_t i, n, j, m, k, l;
    yyjson_arr_foreach(json_path(root, "spec.resourceGroups"), i, n, group) {
        yyjson_arr_foreach(json_get(group, STR("flavors")), j, m, flavor) {
            int f = json_str_at(flavor, "name").p[1] - '0';
            yyjson_arr_foreach(json_get(flavor, STR("resources")), k, l, resource) {
                int64_t v = 0;
                (void)str_to_i64(json_str_at(resource, "nominalQuota"), &v);
                for (int d = 0; d < DEVICES; d++) {
                    bool is = str_is(json_str_at(resource, "name"), soak_resources[2 + d]);
                    w->nominal[f][d] += is ? v : 0;
                }
            }
        }
    }
}

/* How far bookings came, in all runs: a run in which all are refused tells nothing. */
static void count_phase(const struct change *ch) {
    static const char *const phases[] = {"Active", "Degraded", "Ending", "Released", "Rejected"};
    for (int i = 0; i < 5; i++) {
        char like[32];
        snprintf(like, sizeof like, "\"phase\":\"%s\"", phases[i]);
        seen[i] += str_contains(ch->obj->json, str_of(like)) &&
                   (ch->old == NULL || !str_contains(ch->old->json, str_of(like)));
    }
}

static void on_owner(void *ctx, const struct change *ch) {
    struct run *x = ctx;
    bool cohort = strcmp(ch->obj->kind->kind, "Cohort") == 0;
    struct owner now = {.cohort = cohort};
    struct err err = {0};
    yyjson_doc *d;
    int at = 0;
    if (strcmp(ch->obj->kind->kind, "Reservation") == 0) {
        count_phase(ch);
    }
    if (!cohort && strcmp(ch->obj->kind->kind, "ClusterQueue") != 0) {
        return;
    }
    str_copy(ch->obj->name, now.name, sizeof now.name);
    while (at < x->n_owners &&
           (x->owners[at].cohort != cohort || strcmp(x->owners[at].name, now.name) != 0)) {
        at++;
    }
    assert_true(at < OWNERS);
    x->n_owners += at == x->n_owners;
    if (ch->type != CHANGE_DELETED) {
        arena_reset(&x->s.arena);
        assert_ok(object_tree(ch->obj, &x->s.arena, &d, &err), &err);
        nominal_read(&now, yyjson_doc_get_root(d));
    }
    int64_t before[SOAK_FLAVORS][DEVICES];
    for (int i = 0; i < SOAK_FLAVORS * DEVICES; i++) {
        before[i / DEVICES][i % DEVICES] = all_nominal(x, i / DEVICES, i % DEVICES);
    }
    x->owners[at] = now;
    for (int i = 0; i < SOAK_FLAVORS * DEVICES; i++) {
        int f = i / DEVICES, r = i % DEVICES;
        int64_t sum = all_nominal(x, f, r);
        bool late = x->s.w.clock.now <= x->changed_ns + 3 * x->s.w.writer.latency_ns;
        if (sum > before[f][r] && sum > hardware(x, f, r) && !x->mine && !late) {
            soak_fail(&x->s, "%s %s: %lld of %s in f%d are owned, there are %lld",
                      ch->obj->kind->kind, now.name, (long long)sum, soak_resources[2 + r], f,
                      (long long)hardware(x, f, r));
        }
    }
    if (ch->type == CHANGE_DELETED) {
        x->owners[at] = x->owners[--x->n_owners];
    }
}

/* ---- controllers ---- */

enum { PART_REST, PART_QUEUES, PART_PLANNER, PART_OBJECTS, PARTS };

static void part_start(struct run *x, int part) {
    struct err err = {0};
    unsigned without = CONTROL_DEFAULTS | CONTROL_QUEUES | CONTROL_RESERVATIONS;
    switch (part) {
    case PART_REST:
        x->rest = control_new(&x->s.w.env, CONTROL_ALL & ~without, &err);
        break;
    case PART_QUEUES:
        x->queues = control_new(&x->s.w.env, CONTROL_QUEUES, &err);
        break;
    case PART_PLANNER:
        x->planner = controller_new(&reservation_controller, &x->s.w.env, &err);
        break;
    default:
        snprintf(x->term, sizeof x->term, "leader-%d", ++x->serial);
        x->s.w.env.term = str_of(x->term);
        x->objects = controller_new(&booking_objects_controller, &x->s.w.env, &err);
    }
    assert_ok(err.code, &err);
}

static void part_stop(struct run *x, int part) {
    switch (part) {
    case PART_REST:
        control_free(x->rest);
        break;
    case PART_QUEUES:
        control_free(x->queues);
        break;
    case PART_PLANNER:
        controller_free(x->planner);
        break;
    default:
        controller_free(x->objects);
    }
}

/* What was on its way arrives before anything is read again; but quota that a leader before moves may land whenever. */
static void restart(struct run *x, int part) {
    part_stop(x, part);
    if (part != PART_OBJECTS || below(x, 2)) {
        fake_world_run(&x->s.w, x->s.w.writer.latency_ns);
    }
    part_start(x, part);
}

static void second(struct run *x) {
    struct err err = {0};
    fake_world_run(&x->s.w, NS_PER_SEC);
    soak_hands(&x->s);
    if (calendar_verify(reservation_controller_calendar(x->planner), &err) != 0) {
        soak_fail(&x->s, "the calendar: %s", err.text);
    }
}

/* ---- queues ---- */

/* Of each device so many; in the pool, or (a team's) from it. */
static void cluster_write(struct run *x, const char *name, const int quota[SOAK_FLAVORS][DEVICES]) {
    struct buf b;
    buf_init(&b, 0);
    buf_f(&b,
          "{" KUEUE "\"ClusterQueue\",\"metadata\":{\"name\":\"%s\"},\"spec\":{"
          "\"namespaceSelector\":{},\"cohortName\":\"pool\",\"resourceGroups\":[{"
          "\"coveredResources\":[",
          name);
    for (int r = 0; r < SOAK_RESOURCES; r++) {
        buf_f(&b, "%s\"%s\"", r ? "," : "", soak_resources[r]);
    }
    buf_c(&b, "],\"flavors\":[");
    for (int f = 0; f < SOAK_FLAVORS; f++) {
        buf_f(&b, "%s{\"name\":\"f%d\",\"resources\":[", f ? "," : "", f);
        for (int r = 0; r < SOAK_RESOURCES; r++) {
            buf_f(&b, "%s{\"name\":\"%s\",\"nominalQuota\":\"%d\"}", r ? "," : "",
                  soak_resources[r], r < 2 ? 0 : quota[f][r - 2]);
        }
        buf_c(&b, "]}");
    }
    buf_c(&b, "]}],\"preemption\":{\"reclaimWithinCohort\":\"Any\"}}}");
    x->mine = true;
    x->changed_ns = x->s.w.clock.now;
    if (fake_world_get(&x->s.w, "ClusterQueue", "", name)) {
        fake_world_patch(&x->s.w, "ClusterQueue", "", name, "", buf_cstr(&b));
    } else {
        fake_world_put(&x->s.w, buf_cstr(&b));
    }
    x->mine = false;
    buf_release(&b);
}

static void team_edit(struct run *x) {
    int quota[SOAK_FLAVORS][DEVICES] = {{0}};
    for (int i = below(x, 4); i > 0; i--) {
        quota[below(x, SOAK_FLAVORS)][below(x, DEVICES)] = below(x, 3);
    }
    cluster_write(x, "team", quota);
}

static void project_write(struct run *x, int i) {
    static const char *const queues[] = {"shared", "team"};
    char json[512], space[8];
    snprintf(space, sizeof space, "ns%d", i);
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"v1\",\"kind\":\"Namespace\",\"metadata\":{\"name\":\"%s\","
             "\"labels\":{\"kubernetes.io/metadata.name\":\"%s\"}},\"spec\":{\"finalizers\":["
             "\"kubernetes\"]}}",
             space, space);
    const struct object *n = fake_world_get(&x->s.w, "Namespace", "", space);
    if (n != NULL && n->deleting_ns != 0) {
        return;
    }
    if (n == NULL) {
        fake_world_put(&x->s.w, json);
    }
    for (int q = 0; q < 2; q++) {
        snprintf(json, sizeof json,
                 "{" KUEUE "\"LocalQueue\",\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\"},"
                 "\"spec\":{\"clusterQueue\":\"%s\"}}",
                 queues[q], space, queues[q]);
        if (fake_world_get(&x->s.w, "LocalQueue", space, queues[q]) == NULL) {
            fake_world_put(&x->s.w, json);
        }
    }
}

/* ---- what people do ---- */

struct pick {
    struct run *x;
    const struct object *o;
    const char *like; /* what its text has */
    int n;
};

static bool pick_each(void *ctx, const struct object *o) {
    struct pick *p = ctx;
    if (str_contains(o->json, str_of(p->like))) {
        p->n++;
        p->o = below(p->x, p->n) == 0 ? o : p->o;
    }
    return true;
}

/* One of a kind at random; its name and namespace are copied. */
static bool pick(struct run *x, const char *kind, const char *like, char ns[16], char name[300]) {
    struct pick p = {.x = x, .like = like};
    mirror_scan(x->s.w.mirror, fake_world_kind(kind), STR(""), pick_each, &p);
    return p.o && str_copy(p.o->ns, ns, 16) && str_copy(p.o->name, name, 300);
}

static bool open_project(struct run *x, char space[16]) {
    snprintf(space, 16, "ns%d", below(x, 2));
    const struct object *n = fake_world_get(&x->s.w, "Namespace", "", space);
    return n != NULL && n->deleting_ns == 0;
}

/* On the grid of the policy: a minute. */
static const char *when(struct run *x, int in_s) {
    static char texts[4][TIME_TEXT_MAX];
    static int next;
    char *text = texts[next++ % 4];
    int64_t s = clock_wall(&x->s.w.clock.clock) / NS_PER_SEC + in_s;
    return time_text(s / 60 * 60 * NS_PER_SEC, text).p;
}

static void booking_put(struct run *x) {
    static const char *const policies[] = {"demote", "drain", "hard"};
    static const char *const more[] = {"",
                                       ",\"exclusive\":true",
                                       ",\"waitlist\":true",
                                       ",\"autoExtend\":{\"max\":\"10m\"}",
                                       ",\"noShow\":{\"after\":\"1m\",\"action\":\"release\"}",
                                       ",\"class\":\"production\""};
    char json[1024], space[16];
    int in_s = below(x, 200), for_s = 60 + below(x, 300);
    if (!open_project(x, space)) {
        return;
    }
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"Reservation\",\"metadata\":{"
             "\"namespace\":\"%s\",\"name\":\"r%d\",\"annotations\":{\"berth.dev/requested-by\":"
             "\"u\"}},\"spec\":{\"start\":\"%s\",\"end\":\"%s\",\"lines\":[{\"resource\":\"%s\","
             "\"count\":%d}],\"endPolicy\":\"%s\"%s}}",
             space, ++x->serial, when(x, in_s), when(x, in_s + for_s),
             soak_resources[2 + below(x, DEVICES)], 1 + (below(x, 4) == 0), policies[below(x, 3)],
             more[below(x, 6)]);
    fake_world_put(&x->s.w, json);
}

static void booking_edit(struct run *x) {
    char ns[16], name[300], json[200];
    if (!pick(x, "Reservation", "", ns, name)) {
        return;
    }
    switch (below(x, 4)) {
    case 0:
        fake_world_delete(&x->s.w, "Reservation", ns, name, "Background");
        break;
    case 1:
        fake_world_patch(&x->s.w, "Reservation", ns, name, "",
                         "{\"spec\":{\"cancel\":{\"reason\":\"x\"}}}");
        break;
    default:
        snprintf(json, sizeof json, "{\"spec\":{\"end\":\"%s\"}}", when(x, 30 + below(x, 400)));
        fake_world_patch(&x->s.w, "Reservation", ns, name, "", json);
    }
}

/* Somebody deletes or edits what is not his. */
static void objects_edit(struct run *x) {
    static const char *const kinds[] = {"ClusterQueue", "LocalQueue", "HardwareProfile"};
    int kind = below(x, 3);
    char ns[16], name[300];
    if (!pick(x, kinds[kind], "\"berth.dev/reservation\"", ns, name)) {
        return;
    }
    x->mine = true;
    if (below(x, 2)) {
        fake_world_delete(&x->s.w, kinds[kind], ns, name, "Background");
    } else if (kind < 2) {
        fake_world_patch(&x->s.w, kinds[kind], ns, name, "",
                         "{\"spec\":{\"stopPolicy\":\"HoldAndDrain\"}}");
    }
    x->mine = false;
}

static void job_put(struct run *x) {
    char json[2048], ns[16], space[16], name[300], queue[310], devices[128] = "";
    int kind = below(x, DEVICES + 2);
    if (below(x, 3) && pick(x, "Reservation", "\"localQueue\":\"rsv-", ns, name)) {
        snprintf(queue, sizeof queue, "rsv-%s", name);
        snprintf(space, sizeof space, "%s", ns);
    } else {
        snprintf(queue, sizeof queue, "%s", below(x, 2) ? "shared" : "team");
    }
    if (queue[0] != 'r' && !open_project(x, space)) {
        return;
    }
    const struct object *n = fake_world_get(&x->s.w, "Namespace", "", space);
    if (n == NULL || n->deleting_ns != 0) {
        return;
    }
    if (kind < DEVICES) {
        snprintf(devices, sizeof devices, ",\"%s\":\"1\"", soak_resources[2 + kind]);
    }
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"batch/v1\",\"kind\":\"Job\",\"metadata\":{\"name\":\"j%d\","
             "\"namespace\":\"%s\",\"labels\":{\"kueue.x-k8s.io/queue-name\":\"%s\"}},\"spec\":"
             "{\"suspend\":true,\"backoffLimit\":1000,\"completions\":%d,\"parallelism\":%d,"
             "\"template\":{\"spec\":{\"restartPolicy\":\"Never\",\"containers\":[{\"name\":\"c\","
             "\"image\":\"i\",\"resources\":{\"requests\":{\"cpu\":\"%dm\",\"memory\":\"1Gi\"%s},"
             "\"limits\":{\"memory\":\"16Gi\"%s}}}]}}}}",
             ++x->serial, space, queue, 1 + below(x, 2), 1 + below(x, 2), 100 + below(x, 900),
             devices, devices);
    fake_world_put(&x->s.w, json);
}

static void job_delete(struct run *x) {
    char ns[16], name[300];
    if (pick(x, "Job", "", ns, name)) {
        fake_world_delete(&x->s.w, "Job", ns, name, below(x, 2) ? "Background" : "Foreground");
    }
}

static void policy_write(struct run *x, int overstay_s, bool once) {
    char json[512];
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ReservationPolicy\",\"metadata\":{"
             "\"name\":\"default\"},\"spec\":{\"granularity\":\"1m\",\"minDuration\":\"1m\","
             "\"prepLead\":\"20s\",\"overstay\":\"%ds\",\"warnings\":[\"40s\",\"20s\"]}}",
             overstay_s);
    if (once) {
        fake_world_put(&x->s.w, json);
    } else {
        fake_world_patch(&x->s.w, "ReservationPolicy", "", "default", "", json);
    }
}

static void window_write(struct run *x) {
    char ns[16], name[300], json[512];
    if (below(x, 2) && pick(x, "CapacityWindow", "", ns, name)) {
        fake_world_delete(&x->s.w, "CapacityWindow", "", name, "");
        return;
    }
    snprintf(json, sizeof json,
             "{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"CapacityWindow\",\"metadata\":{"
             "\"name\":\"w%d\"},\"spec\":{\"type\":\"Maintenance\",\"start\":\"%s\",\"end\":\"%s\","
             "\"nodes\":[\"n%d\"],\"force\":%s}}",
             ++x->serial, when(x, below(x, 100)), when(x, 100 + below(x, 200)),
             below(x, SOAK_NODES), below(x, 2) ? "true" : "false");
    fake_world_put(&x->s.w, json);
}

static void people(struct run *x) {
    int what = below(x, 20);
    if (what < 6) {
        booking_put(x);
    } else if (what < 9) {
        booking_edit(x);
    } else if (what < 11) {
        objects_edit(x);
    } else if (what < 16) {
        job_put(x);
    } else if (what == 16) {
        job_delete(x);
    } else if (what == 17) {
        team_edit(x);
    } else if (what == 18) {
        policy_write(x, 20 + below(x, 100), false);
    } else {
        window_write(x);
    }
}

static void step(struct run *x) {
    int what = below(x, 12);
    for (int i = below(x, 5); i > 0; i--) {
        people(x);
    }
    if (what < 2) {
        x->changed_ns = x->s.w.clock.now;
        soak_node_break(&x->s);
    } else if (what < 4) {
        restart(x, below(x, PARTS));
    } else if (what < 7) {
        x->s.w.fail_at = 1 + (uint64_t)below(x, 6);
        x->s.w.fault = (enum fake_fault)below(x, 3);
    } else if (what == 7 && below(x, 6) == 0 && fake_world_get(&x->s.w, "Namespace", "", "ns1")) {
        fake_world_delete(&x->s.w, "Namespace", "", "ns1", "Background");
    } else if (what == 8) {
        project_write(x, 1);
    }
    x->s.ends = below(x, 2);
    for (int i = below(x, 16); i > 0; i--) {
        second(x);
    }
    fake_world_run(&x->s.w, below(x, 4) * x->s.w.writer.latency_ns);
}

/* ---- the end ---- */

static void until_quiet(struct run *x, int most_s) {
    uint64_t writes = x->s.w.writes;
    for (int quiet = 0; quiet < QUIET_S; quiet++) {
        second(x);
        if (x->s.w.writes != writes) {
            writes = x->s.w.writes;
            quiet = 0;
        }
        if (--most_s == 0) {
            soak_fail(&x->s, "no end of writing");
        }
    }
}

static void heal(struct run *x) {
    x->s.w.fail_at = 0;
    x->s.ends = false;
    x->s.calm = true;
    x->changed_ns = x->s.w.clock.now;
    for (int n = 0; n < SOAK_NODES; n++) {
        x->s.ready[n] = true;
        x->s.away[n] = false;
        for (int g = 0; g < SOAK_GPUS; g++) {
            soak_gpu_set(&x->s, n, g, true);
        }
        soak_node_write(&x->s, n);
    }
    cluster_write(x, "team", (int[SOAK_FLAVORS][DEVICES]){{0}});
    project_write(x, 1);
}

/* One that has its time and its place now, and not all that it booked. What lost its place while things were broken may
 * find it taken by others that have begun since. */
static bool lacks(void *ctx, const struct object *o) {
    const struct object **found = ctx;
    bool ready = strcmp(fake_world_text(o, "status.objects.ready"), "true") == 0;
    bool active = strcmp(fake_world_text(o, "status.phase"), "Active") == 0;
    bool degraded = strcmp(fake_world_text(o, "status.phase"), "Degraded") == 0 &&
                    strcmp(fake_world_text(o, "status.reason"), "HardwareLost") != 0;
    *found = (active && !ready) || degraded ? o : *found;
    return true;
}

/* Nothing is broken any more: what has its time gets all of it. */
static void all_there(struct run *x) {
    const struct object *o = NULL;
    for (int i = 0; i < 60; i++) {
        second(x);
        o = NULL;
        mirror_scan(x->s.w.mirror, fake_world_kind("Reservation"), STR(""), lacks, &o);
        if (o == NULL || fake_world_count(&x->s.w, "CapacityWindow") > 0) {
            return;
        }
    }
    soak_fail(&x->s, "reservation %.*s lacks something: %.*s", STR_ARG(o->name), STR_ARG(o->json));
}

static bool is_over(void *ctx, const struct object *o) {
    static const char *const over[] = {"Ended", "Rejected", "Cancelled", "Released", "Expired"};
    struct run *x = ctx;
    bool found = false;
    for (size_t i = 0; i < sizeof over / sizeof *over; i++) {
        found = found || strcmp(fake_world_text(o, "status.phase"), over[i]) == 0;
    }
    if (!found) {
        soak_fail(&x->s, "reservation %.*s is %s still: %.*s", STR_ARG(o->name),
                  fake_world_text(o, "status.phase"), STR_ARG(o->json));
    }
    return true;
}

static bool is_left(void *ctx, const struct object *o) {
    struct run *x = ctx;
    if (object_label(o, STR("berth.dev/reservation")).n > 0) {
        soak_fail(&x->s, "%s %.*s is left", o->kind->kind, STR_ARG(o->name));
    }
    return true;
}

static void nothing_left(struct run *x) {
    static const char *const kinds[] = {"ClusterQueue", "LocalQueue", "HardwareProfile"};
    mirror_scan(x->s.w.mirror, fake_world_kind("Reservation"), STR(""), is_over, x);
    for (size_t i = 0; i < 3; i++) {
        mirror_scan(x->s.w.mirror, fake_world_kind(kinds[i]), STR(""), is_left, x);
    }
    for (int i = 0; i < SOAK_FLAVORS * DEVICES; i++) {
        int f = i / DEVICES, d = i % DEVICES;
        if (all_nominal(x, f, d) != hardware(x, f, d)) {
            soak_fail(&x->s, "%lld of %s in f%d are owned, there are %lld",
                      (long long)all_nominal(x, f, d), soak_resources[2 + d], f,
                      (long long)hardware(x, f, d));
        }
    }
}

/* Bookings in their time; then they are over, with work still there, or it is deleted. */
static void settle(struct run *x) {
    heal(x);
    for (int i = 0; i < 60; i++) {
        second(x);
    }
    heal(x); /* a project may have been going */
    all_there(x);
    x->s.ends = below(x, 2);
    for (int i = 0; i < 30 * 60; i++) {
        second(x);
    }
    until_quiet(x, 4000);
    nothing_left(x);
    x->s.ends = true;
    fake_world_delete(&x->s.w, "Namespace", "", "ns0", "Background");
    fake_world_delete(&x->s.w, "Namespace", "", "ns1", "Background");
    until_quiet(x, 900);
    nothing_left(x);
    static const char *const kinds[] = {"Reservation", "Job", "Pod", "Workload", "LocalQueue"};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        if (fake_world_count(&x->s.w, kinds[i]) != 0) {
            soak_fail(&x->s, "%zu left of %s", fake_world_count(&x->s.w, kinds[i]), kinds[i]);
        }
    }
}

static void begin(struct run *x, uint64_t seed) {
    static const char *const puts[] = {
        "{" KUEUE "\"ResourceFlavor\",\"metadata\":{\"name\":\"f0\"},\"spec\":{\"nodeLabels\":{"
        "\"pool\":\"a\"}}}",
        "{" KUEUE "\"ResourceFlavor\",\"metadata\":{\"name\":\"f1\"},\"spec\":{\"nodeLabels\":{"
        "\"pool\":\"b\"}}}",
        "{" KUEUE "\"Cohort\",\"metadata\":{\"name\":\"pool\",\"labels\":{\"berth.dev/default\":"
        "\"true\"}},\"spec\":{}}",
    };
    x->s.seed = seed;
    x->s.bookings = true;
    prng_seed(&x->s.r, seed);
    fake_world_init(&x->s.w);
    x->s.w.clock.wall = INT64_C(1772323200) * NS_PER_SEC;
    x->s.w.writer.latency_ns = seed % 3 == 0 ? 300 * NS_PER_MS : NS_PER_MS;
    x->s.w.log.level = LOG_ERROR;
    x->s.w.log_writes = getenv("SOAK_WRITES") != NULL;
    arena_init(&x->s.arena, 8 << 20);
    soak_watch(&x->s);
    x->feed = mirror_feed(x->s.w.mirror, NULL, on_owner, x);
    assert_non_null(x->feed);
    for (size_t i = 0; i < sizeof puts / sizeof *puts; i++) {
        fake_world_put(&x->s.w, puts[i]);
    }
    cluster_write(x, "shared", (int[SOAK_FLAVORS][DEVICES]){{0}});
    cluster_write(x, "team", (int[SOAK_FLAVORS][DEVICES]){{0}});
    policy_write(x, 60, true);
    project_write(x, 0);
    project_write(x, 1);
    for (int part = 0; part < PARTS; part++) {
        part_start(x, part);
    }
    soak_nodes_start(&x->s);
    for (int i = 0; i < 5; i++) {
        second(x);
    }
}

static void end(struct run *x) {
    for (int part = 0; part < PARTS; part++) {
        part_stop(x, part);
    }
    feed_free(x->feed);
    feed_free(x->s.feed);
    arena_release(&x->s.arena);
    fake_world_release(&x->s.w);
    mem_free(x);
}

static void one(uint64_t seed) {
    struct run *x = mem_zalloc(sizeof *x);
    assert_non_null(x);
    begin(x, seed);
    for (int i = 0; i < STEPS; i++) {
        step(x);
    }
    settle(x);
    end(x);
}

static void soak(void **state) {
    for (uint64_t i = 0; i < seeds; i++) {
        one(first_seed + i);
    }
    print_message("Active %llu, Degraded %llu, Ending %llu, Released %llu, Rejected %llu\n",
                  (unsigned long long)seen[0], (unsigned long long)seen[1],
                  (unsigned long long)seen[2], (unsigned long long)seen[3],
                  (unsigned long long)seen[4]);
    for (int i = 0; i < 5; i++) {
        assert_true(seeds < SEEDS || seen[i] > seeds / 4);
    }
}

int main(int argc, char **argv) {
    const struct CMUnitTest tests[] = {cmocka_unit_test(soak)};
    first_seed = argc > 1 ? strtoull(argv[1], NULL, 10) : first_seed;
    seeds = argc > 1 ? 1 : seeds;
    seeds = argc > 2 ? strtoull(argv[2], NULL, 10) : seeds;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
