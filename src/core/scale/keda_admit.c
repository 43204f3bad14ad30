/*
 * keda_admit: the checks, one function for each of KEDA's.
 */
#include "core/scale/keda_admit.h"

#include "api/meta.h"
#include "core/scale/keda_hpa.h"
#include "core/scale/keda_modify.h"

enum { NAME_MAX_BYTES = 63 };

static const char *const refusal_names[] = {
    "other-scaled-object", "other-scaled-object-hpa",
    "scaling-modifiers",   "scaling-modifiers-fallback",
    "missing-requests",    "scale-to-zero-requirements-not-met",
    "other-hpa",           "transfer-ownership-missing-hpa-name",
    "incorrect-replicas",  "incorrect-fallback",
    "name-too-long",       "hpa-name-too-long",
    "incorrect-triggers",
};

const char *keda_refusal_name(enum keda_refusal r) {
    return refusal_names[__builtin_ctz(r)];
}

const char *keda_warning_name(enum keda_warning w) {
    return w == KEDA_POLLING_IDLE ? "pollingIntervalIrrelevant" : "cooldownPeriodIrrelevant";
}

/* A target, with what KEDA takes for granted. */
static struct scaled_ref target_of(const struct keda_target *t) {
    return (struct scaled_ref){t->api_version.n > 0 ? t->api_version : STR("apps/v1"),
                               t->kind.n > 0 ? t->kind : STR("Deployment"), t->name};
}

static bool same_target(struct scaled_ref a, struct scaled_ref b) {
    return str_eq(a.api_version, b.api_version) && str_eq(a.kind, b.kind) && str_eq(a.name, b.name);
}

static int32_t min_of(const struct scaled_object_spec *s) {
    return s->min_replica_count.set ? s->min_replica_count.v : 0;
}

static void warn(const struct scaled_object_spec *s, struct keda_admitted *ret) {
    bool cached = false, idle = min_of(s) > 0 && !s->idle_replica_count.set;
    for (size_t i = 0; i < s->triggers.n; i++) {
        cached = cached || s->triggers.v[i].use_cached_metrics;
    }
    ret->warnings |= s->polling_interval.set && idle && !cached ? KEDA_POLLING_IDLE : 0;
    ret->warnings |= s->cooldown_period.set && idle ? KEDA_COOLDOWN_IDLE : 0;
}

static int check_modifiers(const struct scaled_object_spec *s, struct arena *a,
                           struct keda_admitted *ret) {
    struct str *names = ARENA_ARRAY(a, struct str, s->triggers.n + 1);
    struct formula *f;
    size_t n = 0;
    if (names == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < s->triggers.n; i++) {
        const struct keda_trigger *t = &s->triggers.v[i];
        if (!keda_is_resource(t->type) && t->name.n > 0) {
            names[n++] = t->name;
        }
    }
    int rc = keda_modify_parse(s->advanced->modifiers, names, n, a, &f, &ret->why);
    ret->refusals |= rc == ERR_INVALID ? KEDA_BAD_MODIFIERS : 0;
    return rc == ERR_INVALID ? 0 : rc;
}

static int check_others(const struct keda_admission *in, struct arena *a,
                        struct keda_admitted *ret) {
    const struct scaled_object_spec *s = in->object->spec;
    const struct meta *m = in->object->metadata;
    struct scaled_ref target = target_of(s->target);
    struct str hpa = keda_hpa_name(m, s, a);
    unsigned found = 0;
    for (size_t i = 0; i < in->n_others; i++) {
        const struct scaled_object *o = &in->others[i];
        if (str_eq(o->metadata->name, m->name)) {
            continue;
        }
        found |= same_target(target, target_of(o->spec->target)) ? KEDA_OTHER_OBJECT : 0;
        found |= str_eq(hpa, keda_hpa_name(o->metadata, o->spec, a)) ? KEDA_OTHER_OBJECT_HPA : 0;
    }
    if (found != 0) {
        ret->refusals |= found & KEDA_OTHER_OBJECT ? KEDA_OTHER_OBJECT : KEDA_OTHER_OBJECT_HPA;
        return 0;
    }
    unsigned before = ret->refusals;
    int rc = keda_modified(s) ? check_modifiers(s, a, ret) : 0;
    bool by_formula = keda_modified(s) && s->advanced->modifiers->formula.n > 0;
    if (ret->refusals == before && s->fallback != NULL && !by_formula &&
        str_is(s->fallback->behavior, "scalingModifiers")) {
        ret->refusals |= KEDA_MODIFIERS_FALLBACK;
    }
    return rc;
}

static const struct quantity *amount(const struct quantity_map *m, struct str key) {
    for (size_t i = 0; i < m->n; i++) {
        if (str_eq(m->v[i].key, key)) {
            return &m->v[i].value;
        }
    }
    return NULL;
}

static bool asks_for(const struct keda_amounts *c, struct str resource) {
    const struct quantity *r = amount(&c->requests, resource), *l = amount(&c->limits, resource);
    return (r != NULL && quantity_sign(*r) > 0) || (l != NULL && quantity_sign(*l) > 0);
}

static struct str metadata_of(const struct keda_trigger *t, struct str key) {
    for (size_t i = 0; i < t->metadata.n; i++) {
        if (str_eq(t->metadata.v[i].key, key)) {
            return t->metadata.v[i].value;
        }
    }
    return STR("");
}

