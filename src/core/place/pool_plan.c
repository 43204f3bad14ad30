/* pool_plan (core): choosing places. See pool.h for the order of preference. */
#include <limits.h>

#include "core/place/pool_private.h"
#include "core/quota/amount.h"

/* A device that a pod wants, largest first. */
struct pool_want {
    uint32_t resource;
    int32_t size; /* memory slices; INT32_MAX for a whole GPU */
};

bool score_less(const struct score *a, const struct score *b) {
    if (a->pinned != b->pinned) {
        return a->pinned < b->pinned;
    }
    if (a->loss != b->loss) {
        return a->loss < b->loss;
    }
    if (a->switches != b->switches) {
        return a->switches < b->switches;
    }
    return a->emptiness < b->emptiness;
}

static bool matches(const struct pool_node *n, const struct place_input *in) {
    struct flavor_input all = {0};
    if (!shape_matches_node(in->shape, NULL, n->name, n->labels)) {
        return false;
    }
    for (size_t i = 0; i < in->n_flavors; i++) {
        struct shape none = {0};
        if (!shape_matches_node(&none, in->flavors[i], n->name, n->labels)) {
            return false;
        }
    }
    for (size_t i = 0; i < n->taints.n; i++) {
        struct taint_list one = {&n->taints.v[i], 1};
        bool tolerated = taints_untolerated(one, in->shape, &all) == NULL;
        for (size_t k = 0; k < in->n_flavors && !tolerated; k++) {
            tolerated = taint_tolerated(one.v, in->flavors[k]->tolerations);
        }
        if (!tolerated) {
            return false;
        }
    }
    return true;
}

bool pool_is_ours(const struct pool *p, const struct place_input *in) {
    if (p->n_managed == 0) {
        return false;
    }
    for (size_t i = 0; i < p->nodes.n && p->n_managed < p->nodes.n; i++) {
        if (!p->nodes.v[i]->managed && matches(p->nodes.v[i], in)) {
            return false;
        }
    }
    return true;
}

int64_t pool_places(const struct pool *p, const struct place_input *in) {
    int64_t n = 1;
    for (size_t i = 0; i < in->n_amounts; i++) {
        uint32_t r = in->amounts[i].resource;
        if (r == p->gpu_resource || str_starts(names_text(p->names, r), STR("nvidia.com/mig-"))) {
            n = amount_add(n, amount_max(0, in->amounts[i].v));
        }
    }
    return n;
}

/* ---- one GPU ---- */

/* Slices still possible, and the GPU as a whole as one option more. */
static int64_t options_left(const struct pool_gpu *g) {
    if (g->held_whole || g->live_whole || g->shut_whole) {
        return 0;
    }
    struct mig_state s = gpu_state(g);
    int64_t whole = gpu_takes_whole(g);
    return whole + (gpu_takes_slices(g) ? mig_capability(&g->board, &s) : 0);
}

static int64_t free_slices(const struct pool_gpu *g) {
    struct mig_state s = gpu_state(g);
    return g->board.slices - __builtin_popcount(mig_mask(&g->board, &s));
}

void plan_pick(const struct pick *k, bool on) {
    if (k->profile < 0) {
        k->gpu->held_whole = on;
    } else {
        k->gpu->held.at[k->start] = (int8_t)(on ? k->profile + 1 : 0);
    }
}

/* own: the queue has pins of this resource, and nothing else will do. */
static bool pick_on(const struct pool *p, struct pool_gpu *g, const struct pool_want *w,
                    const struct place_input *in, bool own, struct pick *ret) {
    if (w->resource == p->gpu_resource) {
        *ret = (struct pick){g, -1, 0};
        return gpu_takes_whole(g) && (!own || pins_pick(g, in->queue, w->resource, ret));
    }
    int32_t q = gpu_takes_slices(g) ? gpu_profile_of(g, w->resource) : -1;
    if (q < 0) {
        return false;
    }
    if (own || g->pins != NULL) {
        *ret = (struct pick){g, q, own ? -1 : pins_avoid(g, in, q)};
        return own ? pins_pick(g, in->queue, w->resource, ret) : ret->start >= 0;
    }
    int32_t left;
    struct mig_state s = gpu_state(g);
    *ret = (struct pick){g, q, mig_best_start(&g->board, &s, (size_t)q, 0, &left)};
    return ret->start >= 0;
}

