/*
 * serving_leader: the Workloads of a LeaderWorkerSet, one for each replica. While an update is rolled out with more
 * replicas than asked for, those have one, too.
 */
#include "base/limits.h"
#include "base/map.h"
#include "control/hold/serving_private.h"

enum { BODY_MAX = 2 * LIMIT_OBJECT_BYTES, BURST = 64 };

struct serving_lead {
    struct set_look l;
    struct map have; /* name to Workload */
    int code;
};

static bool add_workload(void *ctx, const struct object *o) {
    struct serving_lead *s = ctx;
    if (o->kind == s->l.c->workloads && map_put(&s->have, o->name, (void *)o, NULL) != 0) {
        s->code = ERR_NOMEM;
    }
    return true;
}

/* How many replicas there may be for now. */
static int32_t replicas_of(const struct serving_lead *s) {
    yyjson_val *t = s->l.tree;
    const char *at = "spec.rolloutStrategy.rollingUpdateConfiguration.maxSurge";
    int64_t surge = json_i64_at(t, at, 0), now = json_i64_at(t, "status.replicas", 0);
    struct str share = json_str_at(t, at);
    bool surges = surge > 0 || (!str_empty(share) && !str_is(share, "0%"));
    bool rolls = json_i64_at(t, "status.updatedReplicas", 0) < s->l.replicas;
    return surges && rolls && now > s->l.replicas && now <= INT32_MAX ? (int32_t)now
                                                                      : s->l.replicas;
}

static size_t sets_of(const struct serving_lead *s, struct group_set v[2]) {
    yyjson_val *leader = json_path(s->l.tree, "spec.leaderWorkerTemplate.leaderTemplate");
    yyjson_val *worker = json_path(s->l.tree, "spec.leaderWorkerTemplate.workerTemplate");
    int64_t size = json_i64_at(s->l.tree, "spec.leaderWorkerTemplate.size", 1);
    size_t n = 0;
    size = size < 1 ? 1 : size > INT32_MAX ? INT32_MAX : size;
    if (leader) {
        v[n++] = (struct group_set){.name = STR("leader"),
                                    .count = 1,
                                    .metadata = json_get(leader, STR("metadata")),
                                    .spec = json_get(leader, STR("spec")),
                                    .lws_keys = true};
    }
    v[n++] = (struct group_set){.name = leader ? STR("worker") : STR("main"),
                                .count = (int32_t)(leader ? size - 1 : size),
                                .metadata = json_get(worker, STR("metadata")),
                                .spec = json_get(worker, STR("spec")),
                                .lws_keys = true};
    return n;
}

static size_t labels_of(struct serving_lead *s, struct str_pair **ret) {
    const struct queue_settings *q = s->l.c->settings;
    struct str_pair *v =
        ARENA_ARRAY(&s->l.c->base.arena, struct str_pair, q->n_label_keys_to_copy + 1);
    size_t n = 0;
    for (size_t i = 0; v && i < q->n_label_keys_to_copy; i++) {
        struct str value = object_label(s->l.obj, q->label_keys_to_copy[i]);
        if (value.p) {
            v[n++] = (struct str_pair){q->label_keys_to_copy[i], value};
        }
    }
    *ret = v;
    return n;
}

static void create(struct serving_lead *s, struct round *r, int32_t index,
                   const struct group_set *sets, size_t n_sets,
                   const struct workload_priority *prio) {
    const struct object *o = s->l.obj;
    struct str_pair *labels, notes[] = {{STR("kueue.x-k8s.io/job-owner-gvk"),
                                         STR("leaderworkerset.x-k8s.io/v1, Kind=LeaderWorkerSet")},
                                        {STR("kueue.x-k8s.io/job-owner-name"), o->name},
                                        {STR("kueue.x-k8s.io/component-workload-index"),
                                         arena_f(&s->l.c->base.arena, "%d", index)}};
    struct owner_reference owner =
        group_owner("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", o, false);
    struct group_workload w = {.ns = o->ns,
                               .name = serving_workload_name(o, index, &s->l.c->base.arena),
                               .about = s->l.tree,
                               .job_uid = o->uid,
                               .group = true,
                               .n_labels = labels_of(s, &labels),
                               .annotations = notes,
                               .n_annotations = 3,
                               .owners = &owner,
                               .n_owners = 1,
                               .sets = sets,
                               .n_sets = n_sets,
                               .priority = prio};
    struct buf b;
    w.labels = labels;
    buf_init(&b, BODY_MAX);
    int code = arena_ok(&s->l.c->base.arena) ? ERR_NOMEM
                                             : group_workload_write(&w, &s->l.c->base.arena, &b);
    if (code == 0) {
        round_create(r, s->l.c->workloads, o->ns, buf_view(&b));
        hold_tell_created(&s->l.h, w.name);
    } else {
        round_fail(r, code);
    }
    buf_release(&b);
}

