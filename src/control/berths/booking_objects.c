/*
 * booking_objects: see booking_objects.h. One key: each look takes all that matters from the mirror, decides, and sends
 * what is to be written as one round; the next look is made when all of that is seen.
 */
#include "control/berths/booking_objects_private.h"

#include "api/schema/codec.h"
#include "base/keyed_hash.h"
#include "base/limits.h"
#include "base/mem.h"
#include "control/queue/queue_controller.h"
#include "core/quota/shape.h"
#include "wire/text/time.h"

static const char WHO[] = "berth-booking-controller";

enum {
    SCRATCH_MAX = 64 << 20,
    LOOK_EVERY_S = 30,
    FAILURES_MAX = 8,
    TELL_EVERY_S = 60,
    LOOK_DECODES =
        256, /* objects that changed, decoded in one look; it is made anew with the rest */
    /* A look goes through all bookings: it waits for more news, so that others are served between. */
    PACED_FROM = 32,
    PACE_NS = 40000,
};

/* A Reservation that may have objects. */
struct live_booking {
    struct str uid, ns, name; /* in memory of its own, behind it */
};

void booking_wake(struct booking_picture *p, int64_t at_ns) {
    if (at_ns > p->now && at_ns < p->next) {
        p->next = at_ns;
    }
}

/* ---- which there are ---- */

static struct str note(const struct cluster_queue *q, const char *key) {
    for (size_t i = 0; q->metadata != NULL && i < q->metadata->annotations.n; i++) {
        if (str_is(q->metadata->annotations.v[i].key, key)) {
            return q->metadata->annotations.v[i].value;
        }
    }
    return (struct str){0};
}

/* Each resource of the lines once. */
static int read_lines(struct booking_objects_controller *c, struct berth_booking *b) {
    const struct reservation_line_list *lines = &b->rsv->spec->lines;
    b->resources = ARENA_ARRAY(&c->base.arena, struct str, lines->n + 1);
    b->counts = ARENA_ARRAY(&c->base.arena, int64_t, lines->n + 1);
    if (b->resources == NULL || b->counts == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < lines->n; i++) {
        size_t k = 0;
        while (k < b->n_resources && !str_eq(b->resources[k], lines->v[i].resource)) {
            k++;
        }
        b->resources[k] = lines->v[i].resource;
        b->n_resources += k == b->n_resources;
        b->counts[k] += lines->v[i].count;
    }
    return 0;
}

static struct str named(struct arena *a, struct str after) {
    static const char prefix[] = {'r', 's', 'v', '-'};
    char *p = arena_alloc(a, sizeof(prefix) + after.n);
    if (p == NULL) {
        return (struct str){0};
    }
    memcpy(p, prefix, sizeof(prefix));
    memcpy(p + sizeof(prefix), after.p, after.n);
    return str_from(p, sizeof(prefix) + after.n);
}

bool booking_read(struct booking_objects_controller *c, struct berth_booking *b,
                  const struct object *o) {
    struct arena *a = &c->base.arena;
    b->obj = o;
    b->rsv = booking_views_get(&c->views, o, &schema_reservation);
    if (b->rsv == NULL || b->rsv->spec == NULL || read_lines(c, b) != 0) {
        b->rsv = NULL;
        return false;
    }
    const struct reservation_status *s = b->rsv->status;
    b->ns = o->ns;
    b->name = o->name;
    b->uid = o->uid;
    b->created = o->created_ns;
    b->start = s != NULL && s->start_ns != 0 ? s->start_ns : b->rsv->spec->start_ns;
    b->end = s != NULL && s->end_ns != 0 ? s->end_ns : b->rsv->spec->end_ns;
    b->end_policy = b->rsv->spec->end_policy;
    b->queue_name = named(a, str_head(o->uid, 8));
    b->local_name = named(a, o->name);
    return arena_ok(a) == 0;
}

struct collecting {
    struct booking_objects_controller *c;
    struct booking_picture *p;
    struct map by_uid; /* the Reservations */
    size_t n;
};

static bool count_queue(void *ctx, const struct object *o) {
    struct collecting *x = ctx;
    x->n += booking_is_ours(o);
    return true;
}

