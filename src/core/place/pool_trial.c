/* pool_trial (core): trial placement as if victims had left, and places kept for a preemptor. See pool.h. */
#include <assert.h>

#include "core/place/pool_private.h"

/* ---- one seat ---- */

/* What its pod, or one before it that has ended, is seen to hold where the seat is. */
static bool live_is_its(const struct seat *s, uint64_t pod, bool leaving) {
    return leaving || (!str_empty(s->pod) && pod == hash_str(0, s->pod));
}

static void device_lift(struct seat *s, struct seat_device *d, struct pool_gpu *g) {
    if (d->profile_id < 0) {
        g->held_whole = d->counted ? false : g->held_whole;
        if (g->live_whole && live_is_its(s, g->live_whole_pod, g->leaving_whole)) {
            g->live_whole = false;
            d->live_lifted = true;
        }
        return;
    }
    if (d->counted) {
        g->held.at[d->start] = 0;
    }
    if (d->start >= 0 && d->start < g->board.slices && g->live.at[d->start] > 0 &&
        live_is_its(s, g->live_pod[d->start], (g->leaving & 1u << d->start) != 0)) {
        g->live.at[d->start] = (int8_t)-g->live.at[d->start];
        d->live_lifted = true;
    }
}

static void device_unlift(struct seat_device *d, struct pool_gpu *g) {
    if (d->profile_id < 0) {
        g->held_whole = g->held_whole || d->counted;
        g->live_whole = g->live_whole || d->live_lifted;
    } else {
        if (d->counted) {
            g->held.at[d->start] = (int8_t)(gpu_profile_at(g, d->profile_id) + 1);
        }
        if (d->live_lifted) {
            g->live.at[d->start] = (int8_t)-g->live.at[d->start];
        }
    }
    d->live_lifted = false;
}

static void seat_move(struct seat *s, struct pool_node *n, bool up) {
    for (size_t i = 0; s->counted && i < s->n_amounts; i++) {
        struct node_room *room = pool_room(n, s->amounts[i].resource);
        if (room != NULL) {
            room->used += up ? -s->amounts[i].v : s->amounts[i].v;
        }
    }
    for (size_t i = 0; i < s->n_devices; i++) {
        struct pool_gpu *g = pool_gpu(n, s->devices[i].gpu);
        if (g != NULL && up) {
            device_lift(s, &s->devices[i], g);
        } else if (g != NULL) {
            device_unlift(&s->devices[i], g);
        }
    }
}

static void seat_lift(struct pool *p, struct seat *s) {
    struct pool_trial *t = &p->trial;
    struct pool_node *n = s->lifted ? NULL : pool_node(p, s->node);
    if (n == NULL) {
        return;
    }
    seat_move(s, n, true);
    s->lifted = true;
    s->lift_prev = NULL;
    s->lift_next = t->lifted;
    if (t->lifted != NULL) {
        t->lifted->lift_prev = s;
    }
    t->lifted = s;
    if (n->touched != t->clock) {
        n->touched = t->clock;
        n->touch_next = t->touched;
        t->touched = n;
    }
    t->broken -= t->placed && n->planned == t->plan_clock;
}

static void seat_unlift(struct pool *p, struct seat *s) {
    struct pool_trial *t = &p->trial;
    struct pool_node *n = pool_node(p, s->node);
    if (!s->lifted) {
        return;
    }
    seat_move(s, n, false);
    s->lifted = false;
    *(s->lift_prev != NULL ? &s->lift_prev->lift_next : &t->lifted) = s->lift_next;
    if (s->lift_next != NULL) {
        s->lift_next->lift_prev = s->lift_prev;
    }
    t->broken += t->placed && n->planned == t->plan_clock;
    t->touched_all = true;
}

/* Slices of pods that have ended, whoever they were. */
static void leaving_move(struct pool *p, bool up) {
    for (size_t i = 0; i < p->nodes.n; i++) {
        struct pool_node *n = p->nodes.v[i];
        for (size_t k = 0; n->leaving && k < n->n_gpus; k++) {
            struct pool_gpu *g = &n->gpus[k];
            for (int32_t s = 0; s < g->board.slices; s++) {
                if ((g->leaving & 1u << s) != 0 && (g->live.at[s] > 0) == up) {
                    g->live.at[s] = (int8_t)-g->live.at[s];
                }
            }
            if (g->leaving_whole && g->live_whole == up) {
                g->live_whole = !up;
            }
        }
    }
}

/* ---- claims ---- */

