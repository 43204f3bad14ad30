/* property_world (core): what seeds mean. See property_world.h. */
#include "core/test/property_world.h"

#include "base/prng.h"

/* Two groups: cpu and memory from f0 and f1, gpu from f2 and f3. */
static const struct str CPU = {"cpu", 3}, MEMORY = {"memory", 6}, GPU = {"example.com/gpu", 15};

struct str world_name(char kind, uint8_t id) {
    static char names[256][64][4];
    char *p = names[(unsigned char)kind][id % 64];
    snprintf(p, 4, "%c%02u", kind, id % 64u);
    return str_of(p);
}

void world_init(struct world *w, const struct engine_options *o) {
    *w = (struct world){.o = *o, .now_ns = 1000000000};
    w->e = engine_new(o);
    for (uint8_t i = 0; w->e != NULL && i < W_LOCALS; i++) {
        engine_local_put(w->e, world_name('l', i), i == 2 ? 2 : 1);
    }
}

int world_put_flavor(struct world *w, uint8_t id) {
    return engine_flavor_put(w->e, &(struct flavor_input){.name = world_name('f', id)});
}

struct groups {
    struct str cpu_memory[2], gpu[1];
    struct quota_input quotas[W_FLAVORS][2];
    struct group_flavor_input flavors[W_FLAVORS];
    struct group_input v[2];
    size_t n;
};

static int64_t limit(struct prng *r) {
    return prng_below(r, 3) > 0 ? AMOUNT_NONE : (int64_t)prng_below(r, 8);
}

/* One or two flavors of each group; limits only below a parent. */
static void groups_draw(struct groups *g, struct prng *r, bool limits, int64_t most) {
    *g = (struct groups){.cpu_memory = {CPU, MEMORY}, .gpu = {GPU}};
    size_t at = 0;
    for (unsigned i = 0; i < 2; i++) {
        unsigned which = 1 + (unsigned)prng_below(r, 3); /* first, second, both */
        bool swap = prng_below(r, 4) == 0;
        size_t from = at;
        if (i == 1 && prng_below(r, 2) == 0) {
            break;
        }
        for (unsigned k = 0; k < 2; k++) {
            unsigned f = swap ? 1 - k : k;
            for (unsigned q = 0; q < 2; q++) {
                int64_t b = limit(r), l = limit(r);
                g->quotas[at][q] =
                    (struct quota_input){(int64_t)prng_below(r, (uint64_t)most),
                                         limits ? b : AMOUNT_NONE, limits ? l : AMOUNT_NONE};
            }
            if ((which & (1u << f)) != 0) {
                g->flavors[at] = (struct group_flavor_input){world_name('f', (uint8_t)(2 * i + f)),
                                                             g->quotas[at]};
                at++;
            }
        }
        g->v[g->n++] = (struct group_input){i == 0 ? g->cpu_memory : g->gpu, i == 0 ? 2 : 1,
                                            &g->flavors[from], at - from};
    }
}

static double weight_draw(struct prng *r) {
    static const double weights[] = {1, 1, 1, 2, 0.5, 0};
    return weights[prng_below(r, 6)];
}

int world_put_cohort(struct world *w, uint8_t id) {
    struct prng r;
    struct groups g;
    prng_seed(&r, w->cohorts[id].seed);
    uint64_t parent = prng_below(&r, 10);
    bool rootlike = parent >= W_COHORTS;
    /* mostly upwards; now and then downwards, which may close a circle */
    if (!rootlike && parent >= id && prng_below(&r, 4) > 0) {
        parent = id > 0 ? prng_below(&r, id) : W_COHORTS;
        rootlike = id == 0;
    }
    groups_draw(&g, &r, !rootlike, 6);
    struct cohort_input in = {world_name('c', id),
                              rootlike ? (struct str){0} : world_name('c', (uint8_t)parent), g.v,
                              g.n, weight_draw(&r)};
    return engine_cohort_put(w->e, &in);
}

static void queue_draw(uint32_t seed, struct queue_input *in, struct groups *g) {
    struct prng r;
    prng_seed(&r, seed);
    uint64_t cohort = prng_below(&r, W_COHORTS + 1);
    in->cohort = cohort == W_COHORTS ? (struct str){0} : world_name('c', (uint8_t)cohort);
    in->strict = prng_below(&r, 3) == 0;
    in->when_can_borrow = (enum fungibility)prng_below(&r, 2);
    in->when_can_preempt = (enum fungibility)prng_below(&r, 2);
    in->borrow_costs_more = prng_below(&r, 4) == 0;
    in->within_queue = (enum preempt_policy)prng_below(&r, 3);
    static const enum preempt_policy reclaims[] = {PREEMPT_NEVER, PREEMPT_LOWER, PREEMPT_ANY};
    in->reclaim = reclaims[prng_below(&r, 3)];
    in->borrow_within = (enum preempt_policy)prng_below(&r, 2);
    in->has_threshold = prng_below(&r, 2) == 0;
    in->threshold = (int64_t)prng_below(&r, 4);
    in->local_usage = prng_below(&r, 3) == 0;
    in->weight = weight_draw(&r);
    groups_draw(g, &r, cohort != W_COHORTS, 10);
    in->groups = g->v;
    in->n_groups = g->n;
}