/* A ClusterQueue of ours belongs to the Reservation whose uid it names; by its name, when somebody took that away. */
static bool bind_queue(void *ctx, const struct object *o) {
    struct collecting *x = ctx;
    struct booking_picture *p = x->p;
    if (!booking_is_ours(o)) {
        return true;
    }
    struct cluster_queue *q = booking_views_get(&x->c->views, o, &schema_cluster_queue);
    if (q == NULL) {
        return !x->c->views.more;
    }
    struct str uid = note(q, BOOKING_UID);
    struct berth_booking *b = uid.n > 0 ? map_get(&x->by_uid, uid) : NULL;
    for (size_t i = 0; uid.n == 0 && b == NULL && i < p->n; i++) {
        b = str_eq(p->v[i].queue_name, o->name) ? &p->v[i] : NULL;
    }
    if (b == NULL || b->queue_obj != NULL) {
        b = &p->v[p->n++];
        *b = (struct berth_booking){.ns = note(q, BOOKING_NAMESPACE),
                                    .name = object_label(o, STR(RESERVATION_LABEL)),
                                    .uid = uid.n > 0 ? uid : o->name,
                                    .created = o->created_ns,
                                    .end_policy = note(q, BOOKING_POLICY)};
        const struct object *r = uid.n > 0 ? mirror_by_uid(x->c->base.env.mirror, uid) : NULL;
        if (r != NULL && r->kind == x->c->base.kinds[BK_RESERVATION]) {
            booking_read(x->c, b, r);
        }
    }
    b->queue_obj = o;
    b->queue = q;
    b->queue_name = o->name;
    b->local_name = note(q, BOOKING_LOCAL).n > 0 ? note(q, BOOKING_LOCAL) : b->local_name;
    (void)time_parse(note(q, BOOKING_CLOSING), &b->closing, NULL);
    (void)duration_parse(note(q, BOOKING_LEAD), &b->lead_ns, NULL);
    return true;
}

static uint64_t local_hash(const struct berth_booking *b) {
    return hash_guest(keyed_hash(b->ns), b->local_name);
}

/* Another has objects of that name in the project: it went on with them, or its Reservation had the same name, was
 * deleted, and still drains. What waits there is not this one's. */
static bool local_taken(const struct booking_chains *locals, const struct booking_picture *p,
                        const struct berth_booking *b) {
    const struct berth_booking *x = booking_chain(locals, p, local_hash(b));
    for (; x != NULL; x = booking_chain_next(locals, p, x)) {
        if (x != b && x->queue_obj != NULL && str_eq(x->ns, b->ns) &&
            str_eq(x->local_name, b->local_name)) {
            return true;
        }
    }
    return false;
}

/* One before it in the picture has the name, or it is there. */
static bool queue_taken(struct booking_objects_controller *c, const struct booking_chains *queues,
                        const struct booking_picture *p, const struct berth_booking *b) {
    const struct berth_booking *x = booking_chain(queues, p, keyed_hash(b->queue_name));
    for (; x != NULL && x < b; x = booking_chain_next(queues, p, x)) {
        if (str_eq(x->queue_name, b->queue_name)) {
            return true;
        }
    }
    return mirror_get(c->base.env.mirror, c->base.kinds[BK_CLUSTER_QUEUE], STR(""),
                      b->queue_name) != NULL;
}

/* Names are of 8 digits of the uid; should two begin alike, the second has it whole. */
static int name_queues(struct booking_objects_controller *c, struct booking_picture *p) {
    struct booking_chains queues, locals;
    size_t without = 0;
    for (size_t i = 0; i < p->n; i++) {
        without += p->v[i].queue_obj == NULL;
    }
    if (without == 0) {
        return 0;
    }
    if (booking_chains_init(&queues, &c->base.arena, p->n) != 0 ||
        booking_chains_init(&locals, &c->base.arena, p->n) != 0) {
        return ERR_NOMEM;
    }
    for (size_t i = p->n; i-- > 0;) {
        booking_chains_add(&queues, keyed_hash(p->v[i].queue_name), i);
        booking_chains_add(&locals, local_hash(&p->v[i]), i);
    }
    for (size_t i = 0; i < p->n; i++) {
        struct berth_booking *b = &p->v[i];
        if (b->queue_obj != NULL) {
            continue;
        }
        if (queue_taken(c, &queues, p, b)) {
            b->queue_name = arena_f(&c->base.arena, "rsv-%.*s", STR_ARG(b->uid));
        }
        if (local_taken(&locals, p, b)) {
            b->local_name = b->queue_name;
        }
    }
    return arena_ok(&c->base.arena);
}

