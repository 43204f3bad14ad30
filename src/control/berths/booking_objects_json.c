/*
 * booking_objects_json: what the objects of a booking are to say, and the writes that make them say it.
 *
 * An intent is a merge patch of all that is owned, and the whole object when there is none yet. Arrays and selectors
 * are owned as a whole; members that others add elsewhere are left alone.
 */
#include "control/berths/booking_objects_private.h"
#include "control/queue/queue_controller.h"

#include "base/limits.h"
#include "wire/text/time.h"

/* ---- comparing and writing ---- */

static uint64_t hash_of(struct str s) {
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < s.n; i++) {
        h = (h ^ (unsigned char)s.p[i]) * UINT64_C(0x100000001b3);
    }
    return h;
}

/* Whether an object has all that the intent says; what is empty may be absent. */
static bool covers(yyjson_val *has, yyjson_val *intent) {
    yyjson_obj_iter it;
    yyjson_val *key;
    if (has == NULL && !yyjson_is_obj(intent)) {
        return yyjson_is_arr(intent) ? yyjson_arr_size(intent) == 0
                                     : yyjson_is_str(intent) && yyjson_get_len(intent) == 0;
    }
    if (!yyjson_is_obj(intent) || !yyjson_is_obj(has)) {
        return json_equal(has, intent);
    }
    yyjson_obj_iter_init(intent, &it);
    while ((key = yyjson_obj_iter_next(&it)) != NULL) {
        struct str name = json_str(key);
        yyjson_val *v = json_get(has, name);
        bool whole = str_is(name, "namespaceSelector");
        if (whole ? !json_equal(v, yyjson_obj_iter_get_val(key))
                  : !covers(v, yyjson_obj_iter_get_val(key))) {
            return false;
        }
    }
    return true;
}

/* A selector is owned as a whole: what others added goes. */
static void strip(yyjson_mut_doc *d, yyjson_mut_val *intent, yyjson_val *has) {
    yyjson_obj_iter it;
    yyjson_val *key;
    if (!yyjson_mut_is_obj(intent) || !yyjson_is_obj(has)) {
        return;
    }
    yyjson_obj_iter_init(has, &it);
    while ((key = yyjson_obj_iter_next(&it)) != NULL) {
        yyjson_mut_val *v = json_mget(intent, json_str(key));
        if (v == NULL) {
            json_mset(d, intent, json_str(key), yyjson_mut_null(d));
        } else {
            strip(d, v, yyjson_obj_iter_get_val(key));
        }
    }
}

/* Metadata comes first, as the writer expects of a patch that is conditional. */
static struct str patch_of(struct arena *a, yyjson_val *intent, yyjson_val *has) {
    yyjson_mut_doc *d = json_mut_copy(a, intent);
    struct buf b;
    if (d == NULL) {
        return (struct str){0};
    }
    yyjson_mut_val *root = yyjson_mut_doc_get_root(d);
    json_mdel(root, STR("apiVersion"));
    json_mdel(root, STR("kind"));
    strip(d, json_mpath(root, "spec.namespaceSelector"), json_path(has, "spec.namespaceSelector"));
    buf_init(&b, LIMIT_OBJECT_BYTES);
    json_write_mut(&b, root);
    struct str text = buf_ok(&b) == 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return text;
}

/* Puts `more` behind the first `mark`. */
static struct str splice(struct arena *a, struct str text, struct str mark, struct str more) {
    const char *found = text.n > 0 ? memmem(text.p, text.n, mark.p, mark.n) : NULL;
    if (found == NULL) {
        return text;
    }
    size_t at = (size_t)(found - text.p) + mark.n;
    char *to = arena_alloc(a, text.n + more.n);
    if (to == NULL) {
        return (struct str){0};
    }
    memcpy(to, text.p, at);
    memcpy(to + at, more.p, more.n);
    memcpy(to + at + more.n, text.p + at, text.n - at);
    return str_from(to, text.n + more.n);
}

static bool edited(struct booking_objects_controller *c, const struct object *o, yyjson_val *has,
                   yyjson_val *intent) {
    struct str was =
        json_str(json_get(json_path(has, "metadata.annotations"), STR(BOOKING_INTENT)));
    struct str now =
        json_str(json_get(json_path(intent, "metadata.annotations"), STR(BOOKING_INTENT)));
    if (!str_eq(was, now)) {
        return false;
    }
    recorder_event(c->base.recorder, o, EVENT_WARNING, "Reverted",
                   "An edit of what a reservation needs here was undone; change the Reservation "
                   "or the ReservationPolicy instead");
    return true;
}

