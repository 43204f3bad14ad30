/* workload (core): see workload.h. */
#include "core/queue/workload.h"

#include "core/queue/alike.h"

int workload_order(const void *a, const void *b, void *ctx) {
    const struct queue_workload *x = a, *y = b;
    if (x->priority != y->priority) {
        return x->priority > y->priority ? -1 : 1;
    }
    if (x->queued_ns != y->queued_ns) {
        return x->queued_ns < y->queued_ns ? -1 : 1;
    }
    return str_cmp(x->uid, y->uid);
}

void workload_flags(struct queue_workload *w, const struct workload_input *in) {
    w->gated = in->gated;
    w->failed_checks = in->failed_checks;
    w->protected_until_ns = in->protected_until_ns;
    w->minimum_runtime_ns = in->minimum_runtime_ns;
    w->run_max_s = in->run_max_s;
}

static size_t count_requests(const struct workload_input *in) {
    size_t n = 0;
    for (size_t i = 0; i < in->n_sets; i++) {
        n += in->sets[i].n_requests;
    }
    return n;
}

static size_t workload_size(const struct workload_input *in) {
    size_t n = bump_size(sizeof(struct queue_workload)) + bump_size(in->uid.n) +
               bump_size(in->local.n) + bump_size(in->replaces.n) +
               bump_size(in->n_sets * sizeof(struct workload_set)) +
               bump_size(count_requests(in) * sizeof(int32_t));
    for (size_t i = 0; i < in->n_sets; i++) {
        n += bump_size(in->sets[i].name.n) + shape_size(in->sets[i].shape) +
             bump_size(in->sets[i].n_requests * sizeof(struct pool_amount));
    }
    return n;
}

int workload_new(struct names *resources, const struct workload_input *in, struct queue *q,
                 struct queue_workload **ret) {
    size_t size = workload_size(in);
    struct bump b = {.p = mem_alloc(size), .cap = size};
    if (b.p == NULL) {
        return ERR_NOMEM;
    }
    struct queue_workload *w = bump_alloc(&b, sizeof(*w));
    *w = (struct queue_workload){.uid = bump_str(&b, in->uid),
                                 .local = bump_str(&b, in->local),
                                 .replaces = bump_str(&b, in->replaces),
                                 .priority = in->priority,
                                 .queued_ns = in->queued_ns,
                                 .n_sets = (uint32_t)in->n_sets,
                                 .queue = q};
    workload_flags(w, in);
    w->sets = bump_alloc(&b, in->n_sets * sizeof(*w->sets));
    int32_t *tried = bump_alloc(&b, count_requests(in) * sizeof(*tried));
    int r = 0;
    for (size_t i = 0; i < in->n_sets && r == 0; i++) {
        const struct set_input *s = &in->sets[i];
        w->sets[i] = (struct workload_set){
            .name = bump_str(&b, s->name),
            .count = s->count,
            .min_count = s->min_count,
            .n_requests = s->n_requests,
            .requests = bump_alloc(&b, s->n_requests * sizeof(struct pool_amount)),
            .tried = tried};
        tried += s->n_requests;
        shape_copy(&b, s->shape, &w->sets[i].shape);
        for (size_t k = 0; k < s->n_requests && r == 0; k++) {
            w->sets[i].tried[k] = -1;
            w->sets[i].requests[k].v = s->requests[k].v;
            r = names_intern_guest(resources, s->requests[k].resource,
                                   &w->sets[i].requests[k].resource);
        }
    }
    if (r != 0) {
        mem_free(w);
        return r;
    }
    w->hash = workload_hash(w);
    *ret = w;
    return 0;
}

void workload_free(struct queue_workload *w) {
    if (w != NULL) {
        mem_free(w->held);
        mem_free(w);
    }
}