static int collect(struct booking_objects_controller *c, struct booking_picture *p) {
    const struct map_entry *e;
    struct mirror *m = c->base.env.mirror;
    struct collecting x = {.c = c, .p = p, .n = map_count(&c->live) + 1};
    int r = 0;
    mirror_scan(m, c->base.kinds[BK_CLUSTER_QUEUE], STR(""), count_queue, &x);
    p->v = ARENA_ARRAY(&c->base.arena, struct berth_booking, x.n);
    if (p->v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; (e = map_next(&c->live, &i)) != NULL && !c->views.more;) {
        const struct live_booking *l = e->value;
        const struct object *o = mirror_get(m, c->base.kinds[BK_RESERVATION], l->ns, l->name);
        if (o != NULL && str_eq(o->uid, l->uid) && booking_read(c, &p->v[p->n], o)) {
            r = r != 0 ? r : map_put(&x.by_uid, o->uid, &p->v[p->n], NULL);
            p->n++;
        } else {
            p->v[p->n] = (struct berth_booking){0};
        }
    }
    mirror_scan(m, c->base.kinds[BK_CLUSTER_QUEUE], STR(""), bind_queue, &x);
    map_release(&x.by_uid);
    if (r != 0) {
        return r;
    }
    r = arena_ok(&c->base.arena);
    if (r != 0) {
        return r;
    }
    return name_queues(c, p);
}

/* Who is being drained keeps what it has; then who was there first. */
static int served_first(const void *x, const void *y) {
    const struct berth_booking *a = x, *b = y;
    if ((a->closing != 0) != (b->closing != 0)) {
        return a->closing != 0 ? -1 : 1;
    }
    if (a->created != b->created) {
        return a->created < b->created ? -1 : 1;
    }
    return str_cmp(a->uid, b->uid);
}

/* ---- a look ---- */

static int answered(void *ctx, struct round *r, uint64_t tag, const struct write_result *res) {
    struct booking_objects_controller *c = ctx;
    (void)r;
    if (res->code != 0) {
        c->failed = c->news = true;
        c->given_up += tag == BOOKING_TAG_QUOTA && res->code == ERR_TIMEOUT;
        workqueue_look(c->base.queue, (struct work_key){0}, 0); /* a failure alone is no news */
        log_debug(c->base.env.log, "booking: %s", res->err.text);
    }
    return 0; /* one that cannot be written holds up no other: see again() */
}

/* When to look again: after a failure a little later each time, and by the clock. */
static void again(struct booking_objects_controller *c, const struct booking_picture *p) {
    int64_t ns = p->next - p->now;
    int64_t often = LOOK_EVERY_S * NS_PER_SEC; /* the clock of the wall may jump */
    ns = ns < often ? ns : often;
    if (p->n > 0) {
        workqueue_look(c->base.queue, (struct work_key){0}, ns);
    }
}

/* The queue of everybody without a booking, as a fresh data folder gets it. */
static const struct cluster_queue *default_queue(struct booking_objects_controller *c,
                                                 const struct object **ret_obj) {
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[BK_CLUSTER_QUEUE], STR(""), STR("default"));
    *ret_obj = o;
    bool made = o != NULL && object_label(o, STR(BOOKING_DEFAULT_LABEL)).n > 0;
    const struct cluster_queue *q =
        made ? booking_views_get(&c->views, o, &schema_cluster_queue) : NULL;
    return q != NULL && q->spec != NULL ? q : NULL;
}

