/* reservation: whose turn it is: keys, writes, feeds. See reservation.h. */
#include "control/book/reservation_private.h"

#define AGAIN "resync" /* a key without a namespace: everything is looked at again */

enum { SCRATCH_MAX = 256 << 20, LATER_NS = 5 * NS_PER_MS, DECIDE_NS = 20 * NS_PER_MS };

/* ---- work ---- */

static int answered(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct reservation_controller *c = ctx;
    struct booking *b = booking_find(c, round_ns(r), round_name(r));
    if (res->code == 0 && b && tag != 0) {
        b->written = tag;
        b->durable = b->durable || b->held;
        if (b->version == tag) {
            plan_moved_clear(c, b);
            booking_extra(b, (struct str){0});
        }
    }
    return res->code == ERR_NOT_FOUND ? 0 : res->code;
}

static enum work write_status(struct reservation_controller *c, struct booking *b,
                              const struct object *o, struct reservation *r) {
    struct arena *a = &c->base.arena;
    struct buf body;
    struct round *round = controller_round(&c->base, b->ns, b->name);
    if (!round) {
        return WORK_RETRY;
    }
    round_on_done(round, answered, c);
    buf_init(&body, 0);
    plan_status_json(c, b, o, r, a, &body);
    round_tag(round, b->version);
    if (buf_ok(&body) == 0 && arena_ok(a) == 0) {
        round_patch(round, c->reservations, b->ns, b->name, "status", PATCH_MERGE, buf_view(&body));
    } else {
        round_fail(round, ERR_NOMEM);
    }
    buf_release(&body);
    return round_end(round);
}

/* Final ones go when nobody asks for them any more. */
static enum work forget_old(struct reservation_controller *c, const struct booking *b,
                            const struct object *o) {
    struct delete_options opts = {.uid = o->uid, .grace_seconds = -1};
    struct round *round = controller_round(&c->base, b->ns, b->name);
    if (!round) {
        return WORK_RETRY;
    }
    round_remove(round, c->reservations, b->ns, b->name, &opts);
    return round_end(round);
}