int world_put_queue(struct world *w, uint8_t id) {
    struct groups g;
    struct queue_input in = {.name = world_name('q', id), .held = w->queues[id].stopped};
    queue_draw(w->queues[id].seed, &in, &g);
    return engine_queue_put(w->e, &in);
}

enum preempt_policy queue_policy(uint32_t seed, int which) {
    struct groups g;
    struct queue_input in = {0};
    queue_draw(seed, &in, &g);
    return which == 0 ? in.within_queue : which == 1 ? in.reclaim : in.borrow_within;
}

bool queue_strict(uint32_t seed) {
    struct groups g;
    struct queue_input in = {0};
    queue_draw(seed, &in, &g);
    return in.strict;
}

unsigned queue_flavors(uint32_t seed) {
    struct groups g;
    struct queue_input in = {0};
    unsigned set = 0;
    queue_draw(seed, &in, &g);
    for (size_t i = 0; i < g.n; i++) {
        for (size_t k = 0; k < g.v[i].n_flavors; k++) {
            set |= 1u << (g.v[i].flavors[k].name.p[2] - '0');
        }
    }
    return set;
}

/* ---- workloads ---- */

void load_draw(struct load *l, uint32_t seed, int64_t now_ns) {
    struct prng r;
    prng_seed(&r, seed);
    *l = (struct load){.state = LOAD_PENDING, .seed = seed};
    l->queue = (uint8_t)prng_below(&r, W_QUEUES);
    l->priority = (int64_t)prng_below(&r, 4);
    l->queued_ns = now_ns - (int64_t)prng_below(&r, 5);
    l->protected_until_ns = prng_below(&r, 12) == 0 ? now_ns + (int64_t)prng_below(&r, 20) : 0;
}

size_t load_sets(const struct load *l) {
    return l->seed % 5 == 0 ? 2 : 1;
}

int32_t load_count(const struct load *l, size_t set, int32_t *ret_min) {
    int32_t n = 1 + (int32_t)((l->seed >> (3 + set)) % 3);
    *ret_min = (l->seed >> 9) % 5 == 0 && n > 1 ? 1 : 0;
    return n;
}

int64_t load_request(const struct load *l, size_t set, struct str resource) {
    uint32_t s = l->seed >> (11 + 2 * set);
    if (str_eq(resource, CPU)) {
        return 1 + s % 4;
    }
    if (str_eq(resource, MEMORY)) {
        return (s >> 2) % 3 == 0 ? 1 + (s >> 4) % 3 : 0;
    }
    return str_eq(resource, GPU) && (s >> 6) % 4 == 0 ? 1 : 0;
}

static struct workload_input load_input(struct world *w, uint8_t id, struct set_input sets[2],
                                        struct node_amount amounts[2][3]) {
    static const struct shape ANY = {0};
    const struct str resources[3] = {CPU, MEMORY, GPU};
    const struct load *l = &w->loads[id];
    for (size_t i = 0; i < load_sets(l); i++) {
        int32_t min;
        int32_t n = load_count(l, i, &min);
        sets[i] = (struct set_input){world_name('s', (uint8_t)i), n, min, &ANY, amounts[i], 0};
        for (size_t k = 0; k < 3; k++) {
            int64_t v = load_request(l, i, resources[k]);
            if (v > 0) {
                amounts[i][sets[i].n_requests++] = (struct node_amount){resources[k], v};
            }
        }
    }
    return (struct workload_input){.uid = world_name('w', id),
                                   .queue = world_name('q', l->queue),
                                   .priority = l->priority,
                                   .queued_ns = l->queued_ns,
                                   .sets = sets,
                                   .n_sets = load_sets(l),
                                   .local = world_name('l', (uint8_t)(l->seed % W_LOCALS)),
                                   .reserved_ns = l->reserved_ns,
                                   .evicting = l->evicting,
                                   .protected_until_ns = l->protected_until_ns};
}

int world_put_load(struct world *w, uint8_t id) {
    struct set_input sets[2];
    struct node_amount amounts[2][3];
    struct workload_input in = load_input(w, id, sets, amounts);
    return engine_workload_put(w->e, &in);
}

int world_hold_load(struct world *w, uint8_t id) {
    struct set_input sets[2];
    struct node_amount amounts[2][3];
    struct workload_input in = load_input(w, id, sets, amounts);
    return engine_workload_hold(w->e, &in, w->loads[id].held, w->loads[id].n_held);
}
