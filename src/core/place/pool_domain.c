/*
 * pool_domain (core): the pods of a plan one after another, and those of a set that are to run together.
 *
 * Such a set is placed on nodes with the same value of a label (shape.together): a domain, such as a rack. Domains that
 * may have room for all pods of the set are tried from the one with the least room upwards, and the first in which the
 * plan succeeds is taken. A set that already has seats stays in their domain. Sets are placed one after another: the
 * choice for one is not revised for the next.
 */
#include "core/place/pool_private.h"
#include "core/quota/amount.h"

enum { DOMAIN_COST_MAX = 1 << 18 }; /* nodes looked at for one set: then it has to wait */

struct domain_node {
    struct str value;
    uint32_t node; /* of pool.nodes */
    int64_t most;  /* so many pods at most */
};

struct domain {
    struct str value;
    size_t first, n; /* of the nodes */
    int64_t most;
};

struct domains {
    struct domain_node *nodes;
    uint32_t *numbers; /* of nodes, in their order */
    struct domain *v;
    size_t n_nodes, n;
};

/* ---- which there are ---- */

static struct str label_of(const struct pool_node *n, struct str key) {
    for (size_t i = 0; i < n->labels.n; i++) {
        if (str_eq(n->labels.v[i].key, key)) {
            return n->labels.v[i].value;
        }
    }
    return (struct str){0};
}

static int64_t devices_free(const struct pool *p, const struct pool_node *n, uint32_t resource) {
    int64_t free = 0;
    for (size_t i = 0; i < n->n_gpus; i++) {
        const struct pool_gpu *g = &n->gpus[i];
        if (resource == p->gpu_resource) {
            free += gpu_takes_whole(g);
            continue;
        }
        int32_t profile = gpu_takes_slices(g) ? gpu_profile_of(g, resource) : -1;
        struct mig_state s = gpu_state(g);
        free += profile >= 0 ? mig_room_for(&g->board, &s, (size_t)profile) : 0;
    }
    return free;
}

/* An upper bound: each amount for itself. */
static int64_t most_on(const struct pool *p, const struct pool_node *n,
                       const struct place_input *in, int64_t wanted) {
    int64_t most = wanted;
    for (size_t i = 0; i < in->n_amounts; i++) {
        const struct pool_amount *a = &in->amounts[i];
        if (a->v <= 0) {
            continue;
        }
        const struct node_room *room = pool_room(n, a->resource);
        int64_t free = node_counts_devices(p, n, a->resource) ? devices_free(p, n, a->resource)
                       : room != NULL ? room->total - room->used - room->claimed
                                      : 0;
        most = amount_min(most, free > 0 ? free / a->v : 0);
    }
    return most;
}

static int by_value(const void *a, const void *b) {
    const struct domain_node *x = a, *y = b;
    int c = str_cmp(x->value, y->value);
    return c != 0 ? c : (x->node > y->node) - (x->node < y->node);
}

static int by_most(const void *a, const void *b) {
    const struct domain *x = a, *y = b;
    if (x->most != y->most) {
        return x->most < y->most ? -1 : 1;
    }
    return str_cmp(x->value, y->value);
}

static void domains_release(struct domains *d) {
    mem_free(d->nodes);
    mem_free(d->numbers);
    mem_free(d->v);
}

/* only: this value alone; NULL: any. */
static int nodes_find(const struct pool *p, const struct place_input *in, int64_t wanted,
                      const struct str *only, struct domains *d) {
    *d = (struct domains){.nodes = mem_array(p->nodes.n + 1, sizeof(*d->nodes)),
                          .numbers = mem_array(p->nodes.n + 1, sizeof(*d->numbers)),
                          .v = mem_array(p->nodes.n + 1, sizeof(*d->v))};
    if (d->nodes == NULL || d->numbers == NULL || d->v == NULL) {
        domains_release(d);
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < p->nodes.n; i++) {
        const struct pool_node *n = p->nodes.v[i];
        struct str value = label_of(n, in->shape->together);
        if (value.p == NULL || (only != NULL && !str_eq(*only, value)) || !plan_eligible(n, in)) {
            continue;
        }
        d->nodes[d->n_nodes++] =
            (struct domain_node){value, (uint32_t)i, most_on(p, n, in, wanted)};
    }
    return 0;
}

