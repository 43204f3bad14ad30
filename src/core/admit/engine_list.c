/* engine_list (core): see engine_list.h. */
#include "core/admit/engine_list.h"

#include "core/admit/engine_private.h"

int engine_list_queue(struct engine *e, struct str queue, size_t offset, size_t limit,
                      struct arena *a, struct queue_listed **ret, size_t *ret_n) {
    struct queue *q = map_get(&e->queues.by_name, queue);
    return q != NULL ? queue_list(q, offset, limit, a, ret, ret_n) : ERR_NOT_FOUND;
}

int engine_list_local(struct engine *e, struct str queue, struct str local, size_t offset,
                      size_t limit, struct arena *a, struct queue_listed **ret, size_t *ret_n) {
    struct queue *q = map_get(&e->queues.by_name, queue);
    return q != NULL ? queue_list_local(q, local, offset, limit, a, ret, ret_n) : ERR_NOT_FOUND;
}

/* ---- one ---- */

bool engine_is_parked(const struct engine *e, struct str uid) {
    const struct queue_workload *w = engine_workload(e, uid);
    return w != NULL && (w->state == WORKLOAD_PARKED ||
                         (w->state == WORKLOAD_HEAP && w->class != NULL && w->class->parked));
}

size_t engine_requests(const struct engine *e, struct str uid, struct held_amount *out,
                       size_t max) {
    const struct queue_workload *w = engine_workload(e, uid);
    size_t n = 0;
    if (w == NULL || w->state == WORKLOAD_HOLDING) {
        return 0;
    }
    for (size_t i = 0; i < w->n_sets; i++) {
        const struct workload_set *s = &w->sets[i];
        for (size_t k = 0; k < s->n_requests; k++) {
            size_t at = 0;
            while (at < n && out[at].resource != s->requests[k].resource) {
                at++;
            }
            if (at == n && n < max) {
                out[n++] = (struct held_amount){.flavor = NAME_ABSENT,
                                                .resource = s->requests[k].resource};
            }
            if (at < n) {
                out[at].v = amount_add(out[at].v, amount_mul(s->requests[k].v, s->count));
            }
        }
    }
    return n;
}

bool engine_hashes(const struct engine *e, struct str queue, size_t *ret_active,
                   size_t *ret_parked) {
    const struct queue *q = map_get(&e->queues.by_name, queue);
    if (q == NULL) {
        return false;
    }
    *ret_active = lanes_active(q);
    *ret_parked = 0;
    for (const struct queue_class *c = q->parked_classes; c != NULL; c = c->next) {
        *ret_parked += c->members.n > 0;
    }
    return true;
}

/* ---- cohorts ---- */

int engine_cohorts(struct engine *e, bool (*each)(void *ctx, const struct engine_cohort *h),
                   void *ctx) {
    if (engine_settle(e) != 0) {
        return ERR_NOMEM;
    }
    size_t i = 0;
    for (const struct map_entry *m; (m = map_next(&e->forest.cohorts, &i)) != NULL;) {
        const struct quota_node *n = m->value;
        struct engine_cohort h = {n->name, n->parent_name,
                                  n->root != NULL ? n->root->name : n->name};
        if (!each(ctx, &h)) {
            break;
        }
    }
    return 0;
}

int engine_cohort_quota(struct engine *e, struct str name,
                        void (*each)(void *ctx, uint32_t flavor, uint32_t resource, int64_t quota),
                        void *ctx) {
    if (engine_settle(e) != 0) {
        return ERR_NOMEM;
    }
    const struct quota_node *n = quota_find(&e->forest, false, name);
    if (n == NULL) {
        return ERR_NOT_FOUND;
    }
    for (size_t i = 0; i < n->n_cells; i++) {
        const struct quota_cell *c = &n->cells[i];
        each(ctx, c->q.pair >> 16, c->q.pair & 0xffff, c->subtree);
    }
    return 0;
}

bool engine_above(struct engine *e, struct str queue, void (*each)(void *ctx, struct str cohort),
                  void *ctx) {
    const struct queue *q = map_get(&e->queues.by_name, queue);
    if (q == NULL || engine_settle(e) != 0) {
        return q != NULL;
    }
    for (const struct quota_node *n = q->node->parent; n != NULL; n = n->parent) {
        each(ctx, n->name);
    }
    return true;
}
