/* booking_objects_put: what the objects of a booking are to say, and that they say it (control/kit/apply.h). */
#include <assert.h>

#include "api/schema/codec_encode.h"
#include "base/limits.h"
#include "control/berths/booking_objects_private.h"
#include "control/kit/apply.h"
#include "control/kit/edit.h"
#include "control/queue/queue_controller.h"
#include "wire/text/time.h"

static const struct object *find(struct booking_objects_controller *c, enum booking_kind k,
                                 struct str ns, struct str name) {
    return mirror_get(c->base.env.mirror, c->base.kinds[k], ns, name);
}

/* Makes it so; true when that has to be written. `o` NULL: it is created. The intent is in the scratch arena. */
static bool put(struct booking_objects_controller *c, struct booking_picture *p,
                enum booking_kind k, const struct object *o, void *intent, struct meta *meta) {
    struct arena *a = &c->scratch;
    bool quota = k == BK_CLUSTER_QUEUE || k == BK_COHORT;
    struct apply x = {p->round,
                      c->base.recorder,
                      a,
                      "An edit of what a reservation needs here was undone; change the Reservation "
                      "or the ReservationPolicy instead",
                      {{0}, {0}}};
    if (quota && p->term.n > 0) { /* who raised quota last (booking_fence.c) */
        x.first = (struct str_pair){STR(BOOKING_TERM), p->term};
    }
    if (arena_ok(a) != 0) {
        round_fail(p->round, ERR_NOMEM);
        return true;
    }
    round_tag(p->round, quota && o != NULL ? BOOKING_TAG_QUOTA : 0);
    bool written = apply_object(&x, c->base.kinds[k], o, intent, meta);
    round_tag(p->round, 0);
    return written;
}

/* ---- intents, in the scratch arena ---- */

enum { NOTES = 8 };

/* Metadata with labels; `notes` are the annotations, with room for as many as NOTES. */
struct intent_head {
    struct meta meta;
    struct str_pair labels[2], notes[NOTES];
};

/* k NULL: the pool's. Label values are shorter than names. */
static struct intent_head *head_new(struct arena *a, const struct berth_booking *k, struct str ns,
                                    struct str name) {
    struct intent_head *h = ARENA_NEW(a, struct intent_head);
    if (h == NULL) {
        return NULL;
    }
    h->labels[0] = (struct str_pair){STR(BOOKING_MANAGED_LABEL), STR(BOOKING_MANAGED)};
    h->meta = (struct meta){
        .name = name, .namespace = ns, .labels = {h->labels, 1}, .annotations = {h->notes, 0}};
    if (k != NULL) {
        h->labels[1] = (struct str_pair){STR(RESERVATION_LABEL),
                                         k->name.n <= 63 ? k->name : str_head(k->uid, 36)};
        h->meta.labels.n = 2;
    }
    return h;
}

static void note(struct intent_head *h, const char *key, struct str v) {
    assert(h->meta.annotations.n < NOTES);
    h->notes[h->meta.annotations.n++] = (struct str_pair){str_of(key), v};
}

static struct str places_text(struct arena *a, const struct berth_booking *k) {
    const struct reservation_status *s = k->rsv != NULL ? k->rsv->status : NULL;
    size_t most = s != NULL && k->closing == 0 ? s->plan.n : 0, n = 0;
    struct gpu_place *v = ARENA_ARRAY(a, struct gpu_place, most + 1);
    struct buf list;
    for (size_t i = 0; v != NULL && i < most; i++) {
        const struct reservation_place *x = &s->plan.v[i];
        if (x->gpu.n > 0) {
            v[n++] = (struct gpu_place){x->node, x->gpu, x->profile, x->start.v, x->size};
        }
    }
    buf_init(&list, LIMIT_OBJECT_BYTES);
    codec_encode_list(&schema_gpu_place, v, n, &list);
    struct str text = buf_ok(&list) == 0 ? arena_str(a, buf_view(&list)) : (struct str){0};
    buf_release(&list);
    return text;
}

static bool asks_for(const struct booking_picture *p, const struct berth_booking *k, size_t cell) {
    size_t at = booking_ledger_at(&p->ledger, k->row, cell);
    const struct booking_ledger *l = &p->ledger;
    return l->asked[at] > 0 || l->put[at] > 0 || l->seen[at] > 0;
}

