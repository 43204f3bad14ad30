/*
 * hpa_usage: metrics that each pod has: what pods use of a resource, and metrics of the type Pods.
 *
 * Pods are ready, or not ready (yet), or without a sample, or do not count. What is missing is assumed so that it slows
 * the change down: on the way up pods without a sample, or not ready, use nothing; on the way down those without a
 * sample use what they should.
 */
#include <stdlib.h>

#include "core/scale/hpa_private.h"

struct hpa_use_sample {
    struct str pod;
    int64_t milli, at_ns, window_ns;
    const struct hpa_pod *of; /* NULL: no pod of the selector */
    int64_t request;          /* of that pod */
    size_t order;
    bool dropped;
};
struct hpa_samples {
    struct hpa_use_sample
        *v; /* sorted by pod, each once; those of pods without a sample at the end */
    size_t n, known;
    struct hpa_use_sample **of_pod; /* of each pod of the look */
};
struct hpa_groups {
    size_t ready, unready, missing;
};

static int by_pod(const void *x, const void *y) {
    const struct hpa_use_sample *a = x, *b = y;
    int c = str_cmp(a->pod, b->pod);
    return c != 0 ? c : (a->order > b->order) - (a->order < b->order);
}

/* Sorted, and of a pod that is named twice the last. There is room for one more a pod. */
static void settle(struct hpa_samples *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        s->v[i].order = i;
    }
    qsort(s->v, s->n, sizeof(*s->v), by_pod);
    for (size_t i = 0; i < s->n; i++) {
        if (i + 1 == s->n || !str_eq(s->v[i].pod, s->v[i + 1].pod)) {
            s->v[n++] = s->v[i];
        }
    }
    s->n = s->known = n;
}

static struct hpa_use_sample *find(struct hpa_samples *s, struct str pod) {
    size_t lo = 0, hi = s->known;
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        int c = str_cmp(s->v[mid].pod, pod);
        if (c == 0) {
            return &s->v[mid];
        }
        lo = c < 0 ? mid + 1 : lo;
        hi = c < 0 ? hi : mid;
    }
    return NULL;
}

static int64_t plus(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (a > 0 ? INT64_MAX : INT64_MIN) : sum;
}

static const struct quantity *in_map(const struct quantity_map *m, struct str key) {
    for (size_t i = 0; m != NULL && i < m->n; i++) {
        if (str_eq(m->v[i].key, key)) {
            return &m->v[i].value;
        }
    }
    return NULL;
}

/* What a pod, or its container, uses. False: not known. */
static bool use_of(const struct hpa_pod_use *u, struct str resource, struct str container,
                   int64_t *ret) {
    int64_t sum = 0;
    for (size_t i = 0; i < u->n; i++) {
        const struct quantity *q = in_map(&u->containers[i].usage, resource);
        if (container.n > 0 && !str_eq(u->containers[i].name, container)) {
            continue;
        }
        if (q == NULL) {
            return false;
        }
        sum = plus(sum, quantity_milli(*q));
        if (container.n > 0) {
            *ret = sum;
            return true;
        }
    }
    *ret = sum;
    return container.n == 0 && u->n > 0;
}

static bool read_use(struct hpa_look *k, const struct hpa_resource_source *s,
                     struct hpa_samples *ret, struct str *why) {
    static const struct hpa_use unserved = {.error = {"metric not found", 16}};
    const struct hpa_use *u = k->in->use != NULL ? k->in->use : &unserved;
    int64_t milli;
    if (u->error.n > 0) {
        *why = arena_f(k->arena,
                       "unable to get metrics for resource %.*s: unable to fetch metrics from "
                       "resource metrics API: %.*s",
                       STR_ARG(s->name), STR_ARG(u->error));
        return false;
    }
    if (u->n == 0) {
        *why = arena_f(k->arena,
                       "unable to get metrics for resource %.*s: no metrics returned from resource "
                       "metrics API",
                       STR_ARG(s->name));
        return false;
    }
    *ret =
        (struct hpa_samples){.v = ARENA_ARRAY(k->arena, struct hpa_use_sample, u->n + k->n_pods)};
    for (size_t i = 0; ret->v != NULL && i < u->n; i++) {
        if (use_of(&u->v[i], s->name, s->container, &milli)) {
            ret->v[ret->n++] = (struct hpa_use_sample){.pod = u->v[i].pod,
                                                       .milli = milli,
                                                       .at_ns = u->v[i].at_ns,
                                                       .window_ns = u->v[i].window_ns};
        }
    }
    settle(ret);
    k->failed = ret->v == NULL ? ERR_NOMEM : k->failed;
    return ret->v != NULL;
}

