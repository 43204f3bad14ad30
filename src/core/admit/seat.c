/* seat (core): see seat.h. */
#include "core/admit/seat.h"

#include <assert.h>

#include "base/clock.h"
#include "base/limits.h"
#include "core/admit/engine_private.h"
#include "core/admit/nominate.h"
#include "core/admit/resize.h"

static int32_t count_of(const struct queue_workload *w, const struct assignment *a, size_t set) {
    return a->counts != NULL ? a->counts[set] : w->sets[set].count;
}

static size_t set_flavors(struct engine *e, const struct assignment *a, uint32_t set,
                          const struct flavor_input **out) {
    size_t n = 0;
    for (size_t i = 0; i < a->n_held; i++) {
        const struct flavor_input *f = &e->flavors.all.v[a->held[i].flavor].spec;
        bool there = a->held[i].set != set;
        for (size_t k = 0; k < n && !there; k++) {
            there = out[k] == f;
        }
        if (!there) {
            out[n++] = f;
        }
    }
    return n;
}

/* What the pods of a workload take: those with devices and these, and those without. */
struct places {
    int64_t full, plain;
};

/* Pods of one set more; `why`: now they are more than one workload may have. */
static void places_add(struct places *x, struct str set, int64_t of_one, int32_t pods,
                       struct place_why *why) {
    int64_t *sum = of_one > 1 ? &x->full : &x->plain;
    const int64_t most = of_one > 1 ? LIMIT_WORKLOAD_PLACES : LIMIT_WORKLOAD_PLAIN;
    enum place_trouble trouble = of_one > 1 ? PLACE_TOO_MANY : PLACE_TOO_MANY_PLAIN;
    *sum = amount_add(*sum, amount_mul(of_one, pods));
    if (*sum <= most || (why->trouble != PLACE_OK && why->trouble != trouble)) {
        return;
    }
    *why = (struct place_why){.trouble = trouble,
                              .set = str_empty(why->set) ? set : why->set,
                              .need = *sum,
                              .most = most};
}

/* By when its pods have ended, if it is admitted now. */
static int64_t ends(const struct engine *e, const struct queue_workload *w) {
    int64_t runs_ns = w->run_max_s > 0 ? w->run_max_s * NS_PER_SEC : PLACE_RUN_NS;
    return amount_add(e->preempt.now_ns, runs_ns);
}

/* One for each set that is Berth's to place, with its first ordinal; the count of pods in *ret_pods. `why`: they take
 * more places than one workload may have. */
static int places_sum(struct engine *e, const struct queue_workload *w, const struct assignment *a,
                      struct place_input *sets, size_t *ret_pods, struct place_why *why) {
    struct places sum = {0};
    *ret_pods = 0;
    for (uint32_t i = 0; i < w->n_sets; i++) {
        const struct flavor_input **flavors =
            ARENA_ARRAY(&e->cycle.tick, const struct flavor_input *, a->n_held + 1);
        if (flavors == NULL) {
            return ERR_NOMEM;
        }
        struct place_input one = {.set = w->sets[i].name,
                                  .queue = w->queue->name,
                                  .shape = &w->sets[i].shape,
                                  .flavors = flavors,
                                  .amounts = w->sets[i].requests,
                                  .n_flavors = set_flavors(e, a, i, flavors),
                                  .n_amounts = w->sets[i].n_requests,
                                  .ends_ns = ends(e, w),
                                  .ordinal = -1};
        int32_t pods = count_of(w, a, i);
        if (pods > 0 && pool_is_ours(e->pool, &one)) {
            one.ordinal = a->grows ? resize_ordinal(e->pool, w, one.set) : 0;
            *ret_pods += (size_t)pods;
            places_add(&sum, one.set, pool_places(e->pool, &one), pods, why);
        }
        sets[i] = one;
    }
    return 0;
}

/* The pods that are Berth's to place, for the caller to free: a cycle looks at many large ones. *ret_n 0: none, or,
 * with `why`, too many; then *ret is untouched. */