/* A data folder from before there was a pool: the default queue owns the machine, and nothing can be booked until
 * somebody moves it. Said once a start. */
static void tell_of_old_queue(struct booking_objects_controller *c, const struct booking_picture *p,
                              const struct cluster_queue *q, const struct object *o) {
    if (c->told || q == NULL || p->cohort_obj != NULL || q->spec->cohort_name.n > 0) {
        return;
    }
    c->told = true;
    log_warn(c->base.env.log, "ClusterQueue default owns the whole machine: nothing can be booked "
                              "until its quota is the pool's; see docs/reservation-objects.md");
    recorder_event(c->base.recorder, o, EVENT_WARNING, "OwnsTheMachine",
                   "This queue has the whole machine as its own, so nothing can be booked. With "
                   "spec.cohortName %.*s and all nominalQuota 0 it borrows what is not booked",
                   STR_ARG(p->cohort_name));
}

/* On a cluster nothing is touched before there is a booking. */
static bool may_touch_pool(struct booking_objects_controller *c, const struct booking_picture *p) {
    const struct object *queue, *o = p->cohort_obj;
    const struct cluster_queue *q = default_queue(c, &queue);
    tell_of_old_queue(c, p, q, queue);
    return p->n > 0 || (q != NULL && str_eq(q->spec->cohort_name, p->cohort_name)) ||
           (o != NULL && (object_label(o, STR(BOOKING_DEFAULT_LABEL)).n > 0 ||
                          str_is(object_label(o, STR(BOOKING_MANAGED_LABEL)), BOOKING_MANAGED)));
}

static int read_policy(struct booking_objects_controller *c, struct booking_picture *p) {
    struct mirror *m = c->base.env.mirror;
    const struct object *o =
        mirror_get(m, c->base.kinds[BK_POLICY], STR(""), STR(RESERVATION_POLICY_NAME));
    struct reservation_policy *policy =
        o != NULL ? booking_views_get(&c->views, o, &schema_reservation_policy) : NULL;
    p->policy = policy != NULL ? policy->spec : NULL;
    if (p->policy == NULL) {
        p->policy = ARENA_NEW(&c->base.arena, struct reservation_policy_spec);
        if (p->policy == NULL) {
            return ERR_NOMEM;
        }
        static struct str warnings[] = {STR("30m"), STR("15m"), STR("5m")};
        p->policy->overstay_ns = 2 * 3600 * NS_PER_SEC;
        p->policy->warnings.v = warnings;
        p->policy->warnings.n = 3;
    }
    p->cohort_name = p->policy->pool != NULL && p->policy->pool->cohort.n > 0
                         ? p->policy->pool->cohort
                         : STR(POOL_COHORT);
    p->cohort_obj = mirror_get(m, c->base.kinds[BK_COHORT], STR(""), p->cohort_name);
    if (p->cohort_obj != NULL) {
        p->cohort = booking_views_get(&c->views, p->cohort_obj, &schema_cohort);
        return p->cohort != NULL ? 0 : ERR_NOMEM;
    }
    return 0;
}

static int picture(struct booking_objects_controller *c, struct booking_picture *p) {
    c->views.left = LOOK_DECODES;
    c->views.more = c->views.failed = false;
    int r = read_policy(c, p);
    if (r == 0) {
        r = collect(c, p);
    }
    r = r == 0 && c->views.more ? ERR_AGAIN : r;
    if (r == 0) {
        r = booking_take_over(c, p);
    }
    for (size_t i = 0; r == 0 && i < p->n; i++) {
        booking_find_follower(c, p, &p->v[i]);
    }
    for (size_t i = 0; r == 0 && i < p->n; i++) {
        booking_decide(c, p, &p->v[i]);
    }
    if (r != 0) {
        return r;
    }
    p->touch = may_touch_pool(c, p);
    qsort(p->v, p->n, sizeof(*p->v), served_first);
    r = booking_pool_read(c, p);
    if (r == 0) {
        r = booking_pool_settle(c, p);
    }
    return r == 0 && (c->views.failed || c->views.more) ? ERR_NOMEM : r;
}