/* The best GPU of a node for one device, applied; its cost is added to the fitting. */
static bool pick_best(const struct pool *p, struct pool_node *n, const struct pool_want *w,
                      const struct place_input *in, struct fitting *t) {
    struct pick best = {0};
    struct score best_score = {INT64_MAX, INT64_MAX, INT64_MAX, INT64_MAX};
    bool own = map_count(&p->pins) > 0 && pins_of(p, in->queue, w->resource);
    for (size_t i = 0; i < n->n_gpus; i++) {
        struct pool_gpu *g = &n->gpus[i];
        struct pick k;
        if (!pick_on(p, g, w, in, own, &k)) {
            continue;
        }
        struct score s = {
            .pinned = pins_cost(g, in, &k), .loss = options_left(g), .emptiness = free_slices(g)};
        s.switches = k.profile < 0 ? g->mig_on : !g->mig_on;
        plan_pick(&k, true);
        s.loss -= options_left(g);
        plan_pick(&k, false);
        if (score_less(&s, &best_score)) {
            best = k;
            best_score = s;
        }
    }
    if (best.gpu == NULL) {
        return false;
    }
    plan_pick(&best, true);
    t->picks[t->n++] = best;
    t->score.pinned += best_score.pinned;
    t->score.loss += best_score.loss;
    t->score.switches += best_score.switches;
    t->score.emptiness += best_score.emptiness;
    return true;
}

/* ---- one node ---- */

static int want_larger(const void *a, const void *b) {
    const struct pool_want *x = a, *y = b;
    if (x->size != y->size) {
        return x->size > y->size ? -1 : 1;
    }
    return (x->resource > y->resource) - (x->resource < y->resource);
}

/* The devices among a pod's amounts, as this node understands them; false when there are too many. */
static bool wants_of(const struct pool *p, const struct pool_node *n, const struct place_input *in,
                     struct pool_want *v, size_t *ret_n) {
    size_t count = 0;
    for (size_t i = 0; i < in->n_amounts; i++) {
        uint32_t r = in->amounts[i].resource;
        if (!node_counts_devices(p, n, r)) {
            continue;
        }
        int32_t size = INT32_MAX;
        for (size_t k = 0; k < n->n_gpus && r != p->gpu_resource; k++) {
            int32_t q = gpu_profile_of(&n->gpus[k], r);
            size = q >= 0 ? n->gpus[k].board.profiles[q].size : size;
        }
        if (in->amounts[i].v > (int64_t)(POOL_POD_DEVICES_MAX - count)) {
            return false;
        }
        for (int64_t k = 0; k < in->amounts[i].v; k++) {
            v[count++] = (struct pool_want){r, size};
        }
    }
    if (count > 1) {
        qsort(v, count, sizeof(*v), want_larger);
    }
    *ret_n = count;
    return true;
}

static int64_t room_left(const struct node_room *room) {
    return room->total - room->used - room->claimed;
}

static bool amounts_fit(const struct pool *p, const struct pool_node *n,
                        const struct place_input *in) {
    for (size_t i = 0; i < in->n_amounts; i++) {
        if (in->amounts[i].v <= 0 || node_counts_devices(p, n, in->amounts[i].resource)) {
            continue;
        }
        const struct node_room *room = pool_room(n, in->amounts[i].resource);
        if (room == NULL || room_left(room) < in->amounts[i].v) {
            return false;
        }
    }
    return true;
}

