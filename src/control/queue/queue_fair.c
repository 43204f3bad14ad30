/*
 * queue_fair: shares and usage, told to the engine and written into statuses.
 *
 *     fair sharing              weightedShare of ClusterQueues and Cohorts, when their usage or any quota changed
 *     admission fair sharing    LocalQueues are put into the engine with their weight and what they had consumed before
 *                               a restart; usage is sampled once in an interval, and then written
 */
#include "control/queue/queue_private.h"

#include "core/admit/engine_list.h"

static const int64_t COHORT_DELAY_NS = 200 * NS_PER_MS;

/* ---- shares ---- */

struct fair_sharing_status *queue_share_status(struct queue_controller *c, bool queue,
                                               struct str name) {
    struct fair_sharing_status *s =
        c->settings->fair_sharing ? ARENA_NEW(&c->base.arena, struct fair_sharing_status) : NULL;
    if (s != NULL) {
        s->weighted_share = engine_share(c->engine, queue, name);
    }
    return s;
}

void queue_cohort_soon(struct queue_controller *c, struct str name) {
    if (c->settings->fair_sharing) {
        queue_look(c, QS_COHORT, STR(""), name, COHORT_DELAY_NS);
    }
}

static void above(void *ctx, struct str cohort) {
    queue_cohort_soon(ctx, cohort);
}

void queue_shares_soon(struct queue_controller *c, const struct cluster_state *s) {
    if (c->settings->fair_sharing && s->shape != NULL && s->shape->cohort.n > 0) {
        (void)engine_above(c->engine, s->name, above, c);
    }
}

/* ---- usage ---- */

struct consumed {
    struct arena *a;
    struct quantity_map map;
    size_t cap;
};

static void consumed_each(void *ctx, struct str resource, double v) {
    struct consumed *u = ctx;
    /* Thousandths as long as they fit. */
    struct quantity q = v < 9e15 ? quantity_of_milli((int64_t)(v * 1000 + 0.5), QUANTITY_DECIMAL)
                                 : quantity_of((int64_t)(v < 9e18 ? v : 9e18), QUANTITY_DECIMAL);
    if (u->map.n == u->cap) {
        u->cap = 2 * u->cap + 8;
        struct quantity_pair *grown = ARENA_ARRAY(u->a, struct quantity_pair, u->cap);
        if (grown == NULL) {
            u->cap = u->map.n;
            return;
        }
        if (u->map.n > 0) {
            memcpy(grown, u->map.v, u->map.n * sizeof(*grown));
        }
        u->map.v = grown;
    }
    u->map.v[u->map.n++] = (struct quantity_pair){resource, q};
}

/* What its ClusterQueue covers, and was not used yet. */
static void unused_add(const struct cluster_state *s, struct consumed *u) {
    for (size_t i = 0; s != NULL && s->shape != NULL && i < s->shape->n; i++) {
        const struct cluster_flavor *f = &s->shape->flavors[i];
        for (size_t k = 0; k < f->n; k++) {
            size_t at = 0;
            while (at < u->map.n && !str_eq(u->map.v[at].key, f->v[k].name)) {
                at++;
            }
            if (at == u->map.n) {
                consumed_each(u, f->v[k].name, 0);
            }
        }
    }
}

struct local_queue_fair_sharing_status *queue_usage_status(struct queue_controller *c,
                                                           const struct local_state *l) {
    struct consumed u = {.a = &c->base.arena};
    int64_t at = 0;
    if (!c->settings->usage.on ||
        !engine_local_consumed(c->engine, l->key, &at, consumed_each, &u)) {
        return NULL;
    }
    unused_add(l->of, &u);
    struct admission_fair_sharing_status *used =
        ARENA_NEW(&c->base.arena, struct admission_fair_sharing_status);
    struct local_queue_fair_sharing_status *s =
        ARENA_NEW(&c->base.arena, struct local_queue_fair_sharing_status);
    if (used == NULL || s == NULL) {
        return NULL;
    }
    *used = (struct admission_fair_sharing_status){u.map, at};
    s->admission_fair_sharing_status = used;
    return s;
}