static int places_of(struct engine *e, const struct queue_workload *w, const struct assignment *a,
                     struct place_input **ret, size_t *ret_n, struct place_why *why) {
    size_t pods = 0;
    *ret_n = 0;
    *why = (struct place_why){0};
    if (!pool_has_managed(e->pool)) {
        return 0;
    }
    struct place_input *sets = ARENA_ARRAY(&e->cycle.tick, struct place_input, w->n_sets + 1);
    int r = sets != NULL ? places_sum(e, w, a, sets, &pods, why) : ERR_NOMEM;
    if (r != 0 || pods == 0 || why->trouble != PLACE_OK) {
        return r;
    }
    struct place_input *in = mem_array(pods, sizeof(*in));
    if (in == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < w->n_sets; i++) {
        struct place_input one = sets[i];
        int32_t count = one.ordinal >= 0 ? count_of(w, a, i) : 0;
        for (int32_t k = 0; k < count; k++, one.ordinal++) {
            in[(*ret_n)++] = one;
        }
    }
    *ret = in;
    return 0;
}

static void no_place(struct cycle_entry *n, const struct place_why *why, size_t victims) {
    n->a.verdict->reason = PEND_WAITING_FOR_PLACEMENT;
    n->a.verdict->n_sets = 0;
    n->a.verdict->n_preempting = (uint32_t)victims;
    n->a.verdict->place = *why;
}

/* Nodes looked at, in heads. */
static void charge(struct engine *e, size_t nodes) {
    engine_charge(e, 1 + nodes / ENGINE_NODES_A_HEAD);
}

int seat_entry(struct engine *e, struct cycle_entry *n, bool *ret_ok, bool *ret_seated) {
    struct place_input *in = NULL;
    struct place_why why;
    size_t used = 0;
    *ret_ok = true;
    *ret_seated = false;
    int r = places_of(e, n->w, &n->a, &in, &used, &why);
    if (r == 0 && why.trouble != PLACE_OK) {
        *ret_ok = false;
        no_place(n, &why, 0);
    }
    if (r != 0 || used == 0) {
        return r;
    }
    uint64_t before = e->o.check_undo ? pool_digest(e->pool) : 0;
    if (n->w->queue->claims) {
        pool_claims_open(e->pool, n->w->queue->name);
    }
    r = pool_plan(e->pool, n->w->uid, (struct str){0}, in, used, ret_ok, &why);
    mem_free(in);
    charge(e, pool_plan_cost(e->pool));
    if (n->w->queue->claims) {
        pool_claims_shut(e->pool, n->w->queue->name);
    }
    if (r == 0 && !*ret_ok) {
        no_place(n, &why, 0);
    }
    assert(!e->o.check_undo || (r == 0 && *ret_ok) || before == pool_digest(e->pool));
    *ret_seated = r == 0 && *ret_ok;
    return r;
}

/* ---- with victims gone ---- */

int seat_trial_begin(struct engine *e, const struct queue_workload *w, const struct assignment *a,
                     struct seat_trial *t) {
    *t = (struct seat_trial){.e = e};
    int r = places_of(e, w, a, &t->in, &t->n, &t->why);
    if (r == 0 && t->n > 0) {
        t->before = e->o.check_undo ? pool_digest(e->pool) : 0;
        t->open = true;
        pool_trial_begin(e->pool, w->queue->name);
    }
    return r;
}

void seat_trial_end(struct seat_trial *t) {
    struct engine *e = t->e;
    if (t->open) {
        charge(e, pool_trial_cost(e->pool));
        pool_trial_end(e->pool);
        assert(t->before == 0 || t->before == pool_digest(e->pool));
    }
    for (size_t i = 0; i < t->lifted.n; i++) {
        t->lifted.v[i]->lifted = 0;
    }
    workload_vec_release(&t->lifted);
    mem_free(t->in);
    t->in = NULL;
    t->open = false;
}

/* The seats of these, and of no others, are lifted. */
static int lift(struct seat_trial *t, const struct victim *v, size_t n) {
    struct engine *e = t->e;
    uint64_t mark = ++e->lift_mark;
    int r = workload_vec_room(&t->lifted, n);
    for (size_t i = 0; i < n && r == 0; i++) {
        struct queue_workload *w = v[i].w;
        if (w->lifted == 0) {
            pool_trial_lift(e->pool, w->uid);
            t->lifted.v[t->lifted.n++] = w;
        }
        w->lifted = mark;
    }
    for (size_t i = 0; i < t->lifted.n && r == 0; i++) {
        if (t->lifted.v[i]->lifted != mark) {
            pool_trial_unlift(e->pool, t->lifted.v[i]->uid);
            t->lifted.v[i]->lifted = 0;
            workload_vec_swap_remove(&t->lifted, i--);
        }
    }
    return r;
}