/* Leaves the node as it was; the picks say what would be taken. */
bool plan_node_try(const struct pool *p, struct pool_node *n, const struct place_input *in,
                   struct fitting *t) {
    struct pool_want wants[POOL_POD_DEVICES_MAX];
    size_t count;
    *t = (struct fitting){.n = 0};
    if (!amounts_fit(p, n, in) || !wants_of(p, n, in, wants, &count)) {
        return false;
    }
    bool fits = true;
    for (size_t i = 0; i < count && fits; i++) {
        fits = pick_best(p, n, &wants[i], in, t);
    }
    for (size_t i = t->n; i > 0; i--) {
        plan_pick(&t->picks[i - 1], false);
    }
    if (count == 0 && fits) {
        int64_t free_share = 0; /* fuller first, by the first resource asked for */
        const struct node_room *room =
            in->n_amounts > 0 ? pool_room(n, in->amounts[0].resource) : NULL;
        if (room != NULL && room->total > 0) {
            free_share = amount_share(room->total - room->used, room->total);
        }
        t->score =
            (struct score){.loss = 0, .switches = (int64_t)n->n_gpus, .emptiness = free_share};
    }
    return fits;
}

/* ---- one pod ---- */

/* `as`: whose it is. */
static int seat_commit(struct pool *p, struct seat as, const struct pool_node *n,
                       const struct place_input *in, const struct fitting *t) {
    struct seat_device devices[POOL_POD_DEVICES_MAX];
    for (size_t i = 0; i < t->n; i++) {
        const struct pick *k = &t->picks[i];
        devices[i] = (struct seat_device){.gpu = k->gpu->uuid,
                                          .gpu_index = k->gpu->index,
                                          .profile_id = -1,
                                          .resource = p->gpu_resource,
                                          .size = k->gpu->board.slices};
        if (k->profile >= 0) {
            const struct mig_profile *q = &k->gpu->board.profiles[k->profile];
            devices[i].profile_id = q->id;
            devices[i].profile = q->name;
            devices[i].start = k->start;
            devices[i].size = q->size;
            devices[i].resource = q->resource;
        }
    }
    struct seat *s;
    as.set = in->set;
    as.node = n->name;
    as.ordinal = in->ordinal;
    as.amounts = (struct pool_amount *)in->amounts;
    as.n_amounts = in->n_amounts;
    as.devices = devices;
    as.n_devices = t->n;
    return pool_seat_new(p, &as, &s);
}

bool plan_eligible(const struct pool_node *n, const struct place_input *in) {
    return n->managed && n->ready && matches(n, in);
}

bool plan_alike(const struct place_input *a, const struct place_input *b) {
    return a->shape == b->shape && a->flavors == b->flavors && a->amounts == b->amounts &&
           a->n_flavors == b->n_flavors && a->n_amounts == b->n_amounts &&
           a->ends_ns == b->ends_ns && str_eq(a->queue, b->queue);
}

struct pool_node *plan_pod(const struct pool *p, const struct place_input *in, bool more,
                           struct plan_memo *m, size_t *cost, struct fitting *ret) {
    struct pool_node *best = NULL;
    if (m->in != NULL && plan_alike(m->in, in)) {
        return ranks_next(p, in, m, cost, ret);
    }
    const size_t count = m->among != NULL ? m->n_among : p->nodes.n;
    ranks_begin(m, more ? in : NULL);
    *cost += 1 + count;
    for (size_t k = 0; k < count; k++) {
        const size_t i = m->among != NULL ? m->among[k] : k;
        struct pool_node *n = p->nodes.v[i];
        struct fitting t;
        if (!plan_eligible(n, in) || !plan_node_try(p, n, in, &t)) {
            continue;
        }
        ranks_add(m, i, &t.score);
        if (best == NULL || score_less(&t.score, &ret->score)) {
            best = n;
            *ret = t;
        }
    }
    ranks_end(m);
    return best;
}

static int pod_plan(struct pool *p, const struct seat *as, const struct place_input *in, bool more,
                    struct plan_memo *m, bool *ret_placed) {
    struct fitting t;
    const struct pool_node *best = plan_pod(p, in, more, m, &p->plan_cost, &t);
    *ret_placed = best != NULL;
    return best != NULL ? seat_commit(p, *as, best, in, &t) : 0;
}

