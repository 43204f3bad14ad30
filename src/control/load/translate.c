/* translate: objects to engine inputs; Workloads are in translate_workload.c, JSON out in translate_json.c. */
#include "control/load/translate.h"

static bool is(struct str s, const char *c) {
    return str_is(s, c);
}

int64_t translate_amount(struct str resource, struct quantity q) {
    int64_t v = is(resource, "cpu") ? quantity_milli(q) : quantity_value(q);
    return v < 0 ? 0 : v;
}

int translate_flavor(const struct resource_flavor *f, struct arena *a, struct flavor_input *ret) {
    *ret = (struct flavor_input){.name = f->metadata->name};
    if (f->spec != NULL) {
        ret->labels = f->spec->node_labels;
        ret->taints = f->spec->node_taints;
        ret->tolerations = f->spec->tolerations;
    }
    return 0;
}

static int64_t quota_amount(struct str resource, struct quantity q) {
    int64_t v = translate_amount(resource, q);
    return v == INT64_MAX ? AMOUNT_UNLIMITED : v;
}

static int group_flavor(const struct resource_group *g, const struct flavor_quotas *f,
                        struct arena *a, struct group_flavor_input *ret) {
    struct quota_input *q = ARENA_ARRAY(a, struct quota_input, g->covered_resources.n + 1);
    if (q == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < g->covered_resources.n; i++) {
        q[i] = (struct quota_input){0, AMOUNT_NONE, AMOUNT_NONE};
        if (i >= f->resources.n) {
            continue;
        }
        const struct resource_quota *r = &f->resources.v[i];
        q[i].nominal = quota_amount(r->name, r->nominal_quota);
        if (r->borrowing_limit.set) {
            q[i].borrowing = quota_amount(r->name, r->borrowing_limit.v);
        }
        if (r->lending_limit.set) {
            q[i].lending = quota_amount(r->name, r->lending_limit.v);
        }
    }
    *ret = (struct group_flavor_input){f->name, q};
    return 0;
}

int translate_groups(const struct resource_group_list *groups, struct arena *a,
                     struct group_input **ret, size_t *ret_n) {
    struct group_input *v = ARENA_ARRAY(a, struct group_input, groups->n + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < groups->n; i++) {
        const struct resource_group *g = &groups->v[i];
        struct group_flavor_input *flavors =
            ARENA_ARRAY(a, struct group_flavor_input, g->flavors.n + 1);
        if (flavors == NULL) {
            return ERR_NOMEM;
        }
        for (size_t k = 0; k < g->flavors.n; k++) {
            int r = group_flavor(g, &g->flavors.v[k], a, &flavors[k]);
            if (r != 0) {
                return r;
            }
        }
        v[i] = (struct group_input){g->covered_resources.v, g->covered_resources.n, flavors,
                                    g->flavors.n};
    }
    *ret = v;
    *ret_n = groups->n;
    return 0;
}

static enum preempt_policy policy_of(struct str s) {
    return is(s, "LowerPriority")               ? PREEMPT_LOWER
           : is(s, "LowerOrNewerEqualPriority") ? PREEMPT_LOWER_OR_NEWER
           : is(s, "Any")                       ? PREEMPT_ANY
                                                : PREEMPT_NEVER;
}

static double weight_of(const struct fair_sharing *f) {
    return f != NULL && f->weight.set ? (double)f->weight.v.whole + f->weight.v.nano / 1e9 : 1;
}

int translate_cohort(const struct cohort *h, struct arena *a, struct cohort_input *ret) {
    static const struct cohort_spec none = {0};
    const struct cohort_spec *s = h->spec != NULL ? h->spec : &none;
    struct group_input *groups;
    struct cohort_input in = {
        .name = h->metadata->name, .parent = s->parent_name, .weight = weight_of(s->fair_sharing)};
    int r = translate_groups(&s->resource_groups, a, &groups, &in.n_groups);
    in.groups = groups;
    if (r == 0) {
        *ret = in;
    }
    return r;
}