/* Queue, class and annotations. True: something was sent. */
static bool update(struct serving_lead *s, struct round *r, const struct object *wl,
                   const struct workload_priority *prio) {
    yyjson_doc *d;
    struct buf b;
    bool gates;
    if (object_tree(wl, &s->l.c->base.arena, &d, NULL) != 0) {
        round_fail(r, ERR_NOMEM);
        return true;
    }
    yyjson_val *tree = yyjson_doc_get_root(d);
    bool holds = json_path(tree, "status.admission") != NULL;
    struct str class = json_str_at(tree, "spec.priorityClassRef.name");
    bool of_kueue = str_is(json_str_at(tree, "spec.priorityClassRef.group"), "kueue.x-k8s.io");
    bool label = !str_empty(object_label(s->l.obj, STR(KUEUE_PRIORITY_LABEL)));
    bool other =
        label && prio->kind && !(of_kueue && str_eq(class, prio->name)) && (!holds || of_kueue);
    buf_init(&b, BODY_MAX);
    int code = group_workload_follow(wl, tree, s->l.tree, holds ? NULL : &s->l.queue_name,
                                     other ? prio : NULL, &gates, &s->l.c->base.arena, &b);
    if (code == 0) {
        round_patch(r, wl->kind, wl->ns, wl->name, "", PATCH_MERGE, buf_view(&b));
    } else if (code != ERR_NOT_FOUND) {
        round_fail(r, code);
    }
    buf_release(&b);
    return code == 0;
}

/* What is left in `have` is of replicas that went. Their Workloads go through their finalizer, so that the pods stop
 * before the quota is free. */
static size_t remove_rest(struct serving_lead *s, struct round *r, size_t sent) {
    size_t i = 0;
    for (const struct map_entry *e; sent < BURST && (e = map_next(&s->have, &i)) != NULL;) {
        const struct object *wl = e->value;
        struct delete_options o = {
            .uid = wl->uid, .grace_seconds = -1, .propagation = STR("Background")};
        if (!wl->deleting_ns) {
            round_remove(r, wl->kind, wl->ns, wl->name, &o);
            sent++;
        }
    }
    return sent;
}

static enum work step(struct serving_lead *s) {
    struct workload_priority prio;
    struct group_set sets[2];
    size_t n = sets_of(s, sets), sent = 0;
    mirror_owned(s->l.c->base.env.mirror, s->l.obj, add_workload, s);
    if (s->code != 0 || serving_priority(&s->l, sets, n, &prio) != 0) {
        return WORK_RETRY;
    }
    struct round *r = controller_begin(&s->l.c->base);
    int32_t replicas = replicas_of(s);
    for (int32_t i = 0; r && i < replicas && sent < BURST; i++) {
        struct str name = serving_workload_name(s->l.obj, i, &s->l.c->base.arena);
        if (name.p == NULL) {
            round_fail(r, ERR_NOMEM);
            return round_end(r); /* what is left is not known to be over */
        }
        const struct object *wl = map_del(&s->have, name);
        if (wl == NULL) {
            create(s, r, i, sets, n, &prio);
            sent++;
        } else if (!wl->deleting_ns) {
            sent += update(s, r, wl, &prio);
        }
    }
    if (r && sent < BURST) {
        sent = remove_rest(s, r, sent);
    }
    return r ? round_end(r) : WORK_RETRY;
}

enum work serving_leader_work(struct serving_controller *c, struct str ns, struct str name) {
    const struct kind *k = serving_kind(SERVING_LWS);
    struct serving_lead s = {.l = {.c = c}};
    struct err err = {0};
    bool ours = false;
    s.l.obj = k ? mirror_get(c->base.env.mirror, k, ns, name) : NULL;
    if (s.l.obj == NULL || s.l.obj->deleting_ns) {
        return WORK_OK;
    }
    enum work w = serving_look(&s.l, SERVING_LWS, &ours, &err) == 0 ? WORK_OK : WORK_RETRY;
    map_init(&s.have);
    if (ours) {
        w = step(&s);
    }
    map_release(&s.have);
    return w;
}
