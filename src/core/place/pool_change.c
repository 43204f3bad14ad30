/*
 * pool_change (core): has a node that was put again more for anybody than before?
 *
 * A pod that starts shows in the inventory, on the place that its seat holds: nobody who waits for a place need look
 * again. Whatever else changed may help somebody.
 */
#include "core/place/pool_private.h"

static bool labels_same(const struct pool_node *a, const struct pool_node *b) {
    bool same = a->labels.n == b->labels.n && a->taints.n == b->taints.n;
    for (size_t i = 0; same && i < a->labels.n; i++) {
        same = str_eq(a->labels.v[i].key, b->labels.v[i].key) &&
               str_eq(a->labels.v[i].value, b->labels.v[i].value);
    }
    for (size_t i = 0; same && i < a->taints.n; i++) {
        const struct taint *x = &a->taints.v[i], *y = &b->taints.v[i];
        same = str_eq(x->key, y->key) && str_eq(x->value, y->value) && str_eq(x->effect, y->effect);
    }
    return same;
}

static bool board_same(const struct mig_board *a, const struct mig_board *b) {
    bool same = a->n == b->n && a->slices == b->slices;
    for (size_t i = 0; same && i < a->n; i++) {
        const struct mig_profile *x = &a->profiles[i], *y = &b->profiles[i];
        same = x->id == y->id && x->size == y->size && x->max == y->max && x->starts == y->starts &&
               x->media == y->media && x->resource == y->resource;
    }
    return same;
}

/* All that was seen on the old is seen on the new. */
static bool live_stays(const struct pool_gpu *old, const struct pool_gpu *g) {
    bool stays = !old->live_whole || (g->live_whole && g->live_whole_pod == old->live_whole_pod);
    for (int32_t i = 0; stays && i < old->board.slices; i++) {
        stays = old->live.at[i] == 0 ||
                (g->live.at[i] == old->live.at[i] && g->live_pod[i] == old->live_pod[i]);
    }
    return stays;
}

static bool gpu_gives(const struct pool_gpu *old, const struct pool_gpu *g) {
    bool less = str_eq(old->uuid, g->uuid) && old->index == g->index &&
                old->in_service == g->in_service && old->may_switch == g->may_switch &&
                (old->mig_on == g->mig_on || g->may_switch) && board_same(&old->board, &g->board) &&
                live_stays(old, g);
    return !less;
}

bool pool_node_gained(const struct pool_node *old, const struct pool_node *n) {
    bool less = old->managed == n->managed && old->ready == n->ready &&
                old->n_rooms == n->n_rooms && old->n_gpus == n->n_gpus && labels_same(old, n);
    for (size_t i = 0; less && i < n->n_rooms; i++) {
        less = old->rooms[i].resource == n->rooms[i].resource &&
               n->rooms[i].total <= old->rooms[i].total;
    }
    for (size_t i = 0; less && i < n->n_gpus; i++) {
        less = !gpu_gives(&old->gpus[i], &n->gpus[i]);
    }
    return !less;
}
