/* pool_check (core): consistency checks of the pool, for trials and tests. */
#include "core/place/pool_private.h"

uint64_t pool_digest(const struct pool *p) {
    uint64_t h = p->n_seats;
    for (size_t i = 0; i < p->nodes.n; i++) {
        const struct pool_node *n = p->nodes.v[i];
        for (size_t k = 0; k < n->n_rooms; k++) {
            h = hash_mix(hash_mix(h, (uint64_t)n->rooms[k].used), (uint64_t)n->rooms[k].claimed);
        }
        for (size_t k = 0; k < n->n_gpus; k++) {
            const struct pool_gpu *g = &n->gpus[k];
            h = hash_str(h, str_from((const char *)g->held.at, sizeof(g->held.at)));
            h = hash_mix(hash_mix(h, g->held_whole), g->shut | (uint64_t)g->shut_whole << 32);
            for (int32_t s = 0; s < g->board.slices; s++) { /* a trial's trace */
                h = g->live.at[s] < 0 ? hash_mix(h, (uint64_t)s) : h;
            }
        }
    }
    return h;
}

static bool gpu_consistent(const struct pool_gpu *g) {
    uint32_t seen = 0;
    for (int32_t i = 0; i < g->board.slices; i++) {
        if (g->held.at[i] > 0) {
            const struct mig_profile *q = &g->board.profiles[g->held.at[i] - 1];
            uint32_t span = mig_span(i, q->size);
            if ((seen & span) != 0 || g->held_whole || (q->starts & (1u << i)) == 0) {
                return false;
            }
            seen |= span;
        }
    }
    return true;
}

bool pool_consistent(const struct pool *p) {
    for (const struct seat *s = p->seats; s != NULL; s = s->next) {
        for (size_t i = 0; i < s->n_devices; i++) {
            if (pool_node(p, s->node) != NULL && !s->devices[i].counted) {
                return false;
            }
        }
    }
    for (size_t i = 0; i < p->nodes.n; i++) {
        const struct pool_node *n = p->nodes.v[i];
        for (size_t k = 0; k < n->n_rooms; k++) {
            if (!node_counts_devices(p, n, n->rooms[k].resource) &&
                (n->rooms[k].used < 0 || n->rooms[k].used > n->rooms[k].total)) {
                return false;
            }
        }
        for (size_t k = 0; k < n->n_gpus; k++) {
            if (!gpu_consistent(&n->gpus[k])) {
                return false;
            }
        }
    }
    return true;
}
