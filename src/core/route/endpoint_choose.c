/* endpoint_choose: the steps of endpoint.h, on a list of places that each of them makes shorter. */
#include <assert.h>

#include "core/route/endpoint.h"

struct chosen {
    struct endpoint_pool *e;
    uint16_t v[ENDPOINTS_MAX];
    size_t n;
    int64_t now;
};

static struct endpoint *at(const struct chosen *c, size_t i) {
    return &c->e->v[c->v[i]];
}

/* ---- 1: usable ---- */

static bool was_tried(const struct endpoint_request *r, uint32_t id) {
    for (size_t i = 0; i < r->n_tried && i < ENDPOINT_TRIED_MAX; i++) {
        if (r->tried[i] == id) {
            return true;
        }
    }
    return false;
}

/* The zones where this request failed. */
static size_t failed_zones(const struct endpoint_pool *e, const struct endpoint_request *r,
                           uint32_t zones[ENDPOINT_TRIED_MAX]) {
    size_t n = 0;
    for (size_t i = 0; r->n_tried > 0 && e->own_zone != 0 && i < e->n && n < ENDPOINT_TRIED_MAX;
         i++) {
        if (was_tried(r, e->v[i].id)) {
            zones[n++] = e->v[i].zone;
        }
    }
    return n;
}

static bool is_in(const uint32_t *zones, size_t n, uint32_t zone) {
    for (size_t i = 0; i < n; i++) {
        if (zones[i] == zone) {
            return true;
        }
    }
    return false;
}

/* Those that may get it, room or not; of a second try those of other zones, where there are any: it waits for them. */
static enum endpoint_none eligible(struct chosen *c, const struct endpoint_request *r) {
    uint32_t zones[ENDPOINT_TRIED_MAX];
    size_t n_zones = failed_zones(c->e, r, zones), kept = 0, elsewhere = 0;
    bool ready = false;

    for (size_t i = 0; i < c->e->n; i++) {
        struct endpoint *x = &c->e->v[i];
        if (!x->ready || x->draining || c->e->groups[x->group].weight <= 0) {
            continue;
        }
        ready = true;
        if (health_allows(&x->health, c->now) && !was_tried(r, x->id)) {
            c->v[c->n++] = (uint16_t)i;
            elsewhere += !is_in(zones, n_zones, x->zone);
        }
    }
    for (size_t i = 0; i < c->n; i++) {
        if (elsewhere == 0 || !is_in(zones, n_zones, at(c, i)->zone)) {
            c->v[kept++] = c->v[i];
        }
    }
    c->n = kept;
    return kept > 0 ? ENDPOINT_CHOSEN : ready ? ENDPOINT_ALL_BAD : ENDPOINT_NO_READY;
}

static enum endpoint_none usable(struct chosen *c, const struct endpoint_request *r) {
    enum endpoint_none none = eligible(c, r);
    size_t kept = 0;

    for (size_t i = 0; i < c->n; i++) {
        if (at(c, i)->limit == 0 || at(c, i)->outstanding < at(c, i)->limit) {
            c->v[kept++] = c->v[i];
        }
    }
    c->n = kept;
    return none != ENDPOINT_CHOSEN ? none : kept > 0 ? ENDPOINT_CHOSEN : ENDPOINT_NO_ROOM;
}

enum endpoint_none endpoint_room(struct endpoint_pool *e, const struct endpoint_request *r,
                                 int64_t now) {
    struct chosen c = {.e = e, .now = now};
    return usable(&c, r);
}

/* ---- 2: groups ---- */

static void keep_group(struct chosen *c) {
    bool there[ENDPOINT_GROUPS_MAX] = {false};
    struct endpoint_group *best = NULL, *groups = c->e->groups;
    int64_t sum = 0;
    size_t kept = 0;

    for (size_t i = 0; i < c->n; i++) {
        there[at(c, i)->group] = true;
    }
    for (size_t i = 0; i < ENDPOINT_GROUPS_MAX; i++) {
        if (there[i]) {
            groups[i].credit += groups[i].weight;
            sum += groups[i].weight;
            best = best == NULL || groups[i].credit > best->credit ? &groups[i] : best;
        }
    }
    assert(best != NULL);
    best->credit -= sum;
    for (size_t i = 0; i < c->n; i++) {
        if (&groups[at(c, i)->group] == best) {
            c->v[kept++] = c->v[i];
        }
    }
    c->n = kept;
}

/* ---- 3: zones ---- */

static double mean(const struct chosen *c, uint32_t zone, size_t *ret_n) {
    int64_t sum = 0;
    size_t n = 0;

    for (size_t i = 0; i < c->n; i++) {
        if (zone == 0 || at(c, i)->zone == zone) {
            sum += at(c, i)->outstanding;
            n++;
        }
    }
    *ret_n = n;
    return n > 0 ? (double)sum / (double)n : 0;
}

static void keep_zone(struct chosen *c) {
    uint32_t own = c->e->own_zone;
    size_t here, all, kept = 0;
    double load = mean(c, own, &here), usual = mean(c, 0, &all);

    if (own == 0 || here == 0 || here == all || load > usual * 1.2 + 1) {
        return;
    }
    for (size_t i = 0; i < c->n; i++) {
        if (at(c, i)->zone == own) {
            c->v[kept++] = c->v[i];
        }
    }
    c->n = kept;
}

/* ---- load ---- */

/* How many there would be, made more while it starts slowly. */
static double load_of(const struct chosen *c, const struct endpoint *x) {
    int64_t age = c->now - x->ready_at;
    double share = age >= ENDPOINT_SLOW ? 1 : age <= 0 ? 0 : (double)age / (double)ENDPOINT_SLOW;
    return ((double)x->outstanding + 1) / (share < 0.1 ? 0.1 : share);
}