/* ---- why not ---- */

static void why_devices(const struct pool *p, const struct place_input *in, size_t at,
                        struct place_why *w) {
    uint32_t r = in->amounts[at].resource;
    bool device = false, fits = false;
    for (size_t i = 0; i < p->nodes.n; i++) {
        struct pool_node *n = p->nodes.v[i];
        if (!n->managed || !n->ready || !matches(n, in) || !node_counts_devices(p, n, r)) {
            continue;
        }
        device = true;
        int64_t whole = 0;
        for (size_t k = 0; k < n->n_gpus; k++) {
            const struct pool_gpu *g = &n->gpus[k];
            int32_t q = gpu_profile_of(g, r);
            w->profile = q >= 0 ? g->board.profiles[q].name : w->profile;
            w->gpus += g->in_service;
            whole += gpu_takes_whole(g);
            if (r != p->gpu_resource && gpu_takes_slices(g)) {
                w->most = amount_max(w->most, free_slices(g));
            }
        }
        w->most = r == p->gpu_resource ? amount_max(w->most, whole) : w->most;
        struct place_input one = *in;
        struct fitting t;
        one.amounts = &in->amounts[at];
        one.n_amounts = 1;
        fits = fits || plan_node_try(p, n, &one, &t);
    }
    if (device && !fits) {
        w->trouble = r == p->gpu_resource ? PLACE_NO_GPU : PLACE_NO_SLICE;
    }
}

static void why_amount(const struct pool *p, const struct place_input *in, size_t at,
                       struct place_why *w) {
    bool fits = false;
    for (size_t i = 0; i < p->nodes.n; i++) {
        const struct pool_node *n = p->nodes.v[i];
        if (!n->managed || !n->ready || !matches(n, in)) {
            continue;
        }
        if (node_counts_devices(p, n, in->amounts[at].resource)) {
            return; /* asked as a device */
        }
        const struct node_room *room = pool_room(n, in->amounts[at].resource);
        int64_t left = room != NULL ? room_left(room) : 0;
        w->most = amount_max(w->most, left);
        fits = fits || left >= in->amounts[at].v;
    }
    if (!fits) {
        w->trouble = PLACE_NO_AMOUNT;
    }
}

void plan_why(const struct pool *p, const struct place_input *in, struct place_why *ret) {
    struct place_why w = {.trouble = PLACE_NO_NODE, .set = in->set};
    for (size_t i = 0; i < p->nodes.n; i++) {
        if (p->nodes.v[i]->managed && matches(p->nodes.v[i], in)) {
            w.nodes += p->nodes.v[i]->ready;
            w.trouble = PLACE_NOT_READY;
        }
    }
    if (w.nodes > 0) {
        w.trouble = PLACE_NO_TOGETHER;
    }
    for (size_t i = 0; i < in->n_amounts && w.trouble == PLACE_NO_TOGETHER; i++) {
        struct place_why one = w;
        one.resource = in->amounts[i].resource;
        one.need = in->amounts[i].v;
        if (one.need > 0) {
            why_devices(p, in, i, &one);
            if (one.trouble == PLACE_NO_TOGETHER) {
                why_amount(p, in, i, &one);
            }
        }
        w = one.trouble != PLACE_NO_TOGETHER ? one : w;
    }
    *ret = w;
}

/* ---- a workload ---- */

/* Pods with the largest devices first: small ones fit into what is left. */
static int64_t weight(const struct pool *p, const struct place_input *in) {
    int64_t most = 0;
    for (size_t i = 0; i < in->n_amounts; i++) {
        if (in->amounts[i].resource == p->gpu_resource && in->amounts[i].v > 0) {
            return amount_add(INT32_MAX, in->amounts[i].v);
        }
        for (size_t n = 0; n < p->nodes.n && in->amounts[i].v > 0; n++) {
            const struct pool_node *node = p->nodes.v[n];
            int32_t q =
                node->n_gpus > 0 ? gpu_profile_of(&node->gpus[0], in->amounts[i].resource) : -1;
            if (q >= 0) {
                most = amount_max(most, node->gpus[0].board.profiles[q].size);
                break;
            }
        }
    }
    return most;
}