/* A new queue has none: a create is not conditional, and may come late; it is raised when it is seen. */
static struct resource_quota quota_of(struct booking_picture *p, const struct berth_booking *k,
                                      size_t cell) {
    const struct opt_quantity none = {.set = true};
    const struct booking_cell *x = &p->cells[cell];
    int64_t now = p->ledger.put[booking_ledger_at(&p->ledger, k->row, cell)];
    struct resource_quota q = {.name = x->resource,
                               .nominal_quota =
                                   amount_quantity(x->resource, k->queue_obj != NULL ? now : 0)};
    if (x->device) {
        q.borrowing_limit = none;
    }
    if (x->device && k->rsv != NULL && k->rsv->spec->exclusive && k->closing == 0) {
        q.lending_limit = none;
    }
    return q;
}

/* Which resources, and flavors, of a group a booking has. */
struct booked_group {
    struct str *resources, *flavors;
    size_t n_resources, n_flavors;
};

static bool has_resource(const struct berth_booking *k, struct str resource) {
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
static bool has_flavor(const struct booking_picture *p, const struct berth_booking *k,
                       struct str flavor, const struct booking_group *g) {
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

static int64_t put_of_pool(const struct booking_picture *p, size_t cell) {
    return p->ledger.put[booking_ledger_at(&p->ledger, p->n, cell)];
}

/* What each flavor of a group has: of the pool, or of a booking. Failures are the arena's. */
static struct resource_group group_of(struct arena *a, struct booking_picture *p,
                                      const struct berth_booking *k, const struct booked_group *g) {
    struct resource_group to = {.covered_resources = {g->resources, g->n_resources}};
    to.flavors.v = ARENA_ARRAY(a, struct flavor_quotas, g->n_flavors + 1);
    for (size_t f = 0; to.flavors.v != NULL && f < g->n_flavors; f++) {
        struct resource_quota *v = ARENA_ARRAY(a, struct resource_quota, g->n_resources + 1);
        for (size_t i = 0; v != NULL && i < g->n_resources; i++) {
            size_t cell = booking_cell_at(p, g->flavors[f], g->resources[i]);
            int64_t put = k == NULL && p->cohort_obj != NULL ? put_of_pool(p, cell) : 0;
            v[i] = k != NULL ? quota_of(p, k, cell)
                             : (struct resource_quota){.name = g->resources[i],
                                                       .nominal_quota =
                                                           amount_quantity(g->resources[i], put)};
        }
        to.flavors.v[f].name = g->flavors[f];
        to.flavors.v[f].resources.v = v;
        to.flavors.v[f].resources.n = v != NULL ? g->n_resources : 0;
        to.flavors.n++;
    }
    return to;
}

static struct resource_group_list groups_of(struct arena *a, struct booking_picture *p,
                                            const struct berth_booking *k) {
    struct resource_group_list l = {ARENA_ARRAY(a, struct resource_group, p->n_groups + 1), 0};
    for (size_t i = 0; i < p->n_groups; i++) {
        const struct booking_group *g = &p->groups[i];
        struct booked_group x = {.resources = ARENA_ARRAY(a, struct str, g->n_resources + 1),
                                 .flavors = ARENA_ARRAY(a, struct str, g->n_flavors + 1)};
        if (arena_ok(a) != 0) {
            break; /* the caller looks */
        }
        for (size_t r = 0; r < g->n_resources; r++) {
            if (k == NULL || has_resource(k, g->resources[r])) {
                x.resources[x.n_resources++] = g->resources[r];
            }
        }
        for (size_t f = 0; f < g->n_flavors; f++) {
            if (k == NULL || has_flavor(p, k, g->flavors[f], g)) {
                x.flavors[x.n_flavors++] = g->flavors[f];
            }
        }
        if (k == NULL || (x.n_resources > 0 && x.n_flavors > 0)) {
            l.v[l.n++] = group_of(a, p, k, &x);
        }
    }
    return l;
}

static const char *stop_of(enum booking_stage s) {
    return s == STAGE_OPEN || s == STAGE_DEMOTED   ? "None"
           : s == STAGE_DRAINED || s == STAGE_GONE ? "HoldAndDrain"
                                                   : "Hold";
}

static bool put_queue(struct booking_objects_controller *c, struct booking_picture *p,
                      const struct berth_booking *k) {
    struct arena *a = &c->scratch;
    char at[TIME_TEXT_MAX], lead[DURATION_TEXT_MAX];
    struct str_pair in = {STR("kubernetes.io/metadata.name"), k->ns};
    struct label_selector namespaces = {.match_labels = {&in, 1}};
    struct borrow_within_cohort never = {.policy = STR("Never")};
    struct cluster_queue_preemption preemption = {STR("Any"), STR("Never"), &never};
    struct cluster_queue_spec spec = {.cohort_name = p->cohort_name,
                                      .namespace_selector = &namespaces,
                                      .queueing_strategy = STR("BestEffortFIFO"),
                                      .preemption = &preemption,
                                      .stop_policy = str_of(stop_of(k->stage))};
    arena_reset(a);
    struct intent_head *h = head_new(a, k, (struct str){0}, k->queue_name);
    if (h != NULL) {
        struct cluster_queue q = {.metadata = &h->meta, .spec = &spec};
        note(h, BOOKING_UID, k->uid);
        note(h, BOOKING_NAMESPACE, k->ns);
        note(h, BOOKING_LOCAL, k->local_name);
        note(h, BOOKING_POLICY, k->end_policy);
        note(h, BOOKING_CLOSING, k->closing != 0 ? time_text(k->closing, at) : STR(""));
        note(h, BOOKING_LEAD, k->lead_ns > 0 ? duration_text(k->lead_ns, lead) : STR(""));
        note(h, QUEUE_PLACEMENTS, places_text(a, k));
        spec.resource_groups = groups_of(a, p, k);
        return put(c, p, BK_CLUSTER_QUEUE, k->queue_obj, &q, &h->meta);
    }
    round_fail(p->round, ERR_NOMEM);
    return true;
}

static bool put_local_queue(struct booking_objects_controller *c, struct booking_picture *p,
                            const struct berth_booking *k, const struct object *o) {
    bool open = k->stage == STAGE_HELD || k->stage == STAGE_OPEN;
    arena_reset(&c->scratch);
    struct intent_head *h = head_new(&c->scratch, k, k->ns, k->local_name);
    struct local_queue_spec spec = {.cluster_queue = k->queue_name,
                                    .stop_policy = open ? STR("None") : STR("Hold")};
    if (h == NULL) {
        round_fail(p->round, ERR_NOMEM);
        return true;
    }
    struct local_queue q = {.metadata = &h->meta, .spec = &spec};
    note(h, BOOKING_UID, k->uid);
    return put(c, p, BK_LOCAL_QUEUE, o, &q, &h->meta);
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

static struct str amount_of(struct arena *a, struct str resource, int64_t v) {
    char text[QUANTITY_TEXT_MAX];
    return arena_str(a, quantity_text(amount_quantity(resource, v), text));
}

/* What goes with one unit: its part of what the nodes have, in steps that people write. */
static struct hardware_identifier plain_identifier(struct booking_objects_controller *c,
                                                   struct booking_picture *p, struct str device,
                                                   struct str resource, int64_t step) {
    bool cpu = str_is(resource, "cpu");
    int64_t one = 0;
    for (size_t i = 0; one == 0 && i < p->n_pool_cells; i++) {
        if (str_eq(p->cells[i].resource, device)) {
            const struct booking_sum *s = booking_sum(c, p, i);
            one = booking_part(cpu ? s->cpu : s->memory, 1, s);
        }
    }
    int64_t value = one > step ? one / step * step : step;
    struct str kind = cpu ? STR("CPU") : STR("Memory");
    return (struct hardware_identifier){.display_name = kind,
                                        .identifier = resource,
                                        .min_count = amount_of(&c->scratch, resource, step),
                                        .default_count = amount_of(&c->scratch, resource, value),
                                        .resource_type = kind};
}

static bool put_profile(struct booking_objects_controller *c, struct booking_picture *p,
                        const struct berth_booking *k, size_t i, struct str name,
                        const struct object *o) {
    char from[TIME_TEXT_MAX], to[TIME_TEXT_MAX];
    struct arena *a = &c->scratch;
    bool open = k->stage == STAGE_HELD || k->stage == STAGE_OPEN;
    struct str device = k->resources[i], what = short_resource(device);
    arena_reset(a);
    struct hardware_identifier v[] = {
        plain_identifier(c, p, device, STR("cpu"), 100),
        plain_identifier(c, p, device, STR("memory"), INT64_C(256) << 20),
        {.display_name = what,
         .identifier = device,
         .min_count = STR("1"),
         .default_count = STR("1"),
         .max_count = arena_f(a, "%lld", (long long)k->counts[i]),
         .resource_type = STR("Accelerator")},
    };
    struct hardware_kueue kueue = {.local_queue_name = k->local_name};
    struct hardware_scheduling scheduling = {.type = STR("Queue"), .kueue = &kueue};
    struct hardware_profile_spec spec = {.identifiers = {v, 3}, .scheduling = &scheduling};
    struct intent_head *h = head_new(a, k, k->ns, name);
    if (h == NULL) {
        round_fail(p->round, ERR_NOMEM);
        return true;
    }
    note(h, BOOKING_UID, k->uid);
    note(h, "opendatahub.io/display-name",
         arena_f(a, "%.*s (%.*s)", STR_ARG(k->name), STR_ARG(what)));
    note(h, "opendatahub.io/description",
         arena_f(a, "Reserved from %.*s to %.*s: %lld of %.*s", STR_ARG(time_text(k->start, from)),
                 STR_ARG(time_text(k->end, to)), (long long)k->counts[i], STR_ARG(device)));
    note(h, "opendatahub.io/disabled", open ? STR("false") : STR("true"));
    note(h, "opendatahub.io/managed", STR("true"));
    struct hardware_profile profile = {.metadata = &h->meta, .spec = &spec};
    return put(c, p, BK_PROFILE, o, &profile, &h->meta);
}

/* ---- of one booking ---- */

static void put_local(struct booking_objects_controller *c, struct booking_picture *p,
                      struct berth_booking *k) {
    const struct object *o = find(c, BK_LOCAL_QUEUE, k->ns, k->local_name);
    if (o == NULL && (k->foreign_open || (k->closing != 0 && k->holding == 0))) {
        return; /* going, and gone already; but what runs is drained by way of it */
    }
    k->behind = put_local_queue(c, p, k, o) || k->behind;
}

static void put_profiles(struct booking_objects_controller *c, struct booking_picture *p,
                         struct berth_booking *k) {
    for (size_t i = 0; i < k->n_resources; i++) {
        struct str name = booking_profile_name(&c->base.arena, k->local_name, k->resources[i]);
        const struct object *o = find(c, BK_PROFILE, k->ns, name);
        if (name.p == NULL || (o == NULL && (k->foreign_open || k->closing != 0))) {
            continue;
        }
        k->behind = put_profile(c, p, k, i, name, o) || k->behind;
    }
}

void booking_put_objects(struct booking_objects_controller *c, struct booking_picture *p,
                         struct berth_booking *k) {
    if (k->queue_obj == NULL && (k->foreign_open || k->closing != 0)) {
        return;
    }
    if (k->fenced) {
        k->behind = put_queue(c, p, k) || k->behind;
    }
    put_local(c, p, k);
    put_profiles(c, p, k);
}

struct booking_removal {
    struct booking_objects_controller *c;
    struct booking_picture *p;
    const struct berth_booking *k;
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
                    struct berth_booking *k) {
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

/* A new one has no quota, as a new queue. */
void booking_put_cohort(struct booking_objects_controller *c, struct booking_picture *p) {
    struct arena *a = &c->scratch;
    struct cohort_spec spec = {0};
    if (!p->cohort_fenced) {
        return;
    }
    arena_reset(a);
    struct intent_head *h = head_new(a, NULL, (struct str){0}, p->cohort_name);
    if (h == NULL) {
        round_fail(p->round, ERR_NOMEM);
        return;
    }
    struct cohort cohort = {.metadata = &h->meta, .spec = &spec};
    note(h, "berth.dev/quota",
         STR("hardware less what is booked and what ClusterQueues have as their own"));
    spec.resource_groups = groups_of(a, p, NULL);
    (void)put(c, p, BK_COHORT, p->cohort_obj, &cohort, &h->meta);
}

/* ---- status.objects ---- */

static struct str status_text(struct arena *a, const struct booking_picture *p,
                              const struct berth_booking *k) {
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
                        struct berth_booking *k) {
    struct arena *a = &c->scratch;
    const struct reservation_objects *was =
        k->rsv != NULL && k->rsv->status != NULL ? k->rsv->status->objects : NULL;
    if (k->obj == NULL || k->rsv == NULL ||
        (was == NULL && k->closing != 0 && k->queue_obj == NULL)) {
        return false;
    }
    arena_reset(a);
    bool there = k->queue_obj != NULL || k->closing == 0;
    struct reservation_objects now = {.ready = k->whole || k->follows,
                                      .drained = k->closing != 0 && k->holding == 0,
                                      .message = status_text(a, p, k)};
    now.hardware_profiles.v = ARENA_ARRAY(a, struct str, k->n_resources + 1);
    for (size_t i = 0; there && now.hardware_profiles.v != NULL && i < k->n_resources; i++) {
        now.hardware_profiles.v[now.hardware_profiles.n++] =
            booking_profile_name(a, k->local_name, k->resources[i]);
    }
    now.cluster_queue = there ? k->queue_name : (struct str){0};
    now.local_queue = there ? k->local_name : (struct str){0};
    struct reservation want = *k->rsv;
    struct reservation_status status = {0};
    if (k->rsv->status != NULL) {
        status = *k->rsv->status;
    }
    status.objects = &now;
    want.status = &status;
    if (arena_ok(a) != 0) {
        round_fail(p->round, ERR_NOMEM);
        return true;
    }
    return edit_send(p->round, k->obj, "status", EDIT_VERSION, k->rsv, &want) != ERR_NOT_FOUND;
}