/* Makes it so; true when that has to be written. `o` NULL: it is created. The intent is consumed. */
static bool put(struct booking_objects_controller *c, struct booking_picture *p,
                enum booking_kind k, struct str ns, struct str name, const struct object *o,
                struct buf *intent) {
    struct arena *a = &c->scratch;
    arena_reset(a);
    struct str text = buf_ok(intent) == 0 ? arena_str(a, buf_view(intent)) : (struct str){0};
    yyjson_doc *want, *has;
    buf_release(intent);
    if (text.p == NULL) {
        round_fail(p->round, ERR_NOMEM);
        return true;
    }
    struct str mark =
        arena_f(a, "\"" BOOKING_INTENT "\":\"%016llx\",", (unsigned long long)hash_of(text));
    text = splice(a, text, STR("\"annotations\":{"), mark);
    bool quota = k == BK_CLUSTER_QUEUE || k == BK_COHORT;
    if (o == NULL && quota && p->term.n > 0) {
        mark = arena_f(a, "\"" BOOKING_TERM "\":\"%.*s\",", STR_ARG(p->term));
        text = splice(a, text, STR("\"annotations\":{"), mark);
    }
    if (o == NULL && arena_ok(a) == 0) {
        round_create(p->round, c->base.kinds[k], ns, text);
        return true;
    }
    if (arena_ok(a) != 0 || json_parse(a, text, &want, NULL) != 0 ||
        object_tree(o, a, &has, NULL) != 0) {
        round_fail(p->round, ERR_NOMEM);
        return true;
    }
    if (covers(yyjson_doc_get_root(has), yyjson_doc_get_root(want))) {
        return o->deleting_ns !=
               0; /* made again when it is gone; until then it is drained as any other */
    }
    edited(c, o, yyjson_doc_get_root(has), yyjson_doc_get_root(want));
    text = patch_of(a, yyjson_doc_get_root(want), yyjson_doc_get_root(has));
    struct str rv = arena_f(a, "\"resourceVersion\":\"%llu\",", (unsigned long long)o->rv);
    text = splice(a, text, STR("\"metadata\":{"), rv);
    if (arena_ok(a) != 0 || text.p == NULL) {
        round_fail(p->round, ERR_NOMEM);
        return true;
    }
    round_tag(p->round, quota ? BOOKING_TAG_QUOTA : 0);
    round_patch(p->round, c->base.kinds[k], ns, name, "", PATCH_MERGE, text);
    round_tag(p->round, 0);
    return true;
}

static const struct object *find(struct booking_objects_controller *c, enum booking_kind k,
                                 struct str ns, struct str name) {
    return mirror_get(c->base.env.mirror, c->base.kinds[k], ns, name);
}

/* ---- manifests ---- */

static void open_json(struct buf *b, const char *version, const char *kind, struct str ns,
                      struct str name) {
    buf_init(b, LIMIT_OBJECT_BYTES);
    buf_f(b, "{\"apiVersion\":\"%s\",\"kind\":\"%s\",\"metadata\":{\"name\":", version, kind);
    buf_json(b, name);
    if (ns.n > 0) {
        buf_c(b, ",\"namespace\":");
        buf_json(b, ns);
    }
    buf_c(b, ",\"labels\":{\"" BOOKING_MANAGED_LABEL "\":\"" BOOKING_MANAGED "\"");
}

/* Label values are shorter than names. */
static void label_json(struct buf *b, const struct booking *k) {
    buf_c(b, ",\"" RESERVATION_LABEL "\":");
    buf_json(b, k->name.n <= 63 ? k->name : str_head(k->uid, 36));
    buf_c(b, "},\"annotations\":{");
}

static void member(struct buf *b, const char *key, struct str v) {
    buf_f(b, "\"%s\":", key);
    buf_json(b, v);
}