static void claim_move(struct pool *p, struct seat *s, bool on) {
    struct pool_node *n = pool_node(p, s->node);
    if (n == NULL || s->counted == on) {
        return;
    }
    s->counted = on;
    for (size_t i = 0; i < s->n_amounts; i++) {
        struct node_room *room = pool_room(n, s->amounts[i].resource);
        if (room != NULL) {
            room->claimed += on ? s->amounts[i].v : -s->amounts[i].v;
        }
    }
    for (size_t i = 0; i < s->n_devices; i++) {
        const struct seat_device *d = &s->devices[i];
        struct pool_gpu *g = pool_gpu(n, d->gpu);
        if (g == NULL) {
            continue;
        }
        bool whole = d->profile_id < 0;
        uint32_t all = (uint32_t)((UINT64_C(1) << g->board.slices) - 1);
        uint32_t span = whole ? all : mig_span(d->start, d->size) & all;
        g->shut = on ? g->shut | span : g->shut & ~span;
        g->shut_whole = whole ? on : g->shut_whole;
    }
}

void pool_claims_mark(struct pool *p, struct str node) {
    for (struct seat *s = p->claims; s != NULL; s = s->next) {
        if (str_eq(s->node, node)) {
            s->counted = false;
            claim_move(p, s, true);
        }
    }
}

static void claims_move(struct pool *p, struct str owner, bool on) {
    for (struct seat *s = p->claims; s != NULL; s = s->next) {
        if (str_eq(s->workload, owner)) {
            claim_move(p, s, on);
        }
    }
}

void pool_claims_open(struct pool *p, struct str owner) {
    claims_move(p, owner, false);
}

void pool_claims_shut(struct pool *p, struct str owner) {
    claims_move(p, owner, true);
}

static bool claims_remove(struct pool *p, struct str owner) {
    bool any = false;
    for (struct seat **at = &p->claims; *at != NULL;) {
        struct seat *s = *at;
        if (!str_empty(owner) && !str_eq(s->workload, owner)) {
            at = &s->next;
            continue;
        }
        claim_move(p, s, false);
        *at = s->next;
        mem_free(s);
        any = true;
    }
    return any;
}

void pool_claims_drop(struct pool *p, struct str owner) {
    p->generation += claims_remove(p, owner); /* others may have these places */
}

/* ---- a trial ---- */

void pool_trial_begin(struct pool *p, struct str owner) {
    struct pool_trial *t = &p->trial;
    assert(t->lifted == NULL);
    t->owner = owner;
    t->placed = t->failed = t->touched_all = false;
    t->broken = t->cost = 0;
    t->clock++;
    t->touched = NULL;
    claims_move(p, owner, false);
    for (struct seat *s = p->leaving; s != NULL; s = s->group_next) {
        seat_lift(p, s);
    }
    leaving_move(p, true);
}

size_t pool_trial_cost(const struct pool *p) {
    return p->trial.cost;
}

void pool_trial_end(struct pool *p) {
    struct pool_trial *t = &p->trial;
    leaving_move(p, false);
    while (t->lifted != NULL) {
        seat_unlift(p, t->lifted);
    }
    claims_move(p, t->owner, true);
}

void pool_trial_lift(struct pool *p, struct str workload) {
    for (struct seat *s = pool_workload_first(p, workload); s != NULL; s = s->group_next) {
        seat_lift(p, s);
    }
    for (struct seat *s = pool_loose_first(p, workload); s != NULL; s = s->group_next) {
        seat_lift(p, s);
    }
}

void pool_trial_unlift(struct pool *p, struct str workload) {
    for (struct seat *s = pool_workload_first(p, workload); s != NULL; s = s->group_next) {
        seat_unlift(p, s);
    }
    for (struct seat *s = pool_loose_first(p, workload); s != NULL; s = s->group_next) {
        seat_unlift(p, s);
    }
}

/* Could any pod of the plan that failed stand on a node that changed since? */
static bool may_help(struct pool *p, const struct place_input *in, size_t n) {
    bool help = p->trial.touched_all;
    for (struct pool_node *x = p->trial.touched; x != NULL && !help; x = x->touch_next) {
        for (size_t i = 0; i < n && !help; i++) {
            struct fitting f;
            if (i == 0 || in[i].shape != in[i - 1].shape) { /* one of each set */
                p->trial.cost++;
                help = plan_eligible(x, &in[i]) && plan_node_try(p, x, &in[i], &f);
            }
        }
    }
    return help;
}

static void amounts_move(struct pool_node *n, const struct place_input *in, bool on) {
    for (size_t i = 0; i < in->n_amounts; i++) {
        struct node_room *room = pool_room(n, in->amounts[i].resource);
        if (room != NULL) {
            room->used += on ? in->amounts[i].v : -in->amounts[i].v;
        }
    }
}

/* The plan under way, beside the one before it. */
struct trial_plan {
    struct spot_vec spots;
    struct pick_vec picks;
};

/* One pod more, beside those that have theirs. */
static int spot_add(struct plan_walk *w, size_t at, bool more, bool *ret_placed) {
    struct trial_plan *plan = w->ctx;
    struct spot_vec *spots = &plan->spots;
    struct pick_vec *picks = &plan->picks;
    struct fitting f;
    struct spot s = {.at = at,
                     .first = picks->n,
                     .node = plan_pod(w->p, &w->in[at], more, &w->memo, w->cost, &f)};
    *ret_placed = s.node != NULL;
    if (s.node == NULL) {
        return 0;
    }
    s.n = f.n;
    int r = spot_vec_room(spots, 1);
    if (r != 0) {
        return r;
    }
    r = pick_vec_room(picks, f.n);
    if (r != 0) {
        return r;
    }
    for (size_t i = 0; i < f.n; i++) {
        picks->v[picks->n++] = f.picks[i];
        plan_pick(&f.picks[i], true);
    }
    amounts_move(s.node, &w->in[at], true);
    spots->v[spots->n++] = s;
    return 0;
}