/* What was published before a restart. */
static void usage_restore(struct queue_controller *c, const struct local_state *l,
                          const struct local_queue *q) {
    const struct admission_fair_sharing_status *u =
        q->status != NULL && q->status->fair_sharing != NULL
            ? q->status->fair_sharing->admission_fair_sharing_status
            : NULL;
    if (u == NULL || u->last_update_ns == 0) {
        return;
    }
    size_t n = u->consumed_resources.n;
    struct resource_weight *v = ARENA_ARRAY(&c->base.arena, struct resource_weight, n);
    for (size_t i = 0; v != NULL && i < n; i++) {
        struct quantity x = u->consumed_resources.v[i].value;
        v[i] = (struct resource_weight){u->consumed_resources.v[i].key,
                                        (double)x.whole + (double)x.nano / 1e9};
    }
    if (v == NULL ||
        engine_local_usage_set(c->engine, l->key, v, n, u->last_update_ns) == ERR_NOMEM) {
        log_error(c->env->log, "localqueue %.*s: what it used before is lost: out of memory",
                  STR_ARG(l->key));
    }
}

void queue_usage_local(struct queue_controller *c, struct local_state *l,
                       const struct local_queue *q, bool fresh) {
    if (!c->settings->usage.on) {
        return;
    }
    if (!l->exists) {
        engine_local_del(c->engine, l->key);
        return;
    }
    const struct fair_sharing *f = q->spec != NULL ? q->spec->fair_sharing : NULL;
    double weight =
        f != NULL && f->weight.set ? (double)f->weight.v.whole + (double)f->weight.v.nano / 1e9 : 1;
    if (engine_local_put(c->engine, l->key, weight) != 0) {
        log_error(c->env->log, "localqueue %.*s: out of memory", STR_ARG(l->key));
        queue_look(c, QS_READ, STR(""), STR(""), NS_PER_SEC);
    } else if (fresh) {
        usage_restore(c, l, q);
    }
    if (!c->sampling) {
        c->sampling = true;
        c->env->clock->timer_start(c->sampler, NS_PER_SEC);
    }
    queue_kick(c);
}

static void sample(void *ctx) {
    struct queue_controller *c = ctx;
    int64_t next = INT64_MAX, now = clock_wall(c->env->clock);
    size_t i = 0;
    engine_local_sample(c->engine, now, &next);
    for (const struct map_entry *e; (e = map_next(&c->locals, &i)) != NULL;) {
        struct local_state *l = e->value;
        if (l->exists) {
            queue_state_soon(c, l);
        }
    }
    queue_kick(c);
    c->sampling = next < INT64_MAX;
    if (c->sampling) {
        c->env->clock->timer_start(c->sampler, next > now ? next - now : NS_PER_SEC);
    }
}

/* ---- life ---- */

int queue_fair_init(struct queue_controller *c, struct engine_options *o) {
    const struct queue_usage_settings *u = &c->settings->usage;
    c->sampler = c->env->clock->timer_new(c->env->clock, sample, c);
    c->weights = mem_array(u->n_weights + 1, sizeof(*c->weights));
    if (c->sampler == NULL || c->weights == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < u->n_weights; i++) {
        c->weights[i] = (struct resource_weight){u->weights[i].resource, u->weights[i].weight};
    }
    o->local_usage = u->on;
    o->usage_half_life_ns = u->half_life_ns;
    o->usage_interval_ns = u->sampling_interval_ns;
    o->resource_weights = c->weights;
    o->n_resource_weights = u->n_weights;
    return 0;
}

void queue_fair_release(struct queue_controller *c) {
    c->env->clock->timer_free(c->sampler);
    mem_free(c->weights);
}