static void places_json(struct buf *b, const struct booking *k) {
    const struct reservation_status *s = k->rsv != NULL ? k->rsv->status : NULL;
    struct buf list;
    bool any = false;
    buf_init(&list, LIMIT_OBJECT_BYTES);
    buf_ch(&list, '[');
    for (size_t i = 0; s != NULL && k->closing == 0 && i < s->plan.n; i++) {
        const struct reservation_place *x = &s->plan.v[i];
        if (x->gpu.n == 0) {
            continue;
        }
        buf_c(&list, any ? ",{\"node\":" : "{\"node\":");
        buf_json(&list, x->node);
        buf_c(&list, ",\"gpu\":");
        buf_json(&list, x->gpu);
        buf_c(&list, ",\"profile\":");
        buf_json(&list, x->profile);
        buf_f(&list, ",\"start\":%d,\"size\":%d}", (int)x->start, (int)x->size);
        any = true;
    }
    buf_ch(&list, ']');
    buf_c(b, "\"" QUEUE_PLACEMENTS "\":");
    buf_json(b, buf_view(&list));
    buf_release(&list);
}

static bool asks_for(const struct booking_picture *p, const struct booking *k, size_t cell) {
    size_t at = booking_ledger_at(&p->ledger, k->row, cell);
    const struct booking_ledger *l = &p->ledger;
    return l->asked[at] > 0 || l->put[at] > 0 || l->seen[at] > 0;
}

/* A new queue has none: a create is not conditional, and may come late; it is raised when it is seen. */
static void quota_json(struct booking_picture *p, const struct booking *k, size_t cell,
                       struct buf *b) {
    const struct booking_cell *x = &p->cells[cell];
    int64_t now = p->ledger.put[booking_ledger_at(&p->ledger, k->row, cell)];
    buf_c(b, "{\"name\":");
    buf_json(b, x->resource);
    buf_c(b, ",\"nominalQuota\":\"");
    amount_text(x->resource, k->queue_obj != NULL ? now : 0, b);
    buf_c(b, "\"");
    if (x->device) {
        buf_c(b, ",\"borrowingLimit\":\"0\"");
    }
    if (x->device && k->rsv != NULL && k->rsv->spec->exclusive && k->closing == 0) {
        buf_c(b, ",\"lendingLimit\":\"0\"");
    }
    buf_c(b, "}");
}

/* Which resources, and flavors, of a group a booking has. */
struct booked_group {
    struct str *resources, *flavors;
    size_t n_resources, n_flavors;
};

static bool has_resource(const struct booking *k, struct str resource) {
    if (!str_starts(resource, STR(BOOKING_GPU_PREFIX))) {
        return true;
    }
    for (size_t i = 0; i < k->n_resources; i++) {
        if (str_eq(k->resources[i], resource)) {
            return true;
        }
    }
    return false;
}

/* A flavor in which something is asked for; without any (before the start) those of the plan or all. */
static bool has_flavor(const struct booking_picture *p, const struct booking *k, struct str flavor,
                       const struct booking_group *g) {
    const struct reservation_status *s = k->rsv != NULL ? k->rsv->status : NULL;
    bool planned = false, device = false;
    for (size_t i = 0; i < g->n_resources; i++) {
        size_t at = booking_cell_at(p, flavor, g->resources[i]);
        device = device || p->cells[at].device;
        if (asks_for(p, k, at)) {
            return true;
        }
    }
    for (size_t i = 0; s != NULL && i < s->plan.n; i++) {
        planned = planned || s->plan.v[i].flavor.n > 0;
        if (str_eq(s->plan.v[i].flavor, flavor)) {
            return true;
        }
    }
    return !device || !planned;
}

static void group_json(struct booking_picture *p, const struct booking *k,
                       const struct booked_group *g, struct buf *b) {
    buf_c(b, "{\"coveredResources\":[");
    for (size_t i = 0; i < g->n_resources; i++) {
        buf_c(b, i > 0 ? "," : "");
        buf_json(b, g->resources[i]);
    }
    buf_c(b, "],\"flavors\":[");
    for (size_t f = 0; f < g->n_flavors; f++) {
        buf_c(b, f > 0 ? ",{\"name\":" : "{\"name\":");
        buf_json(b, g->flavors[f]);
        buf_c(b, ",\"resources\":[");
        for (size_t i = 0; i < g->n_resources; i++) {
            buf_c(b, i > 0 ? "," : "");
            quota_json(p, k, booking_cell_at(p, g->flavors[f], g->resources[i]), b);
        }
        buf_c(b, "]}");
    }
    buf_c(b, "]}");
}

