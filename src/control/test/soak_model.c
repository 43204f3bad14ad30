/* soak_model: one change at a time. See soak_model.h. */
#include "control/test/soak_model.h"

#include <stdlib.h>

#include "api/h200_fixture.h"
#include "base/test.h"
#include "control/load/translate.h"

const struct gpu_profile soak_profiles[SOAK_PROFILES] = {
    H200_1G_18GB, H200_1G_18GB_ME, H200_1G_35GB,  H200_2G_35GB,
    H200_3G_71GB, H200_4G_71GB,    H200_7G_141GB,
};

const char *const soak_resources[SOAK_RESOURCES] = {
    "cpu",
    "memory",
    "nvidia.com/gpu",
    "nvidia.com/mig-1g.18gb",
    "nvidia.com/mig-1g.18gb.me",
    "nvidia.com/mig-1g.35gb",
    "nvidia.com/mig-2g.35gb",
    "nvidia.com/mig-3g.71gb",
    "nvidia.com/mig-4g.71gb",
    "nvidia.com/mig-7g.141gb",
};

void soak_fail(const struct soak *s, const char *fmt, ...) {
    va_list ap;
    char text[512];
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    print_error("at %lld ms, revision %llu: %s\nagain: control-%s-test %llu 1\n",
                (long long)(s->w.clock.now / NS_PER_MS),
                (unsigned long long)mirror_revision(s->w.mirror), text,
                s->bookings ? "booking_soak" : "soak", (unsigned long long)s->seed);
    fail();
    abort(); /* fail() does not return */
}

/* cpu in milli-units, memory in Gi, the rest as it is. */
static int64_t amount(struct str t) {
    char text[64];
    char *end;
    if (!str_copy(t, text, sizeof text) || t.n == 0) {
        return 0;
    }
    return strtoll(text, &end, 10);
}

static int64_t amount_of(yyjson_val *map, const char *resource) {
    struct str t = json_str(json_get(map, str_of(resource)));
    bool milli = t.n > 0 && t.p[t.n - 1] == 'm';
    return amount(t) * (strcmp(resource, "cpu") == 0 && !milli ? 1000 : 1);
}

/* ---- devices ---- */

static int node_index(struct str name) {
    return name.n == 2 ? name.p[1] - '0' : -1; /* "n0" */
}

static int devices_read(struct soak *s, struct str text, struct soak_device *out, int max) {
    struct pod_devices d;
    struct err err = {0};
    if (pod_devices_decode(text, &s->arena, &d, &err) != 0 || d.n > (size_t)max) {
        soak_fail(s, "devices not understood: %.*s", STR_ARG(text));
    }
    for (size_t i = 0; i < d.n; i++) {
        int profile = -1;
        for (int k = 0; k < SOAK_PROFILES; k++) {
            profile = d.v[i].profile_id == soak_profiles[k].id ? k : profile;
        }
        if (d.v[i].gpu.n != 7 || (profile < 0) != (d.v[i].profile_id < 0)) {
            soak_fail(s, "no such device: %.*s", STR_ARG(text));
        }
        out[i] = (struct soak_device){.node = d.v[i].gpu.p[4] - '0', /* "GPU-0-1" */
                                      .gpu = d.v[i].gpu.p[6] - '0',
                                      .profile = profile,
                                      .start = d.v[i].start};
    }
    return (int)d.n;
}

static uint32_t slices(const struct soak_device *d) {
    return d->profile < 0 ? 0xff : ((1u << soak_profiles[d->profile].size) - 1) << d->start;
}

static bool same_gpu(const struct soak_device *a, const struct soak_device *b) {
    return a->node == b->node && a->gpu == b->gpu;
}

static bool same_device(const struct soak_device *a, const struct soak_device *b) {
    return same_gpu(a, b) && a->profile == b->profile && (a->profile < 0 || a->start == b->start);
}

static bool collide(const struct soak_device *a, int n, const struct soak_device *b, int m) {
    bool both = false;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < m; k++) {
            both = both || (same_gpu(&a[i], &b[k]) && (slices(&a[i]) & slices(&b[k])) != 0);
        }
    }
    return both;
}