int translate_queue(const struct cluster_queue *q, struct arena *a, struct queue_input *ret) {
    static const struct cluster_queue_spec none = {0};
    const struct cluster_queue_spec *s = q->spec != NULL ? q->spec : &none;
    struct group_input *groups;
    struct queue_input in = {.name = q->metadata->name, .cohort = s->cohort_name};
    int r = translate_groups(&s->resource_groups, a, &groups, &in.n_groups);
    if (r != 0) {
        return r;
    }
    in.groups = groups;
    in.strict = is(s->queueing_strategy, "StrictFIFO");
    in.held = is(s->stop_policy, "Hold") || is(s->stop_policy, "HoldAndDrain");
    in.when_can_preempt = FUNGIBILITY_NEXT;
    in.weight = weight_of(s->fair_sharing);
    in.local_usage = s->admission_scope != NULL &&
                     is(s->admission_scope->admission_mode, "UsageBasedAdmissionFairSharing");
    if (s->flavor_fungibility != NULL) {
        const struct flavor_fungibility *f = s->flavor_fungibility;
        in.when_can_borrow =
            is(f->when_can_borrow, "TryNextFlavor") ? FUNGIBILITY_NEXT : FUNGIBILITY_STOP;
        in.when_can_preempt =
            str_empty(f->when_can_preempt) || is(f->when_can_preempt, "TryNextFlavor")
                ? FUNGIBILITY_NEXT
                : FUNGIBILITY_STOP;
        in.borrow_costs_more = is(f->preference, "PreemptionOverBorrowing");
    }
    if (s->preemption != NULL) {
        const struct borrow_within_cohort *b = s->preemption->borrow_within_cohort;
        in.within_queue = policy_of(s->preemption->within_cluster_queue);
        in.reclaim = policy_of(s->preemption->reclaim_within_cohort);
        in.borrow_within = b != NULL ? policy_of(b->policy) : PREEMPT_NEVER;
        in.has_threshold = b != NULL && b->max_priority_threshold.set;
        in.threshold = in.has_threshold ? b->max_priority_threshold.v : 0;
    }
    *ret = in;
    return 0;
}

/* ---- what a pod asks of a node ---- */

static bool op_of(struct str s, enum select_op *ret) {
    static const struct {
        const char *name;
        enum select_op op;
    } ops[] = {{"In", SELECT_IN},         {"NotIn", SELECT_NOT_IN},
               {"Exists", SELECT_EXISTS}, {"DoesNotExist", SELECT_ABSENT},
               {"Gt", SELECT_GT},         {"Lt", SELECT_LT}};
    for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++) {
        if (is(s, ops[i].name)) {
            *ret = ops[i].op;
            return true;
        }
    }
    return false;
}

static int rules_of(yyjson_val *list, struct arena *a, struct select_rule **ret, size_t *ret_n) {
    size_t n = yyjson_arr_size(list), i, max;
    struct select_rule *v = ARENA_ARRAY(a, struct select_rule, n + 1);
    yyjson_val *item;
    if (v == NULL) {
        return ERR_NOMEM;
    }
    *ret = v;
    *ret_n = 0;
    yyjson_arr_foreach(list, i, max, item) {
        struct select_rule *r = &v[i];
        yyjson_val *values = json_get(item, STR("values")), *one;
        size_t k, most;
        r->key = json_str_at(item, "key");
        if (!op_of(json_str_at(item, "operator"), &r->op)) {
            r->op = SELECT_IN; /* without values: never holds */
            values = NULL;
        }
        r->values.v = ARENA_ARRAY(a, struct str, yyjson_arr_size(values) + 1);
        if (r->values.v == NULL) {
            return ERR_NOMEM;
        }
        yyjson_arr_foreach(values, k, most, one) {
            r->values.v[r->values.n++] = json_str(one);
        }
        (*ret_n)++;
    }
    return 0;
}