static int turn_cmp(const void *a, const void *b) {
    const struct turn *x = a, *y = b;
    if (x->weight != y->weight) {
        return x->weight > y->weight ? -1 : 1;
    }
    return (x->at > y->at) - (x->at < y->at);
}

int plan_order(const struct pool *p, const struct place_input *in, size_t n, struct turn **ret) {
    struct turn *turns = mem_array(n, sizeof(*turns));
    if (turns == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++) {
        bool same = i > 0 && plan_alike(&in[i], &in[i - 1]);
        turns[i] = (struct turn){same ? turns[i - 1].weight : weight(p, &in[i]), i};
    }
    if (n > 1) {
        qsort(turns, n, sizeof(*turns), turn_cmp);
    }
    *ret = turns;
    return 0;
}

static int seat_add(struct plan_walk *w, size_t at, bool more, bool *ret_placed) {
    return pod_plan(w->p, w->ctx, &w->in[at], more, &w->memo, ret_placed);
}

static void seats_drop(struct plan_walk *w, size_t n) {
    for (; n > 0; n--) {
        pool_seat_drop(w->p, w->p->last); /* newest first */
    }
}

/* `as`: whose the seats are. */
static int seats_plan(struct pool *p, struct seat *as, const struct place_input *in, size_t n,
                      bool *ret_placed, struct place_why *why) {
    struct turn *turns;
    int r = plan_order(p, in, n, &turns);
    if (r != 0) {
        return r;
    }
    struct plan_walk w = {.p = p,
                          .workload = as->workload,
                          .in = in,
                          .turns = turns,
                          .n = n,
                          .cost = &p->plan_cost,
                          .add = seat_add,
                          .drop = seats_drop,
                          .ctx = as};
    bool placed;
    p->plan_cost = n;
    r = plan_walk(&w, &placed);
    if (r == 0 && !placed) {
        p->plan_cost += p->nodes.n * (1 + in[turns[w.done].at].n_amounts);
        plan_walk_why(&w, why);
    }
    mem_free(turns);
    if (r != 0 || !placed) {
        seats_drop(&w, w.done);
    }
    if (r == 0) {
        *ret_placed = placed;
    }
    return r;
}

int pool_plan(struct pool *p, struct str workload, struct str pod, const struct place_input *in,
              size_t n, bool *ret_placed, struct place_why *why) {
    struct seat as = {.workload = workload, .pod = pod};
    return seats_plan(p, &as, in, n, ret_placed, why);
}

size_t pool_plan_cost(const struct pool *p) {
    return p->plan_cost;
}

int pool_plan_loose(struct pool *p, struct str workload, struct str pod,
                    const struct place_input *in, bool *ret_placed, struct place_why *why) {
    struct seat as = {.workload = workload, .pod = pod, .loose = true};
    return seats_plan(p, &as, in, 1, ret_placed, why);
}

int pool_replace(struct pool *p, struct str workload, struct str pod, const struct place_input *in,
                 bool *ret_placed, struct place_why *why) {
    struct seat *old = pool_workload_first(p, workload);
    while (old != NULL &&
           (!str_empty(old->pod) || !str_eq(old->set, in->set) || pool_seat_usable(p, old))) {
        old = old->group_next;
    }
    if (old == NULL) {
        *why = (struct place_why){.trouble = PLACE_TAKEN, .set = in->set};
        *ret_placed = false;
        return 0;
    }
    /* What was planned, elsewhere: what the pod asks for may have grown since. */
    struct place_input same = *in;
    same.ordinal = old->ordinal;
    same.amounts = old->amounts;
    same.n_amounts = old->n_amounts;
    int r = pool_plan(p, workload, pod, &same, 1, ret_placed, why);
    if (r == 0 && *ret_placed) {
        pool_seat_drop(p, old);
    }
    return r;
}
