/*
 * translate_workload: a Workload as the engine counts it.
 *
 * What one pod asks for (translate_requests) loses the resources that are not counted, then configured resources become
 * others: each input times its factors, one pass; a negative sum is nothing. The queue-order time is that of creation,
 * or of an eviction that is meant to send the Workload back.
 */
#include "api/meta.h"
#include "control/load/queue_settings.h"
#include "control/load/translate.h"

#define BOOST_ANNOTATION "kueue.x-k8s.io/priority-boost"

static const struct queue_settings *settings_of(const struct queue_settings *s) {
    return s != NULL ? s : queue_settings_defaults();
}

static const struct condition_list *conditions_of(const struct workload *w) {
    static const struct condition_list none;
    return w->status != NULL ? &w->status->conditions : &none;
}

/* ---- order ---- */

int64_t translate_order_time(const struct workload *w, const struct queue_settings *settings) {
    const struct queue_settings *s = settings_of(settings);
    const struct condition *e = conditions_find(conditions_of(w), "Evicted");
    const struct condition *p = conditions_find(conditions_of(w), "Preempted");
    if (e != NULL && str_is(e->status, "True") &&
        (str_is(e->reason, "AdmissionCheck") ||
         (str_is(e->reason, "PodsReadyTimeout") && !s->ready.by_creation))) {
        return e->last_transition_ns;
    }
    if (!s->gates.priority_sorting_within_cohort && p != NULL && str_is(p->status, "True") &&
        str_is(p->reason, "InCohortReclaimWhileBorrowing")) {
        return p->last_transition_ns + NS_PER_MS;
    }
    return w->metadata->creation_ns;
}

int64_t translate_priority(const struct workload *w, const struct queue_settings *settings,
                           int64_t *ret_boost) {
    int64_t base = w->spec != NULL && w->spec->priority.set ? w->spec->priority.v : 0, boost = 0;
    if (settings_of(settings)->gates.priority_boost &&
        !str_to_i64(meta_annotation(w->metadata, BOOST_ANNOTATION), &boost)) {
        boost = 0;
    }
    if (ret_boost != NULL) {
        *ret_boost = boost;
    }
    return amount_add(base, boost);
}

/* ---- resources that become others ---- */

static bool excluded(const struct queue_resource_settings *s, struct str resource) {
    for (size_t i = 0; i < s->n_exclude_prefixes; i++) {
        if (str_starts(resource, s->exclude_prefixes[i])) {
            return true;
        }
    }
    return false;
}

static const struct queue_transformation *transformation(const struct queue_resource_settings *s,
                                                         struct str resource) {
    for (size_t i = 0; i < s->n_transformations; i++) {
        if (str_eq(s->transformations[i].input, resource)) {
            return &s->transformations[i];
        }
    }
    return NULL;
}

/* Whole units of an amount, rounded up. */
static int64_t whole(struct str resource, int64_t v) {
    return str_is(resource, "cpu") ? v / 1000 + (v % 1000 > 0) : v;
}

static int64_t *amount_slot(struct amounts *m, struct str resource) {
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->v[i].resource, resource)) {
            return &m->v[i].v;
        }
    }
    if (m->n == m->cap) {
        return NULL; /* there is room for all: see effective() */
    }
    m->v[m->n] = (struct node_amount){resource, 0};
    return &m->v[m->n++].v;
}

/* factor times n, in the units of the output, rounded up. */
static int64_t times(struct quantity factor, int64_t n, struct str resource) {
    __int128 nano = (__int128)factor.whole * NS_PER_SEC + factor.nano, product;
    __int128 unit = str_is(resource, "cpu") ? NS_PER_SEC / 1000 : NS_PER_SEC;
    if (__builtin_mul_overflow(nano, (__int128)n, &product)) {
        return factor.whole < 0 ? -AMOUNT_MAX : AMOUNT_MAX;
    }
    __int128 v = product / unit;
    return amount_clamp(v + (product > 0 && product % unit != 0));
}

static void transform(const struct queue_transformation *t, const struct amounts *in, size_t i,
                      struct amounts *generated) {
    int64_t base = whole(in->v[i].resource, in->v[i].v);
    for (size_t k = 0; !str_empty(t->multiply_by) && k < in->n; k++) {
        if (str_eq(in->v[k].resource, t->multiply_by)) {
            base = amount_mul(base, whole(t->multiply_by, in->v[k].v));
        }
    }
    for (size_t k = 0; k < t->n_outputs; k++) {
        int64_t *v = amount_slot(generated, t->outputs[k].resource);
        if (v != NULL) {
            *v = amount_add(*v, times(t->outputs[k].factor, base, t->outputs[k].resource));
        }
    }
}

