/*
 * queue_topology: flavors that name a Topology. Where that is not there, ClusterQueues with the flavor are not active.
 *
 * Few flavors name one, so only those are remembered: a ClusterQueue without them costs a look at an empty map.
 */
#include "control/queue/queue_private.h"

struct topology_flavor {
    char *topology;
    char name[];
};

static bool names_flavor(const struct cluster_state *s, struct str flavor) {
    for (size_t i = 0; s->shape != NULL && i < s->shape->n; i++) {
        if (str_eq(s->shape->flavors[i].name, flavor)) {
            return true;
        }
    }
    return false;
}

/* Each ClusterQueue that lists the flavor. */
static bool each_of(struct queue_controller *c, struct str flavor,
                    bool (*each)(void *ctx, struct cluster_state *s), void *ctx) {
    size_t i = 0;
    bool found = false;
    for (const struct map_entry *e; (e = map_next(&c->clusters, &i)) != NULL;) {
        struct cluster_state *s = e->value;
        if (s->exists && names_flavor(s, flavor)) {
            found = true;
            if (each == NULL || !each(ctx, s)) {
                break;
            }
        }
    }
    return found;
}

bool queue_flavor_named(struct queue_controller *c, struct str flavor) {
    return each_of(c, flavor, NULL, NULL);
}

static void forget(struct queue_controller *c, struct topology_flavor *f) {
    map_del(&c->topologies, str_of(f->name));
    mem_free(f->topology);
    mem_free(f);
}

int queue_topology_flavor(struct queue_controller *c, struct str flavor, struct str topology,
                          bool (*each)(void *ctx, struct cluster_state *s), void *ctx) {
    struct topology_flavor *f = map_get(&c->topologies, flavor);
    if (f != NULL ? str_is(topology, f->topology) : topology.n == 0) {
        return 0;
    }
    if (f != NULL) {
        forget(c, f);
    }
    if (topology.n > 0) {
        f = mem_zalloc(sizeof(*f) + flavor.n + 1);
        char *copy = f != NULL ? mem_cstr(topology) : NULL;
        if (copy == NULL) {
            mem_free(f);
            return ERR_NOMEM;
        }
        memcpy(f->name, flavor.p, flavor.n);
        f->topology = copy;
        if (map_put(&c->topologies, str_from(f->name, flavor.n), f, NULL) != 0) {
            mem_free(copy);
            mem_free(f);
            return ERR_NOMEM;
        }
    }
    (void)each_of(c, flavor, each, ctx);
    return 0;
}

bool queue_topology_named(struct queue_controller *c, struct str topology,
                          bool (*each)(void *ctx, struct cluster_state *s), void *ctx) {
    size_t i = 0;
    bool found = false;
    for (const struct map_entry *e; (e = map_next(&c->topologies, &i)) != NULL;) {
        const struct topology_flavor *f = e->value;
        found = (str_is(topology, f->topology) && each_of(c, e->key, each, ctx)) || found;
    }
    return found;
}

bool queue_topologies_missing(struct queue_controller *c, const struct cluster_state *s,
                              const char **reason, struct buf *parts) {
    bool missing = false;
    for (size_t i = 0; map_count(&c->topologies) > 0 && s->shape != NULL && i < s->shape->n; i++) {
        struct str flavor = s->shape->flavors[i].name;
        const struct topology_flavor *f = map_get(&c->topologies, flavor);
        if (f == NULL || mirror_get(c->env->mirror, c->base.kinds[QK_TOPOLOGY], (struct str){0},
                                    str_of(f->topology)) != NULL) {
            continue;
        }
        missing = true;
        if (parts != NULL) {
            *reason = parts->n > 0 ? *reason : "TopologyNotFound";
            buf_f(parts, "%sthere is no Topology \"%s\" for TAS flavor \"%.*s\"",
                  parts->n > 0 ? ", " : "", f->topology, STR_ARG(flavor));
        }
    }
    return missing;
}

void queue_topology_release(struct queue_controller *c) {
    size_t i = 0;
    for (const struct map_entry *e; (e = map_next(&c->topologies, &i)) != NULL;) {
        struct topology_flavor *f = e->value;
        mem_free(f->topology);
        mem_free(f);
    }
    map_release(&c->topologies);
}
