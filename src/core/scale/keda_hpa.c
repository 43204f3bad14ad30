/*
 * keda_hpa: metrics of all triggers, sorted by their type; labels, annotations, bounds and behavior of the
 * ScaledObject.
 */
#include "core/scale/keda_hpa.h"

#include "api/meta.h"
#include "core/scale/go_float.h"
#include "core/scale/keda_modify.h"

#define OWNER_LABEL "scaledobject.keda.sh/name"
enum { LABEL_MAX = 63, MAX_DEFAULT = 100 };

struct str keda_hpa_name(const struct meta *m, const struct scaled_object_spec *s,
                         struct arena *a) {
    const struct keda_hpa_config *c = s->advanced != NULL ? s->advanced->hpa : NULL;
    return c != NULL && c->name.n > 0 ? c->name : arena_f(a, "keda-hpa-%.*s", STR_ARG(m->name));
}

int32_t keda_hpa_min(const struct scaled_object_spec *s) {
    return s->min_replica_count.set && s->min_replica_count.v > 0 ? s->min_replica_count.v : 1;
}

int32_t keda_hpa_max(const struct scaled_object_spec *s) {
    return s->max_replica_count.set ? s->max_replica_count.v : MAX_DEFAULT;
}

/* ---- labels ---- */

static bool alphanumeric(char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
           (unsigned char)c >= 0x80;
}

static bool excluded(const struct meta *m, struct str key) {
    struct str rest = meta_annotation(m, "scaledobject.keda.sh/hpa-excluded-labels"), one;
    while (str_next(&rest, ',', &one)) {
        if (str_eq(one, key)) {
            return true;
        }
    }
    return false;
}

static int labels(const struct meta *of, struct meta *to, struct arena *a) {
    struct str name = str_head(to->name, LABEL_MAX);
    while (to->name.n > LABEL_MAX && name.n > 0 && !alphanumeric(name.p[name.n - 1])) {
        name.n--;
    }
    int rc = meta_set(&to->labels, a, "app.kubernetes.io/name", name);
    rc = rc ? rc : meta_set(&to->labels, a, "app.kubernetes.io/version", STR("main"));
    rc = rc ? rc : meta_set(&to->labels, a, "app.kubernetes.io/part-of", of->name);
    rc = rc ? rc : meta_set(&to->labels, a, "app.kubernetes.io/managed-by", STR("keda-operator"));
    for (size_t i = 0; rc == 0 && i < of->labels.n; i++) {
        struct str key = arena_str(a, of->labels.v[i].key);
        if (!excluded(of, key)) {
            rc = meta_set(&to->labels, a, key.p, of->labels.v[i].value);
        }
    }
    return rc;
}

static int metadata(const struct scaled_object *so, struct meta *ret, struct arena *a) {
    const struct meta *m = so->metadata;
    const struct owner_reference owner = {.api_version = STR("keda.sh/v1alpha1"),
                                          .kind = STR("ScaledObject"),
                                          .name = m->name,
                                          .uid = m->uid,
                                          .controller = {true, true},
                                          .block_owner_deletion = {true, true}};
    *ret = (struct meta){.name = keda_hpa_name(m, so->spec, a),
                         .namespace = m->namespace,
                         .annotations = m->annotations};
    int rc = labels(m, ret, a);
    return rc ? rc : meta_add_owner(ret, a, &owner);
}

/* ---- behavior ---- */

static struct hpa_rules *disabled(const struct hpa_rules *was, struct arena *a) {
    struct hpa_rules *r = ARENA_NEW(a, struct hpa_rules);
    if (r != NULL) {
        *r = was != NULL ? *was : (struct hpa_rules){0};
        r->select_policy = STR("Disabled");
    }
    return r;
}

static struct hpa_behavior *behavior(const struct scaled_object *so, struct arena *a) {
    const struct keda_advanced *adv = so->spec->advanced;
    struct hpa_behavior *was = adv != NULL && adv->hpa != NULL ? adv->hpa->behavior : NULL;
    struct keda_orders o = keda_orders(so->metadata);
    if (!o.paused_in && !o.paused_out) {
        return was;
    }
    struct hpa_behavior *b = ARENA_NEW(a, struct hpa_behavior);
    if (b != NULL) {
        *b = was != NULL ? *was : (struct hpa_behavior){0};
        b->scale_down = o.paused_in ? disabled(b->scale_down, a) : b->scale_down;
        b->scale_up = o.paused_out ? disabled(b->scale_up, a) : b->scale_up;
    }
    return b;
}

/* ---- metrics ---- */

static struct label_selector *selector_of(const struct meta *m, struct arena *a) {
    struct label_selector *s = ARENA_NEW(a, struct label_selector);
    return s != NULL && meta_set(&s->match_labels, a, OWNER_LABEL, m->name) == 0 ? s : NULL;
}

static int one_metric(const struct scaled_object *so, size_t i, const struct str_map *auth,
                      struct arena *a, struct hpa_metric *ret, struct str *ret_name,
                      struct err *err) {
    const struct keda_trigger *t = &so->spec->triggers.v[i];
    const struct trigger_input in = {.type = t->type,
                                     .metadata = &t->metadata,
                                     .auth = auth != NULL ? &auth[i] : NULL,
                                     .metric_type = t->metric_type,
                                     .in_formula = keda_modified(so->spec),
                                     .index = (int64_t)i,
                                     .namespace = so->metadata->namespace};
    struct trigger *parsed = ARENA_NEW(a, struct trigger);
    if (parsed == NULL || trigger_parse(&in, a, parsed) != 0) {
        return ERR_NOMEM;
    }
    if (parsed->n_faults > 0) {
        struct str text = trigger_fault_text(a, parsed->faults[0].fault, parsed->faults[0].param);
        return err_set(err, ERR_INVALID, "trigger %zu (%.*s): %.*s", i, STR_ARG(t->type),
                       STR_ARG(text));
    }
    *ret = parsed->metric;
    *ret_name = parsed->metric_name;
    if (ret->external != NULL) {
        ret->external->metric->selector = selector_of(so->metadata, a);
    }
    return arena_ok(a);
}

