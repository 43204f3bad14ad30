/*
 * queue_checks: admission checks, whoever decides them.
 *
 *     AdmissionCheck missing or not Active     ClusterQueues that name it are not active
 *     AdmissionCheck named by a ClusterQueue   keeps its finalizer
 *     Workload                                 status.admissionChecks lists what its queue requires, new ones Pending
 *
 * Required of a Workload with an admission: every rule whose flavors include one of those assigned; of one without: the
 * rules for all flavors. Entries are kept as they are written: they belong to whoever decides.
 */
#include "control/load/workload_status.h"
#include "control/queue/queue_private.h"

#define READY "Ready"

/* ---- AdmissionChecks ---- */

enum check_kind {
    CHECK_MISSING,
    CHECK_INACTIVE,
    CHECK_MULTIKUEUE,
    CHECK_PROVISIONING,
    CHECK_PLAIN
};

/* Whose it is, or that it is not there; `active` as an answer only for checks that are there. */
static enum check_kind check_kind(struct queue_controller *c, struct str name, bool *active) {
    const struct object *o =
        mirror_get(c->env->mirror, c->base.kinds[QK_CHECK], (struct str){0}, name);
    const struct admission_check *k = o != NULL ? queue_decode(c, o) : NULL;
    *active = k != NULL && k->status != NULL && conditions_true(&k->status->conditions, "Active");
    if (k == NULL || k->spec == NULL) {
        return CHECK_MISSING;
    }
    return str_is(k->spec->controller_name, "kueue.x-k8s.io/multikueue") ? CHECK_MULTIKUEUE
           : str_is(k->spec->controller_name, "kueue.x-k8s.io/provisioning-request")
               ? CHECK_PROVISIONING
               : CHECK_PLAIN;
}

static bool every_flavor(const struct cluster_state *s, const struct admission_check_rule *r) {
    for (size_t i = 0; r->on_flavors.n > 0 && s->shape != NULL && i < s->shape->n; i++) {
        bool on = false;
        for (size_t k = 0; k < r->on_flavors.n && !on; k++) {
            on = str_eq(r->on_flavors.v[k], s->shape->flavors[i].name);
        }
        if (!on) {
            return false;
        }
    }
    return true;
}

/* Names of the rules for which something holds, "a,b"; how many. */
struct named {
    struct buf list;
    size_t n;
};

static void named_add(struct named *l, struct str name) {
    buf_f(&l->list, "%s%.*s", l->n++ > 0 ? "," : "", STR_ARG(name));
}

static void part(struct buf *parts, const char **reason, const char *why, const char *text,
                 const struct named *l) {
    *reason = parts->n > 0 ? *reason : why;
    buf_f(parts, "%s%s: %.*s", parts->n > 0 ? ", " : "", text, STR_ARG(buf_view(&l->list)));
}

enum { WRONG_MISSING, WRONG_INACTIVE, WRONG_MULTI, WRONG_PER_FLAVOR, WRONG_PROVISIONING, WRONG_N };

void queue_checks_reasons(struct queue_controller *c, const struct cluster_state *s,
                          const char **reason, struct buf *parts) {
    struct named l[WRONG_N] = {0};
    for (size_t i = 0; i < WRONG_N; i++) {
        buf_init(&l[i].list, LIMIT_CONDITION_MESSAGE);
    }
    for (size_t i = 0; i < s->n_rules; i++) {
        const struct admission_check_rule *r = &s->rules[i];
        bool active;
        enum check_kind k = check_kind(c, r->name, &active);
        if (k == CHECK_MISSING || !active) {
            named_add(&l[k == CHECK_MISSING ? WRONG_MISSING : WRONG_INACTIVE], r->name);
        }
        if (k == CHECK_MULTIKUEUE) {
            named_add(&l[WRONG_MULTI], r->name);
            if (!every_flavor(s, r)) {
                named_add(&l[WRONG_PER_FLAVOR], r->name);
            }
        } else if (k == CHECK_PROVISIONING) {
            named_add(&l[WRONG_PROVISIONING], r->name);
        }
    }
    if (l[WRONG_MISSING].n > 0) {
        part(parts, reason, "AdmissionCheckNotFound", "references missing AdmissionCheck(s)",
             &l[WRONG_MISSING]);
    }
    if (l[WRONG_INACTIVE].n > 0) {
        part(parts, reason, "AdmissionCheckInactive", "references inactive AdmissionCheck(s)",
             &l[WRONG_INACTIVE]);
    }
    if (l[WRONG_MULTI].n > 1) {
        part(parts, reason, "MultipleMultiKueueAdmissionChecks",
             "Cannot use multiple MultiKueue AdmissionChecks on the same ClusterQueue, found",
             &l[WRONG_MULTI]);
    }
    if (l[WRONG_PER_FLAVOR].n > 0) {
        part(parts, reason, "MultiKueueAdmissionCheckAppliedPerFlavor",
             "Cannot specify MultiKueue AdmissionCheck per flavor, found", &l[WRONG_PER_FLAVOR]);
    }
    if (l[WRONG_MULTI].n > 0 && l[WRONG_PROVISIONING].n > 0) {
        part(parts, reason, "MultiKueueWithProvisioningRequest",
             "Cannot use both MultiKueue and ProvisioningRequest AdmissionChecks together, found",
             &l[WRONG_MULTI]);
        buf_f(parts, ", %.*s", STR_ARG(buf_view(&l[WRONG_PROVISIONING].list)));
    }
    for (size_t i = 0; i < WRONG_N; i++) {
        buf_release(&l[i].list);
    }
}