static bool reread_node(void *ctx, const struct object *o) {
    struct booking_objects_controller *c = ctx;
    bool changed;
    arena_reset(&c->scratch);
    if (booking_hardware_put(&c->hardware, o, &c->scratch, &changed) == ERR_NOMEM) {
        c->lost = true;
    }
    return true;
}

static bool note_reservation(void *ctx, const struct object *o);

/* It is the limit, not the machine, that has no more memory. */
static bool too_many(struct booking_objects_controller *c) {
    const struct arena *a = &c->base.arena;
    int64_t now = clock_mono(c->base.env.clock);
    if (!c->views.full && (arena_ok(a) == 0 || a->used < a->max / 2)) {
        return false;
    }
    c->views.full = false;
    if (now >= c->tell_at) {
        c->tell_at = now + TELL_EVERY_S * NS_PER_SEC;
        log_error(c->base.env.log,
                  "%zu bookings at once are more than can be looked at in %zu MiB: their objects "
                  "and quota stay as they are until there are fewer",
                  map_count(&c->live), c->limit >> 20);
    }
    workqueue_look(c->base.queue, (struct work_key){0}, LOOK_EVERY_S * NS_PER_SEC);
    return true;
}

/* What is left to be done; others are served before. */
static void next_turn(struct booking_objects_controller *c) {
    workqueue_look(c->base.queue, (struct work_key){0}, 1);
}

static enum work look(struct booking_objects_controller *c) {
    struct booking_picture p = {.now = clock_wall(c->base.env.clock), .next = INT64_MAX};
    if (c->lost) {
        c->lost = false;
        mirror_scan(c->base.env.mirror, c->base.kinds[BK_NODE], STR(""), reread_node, c);
        mirror_scan(c->base.env.mirror, c->base.kinds[BK_RESERVATION], STR(""), note_reservation,
                    c);
    }
    c->base.arena.max = c->limit > c->views.bytes ? c->limit - c->views.bytes : 0;
    int r = c->lost ? ERR_NOMEM : picture(c, &p);
    if (r != 0 && c->views.more && !c->views.failed) {
        next_turn(c);
        return WORK_OK;
    }
    if (r != 0) {
        return too_many(c) ? WORK_OK : WORK_RETRY;
    }
    c->failed = c->watching = false;
    c->n_seen = p.n;
    for (size_t i = 0; i < p.n; i++) {
        c->watching = c->watching || p.v[i].looked;
    }
    p.round = controller_begin(&c->base);
    if (p.round == NULL) {
        return WORK_RETRY;
    }
    round_on_done(p.round, answered, c);
    bool marked = booking_fence_put(c, &p);
    if (p.touch && p.n_groups > 0) {
        booking_put_cohort(c, &p);
    }
    booking_act(c, &p);
    booking_remove_strays(c, &p);
    again(c, &p);
    if (p.more) {
        c->goes_on = true;
        next_turn(c);
    }
    if (marked) {
        workqueue_look(c->base.queue, (struct work_key){0}, 0); /* a mark alone is no news */
    }
    return round_end(p.round);
}

static enum work step(void *self, struct work_key key) {
    struct booking_objects_controller *c = self;
    if (c->failed) { /* the last look's writes: not at once again */
        unsigned shift = c->failures < FAILURES_MAX ? c->failures++ : FAILURES_MAX;
        c->failed = false;
        c->paused = true;
        workqueue_look(c->base.queue, (struct work_key){0}, (INT64_C(50) << shift) * NS_PER_MS);
        return WORK_OK;
    }
    c->failures = c->paused ? c->failures : 0;
    c->paused = false;
    uint64_t decoded = c->views.decoded, acted = c->acted;
    enum work w = look(c);
    decoded = c->views.decoded - decoded;
    acted = c->acted - acted;
    c->most = c->most > decoded ? c->most : decoded;
    c->most = c->most > acted ? c->most : acted;
    return w;
}

/* ---- feeds ---- */

static void soon(struct booking_objects_controller *c) {
    c->news = true;
    int64_t wait = c->n_seen < PACED_FROM ? 0 : (int64_t)c->n_seen * PACE_NS;
    workqueue_look(c->base.queue, (struct work_key){0}, wait);
}