/* What of a pod's requests is counted. */
static int effective(const struct queue_resource_settings *s, struct arena *a, struct amounts *m) {
    size_t room = m->n + 1;
    if (s->n_exclude_prefixes == 0 && s->n_transformations == 0) {
        return 0;
    }
    for (size_t i = 0; i < s->n_transformations; i++) {
        room += s->transformations[i].n_outputs;
    }
    struct amounts in = {ARENA_ARRAY(a, struct node_amount, room), 0, room};
    struct amounts generated = {ARENA_ARRAY(a, struct node_amount, room), 0, room};
    struct amounts out = {ARENA_ARRAY(a, struct node_amount, room), 0, room};
    if (in.v == NULL || generated.v == NULL || out.v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < m->n; i++) {
        if (!excluded(s, m->v[i].resource)) {
            in.v[in.n++] = m->v[i];
        }
    }
    for (size_t i = 0; i < in.n; i++) {
        const struct queue_transformation *t = transformation(s, in.v[i].resource);
        if (t != NULL) {
            transform(t, &in, i, &generated);
        }
        if (t == NULL || !t->replace) {
            out.v[out.n++] = in.v[i];
        }
    }
    for (size_t i = 0; i < generated.n; i++) {
        int64_t *v = amount_slot(&out, generated.v[i].resource);
        if (v != NULL && generated.v[i].v > 0) {
            *v = amount_add(*v, generated.v[i].v);
        }
    }
    *m = out;
    return 0;
}

/* ---- the Workload ---- */