/* ---- pods ---- */

static bool holds_place(const struct soak_pod *p) {
    return p->node >= 0 && !p->over;
}

static void check_layout(struct soak *s, int node, int gpu) {
    int count[SOAK_PROFILES] = {0}, media = 0;
    uint32_t taken = 0;
    for (int i = 0; i < s->n_pods; i++) {
        for (int k = 0; holds_place(&s->pods[i]) && k < s->pods[i].devices; k++) {
            const struct soak_device *d = &s->pods[i].dev[k];
            if (d->node != node || d->gpu != gpu) {
                continue;
            }
            if (taken & slices(d)) {
                soak_fail(s, "pod %s: GPU %d of n%d: slices %#x are taken (%#x)", s->pods[i].name,
                          gpu, node, slices(d), taken);
            }
            taken |= slices(d);
            if (d->profile >= 0) {
                const struct gpu_profile *p = &soak_profiles[d->profile];
                media += p->media;
                if (!(p->starts >> d->start & 1) || ++count[d->profile] > p->max_instances ||
                    media > 1) {
                    soak_fail(s, "pod %s: %.*s may not start at %d of GPU %d of n%d",
                              s->pods[i].name, STR_ARG(p->name), d->start, gpu, node);
                }
            }
        }
    }
}

static void check_node(struct soak *s, int node) {
    int64_t cpu = 0, memory = 0;
    for (int i = 0; i < s->n_pods; i++) {
        if (holds_place(&s->pods[i]) && s->pods[i].node == node) {
            cpu += s->pods[i].cpu;
            memory += s->pods[i].memory;
        }
    }
    if (cpu > SOAK_NODE_CPU || memory > SOAK_NODE_MEMORY) {
        soak_fail(s, "n%d: %lldm cpu and %lldGi are more than it has", node, (long long)cpu,
                  (long long)memory);
    }
    for (int g = 0; g < SOAK_GPUS; g++) {
        check_layout(s, node, g);
    }
}

static void check_plan(struct soak *s, const struct soak_pod *p) {
    for (int i = 0; i < s->n_works; i++) {
        const struct soak_workload *x = &s->works[i];
        bool mine = strcmp(x->owner, p->owner) == 0;
        if (x->loose) {
            continue;
        }
        for (int k = 0; mine && x->devices > 0 && k < p->devices; k++) {
            bool planned = false;
            for (int j = 0; j < x->devices; j++) {
                planned = planned || same_device(&p->dev[k], &x->plan[j]);
            }
            if (!planned) {
                soak_fail(s, "pod %s has a device that is not planned", p->name);
            }
        }
        if (!mine && collide(p->dev, p->devices, x->plan, x->devices)) {
            soak_fail(s, "pod %s took what is planned for %s", p->name, x->uid);
        }
    }
}

static struct soak_pod *pod_find(struct soak *s, struct str uid) {
    for (int i = 0; i < s->n_pods; i++) {
        if (str_is(uid, s->pods[i].uid)) {
            return &s->pods[i];
        }
    }
    return NULL;
}

static void pod_over(struct soak *s, const struct soak_pod *p, bool good) {
    for (int i = 0; i < s->n_jobs; i++) {
        s->jobs[i].succeeded += good && strcmp(s->jobs[i].uid, p->owner) == 0;
    }
    for (int i = 0; i < s->n_works; i++) { /* its quota may be given back before the rest */
        s->works[i].loose = s->works[i].loose || strcmp(s->works[i].owner, p->owner) == 0;
    }
}

static struct soak_pod *pod_add(struct soak *s, const struct object *o) {
    struct soak_pod *p = &s->pods[s->n_pods++];
    const struct owner_ref *owner = object_controller(o);
    assert_true(s->n_pods < SOAK_PODS);
    *p = (struct soak_pod){.node = -1};
    str_copy(o->uid, p->uid, sizeof p->uid);
    str_copy(owner ? owner->uid : STR(""), p->owner, sizeof p->owner);
    str_copy(o->ns, p->ns, sizeof p->ns);
    str_copy(o->name, p->name, sizeof p->name);
    return p;
}