/* Of the CPU alone: has the pod only just begun, so that what it uses says nothing? */
static bool cpu_unready(const struct hpa_look *k, const struct hpa_pod *p,
                        const struct hpa_use_sample *s) {
    if (p->ready == HPA_READY_UNSET || !p->started) {
        return true;
    }
    if (p->start_ns + k->config->cpu_initialization_ns > k->in->now_ns) {
        return p->ready == HPA_READY_FALSE || s->at_ns < p->ready_since_ns + s->window_ns;
    }
    return p->ready == HPA_READY_FALSE &&
           p->start_ns + k->config->initial_readiness_ns > p->ready_since_ns;
}

enum group { READY, UNREADY, MISSING, IGNORED };

static enum group group_of(const struct hpa_look *k, const struct hpa_pod *p,
                           const struct hpa_use_sample *s, bool cpu) {
    if (p->deleted || str_is(p->phase, "Failed")) {
        return IGNORED;
    }
    if (str_is(p->phase, "Pending")) {
        return UNREADY;
    }
    return s == NULL ? MISSING : cpu && cpu_unready(k, p, s) ? UNREADY : READY;
}

/* Sorts the pods: samples of those that do not count are dropped, and those who have none get one, dropped too, so
 * that something can be assumed of them. `of_group` has room for a group a sample. */
static struct hpa_groups sort_pods(struct hpa_look *k, struct hpa_samples *s, bool cpu,
                                   enum group *of_group) {
    struct hpa_groups g = {0};
    for (size_t i = 0; i < s->n; i++) {
        of_group[i] = READY; /* of no pod */
    }
    for (size_t i = 0; i < k->n_pods; i++) {
        const struct hpa_pod *p = k->pods[i];
        struct hpa_use_sample *had = find(s, p->name), *is = had;
        enum group group = group_of(k, p, had, cpu);
        if (is == NULL) {
            is = &s->v[s->n++];
            *is = (struct hpa_use_sample){.pod = p->name, .dropped = true};
        }
        is->of = p;
        is->dropped = is->dropped || group == UNREADY || group == IGNORED;
        of_group[is - s->v] = group;
        s->of_pod[i] = is;
        g.ready += group == READY;
        g.unready += group == UNREADY;
        g.missing += group == MISSING;
    }
    return g;
}

static size_t counted(const struct hpa_samples *s) {
    size_t n = 0;
    for (size_t i = 0; i < s->n; i++) {
        n += !s->v[i].dropped;
    }
    return n;
}

/* ---- requests ---- */

static bool pod_level(const struct hpa_pod *p) {
    for (size_t i = 0; p->requests != NULL && i < p->requests->n; i++) {
        struct str key = p->requests->v[i].key;
        if (str_is(key, "cpu") || str_is(key, "memory") || str_starts(key, STR("hugepages-"))) {
            return true;
        }
    }
    return false;
}

static int64_t asked(const struct hpa_container *c, struct str resource, bool *found) {
    const struct quantity *q = in_map(&c->requests, resource);
    *found = *found || q != NULL;
    return q != NULL ? quantity_milli(*q) : 0;
}

/* Of the pod as a whole, or what its containers request together: all that run at a time. */
static bool pod_request(const struct hpa_pod *p, struct str resource, int64_t *ret) {
    const struct quantity *q = in_map(p->requests, resource);
    int64_t running = 0, sidecars = 0, starting = 0;
    bool found = q != NULL;
    if (q != NULL) {
        *ret = quantity_milli(*q);
        return true;
    }
    for (size_t i = 0; i < p->n_containers; i++) {
        const struct hpa_container *c = &p->containers[i];
        int64_t here = asked(c, resource, &found);
        if (c->sidecar) {
            sidecars = plus(sidecars, here);
            here = sidecars;
        } else if (c->init) {
            here = plus(sidecars, here);
        } else {
            running = plus(running, here);
            continue;
        }
        starting = here > starting ? here : starting;
    }
    running = plus(running, sidecars);
    *ret = running > starting ? running : starting;
    return found;
}