int translate_shape(const struct pod_spec *p, struct arena *a, struct shape *ret) {
    *ret = (struct shape){.selector = p->node_selector, .tolerations = p->tolerations};
    yyjson_val *required =
        json_path(p->affinity, "nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution");
    yyjson_val *terms = json_get(required, STR("nodeSelectorTerms")), *term;
    size_t i, max;
    if (required == NULL || yyjson_is_null(required)) {
        return 0;
    }
    ret->has_affinity = true;
    ret->n_terms = (uint32_t)yyjson_arr_size(terms);
    ret->terms = ARENA_ARRAY(a, struct select_term, ret->n_terms + 1);
    if (ret->terms == NULL) {
        return ERR_NOMEM;
    }
    yyjson_arr_foreach(terms, i, max, term) {
        struct select_term *t = &ret->terms[i];
        int r = rules_of(json_get(term, STR("matchExpressions")), a, &t->labels, &t->n_labels);
        if (r == 0) {
            r = rules_of(json_get(term, STR("matchFields")), a, &t->fields, &t->n_fields);
        }
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

/* ---- amounts ---- */

static int64_t *slot(struct amounts *m, struct arena *a, struct str resource) {
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->v[i].resource, resource)) {
            return &m->v[i].v;
        }
    }
    if (m->n == m->cap && ARENA_GROW(a, m->v, m->cap) != 0) {
        return NULL;
    }
    m->v[m->n] = (struct node_amount){resource, 0};
    return &m->v[m->n++].v;
}

/* Adds what is missing in `to`. */
static int fill(struct quantity_map *to, const struct quantity_map *from, struct arena *a) {
    struct quantity_pair *v = ARENA_ARRAY(a, struct quantity_pair, to->n + from->n + 1);
    if (v == NULL) {
        return ERR_NOMEM;
    }
    size_t n = to->n;
    for (size_t i = 0; i < to->n; i++) {
        v[i] = to->v[i];
    }
    for (size_t i = 0; i < from->n; i++) {
        bool there = false;
        for (size_t k = 0; k < n && !there; k++) {
            there = str_eq(v[k].key, from->v[i].key);
        }
        if (!there) {
            v[n++] = from->v[i];
        }
    }
    *to = (struct quantity_map){v, n};
    return 0;
}

static int fill_container(const struct limit_range_item *item, struct container *c,
                          struct arena *a) {
    if (c->resources == NULL) {
        c->resources = ARENA_NEW(a, struct resources);
    }
    if (c->resources == NULL) {
        return ERR_NOMEM;
    }
    const struct quantity_map *order[] = {&c->resources->limits, &item->default_request,
                                          &item->default_, &item->min};
    int r = 0;
    for (size_t i = 0; i < sizeof(order) / sizeof(*order) && r == 0; i++) {
        r = fill(&c->resources->requests, order[i], a);
    }
    if (r != 0) {
        return r;
    }
    return fill(&c->resources->limits, &item->default_, a);
}

int translate_limits(const struct limit_range *l, struct pod_spec *p, struct arena *a) {
    int r = 0;
    for (size_t i = 0; l->spec != NULL && i < l->spec->limits.n; i++) {
        const struct limit_range_item *item = &l->spec->limits.v[i];
        if (!is(item->type, "Container")) {
            continue;
        }
        for (size_t k = 0; k < p->containers.n && r == 0; k++) {
            r = fill_container(item, &p->containers.v[k], a);
        }
        for (size_t k = 0; k < p->init_containers.n && r == 0; k++) {
            r = fill_container(item, &p->init_containers.v[k], a);
        }
    }
    return r;
}

/* Requests of one container, limits standing in for what is missing. */
static int container_requests(const struct resources *r, struct arena *a, struct amounts *ret) {
    *ret = (struct amounts){0};
    for (int pass = 0; r != NULL && pass < 2; pass++) {
        const struct quantity_map *m = pass == 0 ? &r->requests : &r->limits;
        for (size_t i = 0; i < m->n; i++) {
            bool there = false;
            for (size_t k = 0; k < ret->n && !there; k++) {
                there = str_eq(ret->v[k].resource, m->v[i].key);
            }
            int64_t *v = there ? NULL : slot(ret, a, m->v[i].key);
            if (!there && v == NULL) {
                return ERR_NOMEM;
            }
            if (!there) {
                *v = translate_amount(m->v[i].key, m->v[i].value);
            }
        }
    }
    return 0;
}

