/*
 * queue_records: the records of ClusterQueues, and which LocalQueues point at each.
 *
 * A record is kept as long as the ClusterQueue exists, a LocalQueue points at its name, or a Workload is counted there;
 * names that nothing bears any more are forgotten before the engine's next run, when nobody looks at a record.
 */
#include "control/queue/queue_metrics_private.h"

/* Looked at before the next run. */
static void gone_add(struct queue_controller *c, struct cluster_state *s) {
    if (!s->gone) {
        s->gone = true;
        s->gone_next = c->gone;
        c->gone = s;
        queue_kick(c);
    }
}

struct cluster_state *queue_cluster(struct queue_controller *c, struct str name) {
    struct cluster_state *s = map_get(&c->clusters, name);
    if (s != NULL) {
        return s;
    }
    s = mem_zalloc(sizeof(*s) + name.n);
    if (s == NULL) {
        return NULL;
    }
    memcpy(s + 1, name.p, name.n);
    s->name = str_from((const char *)(s + 1), name.n);
    arena_init(&s->arena, 1 << 20);
    if (map_put(&c->clusters, s->name, s, NULL) != 0) {
        mem_free(s);
        return NULL;
    }
    gone_add(c, s); /* unless it comes, or somebody keeps to it */
    return s;
}

void queue_cluster_ref(struct cluster_state *s) {
    if (s != NULL) {
        s->refs++;
    }
}

void queue_cluster_unref(struct queue_controller *c, struct cluster_state *s) {
    if (s != NULL && --s->refs == 0 && !s->exists) {
        gone_add(c, s);
    }
}

void queue_cluster_gone(struct queue_controller *c, struct cluster_state *s) {
    s->exists = s->was_active = false;
    s->shape = NULL;
    s->rules = NULL;
    s->n_rules = 0;
    gone_add(c, s);
}

void queue_cluster_free(struct queue_controller *c, struct cluster_state *s) {
    if (c->metrics != NULL) {
        metric_series_drop(&s->metrics.gauges);
        metric_series_drop(&s->metrics.counters);
    }
    arena_release(&s->arena);
    metric_owner_release(&s->metrics);
    tally_release(&s->tally);
    mem_free(s);
}

void queue_clusters_sweep(struct queue_controller *c) {
    while (c->gone != NULL) {
        struct cluster_state *s = c->gone;
        c->gone = s->gone_next;
        s->gone = false;
        if (!s->exists && s->refs == 0) {
            map_del(&c->clusters, s->name);
            queue_cluster_free(c, s);
        }
    }
}

/* ---- LocalQueues ---- */

static void unlink_local(struct queue_controller *c, struct local_state *l) {
    struct cluster_state *s = l->of;
    if (s != NULL) {
        *(l->of_prev != NULL ? &l->of_prev->of_next : &s->locals) = l->of_next;
        if (l->of_next != NULL) {
            l->of_next->of_prev = l->of_prev;
        }
        l->of = NULL;
        queue_cluster_unref(c, s);
    }
}

int queue_local_point(struct queue_controller *c, struct local_state *l, struct str cluster) {
    char *name = str_empty(cluster) ? NULL : mem_cstr(cluster);
    struct cluster_state *s = name != NULL ? queue_cluster(c, cluster) : NULL;
    queue_cluster_ref(s);
    unlink_local(c, l);
    mem_free(l->cluster);
    l->cluster = s != NULL ? name : NULL;
    if (s == NULL) {
        mem_free(name);
        return str_empty(cluster) ? 0 : ERR_NOMEM;
    }
    l->of = s;
    l->of_prev = NULL;
    l->of_next = s->locals;
    if (l->of_next != NULL) {
        l->of_next->of_prev = l;
    }
    s->locals = l;
    return 0;
}