static bool containers_request(struct hpa_look *k, const struct hpa_pod *p,
                               const struct hpa_resource_source *s, int64_t *ret, struct str *why) {
    int64_t sum = 0;
    for (int pass = 0; pass < 2; pass++) { /* sidecars come after the others */
        for (size_t i = 0; i < p->n_containers; i++) {
            const struct hpa_container *c = &p->containers[i];
            bool found = false;
            if ((pass == 0) != !(c->init || c->sidecar) || (pass == 1 && !c->sidecar) ||
                (s->container.n > 0 && !str_eq(c->name, s->container))) {
                continue;
            }
            sum = plus(sum, asked(c, s->name, &found));
            if (!found) {
                *why = arena_f(k->arena, "missing request for %.*s in container %.*s of Pod %.*s",
                               STR_ARG(s->name), STR_ARG(c->name), STR_ARG(p->name));
                return false;
            }
            if (s->container.n > 0) {
                *ret = sum;
                return true;
            }
        }
    }
    *ret = sum;
    if (s->container.n > 0) {
        *why = arena_f(k->arena, "container %.*s not found in Pod %.*s", STR_ARG(s->container),
                       STR_ARG(p->name));
    }
    return s->container.n == 0;
}

/* Of every pod, those that do not count included. */
static bool read_requests(struct hpa_look *k, const struct hpa_resource_source *s,
                          struct hpa_samples *samples, struct str *why) {
    for (size_t i = 0; i < k->n_pods; i++) {
        const struct hpa_pod *p = k->pods[i];
        int64_t request = 0;
        if (s->container.n > 0 || !pod_level(p)) {
            if (!containers_request(k, p, s, &request, why)) {
                return false;
            }
        } else if (!pod_request(p, s->name, &request)) {
            *why = arena_f(k->arena, "missing pod-level request for %.*s in Pod %.*s",
                           STR_ARG(s->name), STR_ARG(p->name));
            return false;
        }
        samples->of_pod[i]->request = request;
    }
    return true;
}

/* ---- ratios ---- */

struct hpa_ratio {
    double ratio;
    int64_t average;
    int32_t percent;
};

static struct hpa_ratio plain_ratio(const struct hpa_samples *s, int64_t target) {
    int64_t sum = 0, n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->v[i].dropped) {
            sum = plus(sum, s->v[i].milli);
            n++;
        }
    }
    return (struct hpa_ratio){.ratio = (double)(sum / n) / (double)target, .average = sum / n};
}

static bool used_ratio(const struct hpa_samples *s, int32_t target, struct hpa_ratio *ret,
                       struct str *why) {
    int64_t sum = 0, requests = 0, n = 0;
    for (size_t i = 0; i < s->n; i++) {
        if (!s->v[i].dropped && s->v[i].of != NULL) {
            sum = plus(sum, s->v[i].milli);
            requests = plus(requests, s->v[i].request);
            n++;
        }
    }
    if (requests == 0) {
        *why = STR("no metrics returned matched known pods");
        return false;
    }
    __int128 percent = (__int128)sum * 100 / requests;
    ret->percent = percent > INT32_MAX ? INT32_MAX : (int32_t)percent;
    ret->average = sum / n;
    ret->ratio = (double)ret->percent / (double)target;
    return true;
}

/* What is assumed of pods without a sample, and of those that are not ready. */
static void assume(struct hpa_samples *s, const enum group *groups, double ratio, bool unready,
                   int64_t target, bool of_request) {
    for (size_t i = 0; i < s->n; i++) {
        struct hpa_use_sample *x = &s->v[i];
        if (x->of != NULL && groups[i] == MISSING && ratio != 1.0) {
            x->dropped = false;
            x->milli = ratio > 1.0 ? 0
                       : of_request
                           ? (int64_t)((__int128)x->request * (target > 100 ? target : 100) / 100)
                           : target;
        } else if (x->of != NULL && groups[i] == UNREADY && unready) {
            x->dropped = false;
            x->milli = 0;
        }
    }
}