static void groups_json(struct arena *a, struct booking_picture *p, const struct booking *k,
                        struct buf *b) {
    bool any = false;
    buf_c(b, "\"resourceGroups\":[");
    for (size_t i = 0; i < p->n_groups; i++) {
        const struct booking_group *g = &p->groups[i];
        struct booked_group x = {.resources = ARENA_ARRAY(a, struct str, g->n_resources + 1),
                                 .flavors = ARENA_ARRAY(a, struct str, g->n_flavors + 1)};
        if (arena_ok(a) != 0) {
            return; /* the caller looks */
        }
        for (size_t r = 0; r < g->n_resources; r++) {
            if (has_resource(k, g->resources[r])) {
                x.resources[x.n_resources++] = g->resources[r];
            }
        }
        for (size_t f = 0; f < g->n_flavors; f++) {
            if (has_flavor(p, k, g->flavors[f], g)) {
                x.flavors[x.n_flavors++] = g->flavors[f];
            }
        }
        if (x.n_resources > 0 && x.n_flavors > 0) {
            buf_c(b, any ? "," : "");
            group_json(p, k, &x, b);
            any = true;
        }
    }
    buf_ch(b, ']');
}

static const char *stop_of(enum booking_stage s) {
    return s == STAGE_OPEN || s == STAGE_DEMOTED   ? "None"
           : s == STAGE_DRAINED || s == STAGE_GONE ? "HoldAndDrain"
                                                   : "Hold";
}

static void queue_json(struct arena *a, struct booking_picture *p, const struct booking *k,
                       struct buf *b) {
    char at[TIME_TEXT_MAX], lead[DURATION_TEXT_MAX];
    open_json(b, "kueue.x-k8s.io/v1beta2", "ClusterQueue", (struct str){0}, k->queue_name);
    label_json(b, k);
    member(b, BOOKING_UID, k->uid);
    buf_ch(b, ',');
    member(b, BOOKING_NAMESPACE, k->ns);
    buf_ch(b, ',');
    member(b, BOOKING_LOCAL, k->local_name);
    buf_ch(b, ',');
    member(b, BOOKING_POLICY, k->end_policy);
    buf_ch(b, ',');
    member(b, BOOKING_CLOSING, k->closing != 0 ? time_text(k->closing, at) : (struct str){0});
    buf_ch(b, ',');
    member(b, BOOKING_LEAD, k->lead_ns > 0 ? duration_text(k->lead_ns, lead) : (struct str){0});
    buf_ch(b, ',');
    places_json(b, k);
    buf_c(b, "}},\"spec\":{\"cohortName\":");
    buf_json(b, p->cohort_name);
    buf_c(b, ",\"namespaceSelector\":{\"matchLabels\":{\"kubernetes.io/metadata.name\":");
    buf_json(b, k->ns);
    buf_c(b, "}},\"queueingStrategy\":\"BestEffortFIFO\",\"preemption\":{\"reclaimWithinCohort\":"
             "\"Any\",\"borrowWithinCohort\":{\"policy\":\"Never\"},\"withinClusterQueue\":"
             "\"Never\"},");
    groups_json(a, p, k, b);
    buf_f(b, ",\"stopPolicy\":\"%s\"}}", stop_of(k->stage));
}

static void local_json(const struct booking *k, struct buf *b) {
    bool open = k->stage == STAGE_HELD || k->stage == STAGE_OPEN;
    open_json(b, "kueue.x-k8s.io/v1beta2", "LocalQueue", k->ns, k->local_name);
    label_json(b, k);
    member(b, BOOKING_UID, k->uid);
    buf_c(b, "}},\"spec\":{\"clusterQueue\":");
    buf_json(b, k->queue_name);
    buf_f(b, ",\"stopPolicy\":\"%s\"}}", open ? "None" : "Hold");
}

/* "2g.35gb", "gpu" */
static struct str short_resource(struct str resource) {
    struct str mig = STR(BOOKING_GPU_PREFIX "mig-"), head, tail;
    if (str_starts(resource, mig)) {
        return str_skip(resource, mig.n);
    }
    return str_cut(resource, '/', &head, &tail) ? tail : resource;
}

struct str booking_profile_name(struct arena *a, struct str local, struct str resource) {
    struct str head, tail;
    return arena_f(a, "%.*s-%.*s", STR_ARG(local),
                   STR_ARG(str_cut(resource, '/', &head, &tail) ? tail : resource));
}

