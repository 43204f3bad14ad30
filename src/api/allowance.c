/* allowance: see allowance.h. */
#include "api/allowance.h"

#include "api/schema/check.h"
#include "api/schema/codec.h"
#include "api/tables/view_core.h"

#define STORAGE_CLASS ".storageclass.storage.k8s.io/"

/* ---- maps of amounts ---- */

static struct quantity *find(struct quantity_map *m, struct str name) {
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->v[i].key, name)) {
            return &m->v[i].value;
        }
    }
    return NULL;
}

const struct quantity *allowance_find(const struct quantity_map *m, struct str name) {
    return find((struct quantity_map *)m, name);
}

/* The amount of a name, made where it is missing. NULL: no memory. */
static struct quantity *at(struct quantity_map *m, struct arena *a, struct str name) {
    struct quantity *q = find(m, name);
    if (q) {
        return q;
    }
    struct quantity_pair *v = ARENA_ARRAY(a, struct quantity_pair, m->n + 1);
    if (v == NULL) {
        return NULL;
    }
    if (m->n > 0) {
        memcpy(v, m->v, m->n * sizeof *v);
    }
    v[m->n] = (struct quantity_pair){.key = name};
    m->v = v;
    return &m->v[m->n++].value;
}

int allowance_add(struct quantity_map *m, struct arena *a, struct str name, struct quantity q) {
    struct quantity *to = at(m, a, name);
    if (to && quantity_add(to, q) != 0) {
        *to = quantity_of(quantity_sign(q) < 0 ? INT64_MIN : INT64_MAX, QUANTITY_DECIMAL);
    }
    return to ? 0 : ERR_NOMEM;
}

int allowance_sub(struct quantity_map *m, struct arena *a, struct str name, struct quantity q) {
    struct quantity *to = at(m, a, name);
    if (to && quantity_sub(to, q) != 0) {
        *to = quantity_of(0, QUANTITY_DECIMAL);
    }
    return to ? 0 : ERR_NOMEM;
}

static int add_map(struct quantity_map *m, struct arena *a, const struct quantity_map *other) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < other->n; i++) {
        r = allowance_add(m, a, other->v[i].key, other->v[i].value);
    }
    return r;
}

static int raise_map(struct quantity_map *m, struct arena *a, const struct quantity_map *other) {
    for (size_t i = 0; i < other->n; i++) {
        struct quantity *q = at(m, a, other->v[i].key);
        if (q == NULL) {
            return ERR_NOMEM;
        }
        if (quantity_cmp(*q, other->v[i].value) < 0) {
            *q = other->v[i].value;
        }
    }
    return 0;
}

/* ---- pods ---- */

static const struct quantity_map *amounts(const struct resources *r, bool limits) {
    static const struct quantity_map none;
    return r == NULL ? &none : limits ? &r->limits : &r->requests;
}

/* What a pod asks for in all, or may use at most: containers side by side, those that start it one by one beside the
 * sidecars before them; what the pod says as a whole instead; and overhead. */
static int pod_amounts(const struct pod_spec *p, bool limits, struct arena *a,
                       struct quantity_map *ret) {
    struct quantity_map sum = {0}, sidecars = {0}, start = {0};
    int r = 0;
    for (size_t i = 0; r == 0 && i < p->containers.n; i++) {
        r = add_map(&sum, a, amounts(p->containers.v[i].resources, limits));
    }
    for (size_t i = 0; r == 0 && i < p->init_containers.n; i++) {
        const struct container *c = &p->init_containers.v[i];
        const struct quantity_map *own = amounts(c->resources, limits);
        struct quantity_map then = {0};
        if (str_is(c->restart_policy, "Always")) {
            r = add_map(&sum, a, own);
            r = r ? r : add_map(&sidecars, a, own);
            r = r ? r : raise_map(&start, a, &sidecars);
        } else {
            r = add_map(&then, a, &sidecars);
            r = r ? r : add_map(&then, a, own);
            r = r ? r : raise_map(&start, a, &then);
        }
    }
    r = r ? r : raise_map(&sum, a, &start);
    const struct quantity_map *whole = amounts(p->resources, limits);
    for (size_t i = 0; r == 0 && i < whole->n; i++) {
        struct quantity *q = at(&sum, a, whole->v[i].key);
        r = q ? 0 : ERR_NOMEM;
        if (q) {
            *q = whole->v[i].value;
        }
    }
    for (size_t i = 0; r == 0 && i < p->overhead.n; i++) {
        if (!limits || allowance_find(&sum, p->overhead.v[i].key)) {
            r = allowance_add(&sum, a, p->overhead.v[i].key, p->overhead.v[i].value);
        }
    }
    *ret = sum;
    return r;
}

