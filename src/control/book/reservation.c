/* reservation: whose turn it is: keys, writes, feeds. See reservation.h. */
#include "control/book/reservation_private.h"

#include "control/kit/edit.h"

enum { SCRATCH_MAX = 256 << 20, LATER_NS = 5 * NS_PER_MS, DECIDE_NS = 20 * NS_PER_MS };

/* ---- work ---- */

/* Its status says what this version of it is. */
static void is_written(struct reservation_controller *c, struct booking *b, uint64_t version) {
    b->written = version;
    b->durable = b->durable || b->held;
    if (b->version == version) {
        plan_moved_clear(c, b);
        booking_extra(b, (struct str){0});
    }
}

static int answered(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct reservation_controller *c = ctx;
    struct booking *b = booking_find(c, round_ns(r), round_name(r));
    if (res->code == 0 && b && tag != 0) {
        is_written(c, b, tag);
    }
    return res->code == ERR_NOT_FOUND ? 0 : res->code;
}

static enum work write_status(struct reservation_controller *c, struct booking *b,
                              const struct object *o, struct reservation *r) {
    struct reservation want = *r;
    struct reservation_status status;
    struct round *round = controller_begin(&c->base);
    if (round == NULL) {
        return WORK_RETRY;
    }
    want.status = &status;
    round_on_done(round, answered, c);
    round_tag(round, b->version);
    int code = plan_status(c, b, r, &c->base.arena, &status);
    if (code != 0) {
        round_fail(round, code);
    } else if (edit_send(round, o, "status", EDIT_VERSION, r, &want) == ERR_NOT_FOUND) {
        is_written(c, b, b->version);
    }
    return round_end(round);
}

/* Final ones go when nobody asks for them any more. */
static enum work forget_old(struct reservation_controller *c, const struct booking *b,
                            const struct object *o) {
    struct delete_options opts = {.uid = o->uid, .grace_seconds = -1};
    struct round *round = controller_begin(&c->base);
    round_remove(round, c->reservations, b->ns, b->name, &opts);
    return round_end(round);
}

static enum work booking_work(struct reservation_controller *c, struct booking *b) {
    struct arena *a = &c->base.arena;
    const struct object *o;
    struct reservation *r = booking_view(c, b, a, &o);
    int64_t now = plan_now(c);
    if (r == NULL && arena_ok(a) != 0) {
        return WORK_RETRY;
    }
    if (r == NULL || b->phase == BOOKING_NEW) { /* its turn comes: the decision adds it again */
        return WORK_OK;
    }
    plan_user_set(c, b, r);
    plan_step(c, b, o, r);
    plan_moved(c);
    if (c->given) {
        plan_kick(c);
    }
    int64_t due = plan_due(c, b, r);
    if (due < CALENDAR_FOREVER) {
        int64_t ns = due * NS_PER_SEC - clock_wall(c->base.env.clock);
        workqueue_look(c->base.queue, c->base.key, ns > 0 ? ns : 0);
    }
    if (b->version != b->written) {
        /* Whoever made room for it comes first. */
        if (c->n_moved > 0 && !b->durable && booking_holds(b->phase)) {
            workqueue_look(c->base.queue, c->base.key, LATER_NS);
            return WORK_OK;
        }
        return write_status(c, b, o, r);
    }
    if (booking_final(b->phase)) {
        if (b->ended && b->ended + PLAN_KEEP_S <= now && !o->deleting_ns) {
            return forget_old(c, b, o);
        }
    }
    return WORK_OK;
}

static bool pool_is_there(struct reservation_controller *c) {
    struct str name =
        c->policy.spec && c->policy.spec->pool ? c->policy.spec->pool->cohort : STR("pool");
    return map_count(&c->by_uid) > 0 ||
           mirror_get(c->base.env.mirror, c->cohorts, STR(""), name) != NULL;
}

/* The policy is there to be edited. */
static enum work policy_make(struct reservation_controller *c) {
    struct mirror *m = c->base.env.mirror;
    if (mirror_get(m, c->policies, STR(""), STR(RESERVATION_POLICY_NAME)) || !pool_is_there(c)) {
        return WORK_OK;
    }
    struct meta meta = {.name = STR(RESERVATION_POLICY_NAME)};
    struct round *round = controller_begin(&c->base);
    /* Without a spec: it gets the defaults, of which a zero would not be one. */
    (void)edit_create(round, c->policies, STR(""), &(struct reservation_policy){.metadata = &meta});
    return round_end(round);
}

static void look_at_all(struct reservation_controller *c);