/* What goes with one unit: its part of what the nodes have, in steps that people write. */
static void plain_identifier(struct booking_objects_controller *c, struct booking_picture *p,
                             struct str device, struct str resource, int64_t step, struct buf *b) {
    bool cpu = str_is(resource, "cpu");
    int64_t one = 0;
    for (size_t i = 0; one == 0 && i < p->n_pool_cells; i++) {
        if (str_eq(p->cells[i].resource, device)) {
            const struct booking_sum *s = booking_sum(c, p, i);
            one = booking_part(cpu ? s->cpu : s->memory, 1, s);
        }
    }
    int64_t value = one > step ? one / step * step : step;
    buf_f(b, "{\"displayName\":\"%s\",\"identifier\":", cpu ? "CPU" : "Memory");
    buf_json(b, resource);
    buf_c(b, ",\"minCount\":\"");
    amount_text(resource, step, b);
    buf_c(b, "\",\"defaultCount\":\"");
    amount_text(resource, value, b);
    buf_f(b, "\",\"resourceType\":\"%s\"},", cpu ? "CPU" : "Memory");
}

static void profile_json(struct booking_objects_controller *c, struct booking_picture *p,
                         const struct booking *k, size_t i, struct str name, struct buf *b) {
    char from[TIME_TEXT_MAX], to[TIME_TEXT_MAX];
    bool open = k->stage == STAGE_HELD || k->stage == STAGE_OPEN;
    struct str what = short_resource(k->resources[i]);
    open_json(b, "infrastructure.opendatahub.io/v1", "HardwareProfile", k->ns, name);
    label_json(b, k);
    member(b, BOOKING_UID, k->uid);
    buf_c(b, ",\"opendatahub.io/display-name\":\"");
    buf_f(b, "%.*s (%.*s)\",", STR_ARG(k->name), STR_ARG(what));
    buf_f(b, "\"opendatahub.io/description\":\"Reserved from %.*s to %.*s: %lld of %.*s\",",
          STR_ARG(time_text(k->start, from)), STR_ARG(time_text(k->end, to)),
          (long long)k->counts[i], STR_ARG(k->resources[i]));
    buf_f(b, "\"opendatahub.io/disabled\":\"%s\",\"opendatahub.io/managed\":\"true\"}},",
          open ? "false" : "true");
    buf_c(b, "\"spec\":{\"identifiers\":[");
    plain_identifier(c, p, k->resources[i], STR("cpu"), 100, b);
    plain_identifier(c, p, k->resources[i], STR("memory"), INT64_C(256) << 20, b);
    buf_c(b, "{\"displayName\":");
    buf_json(b, what);
    buf_c(b, ",\"identifier\":");
    buf_json(b, k->resources[i]);
    buf_f(b,
          ",\"minCount\":1,\"maxCount\":%lld,\"defaultCount\":1,\"resourceType\":"
          "\"Accelerator\"}],\"scheduling\":{\"type\":\"Queue\",\"kueue\":{\"localQueueName\":",
          (long long)k->counts[i]);
    buf_json(b, k->local_name);
    buf_c(b, "}}}}");
}

/* ---- of one booking ---- */

static void put_local(struct booking_objects_controller *c, struct booking_picture *p,
                      struct booking *k) {
    struct buf b;
    const struct object *o = find(c, BK_LOCAL_QUEUE, k->ns, k->local_name);
    if (o == NULL && (k->foreign_open || (k->closing != 0 && k->holding == 0))) {
        return; /* going, and gone already; but what runs is drained by way of it */
    }
    local_json(k, &b);
    k->behind = put(c, p, BK_LOCAL_QUEUE, k->ns, k->local_name, o, &b) || k->behind;
}

static void put_profiles(struct booking_objects_controller *c, struct booking_picture *p,
                         struct booking *k) {
    for (size_t i = 0; i < k->n_resources; i++) {
        struct str name = booking_profile_name(&c->base.arena, k->local_name, k->resources[i]);
        const struct object *o = find(c, BK_PROFILE, k->ns, name);
        struct buf b;
        if (name.p == NULL || (o == NULL && (k->foreign_open || k->closing != 0))) {
            continue;
        }
        profile_json(c, p, k, i, name, &b);
        k->behind = put(c, p, BK_PROFILE, k->ns, name, o, &b) || k->behind;
    }
}