static enum work booking_work(struct reservation_controller *c, struct booking *b) {
    struct arena *a = &c->base.arena;
    const struct object *o;
    struct reservation *r = booking_view(c, b, a, &o);
    int64_t now = plan_now(c);
    if (!r && arena_ok(a) != 0) {
        return WORK_RETRY;
    }
    if (!r || b->phase == BOOKING_NEW) { /* its turn comes: the decision adds it again */
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
        workqueue_add_after(c->base.queue, b->ns, b->name, ns > 0 ? ns : 0);
    }
    if (b->version != b->written) {
        /* Whoever made room for it comes first. */
        if (c->n_moved > 0 && !b->durable && booking_holds(b->phase)) {
            workqueue_add_after(c->base.queue, b->ns, b->name, LATER_NS);
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
    struct round *round;
    if (mirror_get(m, c->policies, STR(""), STR(RESERVATION_POLICY_NAME)) || !pool_is_there(c)) {
        return WORK_OK;
    }
    round = controller_round(&c->base, STR(""), STR("policy"));
    if (!round) {
        return WORK_RETRY;
    }
    round_create(round, c->policies, STR(""),
                 STR("{\"apiVersion\":\"berth.dev/v1alpha1\",\"kind\":\"ReservationPolicy\","
                     "\"metadata\":{\"name\":\"" RESERVATION_POLICY_NAME "\"},\"spec\":{}}"));
    return round_end(round);
}

static void add_all(void *ctx);

static enum work work(void *ctx, struct str ns, struct str name) {
    struct reservation_controller *c = ctx;
    if (ns.n == 0 && str_is(name, AGAIN)) {
        add_all(c);
        return WORK_OK;
    }
    c->decide_until = clock_mono(c->base.env.clock) + DECIDE_NS;
    int refreshed = plan_refresh(c);
    c->decide_until = 0;
    if (refreshed != 0) {
        return controller_done(&c->base, WORK_RETRY);
    }
    if (c->supply_at) {
        workqueue_add_after(c->base.queue, STR(""), STR("plan"),
                            (c->supply_at - plan_now(c)) * NS_PER_SEC + NS_PER_SEC);
    }
    if (ns.n == 0) {
        struct str rest = str_skip(name, sizeof "window/" - 1);
        return controller_done(&c->base, str_is(name, "policy") ? policy_make(c)
                                         : str_starts(name, STR("window/"))
                                             ? plan_window_work(c, rest)
                                             : WORK_OK);
    }
    struct booking *b = booking_find(c, ns, name);
    return controller_done(&c->base, b ? booking_work(c, b) : WORK_OK);
}

/* ---- feeds ---- */

/* Without memory for its record all are looked at again a little later. */
static void note_booking(struct reservation_controller *c, const struct object *o) {
    if (!booking_find(c, o->ns, o->name) && !plan_booking_new(c, o)) {
        workqueue_add_after(c->base.queue, STR(""), STR(AGAIN), NS_PER_SEC);
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
    if (ch->type != CHANGE_DELETED && !b) {
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
    if (!ch->old || ch->old->generation != ch->obj->generation || ch->type == CHANGE_DELETED) {
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
        if (!ch->old || ch->old->generation != o->generation || ch->type == CHANGE_DELETED) {
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
    return (!x && !y) || (x && y && json_equal(x, y));
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
    workqueue_add(c->base.queue, STR(""), STR("policy"));
    on_supply(ctx, ch);
}

static void on_cohort(void *ctx, const struct change *ch) {
    struct reservation_controller *c = ctx;
    workqueue_add(c->base.queue, STR(""), STR("policy"));
    if (!ch->old || ch->old->generation != ch->obj->generation || ch->type == CHANGE_DELETED) {
        on_supply(ctx, ch);
    }
}

/* ---- life ---- */

static bool look_at_booking(void *ctx, const struct object *o) {
    note_booking(ctx, o);
    return add_booking(ctx, o);
}

static void add_all(void *ctx) {
    struct reservation_controller *c = ctx;
    mirror_scan(c->base.env.mirror, c->reservations, STR(""), look_at_booking, c);
    c->supply_dirty = true;
    workqueue_add(c->base.queue, STR(""), STR("policy"));
    plan_kick(c);
}

static int kinds_find(struct reservation_controller *c, struct err *err) {
    const struct {
        const struct kind **to;
        const char *group, *kind;
    } v[] = {{&c->reservations, "berth.dev", "Reservation"},
             {&c->policies, "berth.dev", "ReservationPolicy"},
             {&c->windows, "berth.dev", "CapacityWindow"},
             {&c->nodes, "", "Node"},
             {&c->namespaces, "", "Namespace"},
             {&c->flavors, "kueue.x-k8s.io", "ResourceFlavor"},
             {&c->queues, "kueue.x-k8s.io", "ClusterQueue"},
             {&c->cohorts, "kueue.x-k8s.io", "Cohort"},
             {&c->workloads, "kueue.x-k8s.io", "Workload"}};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        *v[i].to = kind_by_name(str_of(v[i].group), str_of(v[i].kind));
        if (!*v[i].to) {
            return err_set(err, ERR_NOT_FOUND, "there is no kind %s", v[i].kind);
        }
    }
    return 0;
}

static int feeds_new(struct reservation_controller *c, struct err *err) {
    const struct {
        const struct kind *k;
        void (*each)(void *ctx, const struct change *ch);
    } v[] = {{c->reservations, on_reservation}, {c->policies, on_policy},
             {c->windows, on_window},           {c->nodes, on_node},
             {c->flavors, on_supply},           {c->queues, on_queue},
             {c->cohorts, on_cohort},           {c->namespaces, on_namespace}};
    for (size_t i = 0; i < sizeof v / sizeof *v; i++) {
        c->feeds[i] = mirror_feed(c->base.env.mirror, v[i].k, v[i].each, c);
        if (!c->feeds[i]) {
            return err_set(err, ERR_NOMEM, "out of memory");
        }
    }
    return 0;
}

struct reservation_controller *reservation_controller_new(const struct control_env *env,
                                                          struct err *err) {
    struct reservation_controller *c = mem_zalloc(sizeof *c);
    if (!c) {
        err_set(err, ERR_NOMEM, "out of memory");
        return NULL;
    }
    tree_init(&c->undecided, plan_booking_order);
    arena_init(&c->scratch, SCRATCH_MAX);
    arena_init(&c->policy.arena, SCRATCH_MAX);
    arena_init(&c->amounts_arena, SCRATCH_MAX);
    c->calendar = calendar_new(NULL);
    if (controller_init(&c->base, env, "berth-reservation-controller", work, add_all, c, err) !=
            0 ||
        !c->calendar || kinds_find(c, err) != 0 || feeds_new(c, err) != 0) {
        if (err && err->code == 0) {
            err_set(err, ERR_NOMEM, "out of memory");
        }
        reservation_controller_free(c);
        return NULL;
    }
    c->started = plan_now(c);
    plan_answers_init(c);
    add_all(c);
    return c;
}

void reservation_controller_free(struct reservation_controller *c) {
    const struct map_entry *e;
    if (!c) {
        return;
    }
    plan_answers_release(c);
    for (size_t i = 0; i < sizeof c->feeds / sizeof *c->feeds; i++) {
        if (c->feeds[i]) {
            feed_free(c->feeds[i]);
        }
    }
    for (size_t i = 0; (e = map_next(&c->by_uid, &i));) {
        plan_booking_free(c, e->value);
    }
    map_release(&c->by_uid);
    map_release(&c->by_key);
    tree_release(&c->undecided);
    plan_limits_release(c);
    plan_supply_release(c);
    calendar_free(c->calendar);
    controller_release(&c->base);
    arena_release(&c->scratch);
    mem_free(c);
}

const struct calendar *reservation_controller_calendar(const struct reservation_controller *c) {
    return c->calendar;
}