static bool is_plain(struct str name) {
    return str_is(name, "cpu") || str_is(name, "memory") || str_is(name, "ephemeral-storage");
}

static int name_amounts(const struct quantity_map *of, bool limits, struct arena *a,
                        struct quantity_map *ret) {
    int r = 0;
    for (size_t i = 0; r == 0 && i < of->n; i++) {
        struct str name = of->v[i].key;
        bool plain = is_plain(name), huge = str_starts(name, STR("hugepages-"));
        if (limits) {
            r = plain ? allowance_add(ret, a, arena_f(a, "limits.%.*s", STR_ARG(name)),
                                      of->v[i].value)
                      : 0;
            continue;
        }
        r = allowance_add(ret, a, arena_f(a, "requests.%.*s", STR_ARG(name)), of->v[i].value);
        if (r == 0 && (plain || huge)) {
            r = allowance_add(ret, a, name, of->v[i].value);
        }
    }
    return r;
}

static bool has_ended(yyjson_val *pod) {
    struct str phase = json_str_at(pod, "status.phase");
    return str_is(phase, "Succeeded") || str_is(phase, "Failed");
}

static int add_pod(yyjson_val *tree, struct arena *a, struct quantity_map *ret, struct err *err) {
    struct pod pod;
    struct quantity_map requests, limits;
    if (has_ended(tree)) {
        return 0;
    }
    int r = codec_decode(&schema_pod, tree, a, &pod, err);
    r = r ? r : allowance_add(ret, a, STR("pods"), quantity_of(1, QUANTITY_DECIMAL));
    if (r != 0 || pod.spec == NULL) {
        return r;
    }
    r = pod_amounts(pod.spec, false, a, &requests);
    r = r ? r : pod_amounts(pod.spec, true, a, &limits);
    r = r ? r : name_amounts(&requests, false, a, ret);
    return r ? r : name_amounts(&limits, true, a, ret);
}

/* ---- other kinds ---- */

static int add_service(yyjson_val *tree, struct arena *a, struct quantity_map *ret) {
    struct str type = json_str_at(tree, "spec.type");
    size_t ports = yyjson_arr_size(json_path(tree, "spec.ports"));
    bool balancer = str_is(type, "LoadBalancer");
    bool nodes = str_is(type, "NodePort") ||
                 (balancer && json_bool_at(tree, "spec.allocateLoadBalancerNodePorts", true));
    int r = 0;
    if (balancer) {
        r = allowance_add(ret, a, STR("services.loadbalancers"), quantity_of(1, QUANTITY_DECIMAL));
    }
    if (r == 0 && nodes) {
        r = allowance_add(ret, a, STR("services.nodeports"),
                          quantity_of((int64_t)ports, QUANTITY_DECIMAL));
    }
    return r;
}

static int add_claim(yyjson_val *tree, struct arena *a, struct quantity_map *ret) {
    struct str class = json_str_at(tree, "spec.storageClassName");
    struct str size =
        json_str(json_get(json_path(tree, "spec.resources.requests"), STR("storage")));
    struct quantity one = quantity_of(1, QUANTITY_DECIMAL), q = {0};
    int r = 0;
    (void)quantity_parse(size, &q, NULL);
    r = allowance_add(ret, a, STR("requests.storage"), q);
    if (r == 0 && class.n > 0) {
        r = allowance_add(ret, a,
                          arena_f(a, "%.*s" STORAGE_CLASS "requests.storage", STR_ARG(class)), q);
        r = r ? r
              : allowance_add(
                    ret, a,
                    arena_f(a, "%.*s" STORAGE_CLASS "persistentvolumeclaims", STR_ARG(class)), one);
    }
    return r;
}

static const char *const plain_counts[] = {
    "configmaps", "persistentvolumeclaims", "replicationcontrollers", "resourcequotas", "secrets",
    "services"};

