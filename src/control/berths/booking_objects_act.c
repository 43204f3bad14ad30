/*
 * booking_objects_act: the writes of one look, booking by booking.
 *
 * What a booking's objects are to say depends on little: the Reservation, its objects as they are, its stage and its
 * row of the ledger. When all of that is as it was when nothing had to be written, nothing has to be written now, and
 * nothing is made or compared: `settled` is a hash of it, kept beside the Reservation's view. Of those where it differs
 * a look takes a part, and the next one goes on from there; when each has had its turn, it is time for news.
 */
#include "control/berths/booking_objects_private.h"

#include "core/quota/shape.h"

enum {
    LOOK_ACTS = 64,
    LOOK_PART = 16, /* and of many one in so many more: to look at all the others costs as much */
};

/* ---- what has changed ---- */

/* What all bookings have in common. */
static uint64_t layout_hash(const struct booking_objects_controller *c,
                            const struct booking_picture *p) {
    uint64_t h = hash_guest(c->sums.key, p->cohort_name); /* hardware and flavors are in the key */
    for (size_t i = 0; i < p->n_groups; i++) {
        h = hash_mix(hash_mix(h, p->groups[i].n_resources), p->groups[i].n_flavors);
    }
    for (size_t i = 0; i < p->n_cells; i++) {
        h = hash_guest(hash_guest(h, p->cells[i].flavor), p->cells[i].resource);
    }
    return h;
}

static uint32_t *touched(struct booking_objects_controller *c, struct str ns, struct str local) {
    return &c->touched[hash_guest(hash_guest(0, ns), local) % BOOKING_TOUCHED];
}

/* A LocalQueue has the name of its booking, a profile's begins with it and a dash: whoever may be meant. */
void booking_touch_named(struct booking_objects_controller *c, const struct object *o) {
    ++*touched(c, o->ns, o->name);
    for (size_t n = 1; n < o->name.n; n++) {
        if (o->name.p[n] == '-') {
            ++*touched(c, o->ns, str_head(o->name, n));
        }
    }
}

static uint64_t settled(struct booking_objects_controller *c, const struct booking_picture *p,
                        const struct berth_booking *b) {
    const struct booking_ledger *l = &p->ledger;
    uint64_t flags = (uint64_t)b->stage << 8 | (uint64_t)b->followed << 7 |
                     (uint64_t)b->handed_over << 6 | (uint64_t)b->follows << 5 |
                     (uint64_t)b->foreign_open << 4 | (uint64_t)b->fenced << 3 |
                     (uint64_t)(b->closing != 0) << 2;
    uint64_t h = hash_mix(hash_mix(p->layout, flags), b->holding);
    h = hash_guest(hash_guest(h, b->queue_name), b->local_name);
    h = hash_mix(hash_mix(h, (uint64_t)b->lead_ns), b->queue_obj != NULL ? b->queue_obj->rv : 0);
    h = hash_mix(h, b->queue_obj != NULL ? (uint64_t)b->closing : 0);
    h = hash_mix(h, *touched(c, b->ns, b->local_name));
    for (size_t i = 0; i < p->n_cells; i++) {
        size_t at = booking_ledger_at(l, b->row, i);
        h = hash_mix(hash_mix(h, (uint64_t)l->seen[at]), (uint64_t)l->asked[at]);
        h = hash_mix(hash_mix(h, (uint64_t)l->want[at]), (uint64_t)l->put[at]);
    }
    return h != 0 ? h : 1;
}

/* ---- one booking ---- */

/* It has all it asks for, as is seen. */
static bool is_whole(const struct booking_picture *p, const struct berth_booking *b) {
    for (size_t i = 0; i < p->n_cells; i++) {
        size_t at = booking_ledger_at(&p->ledger, b->row, i);
        const struct booking_ledger *l = &p->ledger;
        if (p->cells[i].device && (l->want[at] < l->asked[at] || l->seen[at] != l->want[at])) {
            return false;
        }
    }
    return b->queue_obj != NULL && !b->behind && b->closing == 0 && !b->foreign_open;
}

/* Nothing runs any more: first what waits goes, then the objects. */
static void dismantle(struct booking_objects_controller *c, struct booking_picture *p,
                      struct berth_booking *b) {
    if (b->waiting > 0) {
        booking_workloads_act(c, p, b);
        booking_put_objects(c, p, b);
        b->waiting -= b->missing_queue ? b->waiting : 0;
    }
    if (b->waiting == 0 && b->queue_obj != NULL) {
        booking_remove(c, p, b);
    }
}