static double between(double v, double least, double most) {
    return most > least ? (v - least) / (most - least) : 0;
}

static double waiting_of(const struct chosen *c, const struct endpoint *x) {
    bool known = x->metrics.at != 0 && c->now - x->metrics.at <= ENDPOINT_STALE;
    return known ? x->metrics.waiting : 1e6;
}

struct extent {
    double waiting[2], load[2]; /* least, most */
};

static struct extent extent_of(const struct chosen *c) {
    struct extent x = {{1e18, -1}, {1e18, -1}};
    for (size_t i = 0; i < c->n; i++) {
        double w = waiting_of(c, at(c, i)), l = load_of(c, at(c, i));
        x.waiting[0] = w < x.waiting[0] ? w : x.waiting[0];
        x.waiting[1] = w > x.waiting[1] ? w : x.waiting[1];
        x.load[0] = l < x.load[0] ? l : x.load[0];
        x.load[1] = l > x.load[1] ? l : x.load[1];
    }
    return x;
}

/* Less is better. */
static double score(const struct chosen *c, const struct extent *all, const struct endpoint *x) {
    double load = load_of(c, x), waiting = waiting_of(c, x);
    double cache = waiting < 1e6 ? x->metrics.cache : 1;

    if (c->e->policy == ENDPOINT_BY_OUTSTANDING) {
        return load;
    }
    return 2 * between(waiting, all->waiting[0], all->waiting[1]) + 2 * cache +
           between(load, all->load[0], all->load[1]);
}

/* ---- 4: affinity ---- */

/* Not more than the mean with this request, times the bound, rounded up; few are no hot spot, as servers batch. */
static bool within_bound(const struct chosen *c, const struct endpoint *x) {
    int64_t sum = 1, n = (int64_t)c->n;
    for (size_t i = 0; i < c->n; i++) {
        sum += at(c, i)->outstanding;
    }
    int64_t most = (sum * ENDPOINT_BOUND + n * 100 - 1) / (n * 100);
    return x->outstanding + 1 <= (most > ENDPOINT_FEW ? most : ENDPOINT_FEW);
}

static uint64_t rendezvous(uint64_t session, uint32_t id) {
    uint64_t h = session ^ (id * UINT64_C(0x9e3779b97f4a7c15));
    h = (h ^ h >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    h = (h ^ h >> 27) * UINT64_C(0x94d049bb133111eb);
    return h ^ h >> 31;
}

static bool by_session(const struct chosen *c, uint64_t session, size_t *ret) {
    uint64_t best = 0;
    bool found = false;

    for (size_t i = 0; session != 0 && i < c->n; i++) {
        uint64_t h = rendezvous(session, at(c, i)->id);
        if (within_bound(c, at(c, i)) && (!found || h > best)) {
            best = h;
            found = true;
            *ret = c->v[i];
        }
    }
    return found;
}

static bool by_prefix(const struct chosen *c, const struct endpoint_request *r, size_t *ret) {
    for (size_t k = 0; k < r->n_prefixes; k++) {
        for (size_t i = 0; r->prefixes[k].blocks >= ENDPOINT_BLOCKS && i < c->n; i++) {
            if (at(c, i)->id == r->prefixes[k].endpoint && within_bound(c, at(c, i))) {
                *ret = c->v[i];
                return true;
            }
        }
    }
    return false;
}

static bool has_adapter(const struct endpoint *x, uint64_t adapter) {
    for (size_t i = 0; i < x->n_adapters; i++) {
        if (x->adapters[i] == adapter) {
            return true;
        }
    }
    return false;
}

static void keep_adapter(struct chosen *c, uint64_t adapter) {
    uint16_t v[ENDPOINTS_MAX];
    size_t kept = 0;

    for (size_t i = 0; adapter != 0 && i < c->n; i++) {
        if (has_adapter(at(c, i), adapter) && within_bound(c, at(c, i))) {
            v[kept++] = c->v[i];
        }
    }
    if (kept > 0) {
        memcpy(c->v, v, kept * sizeof(*v));
        c->n = kept;
    }
}

/* ---- 5: the best of all, or of two ---- */

static size_t by_load(const struct chosen *c) {
    struct extent all = extent_of(c);
    struct prng *r = &c->e->prng;
    size_t best = 0, equal = 1;

    if (c->n > ENDPOINT_SCAN) {
        size_t a = prng_below(r, c->n), b = prng_below(r, c->n - 1);
        b += b >= a;
        double x = score(c, &all, at(c, a)), y = score(c, &all, at(c, b));
        return c->v[x < y || (x == y && prng_below(r, 2) == 0) ? a : b];
    }
    for (size_t i = 1; i < c->n; i++) {
        double x = score(c, &all, at(c, i)), y = score(c, &all, at(c, best));
        equal = x < y ? 1 : equal + (x == y);
        best = x < y || (x == y && prng_below(r, equal) == 0) ? i : best;
    }
    return c->v[best];
}

enum endpoint_none endpoint_choose(struct endpoint_pool *e, const struct endpoint_request *r,
                                   int64_t now, size_t *ret_place) {
    struct chosen c = {.e = e, .now = now};
    size_t place;

    enum endpoint_none none = usable(&c, r);
    if (none != ENDPOINT_CHOSEN) {
        return none;
    }
    keep_group(&c);
    keep_zone(&c);
    if (!by_session(&c, r->session, &place) && !by_prefix(&c, r, &place)) {
        keep_adapter(&c, r->adapter);
        place = by_load(&c);
    }
    *ret_place = place;
    return ENDPOINT_CHOSEN;
}