static bool is_plain_count(const char *plural) {
    for (size_t i = 0; i < sizeof plain_counts / sizeof *plain_counts; i++) {
        if (strcmp(plain_counts[i], plural) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_core(const struct kind *k, const char *kind) {
    return k->group[0] == '\0' && strcmp(k->kind, kind) == 0;
}

bool allowance_reads(const struct kind *k) {
    return is_core(k, "Pod") || is_core(k, "Service") || is_core(k, "PersistentVolumeClaim");
}

int allowance_usage(const struct kind *k, yyjson_val *tree, struct arena *a,
                    struct quantity_map *ret, struct err *err) {
    struct quantity_map m = {0};
    struct quantity one = quantity_of(1, QUANTITY_DECIMAL);
    int r = allowance_add(
        &m, a, arena_f(a, "count/%s%s%s", k->plural, k->group[0] ? "." : "", k->group), one);
    if (r == 0 && k->group[0] == '\0' && is_plain_count(k->plural)) {
        r = allowance_add(&m, a, str_of(k->plural), one);
    }
    if (r == 0 && is_core(k, "Pod")) {
        r = add_pod(tree, a, &m, err);
    } else if (r == 0 && is_core(k, "Service")) {
        r = add_service(tree, a, &m);
    } else if (r == 0 && is_core(k, "PersistentVolumeClaim")) {
        r = add_claim(tree, a, &m);
    }
    if (r == 0) {
        *ret = m;
    }
    return r;
}

bool allowance_is_of(struct str name, const struct kind *k) {
    struct str count = STR("count/"), rest = str_skip(name, count.n), plural, group;
    if (str_starts(name, count)) {
        (void)str_cut(rest, '.', &plural, &group);
        return str_is(plural, k->plural) && str_is(group, k->group);
    }
    if (k->group[0] != '\0') {
        return false;
    }
    if (is_core(k, "Pod")) {
        return str_is(name, "pods") || is_plain(name) || str_starts(name, STR("hugepages-")) ||
               (str_starts(name, STR("requests.")) && !str_is(name, "requests.storage")) ||
               str_starts(name, STR("limits."));
    }
    if (is_core(k, "Service")) {
        return str_is(name, "services") || str_starts(name, STR("services."));
    }
    if (is_core(k, "PersistentVolumeClaim")) {
        return str_is(name, "persistentvolumeclaims") || str_is(name, "requests.storage") ||
               str_contains(name, STR(STORAGE_CLASS));
    }
    return is_plain_count(k->plural) && str_is(name, k->plural);
}

/* ---- scopes ---- */

bool allowance_scope_known(struct str scope) {
    static const char *const known[] = {"Terminating", "NotTerminating", "BestEffort",
                                        "NotBestEffort", "PriorityClass"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (str_is(scope, known[i])) {
            return true;
        }
    }
    return false;
}

static bool is_in(const struct str_list *list, struct str s) {
    for (size_t i = 0; i < list->n; i++) {
        if (str_eq(list->v[i], s)) {
            return true;
        }
    }
    return false;
}

static bool fits_class(const struct quota_scope_requirement *q, struct str class) {
    if (str_is(q->operator, "In")) {
        return class.n > 0 && is_in(&q->values, class);
    }
    if (str_is(q->operator, "NotIn")) {
        return !is_in(&q->values, class);
    }
    return str_is(q->operator, "DoesNotExist") ? class.n == 0 : class.n > 0;
}

static bool fits_scope(struct str scope, const struct quota_scope_requirement *q, yyjson_val *pod) {
    bool ends = yyjson_is_int(json_path(pod, "spec.activeDeadlineSeconds"));
    bool best = str_is(json_str_at(pod, "status.qosClass"), "BestEffort");
    struct str class = json_str_at(pod, "spec.priorityClassName");
    if (str_is(scope, "PriorityClass")) {
        return q ? fits_class(q, class) : class.n > 0;
    }
    return str_is(scope, "Terminating")      ? ends
           : str_is(scope, "NotTerminating") ? !ends
           : str_is(scope, "BestEffort")     ? best
           : str_is(scope, "NotBestEffort")  ? !best
                                             : false;
}

bool allowance_covers(const struct namespace_quota_spec *q, const struct kind *k,
                      yyjson_val *tree) {
    size_t more = q->scope_selector ? q->scope_selector->match_expressions.n : 0;
    bool fits = q->scopes.n + more == 0 || is_core(k, "Pod");
    for (size_t i = 0; fits && i < q->scopes.n; i++) {
        fits = fits_scope(q->scopes.v[i], NULL, tree);
    }
    for (size_t i = 0; fits && i < more; i++) {
        const struct quota_scope_requirement *s = &q->scope_selector->match_expressions.v[i];
        fits = fits_scope(s->scope_name, s, tree);
    }
    return fits;
}

bool allowance_scope_fits(struct str scope, struct str name) {
    static const char *const compute[] = {"cpu",           "memory",       "limits.cpu",
                                          "limits.memory", "requests.cpu", "requests.memory"};
    bool fits = str_is(name, "pods");
    for (size_t i = 0; !str_is(scope, "BestEffort") && i < sizeof compute / sizeof *compute; i++) {
        fits = fits || str_is(name, compute[i]);
    }
    return fits;
}

/* ---- what pods have to say ---- */

static bool says(const struct container *c, struct str name) {
    struct str resource = name;
    bool limit = str_starts(name, STR("limits."));
    if (limit || str_starts(name, STR("requests."))) {
        resource = str_skip(name, limit ? STR("limits.").n : STR("requests.").n);
    }
    return c->resources && allowance_find(amounts(c->resources, limit), resource) != NULL;
}

static void add_silent(const struct container_list *list, struct str name, bool *any,
                       struct buf *out) {
    for (size_t i = 0; i < list->n; i++) {
        if (says(&list->v[i], name)) {
            continue;
        }
        if (!*any) {
            buf_f(out, "%s%.*s for: ", out->n ? "; " : "", STR_ARG(name));
        }
        buf_f(out, "%s%.*s", *any ? "," : "", STR_ARG(list->v[i].name));
        *any = true;
    }
}

struct str allowance_unsaid(const struct quantity_map *hard, yyjson_val *tree, struct arena *a) {
    static const char *const named[] = {"cpu",    "limits.cpu",   "limits.memory",
                                        "memory", "requests.cpu", "requests.memory"};
    struct pod pod;
    struct buf b;
    if (codec_decode(&schema_pod, tree, a, &pod, NULL) != 0 || pod.spec == NULL) {
        return (struct str){0};
    }
    buf_init(&b, 64 << 10);
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        bool any = false;
        struct str name = str_of(named[i]);
        if (allowance_find(hard, name)) {
            add_silent(&pod.spec->containers, name, &any, &b);
            add_silent(&pod.spec->init_containers, name, &any, &b);
        }
    }
    struct str text = b.n > 0 ? arena_str(a, buf_view(&b)) : (struct str){0};
    buf_release(&b);
    return text;
}

/* ---- names ---- */

static bool is_standard(struct str name) {
    static const char *const known[] = {"cpu",
                                        "memory",
                                        "ephemeral-storage",
                                        "requests.cpu",
                                        "requests.memory",
                                        "requests.storage",
                                        "requests.ephemeral-storage",
                                        "limits.cpu",
                                        "limits.memory",
                                        "limits.ephemeral-storage",
                                        "pods",
                                        "services.nodeports",
                                        "services.loadbalancers"};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (str_is(name, known[i])) {
            return true;
        }
    }
    for (size_t i = 0; i < sizeof plain_counts / sizeof *plain_counts; i++) {
        if (str_is(name, plain_counts[i])) {
            return true;
        }
    }
    return str_starts(name, STR("hugepages-")) || str_starts(name, STR("requests.hugepages-"));
}

const char *allowance_name_fault(struct str name) {
    const char *fault = format_fault("label-key", name);
    if (fault) {
        return fault;
    }
    return str_find(name, '/') >= 0 || is_standard(name) ? NULL
                                                         : "must be a standard resource for quota";
}

bool allowance_is_whole(struct str name) {
    static const char *const whole[] = {"pods", "services.nodeports", "services.loadbalancers"};
    bool is = str_starts(name, STR("count/"));
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
        is = is || str_is(name, whole[i]);
    }
    for (size_t i = 0; i < sizeof plain_counts / sizeof *plain_counts; i++) {
        is = is || str_is(name, plain_counts[i]);
    }
    return is;
}
