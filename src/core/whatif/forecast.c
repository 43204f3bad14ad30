/* forecast (core): see forecast.h. */
#include "core/whatif/forecast.h"

#include "base/heap.h"
#include "base/map.h"
#include "base/mem.h"

enum { BUDGET = 256 };
static const int64_t HORIZON_NS = INT64_C(400) * 24 * 3600 * 1000000000;

struct forecast_run {
    struct engine *e;
    const struct forecast_options *o;
    struct map by_uid;
    struct heap ending;
    int64_t now, horizon;
    size_t heads, heads_max;
    unsigned ended; /* set of the bases of run times that are over */
};

static int ends_first(const void *a, const void *b, void *ctx) {
    const struct forecast_work *x = a, *y = b;
    if (x->ends != y->ends) {
        return x->ends < y->ends ? -1 : 1;
    }
    return str_cmp(x->uid, y->uid);
}

/* w holds quota for `remaining` from now on. */
static int begins(struct forecast_run *r, struct forecast_work *w, int64_t remaining) {
    if (r->o->settle_only || (remaining == FORECAST_UNKNOWN && !r->o->unknown_ends)) {
        return 0;
    }
    remaining = remaining == FORECAST_UNKNOWN || remaining < 0 ? 0 : remaining;
    w->ends = remaining > r->horizon - r->now ? r->horizon : r->now + remaining;
    return heap_push(&r->ending, w);
}

static int evict(struct forecast_run *r, struct forecast_work *w, const struct engine_action *a) {
    heap_remove(&r->ending, w);
    if (!w->evicted) {
        const struct forecast_work *by = map_get(&r->by_uid, a->by);
        w->evicted = true;
        w->reason = a->reason;
        w->by = by != NULL ? by->uid : (struct str){0};
    }
    return engine_workload_undo(r->e, w->uid);
}

static int act(struct forecast_run *r, const struct engine_action *a) {
    struct forecast_work *w = map_get(&r->by_uid, a->uid);
    if (w == NULL) {
        return 0;
    }
    switch (a->type) {
    case ACTION_ADMIT:
        if (w->start == FORECAST_NEVER) {
            w->start = r->now;
            w->after = r->ended;
        }
        return begins(r, w, w->runtime);
    case ACTION_PREEMPT:
        return evict(r, w, a);
    case ACTION_PEND:
        if (r->o->waits != NULL) {
            r->o->waits(r->o->ctx, a, r->now);
        }
        break;
    }
    return 0;
}

/* Evictions come last: they change the engine, which owns the actions' words. */
static int act_all(struct forecast_run *r, const struct engine_action *actions, size_t n) {
    struct engine_action *copy = mem_array(n + 1, sizeof(*copy));
    int code = copy != NULL ? 0 : ERR_NOMEM;
    size_t later = 0;
    for (size_t i = 0; i < n && code == 0; i++) {
        if (actions[i].type == ACTION_PREEMPT) {
            copy[later++] = actions[i];
        } else {
            code = act(r, &actions[i]);
        }
    }
    for (size_t i = 0; i < later && code == 0; i++) {
        code = act(r, &copy[i]);
    }
    mem_free(copy);
    return code;
}

static bool stopped(const struct forecast_run *r) {
    return r->o->stop != NULL && atomic_load_explicit(r->o->stop, memory_order_relaxed);
}

/* The engine decides until it has nothing more to say at this moment. */
static int decide(struct forecast_run *r, int64_t *ret_wake) {
    bool more = true;
    *ret_wake = INT64_MAX;
    while (more && r->heads < r->heads_max) {
        const struct engine_action *a;
        size_t n;
        if (stopped(r)) {
            return ERR_GONE;
        }
        int code = engine_run(r->e, r->now, BUDGET, &a, &n, &more, ret_wake);
        if (code != 0) {
            return code;
        }
        code = act_all(r, a, n);
        if (code != 0) {
            return code;
        }
        for (size_t i = 0; i < n; i++) {
            more = more || a[i].type == ACTION_PREEMPT; /* what it held is free now */
        }
        r->heads += more ? BUDGET : n + 1;
    }
    return 0;
}

static void end_due(struct forecast_run *r) {
    for (struct forecast_work *w; (w = heap_peek(&r->ending)) != NULL && w->ends <= r->now;) {
        heap_pop(&r->ending);
        r->ended |= w->basis;
        engine_workload_del(r->e, w->uid);
    }
}

static int run_all(struct forecast_run *r) {
    for (;;) {
        int64_t wake;
        int code = decide(r, &wake);
        const struct forecast_work *next = heap_peek(&r->ending);
        if (code != 0 || r->o->settle_only) {
            return code;
        }
        int64_t at = next != NULL ? next->ends : INT64_MAX;
        at = wake > r->now && wake < at ? wake : at;
        if (at >= r->horizon || r->heads >= r->heads_max) {
            return 0;
        }
        r->now = at;
        end_due(r);
    }
}

int forecast_run(struct engine *e, struct forecast_work *works, size_t n,
                 const struct forecast_options *o, bool *ret_cut) {
    struct forecast_run r = {
        .e = e, .o = o, .now = o->now, .heads_max = o->heads_max ? o->heads_max : FORECAST_HEADS};
    int64_t span = o->horizon > 0 ? o->horizon : HORIZON_NS;
    r.horizon = o->now > INT64_MAX - span ? INT64_MAX : o->now + span;
    heap_init(&r.ending, ends_first, NULL, offsetof(struct forecast_work, place));
    int code = 0;
    for (size_t i = 0; i < n && code == 0; i++) {
        works[i].start = FORECAST_NEVER;
        works[i].after = 0;
        works[i].evicted = false;
        works[i].place = 0;
        code = map_put(&r.by_uid, works[i].uid, &works[i], NULL);
        if (code == 0 && works[i].holds) {
            code = begins(&r, &works[i], works[i].remaining);
        }
    }
    if (code == 0) {
        code = run_all(&r);
    }
    if (code == 0) {
        *ret_cut = r.heads >= r.heads_max;
        if (o->heads != NULL) {
            *o->heads = r.heads;
        }
    }
    heap_release(&r.ending);
    map_release(&r.by_uid);
    return code;
}