static bool lacks_requests(const struct keda_admission *in, const struct keda_trigger *t) {
    struct str only = metadata_of(t, STR("containerName"));
    bool ranged = str_is(t->type, "cpu") ? in->cpu_ranged : in->memory_ranged;
    for (size_t i = 0; !ranged && i < in->n_containers; i++) {
        const struct keda_amounts *c = &in->containers[i];
        if ((only.n == 0 || str_eq(only, c->name)) && !asks_for(c, t->type)) {
            return true;
        }
    }
    return false;
}

static bool only_resources(const struct scaled_object_spec *s) {
    for (size_t i = 0; i < s->triggers.n; i++) {
        if (!keda_is_resource(s->triggers.v[i].type)) {
            return false;
        }
    }
    return true;
}

static void check_resources(const struct keda_admission *in, struct keda_admitted *ret) {
    const struct scaled_object_spec *s = in->object->spec;
    struct scaled_ref t = target_of(s->target);
    bool known = str_is(t.api_version, "apps/v1") &&
                 (str_is(t.kind, "Deployment") || str_is(t.kind, "StatefulSet"));
    for (size_t i = 0; known && !in->dry_run && i < s->triggers.n; i++) {
        if (!keda_is_resource(s->triggers.v[i].type)) {
            continue;
        }
        if (lacks_requests(in, &s->triggers.v[i])) {
            ret->refusals |= KEDA_MISSING_REQUESTS;
            return;
        }
        if (only_resources(s) && min_of(s) == 0) {
            ret->refusals |= KEDA_NEVER_ZERO;
            return;
        }
    }
}

static bool owns(const struct scaled_object *so, const struct meta *hpa) {
    for (size_t i = 0; i < hpa->owner_references.n; i++) {
        const struct owner_reference *o = &hpa->owner_references.v[i];
        if (str_is(o->kind, "ScaledObject") && str_eq(o->name, so->metadata->name)) {
            return true;
        }
    }
    return false;
}

static void check_hpas(const struct keda_admission *in, struct keda_admitted *ret) {
    const struct scaled_object *so = in->object;
    const struct keda_advanced *adv = so->spec->advanced;
    struct scaled_ref target = target_of(so->spec->target);
    bool transfer = str_is(
        meta_annotation(so->metadata, "scaledobject.keda.sh/transfer-hpa-ownership"), "true");
    for (size_t i = 0; i < in->n_hpas; i++) {
        const struct keda_other_hpa *h = &in->hpas[i];
        bool named = adv != NULL && adv->hpa != NULL && str_eq(adv->hpa->name, h->metadata->name);
        if (str_is(meta_annotation(h->metadata, "validations.keda.sh/hpa-ownership"), "false") ||
            h->target == NULL || !same_target(target, *h->target) || owns(so, h->metadata) ||
            (transfer && named)) {
            continue;
        }
        ret->refusals |= transfer ? KEDA_TRANSFER_UNNAMED : KEDA_OTHER_HPA;
        return;
    }
}

static void check_bounds(const struct scaled_object_spec *s, struct keda_admitted *ret) {
    int32_t least = s->min_replica_count.set ? keda_hpa_min(s) : 0;
    const struct keda_fallback *f = s->fallback;
    if (least > keda_hpa_max(s) ||
        (s->idle_replica_count.set && s->idle_replica_count.v >= least)) {
        ret->refusals |= KEDA_BAD_REPLICAS;
    }
    if (f != NULL &&
        (f->failure_threshold < 0 || f->replicas < 0 || (!keda_modified(s) && only_resources(s)))) {
        ret->refusals |= KEDA_BAD_FALLBACK;
    }
}

static void check_triggers(const struct scaled_object_spec *s, struct keda_admitted *ret) {
    bool ok = s->triggers.n > 0;
    for (size_t i = 0; ok && i < s->triggers.n; i++) {
        const struct keda_trigger *t = &s->triggers.v[i];
        ok = !t->use_cached_metrics || !(keda_is_resource(t->type) || str_is(t->type, "cron"));
        for (size_t j = 0; ok && t->name.n > 0 && j < i; j++) {
            ok = !str_eq(s->triggers.v[j].name, t->name);
        }
    }
    ret->refusals |= ok ? 0 : KEDA_BAD_TRIGGERS;
}

int keda_admit(const struct keda_admission *in, struct arena *a, struct keda_admitted *ret) {
    const struct scaled_object *so = in->object;
    *ret = (struct keda_admitted){0};
    warn(so->spec, ret);
    int rc = check_others(in, a, ret);
    check_resources(in, ret);
    check_hpas(in, ret);
    check_bounds(so->spec, ret);
    if (so->metadata->name.n > NAME_MAX_BYTES) {
        ret->refusals |= KEDA_NAME_TOO_LONG;
    } else if (keda_hpa_name(so->metadata, so->spec, a).n > NAME_MAX_BYTES) {
        ret->refusals |= KEDA_HPA_NAME_TOO_LONG;
    }
    if (ret->refusals == 0) {
        check_triggers(so->spec, ret);
    }
    return rc ? rc : arena_ok(a);
}