/* False: there is no time for it in this look. */
static bool act(struct booking_objects_controller *c, struct booking_picture *p,
                struct berth_booking *b, size_t *left) {
    bool going = b->stage == STAGE_GONE && !b->handed_over;
    uint64_t *note =
        b->obj != NULL && b->fenced && !going ? booking_views_note(&c->views, b->obj) : NULL;
    uint64_t h = note != NULL ? settled(c, p, b) : 0;
    bool as_it_was = note != NULL && *note == h;
    if (!as_it_was && *left == 0) {
        return false;
    }
    if (going) {
        dismantle(c, p, b);
    } else if (!b->follows && !b->handed_over) {
        if (!as_it_was) {
            booking_put_objects(c, p, b);
        }
        booking_workloads_act(c, p, b); /* what is due by the clock, too */
    }
    if (as_it_was) {
        return true;
    }
    --*left;
    c->acted++;
    b->whole = is_whole(p, b);
    bool wrote = booking_put_status(c, p, b) || b->behind;
    if (note != NULL) {
        *note = wrote ? 0 : h;
    }
    return true;
}

void booking_act(struct booking_objects_controller *c, struct booking_picture *p) {
    size_t left = LOOK_ACTS + p->n / LOOK_PART, had = p->n;
    size_t from = p->n > 0 ? c->act_from % p->n : 0;
    c->swept = c->goes_on && !c->news ? c->swept : 0;
    c->goes_on = c->news = false;
    p->layout = layout_hash(c, p);
    for (size_t i = 0; i < p->n; i++) {
        if (!act(c, p, &p->v[(from + i) % p->n], &left) && had == p->n) {
            had = i;
        }
    }
    c->swept += had;
    c->act_from = from + had;
    p->more = had < p->n && c->swept < p->n;
}

/* ---- what belongs to nobody ---- */

/* Objects of bookings that nobody remembers: their ClusterQueue was deleted with the Reservation. */
struct strays {
    struct booking_objects_controller *c;
    struct booking_picture *p;
    struct map locals; /* "namespace/name" of LocalQueues that somebody has */
    enum booking_kind kind;
    bool any;
};

/* A LocalQueue has the name, a profile's begins with it and a dash. */
static bool has_owner(struct strays *s, const struct object *o) {
    struct arena *a = &s->c->scratch;
    arena_reset(a);
    struct str key = arena_f(a, "%.*s/%.*s", STR_ARG(o->ns), STR_ARG(o->name));
    if (s->kind == BK_LOCAL_QUEUE || key.p == NULL) {
        return key.p == NULL || map_get(&s->locals, key) != NULL;
    }
    for (size_t n = key.n; n > o->ns.n; n--) {
        if (key.p[n - 1] == '-' && map_get(&s->locals, str_head(key, n - 1)) != NULL) {
            return true;
        }
    }
    return false;
}

static bool remove_stray(void *ctx, const struct object *o) {
    struct strays *s = ctx;
    struct delete_options how = {.uid = o->uid, .grace_seconds = -1};
    if (!booking_is_ours(o) || has_owner(s, o)) {
        return true;
    }
    s->any = true;
    if (o->deleting_ns == 0) {
        round_remove(s->p->round, s->c->base.kinds[s->kind], o->ns, o->name, &how);
    }
    return true;
}

static bool owns(const struct berth_booking *b) {
    return !b->handed_over && b->local_name.n > 0 && (b->queue_obj != NULL || b->closing == 0);
}

void booking_remove_strays(struct booking_objects_controller *c, struct booking_picture *p) {
    struct strays s = {.c = c, .p = p};
    uint64_t owners = c->made; /* rises with each LocalQueue and profile that comes */
    int r = 0;
    for (size_t i = 0; i < p->n; i++) { /* in whatever order */
        owners += owns(&p->v[i]) ? hash_guest(hash_guest(1, p->v[i].ns), p->v[i].local_name) : 0;
    }
    if (owners == c->owners) {
        return;
    }
    for (size_t i = 0; r == 0 && i < p->n; i++) {
        struct berth_booking *b = &p->v[i];
        if (owns(b)) {
            struct str key =
                arena_f(&c->base.arena, "%.*s/%.*s", STR_ARG(b->ns), STR_ARG(b->local_name));
            r = key.p != NULL ? map_put(&s.locals, key, b, NULL) : ERR_NOMEM;
        }
    }
    for (size_t i = 0; r == 0 && i < 2; i++) {
        s.kind = i == 0 ? BK_LOCAL_QUEUE : BK_PROFILE;
        mirror_scan(c->base.env.mirror, c->base.kinds[s.kind], STR(""), remove_stray, &s);
    }
    c->owners = r == 0 && !s.any ? owners : c->made - 1; /* again, until none is found */
    round_fail(p->round, r);
    map_release(&s.locals);
}