bool queue_checks_bad(struct queue_controller *c, const struct cluster_state *s) {
    const char *reason = NULL;
    struct buf parts;
    buf_init(&parts, LIMIT_CONDITION_MESSAGE);
    queue_checks_reasons(c, s, &reason, &parts);
    bool bad = parts.n > 0;
    buf_release(&parts);
    return bad;
}

int queue_checks_read(struct queue_controller *c, struct cluster_state *s,
                      const struct cluster_queue *q) {
    const struct admission_checks_strategy *k =
        q->spec != NULL ? q->spec->admission_checks_strategy : NULL;
    size_t n = k != NULL ? k->admission_checks.n : 0;
    struct admission_check_rule *rules = ARENA_ARRAY(&s->arena, struct admission_check_rule, n + 1);
    s->rules = NULL;
    s->n_rules = 0;
    for (size_t i = 0; rules != NULL && i < n; i++) {
        const struct admission_check_rule *r = &k->admission_checks.v[i];
        struct str *on = ARENA_ARRAY(&s->arena, struct str, r->on_flavors.n + 1);
        for (size_t f = 0; on != NULL && f < r->on_flavors.n; f++) {
            on[f] = arena_str(&s->arena, r->on_flavors.v[f]);
        }
        rules[i] = (struct admission_check_rule){.name = arena_str(&s->arena, r->name),
                                                 .on_flavors = {on, r->on_flavors.n}};
    }
    if (arena_ok(&s->arena) != 0) {
        return ERR_NOMEM;
    }
    s->rules = rules;
    s->n_rules = n;
    s->checks_bad = queue_checks_bad(c, s);
    return 0;
}

bool queue_checks_named(const struct queue_controller *c, struct str check,
                        bool (*each)(void *ctx, struct cluster_state *s), void *ctx) {
    size_t i = 0;
    bool found = false;
    for (const struct map_entry *e; (e = map_next(&c->clusters, &i)) != NULL;) {
        struct cluster_state *s = e->value;
        for (size_t k = 0; s->exists && k < s->n_rules; k++) {
            if (str_eq(s->rules[k].name, check)) {
                found = true;
                if (each != NULL && !each(ctx, s)) {
                    return true;
                }
                break;
            }
        }
    }
    return found;
}

/* ---- what a Workload needs ---- */