/* Those that may have room, the smallest first. */
static int domains_find(const struct pool *p, const struct place_input *in, int64_t wanted,
                        const struct str *only, struct domains *d) {
    int r = nodes_find(p, in, wanted, only, d);
    if (r != 0) {
        return r;
    }
    if (d->n_nodes > 1) {
        qsort(d->nodes, d->n_nodes, sizeof(*d->nodes), by_value);
    }
    for (size_t i = 0; i < d->n_nodes; i++) {
        const struct domain_node *x = &d->nodes[i];
        d->numbers[i] = x->node;
        if (d->n == 0 || !str_eq(d->v[d->n - 1].value, x->value)) {
            d->v[d->n++] = (struct domain){.value = x->value, .first = i};
        }
        d->v[d->n - 1].n++;
        d->v[d->n - 1].most = amount_add(d->v[d->n - 1].most, x->most);
    }
    size_t kept = 0;
    for (size_t i = 0; i < d->n; i++) {
        if (d->v[i].most >= wanted) {
            d->v[kept++] = d->v[i];
        }
    }
    d->n = kept;
    if (d->n > 1) {
        qsort(d->v, d->n, sizeof(*d->v), by_most);
    }
    return 0;
}

/* ---- the walk ---- */

/* `n` pods that are alike, one after another, as far as there are places. */
static int walk_run(struct plan_walk *w, size_t n, bool *ret_placed) {
    int r = 0;
    *ret_placed = true;
    for (size_t end = w->done + n; w->done < end && r == 0 && *ret_placed;) {
        r = w->add(w, w->turns[w->done].at, w->done + 1 < end, ret_placed);
        w->done += r == 0 && *ret_placed;
    }
    return r;
}

/* Where seats of the set are: its domain. */
static bool domain_of_seats(const struct pool *p, struct str workload, const struct place_input *in,
                            struct str *ret) {
    struct seat *const lists[] = {pool_workload_first(p, workload), pool_loose_first(p, workload)};
    for (size_t i = 0; i < 2 && !str_empty(workload); i++) {
        for (const struct seat *s = lists[i]; s != NULL; s = s->group_next) {
            const struct pool_node *n = str_eq(s->set, in->set) ? pool_node(p, s->node) : NULL;
            if (n != NULL) {
                *ret = label_of(n, in->shape->together);
                return ret->p != NULL;
            }
        }
    }
    return false;
}

static int walk_together(struct plan_walk *w, size_t n, bool *ret_placed) {
    const struct place_input *in = &w->in[w->turns[w->done].at];
    const size_t before = w->done, cost = *w->cost;
    struct domains d;
    struct str value;
    bool stays = domain_of_seats(w->p, w->workload, in, &value);
    int r = domains_find(w->p, in, (int64_t)n, stays ? &value : NULL, &d);
    if (r != 0) {
        return r;
    }
    *w->cost += w->p->nodes.n;
    *ret_placed = false;
    for (size_t i = 0; i < d.n && r == 0 && !*ret_placed && *w->cost - cost < DOMAIN_COST_MAX;
         i++) {
        w->memo.in = NULL;
        w->memo.among = d.numbers + d.v[i].first;
        w->memo.n_among = d.v[i].n;
        r = walk_run(w, n, ret_placed);
        if (r == 0 && !*ret_placed) {
            w->drop(w, w->done - before);
            w->done = before;
        }
    }
    w->memo.in = NULL;
    w->memo.among = NULL;
    w->apart = !*ret_placed;
    domains_release(&d);
    return r;
}

int plan_walk(struct plan_walk *w, bool *ret_placed) {
    int r = 0;
    *ret_placed = true;
    while (w->done < w->n && r == 0 && *ret_placed) {
        const struct place_input *one = &w->in[w->turns[w->done].at];
        size_t n = 1;
        while (w->done + n < w->n && plan_alike(one, &w->in[w->turns[w->done + n].at])) {
            n++;
        }
        w->alike = n;
        r = str_empty(one->shape->together) ? walk_run(w, n, ret_placed)
                                            : walk_together(w, n, ret_placed);
    }
    plan_memo_release(&w->memo);
    return r;
}

void plan_walk_why(const struct plan_walk *w, struct place_why *ret) {
    const struct place_input *in = &w->in[w->turns[w->done].at];
    plan_why(w->p, in, ret);
    if (w->apart && ret->trouble == PLACE_NO_TOGETHER) {
        ret->trouble = PLACE_NO_DOMAIN;
        ret->label = in->shape->together;
        ret->need = (int64_t)w->alike;
    }
    ret->placed = (int32_t)w->done;
    ret->pods = (int32_t)w->n;
}