static void on_pod(struct soak *s, const struct change *ch, yyjson_val *root) {
    struct soak_pod *p = pod_find(s, ch->obj->uid);
    if (ch->type == CHANGE_DELETED) {
        if (p) {
            *p = s->pods[--s->n_pods];
        }
        return;
    }
    p = p ? p : pod_add(s, ch->obj);
    struct str phase = json_str_at(root, "status.phase"), node = json_str_at(root, "spec.nodeName");
    p->running = str_is(phase, "Running");
    p->deleting = ch->obj->deleting_ns != 0;
    p->grace = json_i64_at(root, "metadata.deletionGracePeriodSeconds", 0);
    if (!p->over && (str_is(phase, "Succeeded") || str_is(phase, "Failed"))) {
        p->over = true;
        pod_over(s, p, str_is(phase, "Succeeded"));
    }
    if (p->node >= 0 || str_empty(node)) {
        return;
    }
    yyjson_val *c = yyjson_arr_get(json_path(root, "spec.containers"), 0);
    yyjson_val *requests = json_path(c, "resources.requests");
    struct str text =
        json_str(json_get(json_path(root, "metadata.annotations"), STR(DEVICES_ANNOTATION)));
    p->node = node_index(node);
    p->cpu = amount_of(requests, "cpu");
    p->memory = amount_of(requests, "memory");
    p->devices = str_empty(text) ? 0 : devices_read(s, text, p->dev, SOAK_DEVICES);
    check_plan(s, p);
    check_node(s, p->node);
}

/* ---- admissions ---- */

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* What a queue keeps from its cohort, stopped or not; what it uses beyond counts there still. */
static int64_t kept(const struct soak_queue *o, int f, int r) {
    const struct soak_quota *q = &o->quota[f][r];
    return q->lending < 0 ? 0 : q->nominal - least(q->nominal, q->lending);
}

static int64_t usage(const struct soak *s, int queue, int f, int r) {
    int64_t v = 0;
    for (int i = 0; i < s->n_works; i++) {
        v += s->works[i].queue == queue ? s->works[i].held[f][r] : 0;
    }
    return v;
}

static void check_quota(struct soak *s, const struct soak_workload *x, int f, int r) {
    const struct soak_queue *q = &s->queues[x->queue];
    const struct soak_quota *l = &q->quota[f][r];
    int64_t used = usage(s, x->queue, f, r), all = 0, there = 0;
    int64_t most = q->cohort && l->borrowing >= 0 ? l->nominal + l->borrowing : INT64_MAX;
    most = q->cohort ? most : l->nominal;
    for (int i = 0; i < SOAK_QUEUES; i++) {
        const struct soak_queue *o = &s->queues[i];
        if (o->cohort) {
            int64_t mine = kept(o, f, r), u = usage(s, i, f, r);
            there += o->quota[f][r].nominal - mine;
            all += u > mine ? u - mine : 0;
        }
    }
    if (used > most || (q->cohort && used > kept(q, f, r) && all > there)) {
        soak_fail(s, "workload %s: q%d uses %lld of %s in f%d (at most %lld), cohort %lld of %lld",
                  x->uid, x->queue, (long long)used, soak_resources[r], f, (long long)most,
                  (long long)all, (long long)there);
    }
}

static void admission_read(struct soak_workload *x, yyjson_val *root) {
    yyjson_val *set = yyjson_arr_get(json_path(root, "status.admission.podSetAssignments"), 0);
    yyjson_val *spec = yyjson_arr_get(json_path(root, "spec.podSets"), 0);
    int64_t count = json_i64_at(set, "count", 1);
    int64_t back =
        json_i64_at(yyjson_arr_get(json_path(root, "status.reclaimablePods"), 0), "count", 0);
    memset(x->held, 0, sizeof x->held);
    for (int r = 0; r < SOAK_RESOURCES; r++) {
        struct str flavor =
            json_str(json_get(json_path(set, "flavors"), str_of(soak_resources[r])));
        if (!str_empty(flavor)) {
            int64_t v = amount_of(json_path(set, "resourceUsage"), soak_resources[r]);
            int64_t left = least(count, json_i64_at(spec, "count", 0) - back);
            x->held[flavor.p[1] - '0'][r] = count > 0 ? v / count * left : 0;
        }
    }
}