void booking_put_objects(struct booking_objects_controller *c, struct booking_picture *p,
                         struct booking *k) {
    struct buf b;
    if (k->queue_obj == NULL && (k->foreign_open || k->closing != 0)) {
        return;
    }
    if (k->fenced) {
        arena_reset(&c->scratch);
        queue_json(&c->scratch, p, k, &b);
        if (arena_ok(&c->scratch) != 0) {
            buf_release(&b);
            round_fail(p->round, ERR_NOMEM);
            return;
        }
        k->behind = put(c, p, BK_CLUSTER_QUEUE, (struct str){0}, k->queue_name, k->queue_obj, &b) ||
                    k->behind;
    }
    put_local(c, p, k);
    put_profiles(c, p, k);
}

struct booking_removal {
    struct booking_objects_controller *c;
    struct booking_picture *p;
    const struct booking *k;
    size_t left;
};

static bool remove_profile(void *ctx, const struct object *o) {
    struct booking_removal *x = ctx;
    struct str prefix = x->k->local_name;
    struct delete_options how = {.uid = o->uid, .grace_seconds = -1};
    if (str_is(object_label(o, STR(BOOKING_MANAGED_LABEL)), BOOKING_MANAGED) &&
        object_label(o, STR(RESERVATION_LABEL)).n > 0 && o->name.n > prefix.n &&
        str_starts(o->name, prefix) && o->name.p[prefix.n] == '-' &&
        str_contains(o->json, x->k->uid)) {
        x->left++;
        if (o->deleting_ns == 0) {
            round_remove(x->p->round, x->c->base.kinds[BK_PROFILE], o->ns, o->name, &how);
        }
    }
    return true;
}

/* LocalQueue and profiles; and when they are gone, the ClusterQueue. */
void booking_remove(struct booking_objects_controller *c, struct booking_picture *p,
                    struct booking *k) {
    struct booking_removal x = {c, p, k, 0};
    const struct object *local = find(c, BK_LOCAL_QUEUE, k->ns, k->local_name);
    struct delete_options how = {.grace_seconds = -1};
    if (local != NULL && str_is(object_label(local, STR(BOOKING_MANAGED_LABEL)), BOOKING_MANAGED)) {
        x.left++;
        how.uid = local->uid;
        if (local->deleting_ns == 0) {
            round_remove(p->round, c->base.kinds[BK_LOCAL_QUEUE], k->ns, k->local_name, &how);
        }
    }
    if (x.left == 0 && k->ns.n > 0) {
        mirror_scan(c->base.env.mirror, c->base.kinds[BK_PROFILE], k->ns, remove_profile, &x);
    }
    k->behind = true;
    if (x.left == 0 && k->queue_obj != NULL && k->queue_obj->deleting_ns == 0) {
        how.uid = k->queue_obj->uid;
        round_remove(p->round, c->base.kinds[BK_CLUSTER_QUEUE], STR(""), k->queue_name, &how);
    }
}

/* ---- the pool ---- */

static int64_t put_of_pool(const struct booking_picture *p, size_t cell) {
    return p->ledger.put[booking_ledger_at(&p->ledger, p->n, cell)];
}

/* A new one has no quota, as a new queue. */
void booking_put_cohort(struct booking_objects_controller *c, struct booking_picture *p) {
    struct buf b;
    if (!p->cohort_fenced) {
        return;
    }
    open_json(&b, "kueue.x-k8s.io/v1beta2", "Cohort", (struct str){0}, p->cohort_name);
    buf_c(&b, "},\"annotations\":{\"berth.dev/quota\":\"hardware less what is booked and what "
              "ClusterQueues have as their own\"}},\"spec\":{\"resourceGroups\":[");
    for (size_t i = 0; i < p->n_groups; i++) {
        const struct booking_group *g = &p->groups[i];
        buf_c(&b, i > 0 ? ",{\"coveredResources\":[" : "{\"coveredResources\":[");
        for (size_t k = 0; k < g->n_resources; k++) {
            buf_c(&b, k > 0 ? "," : "");
            buf_json(&b, g->resources[k]);
        }
        buf_c(&b, "],\"flavors\":[");
        for (size_t f = 0; f < g->n_flavors; f++) {
            buf_c(&b, f > 0 ? ",{\"name\":" : "{\"name\":");
            buf_json(&b, g->flavors[f]);
            buf_c(&b, ",\"resources\":[");
            for (size_t k = 0; k < g->n_resources; k++) {
                size_t cell = booking_cell_at(p, g->flavors[f], g->resources[k]);
                buf_c(&b, k > 0 ? ",{\"name\":" : "{\"name\":");
                buf_json(&b, g->resources[k]);
                buf_c(&b, ",\"nominalQuota\":\"");
                amount_text(g->resources[k], p->cohort_obj != NULL ? put_of_pool(p, cell) : 0, &b);
                buf_c(&b, "\"}");
            }
            buf_c(&b, "]}");
        }
        buf_c(&b, "]}");
    }
    buf_c(&b, "]}}");
    put(c, p, BK_COHORT, STR(""), p->cohort_name, p->cohort_obj, &b);
}

