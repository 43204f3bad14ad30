/* clone_build (core): an engine from a clone's inputs, and edits of them. See clone.h. */
#include <assert.h>
#include <math.h>

#include "base/mem.h"
#include "core/whatif/clone.h"

/* ---- building ---- */

static int intern_all(struct names *to, const struct str *v, size_t n) {
    int r = 0;
    uint32_t id;
    for (size_t i = 0; i < n && r == 0; i++) {
        r = names_intern(to, v[i], &id);
    }
    return r;
}

static int build_quota(const struct clone *c, struct engine *e) {
    int r = 0;
    for (size_t i = 0; i < c->n_flavors && r == 0; i++) {
        r = engine_flavor_put(e, &c->flavors[i]);
    }
    for (size_t i = 0; i < c->n_cohorts && r == 0; i++) {
        r = engine_cohort_put(e, &c->cohorts[i]);
    }
    for (size_t i = 0; i < c->n_queues && r == 0; i++) {
        r = engine_queue_put(e, &c->queues[i]);
    }
    return r;
}

/* Usage is one number by now: that of a resource of its own, which weighs 1. */
static int build_locals(const struct clone *c, struct engine *e) {
    int r = 0;
    for (size_t i = 0; i < c->n_locals && r == 0; i++) {
        bool last = isinf(c->locals[i].usage);
        struct resource_weight used = {STR("berth.dev/used"), last ? 0 : c->locals[i].usage};
        r = engine_local_put(e, c->locals[i].name, last ? 0 : 1);
        if (r == 0) {
            r = engine_local_usage_set(e, c->locals[i].name, &used, 1, 0);
        }
    }
    return r;
}

static int build_works(const struct clone *c, struct engine *e) {
    int r = 0;
    for (size_t i = 0; i < c->n_works && r == 0; i++) {
        const struct clone_work *k = &c->works[i];
        if (str_empty(k->in.queue)) {
            continue; /* an edit took its queue away */
        }
        r = k->holds ? engine_workload_hold(e, &k->in, k->held, k->n_held)
                     : engine_workload_put(e, &k->in);
    }
    return r;
}

static int build(const struct clone *c, struct engine *e) {
    int r = intern_all(engine_flavors(e), c->flavor_names, c->n_flavor_names);
    if (r != 0) {
        return r;
    }
    r = intern_all(engine_resources(e), c->resource_names, c->n_resource_names);
    if (r != 0) {
        return r;
    }
    r = build_quota(c, e);
    if (r != 0) {
        return r;
    }
    r = pool_copy_build(&c->places, engine_pool(e));
    if (r != 0) {
        return r;
    }
    r = build_locals(c, e);
    return r != 0 ? r : build_works(c, e);
}

int clone_build(const struct clone *c, struct engine **ret) {
    struct engine *e = engine_new(&c->options);
    int r = e != NULL ? build(c, e) : ERR_NOMEM;
    if (r != 0) {
        engine_free(e);
        return r;
    }
    *ret = e;
    return 0;
}

/* ---- edits ---- */

/* Puts one element into an arena's array of n: in the place of the one that has the same name (first in the struct). */
static int put(struct clone *c, void **v, size_t *n, size_t size, const void *in) {
    struct str name = *(const struct str *)in;
    for (size_t i = 0; i < *n; i++) {
        char *at = (char *)*v + i * size;
        if (str_eq(*(struct str *)at, name)) {
            memcpy(at, in, size);
            return 0;
        }
    }
    char *more = arena_array(&c->arena, *n + 1, size);
    if (more == NULL) {
        return ERR_NOMEM;
    }
    if (*n > 0) {
        memcpy(more, *v, *n * size);
    }
    memcpy(more + *n * size, in, size);
    *v = more;
    (*n)++;
    return 0;
}

static void del(void *v, size_t *n, size_t size, struct str name) {
    for (size_t i = 0; i < *n; i++) {
        char *at = (char *)v + i * size;
        if (str_eq(*(struct str *)at, name)) {
            memmove(at, at + size, (*n - i - 1) * size);
            (*n)--;
            return;
        }
    }
}

int clone_flavor_put(struct clone *c, const struct flavor_input *in) {
    static_assert(offsetof(struct flavor_input, name) == 0, "put() compares it");
    return put(c, (void **)&c->flavors, &c->n_flavors, sizeof(*in), in);
}

int clone_cohort_put(struct clone *c, const struct cohort_input *in) {
    static_assert(offsetof(struct cohort_input, name) == 0, "put() compares it");
    return put(c, (void **)&c->cohorts, &c->n_cohorts, sizeof(*in), in);
}

int clone_queue_put(struct clone *c, const struct queue_input *in) {
    static_assert(offsetof(struct queue_input, name) == 0, "put() compares it");
    return put(c, (void **)&c->queues, &c->n_queues, sizeof(*in), in);
}

void clone_flavor_del(struct clone *c, struct str name) {
    del(c->flavors, &c->n_flavors, sizeof(*c->flavors), name);
}

void clone_cohort_del(struct clone *c, struct str name) {
    del(c->cohorts, &c->n_cohorts, sizeof(*c->cohorts), name);
}

struct queue_input *clone_queue(struct clone *c, struct str name) {
    for (size_t i = 0; i < c->n_queues; i++) {
        if (str_eq(c->queues[i].name, name)) {
            return &c->queues[i];
        }
    }
    return NULL;
}