static enum work step(void *self, struct work_key key) {
    struct reservation_controller *c = self;
    if (key.what == PLAN_ALL) {
        look_at_all(c);
        return WORK_OK;
    }
    c->decide_until = clock_mono(c->base.env.clock) + DECIDE_NS;
    int refreshed = plan_refresh(c);
    c->decide_until = 0;
    if (refreshed != 0) {
        return WORK_RETRY;
    }
    if (c->supply_at) {
        plan_look_at(c, PLAN_ITSELF, (c->supply_at - plan_now(c)) * NS_PER_SEC + NS_PER_SEC);
    }
    if (key.what == PLAN_POLICY) {
        return policy_make(c);
    }
    if (key.what == PLAN_WINDOW) {
        return plan_window_work(c, key.name);
    }
    struct booking *b = key.what == PLAN_BOOKING ? booking_find(c, key.ns, key.name) : NULL;
    return b ? booking_work(c, b) : WORK_OK;
}

/* ---- feeds ---- */

/* Without memory for its record all are looked at again a little later. */
static void note_booking(struct reservation_controller *c, const struct object *o) {
    if (booking_find(c, o->ns, o->name) == NULL && plan_booking_new(c, o) == NULL) {
        plan_look_at(c, PLAN_ALL, NS_PER_SEC);
    }
}

static void on_reservation(void *ctx, const struct change *ch) {
    struct reservation_controller *c = ctx;
    const struct object *o = ch->obj;
    struct booking *b = booking_find(c, o->ns, o->name);
    if (b && (ch->type == CHANGE_DELETED || !str_eq(b->uid, o->uid))) {
        plan_booking_free(c, b);
        b = NULL;
    }
    if (ch->type != CHANGE_DELETED && b == NULL) {
        note_booking(c, o);
    }
    workqueue_add(c->base.queue, o->ns, o->name);
    if (c->given) {
        plan_kick(c);
    }
}

static void on_supply(void *ctx, const struct change *ch) {
    struct reservation_controller *c = ctx;
    c->supply_dirty = true;
    plan_kick(c);
}

/* A window's own status is no news. */
static void on_window(void *ctx, const struct change *ch) {
    struct reservation_controller *c = ctx;
    if (ch->old == NULL || ch->old->generation != ch->obj->generation ||
        ch->type == CHANGE_DELETED) {
        if (ch->old && map_get(&c->windows_in, ch->obj->name)) {
            plan_window_drop(c, ch->obj->name);
        }
        on_supply(ctx, ch);
        return;
    }
}

/* Queues of bookings say whether they are used; others may have standing quotas. */
static void on_queue(void *ctx, const struct change *ch) {
    struct reservation_controller *c = ctx;
    const struct object *o = ch->obj;
    bool used;
    if (object_label(o, STR(RESERVATION_LABEL)).n == 0) {
        if (ch->old == NULL || ch->old->generation != o->generation || ch->type == CHANGE_DELETED) {
            on_supply(ctx, ch);
        }
        return;
    }
    struct booking *b = plan_queue_use(c, o, ch->type == CHANGE_DELETED, &used);
    if (b && b->in_use != used) {
        b->in_use = used;
        b->used = plan_now(c);
        if (!booking_final(b->phase)) { /* its account is closed, and a restart forgets it */
            booking_touch(c, b);
        }
    }
}

static bool same_member(yyjson_val *a, yyjson_val *b, const char *dotted) {
    yyjson_val *x = json_path(a, dotted), *y = json_path(b, dotted);
    return (x == NULL && y == NULL) || (x && y && json_equal(x, y));
}

static bool same_inventory(struct str x, struct str y, struct arena *a) {
    struct inventory v = {0}, w = {0};
    if (inventory_decode(x, a, &v, NULL) != 0 || inventory_decode(y, a, &w, NULL) != 0 ||
        v.n != w.n) {
        return str_eq(x, y);
    }
    for (size_t i = 0; i < v.n; i++) {
        const struct gpu_card *g = &v.gpus[i], *h = &w.gpus[i];
        bool same = str_eq(g->uuid, h->uuid) && g->healthy == h->healthy &&
                    g->mig_enabled == h->mig_enabled && g->mig_managed == h->mig_managed &&
                    g->n_instances == h->n_instances && g->n_profiles == h->n_profiles;
        for (size_t k = 0; same && k < g->n_instances; k++) {
            same = g->instances[k].profile_id == h->instances[k].profile_id &&
                   g->instances[k].start == h->instances[k].start;
        }
        if (!same) {
            return false;
        }
    }
    return true;
}

static struct str ready_of(yyjson_val *node) {
    yyjson_val *list = json_path(node, "status.conditions"), *k;
    size_t i, n;
    yyjson_arr_foreach(list, i, n, k) {
        if (str_is(json_str_at(k, "type"), "Ready")) {
            return json_str_at(k, "status");
        }
    }
    return (struct str){0};
}