/* With what was assumed: the new number, or the present one where it would go the other way. */
static int32_t reconsider(const struct hpa_look *k, double before, double now, size_t n) {
    int32_t current = k->in->spec_replicas, next = hpa_ceil(now * (double)n);
    if (hpa_within(k, now) || (before < 1.0 && now > 1.0) || (before > 1.0 && now < 1.0) ||
        (now < 1.0 && next > current) || (now > 1.0 && next < current)) {
        return current;
    }
    return next;
}

/* s: NULL for a metric of the type Pods. `target` is in percent where a resource's use is one of the requests. */
static bool propose(struct hpa_look *k, struct hpa_samples *samples,
                    const struct hpa_resource_source *s, int64_t target, bool of_request,
                    struct hpa_proposal *ret, struct str *why) {
    if (k->n_pods == 0) {
        *why = STR("no pods returned by selector while calculating replica count");
        return false;
    }
    enum group *groups = ARENA_ARRAY(k->arena, enum group, samples->n + k->n_pods);
    samples->of_pod = ARENA_ARRAY(k->arena, struct hpa_use_sample *, k->n_pods);
    if (groups == NULL || samples->of_pod == NULL) {
        k->failed = ERR_NOMEM;
        return false;
    }
    struct hpa_ratio first, second;
    struct hpa_groups g = sort_pods(k, samples, s != NULL && str_is(s->name, "cpu"), groups);
    if (counted(samples) == 0) {
        *why = STR("did not receive metrics for targeted pods (pods might be unready)");
        return false;
    }
    if (!of_request) {
        first = plain_ratio(samples, target);
    } else if (!read_requests(k, s, samples, why) ||
               !used_ratio(samples, (int32_t)target, &first, why)) {
        return false;
    }
    ret->usage = first.average;
    ret->percent = (struct opt_i32){of_request, of_request ? first.percent : 0};
    bool unready = g.unready > 0 && first.ratio > 1.0;
    if (!unready && g.missing == 0) {
        ret->replicas = hpa_within(k, first.ratio) ? k->in->spec_replicas
                                                   : hpa_ceil(first.ratio * (double)g.ready);
        return true;
    }
    assume(samples, groups, first.ratio, unready, target, of_request);
    if (!of_request) {
        second = plain_ratio(samples, target);
    } else if (!used_ratio(samples, (int32_t)target, &second, why)) {
        return false;
    }
    ret->replicas = reconsider(k, first.ratio, second.ratio, counted(samples));
    return true;
}

bool hpa_utilization(struct hpa_look *k, const struct hpa_resource_source *s,
                     struct hpa_proposal *ret, struct str *why) {
    struct hpa_samples samples;
    return read_use(k, s, &samples, why) &&
           propose(k, &samples, s, s->target->average_utilization.v, true, ret, why);
}

bool hpa_average_use(struct hpa_look *k, const struct hpa_resource_source *s,
                     struct hpa_proposal *ret, struct str *why) {
    struct hpa_samples samples;
    return read_use(k, s, &samples, why) &&
           propose(k, &samples, s, quantity_milli(s->target->average_value.v), false, ret, why);
}

bool hpa_pods_metric(struct hpa_look *k, const struct hpa_plain_source *s,
                     const struct hpa_reading *r, struct hpa_proposal *ret, struct str *why) {
    const char *wrong = r->error.n > 0 ? "unable to fetch metrics from custom metrics API: "
                                       : "no metrics returned from custom metrics API";
    if (r->error.n > 0 || r->n == 0) {
        *why = arena_f(k->arena, "unable to get metric %.*s: %s%.*s", STR_ARG(s->metric->name),
                       wrong, STR_ARG(r->error));
        return false;
    }
    struct hpa_samples samples = {
        .v = ARENA_ARRAY(k->arena, struct hpa_use_sample, r->n + k->n_pods), .n = r->n};
    if (samples.v == NULL) {
        k->failed = ERR_NOMEM;
        return false;
    }
    for (size_t i = 0; i < r->n; i++) {
        const struct hpa_sample *x = &r->samples[i];
        samples.v[i] = (struct hpa_use_sample){
            .pod = x->pod, .milli = x->milli, .at_ns = x->at_ns, .window_ns = x->window_ns};
    }
    settle(&samples);
    return propose(k, &samples, NULL, quantity_milli(s->target->average_value.v), false, ret, why);
}