static int name_cmp(const void *a, const void *b) {
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

static bool applies(const struct admission_check_rule *r, const struct str *flavors, size_t n,
                    bool assigned) {
    bool on = r->on_flavors.n == 0;
    for (size_t i = 0; assigned && !on && i < n; i++) {
        for (size_t k = 0; k < r->on_flavors.n && !on; k++) {
            on = str_eq(r->on_flavors.v[k], flavors[i]);
        }
    }
    return on;
}

int queue_checks_needed(struct queue_controller *c, const struct cluster_state *s,
                        const struct str *flavors, size_t n, bool assigned,
                        struct check_need *ret) {
    *ret = (struct check_need){0};
    if (s == NULL || s->n_rules == 0) {
        return 0;
    }
    ret->names = ARENA_ARRAY(&c->base.arena, struct str, s->n_rules);
    if (ret->names == NULL) {
        return ERR_NOMEM;
    }
    for (size_t i = 0; i < s->n_rules; i++) {
        if (applies(&s->rules[i], flavors, n, assigned)) {
            ret->names[ret->n++] = s->rules[i].name;
        }
    }
    if (ret->n > 1) {
        qsort(ret->names, ret->n, sizeof(*ret->names), name_cmp);
    }
    return 0;
}

int queue_checks_of(struct queue_controller *c, const struct workload *w, struct check_need *ret) {
    const struct workload_admission *ad = w->status->admission;
    size_t n = 0;
    for (size_t i = 0; i < ad->pod_set_assignments.n; i++) {
        n += ad->pod_set_assignments.v[i].flavors.n;
    }
    struct str *flavors = ARENA_ARRAY(&c->base.arena, struct str, n + 1);
    if (flavors == NULL) {
        return ERR_NOMEM;
    }
    n = 0;
    for (size_t i = 0; i < ad->pod_set_assignments.n; i++) {
        const struct pod_set_assignment *a = &ad->pod_set_assignments.v[i];
        for (size_t k = 0; k < a->flavors.n; k++) {
            flavors[n++] = a->flavors.v[k].value;
        }
    }
    return queue_checks_needed(c, map_get(&c->clusters, ad->cluster_queue), flavors, n, true, ret);
}

static const struct admission_check_state *state_of(const struct workload *w, struct str name) {
    for (size_t i = 0; w->status != NULL && i < w->status->admission_checks.n; i++) {
        if (str_eq(w->status->admission_checks.v[i].name, name)) {
            return &w->status->admission_checks.v[i];
        }
    }
    return NULL;
}

bool queue_checks_ready(const struct workload *w, const struct check_need *need) {
    for (size_t i = 0; i < need->n; i++) {
        const struct admission_check_state *s = state_of(w, need->names[i]);
        if (s == NULL || !str_is(s->state, READY)) {
            return false;
        }
    }
    return true;
}

static bool as_needed(const struct workload *w, const struct check_need *need) {
    size_t n = w->status != NULL ? w->status->admission_checks.n : 0;
    bool same = n == need->n;
    for (size_t i = 0; same && i < n; i++) {
        same = str_eq(w->status->admission_checks.v[i].name, need->names[i]);
    }
    return same;
}

bool queue_checks_put(struct queue_controller *c, const struct check_need *need,
                      struct workload_change *ch) {
    if (as_needed(ch->wl, need)) {
        return false;
    }
    struct admission_check_state *v =
        ARENA_ARRAY(&c->base.arena, struct admission_check_state, need->n + 1);
    for (size_t i = 0; v != NULL && i < need->n; i++) {
        const struct admission_check_state *s = state_of(ch->wl, need->names[i]);
        v[i] = s != NULL ? *s
                         : (struct admission_check_state){.name = need->names[i],
                                                          .state = STR("Pending"),
                                                          .last_transition_ns = ch->now_ns};
    }
    ch->status.admission_checks.v = v;
    ch->status.admission_checks.n = need->n;
    return true;
}

static int state_cmp(const void *a, const void *b) {
    return str_cmp((*(const struct admission_check_state *const *)a)->name,
                   (*(const struct admission_check_state *const *)b)->name);
}

size_t queue_checks_list(struct queue_controller *c, const struct workload *w, const char *state,
                         struct str *ret) {
    size_t max = w->status != NULL ? w->status->admission_checks.n : 0, n = 0;
    const struct admission_check_state **v =
        ARENA_ARRAY(&c->base.arena, const struct admission_check_state *, max + 1);
    struct buf b;
    for (size_t i = 0; v != NULL && i < max; i++) {
        if (str_is(w->status->admission_checks.v[i].state, state)) {
            v[n++] = &w->status->admission_checks.v[i];
        }
    }
    if (n == 0) {
        return 0;
    }
    qsort(v, n, sizeof(*v), state_cmp);
    buf_init(&b, LIMIT_OBJECT_BYTES);
    buf_f(&b, "AdmissionCheck%s in %s state: ", n > 1 ? "s" : "", state);
    for (size_t i = 0; i < n; i++) {
        buf_f(&b, "%s\"%.*s\" (%.*s)", i > 0 ? "; " : "", STR_ARG(v[i]->name),
              STR_ARG(v[i]->message));
    }
    *ret = arena_str(&c->base.arena, buf_view(&b));
    buf_release(&b);
    return n;
}