static void start(void *self) {
    soon(self);
}

/* It is in a phase that has objects, or says that it has some. */
static bool may_have(const struct object *o) {
    static const char *const phases[] = {"\"phase\":\"Preparing\"", "\"phase\":\"Active\"",
                                         "\"phase\":\"Degraded\"", "\"phase\":\"Ending\""};
    for (size_t i = 0; i < sizeof phases / sizeof *phases; i++) {
        if (str_contains(o->json, str_of(phases[i]))) {
            return true;
        }
    }
    return str_contains(o->json, STR("\"clusterQueue\":\"rsv-"));
}

static struct live_booking *live_new(const struct object *o) {
    struct live_booking *l = mem_alloc(sizeof(*l) + o->uid.n + o->ns.n + o->name.n);
    if (l != NULL) {
        char *at = (char *)(l + 1);
        struct str *to[] = {&l->uid, &l->ns, &l->name};
        const struct str from[] = {o->uid, o->ns, o->name};
        for (size_t i = 0; i < 3; i++) {
            *to[i] = (struct str){at, from[i].n};
            memcpy(at, from[i].p, from[i].n);
            at += from[i].n;
        }
    }
    return l;
}

static void live_set(struct booking_objects_controller *c, const struct object *o, bool on) {
    struct live_booking *l = map_get(&c->live, o->uid);
    if (!on || l != NULL) {
        if (!on) {
            map_del(&c->live, o->uid);
            mem_free(l);
        }
        return;
    }
    l = live_new(o);
    if (l == NULL || map_put(&c->live, l->uid, l, NULL) != 0) {
        mem_free(l);
        c->lost = true;
    }
}

static void note_confirmed(struct booking_objects_controller *c, const struct object *o,
                           bool there) {
    if (!there) {
        booking_confirmed_del(&c->confirmed, o->uid);
    } else if (booking_confirmed_put(&c->confirmed, o, &c->scratch) == ERR_NOMEM) {
        c->lost = true;
    }
}

static void on_reservation(void *ctx, const struct change *ch) {
    struct booking_objects_controller *c = ctx;
    bool was = map_get(&c->live, ch->obj->uid) != NULL;
    bool is = ch->type != CHANGE_DELETED && may_have(ch->obj);
    booking_views_drop(&c->views, ch->obj->uid);
    live_set(c, ch->obj, is);
    note_confirmed(c, ch->obj, ch->type != CHANGE_DELETED);
    if (was || is) {
        soon(c);
    }
}

static struct str until_status(const struct object *o) {
    static const char mark[] = ",\"status\":{";
    const char *at = memmem(o->json.p, o->json.n, mark, sizeof(mark) - 1);
    return at != NULL ? str_head(o->json, (size_t)(at - o->json.p)) : o->json;
}

/* What people change in it, or we: not its status, which changes with all that runs. */
static void on_queue(void *ctx, const struct change *ch) {
    struct booking_objects_controller *c = ctx;
    bool news = ch->type != CHANGE_MODIFIED || ch->obj->generation != ch->old->generation;
    booking_views_drop(&c->views, ch->obj->uid);
    if (news || ((booking_is_ours(ch->obj) || booking_is_ours(ch->old)) &&
                 !str_eq(until_status(ch->obj), until_status(ch->old)))) {
        soon(c);
    }
}

static void on_any(void *ctx, const struct change *ch) {
    struct booking_objects_controller *c = ctx;
    booking_views_drop(&c->views, ch->obj->uid);
    soon(c);
}

static void on_ours(void *ctx, const struct change *ch) {
    struct booking_objects_controller *c = ctx;
    booking_touch_named(c, ch->obj);
    bool ours = booking_is_ours(ch->obj) || (ch->old != NULL && booking_is_ours(ch->old));
    if (ours &&
        (ch->type != CHANGE_MODIFIED || !str_eq(until_status(ch->obj), until_status(ch->old)))) {
        c->made++;
        soon(c);
    }
}