static void plan_read(struct soak *s, struct soak_workload *x, yyjson_val *root) {
    yyjson_doc *d;
    yyjson_val *seat;
    size_t i, n;
    struct err err = {0};
    struct str text =
        json_str(json_get(json_path(root, "metadata.annotations"), STR(PLACEMENT_ANNOTATION)));
    x->devices = 0;
    if (str_empty(text)) {
        return;
    }
    assert_ok(json_parse(&s->arena, text, &d, &err), &err);
    yyjson_arr_foreach(yyjson_doc_get_root(d), i, n, seat) {
        yyjson_val *list = json_get(seat, STR("devices"));
        if (list) {
            struct buf b;
            buf_init(&b, 0);
            json_write(&b, list);
            struct str copy = arena_str(&s->arena, buf_view(&b));
            buf_release(&b);
            x->devices +=
                devices_read(s, copy, x->plan + x->devices, SOAK_DEVICES * 4 - x->devices);
        }
    }
}

static void check_admission(struct soak *s, struct soak_workload *x) {
    for (int i = 0; i < x->devices; i++) {
        x->loose = x->loose || s->away[x->plan[i].node] || !s->up[x->plan[i].node][x->plan[i].gpu];
    }
    for (int i = 0; i < s->n_works; i++) {
        const struct soak_workload *o = &s->works[i];
        if (o != x && !o->loose && !x->loose && collide(x->plan, x->devices, o->plan, o->devices)) {
            soak_fail(s, "workload %s has places of %s", x->uid, o->uid);
        }
    }
    for (int i = 0; i < s->n_pods && !x->loose; i++) {
        if (holds_place(&s->pods[i]) && strcmp(s->pods[i].owner, x->owner) != 0 &&
            collide(x->plan, x->devices, s->pods[i].dev, s->pods[i].devices)) {
            soak_fail(s, "workload %s has places of pod %s", x->uid, s->pods[i].name);
        }
    }
    for (int f = 0; f < SOAK_FLAVORS; f++) {
        for (int r = 0; r < SOAK_RESOURCES; r++) {
            if (!s->bookings && x->held[f][r] > 0 &&
                s->w.clock.now > s->edited_ns + 3 * s->w.writer.latency_ns) {
                check_quota(s, x, f, r);
            }
        }
    }
}

/* The admission is for what the Workload asks now. */
static void check_asked(struct soak *s, const struct soak_workload *x, yyjson_val *root) {
    yyjson_val *spec = yyjson_arr_get(json_path(root, "spec.podSets"), 0);
    yyjson_val *set = yyjson_arr_get(json_path(root, "status.admission.podSetAssignments"), 0);
    yyjson_val *back = yyjson_arr_get(json_path(root, "status.reclaimablePods"), 0);
    int64_t pods = json_i64_at(spec, "count", 0) - json_i64_at(back, "count", 0);
    struct str queue = json_str_at(root, "spec.queueName");
    if (queue.n != 3 || queue.p[2] - '0' != x->queue || json_i64_at(set, "count", -1) != pods) {
        soak_fail(s, "workload %s of %.*s: admitted by q%d for %lld pods of %lld", x->uid,
                  STR_ARG(queue), x->queue, (long long)json_i64_at(set, "count", -1),
                  (long long)pods);
    }
}

static bool true_condition(yyjson_val *root, const char *type) {
    yyjson_val *c;
    size_t i, n;
    yyjson_arr_foreach(json_path(root, "status.conditions"), i, n, c) {
        if (str_is(json_str_at(c, "type"), type)) {
            return str_is(json_str_at(c, "status"), "True");
        }
    }
    return false;
}

