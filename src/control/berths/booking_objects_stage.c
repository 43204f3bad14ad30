/* booking_objects_stage: what is to become of each booking: its stage by phase, policy and clock, and who goes on with
 * whose objects. */
#include "control/berths/booking_objects_private.h"

#include "base/keyed_hash.h"
#include "core/quota/shape.h"
#include "wire/text/time.h"

/* ---- chains ---- */

int booking_chains_init(struct booking_chains *x, struct arena *a, size_t n) {
    size_t size = 1;
    while (size < n) {
        size *= 2;
    }
    x->mask = size - 1;
    x->head = ARENA_ARRAY(a, uint32_t, size);
    x->next = ARENA_ARRAY(a, uint32_t, n + 1);
    return arena_ok(a);
}

void booking_chains_add(struct booking_chains *x, uint64_t hash, size_t at) {
    x->next[at] = x->head[hash & x->mask];
    x->head[hash & x->mask] = (uint32_t)at + 1;
}

struct berth_booking *booking_chain(const struct booking_chains *x, const struct booking_picture *p,
                                    uint64_t hash) {
    uint32_t i = x->head[hash & x->mask];
    return i != 0 ? &p->v[i - 1] : NULL;
}

struct berth_booking *booking_chain_next(const struct booking_chains *x,
                                         const struct booking_picture *p,
                                         const struct berth_booking *b) {
    uint32_t i = x->next[b - p->v];
    return i != 0 ? &p->v[i - 1] : NULL;
}

/* ---- who goes on ---- */

static bool begun(struct str phase) {
    return str_is(phase, "Preparing") || str_is(phase, "Active") || str_is(phase, "Degraded") ||
           str_is(phase, "Ending");
}

static struct str phase_of(const struct berth_booking *b) {
    return b->rsv != NULL && b->rsv->status != NULL ? b->rsv->status->phase : (struct str){0};
}

static bool same_people(const struct berth_booking *a, const struct berth_booking *b) {
    const struct reservation_beneficiary *x = a->rsv->spec->beneficiary;
    const struct reservation_beneficiary *y = b->rsv->spec->beneficiary;
    struct str user[2] = {{0}, {0}};
    const struct meta *m[2] = {a->rsv->metadata, b->rsv->metadata};
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; m[i] != NULL && k < m[i]->annotations.n; k++) {
            if (str_is(m[i]->annotations.v[k].key, RESERVATION_USER_ANNOTATION)) {
                user[i] = m[i]->annotations.v[k].value;
            }
        }
    }
    bool same =
        x == NULL || y == NULL ? x == y : str_eq(x->kind, y->kind) && str_eq(x->name, y->name);
    return same && str_eq(user[0], user[1]);
}

static bool same_shape(const struct berth_booking *a, const struct berth_booking *b) {
    const struct reservation_place_list *x = &a->rsv->status->plan, *y = &b->rsv->status->plan;
    bool same = a->n_resources == b->n_resources && x->n == y->n &&
                a->rsv->spec->exclusive == b->rsv->spec->exclusive;
    for (size_t i = 0; same && i < a->n_resources; i++) {
        same = str_eq(a->resources[i], b->resources[i]) && a->counts[i] == b->counts[i];
    }
    for (size_t i = 0; same && i < x->n; i++) {
        const struct reservation_place *u = &x->v[i], *v = &y->v[i];
        same = str_eq(u->flavor, v->flavor) && str_eq(u->gpu, v->gpu) && str_eq(u->node, v->node) &&
               str_eq(u->profile, v->profile) && u->start.v == v->start.v;
    }
    return same;
}

static uint64_t moment(struct str ns, int64_t at) {
    return hash_mix(keyed_hash(ns), (uint64_t)at);
}

/* One that ends just where b begins, and whose objects b can go on with. `ends`: by project and end. */
static struct berth_booking *before(const struct booking_chains *ends, struct booking_picture *p,
                                    const struct berth_booking *b) {
    struct berth_booking *x = booking_chain(ends, p, moment(b->ns, b->start));
    for (; x != NULL; x = booking_chain_next(ends, p, x)) {
        if (x != b && x->queue_obj != NULL && x->rsv != NULL && x->rsv->status != NULL &&
            x->queue_obj->deleting_ns == 0 && str_eq(x->ns, b->ns) && x->end == b->start &&
            same_people(x, b) && same_shape(x, b)) {
            return x;
        }
    }
    return NULL;
}

static bool is_late(const struct berth_booking *b, const struct booking_picture *p) {
    return b->rsv == NULL || !begun(phase_of(b)) || str_is(phase_of(b), "Ending") ||
           b->obj->deleting_ns != 0 || (p->now >= b->end && str_is(phase_of(b), "Preparing"));
}

static void take_over(const struct booking_chains *ends, struct booking_picture *p,
                      struct berth_booking *b) {
    struct berth_booking *x = b->queue_obj == NULL && !is_late(b, p) ? before(ends, p, b) : NULL;
    if (x == NULL) {
        return;
    }
    if (!is_late(x, p) && p->now < b->start) {
        b->follows = true;
        x->followed = true;
        return;
    }
    b->queue_obj = x->queue_obj;
    b->queue = x->queue;
    b->queue_name = x->queue_name;
    b->local_name = x->local_name;
    b->closing = 0;
    x->queue_obj = NULL;
    x->queue = NULL;
    x->closing = p->now;
    x->handed_over = true;
}