/* ---- status.objects ---- */

static struct str status_text(struct arena *a, const struct booking_picture *p,
                              const struct booking *k) {
    if (k->follows) {
        return STR("goes on with the objects of the booking before it");
    }
    if (k->closing != 0) {
        return k->queue_obj == NULL ? STR("")
               : k->stage == STAGE_DEMOTED
                   ? arena_f(a, "workloads that stay on borrowed quota: %zu", k->holding)
                   : arena_f(a, "workloads that are leaving: %zu", k->holding);
    }
    if (k->foreign_open) {
        return STR("the project is being deleted");
    }
    for (size_t i = 0; i < p->n_cells; i++) {
        size_t at = booking_ledger_at(&p->ledger, k->row, i);
        if (p->cells[i].device && p->ledger.want[at] < p->ledger.asked[at]) {
            return arena_f(a, "%lld of %lld %.*s: hardware is missing, or others own it",
                           (long long)p->ledger.want[at], (long long)p->ledger.asked[at],
                           STR_ARG(p->cells[i].resource));
        }
    }
    return k->whole ? STR("") : STR("being made");
}

bool booking_put_status(struct booking_objects_controller *c, struct booking_picture *p,
                        struct booking *k) {
    struct arena *a = &c->scratch;
    const struct reservation_objects *was =
        k->rsv != NULL && k->rsv->status != NULL ? k->rsv->status->objects : NULL;
    yyjson_doc *has, *want;
    struct buf b;
    if (k->obj == NULL || (was == NULL && k->closing != 0 && k->queue_obj == NULL)) {
        return false;
    }
    arena_reset(a);
    bool there = k->queue_obj != NULL || k->closing == 0;
    bool drained = k->closing != 0 && k->holding == 0;
    buf_init(&b, LIMIT_OBJECT_BYTES);
    buf_c(&b, "{\"clusterQueue\":");
    buf_json(&b, there ? k->queue_name : (struct str){0});
    buf_c(&b, ",\"localQueue\":");
    buf_json(&b, there ? k->local_name : (struct str){0});
    buf_c(&b, ",\"hardwareProfiles\":[");
    for (size_t i = 0; there && i < k->n_resources; i++) {
        buf_c(&b, i > 0 ? "," : "");
        buf_json(&b, booking_profile_name(a, k->local_name, k->resources[i]));
    }
    buf_f(&b,
          "],\"ready\":%s,\"drained\":%s,\"message\":", k->whole || k->follows ? "true" : "false",
          drained ? "true" : "false");
    buf_json(&b, status_text(a, p, k));
    buf_ch(&b, '}');
    struct str text = buf_ok(&b) == 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    if (text.p == NULL || json_parse(a, text, &want, NULL) != 0 ||
        object_tree(k->obj, a, &has, NULL) != 0) {
        round_fail(p->round, ERR_NOMEM);
        return true;
    }
    bool write =
        !covers(json_path(yyjson_doc_get_root(has), "status.objects"), yyjson_doc_get_root(want));
    if (write) {
        struct str body = arena_f(
            a, "{\"metadata\":{\"resourceVersion\":\"%llu\"},\"status\":{\"objects\":%.*s}}",
            (unsigned long long)k->obj->rv, STR_ARG(text));
        round_patch(p->round, c->base.kinds[BK_RESERVATION], k->ns, k->obj->name, "status",
                    PATCH_MERGE, body);
    }
    return write;
}