static void on_workload(struct soak *s, const struct change *ch, yyjson_val *root) {
    struct soak_workload *x = NULL;
    for (int i = 0; i < s->n_works && x == NULL; i++) {
        x = str_is(ch->obj->uid, s->works[i].uid) ? &s->works[i] : NULL;
    }
    yyjson_val *admission = json_path(root, "status.admission");
    bool holds = ch->type != CHANGE_DELETED && admission && true_condition(root, "QuotaReserved") &&
                 !true_condition(root, "Finished");
    if (!holds) {
        if (x) {
            *x = s->works[--s->n_works];
        }
        return;
    }
    struct buf b;
    buf_init(&b, 0);
    json_write(&b, admission);
    if (x) {
        if (strcmp(buf_cstr(&b), x->admission) != 0) {
            soak_fail(s, "workload %s was admitted again: %s", x->uid, buf_cstr(&b));
        }
        buf_release(&b);
        admission_read(x, root);
        return;
    }
    const struct owner_ref *owner = object_controller(ch->obj);
    assert_true(s->n_works + 1 < SOAK_WORKLOADS);
    x = &s->works[s->n_works++];
    *x = (struct soak_workload){.queue = json_str_at(admission, "clusterQueue").p[1] - '0'};
    str_copy(ch->obj->uid, x->uid, sizeof x->uid);
    str_copy(owner ? owner->uid : STR(""), x->owner, sizeof x->owner);
    assert_true(str_copy(buf_view(&b), x->admission, sizeof x->admission));
    buf_release(&b);
    admission_read(x, root);
    plan_read(s, x, root);
    if (!s->bookings) {
        check_asked(s, x, root);
    }
    check_admission(s, x);
}

/* ---- Jobs ---- */

static void on_job(struct soak *s, const struct change *ch, yyjson_val *root) {
    if (ch->type == CHANGE_ADDED) {
        struct soak_job *j = &s->jobs[s->n_jobs++];
        assert_true(s->n_jobs < SOAK_JOBS);
        *j = (struct soak_job){.completions = (int)json_i64_at(root, "spec.completions", 1)};
        str_copy(ch->obj->uid, j->uid, sizeof j->uid);
        str_copy(ch->obj->ns, j->ns, sizeof j->ns);
        str_copy(ch->obj->name, j->name, sizeof j->name);
        return;
    }
    for (int i = 0; i < s->n_jobs; i++) {
        struct soak_job *j = &s->jobs[i];
        if (!str_is(ch->obj->uid, j->uid)) {
            continue;
        }
        if (true_condition(root, "Failed")) {
            soak_fail(s, "job %s failed", j->name);
        }
        int64_t counted = json_i64_at(root, "status.succeeded", 0);
        if (true_condition(root, "Complete") &&
            (j->succeeded != j->completions || counted != j->completions)) {
            soak_fail(s, "job %s: %d pods of %d succeeded, %lld counted", j->name, j->succeeded,
                      j->completions, (long long)counted);
        }
    }
}

static void on_change(void *ctx, const struct change *ch) {
    static const struct {
        const char *kind;
        void (*on)(struct soak *s, const struct change *ch, yyjson_val *root);
    } table[] = {{"Pod", on_pod}, {"Workload", on_workload}, {"Job", on_job}};
    struct soak *s = ctx;
    yyjson_doc *d;
    struct err err = {0};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
        if (strcmp(ch->obj->kind->kind, table[i].kind) == 0) {
            arena_reset(&s->arena);
            assert_ok(object_tree(ch->obj, &s->arena, &d, &err), &err);
            table[i].on(s, ch, yyjson_doc_get_root(d));
        }
    }
}

void soak_watch(struct soak *s) {
    s->feed = mirror_feed(s->w.mirror, NULL, on_change, s);
    assert_non_null(s->feed);
}

void soak_gpu_lost(struct soak *s, int node, int gpu) {
    for (int i = 0; i < s->n_works; i++) {
        for (int k = 0; k < s->works[i].devices; k++) {
            const struct soak_device *d = &s->works[i].plan[k];
            s->works[i].loose = s->works[i].loose || (d->node == node && d->gpu == gpu);
        }
    }
}
