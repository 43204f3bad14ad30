/* nominate (core): see nominate.h. */
#include "core/admit/nominate.h"

#include "core/admit/engine_private.h"
#include "core/admit/resize.h"
#include "core/admit/seat.h"

int nominate_needs(struct arena *tick, const struct assignment *a, size_t more,
                   struct preempt_need **ret, size_t *ret_n) {
    struct preempt_need *needs = ARENA_ARRAY(tick, struct preempt_need, a->n_held + more + 1);
    size_t n = 0;
    for (size_t i = 0; needs != NULL && i < a->n_held; i++) {
        size_t k = 0;
        while (k < n && needs[k].cell != a->cells[i]) {
            k++;
        }
        if (k == n) {
            needs[n++] = (struct preempt_need){.cell = a->cells[i]};
        }
        needs[k].v = amount_add(needs[k].v, a->held[i].v);
        needs[k].short_ = needs[k].short_ || a->modes[i] != MODE_FIT;
    }
    if (needs == NULL) {
        return ERR_NOMEM;
    }
    *ret = needs;
    *ret_n = n;
    return 0;
}

/* A search may look at every queue of its tree, and at all that they hold: it costs more of the budget than a head
 * does. */
static void charge(struct engine *e, const struct queue_workload *w) {
    size_t cost =
        w->queue->tree->n_queues / ENGINE_QUEUES_A_HEAD + e->preempt.looked / ENGINE_HOLDERS_A_HEAD;
    e->preempt.looked %= ENGINE_HOLDERS_A_HEAD;
    engine_charge(e, cost);
}

/* Victims that leave quota and places; where there are none, those that leave quota, so that it waits for a place. */
static int victims_find(struct engine *e, struct preempt_ask *ask, struct assignment *ret,
                        int64_t *ret_wake_ns) {
    struct seat_trial t;
    bool was_protected = false;
    int r = seat_trial_begin(e, ask->w, ret, &t);
    if (r == 0 && t.n > 0) {
        ask->fits = seat_trial_fits;
        ask->ctx = &t;
        r = preempt_find(&e->preempt, ask, &ret->victims, &ret->n_victims, &was_protected,
                         ret_wake_ns);
        ask->fits = NULL;
        if (r == 0) {
            r = t.error;
        }
    }
    seat_trial_end(&t);
    if (r != 0 || ret->n_victims > 0) {
        return r;
    }
    return preempt_find(&e->preempt, ask, &ret->victims, &ret->n_victims, &was_protected,
                        ret_wake_ns);
}

static int plan(struct engine *e, struct queue_workload *w, const int32_t *counts,
                const struct assignment *pin, struct assignment *ret) {
    int r = assign_flavors(e, w, counts, pin, ret);
    if (r != 0 || ret->mode == MODE_NO_FIT || ret->mode == MODE_FIT) {
        return r;
    }
    struct preempt_ask ask = {.w = w};
    struct preempt_need *needs;
    int64_t wake = INT64_MAX;
    r = nominate_needs(&e->cycle.tick, ret, 0, &needs, &ask.n_needs);
    if (r != 0) {
        return r;
    }
    for (size_t i = 0; i < ask.n_needs; i++) {
        uint32_t resource = needs[i].cell->q.pair & 0xffff;
        needs[i].uncounted = str_is(names_text(&e->resources, resource), "pods");
    }
    ask.needs = needs;
    r = victims_find(e, &ask, ret, &wake);
    charge(e, w);
    if (r == 0 && wake != INT64_MAX) {
        tree_wake_at(&e->queues.agenda, w->queue->tree, wake);
    }
    return r;
}

static bool is_plan(const struct assignment *a) {
    return a->mode == MODE_FIT || a->n_victims > 0;
}

static int64_t spare_pods(const struct queue_workload *w) {
    int64_t n = 0;
    for (size_t i = 0; i < w->n_sets; i++) {
        const struct workload_set *s = &w->sets[i];
        n += s->min_count > 0 && s->min_count < s->count ? s->count - s->min_count : 0;
    }
    return n;
}

static const int32_t *counts_at(struct engine *e, const struct queue_workload *w, int64_t i,
                                int64_t total) {
    int32_t *v = ARENA_ARRAY(&e->cycle.tick, int32_t, w->n_sets + 1);
    for (size_t k = 0; v != NULL && k < w->n_sets; k++) {
        const struct workload_set *s = &w->sets[k];
        int64_t d = s->min_count > 0 && s->min_count < s->count ? s->count - s->min_count : 0;
        v[k] = s->count - (int32_t)(d * i / total);
    }
    return v;
}

/* The least reduction with a plan; *ret is left alone when there is none. */
static int reduce(struct engine *e, struct queue_workload *w, const struct assignment *pin,
                  struct assignment *ret) {
    int64_t total = spare_pods(w), lo = 0, hi = total + 1;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        const int32_t *counts = counts_at(e, w, mid, total);
        struct assignment a;
        int r = counts != NULL ? plan(e, w, counts, pin, &a) : ERR_NOMEM;
        if (r != 0) {
            return r;
        }
        if (is_plan(&a)) {
            *ret = a;
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return 0;
}

/* Has it room in the flavors of `full` with so many pods, and each of them a place? */
static int has_place(struct engine *e, struct queue_workload *w, const int32_t *counts,
                     const struct assignment *full, struct assignment *ret, bool *ret_ok) {
    struct cycle_entry n = {.w = w};
    bool seated = false;
    *ret_ok = false;
    int r = counts != NULL ? assign_flavors(e, w, counts, full, &n.a) : ERR_NOMEM;
    if (r != 0 || n.a.mode != MODE_FIT) {
        return r;
    }
    r = seat_entry(e, &n, ret_ok, &seated);
    if (seated) {
        pool_undo(e->pool, w->uid); /* to know it was enough */
    }
    *ret = n.a;
    return r;
}

int nominate_fewer(struct engine *e, struct queue_workload *w, const struct assignment *full,
                   struct assignment *ret, bool *ret_found) {
    int64_t total = spare_pods(w), lo = 1, hi = total + 1;
    *ret_found = false;
    while (lo < hi) {
        int64_t mid = lo + (hi - lo) / 2;
        struct assignment a;
        bool ok;
        int r = has_place(e, w, counts_at(e, w, mid, total), full, &a, &ok);
        e->left -= e->left > 0;
        if (r != 0) {
            return r;
        }
        if (ok) {
            *ret = a;
            *ret_found = true;
            hi = mid;
        } else {
            lo = mid + 1;
        }
    }
    return 0;
}

int nominate_head(struct engine *e, struct queue_workload *w, const struct assignment *pin,
                  struct assignment *ret) {
    const struct queue_workload *prior = resize_prior(e, w);
    const int32_t *counts = prior != NULL ? resize_counts(&e->cycle.tick, w, prior) : NULL;
    if (prior != NULL && counts == NULL) {
        return ERR_NOMEM;
    }
    int r = plan(e, w, counts, pin, ret);
    ret->grows = prior != NULL;
    if (r == 0 && !is_plan(ret) && prior == NULL && spare_pods(w) > 0) {
        r = reduce(e, w, pin, ret);
    }
    return r;
}