static int add_all(struct amounts *to, const struct amounts *more, struct arena *a, bool largest) {
    for (size_t i = 0; i < more->n; i++) {
        int64_t *v = slot(to, a, more->v[i].resource);
        if (v == NULL) {
            return ERR_NOMEM;
        }
        *v = largest ? amount_max(*v, more->v[i].v) : amount_add(*v, more->v[i].v);
    }
    return 0;
}

/* Init containers run one after the other, beside the sidecars that started before them. */
static int init_requests(const struct pod_spec *p, struct arena *a, struct amounts *sidecars,
                         struct amounts *peak) {
    for (size_t i = 0; i < p->init_containers.n; i++) {
        const struct container *c = &p->init_containers.v[i];
        struct amounts one, beside = {0};
        int r = container_requests(c->resources, a, &one);
        if (r == 0 && is(c->restart_policy, "Always")) {
            r = add_all(sidecars, &one, a, false);
            one = *sidecars;
        } else if (r == 0) {
            r = add_all(&beside, sidecars, a, false);
            if (r == 0) {
                r = add_all(&beside, &one, a, false);
            }
            one = beside;
        }
        if (r == 0) {
            r = add_all(peak, &one, a, true);
        }
        if (r != 0) {
            return r;
        }
    }
    return 0;
}

int translate_requests(const struct pod_spec *p, struct arena *a, struct amounts *ret) {
    struct amounts total = {0}, sidecars = {0}, peak = {0}, one;
    int r = init_requests(p, a, &sidecars, &peak);
    for (size_t i = 0; i < p->containers.n && r == 0; i++) {
        r = container_requests(p->containers.v[i].resources, a, &one);
        if (r == 0) {
            r = add_all(&total, &one, a, false);
        }
    }
    if (r == 0) {
        r = add_all(&total, &sidecars, a, false);
    }
    if (r == 0) {
        r = add_all(&total, &peak, a, true);
    }
    if (r == 0 && p->resources != NULL) { /* the pod as a whole overrides cpu, memory, hugepages */
        r = container_requests(p->resources, a, &one);
        for (size_t i = 0; i < one.n && r == 0; i++) {
            int64_t *v = slot(&total, a, one.v[i].resource);
            r = v != NULL ? 0 : ERR_NOMEM;
            if (r == 0) {
                *v = one.v[i].v;
            }
        }
    }
    for (size_t i = 0; i < p->overhead.n && r == 0; i++) {
        int64_t *v = slot(&total, a, p->overhead.v[i].key);
        r = v != NULL ? 0 : ERR_NOMEM;
        if (r == 0) {
            *v = amount_add(*v, translate_amount(p->overhead.v[i].key, p->overhead.v[i].value));
        }
    }
    if (r == 0) {
        *ret = total;
    }
    return r;
}

int translate_node(const struct node *n, const struct inventory *inventory, struct arena *a,
                   struct node_input *ret) {
    size_t count = n->status != NULL ? n->status->allocatable.n : 0;
    struct node_amount *amounts = ARENA_ARRAY(a, struct node_amount, count + 1);
    if (amounts == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < count; i++) {
        const struct quantity_pair *p = &n->status->allocatable.v[i];
        amounts[i] = (struct node_amount){p->key, translate_amount(p->key, p->value)};
    }
    struct node_input in = {.name = n->metadata->name,
                            .labels = n->metadata->labels,
                            .amounts = amounts,
                            .n_amounts = count,
                            .inventory = inventory};
    for (size_t i = 0; i < in.labels.n; i++) {
        in.managed = in.managed ||
                     (is(in.labels.v[i].key, MANAGED_LABEL) && is(in.labels.v[i].value, "true"));
    }
    in.ready = n->status != NULL && conditions_true(&n->status->conditions, "Ready") &&
               !(n->spec != NULL && n->spec->unschedulable) && n->metadata->deletion_ns == 0;
    if (n->spec != NULL) {
        in.taints = n->spec->taints;
    }
    *ret = in;
    return 0;
}