bool seat_trial_fits(void *ctx, const struct victim *v, size_t n) {
    struct seat_trial *t = ctx;
    bool ok = false;
    if (t->error == 0 && pool_trial_cost(t->e->pool) < SEAT_TRIAL_COST_MAX) {
        t->error = lift(t, v, n);
    }
    if (t->error == 0 && pool_trial_cost(t->e->pool) < SEAT_TRIAL_COST_MAX) {
        t->error = pool_trial_place(t->e->pool, t->in, t->n, &ok, &t->why);
    }
    return t->error == 0 && ok;
}

int seat_claim(struct engine *e, struct cycle_entry *n, bool *ret_ok) {
    struct queue *q = n->w->queue;
    struct seat_trial t;
    int r = seat_trial_begin(e, n->w, &n->a, &t);
    *ret_ok = t.why.trouble == PLACE_OK;
    if (r == 0 && t.n > 0) {
        *ret_ok = seat_trial_fits(&t, n->a.victims, n->a.n_victims);
        r = t.error;
    }
    if (r == 0 && t.n > 0 && *ret_ok) {
        r = pool_trial_claim(e->pool, t.in);
        q->claims = q->claims || r == 0;
        t.before = 0; /* it may differ now */
    } else if (r == 0 && !*ret_ok) {
        no_place(n, &t.why, n->a.n_victims);
    }
    seat_trial_end(&t);
    return r;
}

/* ---- victims for a place alone ---- */

static bool is_placed(const struct engine *e, const struct seat_trial *t, uint32_t flavor) {
    for (size_t i = 0; i < t->n; i++) {
        for (size_t k = 0;
             (i == 0 || t->in[i].shape != t->in[i - 1].shape) && k < t->in[i].n_flavors; k++) {
            if (t->in[i].flavors[k] == &e->flavors.all.v[flavor].spec) {
                return true;
            }
        }
    }
    return false;
}

/* All that anybody may hold of the flavors that place it is short: a slice of one size is in the way of another. */
static int place_needs(struct engine *e, const struct queue_workload *w, const struct seat_trial *t,
                       const struct assignment *a, struct preempt_ask *ask) {
    struct preempt_need *all;
    size_t cells = 0, n = 0;
    for (const struct quota_node *q = w->queue->node; q != NULL; q = q->parent) {
        cells += q->n_cells;
    }
    int r = nominate_needs(&e->cycle.tick, a, cells, &all, &n);
    if (r != 0) {
        return r;
    }
    for (size_t i = 0; i < n; i++) {
        all[i].short_ = is_placed(e, t, all[i].cell->q.pair >> 16);
    }
    for (struct quota_node *q = w->queue->node; q != NULL; q = q->parent) {
        for (size_t i = 0; i < q->n_cells; i++) {
            size_t k = 0;
            while (k < n && all[k].cell->q.pair != q->cells[i].q.pair) {
                k++;
            }
            if (k == n && is_placed(e, t, q->cells[i].q.pair >> 16)) {
                all[n++] =
                    (struct preempt_need){.cell = &q->cells[i], .short_ = true, .besides = true};
            }
        }
    }
    ask->needs = all;
    ask->n_needs = n;
    return 0;
}

int seat_victims(struct engine *e, struct cycle_entry *n, bool *ret_leaving, int64_t *ret_wake_ns) {
    struct seat_trial t;
    struct preempt_ask ask = {.w = n->w, .fits = seat_trial_fits, .ctx = &t, .place = true};
    bool was_protected;
    *ret_leaving = false;
    n->a.victims = NULL;
    n->a.n_victims = 0;
    int r = seat_trial_begin(e, n->w, &n->a, &t);
    if (r == 0 && t.n > 0) {
        *ret_leaving = seat_trial_fits(&t, NULL, 0);
        r = t.error;
    }
    if (r == 0 && t.n > 0 && !*ret_leaving) {
        r = place_needs(e, n->w, &t, &n->a, &ask);
        if (r == 0) {
            r = preempt_find(&e->preempt, &ask, &n->a.victims, &n->a.n_victims, &was_protected,
                             ret_wake_ns);
        }
        if (r == 0) {
            r = t.error;
        }
    }
    seat_trial_end(&t);
    return r;
}