/* Kept in their order where types are the same. */
static void sort_by_type(struct hpa_metric_list *l) {
    for (size_t i = 1; i < l->n; i++) {
        struct hpa_metric m = l->v[i];
        size_t at = i;
        for (; at > 0 && str_cmp(l->v[at - 1].type, m.type) > 0; at--) {
            l->v[at] = l->v[at - 1];
        }
        l->v[at] = m;
    }
}

static int check_formula(const struct scaled_object *so, struct arena *a, struct err *err) {
    const struct keda_trigger_list *t = &so->spec->triggers;
    struct str *names = ARENA_ARRAY(a, struct str, t->n + 1);
    struct formula *f;
    size_t n = 0;
    for (size_t i = 0; names != NULL && i < t->n; i++) {
        if (!keda_is_resource(t->v[i].type) && t->v[i].name.n > 0) {
            names[n++] = t->v[i].name;
        }
    }
    return names == NULL ? ERR_NOMEM
                         : keda_modify_parse(so->spec->advanced->modifiers, names, n, a, &f, err);
}

/* The formula's metric in the place of all but those of resources. */
static int composite(const struct scaled_object *so, struct arena *a, struct keda_hpa *h,
                     struct err *err) {
    const struct keda_modifiers *m = so->spec->advanced->modifiers;
    struct hpa_plain_source *s = ARENA_NEW(a, struct hpa_plain_source);
    struct hpa_metric_name *name = ARENA_NEW(a, struct hpa_metric_name);
    struct hpa_target *target = ARENA_NEW(a, struct hpa_target);
    struct hpa_metric_list *l = &h->spec.metrics;
    double value = 0;
    size_t n = 0;
    int rc = check_formula(so, a, err);
    if (rc != 0 || s == NULL || name == NULL || target == NULL) {
        return rc ? rc : ERR_NOMEM;
    }
    (void)go_float(m->target, &value);
    bool average = !str_is(m->metric_type, "Value");
    *name = (struct hpa_metric_name){STR(KEDA_COMPOSITE), selector_of(so->metadata, a)};
    target->type = average ? STR("AverageValue") : STR("Value");
    *(average ? &target->average_value : &target->value) = (struct opt_quantity){
        true,
        quantity_of_milli(value < 9.2e15 ? (int64_t)(value * 1000) : INT64_MAX, QUANTITY_DECIMAL)};
    *s = (struct hpa_plain_source){.metric = name, .target = target};
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i].resource != NULL) {
            l->v[n++] = l->v[i];
        }
    }
    l->v[n++] = (struct hpa_metric){.type = STR("External"), .external = s};
    l->n = n;
    h->composite = STR(KEDA_COMPOSITE);
    return arena_ok(a);
}

static int metrics(const struct scaled_object *so, const struct str_map *auth, struct arena *a,
                   struct keda_hpa *h, struct err *err) {
    size_t n = so->spec->triggers.n;
    struct hpa_metric *v = ARENA_ARRAY(a, struct hpa_metric, n + 1);
    struct str *external = ARENA_ARRAY(a, struct str, n + 1),
               *used = ARENA_ARRAY(a, struct str, n + 1);
    if (v == NULL || external == NULL || used == NULL) {
        return ERR_NOMEM;
    }
    if (n == 0) {
        return err_set(err, ERR_INVALID, "no triggers defined in the ScaledObject");
    }
    h->external_names.v = external;
    h->resource_names.v = used;
    for (size_t i = 0; i < n; i++) {
        struct str name = {NULL, 0};
        int rc = one_metric(so, i, auth, a, &v[i], &name, err);
        if (rc != 0) {
            return rc;
        }
        if (v[i].external != NULL) {
            external[h->external_names.n++] = name;
        } else if (v[i].resource != NULL) {
            used[h->resource_names.n++] = v[i].resource->name;
        }
    }
    h->spec.metrics = (struct hpa_metric_list){v, n};
    sort_by_type(&h->spec.metrics);
    return keda_modified(so->spec) ? composite(so, a, h, err) : 0;
}

int keda_hpa_make(const struct scaled_object *so, struct str api_version, struct str kind,
                  const struct str_map *auth, struct arena *a, struct keda_hpa *ret,
                  struct err *err) {
    struct keda_hpa h = {0};
    struct scaled_ref *ref = ARENA_NEW(a, struct scaled_ref);
    if (ref == NULL) {
        return ERR_NOMEM;
    }
    *ref = (struct scaled_ref){api_version, kind, so->spec->target->name};
    h.spec = (struct hpa_spec){.scale_target_ref = ref,
                               .min_replicas = {true, keda_hpa_min(so->spec)},
                               .max_replicas = keda_hpa_max(so->spec),
                               .behavior = behavior(so, a)};
    int rc = metadata(so, &h.metadata, a);
    rc = rc ? rc : metrics(so, auth, a, &h, err);
    if (rc == 0) {
        *ret = h;
    }
    return rc ? rc : arena_ok(a);
}
