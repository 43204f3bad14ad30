/* alike (core): see alike.h. */
#include "core/queue/alike.h"

uint64_t workload_hash(const struct queue_workload *w) {
    uint64_t h = hash_mix(0, (uint64_t)w->priority);
    if (!str_empty(w->replaces)) {
        h = hash_guest(h, w->replaces);
    }
    for (size_t i = 0; i < w->n_sets; i++) {
        const struct workload_set *s = &w->sets[i];
        h = shape_hash(&s->shape, hash_mix(hash_guest(h, s->name), (uint64_t)s->count));
        h = hash_mix(h, (uint64_t)s->min_count);
        for (size_t k = 0; k < s->n_requests; k++) {
            h = hash_mix(hash_mix(h, s->requests[k].resource), (uint64_t)s->requests[k].v);
        }
    }
    return h;
}

static bool set_says(const struct names *resources, const struct workload_set *s,
                     const struct set_input *in) {
    bool same = s->count == in->count && s->min_count == in->min_count &&
                s->n_requests == in->n_requests && str_eq(s->name, in->name);
    for (size_t i = 0; same && i < s->n_requests; i++) {
        same = s->requests[i].v == in->requests[i].v &&
               str_eq(names_text(resources, s->requests[i].resource), in->requests[i].resource);
    }
    return same && shape_same(&s->shape, in->shape);
}

bool workload_says(const struct names *resources, const struct queue_workload *w,
                   const struct workload_input *in) {
    bool same =
        w->priority == in->priority && w->n_sets == in->n_sets && str_eq(w->replaces, in->replaces);
    for (size_t i = 0; same && i < w->n_sets; i++) {
        same = set_says(resources, &w->sets[i], &in->sets[i]);
    }
    return same;
}

static bool set_alike(const struct workload_set *a, const struct workload_set *b) {
    bool same = a->count == b->count && a->min_count == b->min_count &&
                a->n_requests == b->n_requests && str_eq(a->name, b->name);
    for (size_t i = 0; same && i < a->n_requests; i++) {
        same = a->requests[i].v == b->requests[i].v &&
               a->requests[i].resource == b->requests[i].resource;
    }
    return same && shape_same(&a->shape, &b->shape);
}

bool workload_resized(const struct queue_workload *a, const struct queue_workload *b) {
    bool same = a->n_sets == b->n_sets;
    for (size_t i = 0; same && i < a->n_sets; i++) {
        struct workload_set sized = a->sets[i];
        sized.count = b->sets[i].count;
        sized.min_count = b->sets[i].min_count;
        same = set_alike(&sized, &b->sets[i]);
    }
    return same;
}

bool workload_alike(const struct queue_workload *a, const struct queue_workload *b) {
    bool same = a->hash == b->hash && a->priority == b->priority && a->n_sets == b->n_sets &&
                str_eq(a->replaces, b->replaces);
    for (size_t i = 0; same && i < a->n_sets; i++) {
        same = set_alike(&a->sets[i], &b->sets[i]);
    }
    return same;
}