static int with_pods(struct amounts *m, struct arena *a) {
    struct node_amount *v = ARENA_ARRAY(a, struct node_amount, m->n + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    if (m->n > 0) {
        memcpy(v, m->v, m->n * sizeof(*v));
    }
    v[m->n] = (struct node_amount){STR("pods"), 1};
    *m = (struct amounts){v, m->n + 1, m->n + 1};
    return 0;
}

static int set_of(const struct workload *w, const struct pod_set *s,
                  const struct queue_settings *settings, bool pods, struct arena *a,
                  struct set_input *ret) {
    static const struct pod_spec no_pod = {0};
    const struct pod_spec *pod =
        s->template != NULL && s->template->spec != NULL ? s->template->spec : &no_pod;
    struct amounts m;
    struct shape *shape = ARENA_NEW(a, struct shape);
    int r = shape != NULL ? translate_shape(pod, a, shape) : ERR_NOMEM;
    if (r == 0) {
        r = translate_requests(pod, a, &m);
    }
    if (r == 0) {
        r = effective(&settings->resources, a, &m);
    }
    r = r == 0 && pods ? with_pods(&m, a) : r;
    if (r != 0) {
        return r;
    }
    shape->together = s->topology_request != NULL ? s->topology_request->required : (struct str){0};
    int32_t count = s->count;
    for (size_t k = 0;
         w->status != NULL && settings->gates.reclaimable_pods && k < w->status->reclaimable_pods.n;
         k++) {
        if (str_eq(w->status->reclaimable_pods.v[k].name, s->name)) {
            count -= w->status->reclaimable_pods.v[k].count;
        }
    }
    count = count < 0 ? 0 : count;
    int32_t least = settings->gates.partial_admission && s->min_count.set ? s->min_count.v : 0;
    *ret = (struct set_input){.name = s->name,
                              .count = count,
                              .min_count = least < count ? least : 0,
                              .shape = shape,
                              .requests = m.v,
                              .n_requests = m.n};
    return 0;
}

static bool gate_closed(const struct workload *w) {
    for (size_t i = 0; w->spec != NULL && i < w->spec->preemption_gates.n; i++) {
        bool open = false;
        for (size_t k = 0; w->status != NULL && k < w->status->preemption_gates.n; k++) {
            const struct preemption_gate_state *g = &w->status->preemption_gates.v[k];
            open = open || (str_eq(g->name, w->spec->preemption_gates.v[i].name) &&
                            str_is(g->position, "Open"));
        }
        if (!open) {
            return true;
        }
    }
    return false;
}

static bool check_failed(const struct workload *w) {
    for (size_t i = 0; w->status != NULL && i < w->status->admission_checks.n; i++) {
        struct str state = w->status->admission_checks.v[i].state;
        if (str_is(state, "Retry") || str_is(state, "Rejected")) {
            return true;
        }
    }
    return false;
}

static int local_name(const struct workload *w, struct arena *a, struct str *ret) {
    if (w->spec == NULL || str_empty(w->spec->queue_name)) {
        *ret = (struct str){0};
        return 0;
    }
    *ret = arena_f(a, "%.*s/%.*s", STR_ARG(w->metadata->namespace), STR_ARG(w->spec->queue_name));
    return arena_ok(a);
}

int translate_workload_with(const struct workload *w, struct str cq,
                            const struct queue_settings *settings, bool pods, struct arena *a,
                            struct workload_input *ret) {
    const struct queue_settings *s = settings_of(settings);
    const struct condition_list *l = conditions_of(w);
    size_t n = w->spec != NULL ? w->spec->pod_sets.n : 0;
    struct set_input *sets = ARENA_ARRAY(a, struct set_input, n + 1);
    struct str local;
    int r = sets != NULL ? local_name(w, a, &local) : ERR_NOMEM;
    for (size_t i = 0; i < n && r == 0; i++) {
        r = set_of(w, &w->spec->pod_sets.v[i], s, pods, a, &sets[i]);
    }
    if (r != 0) {
        return r;
    }
    *ret = (struct workload_input){.uid = w->metadata->uid,
                                   .queue = cq,
                                   .priority = translate_priority(w, s, NULL),
                                   .queued_ns = translate_order_time(w, s),
                                   .sets = sets,
                                   .n_sets = n,
                                   .local = local,
                                   .gated = gate_closed(w),
                                   .failed_checks = check_failed(w),
                                   .not_ready = s->ready.on && !conditions_true(l, "PodsReady")};
    const struct condition *q = conditions_find(l, "QuotaReserved");
    if (q != NULL && str_is(q->status, "True")) {
        ret->reserved_ns = q->last_transition_ns;
        ret->evicting = conditions_true(l, "Evicted");
    }
    return 0;
}

int translate_workload(const struct workload *w, struct str cq, struct arena *a,
                       struct workload_input *ret) {
    return translate_workload_with(w, cq, NULL, false, a, ret);
}

/* ---- what an admission holds ---- */

static int32_t pods_of(const struct workload *w, struct str set, int32_t otherwise) {
    for (size_t i = 0; w->spec != NULL && i < w->spec->pod_sets.n; i++) {
        if (str_eq(w->spec->pod_sets.v[i].name, set)) {
            return w->spec->pod_sets.v[i].count;
        }
    }
    return otherwise;
}

/* An admission may come after pods were reclaimed, then it counts only the others; and pods may be given back by a
 * smaller count: what is left is told by the spec. */
static int64_t usage_left(const struct workload *w, const struct pod_set_assignment *s,
                          bool reclaims, int64_t v) {
    if (!s->count.set || s->count.v <= 0) {
        return v;
    }
    int64_t left = pods_of(w, s->name, s->count.v);
    for (size_t k = 0; reclaims && k < w->status->reclaimable_pods.n; k++) {
        const struct reclaimable_pod *p = &w->status->reclaimable_pods.v[k];
        left -= str_eq(p->name, s->name) ? p->count : 0;
    }
    left = left > 0 ? left : 0;
    return left < s->count.v ? v / s->count.v * left : v;
}

int translate_admission(const struct workload *w, struct engine *e,
                        const struct queue_settings *settings, struct arena *a,
                        struct held_amount **ret, size_t *ret_n) {
    const struct workload_admission *ad = w->status->admission;
    size_t n = 0;
    for (size_t i = 0; i < ad->pod_set_assignments.n; i++) {
        n += ad->pod_set_assignments.v[i].flavors.n;
    }
    struct held_amount *v = ARENA_ARRAY(a, struct held_amount, n + 1);
    int r = v != NULL ? 0 : ERR_NOMEM;
    n = 0;
    for (size_t i = 0; i < ad->pod_set_assignments.n && r == 0; i++) {
        const struct pod_set_assignment *s = &ad->pod_set_assignments.v[i];
        for (size_t k = 0; k < s->flavors.n && r == 0; k++) {
            struct held_amount *h = &v[n];
            h->set = (uint32_t)i;
            for (size_t u = 0; u < s->resource_usage.n; u++) {
                if (str_eq(s->resource_usage.v[u].key, s->flavors.v[k].key)) {
                    h->v =
                        translate_amount(s->resource_usage.v[u].key, s->resource_usage.v[u].value);
                    h->v = usage_left(w, s, settings->gates.reclaimable_pods, h->v);
                }
            }
            r = names_intern(engine_flavors(e), s->flavors.v[k].value, &h->flavor);
            if (r == 0) {
                r = names_intern(engine_resources(e), s->flavors.v[k].key, &h->resource);
            }
            n++;
        }
    }
    if (r == 0) {
        *ret = v;
        *ret_n = n;
    }
    return r;
}