int booking_take_over(struct booking_objects_controller *c, struct booking_picture *p) {
    struct booking_chains ends;
    bool any = false;
    for (size_t i = 0; i < p->n; i++) {
        any = any || p->v[i].queue_obj == NULL;
    }
    if (!any) {
        return 0;
    }
    if (booking_chains_init(&ends, &c->base.arena, p->n) != 0) {
        return ERR_NOMEM;
    }
    for (size_t i = p->n; i-- > 0;) {
        booking_chains_add(&ends, moment(p->v[i].ns, p->v[i].end), i);
    }
    for (size_t i = 0; i < p->n; i++) {
        take_over(&ends, p, &p->v[i]);
    }
    return 0;
}

/* What two that are alike in people and shape have in common; never 0. */
static uint64_t likeness(const struct berth_booking *b) {
    const struct reservation_beneficiary *who = b->rsv->spec->beneficiary;
    const struct reservation_place_list *plan = &b->rsv->status->plan;
    uint64_t h = hash_mix(b->n_resources, plan->n);
    for (size_t i = 0; i < b->n_resources; i++) {
        h = hash_mix(hash_guest(h, b->resources[i]), (uint64_t)b->counts[i]);
    }
    for (size_t i = 0; i < plan->n; i++) {
        h = hash_mix(hash_guest(hash_guest(h, plan->v[i].gpu), plan->v[i].flavor),
                     (uint64_t)plan->v[i].start.v);
    }
    h = who != NULL ? hash_guest(h, who->name) : h;
    return h != 0 ? h : 1;
}

/* Of a row of the index; one that is not decoded yet, or that x may go on in, is decoded. */
static bool follows(struct booking_objects_controller *c, struct booking_confirmed_row *row,
                    const struct berth_booking *x, uint64_t like) {
    struct berth_booking b = {0};
    if (row->note != 0 && row->note != like) {
        return false;
    }
    const struct object *o =
        mirror_get(c->base.env.mirror, c->base.kinds[BK_RESERVATION], row->ns, row->name);
    if (o == NULL || !str_eq(o->uid, row->uid) || !booking_read(c, &b, o) ||
        b.rsv->status == NULL) {
        return false;
    }
    row->note = likeness(&b);
    return row->note == like && b.start == x->end && same_people(x, &b) && same_shape(x, &b);
}

static int64_t ahead_of_end(const struct booking_picture *p) {
    int64_t ahead = booking_first_warning(p), least = 600 * NS_PER_SEC;
    return ahead > least ? ahead : least;
}

void booking_find_follower(struct booking_objects_controller *c, struct booking_picture *p,
                           struct berth_booking *x) {
    struct booking_confirmed_row *row;
    if (x->queue_obj == NULL || x->followed || is_late(x, p) || x->rsv->status == NULL ||
        p->now < x->end - ahead_of_end(p)) {
        return;
    }
    uint64_t like = likeness(x);
    struct tree_pos at = booking_confirmed_seek(&c->confirmed, x->ns, x->end);
    while (!x->followed &&
           (row = booking_confirmed_next(&c->confirmed, x->ns, x->end, &at)) != NULL) {
        x->followed = follows(c, row, x, like);
    }
}

static enum booking_stage closing_stage(struct booking_picture *p, struct berth_booking *b) {
    bool forced = b->obj != NULL && str_is(phase_of(b), "Ended");
    bool demote = !str_is(b->end_policy, "drain") && !str_is(b->end_policy, "hard");
    if (b->looked && b->holding == 0) {
        return STAGE_GONE;
    }
    if (demote && !forced) {
        if (p->now < b->closing + p->policy->overstay_ns) {
            booking_wake(p, b->closing + p->policy->overstay_ns);
            return STAGE_DEMOTED;
        }
    }
    return STAGE_DRAINED;
}

/* Of one whose time is now, or comes. */
static enum booking_stage open_stage(struct booking_picture *p, struct berth_booking *b) {
    struct str phase = phase_of(b);
    bool drain = str_is(b->end_policy, "drain"), hard = str_is(b->end_policy, "hard");
    if (p->now < b->start) {
        booking_wake(p, b->start);
        if (!str_is(phase, "Active")) {
            return STAGE_HELD;
        }
    }
    int64_t shut = b->end - booking_last_warning(p);
    shut = shut > b->start ? shut : b->end;
    if (!b->followed && drain && p->now >= shut) {
        return STAGE_SHUT;
    }
    if (!b->followed && hard && b->looked && p->now >= b->end - b->grace_ns) {
        b->lead_ns = b->grace_ns;
        return STAGE_DRAINED;
    }
    b->lead_ns = 0;
    booking_wake(p, drain ? shut : b->end - b->grace_ns);
    return STAGE_OPEN;
}

void booking_decide(struct booking_objects_controller *c, struct booking_picture *p,
                    struct berth_booking *b) {
    struct mirror *m = c->base.env.mirror;
    const struct object *project = mirror_get(m, c->base.kinds[BK_NAMESPACE], STR(""), b->ns);
    b->foreign_open = project == NULL || project->deleting_ns != 0;
    if (b->handed_over) {
        b->stage = STAGE_GONE;
        return;
    }
    if (is_late(b, p)) {
        b->closing = b->closing != 0 ? b->closing : p->now;
        booking_workloads_look(c, p, b);
        b->stage = closing_stage(p, b);
        return;
    }
    b->closing = 0;
    int64_t ahead = ahead_of_end(p);
    if (!b->followed && p->now >= b->end - ahead) {
        booking_workloads_look(c, p, b);
    } else {
        booking_wake(p, b->end - ahead);
    }
    b->stage = open_stage(p, b);
}