/* Nodes tell of themselves all the time; little of it is about what can be booked. */
static void on_node(void *ctx, const struct change *ch) {
    struct reservation_controller *c = ctx;
    struct arena *a = &c->base.arena;
    yyjson_doc *d, *e;
    bool same = false;
    if (ch->type == CHANGE_MODIFIED && ch->old && object_tree(ch->obj, a, &d, NULL) == 0 &&
        object_tree(ch->old, a, &e, NULL) == 0) {
        yyjson_val *x = yyjson_doc_get_root(d), *y = yyjson_doc_get_root(e);
        struct str gpus = STR("berth.dev/gpus");
        same = same_member(x, y, "metadata.labels") && same_member(x, y, "status.allocatable") &&
               str_eq(ready_of(x), ready_of(y)) && ch->obj->deleting_ns == ch->old->deleting_ns &&
               same_inventory(json_str(json_get(json_path(x, "metadata.annotations"), gpus)),
                              json_str(json_get(json_path(y, "metadata.annotations"), gpus)), a);
    }
    arena_reset(a);
    if (!same) {
        on_supply(ctx, ch);
    }
}

static bool add_booking(void *ctx, const struct object *o) {
    struct reservation_controller *c = ctx;
    workqueue_add(c->base.queue, o->ns, o->name);
    return true;
}

static void on_namespace(void *ctx, const struct change *ch) {
    struct reservation_controller *c = ctx;
    if (ch->obj->deleting_ns || ch->type == CHANGE_DELETED) {
        mirror_scan(c->base.env.mirror, c->reservations, ch->obj->name, add_booking, c);
    }
}

static void on_policy(void *ctx, const struct change *ch) {
    struct reservation_controller *c = ctx;
    plan_look_at(c, PLAN_POLICY, 0);
    on_supply(ctx, ch);
}

static void on_cohort(void *ctx, const struct change *ch) {
    struct reservation_controller *c = ctx;
    plan_look_at(c, PLAN_POLICY, 0);
    if (ch->old == NULL || ch->old->generation != ch->obj->generation ||
        ch->type == CHANGE_DELETED) {
        on_supply(ctx, ch);
    }
}

/* ---- life ---- */

static bool look_at_booking(void *ctx, const struct object *o) {
    note_booking(ctx, o);
    return add_booking(ctx, o);
}

static void look_at_all(struct reservation_controller *c) {
    mirror_scan(c->base.env.mirror, c->reservations, STR(""), look_at_booking, c);
    c->supply_dirty = true;
    plan_look_at(c, PLAN_POLICY, 0);
    plan_kick(c);
}

static void start(void *self) {
    look_at_all(self);
}

enum { RESERVATIONS, POLICIES, WINDOWS, NODES, FLAVORS, QUEUES, COHORTS, NAMESPACES };

static int init(void *self, struct err *err) {
    struct reservation_controller *c = self;
    const struct kind **k = c->base.kinds;
    c->reservations = k[RESERVATIONS];
    c->policies = k[POLICIES];
    c->windows = k[WINDOWS];
    c->nodes = k[NODES];
    c->flavors = k[FLAVORS];
    c->queues = k[QUEUES];
    c->cohorts = k[COHORTS];
    c->namespaces = k[NAMESPACES];
    tree_init(&c->undecided, plan_booking_order);
    arena_init(&c->scratch, SCRATCH_MAX);
    arena_init(&c->policy.arena, SCRATCH_MAX);
    arena_init(&c->amounts_arena, SCRATCH_MAX);
    c->calendar = calendar_new(NULL);
    if (c->calendar == NULL) {
        return ERR_NOMEM;
    }
    c->started = plan_now(c);
    plan_answers_init(c);
    return 0;
}

static void release(void *self) {
    struct reservation_controller *c = self;
    const struct map_entry *e;
    plan_answers_release(c);
    for (size_t i = 0; (e = map_next(&c->by_uid, &i));) {
        plan_booking_free(c, e->value);
    }
    map_release(&c->by_uid);
    map_release(&c->by_key);
    tree_release(&c->undecided);
    plan_limits_release(c);
    plan_supply_release(c);
    calendar_free(c->calendar);
    arena_release(&c->scratch);
}

const struct controller_row reservation_controller = {
    .name = "reservations",
    .set = CONTROL_RESERVATIONS,
    .who = "berth-reservation-controller",
    CONTROLLER_KINDS([RESERVATIONS] = {"berth.dev", "Reservation", on_reservation, .optional = true,
                                       .may = MAY_STATUS | MAY_DELETE},
                     [POLICIES] = {"berth.dev", "ReservationPolicy", on_policy, .optional = true,
                                   .may = MAY_CREATE},
                     [WINDOWS] = {"berth.dev", "CapacityWindow", on_window, .optional = true,
                                  .may = MAY_STATUS},
                     [NODES] = {"", "Node", on_node},
                     [FLAVORS] = {"kueue.x-k8s.io", "ResourceFlavor", on_supply},
                     [QUEUES] = {"kueue.x-k8s.io", "ClusterQueue", on_queue},
                     [COHORTS] = {"kueue.x-k8s.io", "Cohort", on_cohort, .optional = true},
                     [NAMESPACES] = {"", "Namespace", on_namespace}),
    .start = start,
    .step = step,
    .size = sizeof(struct reservation_controller),
    .init = init,
    .release = release,
};

const struct calendar *reservation_controller_calendar(const struct reservation_controller *c) {
    return c->calendar;
}