static void on_node(void *ctx, const struct change *ch) {
    struct booking_objects_controller *c = ctx;
    bool changed = false;
    if (ch->type == CHANGE_DELETED) {
        changed = booking_hardware_del(&c->hardware, ch->obj->name);
    } else {
        arena_reset(&c->scratch);
        int r = booking_hardware_put(&c->hardware, ch->obj, &c->scratch, &changed);
        c->lost = c->lost || r == ERR_NOMEM;
        changed = changed || r == ERR_NOMEM;
    }
    if (changed) {
        soon(c);
    }
}

static void on_workload(void *ctx, const struct change *ch) {
    struct booking_objects_controller *c = ctx;
    booking_views_drop(&c->views, ch->obj->uid);
    if (c->watching && (str_contains(ch->obj->json, STR("\"rsv-")) ||
                        (ch->old != NULL && str_contains(ch->old->json, STR("\"rsv-"))))) {
        soon(c);
    }
}

static bool note_reservation(void *ctx, const struct object *o) {
    if (may_have(o)) {
        live_set(ctx, o, true);
    }
    note_confirmed(ctx, o, true);
    return true;
}

/* ---- life ---- */

static int init(void *self, struct err *err) {
    struct booking_objects_controller *c = self;
    booking_hardware_init(&c->hardware);
    map_init(&c->live);
    booking_confirmed_init(&c->confirmed);
    arena_init(&c->scratch, SCRATCH_MAX);
    c->limit = LIMIT_BOOKING_LOOK;
    c->made = 1;
    booking_views_init(&c->views, c->limit);
    mirror_scan(c->base.env.mirror, c->base.kinds[BK_NODE], STR(""), reread_node, c);
    mirror_scan(c->base.env.mirror, c->base.kinds[BK_RESERVATION], STR(""), note_reservation, c);
    return 0;
}

static void release(void *self) {
    struct booking_objects_controller *c = self;
    const struct map_entry *e;
    for (size_t i = 0; (e = map_next(&c->live, &i)) != NULL;) {
        mem_free(e->value);
    }
    map_release(&c->live);
    booking_confirmed_release(&c->confirmed);
    mem_free(c->sums.v);
    booking_hardware_release(&c->hardware);
    arena_release(&c->scratch);
    booking_views_release(&c->views);
}

const struct controller_row booking_objects_controller = {
    .name = "reservations",
    .set = CONTROL_RESERVATIONS,
    .who = WHO,
    CONTROLLER_KINDS([BK_RESERVATION] = {"berth.dev", "Reservation", on_reservation,
                                         .optional = true, .may = MAY_STATUS},
                     [BK_POLICY] = {"berth.dev", "ReservationPolicy", on_any, .optional = true},
                     [BK_CLUSTER_QUEUE] = {"kueue.x-k8s.io", "ClusterQueue", on_queue,
                                           .may = MAY_CREATE | MAY_PATCH | MAY_DELETE},
                     [BK_COHORT] = {"kueue.x-k8s.io", "Cohort", on_queue, .optional = true,
                                    .may = MAY_CREATE | MAY_PATCH},
                     [BK_LOCAL_QUEUE] = {"kueue.x-k8s.io", "LocalQueue", on_ours,
                                         .may = MAY_CREATE | MAY_PATCH | MAY_DELETE},
                     [BK_PROFILE] = {"infrastructure.opendatahub.io", "HardwareProfile", on_ours,
                                     .optional = true, .may = MAY_CREATE | MAY_PATCH | MAY_DELETE},
                     [BK_FLAVOR] = {"kueue.x-k8s.io", "ResourceFlavor", on_any},
                     [BK_NODE] = {"", "Node", on_node},
                     [BK_WORKLOAD] = {"kueue.x-k8s.io", "Workload", on_workload, .may = MAY_PATCH},
                     [BK_NAMESPACE] = {"", "Namespace", on_any},
                     /* Jobs and pods, of whatever kind, that go on waiting in another queue. */
                     [BK_COUNT] = {NULL, NULL, .may = MAY_PATCH}),
    .start = start,
    .step = step,
    .size = sizeof(struct booking_objects_controller),
    .init = init,
    .release = release,
};