/* Without the last n of them. */
static void spots_drop(struct plan_walk *w, size_t n) {
    struct trial_plan *plan = w->ctx;
    for (; n > 0; n--) {
        const struct spot *s = &plan->spots.v[--plan->spots.n];
        while (plan->picks.n > s->first) {
            plan_pick(&plan->picks.v[--plan->picks.n], false);
        }
        amounts_move(s->node, &w->in[s->at], false);
    }
}

/* The nodes are as they were; the plan is kept. */
static void spots_undo(struct plan_walk *w) {
    struct trial_plan *plan = w->ctx;
    size_t spots = plan->spots.n, picks = plan->picks.n;
    spots_drop(w, spots);
    plan->spots.n = spots;
    plan->picks.n = picks;
}

/* The new plan takes the place of the one before. */
static void plan_keep(struct pool_trial *t, struct spot_vec *spots, struct pick_vec *picks) {
    struct spot_vec a = t->spots;
    struct pick_vec b = t->picks;
    t->spots = *spots;
    t->picks = *picks;
    *spots = a;
    *picks = b;
    t->plan_clock++;
    t->placed = true;
    t->failed = false;
    t->broken = 0;
    for (size_t i = 0; i < t->spots.n; i++) {
        t->spots.v[i].node->planned = t->plan_clock;
    }
}

/* From here on, what is lifted is noted anew. */
static void plan_failed(struct pool_trial *t) {
    t->failed = true;
    t->touched_all = false;
    t->touched = NULL;
    t->clock++;
}

int pool_trial_place(struct pool *p, const struct place_input *in, size_t n, bool *ret_placed,
                     struct place_why *why) {
    struct pool_trial *t = &p->trial;
    struct trial_plan plan = {0};
    struct turn *turns;
    *ret_placed = t->placed && t->broken == 0;
    if (*ret_placed || (t->failed && !may_help(p, in, n))) {
        *why = t->why;
        return 0;
    }
    int r = plan_order(p, in, n, &turns);
    if (r != 0) {
        return r;
    }
    struct plan_walk w = {.p = p,
                          .in = in,
                          .turns = turns,
                          .n = n,
                          .cost = &t->cost,
                          .add = spot_add,
                          .drop = spots_drop,
                          .ctx = &plan};
    bool placed;
    r = plan_walk(&w, &placed);
    if (r == 0 && !placed) {
        plan_walk_why(&w, &t->why);
    }
    spots_undo(&w);
    mem_free(turns);
    if (r == 0 && placed) {
        plan_keep(t, &plan.spots, &plan.picks);
    } else if (r == 0) {
        plan_failed(t);
        *why = t->why;
    }
    spot_vec_release(&plan.spots);
    pick_vec_release(&plan.picks);
    *ret_placed = r == 0 && placed;
    return r;
}

static int claim_new(struct pool *p, const struct spot *x, const struct place_input *in,
                     struct seat **ret) {
    struct seat_device devices[POOL_POD_DEVICES_MAX];
    for (size_t i = 0; i < x->n; i++) {
        const struct pick *k = &p->trial.picks.v[x->first + i];
        devices[i] = (struct seat_device){.gpu = k->gpu->uuid, .profile_id = -1};
        if (k->profile >= 0) {
            const struct mig_profile *q = &k->gpu->board.profiles[k->profile];
            devices[i].profile_id = q->id;
            devices[i].start = k->start;
            devices[i].size = q->size;
        }
    }
    struct seat as = {.workload = p->trial.owner,
                      .node = x->node->name,
                      .amounts = (struct pool_amount *)in[x->at].amounts,
                      .n_amounts = in[x->at].n_amounts,
                      .devices = devices,
                      .n_devices = x->n};
    return pool_seat_make(&as, ret);
}

int pool_trial_claim(struct pool *p, const struct place_input *in) {
    struct seat *made = NULL;
    int r = 0;
    for (size_t i = 0; i < p->trial.spots.n && r == 0; i++) {
        struct seat *s;
        r = claim_new(p, &p->trial.spots.v[i], in, &s);
        if (r == 0) {
            s->next = made;
            made = s;
        }
    }
    if (r == 0) {
        claims_remove(p, p->trial.owner);
    }
    while (made != NULL) {
        struct seat *s = made;
        made = s->next;
        if (r != 0) {
            mem_free(s);
        } else {
            s->next = p->claims;
            p->claims = s; /* it counts from the end of the trial on */
        }
    }
    return r;
}
